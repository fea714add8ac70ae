"""The 16 kernels of seed 003, table 2, by clang and nvcc: the shuffles of the paper, and the same results as before."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pytest

import drawloom
from drawloom.ptx import parse, verify
from drawloom.ptx.ir import Instruction, Module
from drawloom.shuffle.pipeline import shuffle

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "shuffle"
#: Kernel -> shuffles, loads, dimensions (table 2).
TABLE: Final[dict[str, tuple[int, int, int]]] = {
    "divergence": (1, 6, 3), "gameoflife": (6, 9, 2), "gaussblur": (20, 25, 2), "gradient": (1, 6, 3),
    "jacobi": (6, 9, 2), "lapgsrb": (12, 25, 3), "laplacian": (2, 7, 3), "matmul": (0, 8, 2), "matvec": (0, 7, 1),
    "sincos": (0, 2, 3), "tricubic": (48, 67, 3), "tricubic2": (48, 67, 3), "uxx1": (3, 17, 3), "vecadd": (0, 2, 1),
    "wave13pt": (4, 14, 3), "whispering": (6, 19, 2),
}  # fmt: skip
#: The sine and cosine of nvcc look numbers up in a table in global memory.
LOOKED_UP: Final = {("nvcc", "sincos"): 2}
#: Shapes of blocks, and the extent of the grid of values along x; 6 along the others.
LAUNCHES: Final = (
    ((32, 1, 1), 1), ((32, 1, 1), 31), ((32, 1, 1), 32), ((32, 1, 1), 33), ((97, 1, 1), 97), ((64, 1, 1), 301),
    ((16, 2, 1), 40), ((256, 1, 1), 4999),
)  # fmt: skip


def text_of(compiler: str, name: str) -> str:
    return (FOLDER / compiler / f"{name}.ptx").read_text()


@pytest.mark.parametrize("compiler", ["clang", "nvcc"])
@pytest.mark.parametrize("name", TABLE)
def test_shuffles_per_loads_are_those_of_the_paper(name: str, compiler: str) -> None:
    shuffles, loads, _ = TABLE[name]
    made = shuffle(text_of(compiler, name), apply="all", assume_no_wrap=True)
    verify(parse(str(made)))
    assert (made.report.shuffles, made.report.loads) == (shuffles, loads + LOOKED_UP.get((compiler, name), 0))


def arguments(module: Module, extents: list[int]) -> list[object]:
    """Fields of small numbers for the pointers, the extents for the integers, constants for the rest."""
    numbers = np.random.default_rng(7)
    size = 1
    for extent in extents:
        size *= extent
    integers = iter([*extents, *extents])
    out: list[object] = []
    for parameter in module.kernels[0].params:
        if parameter.type.bits == 64:
            is_cells = module.kernels[0].name == "gameoflife"
            field = numbers.integers(0, 2, size, dtype=np.int32) if is_cells else numbers.random(size, dtype=np.float32)
            out.append(field)
        elif parameter.type.name == "f32":
            out.append(0.37)
        else:
            out.append(next(integers))
    return out


class Runner:
    """A module on the CPU, compiled once."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.kernel = drawloom.load(str(module), device="cpu")[module.kernels[0].name]

    def __call__(self, extents: list[int], block: tuple[int, int, int]) -> list[bytes]:
        """The bytes of all fields after a launch with a thread for each place along x."""
        given = arguments(self.module, extents)
        columns = -(-extents[0] // block[0])
        rows, layers = [*extents[1:], 1, 1][:2]
        self.kernel[(columns, rows, layers), block](*given)
        return [a.tobytes() for a in given if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("name", [n for n, (shuffles, _, _) in TABLE.items() if shuffles and n != "tricubic2"])
def test_results_are_the_same_bits(name: str) -> None:
    module = parse(text_of("clang", name))
    made = shuffle(module, apply="all")
    assert made.report.shuffles == TABLE[name][0]
    before, after = Runner(module), Runner(made)
    for block, extent in LAUNCHES:
        extents = [extent, 6, 6][: TABLE[name][2]]
        assert after(extents, block) == before(extents, block), (block, extent)


def test_the_original_loads_stay_for_the_lanes_that_need_them() -> None:
    before = parse(text_of("clang", "jacobi"))
    after = shuffle(before, apply="all").kernels[0]
    guarded = [s for s in after.body if isinstance(s, Instruction) and s.name == "ld" and s.guard is not None]
    assert len(guarded) == TABLE["jacobi"][0]
