"""The kernels of the shuffle suite before and after the synthesis, on the reference interpreter and the CPU device: the
same bits in all fields, by both compilers, in all blocks and at all extents of ``LAUNCHES``.

    python -m tools.shuffle_suite                  # all of them
    python -m tools.shuffle_suite jacobi uxx1      # these only
    python -m tools.shuffle_suite --shipped FOLDER # as the authors of the suite ship them, with grid-stride loops

``--shipped`` takes a checkout of the KernelGen performance tests, of which nothing is kept. It compiles
FOLDER/NAME/NAME.cu by both compilers, prints shuffles per loads with all tests at run time beside the paper's, then
compares launches of fewer threads than places. Kernels whose CUDA C is not there are left out.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import sys
from math import prod
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np

import drawloom
from drawloom import compile_cuda
from drawloom.ptx import Module, parse
from drawloom.shuffle.pipeline import shuffle
from tools.shuffle_kernels import ARCH, by_nvcc

FOLDER: Final = Path(__file__).resolve().parent.parent / "tests" / "golden" / "shuffle"
COMPILERS: Final = ("clang", "nvcc")
#: Shapes of blocks, and the extents of the field along x: one, about a warp, a prime, large.
LAUNCHES: Final = (
    ((32, 1, 1), 1), ((32, 1, 1), 31), ((32, 1, 1), 32), ((32, 1, 1), 33), ((97, 1, 1), 97), ((64, 1, 1), 301),
    ((16, 2, 1), 40), ((256, 1, 1), 4999),
)  # fmt: skip
Shape = tuple[int, int, int]
#: By device: the extents along y and z, and the largest along x.
SIZES: Final = {"reference": (5, 97), "cpu": (6, 4999)}
#: Kernel -> shuffles, loads (seed 003, table 2).
TABLE: Final[dict[str, tuple[int, int]]] = {
    "divergence": (1, 6), "gameoflife": (6, 9), "gaussblur": (20, 25), "gradient": (1, 6), "jacobi": (6, 9),
    "lapgsrb": (12, 25), "laplacian": (2, 7), "matmul": (0, 8), "matvec": (0, 7), "sincos": (0, 2),
    "tricubic": (48, 67), "tricubic2": (48, 67), "uxx1": (3, 17), "vecadd": (0, 2), "wave13pt": (4, 14),
    "whispering": (6, 19),
}  # fmt: skip
#: Launches of the shipped kernels: blocks, the grid's extents, and those of the fields, without what is beyond an axis.
STRIDED: Final = (
    ((32, 1, 1), (1, 1, 1), (97, 7, 6)), ((32, 2, 1), (2, 1, 2), (70, 6, 5)), ((64, 1, 1), (1, 2, 1), (200, 5, 5)),
    ((16, 2, 1), (2, 2, 1), (40, 6, 5)), ((33, 1, 1), (2, 1, 1), (130, 6, 5)), ((96, 1, 1), (1, 1, 1), (98, 6, 5)),
)  # fmt: skip
#: Kernels in which threads read what others write without a barrier: only the CPU device runs them in one order.
RACING: Final = ("whispering",)
#: Bytes of the structure with the extents of grid and block and the strides of the loops, and what follows them.
CONFIGURATION: Final = "<9I4xQQ"


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

    def strided(self, grid: Shape, block: Shape, extents: Shape) -> list[bytes]:
        """The bytes of all fields after a launch whose threads go around loops over the places."""
        numbers = np.random.default_rng(7)
        strides = [threads * blocks for threads, blocks in zip(block, grid, strict=True)]
        configuration = struct.pack(CONFIGURATION, *grid, *block, *strides, 0, 0)
        integers = iter(extents)
        given: list[object] = []
        for parameter in self.module.kernels[0].params:
            if parameter.shape:
                given.append(configuration)
            elif parameter.type.bits == 64:
                given.append(numbers.random(2 * prod(extents), dtype=np.float32))
            else:
                given.append(0.37 if parameter.type.name == "f32" else next(integers))
        self.kernel[grid, block](*given)
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


def shipped(folder: Path, chosen: list[str]) -> int:
    """Print the table of the kernels as they are shipped, and compare launches; the exit status."""
    nvcc = shutil.which("nvcc")
    total = failed = 0
    print("| kernel | table | clang | nvcc | time |\n| --- | --: | --: | --: | --: |")
    for name in [name for name in TABLE if not chosen or name in chosen]:
        source = folder / name / f"{name}.cu"
        if not source.is_file():
            continue
        includes = [str(source.parent), str(source.parent / "cuda")]
        modules = [compile_cuda(source, arch=ARCH["clang"], defines=["real=float"], includes=includes)]
        if nvcc is not None:
            modules.append(parse(by_nvcc(nvcc, source, ["-Dreal=float", *[f"-I{path}" for path in includes]])))
        cells, seconds, wrong = [], 0.0, []
        for module in modules:
            begin = process_time()
            made = shuffle(module, apply="all")
            seconds = max(seconds, process_time() - begin)
            cells.append(f"{made.report.shuffles}/{made.report.loads}")
            if made.report.shuffles:
                count, found = strided_differences(module, made, ["cpu"] if name in RACING else list(SIZES))
                total += count
                wrong.extend(found)
        failed += len(wrong)
        table = "/".join([str(number) for number in TABLE[name]])
        print(f"| {name} | {table} | {' | '.join(cells)} | {seconds * 1e3:.0f} ms |", *wrong, sep="\n", flush=True)
    print(f"{total} launches before and after, {failed} of them different")
    return 1 if failed else 0


def strided_differences(module: Module, made: Module, devices: list[str]) -> tuple[int, list[str]]:
    """How many launches of a kernel with grid-stride loops there were, and what differs in which of them."""
    out: list[str] = []
    total = 0
    for device in devices:
        before, after = Runner(module, device), Runner(made, device)
        for block, grid, extents in STRIDED:
            total += 1
            if before.strided(grid, block, extents) != after.strided(grid, block, extents):
                out.append(f"{device}, block {block}, grid {grid}, extents {extents}")
    return total, out


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the kernels; all of them otherwise")
    parser.add_argument("--shipped", type=Path, metavar="FOLDER", help="a checkout of the suite itself")
    given = parser.parse_args(arguments)
    return shipped(given.shipped, given.names) if given.shipped else own(given.names)


def own(chosen: list[str]) -> int:
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
