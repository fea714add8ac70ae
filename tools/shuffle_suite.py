"""The kernels of the shuffle suite before and after the synthesis, on the reference interpreter and the CPU device: the
same bits in all fields, by both compilers, in all blocks and at all extents of ``LAUNCHES``.

    python -m tools.shuffle_suite                  # all of them
    python -m tools.shuffle_suite jacobi uxx1      # these only
"""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path
from typing import Final

import numpy as np

import drawloom
from drawloom.ptx import Module, parse
from drawloom.shuffle.pipeline import shuffle

FOLDER: Final = Path(__file__).resolve().parent.parent / "tests" / "golden" / "shuffle"
COMPILERS: Final = ("clang", "nvcc")
#: Shapes of blocks, and the extents of the field along x: one, about a warp, a prime, large.
LAUNCHES: Final = (
    ((32, 1, 1), 1), ((32, 1, 1), 31), ((32, 1, 1), 32), ((32, 1, 1), 33), ((97, 1, 1), 97), ((64, 1, 1), 301),
    ((16, 2, 1), 40), ((256, 1, 1), 4999),
)  # fmt: skip
#: By device: the extents along y and z, and the largest along x.
SIZES: Final = {"reference": (5, 97), "cpu": (6, 4999)}


def text_of(compiler: str, name: str) -> str:
    return (FOLDER / compiler / f"{name}.ptx").read_text()


def names() -> list[str]:
    return sorted(path.stem for path in (FOLDER / "src").glob("*.cu"))


def axes(module: Module) -> int:
    """How many dimensions the kernel's fields have: as many as it asks its block's place in."""
    text = str(module)
    return 3 if "%ctaid.z" in text else 2 if "%ctaid.y" in text else 1


def arguments(module: Module, extents: list[int]) -> list[object]:
    """Fields of small numbers for the pointers, the extents for the integers, constants for the rest."""
    numbers = np.random.default_rng(7)
    size = prod(extents)
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
    """A module on a device, compiled once."""

    def __init__(self, module: Module, device: str = "cpu") -> None:
        self.module = module
        self.kernel = drawloom.load(str(module), device=device)[module.kernels[0].name]

    def __call__(self, extents: list[int], block: tuple[int, int, int]) -> list[bytes]:
        """The bytes of all fields after a launch with a thread for each place along x."""
        given = arguments(self.module, extents)
        columns = -(-extents[0] // block[0])
        rows, layers = [*extents[1:], 1, 1][:2]
        self.kernel[(columns, rows, layers), block](*given)
        return [a.tobytes() for a in given if isinstance(a, np.ndarray)]


def differences(module: Module, made: Module, device: str) -> tuple[int, list[str]]:
    """How many launches there were, and in which of them the two modules left different bits."""
    before, after = Runner(module, device), Runner(made, device)
    across, most = SIZES[device]
    out: list[str] = []
    launches = [(block, extent) for block, extent in LAUNCHES if extent <= most]
    for block, extent in launches:
        extents = [extent, across, across][: axes(module)]
        if after(extents, block) != before(extents, block):
            out.append(f"block {block}, extents {extents}")
    return len(launches), out


def main(chosen: list[str]) -> int:
    total = failed = 0
    for name in [name for name in names() if not chosen or name in chosen]:
        for compiler in COMPILERS:
            module = parse(text_of(compiler, name))
            for assumed in (False, True):
                made = shuffle(module, apply="all", assume_no_wrap=assumed)
                if not made.report.shuffles:
                    continue
                for device in SIZES:
                    count, wrong = differences(module, made, device)
                    total += count
                    failed += len(wrong)
                    said = f"{name} by {compiler} on {device}{', no wrap assumed' if assumed else ''}"
                    print(f"{said}: {made.report.shuffles} shuffles, {count} launches", *wrong, sep="\n  ", flush=True)
    print(f"{total} launches before and after, {failed} of them different")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
