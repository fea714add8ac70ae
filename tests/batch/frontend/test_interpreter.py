"""The first oracle: the paper's examples by hand, and what a kernel means beyond C."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from drawloom.batch import interpret, interpret_ir, lower, parse_file
from drawloom.errors import KernelFault, LaunchError

pytest.importorskip("pycparser")


def run(body: str, out: NDArray[Any], wg_size: int = 4, groups: int = 1, **arguments: Any) -> NDArray[Any]:
    """Run a kernel whose first parameter is `out` in both oracles, which have to agree; returns `out`."""
    types = {np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.int32): "int",
             np.dtype(np.uint8): "uchar", np.dtype(np.int64): "long", np.dtype(np.uint32): "uint"}  # fmt: skip
    parameters = [f"{types[out.dtype]} *out"]
    for name, value in arguments.items():
        pointed = f"{types[value.dtype]} *{name}" if isinstance(value, np.ndarray) else f"int {name}"
        parameters.append(pointed)
    kernel = parse_file(f"__kernel void k({', '.join(parameters)}) {{\n{body}\n}}", wg_size=wg_size)["k"]
    again = out.copy()
    copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    interpret(kernel, groups, {"out": out, **arguments})
    interpret_ir(lower(kernel, contract=False), groups, {"out": again, **copies})
    assert np.array_equal(out, again, equal_nan=out.dtype.kind == "f")
    return out


def test_example_1_takes_a_solved_unknown_from_every_row() -> None:
    """The fragment of TRSV: item 1's number reaches all items, and the rows below it are updated."""
    body = """
    double t_vec_b = out[get_group_id() * 4 + get_local_id()];
    double solved = shuffle(t_vec_b, 1);
    if (get_local_id() > 1)
        t_vec_b -= 2 * solved;
    out[get_group_id() * 4 + get_local_id()] = t_vec_b;
    """
    result = run(body, np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), groups=2)
    assert result.tolist() == [1, 2, -1, 0, 5, 6, -5, -4]


@pytest.mark.parametrize("s", [0, 1, 2, 3])
def test_example_2_runs_its_turns_in_order(s: int) -> None:
    """Turn 3 reads b[0], which turns 0 and 1 write: the paper's split into {0}, {1, 2}, {3} keeps that order, while its
    reordered split into {0, 2}, {1, 3} is right only because a turn that reads an element comes after both writes."""
    body = f"""
    float a[4], b[4], c[4];
    int s = {s};
    for (int ix = 0; ix < 4; ++ix) {{
        a[ix] = out[get_local_id() * 12 + ix];
        b[ix] = out[get_local_id() * 12 + 4 + ix];
        c[ix] = out[get_local_id() * 12 + 8 + ix];
    }}
    for (int ix = 0; ix < 4; ++ix) {{
        a[ix] = a[ix] + 2 * (b[4 - ix - 1] + shuffle(c[ix], s));
        if (get_local_id() > s)
            b[ix / 2] += c[ix / 2];
    }}
    for (int ix = 0; ix < 4; ++ix) {{
        out[get_local_id() * 12 + ix] = a[ix];
        out[get_local_id() * 12 + 4 + ix] = b[ix];
    }}
    """
    numbers = np.random.default_rng(s).integers(-50, 50, 48).astype(np.float32)
    a, b, c = (numbers.reshape(4, 12)[:, part : part + 4].copy() for part in (0, 4, 8))
    for ix in range(4):
        a[:, ix] += 2 * (b[:, 3 - ix] + c[s, ix])
        b[s + 1 :, ix // 2] += c[s + 1 :, ix // 2]
    result = run(body, numbers.copy()).reshape(4, 12)
    assert np.array_equal(result[:, :4], a)
    assert np.array_equal(result[:, 4:8], b)


def test_example_3_has_a_bracket_in_the_wrong_place() -> None:
    """As printed, the index is group * (n * n + local * n + ix): only group 0 ... n - 1 of a batch would be apart, and
    group 0 reads element 0 everywhere. The ready kernel has group * n * n + local * n + ix."""
    printed = "get_group_id() * (get_local_size() * get_local_size() + get_local_id() * get_local_size() + 1)"
    meant = "get_group_id() * get_local_size() * get_local_size() + get_local_id() * get_local_size() + 1"
    for index, expected in ((printed, [0, 0, 5, 7]), (meant, [1, 3, 5, 7])):
        memory = np.arange(8.0)
        assert run(f"out[get_global_id()] = in[{index}];", np.zeros(4), 2, 2, **{"in": memory}).tolist() == expected


def test_masked_items_keep_what_they_have() -> None:
    body = "int x = 1; if (get_local_id() % 2) x = 5; else x += 1; out[get_local_id()] = x;"
    assert run(body, np.zeros(4, np.int32)).tolist() == [2, 5, 2, 5]


def test_a_shuffle_reads_masked_items_too() -> None:
    body = "int x = get_local_id(); if (get_local_id() == 0) x = shuffle(x * 10, 3); out[get_local_id()] = x;"
    assert run(body, np.zeros(4, np.int32)).tolist() == [30, 1, 2, 3]


def test_a_lane_is_taken_modulo_the_size_of_the_group() -> None:
    body = "int x = get_local_id(); out[get_local_id()] = shuffle(x, (int)get_local_id() - 1);"
    assert run(body, np.zeros(3, np.int32), wg_size=3).tolist() == [2, 0, 1]


def test_a_lane_may_be_known_at_run_time_only() -> None:
    body = "int x = get_local_id() * 10; out[get_local_id()] = shuffle(x, lanes[get_local_id()]);"
    lanes = np.array([3, -1, 5, 0], np.int32)
    assert run(body, np.zeros(4, np.int32), lanes=lanes).tolist() == [30, 30, 10, 0]


def test_a_loop_runs_until_every_item_has_left() -> None:
    body = """
    int n = lengths[get_local_id()], sum = 0;
    for (int i = 0; i < n; ++i) sum += i;
    out[get_local_id()] = sum;
    """
    lengths = np.array([0, 1, 5, 3], np.int32)
    assert run(body, np.zeros(4, np.int32), lengths=lengths).tolist() == [0, 0, 10, 3]


def test_do_loops_run_once_before_they_test() -> None:
    body = "int n = 0; do n += 1; while (n < limit); out[get_local_id()] = n;"
    assert run(body, np.zeros(4, np.int32), limit=0).tolist() == [1, 1, 1, 1]
    assert run(body, np.zeros(4, np.int32), limit=3).tolist() == [3, 3, 3, 3]


def test_an_arm_that_is_not_taken_touches_no_memory() -> None:
    body = "int i = get_local_id(); out[i] = i < 2 ? data[i] : i == 3 && data[i + 100] ? 1 : 7;"
    data = np.array([5, 6], np.int32)
    with pytest.raises(KernelFault, match="index 103 is out of range for data, an array of 2 elements"):
        run(body, np.zeros(4, np.int32), data=data)
    body = "int i = get_local_id(); out[i] = i < 2 ? data[i] : i == 9 && data[i + 100] ? 1 : 7;"
    assert run(body, np.zeros(4, np.int32), data=data).tolist() == [5, 6, 7, 7]


def test_a_load_in_a_masked_item_gives_zero() -> None:
    body = "int i = get_local_id(); if (i == 0) out[0] = shuffle(data[i], 1);"
    assert run(body, np.ones(1, np.int32), data=np.array([7], np.int32)).tolist() == [0]


def test_of_several_items_the_highest_writes_to_a_local_variable() -> None:
    body = """
    __local int shared[2];
    shared[get_local_id() % 2] = get_local_id() * 10;
    if (get_local_id() == 1) shared[0] = 77;
    out[get_local_id()] = shared[get_local_id() / 2];
    """
    assert run(body, np.zeros(4, np.int32)).tolist() == [77, 77, 30, 30]


def test_elements_that_are_known_at_run_time_only() -> None:
    body = """
    int a[4];
    for (int ix = 0; ix < 4; ++ix) a[ix] = ix;
    a[where[get_local_id()]] += 10;
    out[get_local_id()] = a[where[get_local_id()]] + a[3 - where[get_local_id()]];
    """
    where = np.array([0, 3, 1, 2], np.int32)
    assert run(body, np.zeros(4, np.int32), where=where).tolist() == [13, 13, 13, 13]


def test_integers_wrap_shifts_are_modulo_and_divisions_by_zero_are_defined() -> None:
    body = """
    int big = 0x7fffffff, zero = get_group_id();
    out[0] = big + 1; out[1] = 1 << 33; out[2] = 7 / zero; out[3] = 7 % zero;
    out[4] = (-big - 1) / (zero - 1); out[5] = -7 / 2; out[6] = -7 % 2; out[7] = (uchar)300; out[8] = -1 >> 1;
    out[9] = (int)1e20f; out[10] = (int)-1e20; out[11] = (int)NAN; out[12] = 5u > -1; out[13] = 0xffffffffu / 2 > 1;
    """
    result = run(body, np.zeros(14, np.int32), wg_size=1)
    assert result.tolist() == [-(2**31), 2, 7, 0, -(2**31), -3, -1, 44, -1, 2**31 - 1, -(2**31), 0, 0, 1]


def test_an_index_out_of_range_is_a_fault_with_its_line() -> None:
    with pytest.raises(KernelFault) as fault:
        run("int a[2];\nout[0] = a[n];", np.zeros(4, np.int32), n=2)
    assert "index 2 is out of range for a[2]\n  at <text>:3\n  out[0] = a[n];" in str(fault.value)


def test_arguments_are_checked() -> None:
    kernel = parse_file("__kernel void k(float *p) {}", wg_size=1)["k"]
    with pytest.raises(LaunchError, match="the argument p is missing"):
        interpret(kernel, 1, {})
    with pytest.raises(LaunchError, match="1-dimensional array of float64\n  expected a flat array of float32"):
        interpret(kernel, 1, {"p": np.zeros(1)})
