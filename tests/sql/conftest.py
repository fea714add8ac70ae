"""TPC-H data, generated once for a test run and shared by its workers."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def generator() -> str:
    """The path of tpchgen-cli; skips the test without it."""
    found = shutil.which("tpchgen-cli") or shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("tpchgen-cli is not installed (pip install drawloom[test])")
    return found


@pytest.fixture(scope="session")
def lineitem(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> str:
    """The path of TPC-H's lineitem at scale 0.01: 60,175 rows."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    path = shared / "tpch" / "lineitem.parquet"
    with open(shared / "tpch.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            made = shared / "tpch.partial"
            arguments = ["parquet", "-s", "0.01", "--tables=lineitem", f"--output-dir={made}"]
            subprocess.run([generator(), *arguments], check=True, capture_output=True)
            made.rename(path.parent)
    return str(path)
