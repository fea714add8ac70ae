"""User functions: their grammar, C's types and conversions, their meaning for batches, and tested properties."""

import signal
from typing import Any

import numpy as np
import pytest

from drawloom import DataError, lift
from drawloom.lift import LiftParseError, LiftTypeError, user_function
from drawloom.lift.language.types import (
    ScalarType,
    TupleType,
    Type,
    VectorType,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
    uint32,
    uint64,
)
from drawloom.lift.language.user_functions import meaning
from drawloom.lift.language.user_functions.library import LIBRARY
from drawloom.lift.language.user_functions.meaning import run_function
from drawloom.lift.language.user_functions.printer import CPrinter
from drawloom.lift.language.user_functions.properties import check_properties

float4 = VectorType(float32, 4)


def call(text: str, types: list[Type], *values: Any) -> Any:
    function = user_function(text)
    tree = function.instantiate(tuple(types))
    arrays = [convert(value, type) for value, type in zip(values, types, strict=True)]
    return run_function(tree, arrays, 1)


def convert(value: Any, type: Type) -> Any:
    if isinstance(type, TupleType):
        return tuple(convert(one, element) for one, element in zip(value, type.elements, strict=True))
    scalar = type.element if isinstance(type, VectorType) else type
    assert isinstance(scalar, ScalarType)
    return np.array(value, scalar.dtype)


INT = np.array([7, -7, 7, -7])
BY = np.array([2, 2, -2, -2])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x / y;", [3, -3, -3, 3]),
        ("return x % y;", [1, -1, 1, -1]),
        ("return x > y ? x : y;", [7, 2, 7, -2]),
        ("return -x + ~y;", [-10, 4, -6, 8]),
        ("return (x << 1) | (y >> 1);", [15, -13, -1, -1]),
        ("return x & y;", [2, 0, 6, -8]),
        ("return x ^ y;", [5, -5, -7, 7]),
        ("return !x + (x < y) + (x != y) * 2;", [2, 3, 2, 3]),
        ("return x > 0 && y > 0;", [1, 0, 0, 0]),
        ("return x > 0 || y > 0;", [1, 1, 1, 0]),
        ("return x == 0 || 10 / x > 0;", [1, 0, 1, 0]),
        (
            "int r = 0; for (int i = 0; i < x; i++) { if (i == 5) break; if (i % 2) continue; r += i; } return r;",
            [6, 0, 6, 0],
        ),
        (
            "int r = x; while (r < 20) { r = r * 2; if (r == 0) { return 5; } if (r < -20) { return r; } } return r;",
            [28, -28, 28, -28],
        ),
        ("if (x > 0) return 1; else if (y > 0) return 2; return 3;", [1, 2, 1, 3]),
        ("int a = x, b = y; a -= b; b *= a; return b;", [10, -18, -18, 10]),
        ("int r = 0; for (;;) { r++; if (r > 3) break; } return r;", [4, 4, 4, 4]),
        ("{ int x = 3; y += x; } return y + x;", [12, -2, 8, -6]),
        ("return min(x, y) + max(x, y) + clamp(x, -1, 1);", [10, -6, 6, -10]),
        ("return (int)abs(x);", [7, 7, 7, 7]),
        ("return 0x10 + (int)3.9f + (int)-3.9f;", [16, 16, 16, 16]),
        ("return x / 2.0f > 3.4f;", [1, 0, 1, 0]),
        ("return (uchar)(x * 100);", [188, 68, 188, 68]),
    ],
)
def test_integers(body: str, expected: list[int]) -> None:
    found = call(f"int f(int x, int y) {{ {body} }}", [int32, int32], INT, BY)
    assert found.dtype == np.int32
    assert np.broadcast_to(found, 4).tolist() == expected


def test_arithmetic_has_the_types_of_c() -> None:
    cases = [
        ("T * T", int8, int32),
        ("T * T", uint8, int32),
        ("T * T", uint32, uint32),
        ("T * 1", uint32, uint32),
        ("T * 1", int64, int64),
        ("T * 1u", int64, int64),
        ("T * 1.0f", int64, float32),
        ("T * 1.0", float32, float64),
        ("T * 1.0h", int64, float16),
        ("T * 1", uint64, uint64),
    ]
    for text, type, expected in cases:
        expression = text.replace("T", "x")
        tree = user_function(f"double f({type} x) {{ return {expression}; }}").instantiate((type,))
        value = tree.body[0].value  # type: ignore[attr-defined]
        inner = value.operand if expected != float64 else value
        assert inner.type == expected, (text, type)


def test_unsigned_integers_wrap() -> None:
    assert call("uint f(uint x) { return x * 4000000000u; }", [uint32], [3]).tolist() == [3410065408]
    assert call("uint f(uint x) { return -x; }", [uint32], [1]).tolist() == [4294967295]


def test_floats_round_in_their_own_precision() -> None:
    x = np.float32([0.1, 0.7])
    assert np.array_equal(call("float f(float x) { return x * x + 0.1f; }", [float32], x), x * x + np.float32(0.1))
    double = call("float f(float x) { return x * 0.1; }", [float32], x)
    assert np.array_equal(double, (x.astype(np.float64) * 0.1).astype(np.float32))
    assert double.dtype == np.float32


def test_fma_rounds_once() -> None:
    x = np.float32([1 + 2**-12])
    found = call("float f(float x) { return fma(x, x, -1.0f); }", [float32], x)
    assert found.tolist() == [np.float32(2**-11 + 2**-24)]


def test_vectors() -> None:
    v = np.float32([[1, 2, 3, 4]])
    assert call("float4 f(float4 v) { return v * v + 1; }", [float4], v).tolist() == [[2, 5, 10, 17]]
    assert call("float f(float4 v) { return dot(v, v); }", [float4], v).tolist() == [30]
    assert call("float f(float4 v) { return v.x + v.s3; }", [float4], v).tolist() == [5]
    assert call("float2 f(float4 v) { return v.wx; }", [float4], v).tolist() == [[4, 1]]
    assert call("float4 f(float4 v) { v.yz = v.lo; return v; }", [float4], v).tolist() == [[1, 1, 2, 4]]
    assert call("float4 f(float4 v) { return (float4)(v.hi, 7.0f, v.x); }", [float4], v).tolist() == [[3, 4, 7, 1]]
    assert call("int4 f(float4 v) { return v > 2.5f; }", [float4], v).tolist() == [[0, 0, -1, -1]]
    assert call("int4 f(float4 v) { return convert_int4(v / 2); }", [float4], v).tolist() == [[0, 1, 1, 2]]


def test_tuples() -> None:
    pair = TupleType((float32, int32))
    found = call(
        "(int, float) f((float, int) p) { p._0 = p._0 * 2; return tuple(p._1, p._0); }", [pair], ([1, 2], [3, 4])
    )
    assert [one.tolist() for one in found] == [[3, 4], [2, 4]]
    assert [one.dtype for one in found] == [np.int32, np.float32]


def test_a_branch_not_taken_may_divide_by_zero() -> None:
    x = [0, 5]
    assert call("int f(int x) { return x == 0 ? 1 : 10 / x; }", [int32], x).tolist() == [1, 2]
    assert call("int f(int x) { if (x != 0) { return 10 / x; } return 1; }", [int32], x).tolist() == [1, 2]
    with pytest.raises(DataError, match="function f: an integer is divided by zero"):
        call("int f(int x) { return 10 / x; }", [int32], x)


ENDLESS = {
    "a loop": "while (x > 0) { x = x; }",
    "loops inside each other": "for (int i = 0; i < 40; i++) { for (int j = 0; j < 40; j++) { x = x + 0; } }",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_loop_is_reported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "MOST_ROUNDS", 1000)
    program = lift.parse_program(f"int f(int x) {{ {ENDLESS[name]} return x; }} g(x: [int]N) = map(f, x)")
    with pytest.raises(DataError, match="<text>:1: function f: its loops have not ended after 1,000 rounds"):
        lift.interpret(program, np.int32([1, 2]))


@pytest.mark.parametrize("type", ["int", "float4", "(int, float4)"])
def test_a_function_of_statements_may_have_no_elements(type: str) -> None:
    """It had no result."""
    text = f"{type} f(int x, {type} y) {{ if (x > 0) {{ return y; }} return y; }} g(x: [int]N, y: {type}) = "
    program = lift.parse_program(text + "map(λ e . f(e, y)) ∘ drop(2, x)")
    value: Any = {"int": np.int32(1), "float4": np.ones(4, np.float32)}
    value["(int, float4)"] = (value["int"], value["float4"])
    found = lift.interpret(program, np.int32([1, 2]), value[type])
    parts = found if isinstance(found, tuple) else (found,)
    assert [part.shape for part in parts] == {"int": [(0,)], "float4": [(0, 4)]}.get(type, [(0,), (0, 4)])


def test_ctrl_c_ends_a_call_of_an_endless_function() -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            call("int f(int x) { while (x > 0) { x = x; } return x; }", [int32], [1])
        finally:
            signal.signal(signal.SIGALRM, handler)


def test_an_error_of_a_user_function_has_the_line_of_its_call() -> None:
    program = lift.parse_program("int f(int x) { return 1 / x; }\ng(x: [int]N) = map(f, x)")
    with pytest.raises(DataError, match="<text>:2: function f: an integer is divided by zero"):
        lift.interpret(program, np.int32([1, 0]))


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("float f(float x) { return x }", "after return: found '}'", 29),
        ("float f(float x) { float y; return x; }", "variable y has no initial value", 27),
        ("float f(float *x) { return x; }", "a parameter of f: found '*'", 15),
        ("float f() { return 1.0f; }", "the type of a parameter: found ')'", 9),
        ("real f(float x) { return x; }", "the type of a function's result: found 'real'", 1),
        ("float f(float x) { return x[0]; }", "after return: found '['", 28),
        ("float f(float x) { goto y; }", "a statement: found 'y'", 25),
        ("float f(float x) { 1 = x; }", "found '1' where a statement begins", 20),
        ("float f(float x) { return x; } 3", "function f: found '3' after its end", 32),
        ("float f(float x) { return 1.5q; }", "after return: found 'q'", 30),
        ("float f(float x) { return 099; }", "099 begins with 0", 27),
        ("float f(float x) { return 99999999999999999999; }", "does not fit an integer type", 27),
        ("float f(float x) { sqrt(x) = x; return x; }", "an assignment to what is not a variable", 20),
    ],
)
def test_text_outside_the_subset_is_refused(text: str, message: str, column: int) -> None:
    with pytest.raises(LiftParseError) as refusal:
        user_function(text)
    assert message in str(refusal.value)
    assert refusal.value.column == column


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float f(float x) { return y; }", "y is not declared"),
        ("float f(float x) { if (x > 0) return x; }", "a path through the function does not return a value"),
        ("float f(float x, float x) { return x; }", "parameter x is declared twice"),
        ("float f(float x) { float y = 1.0f, y = 2.0f; return y; }", "variable y is declared twice"),
        ("float f(float x) { return sine(x); }", "sine is not a function"),
        ("float f(float x) { return sqrt(x, x); }", "sqrt is called with 2 arguments"),
        ("float f(int x) { return sqrt(x); }", "sqrt applied to int"),
        ("float f(float x) { return x % 2; }", "% applied to float"),
        ("float f(float x) { return x & 2; }", "& applied to float"),
        ("float f(float x) { return ~x; }", "~ applied to float"),
        ("float f(float x) { return x.x; }", ".x of float"),
        ("float f(float2 v) { return v.z; }", "float2 has no components .z"),
        ("float f(float4 v) { return v; }", "found float4"),
        ("float4 f(float4 v) { return v * 2.0; }", "* applied to float4 and double"),
        ("float4 f(float4 v, float2 w) { return v + w; }", "+ applied to float4 and float2"),
        ("float4 f(float x) { return (float4)(x, x); }", "float4 is made of 2 components"),
        ("float4 f(float4 v) { v.xx = (float2)0.0f; return v; }", "names a component twice"),
        ("float f((float, int) p) { return p._2; }", "(float, int) has no component ._2"),
        ("float f((float, int) p) { return p + 1; }", "+ applied to (float, int) and int"),
        ("float f(float x) { break; return x; }", "break outside a loop"),
        ("float f(float4 v) { return v ? 1 : 0; }", "a condition of type float4"),
        ("int4 f(float4 v) { return (int4)v; }", "a conversion of float4 to int4"),
        ("T f(float x) { return x; }", "type T does not occur in a parameter"),
        ("float f(float x) { { float y = x; } return y; }", "y is not declared"),
    ],
)
def test_ill_typed_functions_are_refused(text: str, message: str) -> None:
    with pytest.raises(LiftTypeError) as refusal:
        user_function(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "declared", "message"),
    [
        ("float sub(float x, float y) { return x - y; }", {"commutative": True}, "commutativity does not hold for"),
        ("float mean(float x, float y) { return (x + y) / 2; }", {"associative": True}, "associativity does not hold"),
        ("float add(float x, float y) { return x + y; }", {"neutral": 1}, "the neutral element does not hold for 1.0"),
        ("T left(T x, T y) { return x; }", {"commutative": True}, "commutativity does not hold"),
        ("float f(float x) { return x; }", {"associative": True}, "declared properties of a function of float"),
        ("float f(float x, int y) { return x; }", {"associative": True}, "a function of float, int"),
        ("int f(float x, float y) { return 0; }", {"associative": True}, "a function that returns int"),
        (
            "(float, int) f((float, int) a, (float, int) b) { return a._0 < b._0 ? a : b; }",
            {"commutative": True},
            "commutativity does not hold",
        ),
    ],
)
def test_declared_properties_that_do_not_hold_are_refused(text: str, declared: Any, message: str) -> None:
    with pytest.raises(LiftTypeError) as refusal:
        user_function(text, **declared)
    assert message in str(refusal.value)
    assert refusal.value.file.endswith("test_user_functions.py")


def test_declared_properties_that_hold_are_accepted() -> None:
    properties = {"associative": True, "commutative": True}
    user_function("float f(float x, float y) { return min(x, y); }", neutral=3.4e38, **properties)
    user_function("float f(float x, float y) { return sqrt(x * x + y * y); }", associative=True, commutative=True)
    user_function("float4 f(float4 x, float4 y) { return x + y; }", neutral=0, **properties)
    user_function(
        "(float, int) f((float, int) a, (float, int) b)"
        "{ return a._0 < b._0 || (a._0 == b._0 && a._1 < b._1) ? a : b; }",
        **properties,
    )


@pytest.mark.parametrize("name", LIBRARY)
def test_the_librarys_functions_have_the_properties_that_it_declares(name: str) -> None:
    LIBRARY[name].check()
    check_properties(LIBRARY[name])


def test_functions_print_and_parse_back() -> None:
    text = (
        "(T, int) f(T x, (float4, int) p, uchar n) {\n"
        "  T r = x * (x + (T)1) - -x;\n"
        "  for (int i = 0, j = 3; i < 3 && j > 0; i++) { if (r > x) continue; else { r -= (T)(2); } j--; }\n"
        "  while (true) break;\n"
        "  { p._0.xy = (float2)(0.1f, 1e-30f); p._0.w = 0x1Fu; }\n"
        "  return x == r ? tuple(r, p._1 << 2) : tuple(x, (int)n % 3);\n"
        "}"
    )
    function = user_function(text)
    again = user_function(function.text)
    assert again.text == function.text
    assert again == function


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("T add(T x, T y) { return x + y; }", [float4, float4], "float4 add(float4 x, float4 y) { return x + y; }"),
        ("float f(float x, int n) { return x * n + 1; }", None, "float f(float x, int n) { return x * n + 1; }"),
        ("float f(float x) { return fmax(x, 0); }", None, "float f(float x) { return fmax(x, (float)0); }"),
        ("int4 f(float4 v) { return convert_int4(v * 2); }", None, "int4 f(float4 v) { return convert_int4(v * 2); }"),
        ("uchar f(uchar x) { return (uchar)(x + 1); }", None, "uchar f(uchar x) { return (uchar)(x + 1); }"),
        ("int f(int x) { return x && !x ? 1 : 2; }", None, "int f(int x) { return x && !x ? 1 : 2; }"),
        ("float4 f(float x) { return x; }", None, "float4 f(float x) { return x; }"),
        ("(float, int) f(int x) { return tuple(x, x); }", None, "(float, int) f(int x) { return tuple((float)x, x); }"),
    ],
)
def test_checked_functions_print_only_the_conversions_that_c_does_not_make(
    text: str, types: list[Type] | None, expected: str
) -> None:
    function = user_function(text)
    tree = function.instantiate(tuple(types or [type for _, type in function.tree.parameters]))
    assert CPrinter().function(tree) == expected


def test_different_functions_of_one_name_are_told_apart_in_text() -> None:
    """Only the first was defined, and stood for both; an own `add` stood for that of the library."""
    add_one = lift.user_function("float g(float x) { return x + 1; }")
    times_three = lift.user_function("float g(float x) { return x * 3; }")
    own_add = lift.user_function("float add(float x, float y) { return x - y; }")
    numbers = lift.array(lift.float32, lift.size("N"))
    for program in (
        lift.fun(numbers, lambda x: lift.map(lambda e: times_three(add_one(e)), x)),
        lift.fun(numbers, lambda x: lift.map(lambda e: own_add(lift.add(e, e), 5.0), x)),
    ):
        parsed = lift.parse_program(lift.show_program(program))
        data = np.arange(3, dtype=np.float32)
        np.testing.assert_array_equal(lift.interpret(parsed, data), lift.interpret(program, data))
