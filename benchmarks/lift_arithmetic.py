"""Microseconds per array index that Lift's arithmetic builds and simplifies, and what is left of divisions.

    python benchmarks/lift_arithmetic.py                         # as installed: plain or compiled
    python benchmarks/lift_arithmetic.py --compile               # both, the arithmetic compiled in a temporary folder

The indices are those that views build (thesis section 4.3.3) for a transposition, the tiles of a matrix multiplication
with two-dimensional tiling, and a two-dimensional stencil with clamped borders. Lengths and index variables are made
anew for every index, so that no result is remembered. Times are processor time, the least of several rounds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if "DRAWLOOM_COMPILED_ARITHMETIC" not in os.environ:
    sys.path.insert(0, str(ROOT / "src"))

#: What the goal allows for one index, compiled.
GOAL_MICROSECONDS = 100.0
TILE = 16


def transposed(a: Any) -> Any:
    """Figure 4.6: a transposition by listing 4.4's gather."""
    m, n = a.variable("M"), a.variable("N")
    wg, lane = a.index("wg", m), a.index("l", n)
    row, column = transpose_by_gather(wg, lane, n, m)
    return row * m + column


def transpose_by_gather(i: Any, j: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Where element (i, j) of the transposition of a rows × columns array comes from: join, gather, split."""
    joined = i * rows + j
    gathered = joined // rows + joined % rows * columns
    return gathered // columns, gathered % columns


def tile_of_a(a: Any) -> Any:
    """Element (r, c) of tile (tm, tk) of A: split, map(map(split)), map(transpose)."""
    m, k = a.variable("M", TILE, None, TILE), a.variable("K", TILE, None, TILE)
    tm, tk = a.index("tm", a.exact_div(m, TILE)), a.index("tk", a.exact_div(k, TILE))
    r, c = a.index("r", TILE), a.index("c", TILE)
    row, tile = transpose_by_gather(tk, r, TILE, a.exact_div(k, TILE))
    return (tm * TILE + row) * k + tile * TILE + c


def tile_of_b(a: Any) -> Any:
    """Element (r, c) of tile (tn, tk) of B, transposed before it is tiled, by work-items that count through a tile."""
    k, n = a.variable("K", TILE, None, TILE), a.variable("N", TILE, None, TILE)
    tn, tk = a.index("tn", a.exact_div(n, TILE)), a.index("tk", a.exact_div(k, TILE))
    local = a.index("l", TILE * TILE)
    r, tile = transpose_by_gather(tk, local // TILE, TILE, a.exact_div(k, TILE))
    row, column = transpose_by_gather(tn * TILE + r, tile * TILE + local % TILE, k, n)
    return row * n + column


def tile_of_c(a: Any) -> Any:
    """Where element (r, c) of tile (tm, tn) of C is written: the tiles joined by scatters."""
    m, n = a.variable("M", TILE, None, TILE), a.variable("N", TILE, None, TILE)
    tm, tn = a.index("tm", a.exact_div(m, TILE)), a.index("tn", a.exact_div(n, TILE))
    r, c = a.index("r", TILE), a.index("c", TILE)
    flat = ((tm * a.exact_div(n, TILE) + tn) * TILE + r) * TILE + c
    tile, inside = flat // (TILE * TILE), flat % (TILE * TILE)
    tiles = a.exact_div(n, TILE)
    return (tile // tiles * TILE + inside // TILE) * n + tile % tiles * TILE + inside % TILE


def stencil(a: Any) -> Any:
    """Element (p, q) of window (i, j) of slide(3, 1) in two dimensions over a padded N × M array, borders clamped."""
    n, m = a.variable("N", 2), a.variable("M", 2)
    i, j = a.index("i", n), a.index("j", m)
    p, q = a.index("p", 3), a.index("q", 3)
    inner, window = transpose_by_gather(j, p, 3, m)
    row, column = i * 1 + inner, window * 1 + q
    return clamp(a, row - 1, n) * m + clamp(a, column - 1, m)


def clamp(a: Any, i: Any, length: Any) -> Any:
    return a.select(a.less(i, 0), 0, a.select(a.less_equal(length, i), length - 1, i))


def wrapped_stencil(a: Any) -> Any:
    """The same window over an array that is continued by its other end, read through its flat index."""
    n, m = a.variable("N", 2), a.variable("M", 2)
    i, j = a.index("i", n), a.index("j", m)
    p, q = a.index("p", 3), a.index("q", 3)
    inner, window = transpose_by_gather(j, p, 3, m)
    flat = (i + inner - 1) % n * m + (window + q - 1) % m
    return flat // m * m + flat % m


INDICES: dict[str, Callable[[Any], Any]] = {
    "transposition (figure 4.6)": transposed,
    "matmul: tile of A": tile_of_a,
    "matmul: tile of transposed B": tile_of_b,
    "matmul: tile of C": tile_of_c,
    "stencil, clamped": stencil,
    "stencil, wrapped": wrapped_stencil,
}


def measure(make: Callable[[Any], Any], arithmetic: Any, rounds: int, repeats: int) -> float:
    """Return the microseconds of one index."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeats):
            make(arithmetic)
        best = min(best, time.process_time() - start)
    return best / repeats * 1e6


def table(rounds: int) -> dict[str, tuple[float, str]]:
    """Return the microseconds and the text of every index."""
    from drawloom.lift import arithmetic

    found = {}
    for name, make in INDICES.items():
        found[name] = (measure(make, arithmetic, rounds, 100), str(make(arithmetic)))
    return found


def compiled_table(folder: Path, rounds: int) -> dict[str, tuple[float, str]]:
    """Compile the arithmetic into a copy of the package below `folder` and measure there."""
    shutil.copytree(ROOT / "src" / "drawloom", folder / "drawloom", ignore=shutil.ignore_patterns("__pycache__"))
    modules = sorted(str(path) for path in (folder / "drawloom/lift/arithmetic").glob("[!_]*.py"))
    mypyc = Path(sys.executable).with_name("mypyc")
    environment = {**os.environ, "MYPYPATH": str(folder)}
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run([str(mypyc), *options, *modules], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    environment = {**os.environ, "PYTHONPATH": str(folder), "DRAWLOOM_COMPILED_ARITHMETIC": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--raw", "--rounds", str(rounds)]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=folder).stdout
    found = {}
    for line in output.splitlines():
        name, microseconds, text = line.split("\t")
        found[name] = (float(microseconds), text)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--compile", action="store_true", help="compile the arithmetic with mypyc and measure both")
    arguments.add_argument("--raw", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    here = table(options.rounds)
    if options.raw:
        for name, (microseconds, text) in here.items():
            print(f"{name}\t{microseconds}\t{text}")
        return
    compiled: dict[str, tuple[float, str]] = {}
    if options.compile:
        with tempfile.TemporaryDirectory() as folder:
            compiled = compiled_table(Path(folder), options.rounds)
    print(f"{'index':32} {'plain µs':>10} {'compiled µs':>12} {'of the goal':>12}  becomes")
    for name, (microseconds, text) in here.items():
        fast = compiled[name][0] if compiled else float("nan")
        print(f"{name:32} {microseconds:10.1f} {fast:12.1f} {fast / GOAL_MICROSECONDS:11.0%}  {text}")


if __name__ == "__main__":
    main()
