"""What clang and nvcc make of real kernels, run on the reference and compared with NumPy and the standard library."""

import hashlib
import io
import itertools
import zlib
from pathlib import Path

import numpy as np
import pytest

from drawloom.errors import KernelFault
from tests.reference.harness import CORPUS, launch


def variants(name: str) -> list[Path]:
    """Every compilation of one source."""
    return sorted(CORPUS.glob(f"*/{name}.*.ptx"))


def compiled(name: str) -> pytest.MarkDecorator:
    paths = variants(name)
    assert paths, f"no {name} in {CORPUS}"
    return pytest.mark.parametrize("path", paths, ids=[f"{p.parent.name}-{p.stem}" for p in paths])


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def shuffled_sum(x: np.ndarray) -> np.float32:
    """The sum of 32 floats in the order of a shuffle-down reduction."""
    v = x.copy()
    for offset in (16, 8, 4, 2, 1):
        v[:offset] += v[offset : 2 * offset]
    return np.float32(v[0])


@compiled("saxpy")
def test_saxpy(path: Path) -> None:
    x, y = rng().standard_normal(200, dtype=np.float32), rng().standard_normal(200, dtype=np.float32)
    a = np.float32(1.7)
    exact = a.astype(np.float64) * x + y.astype(np.float64)
    out = y.copy()
    launch(path, "saxpy", 3, 64, float(a), x, out, 190)
    # Contracted to an fma or not, the result is within one rounding of the product and one of the sum.
    bound = np.spacing(np.abs(a * x)) + np.spacing(np.abs(exact).astype(np.float32))
    assert (np.abs(out - exact)[:190] <= bound[:190]).all()
    assert (out[190:] == y[190:]).all()


@compiled("warp_ops")
def test_shuffles(path: Path) -> None:
    x = rng().integers(-1000, 1000, 32, dtype=np.int32)
    out = np.zeros((32, 10), np.int32)
    launch(path, "shuffles", 1, 32, out, x, 37)
    lane = np.arange(32)
    f = x.astype(np.float32)
    down = np.where(lane + 1 < 32, np.roll(f, -1), f)
    expected = [
        np.full(32, x[37 & 31]),
        x[(lane & 24) | (lane * 7 & 7)],
        x[np.where(lane >= 3, lane - 3, lane)],
        x[np.where(lane % 16 >= 2, lane - 2, lane)],
        x[np.where(lane + 5 < 32, lane + 5, lane)],
        x[np.where(lane % 4 + (37 & 31) < 4, lane + 5, lane)],
        x[lane ^ 1],
        x[lane ^ 12],
        (down + f[lane ^ 16]).view(np.int32),
        x[31 - lane],
    ]
    np.testing.assert_array_equal(out, np.stack(expected, 1))


@compiled("warp_ops")
def test_votes(path: Path) -> None:
    x = rng().integers(-4, 9, 64, dtype=np.int32)
    out = np.zeros((64, 4), np.uint32)
    launch(path, "votes", 1, 64, out, x)
    for t in range(64):
        warp = x[t & 32 : (t & 32) + 32]
        lane = t & 31
        ballot = sum(int(v > 0) << i for i, v in enumerate(warp))
        assert out[t, 0] == ballot
        assert out[t, 1] == (warp > -5).all() + 2 * (warp == 7).any()
        odd = sum(int(v & 2 != 0) << i for i, v in enumerate(warp) if i & 1)
        below = bin(0xAAAAAAAA & ((1 << lane) - 1)).count("1")
        assert out[t, 2] == (odd + below if lane & 1 else int((warp[::2] & 4).any()))
        assert out[t, 3] == bin(ballot & ((1 << lane) - 1)).count("1")


@compiled("warp_ops")
def test_aggregated_atomics(path: Path) -> None:
    x = rng().integers(-5, 5, 100, dtype=np.int32)
    counter, slots = np.zeros(1, np.int32), np.full(128, -1, np.int32)
    launch(path, "aggregate", 2, 64, counter, slots, x, 100)
    chosen = np.flatnonzero(x > 0)
    assert counter[0] == len(chosen)
    assert sorted(slots[: len(chosen)]) == list(chosen)


@compiled("warp_match_redux")
def test_match_and_redux(path: Path) -> None:
    keys, values = rng().integers(0, 5, 32, dtype=np.int32), rng().integers(-99, 99, 32, dtype=np.int32)
    masks, sums = np.zeros((32, 3), np.uint32), np.zeros(32, np.int32)
    launch(path, "groups", 1, 32, keys, masks, sums, values)
    for t in range(32):
        assert masks[t, 0] == sum(1 << i for i in range(32) if keys[i] == keys[t])
        assert sums[t] == values[keys == keys[t]].sum()
    assert not masks[:, 1:].any()


@compiled("calls")
def test_direct_and_recursive_calls(path: Path) -> None:
    a = rng().integers(0, 1000, 8, dtype=np.int32)
    b = rng().integers(1, 50, 8, dtype=np.int32)
    out = np.zeros((8, 2), np.int32)
    launch(path, "call_direct", 1, 8, a, b, out)
    fibonacci = [0, 1]
    while len(fibonacci) < 16:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    np.testing.assert_array_equal(out[:, 0], a // b)
    np.testing.assert_array_equal(out[:, 1], a % b + np.array(fibonacci)[a & 15])


@compiled("calls")
def test_indirect_calls(path: Path) -> None:
    x = np.array([1.5, -2.0, 3.0, 8.0], np.float32)
    which = np.array([0, 1, 2, 3], np.int32)
    out = np.zeros(4, np.float32)
    launch(path, "call_indirect", 1, 4, x, which, out)
    np.testing.assert_array_equal(out, [2.25, -8.0 + 0.5 + 1, 1.5 + 1.0 + 2, 64 + 1.5 + 3])


@compiled("calls")
def test_structures_by_value(path: Path) -> None:
    a, b = (rng().integers(-8, 8, (3, 3, 3)).astype(np.float32) for _ in range(2))
    out = np.zeros_like(a)
    launch(path, "call_struct", 1, 3, a, b, out)
    np.testing.assert_array_equal(out, a @ b)


@compiled("virtual_calls")
def test_virtual_calls(path: Path) -> None:
    sizes = np.array([[2, 3], [1, 4], [3, 1], [5, 2]], np.float32)
    kinds = np.array([0, 1, 0, 1], np.int32)
    out = np.zeros(4, np.float32)
    launch(path, "areas", 1, 4, sizes, kinds, out, 4)
    for (w, h), kind, got in zip(sizes, kinds, out, strict=True):
        area = np.float32(3.14159265) * w * w if kind & 1 else w * h
        expected = area + (area * h * h if kind & 1 else w * h * h * h + 1)
        assert got == pytest.approx(expected, rel=1e-6)


@compiled("printf_assert")
def test_printf_and_assert(path: Path) -> None:
    x, k = np.array([0.5, 1e10, -2.0], np.float32), np.array([-1, 5, -3], np.int32)
    out = io.StringIO()
    launch(path, "report", 1, 4, x, k, 3, stdout=out)
    lines = sorted(out.getvalue().splitlines())
    assert lines == sorted(
        [
            "thread 0: k = -1, x = 0.5 even",
            "thread 2: k = -3, x = -2 even",
            "done",
            f"{1 << 40} b 0x{x.ctypes.data:x} 100%",
        ]
    )
    with pytest.raises(KernelFault, match=r"assertion failed: k\[i\] < 1000 \(.*printf_assert.cu:\d+") as caught:
        launch(path, "report", 1, 4, x, np.array([0, 1000, 0], np.int32), 3, stdout=out)
    assert caught.value.thread == (1, 0, 0)


@compiled("device_heap")
def test_device_heap(path: Path) -> None:
    lengths = np.array([0, 1, 5, 9], np.int32)
    out, failures = np.zeros(4, np.int64), np.zeros(1, np.int32)
    launch(path, "list_sum", 2, 2, lengths, out, failures)
    assert list(out) == [sum(k * k for k in range(n)) for n in lengths]
    assert failures[0] == 0


@compiled("scan_lookback")
def test_blocks_that_wait_for_each_other(path: Path) -> None:
    n = 128 * 3 + 50
    x = rng().integers(0, 100, n, dtype=np.uint32)
    out, status, ticket = np.zeros(n, np.uint32), np.zeros(4, np.uint64), np.zeros(1, np.uint32)
    launch(path, "scan_lookback", 4, 128, x, out, status, ticket, n)
    np.testing.assert_array_equal(out, np.cumsum(x))


@compiled("histogram_shared")
def test_histogram(path: Path) -> None:
    data = rng().integers(0, 256, 1000, dtype=np.uint8)
    bins = np.zeros(256, np.uint32)
    launch(path, "histogram", 2, 96, data, bins, 1000)
    np.testing.assert_array_equal(bins, np.bincount(data, minlength=256))


@compiled("barriers")
def test_reducing_barriers(path: Path) -> None:
    x = rng().integers(-3, 4, 3 * 50, dtype=np.int32)
    out = np.zeros(3, np.int32)
    launch(path, "count_positive", 3, 50, x, out)
    rows = x.reshape(3, 50)
    np.testing.assert_array_equal(out, (rows > 0).sum(1) + 1000 + 10000 * (rows == 0).any(1))


@compiled("barriers")
def test_producer_and_consumer_barriers(path: Path) -> None:
    x = rng().standard_normal(5 * 32, dtype=np.float32)
    out = np.zeros_like(x)
    launch(path, "handover", 1, 96, x, out, 5)
    np.testing.assert_array_equal(out, (x.reshape(5, 32)[:, ::-1] * 2).ravel())


@compiled("atomics")
def test_atomics(path: Path) -> None:
    n = 64
    ints = np.array([0, 500, 3, -5, 0], np.int32)
    words = np.concatenate([[1 << 30, 0], np.zeros(n)]).astype(np.uint32)
    longs, floats = np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.float32)
    x = rng().integers(0, 90, n, dtype=np.int32)
    launch(path, "atomic_ops", 1, n, ints, words, longs, floats, x)
    assert ints[1] == 500 - x.sum()
    assert ints[2] == min(3, x.min())
    assert 0 <= ints[4] < n
    assert (words[0], words[1]) == (x.min(), x.max())
    assert longs[0] == x.sum() and floats[0] == x.sum()
    # What each thread saw before is a running sum in some order.
    assert sorted(longs[1:] + x.astype(np.uint64))[-1] == x.sum()


@compiled("atomics")
def test_compare_and_swap_loops(path: Path) -> None:
    x = rng().integers(-100, 100, 64).astype(np.float32)
    best, total = np.full(1, -1e9, np.float32), np.zeros(1)
    lock, guarded = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(path, "atomic_loops", 2, 32, best, total, lock, guarded, x)
    assert best[0] == x.max() and total[0] == x.sum() and guarded[0] == 64 and lock[0] == 0


@compiled("sha256")
def test_sha256(path: Path) -> None:
    message = b"a drawloom lifts every warp thread on its own"
    padded = message + b"\x80" + bytes(55 - len(message)) + (8 * len(message)).to_bytes(8, "big")
    words = np.frombuffer(padded * 3, np.uint32).copy()
    initial = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
    states = np.array(initial * 3, np.uint32)
    launch(path, "sha256_block", 1, 4, words, states, 3)
    digest = b"".join(int(v).to_bytes(4, "big") for v in states)
    assert digest == hashlib.sha256(message).digest() * 3


@compiled("crc32")
def test_crc32(path: Path) -> None:
    data = rng().integers(0, 256, 60, dtype=np.uint8)
    offsets = np.array([0, 5, 5, 33, 60], np.int32)
    expected = [zlib.crc32(data[a:b].tobytes()) for a, b in itertools.pairwise(offsets)]
    for kernel in ("crc32_bits", "crc32_table"):
        out = np.zeros(4, np.uint32)
        launch(path, kernel, 1, 32, data, offsets, out, 4)
        assert list(out) == expected


@compiled("bitonic_sort")
def test_bitonic_sort(path: Path) -> None:
    keys = rng().permutation(512).astype(np.uint32)
    values = (keys * 3 + 1).astype(np.uint32)
    launch(path, "bitonic_sort", 1, 256, keys, values)
    np.testing.assert_array_equal(keys, np.arange(512))
    np.testing.assert_array_equal(values, np.arange(512) * 3 + 1)


@compiled("dynamic_shared")
def test_dynamic_shared_memory(path: Path) -> None:
    n, size = 50, 32
    x, k = rng().integers(0, 9, n).astype(np.float32), rng().integers(0, size, n, dtype=np.int32)
    out = np.zeros(2 * size)
    launch(path, "carve", 2, size, x, k, out, n, shared=size * (8 + 4 + 2))
    for block in range(2):
        part = slice(block * size, min(n, (block + 1) * size))
        expected = np.bincount(k[part], x[part], minlength=size)
        np.testing.assert_array_equal(out[block * size : (block + 1) * size], expected)


@compiled("local_arrays")
def test_local_arrays(path: Path) -> None:
    x = rng().standard_normal(40, dtype=np.float32)
    out = np.zeros_like(x)
    launch(path, "median", 2, 32, x, out, 3, 40)
    expected = [np.sort(x[max(0, i - 3) : i + 4])[len(x[max(0, i - 3) : i + 4]) // 2] for i in range(40)]
    np.testing.assert_array_equal(out, np.array(expected, np.float32))
    solutions = np.zeros(6, np.int32)
    launch(path, "queens", 1, 32, solutions, 6)
    assert solutions.sum() == 4


@compiled("generic_addresses")
def test_generic_addresses(path: Path) -> None:
    x = np.arange(1, 9, dtype=np.int32)
    out, where = np.zeros(32, np.int32), np.zeros(32, np.int32)
    launch(path, "mixed_spaces", 1, 32, x, out, where)
    t = np.arange(32)
    np.testing.assert_array_equal(out, np.choose(t % 4, [36, 36 + 8 * t, 31, 0]))
    # Constant memory is no global memory to isspacep, nor any of the others.
    np.testing.assert_array_equal(where, np.choose(t % 4, [1, 2, 0, 4]))


@compiled("integer_division")
def test_integer_division(path: Path) -> None:
    a = rng().integers(-(1 << 31), 1 << 31, 20, dtype=np.int64).astype(np.int32)
    b = rng().integers(-1000, 1000, 20, dtype=np.int64).astype(np.int32)
    out = np.zeros((20, 8), np.int32)
    launch(path, "divide_all", 1, 32, a, b, out, 20)
    x, y = a.astype(np.int64), b.astype(np.int64) | 1
    np.testing.assert_array_equal(out[:, 0], (np.sign(x) * np.sign(y) * (abs(x) // abs(y))).astype(np.int32))
    np.testing.assert_array_equal(out[:, 1], (np.sign(x) * (abs(x) % abs(y))).astype(np.int32))
    ux, uy = a.view(np.uint32), (b | 1).view(np.uint32)
    np.testing.assert_array_equal(out[:, 2].view(np.uint32), ux // uy)
    np.testing.assert_array_equal(out[:, 3].view(np.uint32), ux % uy)


@compiled("wide_integers")
def test_carry_chains(path: Path) -> None:
    a, b = (rng().integers(0, 1 << 32, (4, 8), dtype=np.uint64).astype(np.uint32) for _ in range(2))
    a[0] = 0xFFFFFFFF
    b[0] = [1, 0, 0, 0, 0, 0, 0, 0]
    c, carries = np.zeros((4, 8), np.uint32), np.zeros(4, np.uint32)
    launch(path, "add256", 1, 4, a, b, c, carries, 4)
    for i in range(4):
        total = int.from_bytes(a[i].tobytes(), "little") + int.from_bytes(b[i].tobytes(), "little")
        assert int.from_bytes(c[i].tobytes(), "little") == total & (1 << 256) - 1
        assert carries[i] == total >> 256
    p, q = (rng().integers(0, 1 << 63, 4, dtype=np.uint64) * np.uint64(2) + np.uint64(1) for _ in range(2))
    low, high = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    launch(path, "mul64x64", 1, 4, p, q, low, high, 4)
    for i in range(4):
        product = int(p[i]) * int(q[i])
        assert low[i] == product & (1 << 64) - 1
        assert high[i] == (product >> 64) ^ (int(p[i]) * (int(q[i]) | 1) >> 64)


@compiled("transpose_shared")
def test_transpose(path: Path) -> None:
    x = rng().standard_normal((40, 50), dtype=np.float32)
    out = np.zeros((50, 40), np.float32)
    launch(path, "transpose", (2, 2), (32, 8), x, out, 50, 40)
    np.testing.assert_array_equal(out, x.T)


@compiled("matmul_tiled")
def test_matmul(path: Path) -> None:
    a, b = (rng().integers(-4, 5, shape).astype(np.float32) for shape in ((18, 20), (20, 17)))
    c = np.zeros((18, 17), np.float32)
    launch(path, "matmul_tiled", (2, 2), (16, 16), a, b, c, 18, 17, 20)
    np.testing.assert_array_equal(c, a @ b)


@compiled("const_global")
def test_module_variables(path: Path) -> None:
    n = 12
    x = np.linspace(-1, 1, n).astype(np.float32)
    out, ints, text = x.copy(), np.zeros(n, np.int32), np.zeros(n, np.int8)
    image, offsets = launch(path, "use_globals", 1, 32, out, ints, text, n)
    table = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, 0]], np.float32)
    i = np.arange(n)
    p = np.polynomial.polynomial.polyval(x.astype(np.float64), [1, -0.5, 0.25, -0.125, 0.0625])
    np.testing.assert_allclose(out, p + table[i & 3, i % 3] + 6 + 2.5 + 0.25, rtol=1e-6)
    words = ["one", "two", "warp\tand weft\n"]
    assert bytes(text.view(np.uint8)).decode() == "".join(words[k % 3][k & 1] for k in range(n))
    counter = offsets["counter"]
    assert int.from_bytes(image[counter : counter + 4].tobytes(), "little") == 43


@compiled("reduce_shuffle")
def test_block_reduction(path: Path) -> None:
    x = rng().standard_normal(64, dtype=np.float32)
    partial = np.zeros(1, np.float32)
    launch(path, "reduce_sum", 1, 64, x, partial, 64)
    warps = np.zeros(32, np.float32)
    warps[:2] = shuffled_sum(x[:32]), shuffled_sum(x[32:])
    assert partial[0] == shuffled_sum(warps)


@compiled("switch_table")
def test_jump_tables(path: Path) -> None:
    code = np.array([0, 2, 3, 4, 5, 7, 1, 6, 8, 10, 11, 14, 15, 12, 0], np.uint8)
    inputs = rng().integers(-1000, 1000, 8, dtype=np.int32)
    out = np.zeros(8, np.int32)
    launch(path, "interpret", 2, 4, code, inputs, out, len(code))
    np.testing.assert_array_equal(out, [_interpret(code, inputs, i, 2) for i in range(8)])


def _interpret(code: np.ndarray, inputs: np.ndarray, i: int, grid: int) -> int:
    def wrap(v: int) -> int:
        return (v + (1 << 31)) % (1 << 32) - (1 << 31)

    acc, aux = int(inputs[i]), i
    for op in map(int, code):
        if op == 0:
            acc = wrap(acc + aux)
        elif op == 1:
            acc = wrap(acc - aux)
        elif op == 2:
            acc = wrap(acc * 3)
        elif op == 3:
            acc = acc ^ wrap(aux << 2)
        elif op == 4:
            aux = acc >> 3
        elif op == 5:
            acc = ~acc
        elif op == 6:
            aux = abs(acc) % 17 * (1 if acc >= 0 else -1)
        elif op == 7:
            acc, aux = aux, acc
        elif op == 8:
            acc = wrap(abs(acc))
        elif op == 10:
            acc = wrap(acc | 1 << (aux & 31))
        elif op == 12:
            acc = wrap(acc + int(inputs[aux % (1 << 32) % grid]))
        elif op > 13:
            aux += op
    return acc


@compiled("half_math")
def test_half_axpy(path: Path) -> None:
    x, y = (rng().standard_normal(32).astype(np.float16) for _ in range(2))
    a = np.float16(1.5)
    out = y.copy()
    launch(path, "half_axpy", 1, 32, a.tobytes(), x, out, 32)
    # The exact sum has at most 43 bits: double precision holds it.
    np.testing.assert_array_equal(out, (np.float64(a) * x + y.astype(np.float64)).astype(np.float16))
