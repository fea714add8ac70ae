"""All benchmark programs: the thesis's twelve of table 4.2, and eight more."""

from tests.lift.programs import linear_algebra, matrix_multiplication
from tests.lift.programs.benchmark import Benchmark

BENCHMARKS: list[Benchmark] = [*linear_algebra.BENCHMARKS, *matrix_multiplication.BENCHMARKS]
