"""Generated PTX programs on the reference interpreter before and after the optimiser: what differs is made small.

    python -m tools.fuzz_opt --count 20000 --jobs 2                 # -O3, and a pass alone that the seed chooses
    python -m tools.fuzz_opt --passes fold,dead --count 500         # these passes only
    python -m tools.fuzz_opt --indices --count 20000                # programs of index arithmetic and addresses

SSA form and PTX are verified after every pass. A failing program is made smaller by deleting lines as long as it still
fails, then written to ``<out>/<seed>.ptx`` with the difference as comments. The exit status is 1 when any failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.opt import LEVELS, PASSES, optimize
from drawloom.ptx import parse
from tools.fuzz import Outcome, difference, minimise, run_on_reference, save
from tools.programs import Program, generate
from tools.programs.indices import generate_indices


def optimised(program: Program, level: int, passes: list[str] | None, check: bool = True) -> Program:
    """The program with the text that comes out of the optimiser."""
    module = parse(program.text, f"seed {program.seed}")
    return program.with_text(str(optimize(module, level, passes=passes, check=check)))


def check_program(program: Program, level: int, passes: list[str] | None, expected: Outcome | None = None) -> str:
    """What differs after optimisation, or how that failed; "" when nothing does."""
    if expected is None:
        expected = run_on_reference(program)
    if expected.error:
        return f"the reference refuses the program: {expected.error}"
    try:
        after = optimised(program, level, passes)
    except Exception as error:  # a traceback is as much a failure as a wrong answer
        return f"{type(error).__name__}: {error}"
    return difference(program, expected, run_on_reference(after))


def program_of(seed: int, indices: bool) -> Program:
    """The program of a seed, of one generator or the other."""
    return generate_indices(seed) if indices else generate(seed)


def check_seed(seed: int, passes: list[str] | None = None, indices: bool = False) -> tuple[str, list[str] | None]:
    """The program of a seed through -O3 and through one pass, or through ``passes``: what differs, and after which."""
    program = program_of(seed, indices)
    expected = run_on_reference(program)
    one = [list(PASSES)[seed % len(PASSES)]]
    for chosen in [passes] if passes is not None else [None, one]:
        message = check_program(program, len(LEVELS) - 1, chosen, expected)
        if message:
            return message, chosen
    return "", None


def fails(program: Program, passes: list[str] | None) -> bool:
    """Whether a shortened program runs, whatever the order of its threads, and still fails."""
    try:
        expected = run_on_reference(program)
        if expected.error or difference(program, expected, run_on_reference(program, reverse=True)):
            return False
    except Exception:
        return False
    return check_program(program, len(LEVELS) - 1, passes, expected) != ""


def _job(given: tuple[int, list[str] | None, bool]) -> tuple[int, str, list[str] | None]:
    message, chosen = check_seed(*given)
    return given[0], message, chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--passes", help="names of passes with commas between")
    parser.add_argument("--indices", action="store_true", help="programs of index arithmetic")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz_opt"), help="folder for failing programs")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    given = parser.parse_args()
    indices = bool(given.indices)
    passes = given.passes.split(",") if given.passes else None
    failures = 0
    with multiprocessing.Pool(given.jobs) as pool:
        todo = [(seed, passes, indices) for seed in range(given.seed, given.seed + given.count)]
        for done, (seed, message, chosen) in enumerate(pool.imap_unordered(_job, todo, chunksize=4), 1):
            if message:
                failures += 1
                program = program_of(seed, indices)
                if not given.no_minimise:
                    program = minimise(program, lambda p, c=chosen: fails(p, c), 30.0)  # type: ignore[misc]
                path = save(program, f"passes: {chosen or '-O3'}\n{message}", given.out)
                print(f"seed {seed}: {message.splitlines()[0]} -> {path}", flush=True)
            if done % 500 == 0:
                print(f"{done}/{given.count} programs, {failures} failed", file=sys.stderr, flush=True)
    print(f"{given.count} programs, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
