"""Draws random low-level Lift programs and runs their code: `python -m tools.fuzz_lift_code --count 5000 --first 0`.

A seed draws one program: a nest of parallel maps between layout patterns, rows that one work-item each computes in
private memory, or patterns in any order that has a type. What the interpreter returns is compared with

- our own CPU device, which runs the PTX of the kernel,
- an OpenCL platform for CPUs, where one is installed that can build kernels; its optimiser is off, as the optimiser of
  Intel's runtime 2026.2 takes `get_local_id(0) % 32 < 1` between two barriers for false in all lanes but the first,
- Oclgrind, where it is installed, which has to report no fault besides.

Programs that are refused, with their Python line, are counted by the reason; what the interpreter refuses must not run.
The first program that fails is printed with its seed, and the exit status is 1; `--keep-going` prints all of them.
"""

import argparse
import collections
import re
import sys
from typing import Any

import numpy as np

from drawloom.errors import Error
from drawloom.lift import Compiled, compile, find_sizes, interpret, show_program
from tests.lift.codegen.oclgrind import run_checked
from tests.lift.codegen.opencl_platforms import run
from tests.lift.codegen.runners import same
from tests.lift.codegen.sequential_programs import RowGenerator
from tests.lift.random_nests import NestGenerator
from tests.lift.random_programs import Generator
from tests.opencl_platforms import OCLGRIND, UnusablePlatform, find_cpu, find_device


class Sides:
    """What runs a program besides our CPU device: a device of pyopencl for each, or None."""

    def __init__(self) -> None:
        self.cpu = attempt(find_cpu)
        self.oclgrind = attempt(lambda: find_device(OCLGRIND))

    def __str__(self) -> str:
        names = ["the CPU device"]
        if self.cpu is not None:
            names.append(self.cpu.platform.name)
        if self.oclgrind is not None:
            names.append(self.oclgrind.platform.name)
        return ", ".join(names)


def attempt(find: Any) -> Any:
    try:
        return find()
    except UnusablePlatform:
        return None


class Case:
    """The program of a seed, its arguments, the values of its sizes, and how it is compiled."""

    def __init__(self, seed: int) -> None:
        self.local_size: int | None = None
        generator: Generator
        if seed % 4 == 0:
            rows = RowGenerator(seed)
            generator, (self.program, self.arguments) = rows, rows.rows()
        elif seed % 4 == 1:
            nests = NestGenerator(seed)
            generator, (self.program, self.arguments) = nests, nests.nest()
        else:
            generator = Generator(seed)
            self.program, self.arguments = generator.low_level_program()
            self.local_size = None if seed % 4 == 2 else 2
        self.sizes: dict[Any, int] = dict(generator.values)
        used = set(find_sizes(self.program).values())
        self.known = {size: value for size, value in self.sizes.items() if size in used and seed % 8 == 5}

    def compile(self) -> Compiled:
        return compile(self.program, self.known, local_size=self.local_size)


def check(seed: int, sides: Sides) -> tuple[str, str]:
    """Return why the program of a seed is refused, and what is wrong with its code; nothing for neither."""
    case = Case(seed)
    try:
        compiled = case.compile()
    except Error as refusal:
        return summarize(refusal), "" if has_place(refusal) else f"{show_program(case.program)}\n{refusal!r}"
    used = {size: value for size, value in case.sizes.items() if size in compiled_sizes(compiled)}
    text = f"{show_program(case.program)}\n{compiled.opencl}\n"
    try:
        with np.errstate(all="ignore"):
            expected = interpret(case.program, *case.arguments, sizes=dict(case.sizes))
    except Error as refusal:
        return summarize(refusal), "" if refuses(compiled, case.arguments, used) else f"{text}runs, but {refusal}"
    for name, result, faults in results(compiled, sides, case.arguments, used):
        if faults:
            return "", f"{text}{name} reports {faults}"
        if not same(expected, result):
            return "", f"{text}{name}: {result}, expected {expected}"
    return "", ""


def has_place(refusal: Error) -> bool:
    """Return True for an error that names the Python line."""
    return bool(getattr(refusal, "line", 0)) or re.match(r"\S+:\d+: ", str(refusal)) is not None


def compiled_sizes(compiled: Compiled) -> set[Any]:
    return {parameter.size for kernel in compiled.kernels for parameter in kernel.parameters}


def refuses(compiled: Compiled, arguments: list[Any], sizes: dict[Any, int]) -> bool:
    """Return True when a compiled program refuses its arguments, as the interpreter does."""
    try:
        compiled(*arguments, sizes=sizes)
    except Error:
        return True
    return False


def results(
    compiled: Compiled, sides: Sides, arguments: list[Any], sizes: dict[Any, int]
) -> list[tuple[str, Any, list[str]]]:
    """Return the name of every side with its result and the faults that it reports."""
    found: list[tuple[str, Any, list[str]]] = [("the CPU device", compiled(*arguments, sizes=sizes), [])]
    if sides.cpu is not None:
        result = run(compiled, sides.cpu, *arguments, sizes=sizes, build_options="-cl-opt-disable")
        found.append((sides.cpu.platform.name, result, []))
    if sides.oclgrind is not None:
        found.append(("Oclgrind", *run_checked(compiled, sides.oclgrind, *arguments, sizes=sizes)))
    return found


def summarize(refusal: Error) -> str:
    """Return a refusal without its place and numbers, to count its like."""
    message = re.sub(r"^\S+:\d+: ", "", str(refusal).splitlines()[0])
    return " ".join(["…" if re.search(r"[\d→]|^[NMK]\b", word) else word for word in message.split()])[:120]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="how many programs (default: 500)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one (default: 0)")
    parser.add_argument("--keep-going", action="store_true", help="go on after a program that fails")
    options = parser.parse_args()
    sides = Sides()
    refusals: collections.Counter[str] = collections.Counter()
    failed = 0
    for seed in range(options.first, options.first + options.count):
        try:
            reason, fault = check(seed, sides)
        except Exception as error:  # a traceback is as much a failure as a wrong result
            reason, fault = "", f"{type(error).__name__}: {error}"
        refusals[reason] += bool(reason)
        if fault:
            failed += 1
            print(f"seed {seed}: {fault}", flush=True)
            if not options.keep_going:
                return 1
    refused = sum(refusals.values())
    print(f"{options.count} programs: {refused} refused, {options.count - refused - failed} agree on {sides}")
    for reason, times in refusals.most_common():
        if times:
            print(f"{times:6} {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
