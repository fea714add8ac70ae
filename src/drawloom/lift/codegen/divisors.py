"""What divides the sizes of a kernel: what they are declared as multiples of, and what its patterns require."""

from __future__ import annotations

from math import gcd, lcm

from drawloom.lift.arithmetic import Constant, Nat, Variable, as_nat
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Pattern
from drawloom.lift.language.patterns.algorithmic import PartialReduce
from drawloom.lift.language.patterns.layout import Split
from drawloom.lift.language.patterns.opencl import AsVector
from drawloom.lift.language.types import ArrayType


def find_divisors(function: Lambda, sizes: list[Variable]) -> dict[Variable, int]:
    """Return constants that divide sizes in every launch: other sizes are refused before it."""
    found = {size: declared_divisor(size) for size in sizes}
    note_divisions(function, found)
    return found


def declared_divisor(size: Variable) -> int:
    start, step = size.range.start, size.range.step
    return gcd(start.value, step.value) if isinstance(start, Constant) and isinstance(step, Constant) else 1


def note_divisions(node: Expression | Function, found: dict[Variable, int]) -> None:
    """Note the divisors of all sizes that the patterns of a typed program divide."""
    if isinstance(node, Lambda):
        note_divisions(node.body, found)
    elif isinstance(node, Pattern):
        for inner in node.functions:
            note_divisions(inner, found)
    elif isinstance(node, Call):
        divisor = divisor_of(node)
        type = node.arguments[-1].type if node.arguments else None
        if isinstance(divisor, Constant) and isinstance(type, ArrayType) and isinstance(type.length, Variable):
            if type.length in found and divisor.value > 0:
                found[type.length] = lcm(found[type.length], divisor.value)
        note_divisions(node.function, found)
        for argument in node.arguments:
            note_divisions(argument, found)


def divisor_of(call: Call) -> Nat | None:
    """Return what the length of a pattern's array has to be a multiple of, if of anything."""
    function = call.function
    if isinstance(function, Split):
        return function.chunk
    if isinstance(function, PartialReduce):
        return function.results
    return as_nat(function.width) if isinstance(function, AsVector) else None
