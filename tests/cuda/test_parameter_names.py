"""Kernels of CUDA and OpenCL sources take arguments by the names in the source, which their PTX does not have."""

from pathlib import Path

import numpy as np
import pytest

import drawloom
from drawloom.cuda.clang import find_clang
from drawloom.cuda.parameter_names import names_in_definition
from drawloom.errors import LaunchError, UnsupportedError

CUDA = """
struct Pair { float a, b; };
template <int N> __global__ void shift(Pair pair, float *out, const float *__restrict__ in, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] * pair.a + pair.b + N;
}
template __global__ void shift<2>(Pair, float *, const float *, int);
"""
OPENCL = """
kernel void shift(global float *out, global const float *in, float by, int count) {
    int i = get_global_id(0);
    if (i < count) out[i] = in[i] + by;
}
"""


@pytest.fixture(autouse=True)
def clang() -> None:
    try:
        find_clang()
    except UnsupportedError as lacking:
        pytest.skip(str(lacking))


def test_arguments_by_the_names_of_a_cuda_source(tmp_path: Path) -> None:
    path = tmp_path / "shift.cu"
    path.write_text(CUDA)
    kernel = drawloom.load(path)["shift<2>"]
    out, pair = np.zeros(4, np.float32), np.array([3, 4], np.float32)
    kernel[1, 32](**{"in": np.arange(4, dtype=np.float32)}, out=out, count=4, pair=pair)
    np.testing.assert_array_equal(out, [6, 9, 12, 15])
    with pytest.raises(LaunchError, match="no parameter 'n'; there are: pair, out, in, count"):
        kernel[1, 32](pair, out, out, n=4)


def test_arguments_by_the_names_of_an_opencl_source(tmp_path: Path) -> None:
    path = tmp_path / "shift.cl"
    path.write_text(OPENCL)
    out = np.zeros(4, np.float32)
    drawloom.load(path)["shift"][1, 32](by=2, count=4, out=out, **{"in": np.ones(4, np.float32)})
    np.testing.assert_array_equal(out, [3, 3, 3, 3])


def test_names_in_llvms_text() -> None:
    line = (
        'define linkonce_odr ptx_kernel void @"a b"(ptr noundef byval({ i32, <2 x float> }) align 4 %s.coerce, '
        "ptr addrspace(1) %out, [2 x i64] %0) #1 comdat {"
    )
    assert names_in_definition(line) == ("a b", ["s", "out", "0"])
    assert names_in_definition("define void @f() {") == ("f", [])
