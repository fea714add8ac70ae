"""Calls whose checks are kept for the next call: what depends on addresses and numbers is checked every time."""

from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.call_plans import MOST_PLANS, data_address, find_reader, read_by_ctypes
from drawloom.errors import LaunchError

pytest.importorskip("pycparser")

ADD = "__kernel void add(const double *a, double *b, int n) { b[get_global_id()] += n * a[get_global_id()]; }"


def planned() -> Any:
    """Return a kernel that has the plan of a call with arrays of 6 groups of 4 numbers, and n = 2."""
    add = batch.kernel(ADD, wg_size=4)
    add(np.ones((6, 4)), np.ones((6, 4)), 2)
    assert len(add.plans) == 1
    return add


def test_a_planned_call_runs_on_other_arrays() -> None:
    add = planned()
    for _ in range(3):
        a, b = np.random.default_rng(0).random((6, 4)), np.random.default_rng(1).random((6, 4))
        expected = b + 2 * a
        add(a, b, 2)
        assert np.array_equal(b, expected)
    assert len(add.plans) == 1


@pytest.mark.parametrize("offset", [-5, -1, 0, 1, 23])
def test_a_planned_call_refuses_outputs_that_overlap(offset: int) -> None:
    add = planned()
    memory = np.arange(100.0)
    before = memory.copy()
    a, b = (memory[start : start + 24].reshape(6, 4) for start in (40, 40 + offset))
    with pytest.raises(LaunchError, match="a and b overlap"):
        add(a, b, 2)
    assert np.array_equal(memory, before)


def test_overlaps_are_found_after_calls_with_the_same_arrays() -> None:
    add = planned()
    memory = np.zeros(100)
    a, b = memory[:24].reshape(6, 4), memory[24:48].reshape(6, 4)
    add(a, b, 2)
    add(a, b, 2)
    with pytest.raises(LaunchError, match="a and b overlap"):
        add(a, memory[23:47].reshape(6, 4), 2)
    with pytest.raises(LaunchError, match="a and b overlap"):
        add(memory[25:49].reshape(6, 4), b, 2)
    add(b, a, 2)


@pytest.mark.parametrize("offset", [-24, 24])
def test_a_planned_call_takes_outputs_that_touch_inputs(offset: int) -> None:
    add = planned()
    memory = np.arange(100.0)
    a, b = (memory[start : start + 24].reshape(6, 4) for start in (40, 40 + offset))
    expected = b + 2 * a
    add(a, b, 2)
    assert np.array_equal(b, expected)


def test_a_plan_is_for_its_types_shapes_and_flags() -> None:
    add = planned()
    a, b = np.ones((2, 6, 4))
    locked = b.copy()
    locked.flags.writeable = False
    refused: list[tuple[tuple[Any, ...], str]] = [
        ((a, locked, 2), "read-only"),
        ((a.astype(np.float32), b, 2), "float32"),
        ((a.astype(">f8"), b, 2), "expected float64"),
        ((a, b[:5], 2), "number of groups is not known"),
        ((a, b, 2.5), "expected a number of type int"),
        ((a, b, 2**31), "expected a number of type int"),
        ((a, b, "2"), "expected a number"),
        ((a, list(b), 2), "expected a NumPy array"),
    ]
    for arguments, message in refused:
        with pytest.raises(LaunchError, match=message):
            add(*arguments)
    with pytest.raises(LaunchError, match="group 6 accesses element 27"):
        add(a, b, 2, groups=7)
    with pytest.raises(LaunchError, match="groups is -1"):
        add(a, b, 2, groups=-1)
    assert (b == 1).all()


def test_arguments_of_other_kinds_run_without_a_plan() -> None:
    add = planned()
    a, b = np.ones((6, 4)), np.ones((6, 4))
    add(a, b, np.int32(2))
    add(a, b, True)
    add(a, b, 2.0)
    add(np.asfortranarray(a), b, 2)
    add(a, b[::-1], 2)
    add(a, b, 2, groups=np.int64(6))
    assert (b == 12).all()
    assert len(add.plans) == 1


def test_plans_are_forgotten_when_there_are_many() -> None:
    add = planned()
    for count in range(1, 3 * MOST_PLANS):
        a, b = np.ones((2, count, 4))
        add(a, b, 3)
        assert (b == 4).all()
        assert len(add.plans) <= MOST_PLANS


def test_the_address_of_elements_is_read_from_the_object() -> None:
    whole = np.zeros((5, 4))
    for array in (whole, whole[2:], whole.T, whole[::-1], np.zeros(0), np.array(1.0)):
        assert data_address(array) == array.ctypes.data
    assert find_reader() is not read_by_ctypes  # in CPython
