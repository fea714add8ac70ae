"""The figures of the paper behind `drawloom.batch`, made again on this CPU.

    python benchmarks/batch_figures.py --figure 6 8 9 10 --threads 1
    python benchmarks/batch_figures.py --figure 7 --items 100000 --threads 1    # item-wise kernels are short

The paper is Thuerck, Weber and Bifulco, *Flynn's reconciliation*, ACM TACO 2020, section 5. Figures 6 and 7 are summed
up as in its table 2, against plain C. Figure 8 measures every layout of `ldus`, and the one that `batch.kernel` chooses
without measuring. Figure 9 allows the kinds of moves between lanes one after the other, in C with intrinsics. Figure 10
compares a loop whose end is known at run time only with one that is unrolled. Results are compared with NumPy before
anything is timed. Times are the least of 10 runs after 2 warm-ups, the sides alternating.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.batch import SIZES, TYPES, aligned, alternate, compile_plain, head, layout_name, measure  # noqa: E402
from benchmarks.common.batch_moves import MOVES, moves_up_to  # noqa: E402
from benchmarks.common.timing import (  # noqa: E402
    add_features,
    add_threads,
    choose_features,
    choose_threads,
    geometric_mean,
    machine,
    markdown_table,
)
from drawloom import batch  # noqa: E402
from drawloom.batch.backends.simd.native import SimdKernel, find_isa, load_kernels  # noqa: E402
from drawloom.batch.kernels import GROUP_WISE, ITEM_WISE, parse_ready, read_text  # noqa: E402
from tests.batch.cases import check_result, copied, gamma, make_arguments  # noqa: E402

Table = tuple[tuple[str, ...], list[list[str]]]
Sides = dict[str, Callable[[], None]]
Factorise = Callable[[np.ndarray[Any, Any]], None]


class Setting(NamedTuple):
    """What the command line says."""

    items: int
    sizes: list[int]
    types: list[str]
    clock: Callable[[], float]
    features: str
    target: str


#: Table 2 of the paper: the reference's time by borG's, for C with AVX-512 intrinsics and for LLVM.
PAPER: Final = {
    "gema": ("1.00", "1.02"), "gemm": ("2.26", "2.92"), "trsv": ("1.70", "1.60"), "ldus": ("2.38", "2.86"),
    "pade": ("0.91", "-"), "enum": ("1.57", "-"), "frcg": ("1.26", "2.63"),
}  # fmt: skip
GRID: Final = (*itertools.product(("rows", "columns"), (1, 2, 4)), *itertools.product(("interleaved",), (2, 4, 8)))
TURNS: Final = 5
GEMA_LOOP: Final = """
#define N get_local_size()

__kernel void gema_loop(const real *mat_a, const real *mat_b, real *mat_c, int count) {
    real t_a[N], t_b[N], t_c[N];
    for (int ix = 0; ix < N; ix += 1) {
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];
        t_b[ix] = mat_b[get_group_id() * N * N + get_local_id() * N + ix];
        t_c[ix] = 0;
    }
    for (int turn = 0; turn < TURNS; turn += 1)
        for (int ix = 0; ix < N; ix += 1)
            t_c[ix] += t_a[ix] + t_b[ix];
    for (int ix = 0; ix < N; ix += 1)
        mat_c[get_group_id() * N * N + get_local_id() * N + ix] = t_c[ix];
}
"""


def time_ldus(sides: dict[str, Factorise], size: int, real: str, setting: Setting) -> dict[str, float]:
    """Return the least seconds of kernels that factorise matrices in place."""
    arguments = aligned(make_arguments("ldus", size, setting.items, TYPES[real]))
    saved, matrices = copied(arguments), arguments["mat_a"]
    restore = partial(np.copyto, matrices, saved["mat_a"])
    for run in sides.values():
        restore()
        run(matrices)
        check_result("ldus", size, head("ldus", saved), head("ldus", arguments))
    return alternate({name: partial(run, matrices) for name, run in sides.items()}, restore, setting.clock)


# Figure 8: layouts.


def ldus_in(size: int, real: str, **layout: Any) -> batch.Kernel:
    kernel: batch.Kernel = batch.kernel(read_text("ldus"), wg_size=size, defines={"real": real}, **layout)
    return kernel


def figure_8(setting: Setting) -> Iterator[Table]:
    """Yield nanoseconds for an item in every layout, the better order of instructions, and what was chosen."""
    header = ("size", *[f"{order} {pack}" for order, pack in GRID], "chosen", "ns", "best", "chosen / best")
    for real in setting.types:
        rows = []
        for size in setting.sizes:
            kernels: list[batch.Kernel] = []
            for (order, pack), depth_first in itertools.product(GRID, (False, True)):
                kernels.append(ldus_in(size, real, order=order, pack=pack))
                kernels[-1].depth_first = depth_first
            chosen = ldus_in(size, real)
            sides = {layout_name(kernel): kernel for kernel in [*kernels, chosen]}
            found = time_ldus({**sides}, size, real, setting)
            cells = [min(found[f"{order} {pack}{end}"] for end in ("", " depth-first")) for order, pack in GRID]
            own, best = found[layout_name(chosen)], min(found, key=lambda name: found[name])
            rows.append([str(size), *[nanoseconds(cell, setting) for cell in cells], layout_name(chosen),
                         nanoseconds(own, setting), best, f"{own / found[best]:.2f}"])  # fmt: skip
            print(real, *rows[-1], file=sys.stderr, flush=True)
        yield header, rows


def nanoseconds(seconds: float, setting: Setting) -> str:
    return f"{seconds / setting.items * 1e9:.4g}"


# Figure 9: moves between lanes.


def ldus_with(kind: str, size: int, target: str) -> Factorise:
    """Compile `ldus` with moves up to a kind; rows lie in vectors one after the other, of one group at a time."""
    lowered = batch.lower(parse_ready("ldus", wg_size=size, real="double"))
    with moves_up_to(MOVES.index(kind)):
        kernel = SimdKernel(lowered, find_isa(target), "rows", 1)
    load_kernels([kernel])
    return lambda matrices: kernel.run([matrices.ctypes.data], 0, len(matrices))


def figure_9(setting: Setting) -> Iterator[Table]:
    """Yield run times relative to stores and gathers, then those of `gema` with and without streaming stores."""
    rows = []
    for size in setting.sizes:
        sides = {kind: ldus_with(kind, size, setting.target) for kind in MOVES}
        sides["chosen layout"] = ldus_in(size, "double", target=setting.target)
        found = time_ldus(sides, size, "double", setting)
        base = found[MOVES[0]]
        rows.append([str(size), nanoseconds(base, setting), *[f"{seconds / base:.2f}" for seconds in found.values()]])
        print(*rows[-1], file=sys.stderr, flush=True)
    yield ("size", "ns", *MOVES, "chosen layout"), rows
    yield streaming(setting)


def streaming(setting: Setting) -> Table:
    """Return the time of `gema` with stores around the caches by that of stores through them."""
    header, row = ("size", *map(str, setting.sizes)), ["streaming / plain"]
    for size in setting.sizes:
        arguments = aligned(make_arguments("gema", size, setting.items, np.float64))
        sides: Sides = {}
        for name in (True, False):
            kernel = batch.kernel(read_text("gema"), wg_size=size, defines={"real": "double"}, target=setting.target,
                                  order="rows", pack=1, streaming=name)  # fmt: skip
            sides[str(name)] = partial(kernel, *arguments.values())
            arguments["mat_c"][...] = 0
            sides[str(name)]()
            check_result("gema", size, arguments, arguments)
        found = alternate(sides, lambda: None, setting.clock)
        row.append(f"{found['True'] / found['False']:.2f}")
    return header, [row]


# Figure 10: loops.


def figure_10(setting: Setting) -> Iterator[Table]:
    """Yield the time of a loop to an argument by that of the same loop to a constant, a group in a turn."""
    rows = []
    for road, real in itertools.product((None, setting.target), setting.types):
        row = [road or "LLVM", real]
        for size in setting.sizes:
            row.append(f"{loop_slowdown(size, real, road, setting):.2f}")
        rows.append(row)
        print(*row, file=sys.stderr, flush=True)
    yield ("back end", "type", *map(str, setting.sizes)), rows


def loop_slowdown(size: int, real: str, target: str | None, setting: Setting) -> float:
    arguments = aligned(make_arguments("gema", size, setting.items, TYPES[real]))
    a, b, c = arguments.values()
    sides: Sides = {}
    for name, turns in (("loop", "count"), ("unroll", str(TURNS))):
        kernel = batch.kernel(GEMA_LOOP, wg_size=size, defines={"real": real, "TURNS": turns}, order="rows", pack=1,
                              target=target)  # fmt: skip
        sides[name] = partial(kernel, a, b, c, TURNS)
        c[...] = 0
        sides[name]()
        terms = TURNS * (np.abs(a.astype(np.longdouble)) + np.abs(b))
        exact = TURNS * (a.astype(np.longdouble) + b)
        assert (np.abs(c - exact) <= gamma(TURNS + 1, a.dtype) * terms).all(), (name, size, real)
    found = alternate(sides, lambda: None, setting.clock)
    return found["loop"] / found["unroll"]


# Figures 6 and 7 as table 2 sums them up.


def table_2(kernels: dict[str, str], setting: Setting) -> Iterator[Table]:
    """Yield C's time by ours, the geometric mean over sizes and types, item-wise kernels up to a vector's width."""
    ratios: dict[str, list[list[float]]] = {name: [] for name in kernels if name in PAPER}
    for size, real in itertools.product(setting.sizes, setting.types):
        if kernels is ITEM_WISE and size * np.dtype(TYPES[real]).itemsize > 64:
            continue
        with tempfile.TemporaryDirectory() as folder:
            libraries: dict[str, ctypes.CDLL] = {
                side: compile_plain(Path(folder), size, real, setting.features, side == "simd")
                for side in ("C", "simd")
            }
            for name, found in ratios.items():
                row, own = measure(name, size, real, setting.items, libraries, setting.clock)
                found.append(own)
                print(*row, file=sys.stderr, flush=True)
    rows = [
        [name, *[f"{geometric_mean(column):.2f}" for column in zip(*found)], *PAPER[name]]
        for name, found in ratios.items()
    ]
    yield ("kernel", "C / ours", "simd / ours", "paper: AVX512", "paper: AVX512/LLVM"), rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", nargs="+", type=int, choices=(6, 7, 8, 9, 10), default=(8, 9, 10))
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--target", choices=("avx512", "avx2"), default="avx512", help="of C with intrinsics")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--types", nargs="+", choices=tuple(TYPES), default=tuple(TYPES))
    add_threads(parser)
    add_features(parser)
    options = parser.parse_args()
    clock = choose_threads(options.threads)
    choose_features(options.features)
    setting = Setting(options.items, options.sizes, options.types, clock, options.features, options.target)
    figures: dict[int, Callable[[Setting], Iterator[Table]]] = {
        6: partial(table_2, GROUP_WISE), 7: partial(table_2, ITEM_WISE), 8: figure_8, 9: figure_9, 10: figure_10,
    }  # fmt: skip
    print(f"{machine()}; {options.items:,} items")
    for figure in options.figure:
        for table in figures[figure](setting):
            print(f"\nFigure {figure}\n\n{markdown_table(*table)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
