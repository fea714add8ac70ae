"""Every command writes all of its output, or says that it could not: a file system that is full takes a part of it."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runtime import programs

LIMIT = 4096  # bytes; each output below is longer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    kernels = "".join(programs.SAXPY.split(".address_size 64")[1].replace("saxpy", f"saxpy{n}") for n in range(12))
    (folder / "k.ptx").write_text(programs.SAXPY + kernels)
    pq.write_table(pa.table({"number": np.arange(5000)}), folder / "t.parquet")
    return folder


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def run_full(folder: Path, unbuffered: bool, *words: str) -> tuple[int, str, bytes]:
    """Exit status, standard error and what of standard output fitted."""
    out = folder / "out"
    environment = {**os.environ, "DRAWLOOM_CACHE": "off", "PYTHONUNBUFFERED": "1" if unbuffered else ""}
    with out.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "drawloom", *words], cwd=folder, stdout=file, stderr=subprocess.PIPE, text=True,
            env=environment, preexec_fn=limit_files,
        )  # fmt: skip
    return done.returncode, done.stderr, out.read_bytes()


QUERY = ("sql", "select number from t", "--table", "t=t.parquet", "--format")
STANDARD_OUTPUT: dict[str, tuple[str, ...]] = {
    **{f"sql {style}": (*QUERY, style) for style in ("csv", "json", "table")},
    "opt": ("opt", "k.ptx"),
    "shuffle": ("shuffle", "k.ptx"),
    "trace": ("trace", "k.ptx", "--report", "json"),
    "run --emit": ("run", "k.ptx", "--kernel", "saxpy", "--emit", "ptx"),
}


@pytest.mark.parametrize(("name", "unbuffered"), [("sql csv", False), *((name, True) for name in STANDARD_OUTPUT)])
def test_standard_output_on_a_full_disk_is_an_error(name: str, unbuffered: bool, folder: Path) -> None:
    status, said, written = run_full(folder, unbuffered, *STANDARD_OUTPUT[name])
    assert (status, said) == (1, "error: cannot write the output: File too large\n")
    assert len(written) <= LIMIT


FILES: dict[str, tuple[str, ...]] = {
    "opt": ("opt", "k.ptx", "-o", "made"),
    "shuffle": ("shuffle", "k.ptx", "-o", "made"),
    "as": ("as", "k.ptx", "-o", "made"),
    "run --save": ("run", "k.ptx", "--kernel", "saxpy", "--arg", "a=1", "--arg", "x:f32[4096]", "--arg",
                   "y:f32[4096]", "--arg", "n=4096", "--save", "y=made.npy"),
    "sql --profile-to": (*QUERY, "csv", "--profile-to", "made.html"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_named_file_on_a_full_disk_is_an_error_and_not_there(name: str, folder: Path) -> None:
    status, said, _ = run_full(folder, False, *FILES[name])
    assert status == 1
    assert said.startswith("error: ") and "File too large" in said and "Traceback" not in said
    assert not [path.name for path in folder.iterdir() if "made" in path.name]


@pytest.mark.parametrize("name", STANDARD_OUTPUT)
def test_a_closed_standard_output_is_an_error(name: str, folder: Path) -> None:
    """Every command ended in an AttributeError, after which its output was lost."""
    words = [sys.executable, "-m", "drawloom", *STANDARD_OUTPUT[name]]
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *words], cwd=folder, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "error: cannot write the output: Bad file descriptor\n")


def test_a_command_without_output_takes_closed_streams(folder: Path) -> None:
    words = [sys.executable, "-m", "drawloom", "opt", "k.ptx", "-o", "closed.ptx"]
    done = subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", *words], cwd=folder)
    assert done.returncode == 0
    assert (folder / "closed.ptx").read_text().count(".entry") == 13
