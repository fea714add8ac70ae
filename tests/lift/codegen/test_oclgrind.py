"""Every benchmark program under Oclgrind: no race, no access out of bounds, no divergent barrier, the right result.

Oclgrind interprets OpenCL C work-item by work-item, and knows nothing of our compiler. Faulty kernels of each kind show
that it would see such a fault.
"""

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from drawloom.lift import Compiled, Lambda, compile, gather, id, map_lcl, reverse, to_global, to_local
from tests.lift.codegen.oclgrind import run_checked
from tests.lift.codegen.runners import compile_for, same
from tests.lift.codegen.test_barriers import groups, nested
from tests.lift.codegen.test_golden import PROGRAMS, arguments_of
from tests.lift.language.test_listings import partial_dot_product
from tests.lift.programs.benchmark import Benchmark
from tests.lift.programs.matrix_multiplication import multiplication_guarded, multiplication_nvidia
from tests.lift.programs.table import BENCHMARKS
from tests.opencl_platforms import OCLGRIND, usable_device

FORMS = [(benchmark, form) for benchmark in BENCHMARKS for form in benchmark.low_level]
NAMES = [f"{benchmark.name} {form}" for benchmark, form in FORMS]

RACE = "data race at local memory"
DIVERGENCE = "Work-group divergence detected (barrier)"


@pytest.fixture(scope="module")
def oclgrind() -> Any:
    """Oclgrind's device; skips without one."""
    return usable_device(OCLGRIND)


def fewer_work_items(compiled: Compiled) -> tuple[int, ...]:
    """Return half the work-items of a program's smallest work-group in every dimension."""
    sizes = [kernel.local_size for kernel in compiled.kernels]
    return tuple([max(1, min(numbers) // 2) for numbers in zip(*sizes, strict=True)])


@pytest.mark.parametrize(("benchmark_", "form"), FORMS, ids=NAMES)
def test_benchmarks_have_no_faults(benchmark_: Benchmark, form: str, oclgrind: Any) -> None:
    """Each program with all its work-groups; and at its last size with one of them, and with fewer work-items."""
    program = benchmark_.low_level[form]()
    sizes = [size for size in benchmark_.sizes if benchmark_.fits(form, size)]
    for size in sizes:
        arguments = benchmark_.arguments(np.random.default_rng(sum(size)), size)
        compiled = compile_for(program, *arguments)
        variants = [(compiled, 0)]
        if size is sizes[-1]:
            fewer = compile(program, compiled.sizes, local_size=fewer_work_items(compiled))
            variants += [(compiled, 1), (fewer, 1)]
        for variant, most_groups in variants:
            result, faults = run_checked(variant, oclgrind, *arguments, most_groups=most_groups)
            assert not faults, (size, faults, variant.opencl)
            benchmark_.reference(*arguments).check(result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden_programs_have_no_faults(name: str, oclgrind: Any) -> None:
    make, sizes = PROGRAMS[name]
    compiled = compile(make())
    for shapes in sizes:
        arguments = arguments_of(shapes)
        result, faults = run_checked(compiled, oclgrind, *arguments)
        assert not faults, (shapes, faults, compiled.opencl)
        assert same(result, compiled(*arguments))


# Seeded faults


def damage(compiled: Compiled, change: Callable[[str], str]) -> Compiled:
    """Return a program of one kernel whose text has been changed."""
    (kernel,) = compiled.kernels
    faulty, changed = copy.copy(compiled), copy.copy(kernel)
    changed.text = change(kernel.text)
    assert changed.text != kernel.text
    faulty.kernels = [changed]
    return faulty


BARRIER = re.compile(r"barrier\(CLK_LOCAL_MEM_FENCE\);")


def reversed_chunks() -> Lambda:
    return groups(lambda part: to_global(map_lcl(id))(gather(reverse)(to_local(map_lcl(id))(part))))


#: Programs with local memory, the shapes at which faults are looked for, and how many of their barriers are needed
#: there. The last barrier of listing 4.5 would be needed if `iterate` exchanged its buffers an odd number of times.
WITH_BARRIERS: dict[str, tuple[Callable[[], Lambda], list[Any], int]] = {
    "listing 4.5": (partial_dot_product, [256, 256], 2),
    "reversed chunks": (reversed_chunks, [64], 2),
    "transposed chunks": (nested, [64], 2),
    "matrix multiplication NVIDIA": (multiplication_nvidia, [(16, 12), (12, 24)], 2),
    "matrix multiplication guarded": (multiplication_guarded, [(13, 11), (11, 17)], 2),
}
BARRIERS = [(name, at) for name, (_, _, needed) in WITH_BARRIERS.items() for at in range(needed)]


def test_the_needed_barriers_are_all_but_one() -> None:
    for name, (make, _, needed) in WITH_BARRIERS.items():
        found = len(BARRIER.findall(compile(make()).opencl))
        assert found == needed + (name == "listing 4.5")


def faults_of(name: str, change: Callable[[str], str], device: Any) -> list[str]:
    """Return what Oclgrind reports of a changed program, which one work-group computes."""
    make, shapes, _ = WITH_BARRIERS[name]
    return run_checked(damage(compile(make()), change), device, *arguments_of(shapes), most_groups=1)[1]


def replace_barrier(text: str, at: int, new: str) -> str:
    found = list(BARRIER.finditer(text))[at]
    return text[: found.start()] + new + text[found.end() :]


@pytest.mark.parametrize(("name", "at"), BARRIERS)
def test_a_removed_barrier_is_a_race(name: str, at: int, oclgrind: Any) -> None:
    """No barrier of these programs is more than is needed, and Oclgrind sees where one is missing."""
    faults = faults_of(name, lambda text: replace_barrier(text, at, ";"), oclgrind)
    assert any(RACE in fault for fault in faults), faults


@pytest.mark.parametrize("name", WITH_BARRIERS)
def test_a_barrier_with_the_fence_of_global_memory_is_a_race(name: str, oclgrind: Any) -> None:
    faults = faults_of(name, lambda text: text.replace("CLK_LOCAL_MEM_FENCE", "CLK_GLOBAL_MEM_FENCE"), oclgrind)
    assert any(RACE in fault for fault in faults), faults


@pytest.mark.parametrize("name", WITH_BARRIERS)
def test_a_barrier_that_some_work_items_do_not_reach_is_divergent(name: str, oclgrind: Any) -> None:
    divergent = "if (get_local_id(0) < 1) barrier(CLK_LOCAL_MEM_FENCE);"
    assert DIVERGENCE in faults_of(name, lambda text: replace_barrier(text, 0, divergent), oclgrind)


#: Accesses one element too far: the program, what is replaced, and what Oclgrind says.
TOO_FAR = {
    "a global read": ("vector_add", "x[g_0]", "x[g_0 + 1]", "Invalid read of size 4 at global memory"),
    "a global write": ("vector_add", "out[g_0] =", "out[g_0 + 1] =", "Invalid write of size 4 at global memory"),
    "a local write": ("doublings", "tile[l_id_0] =", "tile[l_id_0 + 1] =", "Invalid write of size 4 at local memory"),
    "no guard": ("guarded_squares", "min(N - 8 * wg_0, 8)", "8", "Invalid write of size 4 at global memory"),
}


@pytest.mark.parametrize("kind", TOO_FAR)
def test_an_index_one_too_far_is_out_of_bounds(kind: str, oclgrind: Any) -> None:
    name, before, after, expected = TOO_FAR[kind]
    make, sizes = PROGRAMS[name]
    faulty = damage(compile(make()), lambda text: text.replace(before, after))
    _, faults = run_checked(faulty, oclgrind, *arguments_of(sizes[-1]))
    assert expected in faults, (faults, faulty.kernels[0].text)


def test_work_items_that_write_to_one_place_race(oclgrind: Any) -> None:
    make, sizes = PROGRAMS["vector_add"]
    faulty = damage(compile(make()), lambda text: text.replace("out[g_0] =", "out[0] ="))
    _, faults = run_checked(faulty, oclgrind, *arguments_of(sizes[1]))
    assert "Write-write data race at global memory" in faults


def test_memory_that_nothing_has_written_is_reported(oclgrind: Any) -> None:
    make, sizes = PROGRAMS["doublings"]
    faulty = damage(compile(make()), lambda text: text.replace("tile[l_id_0] = x", "if (l_id_0 < 1) tile[l_id_0] = x"))
    _, faults = run_checked(faulty, oclgrind, *arguments_of(sizes[0]))
    assert any(fault.startswith("Uninitialized value") for fault in faults), (faults, faulty.kernels[0].text)


def test_faults_are_reported_after_many_others(oclgrind: Any) -> None:
    """Oclgrind counts the errors of a process and falls silent after 1,000."""
    make, _ = PROGRAMS["vector_add"]
    faulty = damage(compile(make()), lambda text: text.replace("out[g_0] =", "out[0] ="))
    for _ in range(2):
        assert run_checked(faulty, oclgrind, *arguments_of([1500, 1500]))[1]
