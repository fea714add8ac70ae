"""Kernels that compilers made of CUDA C++, on every device, against NumPy and zlib.

Numbers are small integers where sums are taken, so that floating point is exact in every order.
"""

import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import drawloom

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
NEWEST_GPU_NEEDED = {"clang/{}.sm_61.O1.ptx": (6, 1), "nvcc/{}.sm_80.O3.ptx": (8, 0)}


@pytest.fixture(params=NEWEST_GPU_NEEDED, ids=["clang", "nvcc"])
def compiled(request: pytest.FixtureRequest, device: str) -> "Loader":
    needed = NEWEST_GPU_NEEDED[request.param]
    where = drawloom.runtime.device(device)
    if not where.is_host and where.compute < needed:
        pytest.skip(f"{device} has compute capability {where.compute}, the PTX needs {needed}")
    return Loader(request.param, device)


class Loader:
    def __init__(self, pattern: str, device: str) -> None:
        self.pattern = pattern
        self.device = device

    def __call__(self, stem: str, kernel: str) -> drawloom.runtime.Kernel:
        return drawloom.load(CORPUS / self.pattern.format(stem), self.device)[kernel]


def random() -> np.random.Generator:
    return np.random.default_rng(1804)


def test_matmul_in_tiles(compiled: Loader) -> None:
    a = random().integers(-8, 8, (19, 33)).astype(np.float32)
    b = random().integers(-8, 8, (33, 21)).astype(np.float32)
    c = np.full((19, 21), np.nan, np.float32)
    compiled("matmul_tiled", "matmul_tiled")[(2, 2), (16, 16)](a, b, c, 19, 21, 33)
    np.testing.assert_array_equal(c, a @ b)


def test_sums_through_shuffles(compiled: Loader) -> None:
    x = random().integers(-100, 100, 500).astype(np.float32)
    partial = np.zeros(3, np.float32)
    compiled("reduce_shuffle", "reduce_sum")[3, 96](x, partial, x.size)
    assert partial.sum() == x.sum()


def test_histograms_in_shared_memory(compiled: Loader) -> None:
    data = random().integers(0, 256, 3000, np.uint8)
    bins = np.zeros(256, np.uint32)
    compiled("histogram_shared", "histogram")[3, 128](data, bins, data.size)
    np.testing.assert_array_equal(bins, np.bincount(data, minlength=256))


def test_transposes_through_shared_memory(compiled: Loader) -> None:
    image = random().random((40, 70)).astype(np.float32)
    turned = np.zeros((70, 40), np.float32)
    compiled("transpose_shared", "transpose")[(3, 2), (32, 8)](image, turned, 70, 40)
    np.testing.assert_array_equal(turned, image.T)


def test_prefix_sums_that_look_back_at_other_blocks(compiled: Loader) -> None:
    values = random().integers(0, 1000, 1000).astype(np.uint32)
    sums = np.zeros(1000, np.uint32)
    blocks = 8
    status, ticket = np.zeros(blocks, np.uint64), np.zeros(1, np.uint32)
    compiled("scan_lookback", "scan_lookback")[blocks, 128](values, sums, status, ticket, values.size)
    np.testing.assert_array_equal(sums, np.cumsum(values))


def test_sorting_blocks(compiled: Loader) -> None:
    keys = random().permutation(1024).astype(np.uint32)
    values = keys * 3
    compiled("bitonic_sort", "bitonic_sort")[2, 64](keys, values)
    np.testing.assert_array_equal(keys[:512], np.sort(keys[:512]))
    np.testing.assert_array_equal(keys[512:], np.sort(keys[512:]))
    np.testing.assert_array_equal(values, keys * 3)
    np.testing.assert_array_equal(np.sort(keys), np.arange(1024))


@pytest.mark.parametrize("kernel", ["crc32_bits", "crc32_table"])
def test_checksums(compiled: Loader, kernel: str) -> None:
    data = random().integers(0, 256, 600, np.uint8)
    offsets = np.array([0, 0, 1, 17, 80, 81, 300, 600], np.int32)
    out = np.zeros(7, np.uint32)
    compiled("crc32", kernel)[1, 32](data, offsets, out, 7)
    pieces = [data[low:high].tobytes() for low, high in pairwise(offsets)]
    np.testing.assert_array_equal(out, [zlib.crc32(piece) for piece in pieces])


@pytest.mark.parametrize("kernel, dtype, threads", [("spmv_scalar", np.float64, 1), ("spmv_warp", np.float32, 32)])
def test_sparse_matrices(compiled: Loader, kernel: str, dtype: type, threads: int) -> None:
    dense = random().integers(-3, 4, (20, 50)) * (random().random((20, 50)) < 0.2)
    rows, columns = np.nonzero(dense)
    offsets = np.searchsorted(rows, np.arange(21)).astype(np.int32)
    x = random().integers(-5, 6, 50).astype(dtype)
    y = np.zeros(20, dtype)
    launch = compiled("spmv_csr", kernel)[(20 * threads + 63) // 64, 64]
    launch(offsets, columns.astype(np.int32), dense[rows, columns].astype(dtype), x, y, 20)
    np.testing.assert_array_equal(y, dense @ x)


def test_arrow_columns_of_a_table(compiled: Loader) -> None:
    import pyarrow as pa

    table = pa.table({"a": np.arange(100, dtype=np.float32), "b": np.full(100, 2, np.float32)})
    total = np.zeros(100, np.float32)
    kernel = compiled("vecadd", "vecadd")
    kernel[4, 32](table["a"], table["b"], total, 100)
    np.testing.assert_array_equal(total, np.arange(100) + 2)
