"""Generated PTX programs on the reference interpreter before and after the optimiser: what differs is made small.

    python -m tools.fuzz_opt --count 20000 --jobs 2                 # -O3, and a pass alone that the seed chooses or -O2
    python -m tools.fuzz_opt --passes fold,dead --count 500         # these passes only
    python -m tools.fuzz_opt --indices --count 20000                # programs of index arithmetic and addresses

SSA form and PTX are verified after every pass. Where the pass that the seed chooses changes nothing by itself, -O2 is
checked in its place. A failing program is made smaller by deleting lines as long as it still fails, then written to
``<out>/<seed>.ptx`` with the difference as comments. The exit status is 1 when any failed.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.opt import LEVELS, PASSES, Report, optimize
from drawloom.ptx import parse
from tools import driver
from tools.driver import Verdict
from tools.fuzz import Outcome, difference, minimise, run_on_reference, save_and_say
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
    """The program of a seed through -O3 and one pass or -O2, or through ``passes``: what differs, and after which."""
    program = program_of(seed, indices)
    expected = run_on_reference(program)
    for chosen in [passes] if passes is not None else [None, pass_of(seed, program)]:
        message = check_program(program, len(LEVELS) - 1, chosen, expected)
        if message:
            return message, chosen
    return "", None


def pass_of(seed: int, program: Program) -> list[str]:
    """The pass that a seed chooses, or those of -O2 where it changes nothing."""
    one, report = [list(PASSES)[seed % len(PASSES)]], Report()
    optimize(program.text, passes=one, report=report)
    return one if any(run.changes for run in report.runs) else list(LEVELS[2])


def fails(program: Program, passes: list[str] | None) -> bool:
    """Whether a shortened program runs, whatever the order of its threads, and still fails."""
    try:
        expected = run_on_reference(program)
        if expected.error or difference(program, expected, run_on_reference(program, reverse=True)):
            return False
    except Exception:
        return False
    return check_program(program, len(LEVELS) - 1, passes, expected) != ""


def verdict(seed: int, passes: list[str] | None, indices: bool) -> list[Verdict]:
    message, chosen = check_seed(seed, passes, indices)
    return [Verdict(message and f"passes: {chosen or '-O3'}\n{message}")]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_opt")
    parser.add_argument("--passes", help="names of passes with commas between")
    parser.add_argument("--indices", action="store_true", help="programs of index arithmetic")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    given = parser.parse_args()
    passes = given.passes.split(",") if given.passes else None
    check = partial(verdict, passes=passes, indices=given.indices)

    def report(seed: int, part: int, message: str) -> None:
        program = program_of(seed, given.indices)
        if not given.no_minimise and not message.startswith(driver.CRASHED):
            chosen = check_seed(seed, passes, given.indices)[1]
            program = minimise(program, lambda p: fails(p, chosen), 30.0)
        save_and_say(program, message, given.out)

    name = f"{given.passes or '-O3, and one pass or -O2'}{', indices' if given.indices else ''}"
    return driver.run(given, [name], check, report)


if __name__ == "__main__":
    sys.exit(main())
