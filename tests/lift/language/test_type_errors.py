"""An ill-typed program is refused with the pattern, both types and the Python line that made it."""

import inspect

import numpy as np
import pytest

from drawloom.lift import (
    LiftTypeError,
    add,
    array,
    as_vector,
    dot,
    float32,
    fun,
    gather,
    get,
    head,
    infer_types,
    int32,
    iterate,
    join,
    literal,
    map,
    map_glb,
    mult,
    pad,
    reduce,
    reduce_seq,
    size,
    slide,
    split,
    split_guarded,
    take,
    transpose,
    user_function,
    vector,
    vectorize,
    zip,
)
from drawloom.lift.language.parser import parse_program

ILL_TYPED = [
    ("(x: [float]N, y: [float]M) = zip(x, y)", "zip: the lengths of arguments 1 and 2 of zip differ: N is not M"),
    ("(x: [float]8) = split(3, x)", "split: the chunks of split: 3 does not divide 8"),
    ("(x: float) = map(id, x)", "map: its argument is float"),
    ("(x: [float]N) = join(x)", "join: an element of its argument is float"),
    ("(x: [float]N) = transpose(x)", "transpose: an element of its argument is float"),
    ("(x: [float]N) = get(0, x)", "get: it is applied to [float]N"),
    ("(x: [[float]M]N) = map(add(1), x)", "function add: parameter y is given [float]M"),
    (
        "(x: [float]N, y: [int]N) = map(λ p . get(0, p) + get(1, p), zip(x, y))",
        "function add: parameter y and its argument differ: float and int",
    ),
    ("(x: [int]N) = map(add(0.5), x)", "function add: parameter y and its argument differ: number and int"),
    (
        "(x: [(int, int)]N) = reduceSeq(0, λ (a, y) . y, x)",
        "reduceSeq: the initial value of reduceSeq and the result of its function differ: number and (int, int)",
    ),
    ("(x: [float]N) = reduce(0, sub, x)", "reduce: its function is not declared associative, commutative"),
    ("(x: [float]N) = reduce((float4)0.0f, add, x)", "reduce: the initial value of reduce and the elements differ"),
    ("(x: [float4]N) = asVector(2, x)", "asVector: it is applied to [float4]N"),
    ("(x: [float]6) = asVector(4, x)", "asVector: the vectors of asVector: 4 does not divide 6"),
    ("(x: [float]N) = asScalar(x)", "asScalar: it is applied to [float]N"),
    ("(x: [int4]N) = map(λ v . dot(v, v), x)", "dot: it is applied to int4"),
    ("(x: [float]N) = map(vectorize(4, neg), x)", "vectorize: no argument is a vector"),
    ("(x: [float2]N) = map(vectorize(4, neg), x)", "vectorize: an argument is float2"),
    ("(x: [float]4) = take(5, x)", "take: the elements that take keeps: 5 of 4"),
    (
        "(x: [float]N) = scatter(i → 2*i, x)",
        "scatter: its index function is not a permutation of 13 indices for N = 13: index 7 becomes 14",
    ),
    (
        "(x: [[float]M]N) = transpose ∘ split(M) ∘ gather(i → i/N + i mod N) ∘ join(x)",
        "gather: its index function is not a permutation of",
    ),
    ("(x: [float]4) = gather(i → 2*i, x)", "gather: its index function is not a permutation of 4 indices"),
    (
        "(x: [float]N, y: [int]N) = concat(x, y)",
        "concat: the elements of arguments 1 and 2 of concat differ: float and int",
    ),
    (
        "(x: [float]N) = iterate(2, λ y . map(λ z . (z, z), y), x)",
        "iterate: the elements before and after an iteration",
    ),
    ("(x: [float]6) = iterate(2, join ∘ map(take(1)) ∘ split(2), x)", "iterate: "),
    ("(x: [float]N) = transpose ∘ splitGuarded(4, x)", "transpose: its argument is [[float]≤4]N"),
    ("(x: [float]N) = map(slide(2, 1)) ∘ splitGuarded(4, x)", "map: the function returns"),
    ("(x: [float]N) = map(λ y: int . y, x)", "map: parameter y and its argument differ: int and float"),
    ("(x) = x", "λ: "),
    ("(x: [float]N) = filter(add(1.0f), 0, x)", "filter: its predicate returns float"),
    (
        "(x: [float]N) = mapAtomic(id, add, x, x)",
        "mapAtomic: an update of mapAtomic and a pair with an index differ: float",
    ),
    ("(x: char) = add(x, 300)", "the number 300 is not of type char"),
    ("(x: [float]N) = (λ f . f, x)", "a component of a tuple is a function"),
]


@pytest.mark.parametrize(("text", "message"), ILL_TYPED, ids=[case[0] for case in ILL_TYPED])
def test_ill_typed_text(text: str, message: str) -> None:
    with pytest.raises(Exception) as refusal:
        infer_types(parse_program("f" + text))
    assert message.replace("λ: ", "") in str(refusal.value)
    assert str(refusal.value).startswith("<text>:1:")


def line_of(function: object, mark: str) -> int:
    """Return the line of this file on which a mark stands, within a function."""
    lines, start = inspect.getsourcelines(function)  # type: ignore[arg-type]
    return start + next(at for at, line in enumerate(lines) if mark in line)


def ill_typed_program() -> None:
    n, m = size("N"), size("M")
    program = fun(
        array(float32, n),
        array(float32, m),
        lambda x, y: (
            zip(x, y)  # the lengths differ
            >> map(lambda p: mult(p[0], p[1]))
            >> reduce_seq(0, add)
        ),
    )
    infer_types(program)


def test_an_error_shows_the_python_line_of_the_pattern() -> None:
    with pytest.raises(LiftTypeError) as refusal:
        ill_typed_program()
    assert refusal.value.line == line_of(ill_typed_program, "the lengths differ")
    assert refusal.value.file.endswith("test_type_errors.py")
    assert "zip(x, y)  # the lengths differ" in str(refusal.value)
    assert "N is not M" in str(refusal.value)


def test_an_error_in_a_user_functions_body_names_the_call() -> None:
    shift = user_function("T shift(T x) { return x << (T)1; }")
    program = fun(array(float32, size("N")), lambda x: map(shift, x))
    with pytest.raises(LiftTypeError) as refusal:
        infer_types(program)
    assert "function shift: << applied to float, called with float" in str(refusal.value)
    assert refusal.value.file.endswith("test_type_errors.py")


def test_two_sizes_of_one_name_are_refused() -> None:
    program = fun(array(float32, size("N")), array(float32, size("N")), lambda x, y: zip(x, y))
    with pytest.raises(LiftTypeError, match="two different sizes are called N"):
        infer_types(program)


X = array(float32, size("N"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: map(3), "found 3"),
        (lambda: reduce(0, lambda x: x), "reduce: its function takes 1 argument"),
        (lambda: map(lambda *x: x), "plain parameters"),
        (lambda: split(0), "split: chunks of 0 elements"),
        (lambda: split(-3), "split: the length -3 is negative"),
        (lambda: split("4"), "split: '4' is not a length"),
        (lambda: split(2.0), "split: 2.0 is not a length"),
        (lambda: take(True), "take: True is not a length"),
        (lambda: map_glb(add(1), dim=3), "mapGlb: found 3"),
        (lambda: get(-1), "get: found -1"),
        (lambda: as_vector(5), "asVector: found 5"),
        (lambda: vectorize(1, mult), "vectorize: found 1"),
        (lambda: vector(float32, 5), "vector: found 5"),
        (lambda: literal(1.5, int32), "literal: 1.5 is not a number of type int"),
        (lambda: literal(float("nan"), float32), "literal: nan is not a number of type float"),
        (lambda: literal((1, 2), vector(float32, 4)), "literal: 2 components"),
        (lambda: user_function(3), "user_function: 3 is not a text"),
        (lambda: user_function("float f(float x) { return x; }", neutral="0"), "'0' is not a neutral element"),
        (lambda: literal(0, 3), "literal: 3 is not a type"),
        (lambda: literal(0, array(float32, 4)), "literal: [float]4 is not the type of a literal"),
        (lambda: array(3, 4), "array: 3 is not a type"),
        (lambda: size(3), "size: 3 is not a name"),
        (lambda: size("a b"), "size: 'a b' is not a name"),
        (lambda: pad(1, 1, np.arange(3)), "pad: found array"),
        (lambda: gather(lambda i: None), "gather: <function"),
        (lambda: pad(1, 1, "reflect"), "pad: found 'reflect'"),
        (lambda: gather(lambda i: i // 0), "gather: its index function:"),
        (lambda: gather("reverse"), "gather: 'reverse' is not an index function"),
        (lambda: array(float32), "array: no length is given"),
        (lambda: fun(X, lambda x, y: x), "fun: 1 types for the 2 parameters"),
        (lambda: fun(X), "fun: the last argument is not a function"),
        (lambda: fun("float", lambda x: x), "fun: 'float' is not a type"),
        (lambda: fun(X, lambda x: "a"), "found 'a'"),
        (lambda: fun(X, lambda x: map), "found <function map"),
        (lambda: fun(X, lambda x: x + np.array([1])), "found array([1])"),
        (lambda: fun(X, lambda x: add(x, x, x)), "function add: it is called with 3 arguments"),
        (lambda: fun(X, lambda x: float("inf")), "inf is not a literal"),
        (lambda: add >> add, "function add: it is composed with another function, but takes 2 arguments"),
        (lambda: head >> 3, "found 3"),
        (lambda: iterate(lambda x: x, 3), "iterate: <function"),
        (lambda: slide(3, 0), "slide: chunks of 0 elements"),
        (lambda: split_guarded(0), "splitGuarded: chunks of 0 elements"),
        (lambda: fun(X, lambda x: x[1.5]), "get: found 1.5"),
        (lambda: fun(X, lambda x: x, name=5), "fun: 5 is not a name"),  # type: ignore[arg-type]
        (lambda: fun(X, lambda x: x, name="a b"), "fun: 'a b' is not a name"),
    ],
)
def test_builders_refuse_what_does_not_fit_at_the_line_that_calls_them(build: object, message: str) -> None:
    with pytest.raises(LiftTypeError) as refusal:
        build()  # type: ignore[operator]
    assert message in str(refusal.value)
    assert refusal.value.file.endswith("test_type_errors.py")
    assert (
        refusal.value.line >= line_of(test_builders_refuse_what_does_not_fit_at_the_line_that_calls_them, "map(3)") - 1
    )


def test_patterns_without_slots_are_functions() -> None:
    program = fun(array(float32, size("N"), size("M")), lambda x: transpose(x) >> join)
    assert str(program) == "λ x: [[float]M]N . join ∘ transpose(x)"
    assert (
        str(fun(array(vector(float32, 4), 8), lambda x: map(lambda v: dot(v, v), x)).body) == "map(λ v . dot(v, v), x)"
    )
