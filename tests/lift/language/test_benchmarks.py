"""The benchmark programs, high-level and low-level, against NumPy in double precision at small, odd and prime sizes."""

import numpy as np
import pytest

from drawloom.lift import (
    Lambda,
    check_well_formed,
    find_sizes,
    infer_types,
    interpret,
    is_low_level,
    parse_program,
    show_program,
)
from tests.lift.programs.benchmark import Benchmark
from tests.lift.programs.table import BENCHMARKS

FORMS = [(benchmark, form) for benchmark in BENCHMARKS for form in ("high-level", *benchmark.low_level)]
NAMES = [f"{benchmark.name} {form}" for benchmark, form in FORMS]


def make(benchmark: Benchmark, form: str) -> Lambda:
    return infer_types(benchmark.high_level() if form == "high-level" else benchmark.low_level[form]())


@pytest.mark.parametrize(("benchmark", "form"), FORMS, ids=NAMES)
def test_result(benchmark: Benchmark, form: str) -> None:
    program = make(benchmark, form)
    sizes = [size for size in benchmark.sizes if benchmark.fits(form, size)]
    assert len(sizes) >= 2
    for size in sizes:
        arguments = benchmark.arguments(np.random.default_rng(sum(size)), size)
        benchmark.reference(*arguments).check(interpret(program, *arguments))


@pytest.mark.parametrize(("benchmark", "form"), FORMS, ids=NAMES)
def test_form(benchmark: Benchmark, form: str) -> None:
    program = make(benchmark, form)
    assert is_low_level(program) == (form != "high-level")
    if form != "high-level":
        check_well_formed(program)
    assert parse_program(show_program(program), sizes=find_sizes(program)) == program
