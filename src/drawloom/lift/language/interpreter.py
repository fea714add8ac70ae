"""The meaning of a program in NumPy: the oracle that all generated code is compared with.

An expression is evaluated once for a whole batch of elements: `map` takes the mapped axis into the batch and evaluates
its function on all elements at once (`patterns/base.py` describes the values). Parallel maps mean what `map` means,
and address spaces mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from drawloom.errors import DataError, OutOfMemoryError
from drawloom.lift.arithmetic import (
    ArithmeticRefusal,
    Nat,
    Variable,
    evaluate,
)
from drawloom.lift.language.arguments import bind_arguments, name_sizes
from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.errors import SizeError
from drawloom.lift.language.index_functions import LENGTH, IndexFunction
from drawloom.lift.language.infer import infer_types, name_function
from drawloom.lift.language.ir import Call, Expression, Lambda, Literal, Parameter
from drawloom.lift.language.patterns.base import Array, DefinedPattern, Machine, Value, each_leaf, length_of
from drawloom.lift.language.patterns.layout import permute
from drawloom.lift.language.types import (
    ArrayType,
    RaggedType,
    ScalarType,
    Type,
    VectorType,
)
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.meaning import dtype_of, run_function


@room_for_depth()
def interpret(program: Lambda, *arguments: Any, sizes: Mapping[Any, int] | None = None) -> Any:
    """Run a program on NumPy arrays.

    Args:
        program: A lambda; its types are inferred if that has not been done.
        arguments: One array for each parameter, with the parameter's element type and as many axes as it has
            dimensions, and one more axis for vectors. An array of tuples is a tuple of arrays. Scalars may be
            Python numbers.
        sizes: Values of sizes that the arrays' shapes do not decide, by size or by name.

    Returns:
        A new array, or a tuple of arrays where the program returns a tuple or an array of tuples.

    Raises:
        SizeError: The arrays do not fit the parameters, or a size does not fit a pattern.
        LiftTypeError: The program is ill-typed.
        OutOfMemoryError: An array is larger than the memory.

    Example:
        >>> import numpy as np
        >>> from drawloom.lift import array, float32, fun, interpret, map, size, zip
        >>> n = size("N")
        >>> product = fun(array(float32, n), array(float32, n), lambda x, y: zip(x, y) >> map(
        ...     lambda xy: xy[0] * xy[1]))
        >>> interpret(product, np.float32([1, 2, 3]), np.float32([4, 5, 6]))
        array([ 4., 10., 18.], dtype=float32)
    """
    if program.body.type is None:
        program = infer_types(program)
    values, bound = bind_arguments(program, arguments, name_sizes(program, sizes or {}))
    try:
        return each_leaf(Interpreter(bound).call(program, values), np.array)
    except MemoryError as error:
        raise OutOfMemoryError(f"the program's arrays do not fit in memory: {error}") from None


class Interpreter(Machine):
    """Evaluates typed expressions; parameters are bound to values with the batch they were made in."""

    def __init__(self, sizes: dict[Variable, int]) -> None:
        self.sizes = sizes
        self.batch = 0
        self.values: dict[Parameter, tuple[Value, int]] = {}
        self.orders: dict[tuple[IndexFunction, int], Array] = {}
        self.current: Call | None = None
        self.argument_types: list[Type] = []
        self.result_type: Type = ScalarType("", "", 0, "bool")

    def expression(self, expression: Expression) -> Value:
        if isinstance(expression, Parameter):
            value, made_at = self.values[expression]
            extra = (1,) * (self.batch - made_at)
            return each_leaf(value, lambda leaf: leaf.reshape(leaf.shape[:made_at] + extra + leaf.shape[made_at:]))
        if isinstance(expression, Literal):
            return self.literal(expression)
        assert isinstance(expression, Call)
        return self.call_expression(expression)

    def literal(self, literal: Literal) -> Array:
        type = literal.typed
        if isinstance(type, VectorType):
            value = np.array(literal.value, type.element.dtype)
            return np.broadcast_to(value, (type.width,)).reshape((1,) * self.batch + (type.width,))
        return np.full((1,) * self.batch, literal.value, dtype_of(type))

    def call_expression(self, call: Call) -> Value:
        arguments = [self.expression(argument) for argument in call.arguments]
        outer, self.current = self.current, call
        function = call.function
        types = [argument.typed for argument in call.arguments]
        if isinstance(function, Lambda):
            result = self.call(function, arguments)
        elif isinstance(function, UserFunction):
            result = self.run_function(function, types, arguments)
        else:
            assert isinstance(function, DefinedPattern)
            fault = function.find_fault([self.length(value, type) for value, type in zip(arguments, types)], self.size)
            if fault:
                raise self.refuse(fault)
            self.argument_types, self.result_type = types, call.typed
            result = function.meaning(arguments, self)
        self.current = outer
        return result

    def run_function(self, function: UserFunction, types: list[Type], arguments: list[Value]) -> Value:
        try:
            return run_function(function.instantiate(tuple(types)), arguments, self.batch)
        except DataError as fault:
            raise DataError(f"{self.place()}{fault}") from None

    def length(self, value: Value, type: Type) -> int:
        """Return the length of an array value, 0 for other values."""
        return length_of(value, self.batch) if isinstance(type, ArrayType | RaggedType) else 0

    # What patterns ask

    def size(self, length: Nat) -> int:
        try:
            value = evaluate(length, self.sizes)
        except ArithmeticRefusal as refusal:
            raise self.refuse(f"length {length}: {refusal}") from None
        if value < 0:
            raise self.refuse(f"length {length} is {value}, expected 0 or more")
        return value

    def bind(self, variable: Nat, value: int) -> None:
        if isinstance(variable, Variable):
            self.sizes[variable] = value

    def call(self, function: Lambda, arguments: list[Value], extra: int = 0) -> Value:
        self.batch += extra
        for parameter, value in zip(function.parameters, arguments):
            self.values[parameter] = (value, self.batch)
        result = self.expression(function.body)
        self.batch -= extra
        return result

    def index_of(self, index: IndexFunction, at: int, length: int) -> int:
        self.check_sizes(index)
        try:
            return evaluate(index.body, {**self.sizes, index.index: at, LENGTH: length})
        except ArithmeticRefusal as refusal:
            raise self.refuse(f"its index function: {refusal}") from None

    def check_sizes(self, index: IndexFunction) -> None:
        """Refuse an index function with a size that has no value."""
        missing = next((size for size in index.sizes if size not in self.sizes), None)
        if missing is not None:
            raise self.refuse(f"its index function uses {missing}, which has no value")

    def permutation(self, index: IndexFunction, length: int) -> Array:
        self.check_sizes(index)
        key = (IndexFunction(index.at_sizes(self.sizes)), length)
        found = self.orders.get(key)
        if found is None:
            try:
                found = permute(index, length, self.sizes)
            except ArithmeticRefusal as refusal:
                raise self.refuse(f"its index function: {refusal}") from None
            self.orders[key] = found
        return found

    def refuse(self, message: str) -> SizeError:
        assert self.current is not None
        return SizeError(f"{self.place()}{name_function(self.current.function)}: {message}")

    def place(self) -> str:
        """Return the place of the current call as errors begin with it; "" where it is unknown."""
        assert self.current is not None
        position = self.current.position
        return f"{position}: " if position.line else ""
