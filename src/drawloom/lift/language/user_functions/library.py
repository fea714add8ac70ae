"""User functions that every program knows: arithmetic on any scalar or vector type, and common float functions."""

from __future__ import annotations

from typing import Final

from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.errors import ill_typed
from drawloom.lift.language.ir import Scalar
from drawloom.lift.language.positions import Position, caller
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.parser import parse_function
from drawloom.lift.language.user_functions.properties import check_properties


def user_function(
    text: str,
    *,
    associative: bool = False,
    commutative: bool = False,
    neutral: Scalar | None = None,
) -> UserFunction:
    """Make a user function from C text.

    Args:
        text: One function in the subset of OpenCL C that ``user_functions/syntax.py`` describes. A type of one
            capital letter stands for any scalar or vector type: ``T add(T x, T y) { return x + y; }``.
        associative: f(f(a, b), c) equals f(a, f(b, c)) up to rounding. Tested on random values.
        commutative: f(a, b) equals f(b, a). Tested on random values.
        neutral: A value z with f(z, a) = f(a, z) = a. Tested on random values.

    Returns:
        A function that calls and compositions take.

    Raises:
        LiftParseError: The text is not in the subset.
        LiftTypeError: The body is ill-typed, or a declared property does not hold.

    Example:
        >>> square = user_function("float square(float x) { return x * x; }")
        >>> square.arity
        1
        >>> user_function("float sub(float x, float y) { return x - y; }", commutative=True)
        Traceback (most recent call last):
            ...
        drawloom.lift.language.errors.LiftTypeError: ...
    """
    position = caller()
    if not isinstance(text, str):
        raise ill_typed(f"user_function: {text!r} is not a text", position, "one function in C")
    if neutral is not None and not isinstance(neutral, bool | int | float):
        raise ill_typed(f"user_function: {neutral!r} is not a neutral element", position, "a number")
    with room_for_depth():
        tree = parse_function(text, f"{position}: user function")
        function = UserFunction(tree, associative, commutative, neutral, position)
        function.check()
        check_properties(function)
    return function


def library(
    text: str, associative: bool = False, commutative: bool = False, neutral: Scalar | None = None
) -> UserFunction:
    """Make a function of the library; `tests` check its properties once instead of every start."""
    return UserFunction(parse_function(text, "<library>"), associative, commutative, neutral, Position("<library>"))


add: Final = library("T add(T x, T y) { return x + y; }", True, True, 0)
mult: Final = library("T mult(T x, T y) { return x * y; }", True, True, 1)
sub: Final = library("T sub(T x, T y) { return x - y; }")
div: Final = library("T div(T x, T y) { return x / y; }")
neg: Final = library("T neg(T x) { return -x; }")
minimum: Final = library("T minimum(T x, T y) { return min(x, y); }", True, True)
maximum: Final = library("T maximum(T x, T y) { return max(x, y); }", True, True)
mult_and_sum_up: Final = library("T multAndSumUp(T acc, T x, T y) { return acc + x * y; }")

#: What a text may name without defining it.
LIBRARY: Final[dict[str, UserFunction]] = {
    function.name: function for function in (add, mult, sub, div, neg, minimum, maximum, mult_and_sum_up)
}
