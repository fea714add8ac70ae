"""All benchmark programs: the thesis's twelve of table 4.2, and eight more."""

from tests.lift.programs import imaging, learning, linear_algebra, matrix_multiplication, particles
from tests.lift.programs.benchmark import Benchmark

BENCHMARKS: list[Benchmark] = [
    *particles.BENCHMARKS,
    *learning.BENCHMARKS,
    *imaging.BENCHMARKS,
    *linear_algebra.BENCHMARKS,
    *matrix_multiplication.BENCHMARKS,
]
