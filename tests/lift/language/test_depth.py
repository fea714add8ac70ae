"""Programs that nest deeply are handled by every stage, or refused where they are built."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from drawloom.lift import (
    Expression,
    Lambda,
    LiftParseError,
    LiftTypeError,
    array,
    compile,
    float32,
    fun,
    infer_types,
    interpret,
    map_glb,
    parse_program,
    show_program,
    size,
    tuple_of,
    user_function,
)
from drawloom.lift.language.depth import DEEPEST
from drawloom.lift.language.types import Type

n = size("N")
STEPS: dict[str, Callable[[Expression, Expression], Expression]] = {
    "operators in a row": lambda made, e: made + e,
    "operators inside each other": lambda made, e: e + made,
    "lambdas": lambda made, e: fun(float32, lambda x: x + e)(made),
}


def chain(step: Callable[[Expression, Expression], Expression], times: int) -> Lambda:
    def element(e: Expression) -> Expression:
        made = e
        for _ in range(times):
            made = step(made, e)
        return made

    return fun(array(float32, n), lambda x: x >> map_glb(element), name="chain")


@pytest.mark.parametrize("name", STEPS)
def test_chains_of_operators_go_through_every_stage(name: str) -> None:
    times = (DEEPEST - 2) // (2 if name == "lambdas" else 1)
    program = chain(STEPS[name], times)
    data = np.arange(3, dtype=np.float32)
    assert parse_program(show_program(program), sizes={"N": n}) == program
    assert hash(infer_types(program)) == hash(program)
    assert np.array_equal(interpret(program, data), data * (times + 1))
    assert np.array_equal(compile(program)(data), data * (times + 1))


def test_a_text_may_have_as_many_operators_as_python() -> None:
    program = parse_program("f(x: [float]N) = mapGlb(0)(λ e . " + " + ".join(["e"] * (DEEPEST - 1)) + ", x)")
    assert np.array_equal(interpret(program, np.ones(2, np.float32)), np.float32([DEEPEST - 1] * 2))


@pytest.mark.parametrize("times", [DEEPEST + 1, 5000])
@pytest.mark.parametrize("name", STEPS)
def test_what_nests_more_deeply_is_refused_where_it_is_built(name: str, times: int) -> None:
    with pytest.raises(LiftTypeError, match=f"more than {DEEPEST} calls inside each other") as refusal:
        chain(STEPS[name], times)
    assert refusal.value.file == __file__


@pytest.mark.parametrize("wrap", [lambda type: array(type, 2), lambda type: tuple_of(type, float32)])
def test_deep_types_are_refused(wrap: Callable[[Any], Any]) -> None:
    type: Type = float32
    with pytest.raises(LiftTypeError, match="more than 60 arrays and tuples inside each other"):
        for _ in range(5000):
            type = wrap(type)


def test_user_functions_of_many_operators() -> None:
    sums = user_function("float sums(float x) { return " + "x + " * 300 + "x; }")
    program = fun(array(float32, n), lambda x: x >> map_glb(sums))
    data = np.arange(3, dtype=np.float32)
    assert np.array_equal(interpret(program, data), 301 * data)
    assert np.array_equal(compile(program)(data), 301 * data)
    assert user_function(sums.text) == sums
    with pytest.raises(LiftParseError, match="an expression of more than 1,000 operators"):
        user_function("float sums(float x) { return " + "(x" + " + x" * 600 + ")" + " + x" * 600 + "; }")


def test_a_program_in_deep_python_code() -> None:
    """Passes make room on the stack whatever the depth that they are called from."""

    def descend(levels: int) -> Any:
        return descend(levels - 1) if levels else compile(chain(STEPS["operators in a row"], 200)).opencl

    assert descend(600).count("add(") > 200
