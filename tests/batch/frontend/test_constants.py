"""Constants of file scope: tables, structs and numbers, and what is refused."""

import numpy as np
import pytest

from drawloom.batch import lower, parse_file
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.native import NativeKernel
from tests.batch.frontend.programs import run_file
from tests.batch.frontend.refusals import check_refused

pytest.importorskip("pycparser")

TABLE = "__constant float t[4] = {0.5f, 1.5f, -2, 1.0 / 4};\n"


def test_a_table_is_read_at_known_and_unknown_places() -> None:
    text = TABLE + """
    __kernel void k(float *out, const int *in) {
        int i = get_local_id();
        out[i] = t[in[i]];
        out[4 + i] = t[2] + t[i];
        float sum = 0;
        for (int n = 0; n < 4; n++) sum += t[n] * t[3 - n];
        out[8 + i] = sum;
    }
    """
    places = np.array([3, 0, 0, 2], np.int32)
    expected = [0.25, 0.5, 0.5, -2, -1.5, -0.5, -4, -1.75, -5.75, -5.75, -5.75, -5.75]
    out = run_file(text, np.zeros(12, np.float32), 4, 1, **{"in": places})
    assert out.tolist() == expected
    for order in ORDERS:
        found = np.zeros(12, np.float32)
        native = NativeKernel(lower(parse_file(text, wg_size=4)["k"]), order, 1)
        native.run([found.ctypes.data, places.ctypes.data], 0, 1)
        assert found.tolist() == expected


def test_functions_take_tables_as_pointers_and_by_name() -> None:
    text = TABLE + """
    float first(void) { return t[0]; }
    float sum(const float *p, int n) { float s = 0; while (n--) s += *p++; return s; }
    __kernel void k(float *out) { const float *q = t + 1; *out++ = sum(t, 4); *out++ = sum(q, 2); *out = first(); }
    """
    assert run_file(text, np.zeros(3, np.float32), 1).tolist() == [0.25, -0.5, 0.5]


def test_structs_and_arrays_of_several_dimensions() -> None:
    text = """
    typedef struct { int a; float b[2]; } s;
    static const s table[] = {{1, {2, 3}}, {.b = {[1] = 4}}}, one = {7, {8, 9}};
    const uchar bytes[2][3] = {{1, 2, 300}, {'a'}};
    __kernel void k(float *out, int n) {
        s x = table[n], y = one;
        out[0] = x.a; out[1] = x.b[1]; out[2] = table[0].b[n]; out[3] = y.b[0]; out[4] = bytes[0][2];
        out[5] = bytes[n][0]; out[6] = one.b[n] + sizeof(table);
    }
    """
    assert run_file(text, np.zeros(7, np.float32), 1, n=1).tolist() == [0, 4, 3, 8, 44, 97, 33]


def test_numbers_are_constants() -> None:
    text = """
    __constant int n = 4, m = n * 2 - 1;
    const double pi = 3.25, tau = -(2 * pi), big = n > 3 && !(m < 2) ? 1 : 0;
    __kernel void k(double *out) {
        int t[n];
        const double *p = &pi;
        out[0] = sizeof(t); out[1] = m; out[2] = tau + big; out[3] = *p;
    }
    """
    assert run_file(text, np.zeros(4), 1).tolist() == [16, 7, -5.5, 3.25]


def test_a_variable_hides_a_constant() -> None:
    text = TABLE + "__kernel void k(float *out) { float t = 7; out[0] = t; { int t[2] = {8}; out[1] = t[0]; } }"
    assert run_file(text, np.zeros(2, np.float32), 1).tolist() == [7, 8]


def test_a_known_element_is_a_number() -> None:
    text = TABLE + "__kernel void k(float *out) { for (int i = 0; i < 4; i++) out[4 * get_local_id() + i] = t[i]; }"
    assert {value.op for value in lower(parse_file(text, wg_size=4)["k"]).body.values} <= {"constant", "store"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float t[2] = {1, 2};", "k.cl:1:7: variables do not stand outside of kernels"),
        ("const float *t = 0;", "variables do not stand outside of kernels"),
        ("__local float t[2];", "variables do not stand outside of kernels"),
        ("const float t[2];", "t has no initial value"),
        ("__constant float t[];", "t has no size"),
        ("const float t[2] = {1, 2, 3};", "an array of 2 elements, found 3"),
        ("const int x = 1; const int x = 2;", "x is defined twice"),
        ("const int k2 = 1; __kernel void k2(int *p) {}", "k2 is defined twice"),
        ("const int sqrt = 1;", "sqrt is the name of a function"),
        ("int f(int x) { return x; } const int f = 1;", "f is the name of a function"),
        ("const int f = 1; int f(int x) { return x; }", "f is the name of a constant"),
        ("const float x = sqrt(2.0);", "k.cl:1:17: this initial value of x is not known at compile time"),
        ("const int x = get_local_id();", "this initial value of x is not known at compile time"),
        ("const int x = y;", "y is not declared"),
        ("const int a[2] = {1, 2}, b = a[get_local_id()];", "this initial value of b is not known at compile time"),
        ("const int t[2] = {1, 2}; void f(int x) { t[0] = x; }", "t is constant here"),
        ("const int t[2] = {1, 2}; void f(int x) { t[x]++; }", "t is constant here"),
        ("const int t[2] = {1, 2}; void f(int x) { int *p = t; }", "t points to constants"),
        ("const int t[2] = {1, 2}; int f(int x) { return t[2]; }", "index 2 is out of range for t[2]"),
        ("void f(__constant int *p) { *p = 1; }", "is constant here"),
        ("int f(int x) { return t[x]; } const int t[2] = {1, 2};", "t is not declared"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_constants_is_refused_with_its_place(text: str, message: str) -> None:
    check_refused(text + "\n__kernel void k(float *p, int n) {}", 1, message)
