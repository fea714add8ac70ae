"""Draws random well-typed Lift programs and checks them: `python -m tools.fuzz_lift --count 5000 --first 0`.

Even seeds draw high-level programs, odd ones low-level programs that have to be well-formed. Every program is run by
the interpreter and by one that takes an element at a time, and has to parse back from its text to an equal program. The
first program that fails is printed with its seed, and the exit status is 1.
"""

import argparse
import sys
from typing import Any

import numpy as np

from drawloom.lift import check_well_formed, infer_types, interpret, parse_program, show_program
from tests.lift import naive
from tests.lift.random_programs import Generator


def check(seed: int) -> str:
    """Return what is wrong with the program of a seed, or nothing."""
    generator = Generator(seed)
    program, arguments = generator.program(steps=8) if seed % 2 == 0 else generator.low_level_program()
    typed = infer_types(program)
    if seed % 2 == 1:
        check_well_formed(typed)
    text = show_program(program)
    if parse_program(text, sizes={size.name: size for size in generator.sizes}) != program:
        return f"{text}\nparses back to another program"
    found = interpret(typed, *arguments)
    expected = naive.to_arrays(naive.run(program, arguments, generator.values), typed.body.typed)
    return "" if same(found, expected) else f"{text}\nis {found}, expected {expected}"


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple) or isinstance(right, tuple):
        return len(left) == len(right) and all(same(one, other) for one, other in zip(left, right))
    return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many programs (default: 1000)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one (default: 0)")
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.count):
        fault = check(seed)
        if fault:
            print(f"seed {seed}: {fault}")
            return 1
    print(f"{options.count} programs agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
