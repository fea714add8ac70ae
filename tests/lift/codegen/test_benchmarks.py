"""Every low-level benchmark program, compiled, against NumPy in double precision with derived bounds."""

import numpy as np
import pytest

from tests.lift.codegen.runners import compile_for
from tests.lift.programs.benchmark import Benchmark
from tests.lift.programs.table import BENCHMARKS

FORMS = [(benchmark, form) for benchmark in BENCHMARKS for form in benchmark.low_level]


@pytest.mark.parametrize(("benchmark_", "form"), FORMS, ids=[f"{benchmark.name} {form}" for benchmark, form in FORMS])
def test_compiled_benchmarks_give_the_right_result(benchmark_: Benchmark, form: str) -> None:
    sizes = [size for size in benchmark_.sizes if benchmark_.fits(form, size)]
    program = benchmark_.low_level[form]()
    for size in sizes[-2:]:
        arguments = benchmark_.arguments(np.random.default_rng(sum(size)), size)
        benchmark_.reference(*arguments).check(compile_for(program, *arguments)(*arguments))
