"""Every rule is applied, and z3 proves every rule: those between expressions, and those of the proofs of bounds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from drawloom.lift.arithmetic import parse, unsimplified

z3 = pytest.importorskip("z3")

HERE = Path(__file__).parent


def _beside(name: str) -> Any:
    """Import a module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"lift_arithmetic_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


rules = _beside("rules")
smt = _beside("smt")


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.name)
def test_rule_is_applied(rule: Any) -> None:
    variables = rule.variables()
    found = parse(rule.before, variables)
    assert str(found) == rule.after
    assert found is parse(rule.after, variables)


# Rules of the proofs of bounds: facts and what follows.

a, b, c, d, g, k, q, r, s, t, x, low, high = z3.Ints("a b c d g k q r s t x low high")


def _floor(dividend: Any, divisor: Any) -> Any:
    return dividend / divisor  # for a positive divisor


def _truncate(dividend: Any, divisor: Any) -> Any:
    """Division as C rounds it, for a positive divisor."""
    return z3.If(dividend >= 0, dividend / divisor, -((-dividend) / divisor))


def _c_remainder(dividend: Any, divisor: Any) -> Any:
    return dividend - divisor * _truncate(dividend, divisor)


BOUND_RULES: dict[str, tuple[list[Any], Any]] = {
    "a rising slope takes the lower bound": ([s >= 0, x >= low, s * low + r >= 0], s * x + r >= 0),
    "a falling slope takes the upper bound": ([s <= 0, x <= high, s * high + r >= 0], s * x + r >= 0),
    "an unknown slope takes both bounds": (
        [low <= x, x <= high, s * low + r >= 0, s * high + r >= 0],
        s * x + r >= 0,
    ),
    "a quotient is at most its dividend's": ([d > 0], d * _floor(a, d) <= a),
    "a quotient is at least its dividend's": ([d > 0], a - d + 1 <= d * _floor(a, d)),
    "an integer above -d times is at least zero": ([d > 0, d * x >= 1 - d], x >= 0),
    "quotients keep the order of dividends": ([d > 0, a <= high], _floor(a, d) <= _floor(high, d)),
    "a remainder is at least zero": ([d > 0], a - d * _floor(a, d) >= 0),
    "a remainder is below its divisor": ([d > 0], a - d * _floor(a, d) <= d - 1),
    "a remainder is at most its dividend": ([d > 0, a >= 0], a - d * _floor(a, d) <= a),
    "an exact quotient of positives is positive": ([d > 0, a > 0, q * d == a], q >= 1),
    "an exact quotient keeps the sign": ([d > 0, a >= 0, q * d == a], q >= 0),
    "the last value is a step below the stop": (
        [t > 0, high == low + k * t, x == low + q * t, x < high],
        x <= high - t,
    ),
    "steps leave the start's remainder": ([g > 0, low == g * a, t == g * b, x == low + q * t], x == g * (a + q * b)),
    "a comparison rounds down": ([g > 0], (g * a + c >= 0) == (a + _floor(c, g) >= 0)),
    "less is a difference": ([], (a < b) == (b - a - 1 >= 0)),
    "the opposite of less": ([], z3.Not(a >= 0) == (-a - 1 >= 0)),
    "a fact bounds with a weight": ([a >= 0, s >= 0, b - s * a >= 0], b >= 0),
    "C divides dividends that are at least zero": ([d > 0, a >= 0], _truncate(a, d) == _floor(a, d)),
    "C divides after a multiple is added": ([d > 0, a + k * d >= 0], _truncate(a + k * d, d) - k == _floor(a, d)),
    "C takes the remainder after a multiple is added": (
        [d > 0, a + k * d >= 0],
        _c_remainder(a + k * d, d) == a - d * _floor(a, d),
    ),
    "C divides any dividend": (
        [d > 0],
        _truncate(a, d) - z3.If(a < _truncate(a, d) * d, 1, 0) == _floor(a, d),
    ),
    "C takes any remainder": ([d > 0], _c_remainder(_c_remainder(a, d) + d, d) == a - d * _floor(a, d)),
}


# What z3 proves in seconds as a whole: with q = x / N, r = x mod N, s = q / M and t = q mod M.
M, N = z3.Ints("M N")
BY_PARTS: dict[str, list[tuple[list[Any], Any]]] = {
    "a quotient of a remainder": [
        ([d > 0, a == d * q + r, r >= 0, r < d], _floor(a, d) == q),  # quotient and remainder are unique
        ([x == q * N + r, q == s * M + t], x == s * (M * N) + (t * N + r)),
        ([t >= 0, t < M, r >= 0, r < N], z3.And(t * N + r >= 0, t * N + r < M * N)),
    ],
}


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.name)
def test_rule_is_proved(rule: Any) -> None:
    if rule.name in BY_PARTS:
        assert all(smt.is_proved(facts, goal) for facts, goal in BY_PARTS[rule.name])
        return
    variables = rule.variables()
    with unsimplified():
        before, after = parse(rule.before, variables), parse(rule.after, variables)
    translation = smt.Translation(list(variables.values()))
    goal = translation.nat(before) == translation.nat(after)
    assert smt.is_proved(translation.facts, goal)


@pytest.mark.parametrize("name", BOUND_RULES)
def test_rule_of_bounds_is_proved(name: str) -> None:
    facts, goal = BOUND_RULES[name]
    assert smt.is_proved(facts, goal)


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.name)
def test_rule_is_documented(rule: Any) -> None:
    page = (HERE.parents[2] / "docs" / "lift.md").read_text(encoding="utf-8")
    assert f"| `{rule.before}` | `{rule.after}` |" in page
