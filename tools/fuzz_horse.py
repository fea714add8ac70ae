"""Random HorseIR programs, outlined and compiled in every mode, beside the interpreter.

    python -m tools.fuzz_horse --count 1000 --seed 0 --jobs 2 --device cpu --modes none,flow,full --library kernels

A program must print and read back as the same; its outline must pass the checks of the language; the compiled program
must give what the interpreter gives. One that the interpreter refuses (an overflow, lengths that do not go together) is
only compiled. The exit status is 1 when any program differed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import traceback
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
            made = Program(parse(text), sources, rng.random() < 0.5, mode)
            infer(parse(str(made.outlined.module)))
            where = find_device(device)
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--library", choices=CHOICES, default="auto")
    parser.add_argument("--statements", type=int, default=14)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    modes = tuple(options.modes.split(","))
    work = [(seed, options.device, modes, options.statements, options.library) for seed in seeds]
    with multiprocessing.Pool(options.jobs) as pool:
        answers = pool.starmap(check, work, chunksize=1)
    wrong = [a for a in answers if a not in ("", "refused")]
    for answer in wrong:
        print(answer, flush=True)
    print(f"{len(work)} programs, {answers.count('refused')} refused by the interpreter, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
