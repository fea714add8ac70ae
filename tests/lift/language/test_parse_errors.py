"""Errors of texts stand where the text is wrong."""

import pytest

from drawloom.lift import LiftParseError, parse_program

WRONG = [
    ("f(x: [float]N = id(x)", 15, "the parameters of f: found '='", "')'"),
    ("f(x: [float]N) id(x)", 16, "program f: found 'id'", "'='"),
    ("f(x: [float]N", 14, "the parameters of f: found the end of the text", "')'"),
    ("f(x)", 1, "f is not a parameter, a pattern or a function", "a known name"),
    ("f(x: [float]N) = map(g, x)", 22, "g is not a parameter, a pattern or a function", "a known name"),
    ("f(x: [float]N) = x x", 20, "found 'x' after the program", "the end of the text"),
]


@pytest.mark.parametrize(("text", "column", "message", "expected"), WRONG)
def test_columns(text: str, column: int, message: str, expected: str) -> None:
    with pytest.raises(LiftParseError) as refusal:
        parse_program(text)
    error = refusal.value
    assert (error.line, error.column, error.message, error.expected) == (1, column, message, expected)
