"""Python's operators on expressions make programs, or are refused with advice at their line; none is silently wrong."""

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from drawloom.lift import LiftTypeError, array, float32, fun, interpret, map, size

X = array(float32, size("N"))
BUILT: dict[str, Callable[[Any], Any]] = {
    "map(neg, x)": lambda e: -e,
    "map(mult(2.0f), x)": lambda e: np.float32(2) * e,
    "map(λ e . mult(e, 2.0f), x)": lambda e: np.multiply(e, np.float32(2)),
    "map(λ e . add(add(0, e), e), x)": lambda e: builtins.sum([e, e]),
    "map(λ e . sub(div(1, e), e), x)": lambda e: 1 / e - e,
}


@pytest.mark.parametrize("text", BUILT)
def test_operators_with_a_meaning(text: str) -> None:
    program = fun(X, lambda x: map(BUILT[text], x))
    data = np.float32([1, 2, 4])
    assert str(program.body) == text
    assert np.array_equal(interpret(program, data), BUILT[text](data))


CONDITION = 'expected a user function, such as user_function("float clip('
FUNCTION = 'expected a user function, such as user_function("float power('
PATTERNS = "expected a pattern for arrays, such as map or reduce"
REFUSED: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("a condition of Python", CONDITION, lambda e: e if e else 1),
    ("a condition of Python", CONDITION, lambda e: e and 1),
    ("<", CONDITION, lambda e: e < 1),
    (">", CONDITION, lambda e: e > 1),
    ("<", CONDITION, lambda e: builtins.max(e, 0)),
    (r"\*\*", FUNCTION, lambda e: e**2),
    (r"\*\*", FUNCTION, lambda e: 2**e),
    ("%", FUNCTION, lambda e: e % 2),
    ("//", "expected /, or a user function", lambda e: e // 2),
    ("abs", FUNCTION, abs),
    ("np.sin", FUNCTION, np.sin),
    ("np.add", PATTERNS, np.add.reduce),
    ("np.sum", PATTERNS, np.sum),
    ("np.dot", PATTERNS, lambda e: np.dot(e, e)),
    ("np.array", "expected an array type of a parameter", np.array),
    ("a number of Python", FUNCTION, math.sqrt),
    ("a number of Python", 'expected a length such as size("N")', lambda e: list(range(e))),
    ("a loop of Python", PATTERNS, list),
    ("a loop of Python", PATTERNS, lambda e: [one + 1 for one in e]),
    ("in", PATTERNS, lambda e: 1 in e),
    ("len", "expected the size of its type", len),
    ("@", PATTERNS, lambda e: e @ e),
    ("<<", "expected x >> f to apply a function", lambda e: e << 2),
]


@pytest.mark.parametrize(("what", "advice", "use"), REFUSED)
def test_operators_without_a_meaning(what: str, advice: str, use: Callable[[Any], Any]) -> None:
    with pytest.raises(LiftTypeError, match=f"{what} has no meaning for a Lift expression") as refusal:
        fun(X, lambda x: map(lambda e: use(e), x))
    assert advice in str(refusal.value)
    assert refusal.value.file == __file__
    assert refusal.value.line > 0
