"""Every example of the pages about Lift has the value and the type that the page shows; every pattern has one."""

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom.lift import infer_types, interpret, parse_program
from drawloom.lift.language.patterns.table import PATTERNS
from drawloom.lift.language.types import ArrayType, ScalarType, TupleType, Type, VectorType

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "lift-patterns.md").read_text(encoding="utf-8")
WRITTEN_OTHERWISE = {"tuple": "(x, y)", "array": "[x, y, ...]"}


def split_example(text: str) -> tuple[str, str]:
    """Return the program and the line with its value."""
    lines = text.strip().splitlines()
    return "\n".join(lines[:-1]), lines[-1]


BLOCKS = [split_example(text) for text in re.findall(r"^```lift\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def argument(value: Any, type: Type) -> Any:
    while isinstance(type, ArrayType):
        type = type.element
    assert isinstance(type, ScalarType | VectorType)
    scalar = type.element if isinstance(type, VectorType) else type
    return np.array(value, scalar.dtype)


def to_lists(value: Any) -> Any:
    return tuple(to_lists(one) for one in value) if isinstance(value, tuple) else value.tolist()


@pytest.mark.parametrize(("program", "value"), BLOCKS, ids=[program for program, _ in BLOCKS])
def test_example(program: str, value: str) -> None:
    typed = infer_types(parse_program(program))
    call, rest = value.split(" = ", 1)
    expected, type = rest.rsplit(" : ", 1)
    given = ast.literal_eval(call.removeprefix("f").replace(")", ",)"))
    arguments = [argument(one, parameter.typed) for one, parameter in zip(given, typed.parameters, strict=True)]
    assert str(typed.body.type) == type
    assert to_lists(interpret(typed, *arguments)) == ast.literal_eval(expected)


@pytest.mark.parametrize("keyword", PATTERNS)
def test_every_pattern_is_on_the_page(keyword: str) -> None:
    text = "\n".join(program for program, _ in BLOCKS)
    assert WRITTEN_OTHERWISE.get(keyword) or re.search(rf"\b{keyword}\b", text)
    assert keyword in WRITTEN_OTHERWISE or f"`{keyword}" in PAGE


def test_a_tuple_of_results_has_one_array_for_each() -> None:
    assert any(isinstance(infer_types(parse_program(program)).body.type, TupleType) for program, _ in BLOCKS)
