"""Runs programs under Oclgrind, which reports data races, accesses out of bounds and barriers that diverge.

Oclgrind reads its settings from the environment when a context is made. It counts errors over all contexts of a process
and falls silent after 1,000, so the limit is raised: a test of faulty code must not hide the faults of the next test.
"""

import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drawloom.lift import Compiled
from tests.lift.codegen.opencl_platforms import run

SETTINGS = {
    "OCLGRIND_DATA_RACES": "1",
    "OCLGRIND_UNIFORM_WRITES": "1",  # work-items that write the same value to one place race, too
    "OCLGRIND_UNINITIALIZED": "1",
    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable",  # the optimiser may remove a faulty access
    "OCLGRIND_NUM_THREADS": "1",
    "OCLGRIND_MAX_ERRORS": str(2**31 - 1),
}


def run_checked(compiled: Compiled, device: Any, *arguments: Any, **options: Any) -> tuple[Any, list[str]]:
    """Run a program under Oclgrind; return its result and the faults that Oclgrind reports, without repetitions.

    Args:
        compiled: The program.
        device: Oclgrind's device.
        arguments: As `interpret` takes them.
        options: As `opencl_platforms.run` takes them.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with settings(OCLGRIND_LOG=str(log)):
            gc.freeze()  # what other tests left behind takes seconds to look through
            result = run(compiled, device, *arguments, **options)
            gc.collect()  # the log is written when the last reference to the context goes
        return result, read_faults(log.read_text())


@contextmanager
def settings(**more: str) -> Iterator[None]:
    """Set Oclgrind's environment variables for the contexts that are made inside."""
    before = dict(os.environ)
    os.environ.update(SETTINGS | more)
    yield
    for name in SETTINGS | more:
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]


def read_faults(log: str) -> list[str]:
    """Return the first line of every report of a log, without the address at its end."""
    firsts = [line for line in log.splitlines() if line and not line[0].isspace()]
    return list(dict.fromkeys([line.split(" address 0x")[0] for line in firsts]))
