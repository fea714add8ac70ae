"""What calls of the CUDA runtime interface cost in programs of `drawloom cc`, on this machine's cores.

    python benchmarks/cuda_launches.py

Goal: at most 5 microseconds for the launch of a small grid. `benchmarks/cuda/launches.cu` prints the numbers: each is
the median of 15 rounds of 1000 calls, with one wait at the end of a round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SOURCE = ROOT / "benchmarks" / "cuda" / "launches.cu"


def measured() -> list[list[str]]:
    """Build the program and run it; (call, microseconds) of each line that it prints."""
    from drawloom.cuda.compiler import Options
    from drawloom.cuda.programs import Request, build

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "launches"
        build(Request((str(SOURCE),), str(program), Options(optimise=3), checked=False))
        environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu"}
        done = subprocess.run([str(program)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("|") for line in done.stdout.splitlines()]


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    from benchmarks.common.timing import markdown_table

    print(markdown_table(["call", "microseconds"], measured()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
