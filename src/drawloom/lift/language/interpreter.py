"""The meaning of a program in NumPy: the oracle that all generated code is compared with.

An expression is evaluated once for a whole batch of elements: `map` takes the mapped axis into the batch and evaluates
its function on all elements at once (`patterns/base.py` describes the values). Parallel maps mean what `map` means,
and address spaces mean nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from drawloom.errors import OutOfMemoryError, count
from drawloom.lift.arithmetic import (
    ArithmeticRefusal,
    Nat,
    Variable,
    constant,
    evaluate,
    free_variables,
    solve,
)
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
    TupleType,
    Type,
    VectorType,
    rank,
)
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.meaning import dtype_of, run_function


def interpret(program: Lambda, *arguments: Any, sizes: dict[Variable, int] | None = None) -> Any:
    """Run a program on NumPy arrays.

    Args:
        program: A lambda; its types are inferred if that has not been done.
        arguments: One array for each parameter, with the parameter's element type and as many axes as it has
            dimensions, and one more axis for vectors. An array of tuples is a tuple of arrays. Scalars may be
            Python numbers.
        sizes: Values of size variables that the arrays' shapes do not decide.

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
    if len(arguments) != program.arity:
        raise SizeError(
            f"the program takes {count(program.arity, 'argument')}, but {count(len(arguments), 'argument')} were given"
        )
    binder = Binder(dict(sizes or {}))
    values = [binder.argument(parameter, argument) for parameter, argument in zip(program.parameters, arguments)]
    binder.check()
    try:
        return each_leaf(Interpreter(binder.sizes).call(program, values), np.array)
    except MemoryError as error:
        raise OutOfMemoryError(f"the program's arrays do not fit in memory: {error}") from None


class Binder:
    """Finds the sizes of a program from the shapes of its arguments."""

    def __init__(self, sizes: dict[Variable, int]) -> None:
        self.sizes = sizes
        self.waiting: list[tuple[Nat, int, str]] = []
        for size, value in sizes.items():
            check_range(size, value, sizes)

    def argument(self, parameter: Parameter, argument: Any) -> Value:
        """Check one argument against its parameter's type and note the lengths of its axes."""
        return self.value(parameter.typed, argument, 0, [], parameter.name)

    def value(self, type: Type, value: Any, axis: int, lengths: list[Nat], name: str) -> Value:
        while isinstance(type, ArrayType):
            lengths = [*lengths, type.length]
            type = type.element
        if isinstance(type, TupleType):
            if not isinstance(value, tuple | list) or len(value) != len(type.elements):
                raise SizeError(f"argument {name}: expected a tuple of {len(type.elements)} arrays for {type}")
            return tuple(
                [
                    self.value(element, one, axis, lengths, f"{name}[{at}]")
                    for at, (element, one) in enumerate(zip(type.elements, value))
                ]
            )
        if isinstance(type, RaggedType):
            raise SizeError(f"argument {name}: a parameter of type {type} takes no array; split inside the program")
        return self.leaf(type, value, lengths, name)

    def leaf(self, type: Type, value: Any, lengths: list[Nat], name: str) -> Array:
        wanted = dtype_of(type)
        if isinstance(value, bool | int | float) and not lengths:
            if isinstance(value, float) and wanted.kind != "f":
                raise SizeError(f"argument {name}: {value} is not of type {type}")
            try:
                value = np.array(value, wanted)
            except OverflowError:
                raise SizeError(f"argument {name}: {value} is not of type {type}") from None
        if not isinstance(value, np.ndarray | np.generic):
            raise SizeError(f"argument {name}: expected a NumPy array of {wanted}, found {value.__class__.__name__}")
        found = np.asarray(value)
        if found.dtype != wanted:
            raise SizeError(f"argument {name}: expected elements of {wanted}, found {found.dtype}")
        axes = len(lengths) + rank(type)
        if found.ndim != axes:
            raise SizeError(f"argument {name}: expected {axes} axes for its type, found {found.ndim}")
        if isinstance(type, VectorType) and found.shape[-1] != type.width:
            raise SizeError(
                f"argument {name}: expected a last axis of {type.width} components, found {found.shape[-1]}"
            )
        for axis, length in enumerate(lengths):
            self.length(length, found.shape[axis], f"axis {axis} of argument {name}")
        return found

    def length(self, length: Nat, found: int, what: str) -> None:
        """Note that a length is what was found; decide a size if the length is one that is not known yet."""
        if isinstance(length, Variable) and length not in self.sizes:
            check_range(length, found, self.sizes, what)
            self.sizes[length] = found
        else:
            self.waiting.append((length, found, what))

    def check(self) -> None:
        """Compare the lengths that are not a single size with the arrays, deciding sizes from them where needed."""
        progress = True
        while progress:
            progress = False
            for length, found, what in self.waiting:
                unknown = [size for size in free_variables(length) if size not in self.sizes]
                if len(unknown) == 1:
                    value = solve(length, constant(found), unknown[0])
                    if value is not None:
                        decided = self.evaluate(value, what, length, found)
                        check_range(unknown[0], decided, self.sizes, what)
                        self.sizes[unknown[0]] = decided
                        progress = True
        for length, found, what in self.waiting:
            unknown = [size for size in free_variables(length) if size not in self.sizes]
            if unknown:
                raise SizeError(f"{what} has length {found}, which does not fit {length} for any {unknown[0]}")
            wanted = self.evaluate(length, what, length, found)
            if wanted != found:
                shown = f"{length} = {wanted}" if str(length) != str(wanted) else str(length)
                raise SizeError(f"{what} has length {found}, expected {shown}")

    def evaluate(self, value: Nat, what: str, length: Nat, found: int) -> int:
        try:
            return evaluate(value, self.sizes)
        except ArithmeticRefusal as refusal:
            raise SizeError(f"{what} has length {found}, which does not fit {length}: {refusal}") from None


def check_range(size: Variable, value: int, sizes: dict[Variable, int], what: str = "") -> None:
    """Refuse a value outside a size's range, as far as the range's ends are known."""
    start, stop = size.range.start, size.range.stop
    known = {**sizes, size: value}
    place = f"{what}: " if what else ""
    if all(one in known for one in free_variables(start)) and value < evaluate(start, known):
        raise SizeError(f"{place}size {size} is {value}, expected {start} or more")
    if stop is not None and all(one in known for one in free_variables(stop)) and value >= evaluate(stop, known):
        raise SizeError(f"{place}size {size} is {value}, expected less than {stop}")


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
            result = run_function(function.instantiate(tuple(types)), arguments, self.batch)
        else:
            assert isinstance(function, DefinedPattern)
            fault = function.find_fault([self.length(value, type) for value, type in zip(arguments, types)], self.size)
            if fault:
                raise self.refuse(fault)
            self.argument_types, self.result_type = types, call.typed
            result = function.meaning(arguments, self)
        self.current = outer
        return result

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
        position = self.current.position
        place = f"{position}: " if position.line else ""
        return SizeError(f"{place}{name_function(self.current.function)}: {message}")
