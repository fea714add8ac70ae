"""OpenCL C: our built-in functions beside PoCL's, of the same source, and what is refused."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import drawloom
from drawloom.cuda import CompileError, compile_opencl

SOURCE = Path(__file__).parent / "opencl.cl"
N = 64
#: Rows of `floats` that add up several results, of which one may be near zero.
SUMS = (6, 7, 9, 10, 11)


@cache
def ours() -> drawloom.Module:
    return drawloom.load(compile_opencl(SOURCE), device="cpu")


@cache
def pocl() -> tuple[Any, Any]:
    cl = pytest.importorskip("pyopencl")
    platforms = [p for p in cl.get_platforms() if "Portable" in p.name]
    if not platforms:
        pytest.skip("PoCL is not installed")
    context = cl.Context(platforms[0].get_devices())
    return cl.CommandQueue(context), cl.Program(context, SOURCE.read_text()).build()


def both(kernel: str, rows: int, dtype: type, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kernel's rows by ours and by PoCL."""
    import pyopencl as cl

    queue, program = pocl()
    mine = np.zeros((rows, N, 4), dtype)
    ours()[kernel][2, N // 2](mine, *inputs)
    flags = cl.mem_flags
    buffers = [cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x) for x in inputs]
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, mine.nbytes)
    getattr(program, kernel)(queue, (N,), (N // 2,), out, *buffers)
    theirs = np.zeros_like(mine)
    cl.enqueue_copy(queue, theirs, out)
    return mine, theirs


def integers(seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(-(2**31), 2**31, (N, 4)).astype(np.int32)
    drawn[: N // 2] >>= np.arange(N // 2, dtype=np.int32)[:, None] % 31  # small ones, too
    drawn[:3] = [[0, 1, -1, 2], [2**31 - 1, -(2**31), 255, 256], [-(2**31)] * 4]
    return drawn


def test_integers_are_pocls() -> None:
    mine, theirs = both("integers", 31, np.int32, integers(1), integers(2), integers(3))
    wrong = [row for row in range(31) if not (mine[row] == theirs[row]).all()]
    assert not wrong, (wrong, mine[wrong[0]][:4], theirs[wrong[0]][:4])


def test_conversions_are_pocls() -> None:
    floats = np.random.default_rng(4).uniform(-30, 30, (N, 4)).astype(np.float32)
    floats[0] = [0.5, 1.5, -2.5, 29.5]
    mine, theirs = both("conversions", 18, np.int32, floats, integers(5))
    wrong = [row for row in range(18) if not (mine[row] == theirs[row]).all()]
    assert not wrong, (wrong, mine[wrong[0]][:4], theirs[wrong[0]][:4])


def test_floats_are_near_pocls() -> None:
    """Each within the sum of what OpenCL allows both sides (16 units at most; products of several functions more)."""
    seed = np.random.default_rng(6)
    x, y = seed.uniform(-4, 4, (2, N, 4)).astype(np.float32)
    mine, theirs = both("floats", 15, np.float32, x, y)
    for row in range(15):
        scale = np.maximum(np.abs(theirs[row]), 1.0 if row in SUMS else 2.0**-126)
        away = np.abs(mine[row].astype(float) - theirs[row]) / scale * 2**23
        assert (away[np.isfinite(theirs[row])] <= 32).all(), row
        assert (np.isfinite(mine[row]) == np.isfinite(theirs[row])).all(), row


def test_work_groups_meet_in_local_memory() -> None:
    values = np.random.default_rng(7).integers(-100, 100, (N, 4)).astype(np.int16)
    out, total = np.zeros((2, 4), np.int32), np.zeros(1, np.int32)
    kernel = ours()["group"]
    # Local arguments are offsets in shared memory; the kernel's own variable takes the first bytes.
    kernel[2, 32, 4 * 32 + 64](out, values, 64, total)
    parts = values[:, 1].astype(int).reshape(2, 32)
    assert out.tolist() == [[int(p.sum()), max(0, int(p.max())), k, 2] for k, p in enumerate(parts)]
    assert total[0] == parts.sum()


def test_kernels_are_one_function_and_printf_works(capfd: pytest.CaptureFixture[str]) -> None:
    source = """
    #define X(a, b) a##b
    kernel void k(global X(in, t) *p) {
      p[0] = popcount(p[1]);
      printf("%d %s %.1f\\n", p[0], "x", 0.5f);
    }
    """
    module = compile_opencl(source)
    assert [name for name in module.functions if "vprintf" not in name] == ["k"]
    array = np.array([0, 255], np.int32)
    drawloom.load(module)["k"][1, 1](array)
    assert array[0] == 8 and capfd.readouterr().out == "8 x 0.5\n"


def test_kernels_without_optimisation() -> None:
    source = "\nkernel void k(global int2 *p) { p[get_global_id(0)] = max(p[get_global_id(0)], 2); }\n"
    array = np.arange(8, dtype=np.int32)
    drawloom.load(compile_opencl(source, optimise=0))["k"][1, 4](array)
    assert array.tolist() == [2, 2, 2, 3, 4, 5, 6, 7]


def test_mistakes() -> None:
    with pytest.raises(CompileError, match=r"mine.cl:2:28: error: use of undeclared identifier 'y'"):
        compile_opencl("\nkernel void k(int x) { x = y; }\n", filename="mine.cl")
    with pytest.raises(drawloom.UnsupportedError, match=r"'CL4\.0' is not an OpenCL C standard"):
        compile_opencl("\n", standard="CL4.0")
