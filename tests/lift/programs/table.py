"""All benchmark programs: the thesis's twelve of table 4.2, and eight more."""

from tests.lift.programs import (
    black_scholes,
    counting,
    imaging,
    learning,
    linear_algebra,
    mandelbrot,
    matrix_multiplication,
    particles,
    stencils,
)
from tests.lift.programs.benchmark import Benchmark

BENCHMARKS: list[Benchmark] = [
    benchmark
    for module in (
        particles,
        learning,
        imaging,
        linear_algebra,
        matrix_multiplication,
        stencils,
        black_scholes,
        mandelbrot,
        counting,
    )
    for benchmark in module.BENCHMARKS
]
