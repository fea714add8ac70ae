"""Assignments and increments within expressions: their values, their order, and what is refused."""

import numpy as np
import pytest

from drawloom.batch import interpret, interpret_ir, lower, parse_file
from drawloom.batch.backends.native import NativeKernel
from tests.batch.frontend.programs import run_file
from tests.batch.frontend.refusals import check_refused

pytest.importorskip("pycparser")


STRUCT = "struct s { int a; int b; }; "


def run(body: str, size: int = 8, wg_size: int = 1, functions: str = "") -> list[int]:
    """Return what a kernel leaves in `out` of int, in both oracles and in machine code, which have to agree."""
    text = f"{functions}\n__kernel void k(int *out, const int *in) {{\n{body}\n}}"
    numbers = np.arange(10, 10 + size, dtype=np.int32)
    out = run_file(text, np.zeros(size, np.int32), wg_size, 1, **{"in": numbers})
    native, compiled = NativeKernel(lower(parse_file(text, wg_size=wg_size)["k"]), "rows", 1), np.zeros(size, np.int32)
    native.run([compiled.ctypes.data, numbers.ctypes.data], 0, 1)
    assert compiled.tolist() == out.tolist()
    return [int(number) for number in out]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int i = 3; out[0] = i++; out[1] = i; out[2] = ++i; out[3] = i--; out[4] = --i;", [3, 4, 5, 5, 3]),
        ("int x, y; x = y = 3; out[0] = x; out[1] = y; out[2] = (x += 2) * 10; out[3] = x;", [3, 3, 50, 5]),
        ("int i = 0; out[i++] = 7; out[i++] = 8; out[i] = i;", [7, 8, 2]),
        ("int a[3] = {1, 2, 3}, i = 0; out[0] = a[i++]; out[1] = a[i++] + a[i++]; out[2] = i;", [1, 5, 3]),
        ("const int *p = in; out[0] = *p++; out[1] = *++p; out[2] = *--p; out[3] = *p--; out[4] = p - in;",
         [10, 12, 11, 11, 0]),
        ("int *p = out; *p++ = 4; *p++ = 5; *++p = 6; p[1] = p - out;", [4, 5, 0, 6, 3]),
        ("int x = 1, *p = &x; *p++ = 5; p--; out[0] = x; out[1] = *p++; out[2] = --p == &x;", [5, 5, 1]),
        ("const int *p = in, *q; q = p += 2; out[0] = *q; out[1] = *(p = in + 5); out[2] = p - q;", [12, 15, 3]),
        ("uchar c; int x = c = 300; out[0] = x; out[1] = ++c;", [44, 45]),
        ("float f; int x = f = 7 / 2.0; out[0] = x; out[1] = (f = 2.5f) * 2;", [3, 5]),
        ("int a[2] = {5, 6}, i = 0; a[i++] += 10; out[0] = a[0]; out[1] = a[1]; out[2] = i; out[3] = a[--i]++;",
         [15, 6, 1, 15]),
    ],
)  # fmt: skip
def test_assignments_have_values(body: str, expected: list[int]) -> None:
    assert run(body)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int i = 1; out[0] = i++ + i; out[1] = i + i++; out[2] = i * 10 + (i = 7) + i;", [3, 4, 44]),
        ("int i = 1; i = i++; out[0] = i; i = i++ + 1; out[1] = i; i += i++; out[2] = i;", [1, 2, 4]),
        ("int a[3] = {1, 2, 3}, i = 0; a[i] = i++; out[0] = a[0]; out[1] = a[1]; a[i] += i++ * 10;"
         "out[2] = a[1]; out[3] = a[2];", [1, 0, 10, 3]),
        ("int a[3] = {1, 2, 3}, i = 0; a[i++] = i; out[0] = a[0]; out[1] = i;", [0, 1]),
        ("int i = 1; out[0] = f(i++, i++); out[1] = max(i++, i) * 10 + i;", [12, 44]),
        ("int a[2] = {1, 2}, *p = a; *p++ = *p + 10; out[0] = a[0]; out[1] = a[1]; *p = *--p; out[2] = a[0];"
         "out[3] = a[1];", [11, 2, 11, 2]),
        ("int i = 5, j = 0; out[0] = i > 9 && j++; out[1] = j; out[2] = i < 9 || j++; out[3] = j;"
         "out[4] = i < 9 ? j++ : --j; out[5] = j;", [0, 0, 1, 0, 0, 1]),
        ("int a[3] = {0, 0, 0}, i = 0; a[i] += g(&i); out[0] = a[0]; out[1] = a[1]; out[2] = i;", [2, 0, 1]),
        ("int a[2] = {1, 2}, b[2] = {3, 4}, *p = a; *p = *(p = b) + 1; out[0] = a[0]; out[1] = b[0];", [1, 4]),
    ],
)  # fmt: skip
def test_effects_happen_from_left_to_right(body: str, expected: list[int]) -> None:
    functions = "int f(int x, int y) { return 10 * x + y; } int g(int *p) { *p += 1; return 2; }"
    assert run(body, functions=functions)[: len(expected)] == expected


def test_conditions_of_loops_have_effects() -> None:
    body = """
    int j = 3, n = 0, i = 0;
    while (j--) n += j * 10 + 1;
    out[0] = n; out[1] = j;
    n = in[0] - 6;
    while (n-- > 0) i += n;
    out[2] = i; out[3] = n;
    for (i = 0, n = 5; i++ < n--;) ;
    out[4] = i; out[5] = n;
    do ++j; while (j++ < 4);
    out[6] = j;
    """
    assert run(body) == [33, -1, 6, -1, 4, 1, 5, 0]


def test_items_assign_where_they_evaluate() -> None:
    body = """
    int i = get_local_id(), n = 0, x = 5;
    if (i > 0) out[i] = n++ + 1;
    out[4 + i] = (i > 1 && (x = 9) > i ? n++ : 7) + 10 * n + x * 100;
    """
    assert run(body, wg_size=4) == [0, 1, 1, 1, 507, 517, 921, 921]


def test_a_shuffle_has_what_masked_items_would_assign() -> None:
    body = "int i = get_local_id(), x = 1; if (i > 1) out[i] = shuffle(x = i * 10, 0); out[4 + i] = x;"
    assert run(body, wg_size=4) == [0, 0, 0, 0, 1, 1, 20, 30]


def test_structs_are_read_and_written_through_moving_pointers() -> None:
    functions = "typedef struct { int a, b; } pair;"
    body = """
    pair z[3] = {{1, 2}, {3, 4}, {5, 6}}, *p = z, one, *q = &one, y;
    y = *p++; out[0] = 10 * y.a + y.b; out[1] = p->b; out[2] = p++->a;
    *--p = *p; *q++ = z[2]; out[3] = one.b; *--q = (pair){7, y.a++}; out[4] = 10 * one.a + one.b; out[5] = y.a;
    int i = 0; z[i++] = z[i]; out[6] = z[0].a; out[7] = i;
    """
    assert run(body, functions=functions) == [12, 4, 3, 6, 71, 2, 3, 1]


def test_a_copy_by_pointers_moves_them() -> None:
    body = """
    int t[4], *d = t;
    const int *s = in;
    for (int i = 0; i < 4; i++) *d++ = *s++;
    for (int i = 4; i--;) *out++ = *--d;
    """
    assert run(body) == [13, 12, 11, 10, 0, 0, 0, 0]


def test_a_product_is_rounded_once_though_an_effect_follows() -> None:
    """The product was kept in a variable before a call that writes, and rounded."""
    text = """
    double f(double *p) { *p -= 1; return *p; }
    __kernel void k(double *out, const double *in) {
        int i = get_local_id();
        double x = 0.5 - in[i] * in[i], y = 0;
        out[i] = in[i] * in[i] + f(&x) + (in[i] * in[i] + (y = -in[i] * 0.1));
    }
    """
    kernel = parse_file(text, wg_size=4)["k"]
    numbers = np.array([1 / 3, 0.1, 0.7, 1 / 9])
    expected, found = np.zeros(4), np.zeros(4)
    interpret(kernel, 1, {"out": expected, "in": numbers}, contract=True)
    interpret_ir(lower(kernel), 1, {"out": found, "in": numbers})
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int x = 1++;", "k.cl:2:9: this cannot be assigned to"),
        ("int x; x++ = 1;", "this cannot be assigned to"),
        ("const int x = 1; int y = x++;", "x is constant here"),
        ("float a[i = 2];", "i is not declared"),
        ("int i; float a[i = 2];", "the size of a is not known at compile time"),
        ("int a[2]; int x = a++;", "a is an array"),
        ("struct s x, y, z; x = y = z;", "k.cl:2:23: an assignment of a struct s within an expression is not part of"),
        ("struct s x; int i = 0; x = shuffle(x, i++);", "this struct depends on an assignment within it"),
        ("int a[2], b[2], *p = a; n && *(p = b);", "p points into"),
        ("int a[2], b[2], *p = a; n ? *(p = b) : 1;", "p points into"),
        ("int x = (n, 2);", "the comma operator is not part of the language"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_assignments_is_refused_with_its_place(text: str, message: str) -> None:
    check_refused(STRUCT + f"__kernel void k(float *p, int n) {{\n{text}\n}}", 2, message)


def test_a_loop_with_two_counters_is_unrolled_in_index_sets() -> None:
    body = """
    int a[4], b[4];
    for (int i = 0, j = 3; i < 4; i++, j--) { a[i] = in[j]; b[j] = i * 10 + j; }
    for (int i = 0; i < 4; i++) { out[i] = a[i]; out[4 + i] = b[i]; }
    """
    assert run(body) == [13, 12, 11, 10, 30, 21, 12, 3]
    lowered = lower(parse_file(f"__kernel void k(int *out, const int *in) {{\n{body}\n}}", wg_size=1)["k"])
    assert [value.op for value in lowered.body.values] == ["load", "store", "store"]


def test_shuffles_read_both_counters_of_a_loop_in_masked_items() -> None:
    body = """
    int n = in[get_local_id()] - 10, sum = 0;
    for (int i = 0, j = 9; i < n; i++, --j) sum += shuffle(10 * i + j, 0);
    out[get_local_id()] = sum;
    """
    assert run(body, wg_size=4) == [0, 9, 27, 54, 0, 0, 0, 0]


def test_a_number_that_is_given_to_a_kernel_can_be_assigned_to() -> None:
    text = """
    static void half(int *x) { *x /= 2; }
    __kernel void k(int *p, int n, int m) {
        int s = 0;
        while (n--) s += n * m;
        half(&m);
        p[get_global_id()] = s + n + m;
    }
    """
    kernel = parse_file(text, wg_size=4)["k"]
    p, q = np.zeros(4, np.int32), np.zeros(4, np.int32)
    interpret(kernel, 1, {"p": p, "n": 5, "m": 4})
    interpret_ir(lower(kernel), 1, {"p": q, "n": 5, "m": 4})
    assert p.tolist() == q.tolist() == [41] * 4
