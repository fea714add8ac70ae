"""Expressions without a value or too large, and texts that are no expressions, are refused with an Error."""

from __future__ import annotations

import random

import pytest

from drawloom.errors import Error, SourceError
from drawloom.lift.arithmetic import (
    ArithmeticRefusal,
    c_text,
    constant,
    evaluate,
    exact_div,
    index,
    log2,
    minimum,
    parse,
    parse_condition,
    unsimplified,
    variable,
)

N = variable("N")
X = index("x", N)
NAMES = {"N": N, "x": X, "get_global_id(0)": index("get_global_id(0)", N)}


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("N +", 4),
        ("(N", 3),
        ("N N", 3),
        ("M", 1),
        ("N $ 2", 3),
        ("min()", 5),
        ("log2(N, N)", 1),
        ("get_global_id(1)", 1),
        ("(x < N ? 1)", 11),
        ("9" * 500, 1),
        ("(" * 200 + "N" + ")" * 200, 101),
        ("٣", 1),
    ],
)
def test_text_is_refused_with_its_column(text: str, column: int) -> None:
    with pytest.raises(SourceError) as refusal:
        parse(text, NAMES)
    assert refusal.value.column == column


@pytest.mark.parametrize("text", ["x / 0", "x mod (N - N)", "3 /^ 2", "log2(0)", "2^(-1)", "N^65", "7^9999"])
def test_expression_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(ArithmeticRefusal):
        parse(text, NAMES)


def test_deep_expressions_are_refused() -> None:
    expression = X
    with pytest.raises(ArithmeticRefusal, match="150 operations deep"):
        for divisor in range(3, 1000, 2):
            expression = expression * divisor % (N + divisor)
    with unsimplified(), pytest.raises(ArithmeticRefusal):
        for _ in range(1000):
            expression = expression + 1


def test_long_products_are_refused() -> None:
    total = constant(0)
    for number in range(100):
        total = total + variable(f"v{number}")
    with pytest.raises(ArithmeticRefusal, match="too long"):
        total * total


def test_evaluation_names_what_has_no_value() -> None:
    with pytest.raises(ArithmeticRefusal, match="N: the variable has no value"):
        evaluate(N + 1, {})
    with pytest.raises(ArithmeticRefusal, match="leaves 2, expected 0"):
        evaluate(exact_div(N, 4), {N: 6})
    with pytest.raises(ArithmeticRefusal):
        evaluate(log2(variable("u", 0)), {})


def test_minimum_of_nothing_is_refused() -> None:
    with pytest.raises(ArithmeticRefusal, match="at least one operand"):
        minimum()


def test_c_text_refuses_what_c_cannot_say() -> None:
    with pytest.raises(ArithmeticRefusal, match="not proved to be positive"):
        c_text(X % variable("u", 0))
    with pytest.raises(ArithmeticRefusal, match="base 2 or a constant exponent"):
        c_text(3**X)
    with pytest.raises(ArithmeticRefusal, match="does not fit C's int"):
        c_text(X + 2**31)


TOKENS = (
    "N x 0 1 2 16 + - * / /^ mod % ^ ( ) min( max( log2( , ? : < <= == != && || true get_global_id ( 0 ) é _".split()
)


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_random_texts_are_parsed_or_refused(first: int) -> None:
    parsed = 0
    for seed in range(first, first + 500):
        choose = random.Random(seed)
        text = " ".join(choose.choice(TOKENS) for _ in range(choose.randint(1, 9)))
        for parser in (parse, parse_condition):
            try:
                found = parser(text, NAMES)
            except Error:
                continue
            parsed += 1
            assert parser(str(found), NAMES) is found
    assert parsed > 10
