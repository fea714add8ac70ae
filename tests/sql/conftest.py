"""TPC-H data, generated once for a test run and shared by its workers."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from drawloom.sql.tpch import TABLES


def generator() -> str:
    """The path of tpchgen-cli; skips the test without it."""
    found = shutil.which("tpchgen-cli") or shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("tpchgen-cli is not installed (pip install drawloom[test])")
    return found


def generated(tmp_path_factory: pytest.TempPathFactory, worker_id: str, scale: str) -> dict[str, Path]:
    """The paths of TPC-H's tables at ``scale``, made by the first worker that needs them."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / f"tpch-{scale}"
    with open(shared / f"tpch-{scale}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = shared / f"tpch-{scale}.partial"
            arguments = ["parquet", "-s", scale, f"--tables={','.join(TABLES)}", f"--output-dir={made}"]
            subprocess.run([generator(), *arguments], check=True, capture_output=True)
            made.rename(folder)
    return {name: folder / f"{name}.parquet" for name in TABLES}


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, Path]:
    """The paths of TPC-H's tables at scale 0.01."""
    return generated(tmp_path_factory, worker_id, "0.01")


@pytest.fixture(scope="session")
def lineitem(tables: dict[str, Path]) -> str:
    """The path of TPC-H's lineitem at scale 0.01: 60,175 rows."""
    return str(tables["lineitem"])


@pytest.fixture(scope="module", params=["0.1", "1"])
def larger_tables(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> dict[str, Path]:
    """The paths of TPC-H's tables at scale 0.1, and at 1: lineitem of 6,001,215 rows, 232 MB."""
    return generated(tmp_path_factory, worker_id, str(request.param))


@pytest.fixture(scope="session")
def lineitem_of_scale_1(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> str:
    """The path of TPC-H's lineitem at scale 1."""
    return str(generated(tmp_path_factory, worker_id, "1")["lineitem"])
