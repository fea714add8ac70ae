"""Generated stencil-like kernels before and after the synthesis of shuffles, on the reference interpreter in both of
its schedules and on the CPU device: what differs is made small.

    python -m tools.fuzz_shuffle --count 5000 --jobs 2
    python -m tools.fuzz_shuffle --validate --count 200     # and two symbolic lanes by the solver

All shuffles that can be made are, with their tests; where the seed says so also those of loads from shared memory, and
parameters count as distinct. A failing program is made smaller by deleting lines as long as it still fails, then
written to ``<out>/<seed>.ptx`` with the difference as comments. The exit status is 1 when any failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.ptx import parse, verify
from drawloom.shuffle.pipeline import Shuffled, shuffle
from tools.fuzz import difference, minimise, run_on_device, run_on_reference, save
from tools.programs.program import Program
from tools.programs.stencils import generate_stencil


def rewritten(program: Program) -> Shuffled:
    """The program's module with every shuffle that can be made. What the parameters point to is distinct."""
    module = parse(program.text, f"seed {program.seed}")
    verify(module)
    return shuffle(module, apply="all", shared=program.seed % 3 == 0, distinct_parameters=program.seed % 2 == 0)


def check_program(program: Program, device: str = "cpu", validated: bool = False) -> tuple[str, int]:
    """What differs after the synthesis, or how that failed, "" when nothing does; and how many shuffles it has."""
    expected = run_on_reference(program)
    if expected.error:
        return f"the reference refuses the program: {expected.error}", 0
    try:
        made = rewritten(program)
        after = program.with_text(str(made))
        for reverse in (False, True):
            message = difference(program, expected, run_on_reference(after, reverse))
            if message:
                return f"reference, reverse={reverse}: {message}", made.report.shuffles
        if device:
            message = difference(program, expected, run_on_device(after, device))
        if not message and validated:
            message = _validated(program, made)
    except Exception as error:  # a traceback is as much a failure as a wrong answer
        return f"{type(error).__name__}: {error}", 0
    return message, made.report.shuffles


def _validated(program: Program, made: Shuffled) -> str:
    """What the validator finds; no answer in time is none."""
    from tests.shuffle.validator import Unknown, validate

    module = parse(program.text)
    try:
        found = validate(module, module.kernels[0], made.kernels[0]).counterexample
    except Unknown:
        return ""
    return "" if found is None else f"the validator: {found}"


def fails(program: Program, device: str) -> bool:
    """Whether a shortened program runs, whatever the order of its threads, and still fails."""
    try:
        expected = run_on_reference(program)
        if expected.error or difference(program, expected, run_on_reference(program, reverse=True)):
            return False
    except Exception:
        return False
    return check_program(program, device)[0] != ""


def _job(given: tuple[int, str, bool]) -> tuple[int, str, int]:
    seed, device, validated = given
    message, shuffles = check_program(generate_stencil(seed), device, validated)
    return seed, message, shuffles


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--device", default="cpu", help="the device to compare, too; empty for none")
    parser.add_argument("--validate", action="store_true", help="ask the solver about two symbolic lanes")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz_shuffle"), help="folder for failing programs")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    given = parser.parse_args()
    os.environ.setdefault("DRAWLOOM_CACHE", "off")
    failures = total = with_shuffles = 0
    with multiprocessing.Pool(given.jobs) as pool:
        todo = [(seed, given.device, given.validate) for seed in range(given.seed, given.seed + given.count)]
        for done, (seed, message, shuffles) in enumerate(pool.imap_unordered(_job, todo, chunksize=4), 1):
            total += shuffles
            with_shuffles += shuffles > 0
            if message:
                failures += 1
                program = generate_stencil(seed)
                if not given.no_minimise:
                    program = minimise(program, lambda p: fails(p, given.device), 30.0)
                path = save(program, message, given.out)
                print(f"seed {seed}: {message.splitlines()[0]} -> {path}", flush=True)
            if done % 500 == 0:
                print(f"{done}/{given.count} programs, {failures} failed", file=sys.stderr, flush=True)
    print(f"{given.count} programs, {with_shuffles} of them with shuffles, {total} in all; {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
