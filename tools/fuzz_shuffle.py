"""Generated stencil-like kernels before and after the synthesis of shuffles, on the reference interpreter in both of
its schedules and on the CPU device: what differs is made small.

    python -m tools.fuzz_shuffle --count 5000 --jobs 2
    python -m tools.fuzz_shuffle --validate --count 200     # and two symbolic lanes by the solver
    python -m tools.fuzz_shuffle --hide --count 1000        # some instructions are not known to the synthesis

All shuffles that can be made are, with their tests; where the seed says so also those of loads from shared memory,
parameters count as distinct, and loads have generic addresses. A failing program is made smaller by deleting lines as
long as it still fails, then written to ``<out>/<seed>.ptx`` with the difference as comments. The exit status is 1 when
any failed.
"""

from __future__ import annotations

import random
import re
import sys
from functools import partial
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.ptx import parse
from drawloom.shuffle.pipeline import Shuffled, shuffle
from tools import driver
from tools.driver import Verdict
from tools.fuzz import difference, minimise, run_on_device, run_on_reference, save_and_say
from tools.programs.program import Program
from tools.programs.stencils import generate_stencil

#: What makes an instruction unknown, and one, without its guard.
HIDDEN = "unknown."
INSTRUCTION = re.compile(r"(?m)^    (?:@!?%\w+ )?(?=[a-z])")
WEAK_LOAD = re.compile(r"ld\.global\.(?!nc)")
#: One in so many instructions is hidden.
RARELY = 12


def hidden(program: Program) -> str:
    """The program's text with some instructions under names that no table has."""
    chance = random.Random(program.seed)

    def hide(match: re.Match[str]) -> str:
        return match.group(0) + ("" if chance.randrange(RARELY) else HIDDEN)

    return INSTRUCTION.sub(hide, program.text)


def rewritten(program: Program, is_promised: bool = True) -> Shuffled:
    """The program's module with every shuffle that can be made. What the parameters point to is distinct, which half of
    the seeds tell where that is promised."""
    is_told = is_promised and program.seed % 2 == 0
    return shuffle(program.text, apply="all", shared=program.seed % 3 == 0, distinct_parameters=is_told)


def check_program(
    program: Program, device: str = "cpu", validated: bool = False, in_part: bool = False
) -> tuple[str, int]:
    """What differs after the synthesis, ``in_part`` with unknown instructions, how it failed, or what a second one
    does, "" when nothing; and how many shuffles there are."""
    expected = run_on_reference(program)
    if expected.error:
        return f"the reference refuses the program: {expected.error}", 0
    try:
        made = rewritten(program.with_text(hidden(program)) if in_part else program)
        after = program.with_text(str(made).replace(HIDDEN, ""))
        for reverse in (False, True):
            message = difference(program, expected, run_on_reference(after, reverse))
            if message:
                return f"reference, reverse={reverse}: {message}", made.report.shuffles
        if device:
            message = difference(program, expected, run_on_device(after, device))
        if not message:
            again = rewritten(program.with_text(str(made))).report.shuffles
            # Where the solver's steps were used up, a second run has them once more.
            is_answered = not any(function.notes for function in made.report.functions)
            message = f"a second run makes {again} shuffles more" if again and is_answered else ""
        if not message and validated:
            message = _validated(program)
    except Exception as error:  # a traceback is as much a failure as a wrong answer
        return f"{type(error).__name__}: {error}", 0
    return message, made.report.shuffles


def _validated(program: Program) -> str:
    """What the validator, which knows of no promise, finds; no answer within its steps is none."""
    from tests.shuffle.terms import Unknown
    from tests.shuffle.validator import validate

    module = parse(program.text)
    try:
        found = validate(module, module.kernels[0], rewritten(program, False).kernels[0]).counterexample
    except Unknown:
        return ""
    return "" if found is None else f"the validator: {found}"


def fails(program: Program, device: str, in_part: bool = False) -> bool:
    """Whether a shortened program runs, whatever the order of its threads, and still fails."""
    try:
        expected = run_on_reference(program)
        if expected.error or difference(program, expected, run_on_reference(program, reverse=True)):
            return False
    except Exception:
        return False
    return check_program(program, device, in_part=in_part)[0] != ""


def generated(seed: int) -> Program:
    """The program of a seed; two in three have grid-stride loops, and one in five has generic addresses in half of its
    loads from global memory."""
    program = generate_stencil(seed, seed % 3 > 0)
    if seed % 5:
        return program
    chance = random.Random(seed)
    return program.with_text(WEAK_LOAD.sub(lambda load: chance.choice(("ld.global.", "ld.")), program.text))


def verdict(seed: int, device: str, validated: bool, in_part: bool) -> list[Verdict]:
    message, shuffles = check_program(generated(seed), device, validated, in_part)
    return [Verdict(message, counts={"shuffles": shuffles, "programs with shuffles": int(shuffles > 0)})]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_shuffle")
    parser.add_argument("--device", default="cpu", help="the device to compare, too; empty for none")
    parser.add_argument("--validate", action="store_true", help="ask the solver about two symbolic lanes")
    parser.add_argument("--hide", action="store_true", help="let some instructions be unknown")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    given = parser.parse_args()

    def report(seed: int, part: int, message: str) -> None:
        program = generated(seed)
        if not given.no_minimise and not message.startswith(driver.CRASHED):
            program = minimise(program, lambda p: fails(p, given.device, given.hide), 30.0)
        save_and_say(program, message, given.out)

    name = f"{given.device or 'reference'}{', validated' if given.validate else ''}{', hidden' if given.hide else ''}"
    checked = partial(verdict, device=given.device, validated=given.validate, in_part=given.hide)
    return driver.run(given, [name], checked, report)


if __name__ == "__main__":
    sys.exit(main())
