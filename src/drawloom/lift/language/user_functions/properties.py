"""Tests of what is declared of a user function: associativity, commutativity and the neutral element.

A declaration cannot be proved here, but a wrong one is mostly found: the function is applied to many small numbers,
on which float arithmetic is exact, and the first counterexample is shown.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.lift.language.errors import LiftTypeError, ill_typed
from drawloom.lift.language.types import ScalarType, TupleType, Type, VectorType, float32, int32
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.meaning import run_function

TRIALS: Final = 2048
SEED: Final = 20170926
#: Functions whose results are not exact on small numbers may differ by so many units in the last place of the
#: largest value that occurs: three applications of some ten operations each.
UNITS: Final = 64


def check_properties(function: UserFunction) -> None:
    """Test every declared property of a function on random values.

    Raises:
        LiftTypeError: A property does not hold; the error shows the values.
    """
    if not (function.associative or function.commutative or function.neutral is not None):
        return
    for filler in (float32, int32) if function.is_generic else (float32,):
        try:
            check_instance(function, filler)
        except LiftTypeError as refusal:
            if "does not hold" in refusal.message or not function.is_generic:
                raise


def check_instance(function: UserFunction, filler: ScalarType) -> None:
    """Test the instance whose type parameters stand for one scalar type."""
    types = [filler if str(type) in function.type_parameters else type for _, type in function.tree.parameters]
    if len(types) != 2 or types[0] != types[1]:
        raise ill_typed(
            f"function {function.name}: declared properties of a function of {', '.join(map(str, types))}",
            function.position,
            "two parameters of one type",
        )
    type = types[0]
    tree = function.instantiate((type, type))
    if tree.result != type:
        raise ill_typed(
            f"function {function.name}: declared properties of a function that returns {tree.result}",
            function.position,
            str(type),
        )
    random = np.random.default_rng(SEED)
    a, b, c = draw(type, random), draw(type, random), draw(type, random)

    def apply(left: Any, right: Any) -> Any:
        return run_function(tree, [left, right], 1)

    if function.associative:
        same(function, "associativity", apply(apply(a, b), c), apply(a, apply(b, c)), (a, b, c))
    if function.commutative:
        same(function, "commutativity", apply(a, b), apply(b, a), (a, b))
    if function.neutral is not None:
        neutral = constant(type, function.neutral)
        same(function, "the neutral element", apply(neutral, a), a, (neutral, a))
        same(function, "the neutral element", apply(a, neutral), a, (a, neutral))


def draw(type: Type, random: np.random.Generator) -> Any:
    """Return a batch of random values of a type: small whole numbers."""
    if isinstance(type, TupleType):
        return tuple([draw(element, random) for element in type.elements])
    if isinstance(type, VectorType):
        return random.integers(low(type.element), 5, (TRIALS, type.width)).astype(type.element.dtype)
    assert isinstance(type, ScalarType)
    return random.integers(low(type), 5, TRIALS).astype(type.dtype)


def low(type: ScalarType) -> int:
    return 0 if type.kind in ("uint", "bool") else -4


def constant(type: Type, value: bool | int | float) -> Any:
    """Return a batch of one value; in a vector or tuple, all components have it."""
    if isinstance(type, TupleType):
        return tuple([constant(element, value) for element in type.elements])
    if isinstance(type, VectorType):
        return np.full((TRIALS, type.width), value, type.element.dtype)
    assert isinstance(type, ScalarType)
    return np.full(TRIALS, value, type.dtype)


def same(function: UserFunction, what: str, left: Any, right: Any, values: tuple[Any, ...]) -> None:
    """Refuse two batches that differ by more than rounding, showing the first values where they do."""
    differ = difference(left, right, values)
    if differ.any():
        at = int(np.argmax(differ))
        shown = ", ".join([str(show(value, at)) for value in values])
        raise ill_typed(
            f"function {function.name}: {what} does not hold for {shown}: {show(left, at)} and {show(right, at)}",
            function.position,
        )


def difference(left: Any, right: Any, values: tuple[Any, ...]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return where two batches differ."""
    if isinstance(left, tuple):
        parts = [difference(one, other, values) for one, other in zip(left, right)]
        return np.asarray(np.logical_or.reduce(parts))
    left, right = np.broadcast_arrays(left, right)
    if left.dtype.kind == "f":
        scale = np.maximum(np.maximum(np.abs(left), np.abs(right)), left.dtype.type(4))
        with np.errstate(all="ignore"):
            close = np.abs(left - right) <= UNITS * np.finfo(left.dtype).eps * scale
        differ = ~(close | (left == right) | (np.isnan(left) & np.isnan(right)))
    else:
        differ = left != right
    return np.asarray(differ.any(axis=1) if differ.ndim > 1 else differ)


def show(value: Any, at: int) -> Any:
    if isinstance(value, tuple):
        return tuple([show(part, at) for part in value])
    return value[at if value.shape[0] > 1 else 0].tolist()
