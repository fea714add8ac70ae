"""The GPU tests, in a process whose libcuda is a stand-in: every call through the real cuda-bindings is made."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from drawloom.runtime.driver import probe

ROOT = Path(__file__).resolve().parents[2]


#: Each in a process of its own, with the fewest tests that must have passed.
FILES = {
    "tests/gpu/test_compiled.py": 20,
    "tests/gpu/test_driver.py": 10,
    "tests/gpu/test_queries.py": 10,
    "tests/gpu/test_suite.py": 30,
    "tests/runtime/stand_in_checks.py": 5,
}


@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="cuda-bindings is not installed")
@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="no C compiler")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in is an ELF library")
@pytest.mark.parametrize("file", FILES)
def test_the_gpu_tests_pass_on_a_stand_in_driver(file: str) -> None:
    if probe().devices:
        pytest.skip("a real driver is here; tests/gpu runs on it")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.runtime.stand_in_driver", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "not large", file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout
    assert int(passed[1]) >= FILES[file]
    assert "skipped" not in done.stdout, done.stdout
