"""The built-in functions of OpenCL C that user functions may call: their types and what NumPy computes for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Builtin:
    """A built-in function.

    ``rule`` says which types it takes and gives, after the arguments have been brought to one type:
    ``"float"`` a floating-point scalar or vector, and the same; ``"number"`` the same of any numeric type;
    ``"magnitude"`` as ``abs``, an unsigned result for integers; ``"reduce"`` vectors, to one component;
    ``"test"`` a floating-point scalar, to ``int``.
    """

    def __init__(self, arity: int, rule: str, meaning: Callable[..., Array]) -> None:
        self.arity = arity
        self.rule = rule
        self.meaning = meaning


def each(function: Callable[..., float]) -> Callable[..., Array]:
    """Return a function on arrays that computes in double precision and rounds to its first argument's type."""
    vectorised = np.vectorize(function, otypes=[np.float64])

    def meaning(*arguments: Array) -> Array:
        return np.asarray(vectorised(*arguments)).astype(arguments[0].dtype)

    return meaning


def fma(a: Array, b: Array, c: Array) -> Array:
    """Return a × b + c rounded once; the product of two doubles is taken in extended precision."""
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    return np.asarray(a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(a.dtype)


def round_half_away(x: Array) -> Array:
    return np.asarray(np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x))


def dot(a: Array, b: Array) -> Array:
    """Return the sum of the products of the components, added in order."""
    products = a * b
    total = products[..., 0]
    for component in range(1, products.shape[-1]):
        total = total + products[..., component]
    return np.asarray(total)


def clamp(x: Array, low: Array, high: Array) -> Array:
    return np.asarray(np.minimum(np.maximum(x, low), high))


BUILTINS: Final[dict[str, Builtin]] = {
    "sqrt": Builtin(1, "float", np.sqrt),
    "rsqrt": Builtin(1, "float", lambda x: x.dtype.type(1) / np.sqrt(x)),
    "cbrt": Builtin(1, "float", np.cbrt),
    "exp": Builtin(1, "float", np.exp),
    "exp2": Builtin(1, "float", np.exp2),
    "expm1": Builtin(1, "float", np.expm1),
    "log": Builtin(1, "float", np.log),
    "log2": Builtin(1, "float", np.log2),
    "log10": Builtin(1, "float", np.log10),
    "log1p": Builtin(1, "float", np.log1p),
    "sin": Builtin(1, "float", np.sin),
    "cos": Builtin(1, "float", np.cos),
    "tan": Builtin(1, "float", np.tan),
    "asin": Builtin(1, "float", np.arcsin),
    "acos": Builtin(1, "float", np.arccos),
    "atan": Builtin(1, "float", np.arctan),
    "atan2": Builtin(2, "float", np.arctan2),
    "sinh": Builtin(1, "float", np.sinh),
    "cosh": Builtin(1, "float", np.cosh),
    "tanh": Builtin(1, "float", np.tanh),
    "erf": Builtin(1, "float", each(math.erf)),
    "erfc": Builtin(1, "float", each(math.erfc)),
    "pow": Builtin(2, "float", np.power),
    "hypot": Builtin(2, "float", np.hypot),
    "fabs": Builtin(1, "float", np.abs),
    "floor": Builtin(1, "float", np.floor),
    "ceil": Builtin(1, "float", np.ceil),
    "trunc": Builtin(1, "float", np.trunc),
    "round": Builtin(1, "float", round_half_away),
    "rint": Builtin(1, "float", np.rint),
    "fmod": Builtin(2, "float", np.fmod),
    "fmin": Builtin(2, "float", np.fmin),
    "fmax": Builtin(2, "float", np.fmax),
    "copysign": Builtin(2, "float", np.copysign),
    "fma": Builtin(3, "float", fma),
    "mad": Builtin(3, "float", lambda a, b, c: a * b + c),
    "min": Builtin(2, "number", np.minimum),
    "max": Builtin(2, "number", np.maximum),
    "clamp": Builtin(3, "number", clamp),
    "abs": Builtin(1, "magnitude", np.abs),
    "dot": Builtin(2, "reduce", dot),
    "length": Builtin(1, "reduce", lambda a: np.sqrt(dot(a, a))),
    "isnan": Builtin(1, "test", lambda x: np.isnan(x).astype(np.int32)),
    "isinf": Builtin(1, "test", lambda x: np.isinf(x).astype(np.int32)),
}
