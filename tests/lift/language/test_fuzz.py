"""Random text and damaged programs: a `drawloom.Error` or success, nothing else."""

import random
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawloom import Error, lift
from drawloom.lift import (
    check_well_formed,
    find_sizes,
    infer_types,
    interpret,
    parse_expression,
    parse_program,
    user_function,
)
from drawloom.lift.arithmetic import evaluate, free_variables
from drawloom.lift.language.ir import Expression, Lambda
from drawloom.lift.language.printer import show_program
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, Type, VectorType
from tests.lift.language.test_listings import LISTING_4_5
from tests.lift.language.test_patterns import CASES
from tests.lift.random_programs import UNARY, Generator

WORDS = """
    λ ∘ → × ≤ ( ) [ ] { } , . ; : ? = < > + - * / % & | ^ ~ ! == && || << >> += ++ x y N M 0 1 2 4 7 0.5 1.0f 3u 0x1F
    float int float4 double bool T true false map mapSeq mapGlb mapWrg mapLcl reduce reduceSeq iterate split join
    gather scatter zip get slide pad clamp wrap transpose asVector asScalar vectorize toLocal id add mult tile untile
    make2DArray replicate scan filter kernel splitGuarded mod reverse return if else while for break sqrt min tuple
    associative neutral init (float4) (float) f(x: [float]N) \\n // /* " ' # @ é \u0000
""".split()

PROGRAMS = [case[0] if not case[0].startswith("(") else "f" + case[0] for case in CASES]
PROGRAMS.append(LISTING_4_5)
PROGRAMS.extend(show_program(Generator(seed).program()[0]) for seed in range(40))

BIGGEST = 1 << 16


def try_program(text: str) -> None:
    """Take a text through every stage that a program goes through."""
    try:
        program = infer_types(parse_program(text))
        assert parse_program(show_program(program), sizes=find_sizes(program)) == program
        check_well_formed(program)
    except Error as refusal:
        assert str(refusal)
        return
    run(program)


def run(program: Lambda) -> None:
    """Run a program on small arrays, unless it makes large ones."""
    if count_elements(program.body.typed) > BIGGEST:
        return
    try:
        interpret(program, *[argument(parameter.typed, ()) for parameter in program.parameters])
    except Error as refusal:
        assert str(refusal)


def count_elements(type: Type) -> int:
    if isinstance(type, ArrayType | RaggedType):
        length = type.length if isinstance(type, ArrayType) else type.total
        try:
            return max(evaluate(length, dict.fromkeys(free_variables(length), 4)), 1) * count_elements(type.element)
        except Error:
            return 1
    if isinstance(type, TupleType):
        return sum(map(count_elements, type.elements))
    return 1


def argument(type: Type, shape: tuple[int, ...]) -> object:
    if isinstance(type, ArrayType):
        try:
            length = evaluate(type.length, dict.fromkeys(free_variables(type.length), 4))
        except Error:
            length = 4
        return argument(type.element, (*shape, min(max(length, 0), 64)))
    if isinstance(type, TupleType):
        return tuple(argument(element, shape) for element in type.elements)
    if isinstance(type, VectorType):
        return argument(type.element, (*shape, type.width))
    return np.ones(shape, type.dtype) if isinstance(type, ScalarType) else np.ones(shape)


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_random_words(text: str) -> None:
    for parse in (parse_expression, parse_program, user_function):
        try:
            parse(text)
        except Error as refusal:
            assert str(refusal)
    try_program("f(x: [float]N) = " + text)


@given(st.text(max_size=40))
def test_random_characters(text: str) -> None:
    for parse in (parse_expression, parse_program, user_function):
        try:
            parse(text)
        except Error as refusal:
            assert str(refusal)


@given(st.sampled_from(PROGRAMS), st.integers(0, 1 << 30), st.integers(1, 3))
def test_damaged_programs(text: str, seed: int, times: int) -> None:
    """Delete, repeat, exchange and replace words of programs that are right."""
    try_program(damage(text, seed, times, lambda chosen, words: chosen.choice(WORDS)))


@given(st.sampled_from([function.text for function in UNARY]), st.integers(0, 1 << 30), st.integers(1, 3))
def test_damaged_user_functions(text: str, seed: int, times: int) -> None:
    chosen = random.Random(seed)
    words = split_words(text)
    for _ in range(times):
        words[chosen.randrange(len(words))] = chosen.choice(chosen.choice((WORDS, words)))
    try:
        function = user_function(" ".join(words), associative=chosen.random() < 0.3)
    except Error as refusal:
        assert str(refusal)
        return
    assert user_function(function.text, associative=function.associative) == function


def damage(text: str, seed: int, times: int, replacement: Callable[[random.Random, list[str]], str]) -> str:
    """Delete, repeat, replace or exchange some words of a text; a function chooses what they are replaced by."""
    chosen = random.Random(seed)
    words = split_words(text)
    for _ in range(times):
        at = chosen.randrange(len(words))
        kind = chosen.randrange(4)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at, chosen.choice(words))
        elif kind == 2:
            words[at] = replacement(chosen, words)
        else:
            other = chosen.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    return " ".join(words)


def split_words(text: str) -> list[str]:
    """Split a program into names, numbers and single signs."""
    words: list[str] = []
    for character in text:
        if words and words[-1][-1:].isalnum() and (character.isalnum() or character in "_."):
            words[-1] += character
        else:
            words.append(character)
    return [word for word in words if not word.isspace()]


def test_deep_nesting_is_refused_not_a_crash() -> None:
    for text in (
        "(" * 5000 + "x" + ")" * 5000,
        "[" * 5000,
        "map(" * 5000,
        "-" * 5000 + "1",
        "λ x . " * 5000 + "x",
        "id ∘ " * 5000 + "x",
        "f(x: " + "[" * 5000 + "float" + "]N" * 5000 + ") = x",
        "f(x: [float]" + "(" * 5000 + "N" + ")" * 5000 + ") = x",
        "f(x: [float](" + "N + " * 5000 + "N)) = x",
        "f(x: float) = " + "x + " * 5000 + "x",
    ):
        try_program(text)
        try_program("f(x: [float]N) = " + text)
    for text in (
        "{" * 5000,
        "float f(float x) { return " + "(" * 5000,
        "float f(float x) { return x" + "+x" * 5000 + "; }",
    ):
        for parse in (user_function, parse_program):
            try:
                parse(text)
            except Error:
                continue
            raise AssertionError(text[:40])


JUNK = st.one_of(
    st.integers(-2, 20),
    st.floats(allow_nan=True),
    st.sampled_from(["clamp", "x", "", None, True, (1, 2), [1], [], (), {}, 1j, np.float32(2), np.arange(3), object()]),
    st.sampled_from([lift.add, lift.neg, lift.id, lift.join, lift.zip, lift.split(2), lift.map(lift.neg)]),
    st.sampled_from([lift.size("N"), lift.size("M") * 2 - 1, lift.float32, lift.array(lift.float32, 4)]),
    st.sampled_from([lambda x: x, lambda x, y: x + y, lambda x: 3, lambda x: None, lambda x: (x, x), lambda x: x[0]]),
)
BUILDERS = [
    (lift.map, 1), (lift.map_seq, 1), (lift.map_glb, 1), (lift.map_wrg, 1), (lift.map_lcl, 1), (lift.reduce, 2),
    (lift.reduce_seq, 2), (lift.partial_reduce, 3), (lift.scan, 2), (lift.scan_seq, 2), (lift.iterate, 2),
    (lift.filter, 2), (lift.map_atomic, 2), (lift.split, 1), (lift.split_guarded, 1), (lift.split_padded, 3),
    (lift.with_epilogue, 4), (lift.gather, 1), (lift.scatter, 1), (lift.get, 1), (lift.slide, 2), (lift.pad, 3),
    (lift.pad_value, 3), (lift.take, 1), (lift.drop, 1), (lift.at, 1), (lift.replicate, 1), (lift.iota, 1),
    (lift.make_2d_array, 3), (lift.tile, 2), (lift.transpose_by_gather, 2), (lift.to_local, 1), (lift.to_private, 1),
    (lift.kernel, 1), (lift.as_vector, 1), (lift.vectorize, 2), (lift.literal, 2), (lift.vector, 2), (lift.fun, 2),
    (lift.user_function, 1), (lift.array, 2), (lift.tuple_of, 2), (lift.size, 1),
]  # fmt: skip


@given(st.data())
def test_random_builder_calls(data: st.DataObject) -> None:
    """Compose what builders make of random values, and type it."""

    def body(x: Expression) -> object:
        value: object = x
        for _ in range(data.draw(st.integers(1, 4))):
            builder, count = data.draw(st.sampled_from(BUILDERS))
            made = builder(*[data.draw(JUNK) for _ in range(count)])
            value = made(value) if callable(made) else made
        return value

    try:
        program = infer_types(lift.fun(lift.array(lift.float32, 4, lift.size("N")), body))
        assert show_program(program)
        check_well_formed(program)
    except Error as refusal:
        assert str(refusal)
        return
    run(program)
