"""Random HorseIR programs, outlined and compiled in every mode, beside the interpreter.

    python -m tools.fuzz_horse --count 1000 --seed 0 --jobs 2 --device cpu --modes none,flow,full --library kernels

A program must print and read back as the same; its outline must pass the checks of the language; the compiled program
must give what the interpreter gives. One that the interpreter refuses (an overflow, lengths that do not go together) is
only compiled. The exit status is 1 when any program differed.
"""

from __future__ import annotations

import random
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Final

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import drawloom
from drawloom.horse.infer import infer
from drawloom.horse.interpret import run as interpret
from drawloom.horse.kernels.library import CHOICES, Library
from drawloom.horse.launch import Resident
from drawloom.horse.outline import MODES
from drawloom.horse.parser import parse
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.results import literal
from drawloom.horse.store import from_arrow
from drawloom.runtime.machine import device as find_device
from tests.horse.random_programs import Programs, random_table
from tools import driver
from tools.driver import Verdict

ROWS: Final = (0, 1, 2, 31, 32, 33, 97, 300)


def check(seed: int, device: str, modes: tuple[str, ...] = MODES, statements: int = 14, library: str = "auto") -> str:
    """What is wrong with the seed's program: "" when nothing is; "refused" where the interpreter gives no value.
    ``library`` says who does library functions, as in ``kernels/library.py``."""
    rng = random.Random(seed)
    table = random_table(rng, rng.choice(ROWS))
    text = Programs(rng).program(rng.randint(3, statements))
    sources = {"t": from_arrow("t", table)}
    module = infer(parse(text))
    if parse(str(module)) != module:
        return f"{text}\nprints as\n{module}"
    try:
        expected = [literal(v) for v in interpret(module, sources)]
    except drawloom.DataError:
        expected = []
    for mode in modes:
        try:
            where = find_device(device)
            # A GPU's blocks have many warps, and only code that reduces by shuffles is made for that.
            reduces_lanes = rng.random() < 0.5 or not where.is_host
            made = Program(parse(text), sources, reduces_lanes, mode)
            infer(parse(str(made.outlined.module)))
            if expected:
                loaded = LoadedProgram(made, where, Resident(where))
                loaded.library = Library(where, library)
                found = [literal(v) for v in loaded.values()]
        except Exception:
            return f"seed {seed}, {mode}:\n{text}\n{traceback.format_exc()}"
        if expected and found != expected:
            lines = [f"  {a}\n  {b}" for a, b in zip(expected, found) if a != b]
            return f"seed {seed}, {mode}, {table.num_rows} rows:\n{text}\ninterpreter and device:\n" + "\n".join(lines)
    return "" if expected else "refused"


def verdict(seed: int, device: str, modes: tuple[str, ...], statements: int, library: str) -> list[Verdict]:
    message = check(seed, device, modes, statements, library)
    return [Verdict(refused="by the interpreter") if message == "refused" else Verdict(message)]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_horse")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--library", choices=CHOICES, default="auto")
    parser.add_argument("--statements", type=int, default=14)
    given = parser.parse_args()
    checked = partial(
        verdict, device=given.device, modes=tuple(given.modes.split(",")), statements=given.statements,
        library=given.library,
    )  # fmt: skip
    name = f"{given.device} {given.modes}, library {given.library}"
    return driver.run(given, [name], checked, driver.say)


if __name__ == "__main__":
    sys.exit(main())
