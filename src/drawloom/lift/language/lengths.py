"""Checks the lengths of all arrays in a program for values of its sizes, before anything runs.

The interpreter checks what it evaluates. A kernel checks nothing, so this walk asks every pattern for its fault with
the lengths that the types state. It visits functions with each length that their parameters can have: those of the
chunks of a guarded split, and those of all iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from drawloom.lift.arithmetic import (
    ZERO,
    ArithmeticRefusal,
    Nat,
    Variable,
    constant,
    evaluate,
    free_variables,
    is_less,
    is_nonnegative,
    variable,
)
from drawloom.lift.language.errors import SizeError
from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.language.infer import name_function
from drawloom.lift.language.ir import Call, Expression, Lambda
from drawloom.lift.language.patterns.algorithmic import AnyMap, Iterate, ReduceSeq
from drawloom.lift.language.patterns.base import DefinedPattern
from drawloom.lift.language.patterns.layout import LONGEST_CHECKED, Reorder, find_fault, permute
from drawloom.lift.language.types import ArrayType, RaggedType, Type, lengths_of

#: Elements of an array. Indices and what a kernel computes on the way to them, such as the sum of an array's length and
#: that of a chunk, or of an index and the number of all work-items, are ints of 32 bits.
MOST_ELEMENTS: Final = 1 << 30


def check_lengths(program: Lambda, sizes: Mapping[Variable, int]) -> None:
    """Refuse values of sizes for which a pattern's arrays do not fit. Lengths that they do not decide are left out.

    Raises:
        SizeError: With the pattern and the Python line.
    """
    LengthCheck(dict(sizes)).expression(program.body)


class Unknown(Exception):
    """A length whose sizes have no values."""


class LengthCheck:
    """Walks a typed program; `sizes` are those that have values here."""

    def __init__(self, sizes: dict[Variable, int]) -> None:
        self.sizes = sizes

    def expression(self, expression: Expression) -> None:
        if not isinstance(expression, Call):
            return
        for argument in expression.arguments:
            self.expression(argument)
        function = expression.function
        if isinstance(function, Lambda):
            self.expression(function.body)
        if not isinstance(function, DefinedPattern):
            return
        self.refuse_fault(expression, lambda: self.argument_fault(expression, function))
        self.functions(expression, function)
        self.refuse_fault(expression, lambda: self.result_fault(expression))

    def refuse_fault(self, call: Call, find: Callable[[], str]) -> None:
        """Refuse what is wrong with a call, as far as the sizes are known."""
        try:
            fault = find()
        except Unknown:
            return
        if fault:
            raise self.refuse(call, fault)

    def argument_fault(self, call: Call, function: DefinedPattern) -> str:
        """Say why the arguments of a pattern do not fit; "" if they do."""
        lengths = [self.length(argument.typed, call) for argument in call.arguments]
        fault = function.find_fault(lengths, lambda length: self.value(length, call))
        if not fault and isinstance(function, Reorder):
            values = {size: self.value(size, call) for size in function.index.sizes}
            fault = reordering_fault(function.index, lengths[0], tuple(values.items()))
        return fault

    def result_fault(self, call: Call) -> str:
        """Say which length of a call's result is none; "" if all are."""
        for length in lengths_of(call.typed):
            value = self.value(length, call)
            if value < 0:
                return f"its result has length {length} = {value}"
            if value > MOST_ELEMENTS:
                return f"its result has length {length} = {value}, expected at most {MOST_ELEMENTS}"
        return ""

    def functions(self, call: Call, function: DefinedPattern) -> None:
        """Check the functions of a pattern for each length that their parameters can have."""
        type = call.arguments[-1].typed if call.arguments else None
        if isinstance(function, AnyMap | ReduceSeq) and isinstance(type, RaggedType):
            self.chunks(call, function.function, type)
        elif isinstance(function, Iterate):
            self.iterations(call, function)
        else:
            for inner in function.functions:
                self.expression(inner.body)

    def chunks(self, call: Call, function: Lambda, type: RaggedType) -> None:
        parameter = function.parameters[-1].typed
        assert isinstance(parameter, ArrayType)
        try:
            chunk, total = self.value(type.chunk, call), self.value(type.total, call)
        except Unknown:
            self.expression(function.body)
            return
        for length in {min(chunk, total), total % chunk} - {0}:
            self.within(parameter.length, length, function, call)

    def iterations(self, call: Call, function: Iterate) -> None:
        parameter, result = function.function.parameters[0].typed, function.function.body.typed
        assert isinstance(parameter, ArrayType) and isinstance(result, ArrayType)
        try:
            length, times = self.length(call.arguments[0].typed, call), self.value(function.times, call)
        except Unknown:
            self.expression(function.function.body)
            return
        for _ in range(times):
            before = length
            length = self.within(parameter.length, before, function.function, call, result.length)
            if length == before:
                return

    def within(self, size: Nat, value: int, function: Lambda, call: Call, result: Nat = ZERO) -> int:
        """Check a function with a value of its parameter's length, and return the value of its result's."""
        assert isinstance(size, Variable)
        self.sizes[size] = value
        self.expression(function.body)
        after = self.value(result, call)
        del self.sizes[size]
        return after

    def length(self, type: Type, call: Call) -> int:
        if isinstance(type, RaggedType):
            return self.value(type.total, call)
        return self.value(type.length, call) if isinstance(type, ArrayType) else 0

    def value(self, length: Nat, call: Call) -> int:
        if any(size not in self.sizes for size in free_variables(length)):
            raise Unknown
        try:
            return evaluate(length, self.sizes)
        except ArithmeticRefusal as refusal:
            raise self.refuse(call, f"length {length}: {refusal}") from None

    def refuse(self, call: Call, message: str) -> SizeError:
        place = f"{call.position}: " if call.position.line else ""
        return SizeError(f"{place}{name_function(call.function)}: {message}")


@lru_cache(maxsize=256)
def reordering_fault(index: IndexFunction, length: int, sizes: tuple[tuple[Variable, int], ...]) -> str:
    """Say why an index function is no permutation; "" if it is one, or long and provably stays inside the array."""
    if length == 0:
        return ""  # where i mod n has no value
    probe = variable("i", 0, length)
    try:
        if index.at(index.at(probe, constant(length)), constant(length)) is probe:
            return ""
        inside = IndexFunction(index.at_sizes(dict(sizes))).at(probe, constant(length))
        if length > LONGEST_CHECKED and is_nonnegative(inside) and is_less(inside, constant(length)):
            return ""
        fault = find_fault(permute(index, length, dict(sizes)))
    except ArithmeticRefusal as refusal:
        return f"its index function: {refusal}"
    return f"its index function is not a permutation of {length} indices: {fault}" if fault else ""
