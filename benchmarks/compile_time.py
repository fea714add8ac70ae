"""The time of `drawloom cc` beside nvcc's and clang's, on the CUDA programs of the tests.

    python benchmarks/compile_time.py [--rounds 3] [--only NAME]

Each side compiles and links the whole program, cold but for the operating system's file cache and what is made once per
machine: our runtime library and the precompiled headers. clang compiles the device side to PTX and the host side to an
object file, with our headers: what `drawloom cc` adds is machine code for the CPU and for GPUs. Sides that are not
installed are left out.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common.timing import geometric_mean, markdown_table
from tools.cuda_programs import PROGRAMS

CLANG = """
import sys
from drawloom.cuda.clang import find_clang
from drawloom.cuda.compiler import Options, translate_cuda
from drawloom.cuda.prelude import cc1
from drawloom.cuda.programs import Request, host_arguments
translate_cuda(sys.argv[1], "sm_80", Options("c++17", line_info=True, program=True))
clang = find_clang()
cc1(clang, host_arguments(clang, Request((sys.argv[1],))), ["-emit-obj", "-o", sys.argv[2], sys.argv[1]])
"""


def sides(source: Path, out: str) -> dict[str, list[str]]:
    """The command of each side."""
    found = {
        "drawloom cc": [sys.executable, "-m", "drawloom", "cc", str(source), "-o", out],
        "clang": [sys.executable, "-c", CLANG, str(source), out],
    }
    if nvcc := shutil.which("nvcc"):
        found["nvcc"] = [nvcc, "-O3", "-std=c++17", "-arch=sm_80", "--extended-lambda", "-w", str(source), "-o", out]
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    sources = [s for s in sorted(PROGRAMS.glob("*.cu")) if not arguments.only or s.stem in arguments.only]
    rows, ratios, ours = [], [], []
    with TemporaryDirectory() as temporary:
        out = f"{temporary}/out"
        subprocess.run(sides(sources[0], out)["drawloom cc"], check=True)  # what is made once per machine
        for source in sources:
            times: dict[str, list[float]] = {}
            for _ in range(arguments.rounds):
                for name, command in sides(source, out).items():
                    begin = time.perf_counter()
                    done = subprocess.run(command, capture_output=True, text=True)
                    if done.returncode and not (name == "nvcc" and "No such file" in done.stderr):
                        sys.exit(f"{name} does not compile {source.name}:\n{done.stderr}")
                    if not done.returncode:  # nvcc's own headers may be there in part
                        times.setdefault(name, []).append(time.perf_counter() - begin)
            medians = {name: statistics.median(found) for name, found in times.items()}
            ours.append(medians["drawloom cc"])
            nvcc = medians.get("nvcc")
            if nvcc is not None:
                ratios.append(ours[-1] / nvcc)
            rows.append([
                source.stem, f"{ours[-1]:.2f}", f"{medians['clang']:.2f}", "-" if nvcc is None else f"{nvcc:.2f}",
                "-" if nvcc is None else f"{ratios[-1]:.2f}",
            ])  # fmt: skip
    print(markdown_table(["program", "drawloom cc (s)", "clang (s)", "nvcc (s)", "ratio to nvcc"], rows))
    print(f"\nMedian of `drawloom cc`: {statistics.median(ours):.2f} s.", end="")
    print(f" Geometric mean of the ratios to nvcc: {geometric_mean(ratios):.2f}" if ratios else "")


if __name__ == "__main__":
    main()
