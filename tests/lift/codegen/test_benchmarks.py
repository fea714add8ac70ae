"""Every low-level benchmark program, compiled, against NumPy in double precision with derived bounds."""

from collections.abc import Callable

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


def count_costs(benchmark: Benchmark, form: str) -> list[str]:
    """Return a line for each kernel: divisions and remainders, barriers, and the bytes in each address space."""
    program = benchmark.low_level[form]()
    size = [size for size in benchmark.sizes if benchmark.fits(form, size)][-1]
    compiled = compile_for(program, *benchmark.arguments(np.random.default_rng(1), size))
    lines = []
    for kernel in compiled.kernels:
        memory = ", ".join([f"{space} {kernel.bytes_in(space)}" for space in ("global", "local", "private")])
        barriers = kernel.text.count("barrier(")
        lines.append(f"{benchmark.name}, {kernel.name}: {kernel.count_divisions()} / {barriers} / {memory}")
    return lines


def test_the_costs_of_the_kernels_are_those_of_the_golden_file(golden: Callable[[str, str], None]) -> None:
    lines = [line for benchmark, form in FORMS for line in count_costs(benchmark, form)]
    head = "# Each kernel: divisions and remainders in indices / barriers / bytes that it allocates"
    golden("lift/benchmark_costs.txt", "\n".join([head, *lines]) + "\n")
