"""How long the benchmark programs and their code are, beside the thesis's table 4.2, as a golden table."""

from collections.abc import Callable

from drawloom.lift import Compiled, Lambda, show_program
from tests.lift.codegen.runners import compile_for
from tests.lift.programs.benchmark import Benchmark
from tests.lift.programs.table import BENCHMARKS

#: Lines of code in table 4.2: the hand-written OpenCL, high-level Lift, low-level Lift.
THESIS: dict[str, tuple[int, int, int]] = {
    "N-Body NVIDIA": (139, 34, 49),
    "N-Body AMD": (54, 34, 34),
    "MD": (50, 34, 34),
    "K-Means": (32, 25, 25),
    "NN": (18, 7, 7),
    "MRI-Q": (41, 43, 43),
    "Convolution": (92, 48, 48),
    "ATAX": (426, 30, 64),
    "GEMV": (213, 15, 32),
    "GESUMMV": (426, 30, 64),
    "MM NVIDIA": (768, 17, 65),
    "MM AMD": (768, 17, 38),
}

HEAD = """\
Lines of code: Lift as `show_program` prints it, with its user functions, and the OpenCL C that is made of the low-level
program, with its user functions; divisions and remainders that are left in the kernels; bytes of local memory. The
thesis's numbers (table 4.2) are lines of the hand-written OpenCL, of high-level and of low-level Lift.

| benchmark | program | high-level | low-level | OpenCL C | divisions | local bytes | thesis: OpenCL | high | low |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def count_lines(text: str) -> int:
    return len([line for line in text.splitlines() if line.strip()])


def row_of(benchmark: Benchmark, form: str, make: Callable[[], Lambda]) -> str:
    program = make()
    compiled = compile_any(benchmark, form, program)
    cells = [
        benchmark.name,
        form,
        count_lines(show_program(benchmark.high_level())),
        count_lines(show_program(program)),
        count_lines(compiled.opencl),
        sum(kernel.count_divisions() for kernel in compiled.kernels),
        ", ".join(map(str, compiled.bytes_in("local"))),
        *THESIS.get(benchmark.name, ("", "", "")),
    ]
    return f"| {' | '.join(map(str, cells))} |\n"


def compile_any(benchmark: Benchmark, form: str, program: Lambda) -> Compiled:
    """Compile a program for any size, or for the last of its sizes where local memory needs to know them."""
    import numpy as np

    size = [size for size in benchmark.sizes if benchmark.fits(form, size)][-1]
    return compile_for(program, *benchmark.arguments(np.random.default_rng(0), size))


def test_the_table_of_code_sizes(golden: Callable[[str, str], None]) -> None:
    rows = [row_of(benchmark, form, make) for benchmark in BENCHMARKS for form, make in benchmark.low_level.items()]
    golden("lift/code_sizes.md", HEAD + "".join(rows))


def test_high_level_programs_are_shorter_than_the_hand_written_kernels() -> None:
    """No high-level program is longer than the kernel of table 4.2 that it stands for."""
    lengths = {one.name: count_lines(show_program(one.high_level())) for one in BENCHMARKS if one.name in THESIS}
    assert set(lengths) == set(THESIS)
    longer = {name for name, length in lengths.items() if length > THESIS[name][0]}
    assert longer == set()
