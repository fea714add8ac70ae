"""The programs and the hand-written kernels of benchmarks/lift_codegen.py, against NumPy in double precision."""

import numpy as np
import pytest

from benchmarks.lift.cases import CASES, Case
from benchmarks.lift.launches import CPUDevice, record
from benchmarks.lift_codegen import VARIANTS, count_lines
from drawloom.lift import compile
from tests.lift.codegen.oclgrind import run_checked
from tests.opencl_platforms import OCLGRIND, usable_device


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_both_sides_of_a_benchmark_are_right(case: Case) -> None:
    size = case.sizes["test"]
    arguments = case.arguments(np.random.default_rng(1), size)
    compiled = compile(case.program(), local_size=case.local_size, exact_groups=True)
    device = CPUDevice()
    for side in (record(compiled, arguments), case.hand_written(arguments, size)):
        run = device.prepare(side)
        for result in side.results:
            result.fill(0)
        run()
        case.check(case.reference(*arguments), side.results)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_timed_programs_have_no_faults(case: Case) -> None:
    """Each under Oclgrind, as they are launched for timing."""
    oclgrind = usable_device(OCLGRIND)
    arguments = case.arguments(np.random.default_rng(1), case.sizes["test"])
    compiled = compile(case.program(), local_size=case.local_size, exact_groups=True)
    _, faults = run_checked(compiled, oclgrind, *arguments)
    assert not faults


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_variants_of_figure_4_13_are_right(variant: str) -> None:
    case = next(case for case in CASES if case.name == "Convolution")
    arguments = case.arguments(np.random.default_rng(1), case.sizes["test"])
    compiled = compile(case.program(), local_size=case.local_size, exact_groups=True, **VARIANTS[variant])
    case.check(case.reference(*arguments), record(compiled, arguments).results)


def test_empty_lines_and_comments_are_not_counted() -> None:
    assert count_lines("// a comment\n\nint x;\n  // another\n  int y;\n") == 2
