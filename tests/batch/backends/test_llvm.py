"""What the LLVM IR of a kernel keeps away from: what LLVM 22 gets wrong for AVX-512."""

import re
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.chunking import fill_integers
from drawloom.batch.backends.llvm import fill_spread
from drawloom.batch.backends.native import NativeCode, NativeKernel
from drawloom.batch.ir.ir import BITS

pytest.importorskip("pycparser")

#: Smallest kernel in which LLVM scalarised a conversion after it had chosen a permutation for what it converts.
CONVERTED_PERMUTATION = """
__kernel void k(const double *in0, const long *in1, uint *out1) {
    short s1 = max(in1[get_global_id() * 6 + 5] * in0[get_global_id() * 6 + 4], 1);
    ulong z[3] = {1, 1, (double)s1};
    if (1e3f >= (1 << z[2])) {
        z[2] = (in1[get_global_id() * 6 + 2] != 1 ? z[get_local_id() % 3] * 3.0 : 1) + 1;
        z[2] = (in1[get_global_id() * 6 + 2] != 1 ? z[get_local_id() % 3] * 3.0 : 1) + 1;
    }
    out1[get_global_id() * 6 + 3] = z[2];
}
"""


@pytest.mark.parametrize("width", [4, 8, 16])
def test_a_permutation_of_which_only_the_first_lanes_are_read(width: int) -> None:
    parsed = batch.parse_file(CONVERTED_PERMUTATION, wg_size=3)["k"]
    rng = np.random.default_rng(452)
    groups = 32
    arguments: dict[str, Any] = {
        "in0": rng.integers(-1, 4, groups * 18).astype(np.float64), "in1": rng.integers(-1, 4, groups * 18),
    }  # fmt: skip
    expected = {**arguments, "out1": np.zeros(groups * 18, np.uint32)}
    batch.interpret(parsed, groups, expected)
    found = {**arguments, "out1": np.zeros(groups * 18, np.uint32)}
    native = NativeKernel(batch.lower(parsed), "interleaved", 2, width)
    native.run([array.ctypes.data for array in found.values()], 0, groups)
    np.testing.assert_array_equal(found["out1"], expected["out1"])


def test_lanes_that_nothing_reads_repeat_the_first_block() -> None:
    assert fill_integers([0, 1, -1, -1, -1, -1, -1, -1], 2) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert fill_integers([9, 8, -1, -1, -1, -1, -1, -1], 2) == [9, 8, 11, 10, 13, 12, 15, 14]
    assert fill_integers([-1, 8, -1, -1, -1, -1, -1, -1], 2) == [8, 8, 10, 10, 12, 12, 14, 14]
    assert fill_integers([0, 5, -1, -1, -1, -1, -1, -1], 2) == [0, 5, 0, 0, 0, 0, 0, 0]
    assert fill_integers([0, 1, 1, -1, -1, -1, -1, -1], 2) == [0, 1, 1, 0, 0, 0, 0, 0]
    assert fill_integers([-1] * 4, 2) == [-1] * 4


def test_neighbours_that_are_spread_out_have_no_gaps() -> None:
    """LLVM aborted: it cannot select zero_extend_vector_inreg."""
    assert fill_spread((8, -1, 9, -1, 10, -1, -1, -1)) == [8, 8, 9, 9, 10, -1, -1, -1]
    assert fill_spread((-1, 0, -1, -1, 1, 7, -1, 9)) == [-1, 0, 0, 0, 1, 7, -1, 9]


def test_loads_and_stores_fill_a_register_at_most() -> None:
    """LLVM asserted on a store of 16 doubles that are every second number of a constant."""
    text = """__kernel void k(const float *x, double *z) {
        double a[4] = {x[get_global_id()], 1.5, x[get_global_id()], 2.5};
        for (int ix = 0; ix < 4; ++ix) z[get_global_id() * 4 + ix] = a[(get_local_id() + ix) % 4] * x[get_global_id()];
    }"""
    kernel = batch.lower(batch.parse_file(text, wg_size=8)["k"])
    for order, registers in (("rows", 0), ("columns", 0), ("interleaved", 6)):
        code = NativeCode(kernel, order, 2, 16, registers=registers).text
        moved = re.findall(r"(?:load|store) (?:volatile )?<(\d+) x (\w+)>", code)
        assert moved
        assert max(int(lanes) * BITS[type] for lanes, type in moved) <= 512


@pytest.mark.parametrize("type", ["short", "uchar"])
def test_a_masked_store_of_narrow_numbers_keeps_the_elements_after_it(type: str) -> None:
    """LLVM found that the mask is a constant with one lane and stored 32 bits."""
    text = f"""__kernel void k(const int *x, {type} *z) {{
        const int *p = x + get_global_id() * 6;
        if (!(p < p + 0)) z[get_global_id() * 6 + 3] = p[1] - 1.0f;
    }}"""
    kernel = batch.lower(batch.parse_file(text, wg_size=1)["k"])
    x, z = np.arange(6, dtype=np.int32), np.full(6, 9, np.int16 if type == "short" else np.uint8)
    NativeKernel(kernel, "rows", 1, 8, depth_first=True).run([x.ctypes.data, z.ctypes.data], 0, 1)
    np.testing.assert_array_equal(z, [9, 9, 9, 0, 9, 9])
