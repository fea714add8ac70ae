"""The launches of a thread, noted while somebody asks for them."""

import threading

import numpy as np
import pytest

import drawloom
from drawloom.errors import LaunchError
from drawloom.runtime.module import Launch, Module, launches
from tests.runtime import programs


def launch(module: Module) -> Launch:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    return module["saxpy"][2, 32](2.0, x, y, 64)


def test_launches_are_noted_in_this_thread_and_only_while_asked_for() -> None:
    module = drawloom.load(programs.SAXPY, device="cpu")
    before = launch(module)
    with launches() as outer:
        first = launch(module)
        with launches() as inner:
            second = launch(module)
        other = threading.Thread(target=launch, args=(module,))
        other.start()
        other.join()
    launch(module)
    assert (outer, inner) == ([first], [second])
    assert (first.configured.grid, first.configured.block) == ((2, 1, 1), (32, 1, 1))
    assert module["saxpy"].first is not None
    assert module["saxpy"].first.compile_seconds == before.compile_seconds


def test_a_launch_that_fails_is_not_noted() -> None:
    module = drawloom.load(programs.SAXPY, device="cpu")
    with launches() as seen, pytest.raises(LaunchError):
        module["saxpy"][1, 32](1)
    assert seen == []
