"""The benchmark kernels and some of the corpus as our machine code: what comes out is the reference's, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom.sass.assemble import SELECTED
from tests.reference.harness import CORPUS
from tests.sass.meaning import agree

KERNELS = Path(__file__).resolve().parents[2] / "benchmarks" / "kernels"
RNG = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return RNG.random(shape, np.float32)


def words(count: int) -> np.ndarray:
    return RNG.integers(0, 1 << 32, count, np.uint32)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


#: kernel: grid, block and arguments of a small launch, its last threads without work where the kernel allows that.
LAUNCHES: dict[str, tuple[Any, ...]] = {
    "vecadd": (3, 64, floats(190), floats(190), zeros(190), 180),
    "saxpy": (3, 64, 2.5, floats(190), floats(190), 180),
    "jacobi9": ((2, 2), (32, 8), floats(14, 40), zeros(14, 40), 40, 14, 0.5, 0.1, 0.025),
    "matmul": ((1, 2), (16, 16), floats(32, 16) - 0.5, floats(16, 16) - 0.5, zeros(32, 16), 32, 16, 16),
    "reduce": (2, 256, floats(1500), zeros(2), 1500),
    "histogram": (2, 64, words(150), np.zeros(256, np.uint32), 150),
    "nbody": (1, 32, floats(32, 4), zeros(32, 4), 30, 0.01),
    "black_scholes": (
        1, 64, 5 + 25 * floats(64), 1 + 99 * floats(64), 0.25 + 9.75 * floats(64), zeros(64), zeros(64), 0.02, 0.3, 60,
    ),
    "transpose": ((2, 1), (32, 8), floats(30, 50), zeros(50, 30), 50, 30),
    "scan": (2, 256, words(2048), np.zeros(2048, np.uint32), np.zeros(2, np.uint64), np.zeros(1, np.uint32), 512),
}  # fmt: skip


def text_of(kernel: str) -> str:
    """The kernel's PTX; nbody with tiles of 32 bodies, which end 512 bytes on from 64, not 4096."""
    text = (KERNELS / f"{kernel}.ptx").read_text()
    if kernel != "nbody":
        return text
    assert text.count(" 4160;") == 1
    return text.replace(" 4160;", " 576;")


@pytest.mark.parametrize("target", [SELECTED[0], 90])
@pytest.mark.parametrize("kernel", LAUNCHES)
def test_benchmark_kernels(kernel: str, target: int) -> None:
    grid, block, *arguments = LAUNCHES[kernel]
    results = agree(text_of(kernel), kernel, grid, block, *arguments, target=target)
    assert any((a != b).any() for a, b in zip(results, [x for x in arguments if isinstance(x, np.ndarray)]))


def rows(count: int, low: int, high: int) -> np.ndarray:
    return RNG.integers(low, high, count, np.int32)


#: source: kernel, grid, block, bytes of dynamic shared memory, arguments.
CORPUS_LAUNCHES: dict[str, tuple[Any, ...]] = {
    "calls": ("call_direct", 1, 8, 0, rows(8, 64, 70), rows(8, 1, 50), np.zeros((8, 2), np.int32)),
    "virtual_calls": ("areas", 1, 4, 0, 1 + floats(4, 2), np.array([0, 1, 0, 1], np.int32), zeros(4), 4),
    "warp_ops": ("shuffles", 1, 32, 0, np.zeros((32, 10), np.int32), rows(32, -1000, 1000), 37),
    "histogram_shared": (
        "histogram", 2, 96, 0, RNG.integers(0, 256, 300, np.uint8), np.zeros(256, np.uint32), 300,
    ),
    "barriers": ("count_positive", 3, 50, 0, rows(150, -3, 4), np.zeros(3, np.int32)),
    "scan_lookback": (
        "scan_lookback", 2, 128, 0, words(200), np.zeros(200, np.uint32), np.zeros(2, np.uint64),
        np.zeros(1, np.uint32), 200,
    ),
    "dynamic_shared": (
        "carve", 2, 32, 448, floats(50), rows(50, 0, 32), np.zeros(64), 50,
    ),
    "local_arrays": ("median", 2, 32, 0, floats(40), zeros(40), 3, 40),
    "generic_addresses": (
        "mixed_spaces", 1, 32, 0, np.arange(1, 9, dtype=np.int32), np.zeros(32, np.int32), np.zeros(32, np.int32),
    ),
    "integer_division": (
        "divide_all", 1, 32, 0, rows(20, -9999, 9999), rows(20, -99, 99), np.zeros((20, 8), np.int32), 20,
    ),
    "wide_integers": (
        "add256", 1, 4, 0, words(32), words(32), np.zeros((4, 8), np.uint32), np.zeros(4, np.uint32), 4,
    ),
    # One thread: the first one changes what the others read.
    "const_global": ("use_globals", 1, 32, 0, floats(12), np.zeros(12, np.int32), np.zeros(12, np.int8), 1),
    "reduce_shuffle": ("reduce_sum", 1, 64, 0, floats(64), zeros(1), 64),
    "switch_table": (
        "interpret", 2, 4, 0, np.array([0, 2, 3, 4, 5, 7, 1, 6, 8, 10, 11, 14, 15, 12, 0], np.uint8),
        rows(8, -1000, 1000), np.zeros(8, np.int32), 15,
    ),
    "half_math": (
        "half_axpy", 1, 32, 0, np.float16(1.5).tobytes(), floats(32).astype(np.float16), floats(32).astype(np.float16),
        32,
    ),
    "crc32": (
        "crc32_table", 1, 32, 0, RNG.integers(0, 256, 60, np.uint8), np.array([0, 5, 5, 33, 60], np.int32),
        np.zeros(4, np.uint32), 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", CORPUS_LAUNCHES)
def test_corpus_kernels_of_both_compilers(source: str) -> None:
    """What nvcc and clang make of one source; the optimised ones for sm_80 run as sm_80, the others as sm_90."""
    kernel, grid, block, shared, *arguments = CORPUS_LAUNCHES[source]
    paths = sorted([*CORPUS.glob(f"*/{source}.sm_80.O3.ptx"), *CORPUS.glob(f"*/{source}.sm_90.O0.ptx")])
    assert paths
    for path in paths:
        target = 80 if ".sm_80." in path.name else 90
        agree(path, kernel, grid, block, *arguments, target=target, shared=shared)


#: kernel: blocks, arguments; the launch has 128 threads a block and two pointers to scratch memory behind these.
TRITON_LAUNCHES: dict[str, tuple[Any, ...]] = {
    "softmax": (2, zeros(2, 200), floats(2, 200) - 0.5, 200, 200),
    "layer_norm": (
        2, floats(2, 200).astype(np.float16), np.zeros((2, 200), np.float16), floats(200), floats(200), 200, 200, 1e-5,
    ),
    "running_sum": (1, floats(256), zeros(256)),
    "sort_row": (1, rows(128, -(10**9), 10**9), np.zeros(128, np.int32)),
    "histogram": (2, rows(200, 0, 9), np.zeros(9, np.int32), 200),
    "random": (1, zeros(256), 1234),
    "total": (1, floats(300), zeros(1), 300),
}  # fmt: skip


@pytest.mark.parametrize("kernel", TRITON_LAUNCHES)
def test_triton_kernels(kernel: str) -> None:
    grid, *arguments = TRITON_LAUNCHES[kernel]
    scratch = np.zeros(1, np.uint8), np.zeros(1, np.uint8)
    text = (CORPUS / "triton" / f"{kernel}.sm_80.triton.ptx").read_text()
    text = text.replace("div.full.f32", "div.rn.f32")  # the one that may round either way
    results = agree(text, kernel, grid, 128, *arguments, *scratch, target=80, shared=2048)
    if kernel == "sort_row":
        assert (results[1] == np.sort(results[0])).all()
    if kernel == "running_sum":
        assert np.allclose(results[1], np.cumsum(results[0]))
