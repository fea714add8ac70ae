"""`break`, `continue` and `switch`, in loops that are unrolled and in loops at run time."""

import numpy as np
import pytest

from drawloom.batch import BatchTypeError, lower, parse_file
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.native import NativeKernel
from tests.batch.frontend.programs import run_file
from tests.batch.frontend.refusals import check_refused

pytest.importorskip("pycparser")

def run(body: str, size: int = 4, functions: str = "", wg_size: int = 4) -> list[int]:
    """Return what a kernel leaves in `out`, in both oracles and in machine code of every order, which have to agree."""
    text = f"{functions}\n__kernel void k(int *out, const int *in) {{\nint me = get_local_id();\n{body}\n}}"
    numbers = np.array([2, 0, 3, 1, 7, 1, 0, 5], np.int32)
    out = run_file(text, np.zeros(size, np.int32), wg_size, 1, **{"in": numbers})
    lowered = lower(parse_file(text, wg_size=wg_size)["k"])
    for order in ORDERS:
        found = np.zeros(size, np.int32)
        NativeKernel(lowered, order, 1).run([found.ctypes.data, numbers.ctypes.data], 0, 1)
        assert found.tolist() == out.tolist()
    return [int(number) for number in out]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int n = 0; for (int i = 0; i < 9; i++) { if (i == in[me]) break; n += 10; } out[me] = n;", [20, 0, 30, 10]),
        ("int n = 0; for (int i = 0; i < 4; i++) { if (i == in[me]) continue; n += i; } out[me] = n;", [4, 6, 3, 5]),
        ("int n = in[me]; while (1) { if (n > 5) break; n += 2; } out[me] = n;", [6, 6, 7, 7]),
        ("int n = in[me], s = 0; while (n-- > 0) { if (n == 1) continue; s += n + 5; } out[me] = s;", [5, 0, 12, 5]),
        ("int n = in[me], s = 0; do { if (n == 2) continue; s += 10; if (s > 15) break; } while (n-- > 0);"
         "out[me] = 100 * s + n;", [2000, 999, 2001, 2000]),
        ("int i; for (i = 0; i < 4; i++) if (in[i] == me) break; out[me] = i;", [1, 3, 0, 2]),
        ("int i, s = 0; for (i = 0; i < in[me]; i += 1) { if (i == 1) continue; s += 5; } out[me] = 10 * s + i;",
         [52, 0, 103, 51]),
        ("int s = 0; for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) { if (j == in[me]) break;"
         "if (i == j) continue; s += 1 + 10 * i; } out[me] = s;", [54, 0, 66, 32]),
        ("int s = 0; for (;;) { s++; { if (s < in[me]) continue; } s += 10; if (s > 12) { s += 100; break; } }"
         "out[me] = s;", [123, 122, 113, 122]),
        ("int s = 0; for (int i = 0; i < 8; i++) { if (in[i] == 7) break; if (i & 1) { if (in[me] > 1) continue;"
         "s += 100; } else s += 1; s += 10; } out[me] = s;", [22, 242, 22, 242]),
        ("int s = 0; for (int i = 0, j = 9; i < j; i++, j -= 2) { if (j < in[me] * 3) break; s += j; } out[me] = s;",
         [16, 21, 9, 21]),
        ("int s = 0; switch (in[me]) { case 0: s += 1; case 1: s += 10; break; default: s += 100; case 2: s += 1000; }"
         "out[me] = s;", [1000, 11, 1100, 10]),
        ("int s = 0; for (int i = 0; i < 6; i++) { switch ((in[i] + me) & 3) { case 3: continue; case 1: s += 1; break;"
         "case 0: if (i > 2) break; s += 10; } s += 100; if (s > 350) break; } out[me] = s;", [412, 411, 412, 401]),
        ("int s = 5; switch (in[me] - 1) { case 'a': case -1: { int s = 1; out[me] = s; } break; case 2: while (1) {"
         "if (s++ > 7) break; } default: out[me] = s; }", [5, 1, 9, 5]),
        ("out[me] = 1; switch (me) { } switch (me) { default: if (me > 1) break; out[me] = 2; }", [2, 2, 1, 1]),
    ],
)  # fmt: skip
def test_items_leave_loops_and_turns(body: str, expected: list[int]) -> None:
    """The numbers are what gcc's code of the body gives for each item."""
    assert run(body) == expected


def test_items_that_left_a_loop_read_no_memory() -> None:
    body = "int s = 0, i = 6; for (;;) { if (i + me >= 8) break; s += in[i + me]; i++; } out[me] = s + i;"
    assert run(body) == [13, 12, 6, 6]


def test_a_jump_out_of_an_inner_loop_does_not_end_the_outer_one() -> None:
    body = """
    int s = 0;
    for (int i = 0; i < 3; i++) {
        int n = in[me];
        while (n--) { if (n == 1) break; s += 1; }
        do { if (n > 0) continue; s += 10; } while (n-- > 3);
        s += 100;
    }
    out[me] = s;
    """
    assert run(body) == [300, 330, 303, 333]


def test_returns_and_jumps_leave_functions_and_loops() -> None:
    functions = """
    int f(const int *p, int n, int x) {
        int s = 0;
        for (int i = 0; i < n; i++) {
            if (p[i] == x) continue;
            for (int j = 0; j < p[i]; j++) {
                if (j == 2) break;
                if (s > 20) return -s;
                s += 5 + j;
            }
            if (p[i] == 1) break;
        }
        return s;
    }
    """
    body = "out[me] = f(in, 8, me); int s = 0; while (s < 99) { if (f(in, 4, s) < 0) break; s++; } out[4 + me] = s;"
    assert run(body, 8, functions) == [-22, -22, 16, 16, 0, 0, 0, 0]


def test_a_shuffle_reads_the_counter_of_items_that_left() -> None:
    body = """
    int s = 0;
    for (int i = 0; i < 6; i++) { if (i == in[me]) break; s += shuffle(i, 1); }
    for (int i = 0, n = in[me]; i < n + 2; i++) { if (i == 3) break; s += 100 * shuffle(i, 1); }
    out[me] = s;
    """
    assert run(body) == [301, 100, 303, 300]


def test_a_break_does_not_keep_a_counted_loop_from_unrolling() -> None:
    text = """
    __kernel void k(int *out, const int *in) {
        int t[4], found = -1;
        for (int i = 0; i < 4; i++) t[i] = in[i];
        for (int i = 0; i < 4; i++) { if (t[i] < 0) continue; if (t[i] == get_local_id()) { found = i; break; } }
        out[get_local_id()] = found;
    }
    """
    lowered = lower(parse_file(text, wg_size=4)["k"])
    assert {value.op for value in lowered.body.values}.isdisjoint({"loop", "lookup", "gather"})
    numbers = np.array([3, 1, -1, 0], np.int32)
    assert run_file(text, np.zeros(4, np.int32), 4, 1, **{"in": numbers}).tolist() == [3, 1, -1, 0]


def test_what_is_known_at_compile_time_needs_no_masks() -> None:
    jumping = "for (int i = 0; i < 9; i++) { if (i == 1) continue; if (i > 3) break; out[9 * get_local_id() + i] = i; }"
    plain = "for (int i = 0; i < 4; i++) if (i != 1) out[9 * get_local_id() + i] = i;"

    def operations(body: str) -> set[str]:
        kernel = parse_file(f"__kernel void k(int *out) {{ {body} }}", wg_size=4)["k"]
        return {value.op for value in lower(kernel).body.values}

    assert operations(jumping) == operations(plain)


def test_a_loop_that_no_item_leaves_is_refused() -> None:
    kernel = parse_file("__kernel void k(int *p) { while (1) { if (p[0]) continue; p[1] = 2; } }", wg_size=4)["k"]
    with pytest.raises(BatchTypeError, match="this loop never ends"):
        lower(kernel)


def test_functions_of_a_loop_of_the_caller_jump_on_their_own() -> None:
    functions = "int f(int x) { while (1) { if (x > 3) break; x++; } return x; }"
    body = "int s = 0; for (int i = 0; i < 9; i++) { if (f(i) + in[me] > 6) break; s += f(i); } out[me] = s;"
    assert run(body, functions=functions) == [20, 31, 0, 25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("break;", "break stands outside of a loop or switch"),
        ("switch (n) { case 1: continue; }", "continue stands outside of a loop"),
        ("switch (n) case 1: ;", "this stands before a switch's labels"),
        ("switch (n) { case n: ; }", "this case is not known at compile time"),
        ("switch (n) { case 1.5: ; }", "a case has the type double"),
        ("switch (1.5) { case 1: ; }", "what a switch takes has the type double"),
        ("switch (n) { case 1: case 1: ; }", "this switch has two labels of 1"),
        ("switch (n) { default: default: ; }", "this switch has two default labels"),
        ("switch (n) { case 1: if (n) { case 2: ; } }", "a case label that is not in a switch's own block is not part"),
        ("switch (n) { case 1: ; int x = 3; break; case 2: x = 1; }", "x is not declared"),
        ("case 1: ;", "a case label that is not in a switch's own block is not part"),
        ("int a[2], b[2], *q = a; switch (n) { case 1: q = b; break; }", "q points into"),
        ("if (n) continue;", "continue stands outside of a loop"),
        ("while (n) ; break;", "break stands outside of a loop"),
        ("int a[2], b[2], *q = a; for (;;) { if (n) { q = b; break; } }", "q points into"),
        ("int a[2], b[2], *q = a; while (n) { q = b; if (n > 1) break; q = a; } *q = 1;", "q points into"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_jumps_is_refused_with_its_place(text: str, message: str) -> None:
    check_refused(f"__kernel void k(float *p, int n) {{\n{text}\n}}", 2, message)
