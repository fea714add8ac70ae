"""How many PTX instructions a second are parsed and verified: the corpus, and one large generated file.

    python benchmarks/frontend.py            # the plain build in src/, and the compiled one when it is built
    python benchmarks/frontend.py --markdown

The goal is 150,000 instructions a second plain and 300,000 compiled, parse and verify together. Each build is
measured in a process of its own, in processor time, which is what an idle machine takes: parsing has one thread.
The best round of each file counts, because noise only ever adds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CORPUS = ROOT / "tests" / "golden" / "corpus"
GOALS = {"plain": 150_000, "compiled": 300_000}
CORPUS_INPUTS = ("nvcc -O3", "nvcc -O0", "nvcc -G, debug data", "clang")
WHOLE = "whole corpus"
GENERATED_KERNELS, GENERATED_STEPS = 40, 250

# A step of the generated kernels: what compilers emit for address arithmetic, loads, floating point, compares
# and branches, in about the proportions of the corpus.
STEP = """\
	mad.lo.s32 	%r{a}, %r{b}, {k}, %r{c};
	add.s32 	%r{d}, %r{a}, -{k};
	setp.ge.s32 	%p{p}, %r{d}, %r1;
	@%p{p} bra 	$L_{label};
	mul.wide.s32 	%rd{x}, %r{d}, 4;
	add.s64 	%rd{y}, %rd1, %rd{x};
	ld.global.f32 	%f{e}, [%rd{y}+{offset}];
	fma.rn.f32 	%f{f}, %f{e}, 0f3F8CCCCD, %f{g};
	max.f32 	%f{h}, %f{f}, %f{e};
	st.global.f32 	[%rd{y}], %f{h};
	shl.b32 	%r{b2}, %r{d}, 2;
	xor.b32 	%r{c2}, %r{b2}, %r{a};
$L_{label}:
"""


def generated() -> str:
    """A module of about 120,000 instructions: many kernels of straight code with short forward branches."""
    chance = random.Random(5)
    parts = [".version 9.0\n.target sm_80\n.address_size 64\n"]
    for kernel in range(GENERATED_KERNELS):
        parts.append(
            f".visible .entry generated_{kernel}(\n\t.param .u64 p_{kernel},\n\t.param .u32 n_{kernel}\n)\n{{\n"
            "\t.reg .pred \t%p<9>;\n\t.reg .f32 \t%f<65>;\n\t.reg .b32 \t%r<65>;\n\t.reg .b64 \t%rd<33>;\n"
            f"\tld.param.u64 \t%rd1, [p_{kernel}];\n\tld.param.u32 \t%r1, [n_{kernel}];\n"
        )
        parts += [f"\tmov.u32 \t%r{k}, {k};\n" for k in range(2, 65)]
        parts += [f"\tmov.f32 \t%f{k}, 0f3F800000;\n" for k in range(1, 65)]
        for step in range(GENERATED_STEPS):
            numbers = {name: chance.randrange(2, 65) for name in ("a", "b", "c", "d", "b2", "c2")}
            floats = {name: chance.randrange(1, 65) for name in "efgh"}
            places = {"x": chance.randrange(2, 17), "y": chance.randrange(17, 33), "p": chance.randrange(1, 9)}
            constants = {"k": chance.randrange(1, 500), "offset": 4 * chance.randrange(64), "label": step}
            parts.append(STEP.format(**numbers, **floats, **places, **constants))
        parts.append("\tret;\n}\n")
    return "".join(parts)


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Parses and verifies in this process: per input, instructions and the seconds of each stage."""

    def texts(folder: Path, pattern: str) -> list[str]:
        return [path.read_text() for path in sorted(folder.glob(pattern))]

    inputs = {
        "nvcc -O3": texts(CORPUS / "nvcc", "*.O3.ptx"),
        "nvcc -O0": texts(CORPUS / "nvcc", "*.O0.ptx"),
        "nvcc -G, debug data": texts(CORPUS / "nvcc", "*.debug.ptx"),
        "clang": texts(CORPUS / "clang", "*.ptx"),
        "benchmark kernels": texts(ROOT / "benchmarks" / "kernels", "*.ptx"),
        "one large file": [generated()],
    }
    results: dict[str, dict[str, float]] = {}
    for name, sources in inputs.items():
        found = {"files": 0, "instructions": 0, "parse": 0.0, "verify": 0.0}
        for text in sources:
            parsing, verifying, instructions = measured(text, rounds)
            found["files"] += 1
            found["instructions"] += instructions
            found["parse"] += parsing
            found["verify"] += verifying
        results[name] = found
    columns = ("files", "instructions", "parse", "verify")
    results[WHOLE] = {key: sum(results[name][key] for name in CORPUS_INPUTS) for key in columns}
    return results


def measured(text: str, rounds: int) -> tuple[float, float, int]:
    """The least seconds of processor time of parsing and of verifying `text`, and its instructions."""
    from drawloom import ptx

    parsing = verifying = float("inf")
    instructions = 0
    for _ in range(rounds):
        start = time.process_time()
        module = ptx.parse(text)
        parsed = time.process_time()
        ptx.verify(module)
        parsing, verifying = min(parsing, parsed - start), min(verifying, time.process_time() - parsed)
        instructions = sum(len(function.instructions()) for function in module.functions.values())
    return parsing, verifying, instructions


def measured_elsewhere(build: str, path: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Runs `measure` in a fresh process whose `drawloom` is the one under `path`."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, __file__, "--json", "--rounds", str(rounds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the {build} build failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if answer["build"] != build:
        raise SystemExit(f"{path} holds the {answer['build']} build, expected the {build} one")
    results: dict[str, dict[str, float]] = answer["results"]
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", action="store_true", help="print the table and nothing else")
    parser.add_argument("--json", action="store_true", help="measure the build on PYTHONPATH, print JSON")
    parser.add_argument("--data", help="unused: this benchmark makes its own data")
    options = parser.parse_args()
    if options.json:
        from drawloom.build_info import build_kind

        print(json.dumps({"build": build_kind(), "results": measure(options.rounds)}))
        return 0

    from benchmarks.common.timing import machine, markdown_table

    builds = {"plain": ROOT / "src", "compiled": ROOT / "build" / "compiled"}
    header = ["build", "input", "files", "instructions", "parse (per s)", "verify (per s)", "both (per s)", "goal"]
    rows = []
    for build, path in builds.items():
        if not path.is_dir():
            print(f"without the {build} build: {path.relative_to(ROOT)} is not there (make bench)", file=sys.stderr)
            continue
        for name, found in measured_elsewhere(build, path, options.rounds).items():
            count = found["instructions"]
            rates = [count / found["parse"], count / found["verify"], count / (found["parse"] + found["verify"])]
            cells = [f"{rate:,.0f}" for rate in rates]
            rows.append([build, name, f"{found['files']:.0f}", f"{count:,.0f}", *cells, f"{GOALS[build]:,}"])
    print(markdown_table(header, rows))
    if not options.markdown:
        print(f"\n{machine()}; processor time of one thread, best of {options.rounds} rounds a file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
