"""The kernels of tests/cuda/programs on the CPU device beside the same algorithms as OpenMP loops, in one process.

    python benchmarks/cuda_cpu.py [--rounds 15]

The program is built by `drawloom cc -march=native` from the programs' own files, the loops by g++ -O3 -march=native
-fopenmp. Each side runs in turns on all cores; the table has medians. The program compares the results, and fails
where they differ by more than the order of sums allows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common.timing import geometric_mean, markdown_table
from drawloom.cuda.compiler import Options
from drawloom.cuda.programs import Request, build

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "benchmarks" / "cuda" / "cpu"
PROGRAMS = ROOT / "tests" / "cuda" / "programs"
LOOPS = ("-std=c++17", "-O3", "-march=native", "-fopenmp")


def compile_program(compiler: str, folder: Path) -> Path:
    """The program with both sides, built in the folder."""
    loops = {source: folder / f"{source.stem}.o" for source in sorted(SOURCES.glob("*.cpp"))}

    def compile_loops(source: Path) -> None:
        subprocess.run([compiler, *LOOPS, "-c", str(source), "-o", str(loops[source])], check=True)

    with ThreadPoolExecutor() as pool:
        list(pool.map(compile_loops, loops))
    program = folder / "programs"
    inputs = (*sorted(SOURCES.glob("*.cu")), *loops.values())
    options = Options("c++17", includes=(str(SOURCES), str(PROGRAMS)))
    build(Request(tuple(map(str, inputs)), str(program), options, level="native", libraries=("gomp",), checked=False))
    return program


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    compiler = shutil.which("g++")
    if compiler is None:
        sys.exit("g++ is not installed: it compiles the OpenMP side")
    with TemporaryDirectory() as temporary:
        program = compile_program(compiler, Path(temporary))
        environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu"}
        done = subprocess.run(
            [str(program), str(arguments.rounds)], env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    rows, ratios = [], []
    for line in done.stdout.splitlines():
        name, ours, theirs = line.split()
        ratios.append(float(ours) / float(theirs))
        rows.append([name, f"{float(ours):.2f}", f"{float(theirs):.2f}", f"{ratios[-1]:.2f}"])
    rows.append(["geometric mean", "", "", f"{geometric_mean(ratios):.2f}"])
    print(markdown_table(["program", "its kernels (ms)", "C, OpenMP (ms)", "ratio"], rows))


if __name__ == "__main__":
    main()
