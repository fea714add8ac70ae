"""CUDA kernels on the CPU device beside the same algorithms as OpenMP loops, in one process.

    python benchmarks/cuda_cpu.py [--rounds 15]

The program is built by `drawloom cc -march=native`, the loops by g++ -O3 -march=native -fopenmp. Each side runs in
turns on all cores; the table has medians. Results must agree: the last column is the largest difference in proportion
to the largest result.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common.timing import geometric_mean, markdown_table
from drawloom.cuda.compiler import Options
from drawloom.cuda.programs import Request, build

SOURCES = Path(__file__).parent / "cuda"
#: Sums of 2048 floats in another order, each term after some four roundings to 2^-24.
TOLERANCE = 2.0**-24 * 8192


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    compiler = shutil.which("g++")
    if compiler is None:
        sys.exit("g++ is not installed: it compiles the OpenMP side")
    with TemporaryDirectory() as temporary:
        loops, program = f"{temporary}/openmp.o", f"{temporary}/kernels"
        subprocess.run(
            [compiler, "-O3", "-march=native", "-fopenmp", "-c", str(SOURCES / "openmp.cpp"), "-o", loops], check=True
        )
        inputs = (str(SOURCES / "kernels.cu"), loops)
        build(Request(inputs, program, Options("c++17"), level="native", libraries=("gomp",), checked=False))
        environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu"}
        done = subprocess.run(
            [program, str(arguments.rounds)], env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    rows, ratios = [], []
    for line in done.stdout.splitlines():
        name, ours, theirs, apart = line.split()
        if not float(apart) <= (1 if name == "mandelbrot" else TOLERANCE):  # the set's edge turns on the last bit
            sys.exit(f"{name}: the results are {apart} apart")
        ratios.append(float(ours) / float(theirs))
        rows.append([name, f"{float(ours):.2f}", f"{float(theirs):.2f}", f"{ratios[-1]:.2f}", apart])
    print(markdown_table(["algorithm", "CUDA kernel (ms)", "OpenMP (ms)", "ratio", "apart"], rows))
    print(f"\nGeometric mean of the ratios: {geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
