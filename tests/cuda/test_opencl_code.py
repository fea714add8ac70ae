"""What the CPU device makes of OpenCL C: accesses that are contiguous in dimension 0 are vector accesses there."""

import re
from functools import cache

import numpy as np
import pytest

import drawloom
from drawloom.cpu import engine
from drawloom.cpu.compile import compile_kernel
from drawloom.cpu.gangs import suited_layout
from drawloom.cuda import compile_opencl
from drawloom.errors import UnsupportedError
from drawloom.ptx import Module

#: Kernels that add 1 to `n` numbers, by the ids as people write them.
INDEXED = """
kernel void narrowed(global int *C, global const int *A, int n) {
  int g = get_global_id(0);
  if (g < n) C[g] = A[g] + 1;
}
kernel void wide(global int *C, global const int *A, int n) {
  size_t g = get_global_id(0);
  if (g < n) C[g] = A[g] + 1;
}
kernel void unsigned_index(global int *C, global const int *A, int n) {
  uint g = get_global_id(0);
  if (g < n) C[g] = A[g] + 1;
}
kernel void local_loop(global int *C, global const int *A, int n) {
  int part = n / get_num_groups(0), first = get_group_id(0) * part;
  for (int l = get_local_id(0); l < part; l += get_local_size(0)) C[first + l] = A[first + l] + 1;
}
kernel void wide_local_loop(global int *C, global const int *A, int n) {
  int part = n / get_num_groups(0), first = get_group_id(0) * part;
  for (size_t l = get_local_id(0); l < part; l += get_local_size(0)) C[first + l] = A[first + l] + 1;
}
kernel void global_loop(global int *C, global const int *A, int n) {
  for (int g = get_global_id(0); g < n; g += get_global_size(0)) C[g] = A[g] + 1;
}
kernel void wide_global_loop(global int *C, global const int *A, int n) {
  for (size_t g = get_global_id(0); g < n; g += get_global_size(0)) C[g] = A[g] + 1;
}
kernel void rows(global int *C, global const int *A, int n) {
  int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
  if (y * width + x < n) C[y * width + x] = A[y * width + x] + 1;
}
"""
NAMES = re.findall(r"kernel void (\w+)", INDEXED)
FEATURES = ("sse4.2", "avx2", "avx512")


@cache
def indexed() -> Module:
    return drawloom.optimize(compile_opencl(INDEXED))


#: What runs where an index of 32 bits wraps around, and, on CPUs without masks, where some lanes are not active.
SELDOM = r"^(gather|scatter|seldom)\d+:\n.*?^(loaded|stored|row)\d+:\n"


def text_of(module: Module, kernel: str, block: tuple[int, int, int], features: str = "avx2") -> str:
    """The LLVM IR of a kernel, without what seldom runs."""
    has = engine.Host(engine.FEATURE_SETS[features]).features
    layout = suited_layout(module, module.functions[kernel], block, has)
    text = compile_kernel(module, kernel, layout, False, has).text
    return re.sub(SELDOM, "", text, flags=re.M | re.S)


def accesses(text: str) -> tuple[list[str], list[str], bool]:
    """The vectors that are loaded, those that are stored, and whether lanes go on one by one or by gathers."""
    loads = re.findall(r"(?:call (<.*?>) @llvm\.masked\.load|load (<\d+ x \w+>), ptr \S+, align)", text)
    stores = re.findall(
        r"(?:call void @llvm\.masked\.store\S*?\(|store )(<\d+ x \w+>) \S+, ptr (?:align|\S+, align)", text
    )
    scattered = re.search(r"call .*masked\.(gather|scatter)|^lane\d+:", text, re.M)
    return [masked or plain for masked, plain in loads], stores, bool(scattered)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("name", NAMES)
def test_ids_make_contiguous_accesses(name: str, features: str) -> None:
    """64-bit ids that were narrowed and widened again became gathers."""
    loads, stores, scattered = accesses(text_of(indexed(), name, (64, 1, 1), features))
    assert (loads, stores, scattered) == (["<32 x i32>"], ["<32 x i32>"], False)


@pytest.mark.parametrize(
    ("width", "lanes"), [(4, 8), (8, 8), (12, 8), (16, 16), (20, 8), (24, 8), (32, 32), (48, 8), (64, 32)]
)
def test_rows_of_work_groups_make_contiguous_accesses(width: int, lanes: int) -> None:
    """Work-groups of 12 x 4 work-items gathered; dimension 0 is the contiguous one."""
    loads, stores, scattered = accesses(text_of(indexed(), "rows", (width, 4, 1)))
    assert (set(loads), set(stores), scattered) == ({f"<{lanes} x i32>"}, {f"<{lanes} x i32>"}, False)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("block", [(64, 1, 1), (24, 3, 1), (12, 4, 1), (8, 8, 1), (5, 3, 1)], ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_ids_give_their_elements(
    name: str, block: tuple[int, int, int], features: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAWLOOM_CPU_FEATURES", features)
    try:
        engine.host()
    except UnsupportedError as lacking:
        pytest.skip(str(lacking))
    a = np.arange(1000, dtype=np.int32) * 3
    c = np.zeros_like(a)
    block = block if name == "rows" else (block[0] * block[1], 1, 1)
    groups = -(-a.size // (block[0] * block[1] * block[2]))
    groups = 10 if name in ("local_loop", "wide_local_loop") else groups
    drawloom.load(indexed(), device="cpu")[name][groups, block](c, a, 1000)
    np.testing.assert_array_equal(c, a + 1)


VECTORS = """
kernel void words(global float *C, global const float *A) {
  size_t g = get_global_id(0);
  vstore{N}(vload{N}(g, A) * 2, g, C);
}
kernel void bytes(global uchar *C, global const uchar *A) {
  size_t g = get_global_id(0);
  vstore{N}(vload{N}(g, A) * (uchar)2, g, C);
}
kernel void halves(global half *C, global const half *A) {
  size_t g = get_global_id(0);
  vstore_half{N}(vload_half{N}(g, A) * 2, g, C);
}
"""


@cache
def vectors(length: int) -> Module:
    return drawloom.optimize(compile_opencl(VECTORS.replace("{N}", str(length))))


@pytest.mark.parametrize("name", ["words", "bytes", "halves"])
@pytest.mark.parametrize("length", [2, 3, 4, 8])
def test_vector_loads_and_stores_are_single_accesses(length: int, name: str) -> None:
    """They were a gather and a scatter for each element, as the vectors are aligned like their elements only."""
    loads, stores, scattered = accesses(text_of(vectors(length), name, (64, 1, 1)))
    assert (len(loads), len(stores), scattered) == (1, 1, False)
    assert loads[0].startswith(f"<{32 * length} x ")


@pytest.mark.parametrize("length", [2, 3, 4, 8])
def test_vectors_that_are_not_aligned(length: int) -> None:
    kernels = drawloom.load(vectors(length), device="cpu")
    for name, dtype in (("words", np.float32), ("bytes", np.uint8), ("halves", np.float16)):
        whole = (np.arange(80 * length + 1) % 100).astype(dtype)
        out = np.zeros_like(whole)
        kernels[name][2, 40](out[1:], whole[1:])  # one warp of each block is not full
        np.testing.assert_array_equal(out[1:], whole[1:] + whole[1:])
        assert out[0] == 0
