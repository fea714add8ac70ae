"""Structs: private, in arrays, in memory, by value and by pointer."""

from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.errors import LaunchError
from tests.batch.frontend.programs import run_file
from tests.batch.frontend.refusals import check_refused

pytest.importorskip("pycparser")

COMPLEX = """
struct complex { double re, im; };
typedef struct complex complex;
static inline complex times(complex a, complex b) {
    complex result = {a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re};
    return result;
}
static inline complex plus(complex a, complex b) { return (complex){a.re + b.re, a.im + b.im}; }
"""


def run(text: str, *numbers: complex, wg_size: int = 4, **arguments: Any) -> list[complex]:
    out = np.array(numbers, complex).view(np.float64)
    text = COMPLEX + "__kernel void k(__global complex *out) {" + text + "}"
    return list(run_file(text, out, wg_size, **arguments).view(complex).tolist())


def test_arithmetic_of_complex_numbers() -> None:
    body = "int i = get_local_id(); out[i] = plus(times(out[i], out[3 - i]), (complex){.im = i});"
    z = [1 + 2j, 3j, 5 - 1j, -2 + 1j]
    # Of the four items each reads before any of them writes.
    assert run(body, *z) == [z[i] * z[3 - i] + 1j * i for i in range(4)]


def test_assignment_is_by_value() -> None:
    body = "complex a = {1, 2}, b = a, c; a.re = 7; b.im += 1; c = b; out[0] = a; out[1] = b; out[2] = c;"
    assert run(body, 0, 0, 0, wg_size=1) == [7 + 2j, 1 + 3j, 1 + 3j]


def test_a_value_that_reads_its_target_is_taken_whole() -> None:
    body = """
    complex a = {1, 2}; a = (complex){a.im, a.re}; out[0] = a;
    a = a.re > 0 ? (complex){-1, a.re} : a; out[1] = a;
    """
    assert run(body, 0, 0, wg_size=1) == [2 + 1j, -1 + 2j]


def test_private_arrays_of_structs() -> None:
    body = """
    complex t[3] = {{1, 2}, [2] = {.im = 5}};
    for (int ix = 0; ix < 3; ix++) t[ix] = times(t[ix], out[get_local_id()]);
    t[get_local_id() % 3].re += 100;
    complex *p = t + 1; p->im += 1; (*p).re += 2; p++;
    out[get_local_id()] = plus(*p, plus(t[0], p[-1]));
    """
    z = [1 + 2j, 3j, 5 - 1j, -2 + 1j]
    assert run(body, *z) == [x * (1 + 7j) + 102 + 1j for x in z]


def test_a_struct_is_shuffled_whole_and_chosen_by_conditions() -> None:
    body = "int i = get_local_id(); complex z = out[i]; out[i] = i & 1 ? shuffle(z, 0) : plus(shuffle(z, i + 1), z);"
    assert run(body, 1, 2j, 3, 4j) == [1 + 2j, 1, 3 + 4j, 1]


def test_results_are_structs_with_early_returns() -> None:
    body = """
    int i = get_local_id();
    out[i] = half(out[i]);
    out[i].im += half(out[i]).im + (i > 1 ? half(out[i]) : out[i]).re;
    """
    text = COMPLEX + """
    complex half(complex z) { if (z.re > 2) return z; z.re /= 2; z.im = z.im / 2; return z; }
    __kernel void k(complex *out) {""" + body + "}"
    out = np.array([1 + 2j, 4 + 4j, 2 + 8j, 8 + 0j]).view(np.float64)
    assert run_file(text, out).view(complex).tolist() == [0.5 + 2j, 4 + 12j, 1 + 6.5j, 8 + 8j]


def test_nested_structs_and_arrays_in_structs() -> None:
    text = """
    struct point { float at[2]; };
    typedef struct { struct point from, to; float weights[3]; } edge;
    float length(edge e) { return e.to.at[0] - e.from.at[0] + 10 * (e.to.at[1] - e.from.at[1]) + e.weights[2]; }
    edge turned(edge e) { edge r = {e.to, e.from}; r.weights[2] = e.weights[0]; return r; }
    __kernel void k(float *out, edge *edges) {
        edge own[2]; own[0] = edges[get_local_id()]; own[1] = turned(own[0]);
        for (int i = 0; i < 2; i++) own[1].from.at[i] += own[i].weights[1];
        edges[get_local_id()].to = own[1].from;
        out[get_local_id()] = length(own[0]) + 1000 * length(own[1]) + edges[0].weights[1];
    }
    """
    edges = np.arange(28, dtype=np.float32)
    rows = edges.copy().reshape(4, 7)
    result = run_file(text, np.zeros(4, np.float32), edges=edges)
    ends = rows[:, 2:4] + rows[:, 5:6] * [1, 0]
    back = rows[:, :2] - ends
    expected = 22 + rows[:, 6] + 1000 * (back @ [1, 10] + rows[:, 4]) + rows[0, 5]
    assert result.tolist() == expected.astype(np.float32).tolist()
    assert edges.reshape(4, 7)[:, 2:4].tolist() == ends.tolist()


def test_fields_of_several_types_are_private() -> None:
    text = """
    typedef struct { int index; double size; uchar is_known; } candidate;
    candidate larger(candidate a, candidate b) { return a.size >= b.size ? a : b; }
    __kernel void k(double *out) {
        int i = get_local_id();
        candidate best = {i, out[i], 1};
        for (int distance = 2; distance > 0; distance /= 2) best = larger(best, shuffle(best, i + distance));
        out[i] = best.index + 10 * best.size + best.is_known * 1000;
    }
    """
    assert run_file(text, np.array([3.0, 7, 5, 1])).tolist() == [1071] * 4


def test_a_launch_takes_numbers_with_a_trailing_dimension() -> None:
    text = COMPLEX + "__kernel void k(complex *z) { complex *p = z + get_global_id(); *p = times(*p, *p); }"
    kernel = batch.kernel(text, wg_size=4)
    z = np.random.default_rng(0).standard_normal((3, 4, 2))
    expected = z.view(complex) ** 2
    kernel(z)
    np.testing.assert_allclose(z.view(complex), expected, rtol=1e-14)
    with pytest.raises(LaunchError, match="z is an array of complex128\n  expected float64"):
        kernel(expected)


FILE = "struct pair { int a; int b; };\nstruct mixed { int a; float b; };\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__kernel void k(struct mixed *p) {}", "k.cl:3:30: p points to struct mixed, whose fields have several types"),
        ("__kernel void k(struct pair p) {}", "k.cl:3:29: p is a struct"),
        ("__kernel void k(struct none *p) {}", "k.cl:3:30: struct none is not defined"),
        ("struct pair { int c; };", "k.cl:3:8: struct pair is defined twice"),
        ("struct none { };", "struct none has no fields"),
        ("struct self { int a; struct self *next; };", "k.cl:3:34: the field next is a pointer"),
        ("struct list { int *next; };", "k.cl:3:19: the field next is a pointer"),
        ("struct bits { int a : 3; };", "this is no field of struct bits"),
        ("struct two { int a; float a; };", "struct two has two fields a"),
        ("union u { int a; };", "'union' is not part of the language"),
        ("typedef int t; typedef long t;", "t is the name of two types"),
        ("typedef int *pointer;", "pointer is not the name of a value's type"),
        ("BODY struct pair x; x.c = 1;", "struct pair has no field c\n"),
        ("BODY struct pair x; x = 1;", "this is no struct"),
        ("BODY struct pair x; struct mixed y; x = y;", "this is a struct mixed"),
        ("BODY struct pair x; x += x;", "+ of a struct"),
        ("BODY struct pair x; out[0] = x;", "this is a struct pair"),
        ("BODY struct pair x; x->a = 1;", "this is not a pointer"),
        ("BODY struct pair x = {1, 2, 3};", "struct pair has 2 fields, found 3"),
        ("BODY struct pair x = {.c = 3};", "struct pair has no field c"),
        ("BODY int x = 1; x.a = 2;", "this is of type int, which has no field a"),
        ("BODY struct pair x[2]; x.a = 2;", "this is an array, which has no field a"),
        ("BODY struct pair x[2]; x[2].a = 2;", "index 2 is out of range for x[2]"),
        ("BODY struct pair x[2][2] = {{1, 2}};", "this is no struct"),
        ("BODY if (out[0]) struct pair x;", "k.cl:3:"),
        ("BODY struct pair x; x = out[0] ? x : out[1];", "this is a struct"),
        ("BODY struct pair x[4097];", "x has 4097 elements"),
    ],
)
def test_what_is_wrong_with_structs_is_refused_with_its_place(text: str, message: str) -> None:
    if text.startswith("BODY"):
        text = "__kernel void k(int *out) {" + text.removeprefix("BODY") + "}"
    check_refused(FILE + text, 3, message)
