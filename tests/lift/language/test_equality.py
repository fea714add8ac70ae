"""Expressions are equal when they differ in nothing but the names of bound parameters."""

import numpy as np

from drawloom import lift
from drawloom.lift import add, array, float32, fun, int32, map, mult, size, split, zip
from drawloom.lift.language.parser import parse_program

N = size("N")


def test_names_of_bound_parameters_do_not_count() -> None:
    one = fun(array(float32, N), lambda xs: map(lambda x: x + 1, xs))
    other = fun(array(float32, N), lambda values: map(lambda v: v + 1, values))
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


def test_which_parameter_is_used_counts() -> None:
    types = (array(float32, N), array(float32, N))
    assert fun(*types, lambda x, y: zip(x, y)) != fun(*types, lambda x, y: zip(y, x))
    assert fun(*types, lambda x, y: map(lambda z: z, x)) != fun(*types, lambda x, y: map(lambda z: z, y))


def test_declared_types_count() -> None:
    assert fun(array(float32, N), lambda x: x) != fun(array(int32, N), lambda x: x)
    assert fun(array(float32, N), lambda x: x) != fun(array(float32, size("N")), lambda x: x)


def test_slots_count() -> None:
    assert fun(array(float32, N), lambda x: split(2, x)) != fun(array(float32, N), lambda x: split(4, x))


def test_numbers_of_equal_value_and_different_type_differ() -> None:
    texts = ["1", "1.0", "1.0f", "(double)1.0", "true", "0", "-0.0"]
    programs = [parse_program(f"f(x: float) = add(x, {text})") for text in texts]
    assert len(set(programs)) == len(texts)


def test_a_nested_parameter_hides_an_outer_one_of_the_same_name() -> None:
    inner = parse_program("λ x: [[float]4]8 . map(λ x . map(λ x . mult(x, x), x), x)")
    outer = parse_program("λ a: [[float]4]8 . map(λ b . map(λ c . mult(c, c), b), a)")
    assert inner == outer
    assert str(inner) == "λ x: [[float]4]8 . map(map(λ x_1 . mult(x_1, x_1)), x)"


def test_user_functions_are_compared_by_their_text() -> None:
    text = "float f(float x) {{ return x {} 1.0f; }} p(x: [float]4) = map(f, x)"
    assert parse_program(text.format("+")) == parse_program(text.format(" + "))
    assert parse_program(text.format("+")) != parse_program(text.format("*"))


def test_partial_application_is_a_lambda() -> None:
    partly = fun(float32, array(float32, N), lambda a, x: map(add(a), x))
    written = fun(float32, array(float32, N), lambda a, x: map(lambda y: add(a, y), x))
    assert partly == written
    assert str(partly) == "λ (a: float, x: [float]N) . map(add(a), x)"


def test_composition_is_a_lambda() -> None:
    f = map(add(1)) >> map(mult(2))
    assert str(f) == "map(mult(2)) ∘ map(add(1))"
    assert f == map(mult(2)) << map(add(1))


def test_a_parameter_that_is_called_like_a_pattern_is_renamed_in_text() -> None:
    program = lift.fun(lift.array(lift.float32, lift.size("N")), lambda id: lift.map_glb(lift.id, id))
    text = lift.show_program(program)
    parsed = lift.parse_program(text)
    assert lift.show_program(parsed) == text == "λ id_1: [float]N . mapGlb(0)(id, id_1)"
    assert lift.interpret(parsed, np.float32([1, 2])).tolist() == [1.0, 2.0]
