"""CUDA programs to verdicts: builds each with `drawloom cc`, runs it, and compares with what its first lines say.

// prints: TEXT      a line of standard output; all of them, in order, are all of it
// err: TEXT         a part of standard error
// exits: N          the exit status, 0 otherwise
// with: NAME=VALUE  the environment
// cpu only          what another device need not find (checked accesses, deadlocks)

python tools/cuda_programs.py [--device cpu] [--only NAME] [-j 2]
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

PROGRAMS: Final = Path(__file__).parent.parent / "tests" / "cuda" / "programs"
TIMEOUT_SECONDS: Final = 120.0


@dataclass
class Expected:
    """What the head of a program says of its run."""

    output: str = ""
    errors: list[str] = field(default_factory=list)
    status: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    cpu_only: bool = False


def expected_of(source: Path) -> Expected:
    out = Expected()
    for line in source.read_text("utf-8").splitlines():
        if not line.startswith("// "):
            break
        name, _, value = line[3:].partition(": ")
        if name == "prints":
            out.output += value + "\n"
        elif name == "err":
            out.errors.append(value)
        elif name == "exits":
            out.status = int(value)
        elif name == "with":
            key, _, setting = value.partition("=")
            out.environment[key] = setting
        elif line == "// cpu only":
            out.cpu_only = True
    return out


def build(source: Path, executable: Path, archs: tuple[str, ...] = ("sm_80",)) -> None:
    """Builds a program as `drawloom cc` does."""
    from drawloom.cuda.compiler import Options
    from drawloom.cuda.programs import Request
    from drawloom.cuda.programs import build as build_program

    build_program(Request((str(source),), str(executable), Options("c++17", 3, line_info=True), archs))


def difference(source: Path, executable: Path, device: str = "cpu") -> str:
    """Runs a program; what is not as its head says, "" for nothing."""
    expected = expected_of(source)
    environment = {**os.environ, "DRAWLOOM_DEVICE": device, **expected.environment}
    try:
        done = subprocess.run(
            [str(executable)], capture_output=True, text=True, env=environment, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"still runs after {TIMEOUT_SECONDS:g} s"
    if done.stdout != expected.output:
        return f"it printed {done.stdout!r}, not {expected.output!r}; standard error: {done.stderr[:500]!r}"
    if done.returncode != expected.status:
        return f"it exited with {done.returncode}, not {expected.status}; standard error: {done.stderr[:500]!r}"
    missing = [text for text in expected.errors if text not in done.stderr] if device == "cpu" else []
    return f"standard error {done.stderr[:500]!r} lacks {missing[0]!r}" if missing else ""


def verdict(source: Path, folder: Path, device: str, built: bool, run: bool, archs: tuple[str, ...]) -> str:
    """Builds and runs a program; times, and what is wrong."""
    executable = folder / source.stem
    times = ""
    wrong = ""
    begin = time.perf_counter()
    if not built:
        try:
            build(source, executable, archs)
        except Exception as failure:
            wrong = f"{type(failure).__name__}: {str(failure)[:500]}"
        times = f"build {time.perf_counter() - begin:6.2f} s  "
    if run and not wrong:
        begin = time.perf_counter()
        wrong = difference(source, executable, device)
        times += f"run {time.perf_counter() - begin:7.3f} s  "
    return f"{source.stem:24} {times}{wrong or 'ok'}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Build and run the CUDA programs of the tests.")
    parser.add_argument("--device", default="cpu", help="DRAWLOOM_DEVICE of the programs")
    parser.add_argument("--only", action="append", default=[], help="names of programs")
    parser.add_argument("--arch", default="sm_80,sm_90", help="GPUs that get machine code")
    parser.add_argument("--build-to", help="build the programs to this folder, and do not run them")
    parser.add_argument("--built-in", help="run the programs that were built to this folder")
    parser.add_argument("-j", type=int, default=2, help="programs at a time")
    arguments = parser.parse_args()
    sources = [s for s in sorted(PROGRAMS.glob("*.cu")) if not arguments.only or s.stem in arguments.only]
    if arguments.device != "cpu":
        sources = [s for s in sources if not expected_of(s).cpu_only]
    failed = 0
    archs = tuple(arguments.arch.split(","))
    with TemporaryDirectory() as temporary, ThreadPoolExecutor(arguments.j) as pool:
        folder = Path(arguments.build_to or arguments.built_in or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        run = not arguments.build_to
        built = bool(arguments.built_in)
        for line in pool.map(lambda s: verdict(s, folder, arguments.device, built, run, archs), sources):
            failed += not line.endswith(" ok")
            print(line, flush=True)
    print(f"{len(sources) - failed} of {len(sources)} programs as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
