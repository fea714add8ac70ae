"""What queries take of the machine's memory, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


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
