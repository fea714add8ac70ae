"""Arguments of a program: checks arrays against the types of parameters, and finds the sizes that they decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from drawloom.errors import count
from drawloom.lift.arithmetic import (
    ArithmeticRefusal,
    Constant,
    Nat,
    Variable,
    constant,
    evaluate,
    free_variables,
    solve,
)
from drawloom.lift.language.errors import SizeError
from drawloom.lift.language.ir import Lambda, Parameter
from drawloom.lift.language.patterns.base import Array, Value
from drawloom.lift.language.sizes import find_sizes
from drawloom.lift.language.types import ArrayType, RaggedType, TupleType, Type, VectorType, rank
from drawloom.lift.language.user_functions.meaning import dtype_of


def bind_arguments(
    program: Lambda, arguments: tuple[Any, ...], sizes: dict[Variable, int]
) -> tuple[list[Value], dict[Variable, int]]:
    """Check the arguments of a typed program.

    Args:
        program: A lambda with types.
        arguments: One for each parameter.
        sizes: Values of sizes that are known.

    Returns:
        The arguments as arrays, and the values of all sizes that they decide.

    Raises:
        SizeError: With the Python line of the parameter, and its type.
    """
    if len(arguments) != program.arity:
        message = f"the program takes {count(program.arity, 'argument')}, found {len(arguments)}"
        expected = ", ".join([f"{one.name}: {one.typed}" for one in program.parameters])
        raise SizeError(f"{place_of(program)}{message}\n  expected {expected}")
    binder = Binder(sizes)
    values = [binder.argument(parameter, argument) for parameter, argument in zip(program.parameters, arguments)]
    binder.check()
    return values, binder.sizes


def name_sizes(program: Lambda, sizes: Mapping[Any, int]) -> dict[Variable, int]:
    """Return values of a program's sizes, which are given by size or by name, by size.

    Raises:
        SizeError: The program has no such size, or the value is not one that it can have.
    """
    found = values_by_size(find_sizes(program), sizes)
    for size, value in found.items():
        check_range(size, value, found)
    return found


def values_by_size(by_name: Mapping[str, Variable], sizes: Mapping[Any, int]) -> dict[Variable, int]:
    """Return values, which are given by size or by name, by size. Raises SizeError as `name_sizes` does."""
    if not isinstance(sizes, Mapping):
        raise SizeError(f"sizes is {sizes!r}, expected a dictionary such as {{'N': 1024}}")
    found: dict[Variable, int] = {}
    for key, value in sizes.items():
        size = key if isinstance(key, Variable) else by_name.get(str(key))
        if size is None:
            raise SizeError(f"size {key}: the program has {', '.join(by_name) or 'no sizes'}")
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise SizeError(f"size {key} is {value!r}, expected a whole number")
        found[size] = int(value)
    return found


def place_of(node: Lambda | Parameter) -> str:
    """Return the place of a part of a program as errors begin with it; "" where it is unknown."""
    return f"{node.position}: " if node.position.line else ""


def describe(value: Any) -> str:
    """Return what an error calls a value that is no array of the right kind."""
    if isinstance(value, tuple | list):
        return f"a {value.__class__.__name__} of {len(value)}"
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else value.__class__.__name__


class Place:
    """A part of an argument, for errors: ``what`` is such as "axis 0 of argument x"."""

    def __init__(self, parameter: Parameter, what: str) -> None:
        self.parameter = parameter
        self.what = what

    def component(self, at: int) -> Place:
        return Place(self.parameter, f"{self.what}[{at}]")

    def axis(self, axis: int) -> Place:
        return Place(self.parameter, f"axis {axis} of {self.what}")

    def refuse(self, message: str) -> SizeError:
        """Return an error with the parameter's line and type; the message goes on after the place."""
        parameter = self.parameter
        shown = f"  parameter {parameter.name}: {parameter.typed}"
        return SizeError(f"{place_of(parameter)}{self.what}{message}\n{shown}")


class Binder:
    """Finds the sizes of a program from the shapes of its arguments."""

    def __init__(self, sizes: dict[Variable, int]) -> None:
        self.sizes = sizes
        self.waiting: list[tuple[Nat, int, Place]] = []

    def argument(self, parameter: Parameter, argument: Any) -> Value:
        """Check one argument against its parameter's type and note the lengths of its axes."""
        return self.value(parameter.typed, argument, [], Place(parameter, f"argument {parameter.name}"))

    def value(self, type: Type, value: Any, lengths: list[Nat], place: Place) -> Value:
        while isinstance(type, ArrayType):
            lengths = [*lengths, type.length]
            type = type.element
        if isinstance(type, TupleType):
            if not isinstance(value, tuple | list) or len(value) != len(type.elements):
                raise place.refuse(f": expected a tuple of {len(type.elements)} arrays, found {describe(value)}")
            pairs = enumerate(zip(type.elements, value))
            return tuple([self.value(element, one, lengths, place.component(at)) for at, (element, one) in pairs])
        if isinstance(type, RaggedType):
            raise place.refuse(f": a parameter of type {type} takes no array; split inside the program")
        return self.leaf(type, value, lengths, place)

    def leaf(self, type: Type, value: Any, lengths: list[Nat], place: Place) -> Array:
        wanted = dtype_of(type)
        if isinstance(value, bool | int | float) and not lengths:
            if isinstance(value, float) and wanted.kind != "f":
                raise place.refuse(f": {value} is not of type {type}")
            try:
                value = np.array(value, wanted)
            except OverflowError:
                raise place.refuse(f": {value} is not of type {type}") from None
        if not isinstance(value, np.ndarray | np.generic):
            raise place.refuse(f": expected a NumPy array of {wanted}, found {describe(value)}")
        found = np.asarray(value)
        if found.dtype != wanted:
            raise place.refuse(f": expected elements of {wanted}, found {found.dtype}")
        axes = len(lengths) + rank(type)
        if found.ndim != axes:
            raise place.refuse(f": expected {axes} axes for its type, found {found.ndim}")
        if isinstance(type, VectorType) and found.shape[-1] != type.width:
            raise place.refuse(f": expected a last axis of {type.width} components, found {found.shape[-1]}")
        for axis, length in enumerate(lengths):
            self.length(length, found.shape[axis], place.axis(axis))
        return found

    def length(self, length: Nat, found: int, place: Place) -> None:
        """Note that a length is what was found; decide a size if the length is one that is not known yet."""
        if isinstance(length, Variable) and length not in self.sizes:
            check_range(length, found, self.sizes, place)
            self.sizes[length] = found
        else:
            self.waiting.append((length, found, place))

    def check(self) -> None:
        """Compare the lengths that are not a single size with the arrays, deciding sizes from them where needed."""
        progress = True
        while progress:
            progress = False
            for length, found, place in self.waiting:
                unknown = [size for size in free_variables(length) if size not in self.sizes]
                if len(unknown) == 1:
                    value = solve(length, constant(found), unknown[0])
                    if value is not None:
                        decided = self.evaluate(value, place, length, found)
                        check_range(unknown[0], decided, self.sizes, place)
                        self.sizes[unknown[0]] = decided
                        progress = True
        for length, found, place in self.waiting:
            unknown = [size for size in free_variables(length) if size not in self.sizes]
            if unknown:
                raise place.refuse(f" has length {found}, which does not fit {length} for any {unknown[0]}")
            wanted = self.evaluate(length, place, length, found)
            if wanted != found:
                shown = f"{length} = {wanted}" if str(length) != str(wanted) else str(length)
                raise place.refuse(f" has length {found}, expected {shown}")

    def evaluate(self, value: Nat, place: Place, length: Nat, found: int) -> int:
        try:
            return evaluate(value, self.sizes)
        except ArithmeticRefusal as refusal:
            raise place.refuse(f" has length {found}, which does not fit {length}: {refusal}") from None


def check_range(size: Variable, value: int, sizes: dict[Variable, int], place: Place | None = None) -> None:
    """Refuse a value outside a size's range, as far as the range's ends are known."""
    start, stop = size.range.start, size.range.stop
    known = {**sizes, size: value}

    def refuse(message: str) -> SizeError:
        return SizeError(message) if place is None else place.refuse(": " + message)

    if all(one in known for one in free_variables(start)) and value < evaluate(start, known):
        raise refuse(f"size {size} is {value}, expected {start} or more")
    if stop is not None and all(one in known for one in free_variables(stop)) and value >= evaluate(stop, known):
        raise refuse(f"size {size} is {value}, expected less than {stop}")
    step = size.range.step
    if isinstance(start, Constant) and isinstance(step, Constant) and (value - start.value) % step.value:
        raise refuse(f"size {size} is {value}, expected a multiple of {step}")
