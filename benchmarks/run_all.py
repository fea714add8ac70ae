"""Runs every benchmark and rewrites its table in docs/benchmarks.md, between the markers that name it.

    python benchmarks/run_all.py [--data build/data] [--only frontend cpu_kernels]

A section of the page looks like this; what stands between the markers is replaced, the rest is kept:

    <!-- benchmark: cpu_kernels -->
    (command, table, machine and date)
    <!-- end: cpu_kernels -->

A benchmark that the page has no markers for is added at its end. A benchmark that fails leaves its old table,
and this program ends with status 1.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PAGE = ROOT / "docs" / "benchmarks.md"

# name -> (heading, arguments); every script prints Markdown tables on stdout. `{data}` is --data.
BENCHMARKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "startup": ("Start of the command", ()),
    "frontend": ("Parsing and verifying PTX", ("--markdown",)),
    "assembler": ("PTX to machine code", ("--markdown", "--data", "{data}")),
    "launch_costs": ("Cost of a run: start and memory", ("--markdown",)),
    "cpu_kernels": ("Kernels on the CPU", ("--markdown",)),
    "cpu_kernels_avx2": ("Kernels on the CPU, AVX2", ("--markdown", "--features", "avx2")),
    "cuda_cpu": ("CUDA kernels on the CPU", ()),
    "cuda_launches": ("Small launches of CUDA programs", ()),
    "compile_time": ("Compiling CUDA programs", ()),
    "bypass": ("Divisions of 64 bits", ()),
    "shuffle": ("Warp shuffles", ()),
    "lift_codegen": ("Kernels that Lift generates", ("--tables", "compile", "speed", "--repeat", "50")),
    "tpch": ("TPC-H", ("--data", "{data}")),
    "tpch_avx2": ("TPC-H, AVX2", ("--data", "{data}", "--features", "avx2")),
}

INTRODUCTION = """\
# Benchmarks

Every table is made by the command above it, both sides of a ratio measured in one run. `make bench` makes
them all again, on this page.
"""


def script_of(name: str) -> str:
    """Return the path of a benchmark's script; with AVX2 alone the same one runs."""
    return f"benchmarks/{name.removesuffix('_avx2')}.py"


def run(name: str, data: str) -> str | None:
    """The section's text for one benchmark, or None after printing why it failed."""
    arguments = [word.format(data=data) for word in BENCHMARKS[name][1]]
    command = ["python", script_of(name), *arguments]
    print("$", " ".join(command), flush=True)
    done = subprocess.run([sys.executable, *command[1:]], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"{name} failed with status {done.returncode}", file=sys.stderr)
        return None
    print(done.stdout, flush=True)
    from benchmarks.common.timing import machine

    today = datetime.date.today().isoformat()
    return f"```\n{' '.join(command)}\n```\n\n{done.stdout.strip()}\n\n{machine()}; {build()}; {today}\n"


def build() -> str:
    """Which build of drawloom the scripts import, said in words."""
    from drawloom.build_info import build_kind

    return f"{build_kind()} build"


def with_section(page: str, name: str, text: str) -> str:
    """The page with one section's text replaced, or added with a heading at the end."""
    start, end = f"<!-- benchmark: {name} -->", f"<!-- end: {name} -->"
    section = f"{start}\n{text}{end}"
    if start not in page:
        return f"{page.rstrip()}\n\n## {BENCHMARKS[name][0]}\n\n{section}\n"
    if end not in page:
        raise SystemExit(f"{PAGE.name}: '{start}' has no '{end}' after it")
    return re.sub(re.escape(start) + ".*?" + re.escape(end), lambda _: section, page, flags=re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="build/data", help="folder of the TPC-H tables (default: build/data)")
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), help="these benchmarks only")
    options = parser.parse_args()
    failed = 0
    for name in options.only or BENCHMARKS:
        if not (ROOT / script_of(name)).exists():
            print(f"{name}: there is no {script_of(name)}", file=sys.stderr)
            failed += 1
            continue
        text = run(name, options.data)
        if text is None:
            failed += 1
            continue
        page = PAGE.read_text() if PAGE.exists() else INTRODUCTION
        scratch = PAGE.with_suffix(f".{os.getpid()}")
        scratch.write_text(with_section(page, name, text))
        scratch.replace(PAGE)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
