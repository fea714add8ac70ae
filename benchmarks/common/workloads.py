"""The ten kernels of the CPU benchmark: their data, how each side is called, and the check of every result.

A workload's tolerance is derived from the number and size of its rounding errors (u = 2**-24, the unit
roundoff of float32; Higham, Accuracy and Stability of Numerical Algorithms, section 3.1: n operations stay
within n u / (1 - n u) of the sum of magnitudes), never fitted to what came out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.peers import CPeer, DrawloomPeer, NumbaPeer, OpenCLPeer

U = 2.0**-24
Array = NDArray[Any]


def aligned(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """Zeroed memory that starts on a page, as an allocator made for kernels gives it, to every side alike."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(count + 4096, np.uint8)
    start = -raw.ctypes.data % 4096
    memory: Array = raw[start : start + count].view(dtype).reshape(shape)
    return memory


def filled(values: Array) -> Array:
    out = aligned(values.shape, values.dtype)
    out[...] = values
    return out


class Workload:
    """One kernel: subclasses allocate their arrays in `__init__`; `what` says how much work it is."""

    name = ""
    what = ""

    def __init__(self, random: np.random.Generator) -> None:
        raise NotImplementedError

    def prepare(self) -> None:
        """Puts back what a run needs to start from; not timed."""

    def check(self) -> None:
        """Raises AssertionError when the arrays do not hold the result."""
        raise NotImplementedError

    def c(self, peer: CPeer) -> Callable[[], None]:
        raise NotImplementedError

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        raise NotImplementedError

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        raise NotImplementedError

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        raise NotImplementedError


def within(found: Array, exact: Array, bound: Array | float) -> None:
    """Asserts |found - exact| <= bound everywhere; NaN fails."""
    error = np.abs(found.astype(np.float64) - exact)
    good = error <= bound
    if not good.all():
        place = int(np.argmin(good))
        limit = np.broadcast_to(bound, error.shape).reshape(-1)[place]
        raise AssertionError(f"element {place} is off by {error.reshape(-1)[place]:.3g}, allowed {limit:.3g}")


class VecAdd(Workload):
    name = "vecadd"
    what = "2^24 floats"

    def __init__(self, random: np.random.Generator) -> None:
        self.n = 1 << 24
        self.a = filled(random.random(self.n, np.float32))
        self.b = filled(random.random(self.n, np.float32))
        self.out = aligned(self.n, np.float32)

    def check(self) -> None:
        np.testing.assert_array_equal(self.out, self.a + self.b)

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("vecadd", self.a, self.b, self.out, self.n)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("vecadd", self.a, self.b, self.out)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        return peer.call("vecadd", (self.n // 256,), (256,), self.a, self.b, self.out, self.n)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        return peer.call("vecadd", (self.n // 256,), (256,), self.a, self.b, self.out, self.n)


class Saxpy(Workload):
    name = "saxpy"
    what = "2^24 floats"

    def __init__(self, random: np.random.Generator) -> None:
        self.n = 1 << 24
        self.a = 2.5
        self.x = filled(random.random(self.n, np.float32))
        self.start = random.random(self.n, np.float32)
        self.y = aligned(self.n, np.float32)

    def prepare(self) -> None:
        self.y[:] = self.start

    def check(self) -> None:
        x, y = self.x.astype(np.float64), self.start.astype(np.float64)
        within(self.y, self.a * x + y, 2 * U * (self.a * x + np.abs(self.a * x + y)) * (1 + U))

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("saxpy", self.a, self.x, self.y, self.n)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("saxpy", self.a, self.x, self.y)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        return peer.call("saxpy", (self.n // 256,), (256,), self.a, self.x, self.y, self.n)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        return peer.call("saxpy", (self.n // 256,), (256,), self.a, self.x, self.y, self.n)


class Jacobi(Workload):
    name = "jacobi9"
    what = "4096 x 4096 floats, one sweep"

    def __init__(self, random: np.random.Generator) -> None:
        self.n = 4096
        self.weights = (0.5, 0.1, 0.025)
        self.src = filled(random.random((self.n, self.n), np.float32))
        self.dst = filled(self.src)

    def check(self) -> None:
        s = self.src.astype(np.float64)
        centre, edge, corner = (float(np.float32(w)) for w in self.weights)
        cross = s[1:-1, :-2] + s[1:-1, 2:] + s[:-2, 1:-1] + s[2:, 1:-1]
        diagonal = s[:-2, :-2] + s[:-2, 2:] + s[2:, :-2] + s[2:, 2:]
        exact = centre * s[1:-1, 1:-1] + edge * cross + corner * diagonal
        within(self.dst[1:-1, 1:-1], exact, 8 * U * exact)  # at most 8 roundings on any path; all terms positive
        np.testing.assert_array_equal(self.dst[0], self.src[0])

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("jacobi9", self.src, self.dst, self.n, self.n, *self.weights)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("jacobi9", self.src, self.dst, *self.weights)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        grid = (self.n // 32, self.n // 8)
        return peer.call("jacobi9", grid, (32, 8), self.src, self.dst, self.n, self.n, *self.weights)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        grid = (self.n // 32, self.n // 8)
        return peer.call("jacobi9", grid, (32, 8), self.src, self.dst, self.n, self.n, *self.weights)


class MatMul(Workload):
    name = "matmul"
    what = "1024 x 1024 x 1024 floats"

    def __init__(self, random: np.random.Generator) -> None:
        self.n = n = 1024
        self.a = filled(random.random((n, n), np.float32) - np.float32(0.5))
        self.b = filled(random.random((n, n), np.float32) - np.float32(0.5))
        self.out = aligned((n, n), np.float32)

    def check(self) -> None:
        a, b = self.a.astype(np.float64), self.b.astype(np.float64)
        within(self.out, a @ b, (self.n + 1) * U * (np.abs(a) @ np.abs(b)))

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("matmul", self.a, self.b, self.out, self.n, self.n, self.n)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("matmul", self.a, self.b, self.out)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        tiles = self.n // 16
        return peer.call("matmul", (tiles, tiles), (16, 16), self.a, self.b, self.out, self.n, self.n, self.n)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        tiles = self.n // 16
        return peer.call("matmul", (tiles, tiles), (16, 16), self.a, self.b, self.out, self.n, self.n, self.n)


class Reduce(Workload):
    name = "reduce"
    what = "2^24 floats to 256 sums"

    def __init__(self, random: np.random.Generator) -> None:
        self.n, self.parts = 1 << 24, 256
        self.x = filled(random.random(self.n, np.float32))
        self.partial = aligned(self.parts, np.float32)

    def check(self) -> None:
        # The longest chain of additions: a thread's 256 elements and 10 shuffle steps on the GPU's side, a
        # lane's share of 65536 elements on the others'; the sum of the parts is exact in float64.
        exact = self.x.sum(dtype=np.float64)
        found = self.partial.sum(dtype=np.float64)
        bound = (self.n // self.parts) * U * exact
        assert abs(found - exact) <= bound, f"the sum is {found!r}, exactly {exact!r}, allowed {bound:.3g}"

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("reduce", self.x, self.partial, self.n, self.parts)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("reduce", self.x, self.partial)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        return peer.call("reduce", (self.parts,), (256,), self.x, self.partial, self.n)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        return peer.call("reduce", (self.parts,), (256,), self.x, self.partial, self.n)


class Histogram(Workload):
    name = "histogram"
    what = "2^24 bytes, 256 bins"

    def __init__(self, random: np.random.Generator) -> None:
        self.n = 1 << 22
        self.words = filled(random.integers(0, 1 << 32, self.n, np.uint32))
        self.bins = aligned(256, np.uint32)

    def prepare(self) -> None:
        self.bins[:] = 0

    def check(self) -> None:
        np.testing.assert_array_equal(self.bins, np.bincount(self.words.view(np.uint8), minlength=256))

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("histogram", self.words, self.bins, self.n)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("histogram", self.words, self.bins)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        return peer.call("histogram", (128,), (256,), self.words, self.bins, self.n)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        return peer.call("histogram", (128,), (256,), self.words, self.bins, self.n)


class NBody(Workload):
    name = "nbody"
    what = "8192 bodies, all pairs"

    def __init__(self, random: np.random.Generator) -> None:
        self.n, self.softening = 8192, 0.01
        self.bodies = filled(random.random((self.n, 4), np.float32))
        self.accel = aligned((self.n, 4), np.float32)

    def check(self) -> None:
        soft = float(np.float32(self.softening))
        b = self.bodies.astype(np.float64)
        for start in range(0, self.n, 512):
            d = b[None, :, :3] - b[start : start + 512, None, :3]
            terms = d * (b[None, :, 3] * (np.sum(d * d, 2) + soft) ** -1.5)[:, :, None]
            # per term: 1 rounding in d, 3 * (4 roundings and 2 units of rsqrt.approx) / 2, 4 products; then the sum
            bound = (self.n + 16) * U * np.abs(terms).sum(1)
            within(self.accel[start : start + 512, :3], terms.sum(1), bound)

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("nbody", self.bodies, self.accel, self.n, self.softening)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("nbody", self.bodies, self.accel, self.softening)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        return peer.call("nbody", (self.n // 256,), (256,), self.bodies, self.accel, self.n, self.softening)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        return peer.call("nbody", (self.n // 256,), (256,), self.bodies, self.accel, self.n, self.softening)


def cdf_polynomial(d: Array) -> Array:
    """The kernels' own approximation of the normal distribution, in float64: what they round from."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    series = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228 * np.exp(-0.5 * d * d) * series
    return np.where(d > 0, 1.0 - tail, tail)


class BlackScholes(Workload):
    name = "black_scholes"
    what = "2^22 options"

    def __init__(self, random: np.random.Generator) -> None:
        self.n, self.rate, self.volatility = 1 << 22, 0.02, 0.3
        self.spot = filled((5 + 25 * random.random(self.n)).astype(np.float32))
        self.strike = filled((1 + 99 * random.random(self.n)).astype(np.float32))
        self.years = filled((0.25 + 9.75 * random.random(self.n)).astype(np.float32))
        self.call_price = aligned(self.n, np.float32)
        self.put_price = aligned(self.n, np.float32)

    def check(self) -> None:
        r, v = float(np.float32(self.rate)), float(np.float32(self.volatility))
        s, x, t = (a.astype(np.float64) for a in (self.spot, self.strike, self.years))
        root = np.sqrt(t)
        log, drift = np.log(s / x), (r + 0.5 * v * v) * t
        d1 = (log + drift) / (v * root)
        d2 = d1 - v * root
        n1, n2, discounted = cdf_polynomial(d1), cdf_polynomial(d2), x * np.exp(-r * t)
        # d: the quotient's rounding under the logarithm, 4 units of log, 4 of the drift, 5 more on the way.
        d_error = U * (1 + 4 * np.abs(log) + 4 * drift) / (v * root) + 5 * U * (np.abs(d1) + v * root)
        # The distribution: its slope is at most 0.4; exp takes d*d/2 (2 roundings, magnitude times that slope at
        # most 0.3) and is itself within 4 units; k and the series add 15 roundings of values whose magnitudes
        # sum to at most 5.5 (the series' coefficients with k <= 1) times 0.4.
        n_error = 0.4 * d_error + (2 * 0.3 + 4 + 15 * 5.5 * 0.4 + 1) * U
        bound = (s + discounted) * (n_error + 4 * U) + discounted * (r * t + 8) * U
        within(self.call_price, s * n1 - discounted * n2, bound)
        within(self.put_price, discounted * (1 - n2) - s * (1 - n1), bound)

    def arrays(self) -> tuple[object, ...]:
        return self.spot, self.strike, self.years, self.call_price, self.put_price, self.rate, self.volatility

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("black_scholes", *self.arrays(), self.n)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("black_scholes", *self.arrays())

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        return peer.call("black_scholes", (self.n // 256,), (256,), *self.arrays(), self.n)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        return peer.call("black_scholes", (self.n // 256,), (256,), *self.arrays(), self.n)


class Transpose(Workload):
    name = "transpose"
    what = "4096 x 4096 floats"

    def __init__(self, random: np.random.Generator) -> None:
        self.n = 4096
        self.src = filled(random.random((self.n, self.n), np.float32))
        self.dst = aligned((self.n, self.n), np.float32)

    def check(self) -> None:
        np.testing.assert_array_equal(self.dst, self.src.T)

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("transpose", self.src, self.dst, self.n, self.n)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("transpose", self.src, self.dst)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        tiles = self.n // 32
        return peer.call("transpose", (tiles, tiles), (32, 8), self.src, self.dst, self.n, self.n)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        tiles = self.n // 32
        return peer.call("transpose", (tiles, tiles), (32, 8), self.src, self.dst, self.n, self.n)


class Scan(Workload):
    name = "scan"
    what = "2^24 integers"

    def __init__(self, random: np.random.Generator) -> None:
        self.n = 1 << 24
        self.blocks = self.n // 1024
        self.src = filled(random.integers(0, 1 << 32, self.n, np.uint32))
        self.dst = aligned(self.n, np.uint32)
        self.status = aligned(self.blocks, np.uint64)
        self.ticket = aligned(1, np.uint32)

    def prepare(self) -> None:
        self.status[:] = 0
        self.ticket[:] = 0

    def check(self) -> None:
        np.testing.assert_array_equal(self.dst, np.cumsum(self.src, dtype=np.uint32))

    def c(self, peer: CPeer) -> Callable[[], None]:
        return peer.call("scan", self.src, self.dst, self.n)

    def numba(self, peer: NumbaPeer) -> Callable[[], None]:
        return peer.call("scan", self.src, self.dst)

    def opencl(self, peer: OpenCLPeer) -> Callable[[], None]:
        state = (self.src, self.dst, self.status, self.ticket)
        return peer.call("scan", (self.blocks,), (256,), *state, self.n // 4)

    def drawloom(self, peer: DrawloomPeer) -> Callable[[], None]:
        state = (self.src, self.dst, self.status, self.ticket)
        return peer.call("scan", (self.blocks,), (256,), *state, self.n // 4)


WORKLOADS: tuple[type[Workload], ...] = (
    VecAdd, Saxpy, Jacobi, MatMul, Reduce, Histogram, NBody, BlackScholes, Transpose, Scan,
)  # fmt: skip
