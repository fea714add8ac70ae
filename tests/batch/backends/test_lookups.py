"""Lanes that are known at run time only: what a lookup becomes in each order, and what it need not compute."""

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.llvm import emit_llvm
from drawloom.batch.backends.native import NativeCode, NativeKernel
from drawloom.batch.ir.ir import Kernel
from drawloom.batch.ir.printer import show_kernel
from drawloom.batch.ir.ranges import Ranges
from drawloom.cpu.vector.machine import host

pytest.importorskip("pycparser")

#: The row of the item whose number is largest: each item reads an element of an item that is known at run time.
PIVOT = """
__kernel void pivot(double *a) {
    double row[3], top[3];
    for (int ix = 0; ix < 3; ix += 1) row[ix] = a[get_global_id() * 3 + ix];
    int item = get_local_id();
    double size = row[0];
    for (int d = 2; d > 0; d /= 2) {
        double other = shuffle(size, get_local_id() + d);
        int number = shuffle(item, get_local_id() + d);
        if (other > size) { size = other; item = number; }
    }
    int best = shuffle(item, 0);
    for (int ix = 0; ix < 3; ix += 1) top[ix] = shuffle(row[ix], best);
    for (int ix = 0; ix < 3; ix += 1) a[get_global_id() * 3 + ix] = top[ix];
}
"""


def lower(text: str, wg_size: int = 3) -> Kernel:
    (kernel,) = batch.parse_file(text, wg_size=wg_size).values()
    return batch.lower(kernel)


def test_a_shuffle_by_numbers_of_items_needs_no_modulo() -> None:
    assert "srem" not in show_kernel(lower(PIVOT))
    unknown = PIVOT.replace("best = shuffle(item, 0)", "best = (int)size")
    assert "srem" in show_kernel(lower(unknown))


def test_interleaved_groups_select_among_items() -> None:
    program = cut_into_chunks(lower(PIVOT), Layout("interleaved", 8, 8))
    ops = [chunk.op for chunk in program.block]
    assert "read" not in ops
    assert "table" not in ops
    # Two candidates beyond the first for each of three columns, and two levels of the tournament's two selects.
    assert ops.count("select") >= 6


def test_one_element_for_all_lanes_is_no_gather() -> None:
    kernel = lower(PIVOT.replace("3", "4"), wg_size=4)
    program = cut_into_chunks(kernel, Layout("columns", 1, 4))
    reads = [chunk for chunk in program.block if chunk.op == "read"]
    assert reads
    assert all(chunk.detail.lane is not None for chunk in reads)
    assert "gather" not in emit_llvm(kernel, program, 1)


def test_one_element_for_all_lanes_is_no_gather_where_its_index_leaves_its_register() -> None:
    text = NativeCode(lower(PIVOT.replace("3", "4"), wg_size=4), "columns", 1, 4, registers=1).text
    assert "store volatile <4 x i64>" in text
    assert "gather" not in text


def test_columns_of_one_item_share_their_index() -> None:
    program = cut_into_chunks(lower(PIVOT.replace("3", "4"), wg_size=4), Layout("columns", 1, 4))
    reads = [chunk for chunk in program.block if chunk.op == "read"]
    # Of the register's four vectors each reads the one that has its column.
    assert [chunk.detail.offset for chunk in reads] == [0, 0, 0, 0]
    assert [len(chunk.operands[0].operands) for chunk in reads] == [1, 1, 1, 1]
    assert len({chunk.operands[0].number for chunk in reads}) == 4
    assert len({chunk.operands[1].number for chunk in reads}) == 1


def test_a_loop_that_a_parameter_counts_needs_no_mask() -> None:
    counted = """__kernel void k(double *a, int n) {
        double x = a[get_global_id()];
        for (int i = 0; i < n; i += 1) x = x * 2 + i;
        a[get_global_id()] = x;
    }"""
    assert " select " not in show_kernel(lower(counted))
    for other in ("i < n && i < get_local_id()", "i < n && x < 9", "i < n - a[0]"):
        assert " select " in show_kernel(lower(counted.replace("i < n", other)))
    changed = counted.replace("x = x * 2 + i;", "{ x = x * 2 + i; i += get_local_id(); }")
    assert " select " in show_kernel(lower(changed))


def test_only_items_that_an_index_may_name_are_candidates() -> None:
    bounded = PIVOT.replace("int item = get_local_id();", "int item = get_local_id() > 1 ? get_local_id() : 1;")
    ops = [chunk.op for chunk in cut_into_chunks(lower(bounded), Layout("interleaved", 8, 8)).block]
    all_ops = [chunk.op for chunk in cut_into_chunks(lower(PIVOT), Layout("interleaved", 8, 8)).block]
    # One candidate fewer for each of three columns.
    assert ops.count("select") <= all_ops.count("select") - 3


def test_an_array_keeps_the_bounds_of_each_element() -> None:
    kernel = lower("""__kernel void k(double *a, int n) {
        int first[3];
        for (int s = 0; s < 3; s += 1) first[s] = a[s] > 0 ? s : 2;
        a[get_global_id()] = shuffle(a[get_global_id()], first[1]);
    }""")
    (value,) = [value for value in kernel.body.values if value.op == "lookup"]
    assert Ranges().bounds(value.operands[1]) == (1, 2)


PERMUTED = """
__kernel void permute(TYPE *a, const int *lanes) {
    TYPE x = a[get_global_id()];
    TYPE y = x + 1;
    int lane = lanes[get_global_id()];
    if (lane > 2) y = shuffle(x, lane);
    a[get_global_id()] = y * 2 + shuffle(x, lanes[get_group_id() * get_local_size()]);
}
"""
HAS_PERMUTATIONS = {"avx512f", "avx512vl"} <= host().features


@pytest.mark.parametrize("size", [4, 8, 12, 16, 24, 32, 33])
@pytest.mark.parametrize("type", ["double", "float", "int", "long"])
def test_lanes_of_few_vectors_are_permuted_as_the_oracle_has_them(type: str, size: int) -> None:
    """One vector, two, three, four, and more, which go through memory."""
    kernel = lower(PERMUTED.replace("TYPE", type), wg_size=size)
    rng = np.random.default_rng(size)
    dtype = {"double": np.float64, "float": np.float32, "int": np.int32, "long": np.int64}[type]
    numbers = rng.integers(-99, 99, (3, size)).astype(dtype)
    lanes = rng.integers(0, size, (3, size)).astype(np.int32)
    expected = numbers.copy()
    batch.interpret_ir(kernel, 3, {"a": expected.reshape(-1), "lanes": lanes.reshape(-1)})
    for width in (8, 16) if type in ("float", "int") else (8,):
        found = numbers.copy()
        native = NativeKernel(kernel, "columns", 1, width)
        native.run([found.ctypes.data, lanes.ctypes.data], 0, 3)
        assert np.array_equal(found, expected), width
        if HAS_PERMUTATIONS:
            assert ("alloca" in native.text) == (size > 4 * width)
