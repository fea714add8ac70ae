"""Pointer variables: an index into an array that is known at compile time, or a refusal."""

import numpy as np
import pytest

from drawloom.errors import KernelFault
from tests.batch.frontend.programs import run_file
from tests.batch.frontend.refusals import check_refused

pytest.importorskip("pycparser")


def run(body: str, size: int = 8, wg_size: int = 4, groups: int = 1) -> list[int]:
    """Run a kernel on 0, 1, 2, ..."""
    text = f"__kernel void k(int *out, const int *data) {{ {body} }}"
    data = np.arange(99, dtype=np.int32)
    return list(run_file(text, np.arange(size, dtype=np.int32), wg_size, groups, data=data).tolist())


def test_a_pointer_points_to_a_row_and_moves() -> None:
    body = """
    const int *row = data + get_group_id() * 8 + get_local_id() * 2;
    int *to = &out[get_group_id() * 4 + get_local_id()];
    *to = row[0] + *(row + 1);
    """
    assert run(body, 8, groups=2) == [1, 5, 9, 13, 17, 21, 25, 29]
    body = "const int *p = data + get_local_id(); p += 3; ++p; p--; p -= 1; out[get_local_id()] = p[0] * 10 + p[-1];"
    assert run(body, 4) == [21, 32, 43, 54]


def test_a_pointer_moves_in_loops() -> None:
    body = """
    const int *p = data + 10 * get_local_id(), *end = p + 4;
    int sum = 0;
    for (; p < end; p++) sum += *p;
    for (const int *q = data; q != data + get_local_id(); q += 1) sum += 1000;
    out[get_local_id()] = sum;
    """
    assert run(body, 4) == [6, 1046, 2086, 3126]


def test_a_pointer_moves_in_some_items_only() -> None:
    assert run("const int *p = data; if (get_local_id() & 1) p += 5; out[get_local_id()] = *p;", 4) == [0, 5, 0, 5]


def test_a_kernel_moves_its_parameter() -> None:
    assert run("out += get_local_id(); *out += 10; data = data + 7; *out += data[0];", 4) == [17, 18, 19, 20]


def test_pointers_into_private_and_local_arrays() -> None:
    body = """
    int a[6]; __local int shared[4]; int x = 1;
    int *p = a + 1, *q = &a[4], *s = shared + get_local_id(), *r = &x;
    *p = 5; p[1] = 6; q--; q[1] = 7; q -= 1; *q = 8; *s = 10 * get_local_id(); *r += 2;
    out[get_local_id()] = a[1] + a[2] + a[2] * 10 + a[4] + shared[3 - get_local_id()] + x;
    """
    assert run(body, 4) == [5 + 8 + 80 + 7 + 30 + 3, 123, 113, 103]


def test_a_pointer_into_a_private_array_that_differs_between_items() -> None:
    body = "int a[4] = {5, 6, 7, 8}; int *p = a + get_local_id(); *p += 10; out[get_local_id()] = p[0] * 100 + a[1];"
    assert run(body, 4) == [1506, 1616, 1706, 1806]


def test_pointers_are_compared_and_subtracted() -> None:
    body = """
    const int *p = data + 2 * get_local_id(), *q = data + 4;
    out[get_local_id()] = (q - p) * 1000 + (p < q) * 100 + (p == q) * 10 + (q <= p);
    """
    assert run(body, 4) == [4100, 2100, 11, -1999]


def test_a_pointer_may_point_into_another_array_later() -> None:
    body = "int a[2] = {1, 2}, b[2] = {3, 4}; int *p = a; *p = 9; p = b + 1; *p = 8; out[0] = a[0] + 10 * b[1];"
    assert run(body, 1) == [89]


def test_a_condition_may_choose_in_one_array() -> None:
    assert run("const int *p = get_local_id() > 1 ? data + 7 : &data[3]; out[get_local_id()] = *p;", 4) == [3, 3, 7, 7]


def test_a_pointer_is_assigned_in_both_branches() -> None:
    body = "const int *p; if (get_local_id() > 2) p = data + 1; else p = data + 2; out[get_local_id()] = *p;"
    assert run(body, 4) == [2, 2, 2, 1]


def test_functions_move_their_pointers() -> None:
    text = """
    int sum(const int *p, const int *end) { int s = 0; while (p != end) { s += *p; p++; } return s; }
    """
    text += "__kernel void k(int *out, const int *data) { int a[3] = {1, 2, 3}; "
    text += "out[get_local_id()] = sum(data, data + get_local_id()) + 100 * sum(a, a + 3) + 1000 * sum(a + 1, &a[2]); }"
    result = run_file(text, np.zeros(4, np.int32), data=np.arange(9, dtype=np.int32))
    assert result.tolist() == [2600, 2600, 2601, 2603]


def test_arrays_of_arrays() -> None:
    text = """
    int sum(const int *row, int n) { int s = 0; for (int i = 0; i < n; i++) s += row[i]; return s; }
    __kernel void k(int *out) {
        int a[2][3] = {{1, 2}, [1] = {[2] = 6, }}, i = get_local_id();
        __local int shared[2][2];
        shared[i / 2][i % 2] = i;
        for (int row = 0; row < 2; row++)
            for (int column = 0; column < 3; column++) a[row][column] += 10 * i;
        a[i & 1][i >> 1] += 1000;
        int *p = a[1];
        p[-1] += 500;
        out[i] = sum(a[0], 3) + sum(&a[1][1], 2) + shared[1][i & 1];
    }
    """
    # Of the added thousand only items 0 and 2, whose row is the first, and item 3 see anything.
    expected = [9 + 50 * i + 500 + (0 if i == 1 else 1000) + 2 + i % 2 for i in range(4)]
    assert run_file(text, np.zeros(4, np.int32)).tolist() == expected


def test_an_index_through_a_pointer_is_checked() -> None:
    with pytest.raises(KernelFault, match=r"index 4 is out of range for a\[4\]"):
        run("int a[4]; int *p = a + 1 + data[3 * get_local_id()]; out[get_local_id()] = *p;", 4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("const int *p = n ? data : out;", "2:20: this points into data or out, which is not known at compile time"),
        ("int a[2], b[2], *p = a; if (n) p = b; *p = 1;", "2:29: p points into a or b after this"),
        ("int a[2], b[2], *p = a; while (n > out[0]) p = b;", "p points into b or a after this"),
        ("int *p; *p = 1;", "2:14: p points nowhere yet"),
        ("int *p; p++;", "2:13: p points nowhere yet"),
        ("int **p;", "2:10: p is not a pointer to a value or a struct"),
        ("int *p[2];", "2:10: p is an array of pointers"),
        ("int *p = out; int x = &p;", "the address of the pointer p is not part of the language"),
        ("int *p = data;", "data points to constants"),
        ("float *p = out;", "2:16: this points to int"),
        ("int *p = out; p = 1;", "p is a pointer, and this is a value"),
        ("int *p = out; n = p;", "p is a pointer"),
        ("int x = out;", "out is a pointer"),
        ("if (out) n;", "out is a pointer"),
        ("int *p = out; p *= 2;", "* of a pointer\n"),
        ("int *p = out + 1.5f;", "what a pointer moves by has the type float"),
        ("int x = out < data;", "out and data are different arrays"),
        ("int x = out - data;", "out and data are different arrays"),
        ("int x = out + out;", "+ of two pointers"),
        ("int x; int *p = &x; p[1] = 2;", "index 1 is out of range for x, a single variable"),
        ("int a[3]; int *p = a + 1; p[2] = 2;", "index 3 is out of range for a[3]"),
        ("*out = 1; *n = 1;", "this is not a pointer"),
        ("int *p = &5;", "this cannot be assigned to"),
        ("const int x = 1; x = 2;", "x is constant here"),
        ("int *p = (int *)data;", "only values are cast"),
    ],
)
def test_what_is_not_known_or_not_allowed_is_refused_with_its_place(body: str, message: str) -> None:
    check_refused(f"__kernel void k(int *out, const int *data, int n) {{\n    {body}\n}}", 2, message)
