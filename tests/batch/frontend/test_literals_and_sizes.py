"""Arrays whose size is the number of their initial values, `sizeof`, characters."""

import numpy as np
import pytest

from tests.batch.frontend.programs import run_file
from tests.batch.frontend.refusals import check_refused

pytest.importorskip("pycparser")

PRELUDE = "struct s { uchar a; double b; short c; }; typedef struct { float re, im; } complex;\n"


def value_of(expression: str, declarations: str = "") -> int:
    text = PRELUDE + f"__kernel void k(long *out, short n) {{ {declarations} out[0] = {expression}; }}"
    return int(run_file(text, np.zeros(1, np.int64), 1, n=3)[0])


@pytest.mark.parametrize(
    ("declarations", "expression", "value"),
    [
        ("float t[] = {1, 2, 3};", "t[0] + 10 * t[2] + 100 * (sizeof(t) / sizeof(t[0]))", 331),
        ("int t[] = {[4] = 7, 8, [1] = 5};", "t[4] + 10 * t[5] + 100 * t[1] + 1000 * (sizeof t / sizeof *t)", 6587),
        ("int t[][2] = {{1, 2}, {3}, {4, 5}};", "t[2][1] + 10 * t[1][1] + 100 * sizeof(t)", 2405),
        ("complex t[] = {{1, 2}, {3, 4}};", "t[1].im + 10 * sizeof(t)", 164),
        ("const int t[] = {7};", "t[0] + sizeof(t)", 11),
    ],
)  # fmt: skip
def test_an_array_is_as_long_as_its_initial_values(declarations: str, expression: str, value: int) -> None:
    assert value_of(expression, declarations) == value


@pytest.mark.parametrize(
    ("expression", "size"),
    [("sizeof(char)", 1), ("sizeof(bool)", 1), ("sizeof(ushort)", 2), ("sizeof(float)", 4), ("sizeof(size_t)", 8),
     ("sizeof(double[3][2])", 48), ("sizeof(float *)", 8), ("sizeof(struct s)", 24), ("sizeof(complex)", 8),
     ("sizeof out", 8), ("sizeof *out", 8), ("sizeof n", 2), ("sizeof(n + n)", 4), ("sizeof(n < 1)", 4),
     ("sizeof(!n)", 4), ("sizeof 'a'", 4), ("sizeof(1.5f * n)", 4), ("sizeof(1u + 1L)", 8), ("sizeof(x)", 24),
     ("sizeof x.c", 2), ("sizeof(&x)", 8), ("sizeof(b)", 1), ("sizeof(t) + sizeof(t[0])", 20), ("sizeof(t + 1)", 8),
     ("sizeof(get_local_id())", 8), ("(sizeof(i++)) * 10 + i", 45), ("sizeof(long) - 9 > 0", 1)],
)  # fmt: skip
def test_sizes_are_those_of_c(expression: str, size: int) -> None:
    assert value_of(expression, "struct s x; bool b; int t[4], i = 5;") == size


def test_a_size_is_a_constant() -> None:
    assert value_of("sizeof(u)", "float t[5]; int u[sizeof t / sizeof(double)];") == 8


@pytest.mark.parametrize(
    ("character", "code"),
    [("'a'", 97), (r"'\n'", 10), (r"'\0'", 0), (r"'\\'", 92), (r"'\''", 39), ("'\"'", 34), (r"'\x41'", 65),
     (r"'\101'", 65), (r"'\xff'", -1), ("' '", 32), ("'/'", 47), ("'#'", 35), ("'z' - 'a'", 25)],
)  # fmt: skip
def test_characters_are_numbers(character: str, code: int) -> None:
    assert value_of(character) == code


def test_macros_take_characters() -> None:
    assert run_file("#define C(x) x + '1'\n__kernel void k(int *out) { out[0] = C('\\t'); }", np.zeros(1, np.int32), 1)[
        0
    ] == 9 + 49


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float t[];", "k.cl:3:7: t has no size"),
        ("float t[] = 3;", "t has no size"),
        ("float t[2][] = {{1}, {2}};", "t has no size"),
        ("float t[] = {};", "t has 0 elements"),
        ("float t[] = {[4096] = 1};", "t has 4097 elements"),
        ("float t[] = {[-1] = 1};", "t has 0 elements"),
        ("float t[] = {.a = 1};", "this names no part of the object"),
        ("int x = sizeof(void);", "the type void is not part of the language"),
        ("int x = sizeof(float[]);", "this array has no size"),
        ("int x = sizeof(float[n]);", "the size of this array is not known at compile time"),
        ("int x = sizeof(half);", "half is not declared"),
        ("int x = sizeof y;", "y is not declared"),
        ("int x = 'ab';", "'ab' is not one character of ASCII"),
        ("int x = 'é';", "'é' is not one character of ASCII"),
        ("int x = '';", "the character \"'\" is not part of the language"),
        ("int x = 'a;", "the character \"'\" is not part of the language"),
        ("int x = '\\400';", "is not one character of ASCII"),
        ("int i; float x = (complex){i++, 2}.im;", "this struct depends on an assignment within it"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_sizes_is_refused_with_its_place(text: str, message: str) -> None:
    check_refused(f"{PRELUDE}__kernel void k(float *p, int n) {{\n{text}\n}}", 3, message)
