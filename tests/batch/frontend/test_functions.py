"""Functions beside kernels: arguments, early returns, the order of calls, and what is refused."""

import numpy as np
import pytest

from drawloom.batch import lower, parse_file
from drawloom.batch.frontend.syntax import Kernel
from drawloom.errors import Error, KernelFault
from tests.batch.frontend.programs import run_file
from tests.batch.frontend.refusals import refusal

pytest.importorskip("pycparser")

SQUARE = "static inline int square(int x) { return x * x; }\n"


def test_a_call_gives_what_its_function_returns() -> None:
    text = SQUARE + "__kernel void k(int *out) { int i = get_local_id(); out[i] = square(i + 1) + square(square(i)); }"
    assert run_file(text, np.zeros(4, np.int32)).tolist() == [1, 5, 25, 97]


def test_arguments_are_converted_and_passed_by_value() -> None:
    text = """
    double half(float x) { x /= 2; return x; }
    __kernel void k(double *out, int n) { int i = n; out[get_local_id()] = half(i) + i; }
    """
    assert run_file(text, np.zeros(4), n=3).tolist() == [4.5] * 4


def test_a_prototype_stands_before_the_use_of_a_later_function() -> None:
    use = "__kernel void k(int *out) { out[get_local_id()] = square(3); }\n"
    assert run_file("int square(int);\n" + use + SQUARE, np.zeros(4, np.int32)).tolist() == [9] * 4
    assert "square is not a function of the language" in refusal(use + SQUARE)


def test_items_that_returned_are_masked_for_the_rest_of_the_function() -> None:
    text = """
    int find(const int *row, int n, int x) {
        for (int i = 0; i < n; i++)
            if (row[i] == x)
                return i;
        return -1;
    }
    __kernel void k(int *out, const int *data, int n) { out[get_local_id()] = find(data, n, get_local_id()); }
    """
    data = np.array([3, 1, 0, 1, 7], np.int32)
    assert run_file(text, np.zeros(4, np.int32), data=data, n=5).tolist() == [2, 1, -1, 0]


def test_items_that_returned_read_no_memory() -> None:
    text = """
    int at(const int *row, int i) { if (i >= 2) return -1; return row[i]; }
    __kernel void k(int *out, const int *data) { out[get_local_id()] = at(data, get_local_id()); }
    """
    assert run_file(text, np.zeros(4, np.int32), data=np.array([5, 6], np.int32)).tolist() == [5, 6, -1, -1]


@pytest.mark.parametrize("loop", ["while (x < 9)", "do"])
def test_return_leaves_a_loop_that_ends_at_run_time(loop: str) -> None:
    end = "while (x < 9);" if loop == "do" else ""
    text = f"""
    int climb(int x) {{ int turns = 0; {loop} {{ x += 1; turns += 1; if (x == 6) return -turns; }} {end} return x; }}
    __kernel void k(int *out) {{ out[get_local_id()] = climb(out[get_local_id()]); }}
    """
    assert run_file(text, np.array([3, 6, 8, 5], np.int32)).tolist() == [-3, 9, 9, -1]


def test_return_leaves_a_loop_without_a_condition() -> None:
    text = """
    int root(int x) { for (int i = 0; ; i++) if (i * i >= x) return i; }
    __kernel void k(int *out) { out[get_local_id()] = root(out[get_local_id()]); }
    """
    assert run_file(text, np.array([3, 16, 50, 1], np.int32)).tolist() == [2, 4, 8, 1]


def test_return_leaves_a_loop_whose_counter_misses_its_end() -> None:
    text = """
    int climb(int x) { for (int i = x; i != 8; i += 3) if (i > 20) return i; return -1; }
    __kernel void k(int *out) { out[get_local_id()] = climb(out[get_local_id()]); }
    """
    assert run_file(text, np.array([2, 3, 16, 8], np.int32)).tolist() == [-1, 21, 22, -1]


def test_a_kernel_may_return_early() -> None:
    text = "__kernel void k(int *out) { int i = get_local_id(); if (i > 1) return; out[i] = 7; }"
    assert run_file(text, np.zeros(4, np.int32)).tolist() == [7, 7, 0, 0]


def test_a_kernel_may_return_in_a_loop() -> None:
    text = """
    __kernel void k(int *out, int n) {
        int i = get_local_id();
        for (int turn = 0; turn < n; turn++) {
            if (out[i] > 10)
                return;
            out[i] += i;
        }
        out[i] = -1;
    }
    """
    assert run_file(text, np.array([3, 4, 5, 11], np.int32), n=5).tolist() == [-1, -1, 11, 11]


def test_the_counter_of_an_item_that_returned_counts_on() -> None:
    """Found by random kernel 11176."""
    text = """
    int latest(const int *row) {
        int x = 0;
        for (int i = 0; i < 3; i++) {
            if (get_local_id() < 3)
                return -1;
            x = x * 10 + shuffle(row[i], (int)get_local_id() + 1);
        }
        return x;
    }
    __kernel void k(int *out, const int *data) {
        int row[3];
        for (int i = 0; i < 3; i++) row[i] = data[i] + get_local_id();
        out[get_local_id()] = latest(row);
    }
    """
    data = np.array([5, 6, 7], np.int32)
    assert run_file(text, np.zeros(4, np.int32), data=data).tolist() == [-1, -1, -1, 567]


@pytest.mark.parametrize(
    ("step", "changed"), [("j += data[i]", 0), ("j += own[i]", 0), ("j += next(&s)", 2), ("j += shuffle(1, i)", 0)]
)
def test_the_step_of_a_loop_reads_no_memory_and_calls_nothing_in_masked_items(step: str, changed: int) -> None:
    text = f"""
    int next(int *state) {{ *state += 1; return *state; }}
    __kernel void k(int *out, const int *data) {{
        int i = get_local_id(), s = 0, own[2] = {{1, 1}}, turns = 0;
        if (i < 2) for (int j = 0; j < 3; {step}) turns++;
        out[i] = turns + 10 * s;
    }}
    """
    turns = 2 if changed else 3
    data = np.ones(2, np.int32)
    assert run_file(text, np.zeros(4, np.int32), data=data).tolist() == [turns + 10 * changed] * 2 + [0, 0]


def test_a_call_in_a_masked_item_gives_zero_and_its_arguments_reach_every_item() -> None:
    text = """
    int next(int x) { return shuffle(x, (int)get_local_id() + 1); }
    int one() { return 1; }
    __kernel void k(int *out) {
        int i = get_local_id(), x = 9;
        if (i == 0)
            x = next(i + 10) * 100 + shuffle(one(), 0) * 10 + shuffle(one(), 1);
        out[i] = x;
    }
    """
    assert run_file(text, np.zeros(4, np.int32)).tolist() == [1110, 9, 9, 9]


NEXT = "int next(int *state) { *state = *state * 3 + 1; return *state; }\n"


@pytest.mark.parametrize(
    ("expression", "value", "state"),
    [
        ("s + next(&s)", 1, 1), ("next(&s) + s", 2, 1), ("next(&s) - next(&s)", -3, 4),
        ("s == 0 && next(&s) > 0", 1, 1), ("s == 1 && next(&s) > 0", 0, 0), ("s == 1 || next(&s) > 0", 1, 1),
        ("s ? next(&s) : s - 1", -1, 0), ("s + 1 ? s + next(&s) : next(&s)", 1, 1),
        ("max(next(&s), next(&s)) + s", 8, 4), ("shuffle(next(&s), s)", 1, 1), ("next(&s) * next(&s) + s", 8, 4),
    ],
)  # fmt: skip
def test_operands_are_evaluated_from_left_to_right(expression: str, value: int, state: int) -> None:
    text = NEXT + f"__kernel void k(int *out) {{ int s = 0; int x = {expression}; out[0] = x; out[1] = s; }}"
    assert run_file(text, np.zeros(2, np.int32), wg_size=2).tolist() == [value, state]


def test_an_index_with_a_call_is_evaluated_once() -> None:
    text = NEXT + """
    __kernel void k(int *out) {
        int s = 0, a[5];
        a[next(&s)] += 7;
        a[next(&s)]++;
        for (int i = 0; i < 5; i++) out[i] = a[i];
    }
    """
    assert run_file(text, np.zeros(5, np.int32), wg_size=1).tolist() == [0, 7, 0, 0, 1]


@pytest.mark.parametrize(
    "loop",
    ["while (next(&s) < 40) turns++;", "for (; next(&s) < 40;) turns++;",
     "for (int i = 0; next(&s) < 40; i++) turns++;", "do turns++; while (next(&s) < 40 && turns > 0); turns--;"],
)  # fmt: skip
def test_a_loop_s_condition_may_call(loop: str) -> None:
    text = NEXT + "__kernel void k(int *out) { int s = out[get_local_id()], turns = 0; " + loop
    text += " out[get_local_id()] = turns * 1000 + s; }"
    assert run_file(text, np.array([0, 4, 40, 7], np.int32)).tolist() == [3040, 1040, 121, 1067]


def test_functions_write_through_pointers_to_arrays_and_variables() -> None:
    text = """
    void swap(double *a, double *b) { double t = *a; *a = *b; *b = t; }
    __kernel void k(double *out) {
        double v[2] = {1, 2}, x = 3;
        swap(&v[0], &v[1]);
        swap(v, &x);
        swap(&out[get_local_id()], &x);
        out[4 + get_local_id()] = x + 10 * v[0] + 100 * v[1];
    }
    """
    assert run_file(text, np.arange(8.0)).tolist() == [2, 2, 2, 2, 130, 131, 132, 133]


def test_one_function_for_several_arrays() -> None:
    text = """
    double sum(const double *row, int n) { double s = 0; for (int i = 0; i < n; i++) s += row[i]; return s; }
    __kernel void k(double *out, const double *data) {
        double own[3] = {1, 2, 3};
        __local double shared[2];
        shared[get_local_id() % 2] = 10 * get_local_id();
        out[get_local_id()] = sum(own, 3) + sum(data + 2 * get_local_id(), 2) + sum(shared, 2) + sum(own + 1, 1);
    }
    """
    assert run_file(text, np.zeros(4), data=np.arange(8.0)).tolist() == [59, 63, 67, 71]


def test_a_call_is_the_code_that_stands_in_its_place() -> None:
    """A function whose calls are known costs nothing: InfReg-IR is the same but for its numbers."""
    function = """
    static inline void eliminate(double *row, const double *pivot, int s) {
        double factor = row[s] / pivot[s];
        for (int ix = s + 1; ix < 4; ix += 1) row[ix] -= factor * pivot[ix];
    }
    __kernel void k(double *a) {
        double t[4], p[4];
        for (int ix = 0; ix < 4; ix += 1) t[ix] = a[get_global_id() * 4 + ix];
        for (int s = 0; s < 4; s += 1) {
            for (int ix = s; ix < 4; ix += 1) p[ix] = shuffle(t[ix], s);
            if (get_local_id() > s) BODY
        }
        for (int ix = 0; ix < 4; ix += 1) a[get_global_id() * 4 + ix] = t[ix];
    }
    """
    inline = "{ double factor = t[s] / p[s]; for (int ix = s + 1; ix < 4; ix += 1) t[ix] -= factor * p[ix]; }"

    def operations(text: str) -> list[str]:
        kernel: Kernel = parse_file(text, wg_size=4)["k"]
        return sorted(value.op for value in lower(kernel).body.values)

    assert operations(function.replace("BODY", "eliminate(t, p, s);")) == operations(function.replace("BODY", inline))


def test_an_early_return_does_not_keep_a_counted_loop_from_unrolling() -> None:
    text = """
    int find(const int *a, int x) { for (int i = 0; i < 4; i++) if (a[i] == x) return i; return -1; }
    __kernel void k(int *out, const int *data) {
        int a[4];
        for (int i = 0; i < 4; i++) a[i] = data[i];
        out[get_local_id()] = find(a, get_local_id());
    }
    """
    assert run_file(text, np.zeros(4, np.int32), data=np.array([2, 9, 0, 2], np.int32)).tolist() == [2, -1, 0, -1]
    lowered = lower(parse_file(text, wg_size=4)["k"])
    assert {value.op for value in lowered.body.values}.isdisjoint({"loop", "lookup", "gather"})


def test_hundreds_of_early_returns_are_lowered_or_refused() -> None:
    text = "__kernel void k(int *out) {\n" + "if (out[0] > 5) return;\n" * 3000 + "out[1] = 1; }"
    with pytest.raises(Error, match="k is nested too deeply"):
        lower(parse_file(text, wg_size=4)["k"])
    few = "__kernel void k(int *out) {" + "if (out[get_local_id()] > 5) return; out[get_local_id()] += 1;" * 40 + "}"
    assert run_file(few, np.arange(4, dtype=np.int32)).tolist() == [6, 6, 6, 6]


def test_a_fault_names_the_line_in_the_function() -> None:
    text = "int at(int *a, int i) {\n  return a[i];\n}\n__kernel void k(int *out) { int a[2]; out[0] = at(a, out[0]); }"
    with pytest.raises(KernelFault, match=r"index 5 is out of range for a\[2\]\n  at <text>:2"):
        run_file(text, np.full(4, 5, np.int32))


K = "__kernel void k(int *out) "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int f(int x) { return x ? f(x - 1) : 0; }\n" + K + "{ out[0] = f(1); }",
         "k.cl:1:27: f calls f: recursion is not part of the language"),
        ("int g(int x);\nint f(int x) { return g(x); }\nint g(int x) { return f(x); }\n" + K + "{ out[0] = f(1); }",
         "k.cl:3:23: f calls g calls f: recursion is not part of the language"),
        ("int f(int x) { return f(x); }\n" + K + "{}", "k.cl:1:23: f calls f: recursion"),
        ("int f(int x) { return y; }\n" + K + "{}", "k.cl:1:23: y is not declared"),
        ("int f(int x);\n" + K + "{ out[0] = f(1); }", "k.cl:2:38: f is declared, but not defined"),
        ("int f(int x) { return x; }\nint f(int x) { return x; }\n" + K + "{}", "k.cl:2:5: f is defined twice"),
        ("int f(int x);\nfloat f(int x) { return x; }\n" + K + "{}", "k.cl:2:7: f was declared with other types"),
        (SQUARE + K + "{ out[0] = square(1, 2); }", "k.cl:2:38: square takes 1 arguments, found 2"),
        (SQUARE + K + "{ out[0] = square(out); }", "k.cl:2:45: out is a pointer"),
        ("int f(int *p) { return *p; }\n" + K + "{ out[0] = f(1); }", "k.cl:2:40: this is not a pointer"),
        ("int f(float *p) { return *p; }\n" + K + "{ out[0] = f(out); }", "k.cl:2:40: this points to int"),
        ("void f(int *p) { *p = 1; }\n__kernel void k(const int *p) { f(p); }", "k.cl:2:35: p points to constants"),
        ("void f(const int *p) { *p = 1; }\n" + K + "{ f(out); }", "k.cl:1:25: out is constant here"),
        ("void f(int x) {}\n" + K + "{ out[0] = f(1); }", "k.cl:2:38: f returns no value"),
        ("int f(int x) {}\n" + K + "{}", "k.cl:1:5: f may end without returning a value\n"),
        ("int f(int x) { if (x > 0) return x; }\n" + K + "{}", "k.cl:1:5: f may end without returning a value\n"),
        ("int f(int x) { while (x > 0) return x; }\n" + K + "{}", "k.cl:1:5: f may end without returning a value\n"),
        ("int f(int x) { while (1) { if (x > 0) break; } }\n" + K + "{}", "k.cl:1:5: f may end without returning"),
        ("int f(int x) { do { if (x) continue; return x; } while (0); }\n" + K + "{}", "k.cl:1:5: f may end without"),
        ("int f(int x) { switch (x) { case 1: return 1; } }\n" + K + "{}", "k.cl:1:5: f may end without returning"),
        ("int f(int x) { switch (x) { case 1: break; default: return 1; } }\n" + K + "{}", "k.cl:1:5: f may end"),
        ("int f(int x) { switch (x) { default: return 1; case 1: x++; } }\n" + K + "{}", "k.cl:1:5: f may end without"),
        ("int f(int x) { if (0) return x; else x = 1; }\n" + K + "{}", "k.cl:1:5: f may end without returning"),
        ("int f(int x) { return; }\n" + K + "{}", "k.cl:1:16: this returns no value"),
        ("void f(int x) { return x; }\n" + K + "{}", "k.cl:1:17: this returns a value"),
        ("int f(int x) { __local int y; return y; }\n" + K + "{}", "k.cl:1:28: __local variables are a kernel's"),
        ("int *f(int *x) { return x; }\n" + K + "{}", "k.cl:1:6: f returns a pointer"),
        ("int sqrt(int x) { return x; }\n" + K + "{}", "k.cl:1:5: sqrt is the name of a function"),
        ("int f(int) { return 1; }\n" + K + "{}", "k.cl:1:7: a parameter of f has no name"),
        ("int f(int x, int x) { return 1; }\n" + K + "{}", "k.cl:1:5: x is declared twice"),
        (SQUARE + K + "{ int square = 1; out[0] = square(2); }", "k.cl:2:54: square is not a function"),
        (K + "{}\nint f(int x) { k(x); return 1; }", "k.cl:2:16: k is a kernel"),
        ("".join(f"int f{n + 1}(int x) {{ return f{n}(x) + f{n}(x); }}\n" for n in range(20)).replace(
            "int f1(", "int f0(int x) { return x; }\nint f1(", 1) + K + "{ out[0] = f20(1); }",
         "more than 10,000 calls"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_functions_is_refused_with_its_place(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    "body",
    [
        "if (x > 3) return 1; else return 2;",
        "if (x > 3) { return 1; } else { x = 2; return x; }",
        "do { return 1; } while (x > 0);",
        "while (1) { x -= 1; if (x < 0) return x; }",
        "for (;; x++) if (x > 9) return x;",
        "if (1) return 2;",
        "switch (x) { case 1: return 1; default: return 2; }",
        "switch (x) { default: x = 1; case 1: return x; }",
        "while (1) { switch (x) { case 1: break; default: return 2; } x--; }",
        "while (1) { for (int i = 0; i < 3; i++) { if (x == i) break; continue; } if (x > 0) return x; x++; }",
    ],
)
def test_functions_whose_paths_all_return_are_accepted(body: str) -> None:
    assert parse_file(f"int f(int x) {{ {body} }}\n{K}{{ out[0] = f(1); }}", wg_size=1)
