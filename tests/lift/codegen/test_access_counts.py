"""Algorithm 4 of the thesis (6.3.2.2) counts loads and stores; as printed, its stores are not those of listing 6.1.

It adds a store for each argument of a user function, in the argument's address space. A call stores once, where its
result goes, as the text after the algorithm says. Oclgrind's counts of executed instructions decide.
"""

import re
from collections import Counter
from typing import Any

import pytest

from drawloom.lift import compile, infer_types, parse_program
from drawloom.lift.arithmetic import Variable, evaluate
from drawloom.lift.language.ir import Call, Expression, Lambda, Parameter
from drawloom.lift.language.patterns.algorithmic import AnyMap
from drawloom.lift.language.patterns.opencl import ToGlobal, ToLocal
from drawloom.lift.language.sizes import find_sizes
from drawloom.lift.language.types import ArrayType
from drawloom.lift.language.user_functions.function import UserFunction
from tests.lift.codegen.oclgrind import settings
from tests.lift.codegen.opencl_platforms import run
from tests.lift.codegen.runners import integers
from tests.opencl_platforms import OCLGRIND, usable_device

PROGRAM = """
float multByTwo(float x) { return x * 2.0f; }
example(x: [float]N, y: [float]N) = join ∘ mapWrg(0)(GROUP) ∘ split(64) ∘ zip(x, y)
"""
GROUPS = {
    "listing 6.1": "mapLcl(0)(toGlobal(multByTwo)) ∘ mapLcl(0)(toLocal(add))",
    "three functions": "mapLcl(0)(toGlobal(multByTwo)) ∘ mapLcl(0)(toLocal(multByTwo)) ∘ mapLcl(0)(toLocal(mult))",
}
N = 128


class Algorithm4:
    """Counts the accesses of a typed program whose layout patterns keep their argument's address space.

    Args:
        sizes: The values of the program's sizes.
        as_printed: Count the stores as line 22 does.
    """

    def __init__(self, sizes: dict[Variable, int], as_printed: bool) -> None:
        self.sizes = sizes
        self.as_printed = as_printed
        self.counts: Counter[str] = Counter()
        self.spaces: dict[Parameter, str] = {}

    def program(self, program: Lambda) -> Counter[str]:
        self.spaces.update(dict.fromkeys(program.parameters, "global"))
        self.expression(program.body, 1, "global")
        return self.counts

    def expression(self, expression: Expression, times: int, target: str) -> str:
        """Count an expression that is evaluated so often, and return the address space of its value."""
        if isinstance(expression, Parameter):
            return self.spaces[expression]
        if not isinstance(expression, Call):
            return "private"
        function = expression.function
        spaces = [self.expression(argument, times, target) for argument in expression.arguments]
        if isinstance(function, UserFunction):
            for space in spaces:
                self.counts["load " + space] += times
            for space in spaces if self.as_printed else [target]:
                self.counts["store " + space] += times
            return target
        if isinstance(function, AnyMap):
            array = expression.arguments[0].typed
            assert isinstance(array, ArrayType)
            return self.body(function.function, spaces, times * evaluate(array.length, self.sizes), target)
        if isinstance(function, ToLocal | ToGlobal):
            return self.body(function.function, spaces, times, "local" if isinstance(function, ToLocal) else "global")
        if isinstance(function, Lambda):
            return self.body(function, spaces, times, target)
        return spaces[0]

    def body(self, function: Lambda, spaces: list[str], times: int, target: str) -> str:
        self.spaces.update(zip(function.parameters, spaces, strict=True))
        return self.expression(function.body, times, target)


def count_executed(program: Lambda, device: Any, output: Any) -> Counter[str]:
    """Return the loads and stores that Oclgrind executes."""
    with settings(OCLGRIND_INST_COUNTS="1"):
        run(compile(program), device, integers(N), integers(N))
    report = output.readouterr().out
    found = re.findall(r"(\d+) - ((?:load|store) (?:global|local)) ", report)
    return Counter({what: int(number) for number, what in found})


@pytest.mark.parametrize("name", GROUPS)
def test_a_call_stores_once_where_its_result_goes(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = parse_program(PROGRAM.replace("GROUP", GROUPS[name]))
    typed, sizes = infer_types(program), {find_sizes(program)["N"]: N}
    printed, repaired = (Algorithm4(sizes, as_printed).program(typed) for as_printed in (True, False))
    executed = count_executed(program, usable_device(OCLGRIND), capfd)
    assert repaired == executed
    assert printed != executed


def test_listing_6_1_has_the_counts_of_the_text() -> None:
    """Two loads from and a store to global memory for each of N threads, one of each to local memory."""
    program = parse_program(PROGRAM.replace("GROUP", GROUPS["listing 6.1"]))
    sizes = {find_sizes(program)["N"]: N}
    expected = {"load global": 2 * N, "store global": N, "load local": N, "store local": N}
    assert Algorithm4(sizes, False).program(infer_types(program)) == expected
    assert Algorithm4(sizes, True).program(infer_types(program))["store global"] == 2 * N
