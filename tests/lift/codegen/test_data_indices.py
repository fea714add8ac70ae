"""Indices that are data: trusted kernels under DRAWLOOM_CHECK, and kernels that check them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from drawloom import MemoryAccessError
from drawloom.lift import Lambda, SizeError, compile, interpret, parse_program
from tests.lift.codegen import opencl_platforms
from tests.lift.codegen.runners import same

LOOKUP = "f(x: [float]N, i: [int]M) = mapGlb(0)(id) ∘ lookup(x, i)"
ROWS = "f(x: [[float]3]N, i: [int]M) = mapGlb(0)(λ row . mapSeq(id) ∘ lookup(row, i), x)"
GLOBAL = "f(x: [int]N, i: [int]M) = mapAtomicGlb(0)(λ v . (v, 1), add, x, i)"
LOCAL = (
    "f(x: [int]N, i: [[int]4]M) = "
    "mapWrg(0)(toGlobal(mapLcl(0)(id)) ∘ mapAtomicLcl(0)(λ v . (v, 1), add, replicate(3, 0)), i)"
)
TWICE = "f(x: [float]N, i: [int]N) = mapGlb(0)(id) ∘ lookup(lookup(x, i), i)"
KERNELS = (
    "f(x: [int]N, i: [int]N) = "
    "kernel(λ a b . mapGlb(0)(id) ∘ lookup(a, b))(kernel(λ a b . mapGlb(0)(id) ∘ lookup(a, b))(x, i), i)"
)
#: Each program with its first argument, and indices that fit.
PROGRAMS: dict[str, tuple[str, Any, Any]] = {
    "lookup": (LOOKUP, np.float32([1, 2, 3]), np.int32([2, 0, 1, 2])),
    "lookup in rows": (ROWS, np.float32([[1, 2, 3], [4, 5, 6]]), np.int32([2, 0, 1, 2])),
    "atomic map in global memory": (GLOBAL, np.int32([1, 2, 3]), np.int32([2, 0, 1, 2])),
    "atomic map in local memory": (LOCAL, np.int32([1, 2, 3]), np.int32([[2, 0, 1, 2], [0, 0, 0, 1]])),
    "lookup in a lookup": (TWICE, np.float32([1, 2, 3]), np.int32([2, 0, 1])),
    "two kernels": (KERNELS.replace("a b", "(a, b)"), np.int32([1, 2, 3]), np.int32([2, 0, 1])),
}


def program_of(name: str) -> tuple[Lambda, Any, Any]:
    text, array, indices = PROGRAMS[name]
    return parse_program(text), array, indices


@pytest.mark.parametrize("name", PROGRAMS)
def test_checked_kernels_give_what_others_do(name: str) -> None:
    program, array, indices = program_of(name)
    checked = compile(program, check_indices=True)
    assert checked.opencl.count("checked_index(int at") == 1
    assert same(checked(array, indices), interpret(program, array, indices))
    assert "checked_index" not in compile(program).opencl


@pytest.mark.parametrize("outside", [3, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_checked_kernels_refuse_what_the_interpreter_refuses(name: str, outside: int) -> None:
    program, array, indices = program_of(name)
    indices.flat[1] = outside
    checked = compile(program, check_indices=True)
    runs: list[Callable[..., Any]] = [lambda *given: interpret(program, *given), checked]
    for run in runs:
        with pytest.raises(SizeError, match=rf"<text>:1: (lookup|mapAtomic\w+): index {outside} is outside the array "):
            run(array, indices)
    indices.flat[1] = 0
    assert same(checked(array, indices), interpret(program, array, indices))  # the next call begins anew


def test_checked_kernels_run_on_opencl_platforms() -> None:
    pyopencl = pytest.importorskip("pyopencl")
    devices = [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]
    if not devices:
        pytest.skip("no OpenCL platform")
    program, array, indices = program_of("lookup")
    checked = compile(program, check_indices=True)
    assert same(opencl_platforms.run(checked, devices[0], array, indices), interpret(program, array, indices))
    indices[1] = 3
    with pytest.raises(SizeError, match="lookup: index 3 is outside the array of 3 elements"):
        opencl_platforms.run(checked, devices[0], array, indices)


@pytest.mark.parametrize("name", ["lookup", "atomic map in global memory"])
def test_memory_checks_find_accesses_outside_buffers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, array, indices = program_of(name)
    indices[1] = 1 << 20
    monkeypatch.setenv("DRAWLOOM_CHECK", "memory")
    with pytest.raises(MemoryAccessError):
        compile(program)(array, indices)


def test_views_have_the_updates_of_atomic_maps() -> None:
    for name in ("atomic map in global memory", "atomic map in local memory"):
        views = compile(program_of(name)[0]).views
        assert "update by mapAtomic" in views, views
