"""Generated PTX programs on a GPU, as our machine code and as the driver's, beside the reference interpreter.

    python -m tools.fuzz_gpu --count 2000 --seed 0 --jobs 8 --with-driver failing

Our assembler makes the code in the way that the seed says (`tools.fuzz_sass.VARIANTS`), and it runs several times:
a wait that is missing shows as answers that change. The driver's own compiler is the second oracle: where it differs
from the reference too, the manual or the interpreter is in doubt and not our code. A failure says which of the other
ways of assembling are right, and is saved to `<out>/<seed>.ptx`. The exit status is 1 when any failed.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx import parse, verify
from tools import driver
from tools.driver import Verdict
from tools.fuzz import Outcome, difference, run_on_reference, save_and_say
from tools.fuzz_sass import UNSUPPORTED, VARIANTS, assemble_variant, reason, without_deviations
from tools.gpu_runner import GpuRunner
from tools.programs import Program, generate

#: How often machine code of ours runs: a race with the hardware need not show at once.
RUNS: Final = 3


_runner: GpuRunner | None = None


def on_gpu(program: Program, expected: Outcome, image: bytes, times: int = RUNS) -> str:
    """The first difference of so many runs, "" for none."""
    global _runner
    _runner = _runner or GpuRunner()
    for got in _runner.run(program, image, times):
        if message := difference(program, expected, got):
            return message
    return ""


def ours(program: Program, arch: str, variant: str) -> bytes:
    return bytes(assemble_variant(parse(program.text), arch, variant))


def check_seed(seed: int, target: int, with_driver: str) -> str:
    """The difference, "" for none, or a message that begins with UNSUPPORTED."""
    program = generate(seed, target)
    verify(parse(program.text))
    variant = VARIANTS[seed % len(VARIANTS)]
    try:
        image = ours(program, f"sm_{target}", variant)
    except UnsupportedError as error:
        return UNSUPPORTED + str(error)
    expected = run_on_reference(program)
    if expected.error:
        return f"the reference refuses the program: {expected.error}"
    message = on_gpu(program, expected, image)
    notes = []
    if message:
        notes += [f"ours ({variant or 'plain'}): {message}", diagnosis(program, expected, target)]
    if with_driver == "always" or (message and with_driver == "failing"):
        plain = without_deviations(program)
        wanted = run_on_reference(plain)
        found = on_gpu(plain, wanted, plain.text.encode() + b"\0", 1)
        if found:
            notes.append(f"driver's: {found}")
        elif message:
            notes.append("driver's: right")
    return "\n".join(notes)


def diagnosis(program: Program, expected: Outcome, target: int) -> str:
    """Which ways of assembling are right."""
    right = []
    for variant in ("", "serial", "functions", "24 registers"):
        image = ours(program, f"sm_{target}", variant)
        if not on_gpu(program, expected, image):
            right.append(variant or "plain")
    return f"right when assembled: {', '.join(right) or 'in no way'}"


def verdict(seed: int, target: int, with_driver: str) -> list[Verdict]:
    message = check_seed(seed, target, with_driver)
    if message.startswith(UNSUPPORTED):
        return [Verdict(refused=reason(message))]
    return [Verdict(message)]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_gpu")
    parser.add_argument("--with-driver", choices=["never", "failing", "always"], default="failing")
    parser.add_argument("--target", type=int, default=90, help="whose instructions the programs keep to")
    given = parser.parse_args()

    def report(seed: int, part: int, message: str) -> None:
        save_and_say(generate(seed, given.target), message, given.out)

    check = partial(verdict, target=given.target, with_driver=given.with_driver)
    return driver.run(given, [f"sm_{given.target}"], check, report)


if __name__ == "__main__":
    sys.exit(main())
