"""Functions in a text that lack arguments yet: partial applications, and compositions with a name of their own."""

from __future__ import annotations

from drawloom.lift.language.apply import apply, substitute_end
from drawloom.lift.language.ir import Expression, Function, Lambda
from drawloom.lift.language.positions import Position


class Partial:
    """A function with its first arguments, of which some are missing: a link of a composition, or a lambda."""

    def __init__(self, function: Function, arguments: tuple[Expression, ...], position: Position) -> None:
        self.function = function
        self.arguments = arguments
        self.position = position


class Notation(Partial):
    """A composition with a name of its own, such as ``untile``; where it is applied, its functions are."""

    def __init__(self, function: Lambda, position: Position) -> None:
        super().__init__(function, (), position)
        self.composition = function


def as_function(value: Function | Partial) -> Function:
    """Return a function, or a partial application as a lambda over the missing arguments."""
    if isinstance(value, Function):
        return value
    if isinstance(value, Notation):
        return value.composition
    made = apply(value.function, value.arguments, value.position)
    assert isinstance(made, Lambda)
    return made


def apply_value(
    value: Function | Partial, arguments: tuple[Expression, ...], position: Position
) -> Expression | Partial:
    """Return a call, or what has been given of its arguments."""
    if isinstance(value, Notation):
        return substitute_end(value.composition.body, arguments[0])
    if isinstance(value, Partial):
        function, given = value.function, (*value.arguments, *arguments)
    else:
        function, given = value, arguments
    made = apply(function, given, position)
    return made if isinstance(made, Expression) else Partial(function, given, position)
