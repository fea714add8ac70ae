"""What queries take of the machine's memory, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sql.conftest import generated

#: What is not counted: arrays of less than 64 KiB, blocks that threads work on, and what allocators keep.
SLACK = 12 << 20


def child(code: str, **environment: str) -> str:
    """What a process of its own prints."""
    environment = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def arrows(first: str, **environment: str) -> str:
    """Arrow's allocator in a process that imports ``first`` first, and what the environment says of it."""
    told = "print(pyarrow.default_memory_pool().backend_name, os.environ.get('ARROW_DEFAULT_MEMORY_POOL'))"
    return child(f"import os, {first}, pyarrow; {told}", **environment)


@pytest.mark.skipif(sys.platform != "linux", reason="the C library's allocator is chosen where that is glibc's")
def test_arrow_takes_its_memory_from_the_c_library_unless_the_user_has_chosen() -> None:
    assert arrows("drawloom.sql") == "system None"
    assert arrows("drawloom.sql", ARROW_DEFAULT_MEMORY_POOL="mimalloc") == "mimalloc mimalloc"
    assert arrows("pyarrow, drawloom.sql") == arrows("pyarrow")


@pytest.mark.skipif(sys.platform != "linux", reason="what is resident is read from /proc")
def test_a_process_grows_by_no_more_than_the_limit(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> None:
    """What is large is asked for before it is taken, temporaries of NumPy and Arrow too; the next query is answered."""
    folder = generated(tmp_path_factory, worker_id, "0.1")["lineitem"].parent
    command = [sys.executable, str(Path(__file__).with_name("limited.py")), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [run for run in runs if run["grew"] > run["limit"] + SLACK] == []
    assert [run for run in runs if run["next"] != [[2]]] == []
    assert {bool(run["error"]) for run in runs} == {True, False}
