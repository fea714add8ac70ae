"""The benchmark kernels as Numba `prange` loops: the same algorithms as peers/kernels.c, with the same licence.

gcc contracts to FMA and reassociates where `omp simd reduction` says so; `contract` and `reassoc` give
LLVM the same and no more.
"""

import math

import numba
import numpy as np
from numba import njit, prange

f32 = np.float32
FMA = {"contract"}
SUMS = {"contract", "reassoc", "nsz"}


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def vecadd(a, b, c):
    for i in prange(a.size):
        c[i] = a[i] + b[i]


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def saxpy(a, x, y):
    for i in prange(x.size):
        y[i] = a * x[i] + y[i]


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def jacobi9(src, dst, centre, edge, corner):
    height, width = src.shape
    for y in prange(1, height - 1):
        for x in range(1, width - 1):
            cross = src[y, x - 1] + src[y, x + 1] + src[y - 1, x] + src[y + 1, x]
            diagonal = src[y - 1, x - 1] + src[y - 1, x + 1] + src[y + 1, x - 1] + src[y + 1, x + 1]
            dst[y, x] = centre * src[y, x] + edge * cross + corner * diagonal


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def matmul(a, b, c):
    """Blocks of 64 rows, 32 columns and 256 deep; B's block is copied together, four rows of C share its loads."""
    m, k = a.shape
    n = b.shape[1]
    for block in prange((n + 31) // 32):
        j0 = block * 32
        columns = min(32, n - j0)
        packed = np.zeros((256, 32), f32)
        sums = np.zeros((4, 32), f32)
        for p0 in range(0, k, 256):
            depth = min(256, k - p0)
            for p in range(depth):
                for j in range(columns):
                    packed[p, j] = b[p0 + p, j0 + j]
            for i0 in range(0, m, 4):
                rows = min(4, m - i0)
                for r in range(4):
                    for j in range(32):
                        sums[r, j] = c[i0 + r, j0 + j] if p0 > 0 and r < rows and j < columns else f32(0)
                for p in range(depth):
                    a0 = a[i0, p0 + p]
                    a1 = a[i0 + min(1, rows - 1), p0 + p]
                    a2 = a[i0 + min(2, rows - 1), p0 + p]
                    a3 = a[i0 + min(3, rows - 1), p0 + p]
                    for j in range(32):
                        v = packed[p, j]
                        sums[0, j] += a0 * v
                        sums[1, j] += a1 * v
                        sums[2, j] += a2 * v
                        sums[3, j] += a3 * v
                for r in range(rows):
                    for j in range(columns):
                        c[i0 + r, j0 + j] = sums[r, j]


@njit(parallel=True, error_model="numpy", fastmath=SUMS)
def reduce(x, partial):
    parts = partial.size
    length = (x.size + parts - 1) // parts
    for part in prange(parts):
        total = f32(0)
        for i in range(part * length, min((part + 1) * length, x.size)):
            total += x[i]
        partial[part] = total


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def histogram(words, bins):
    threads = numba.get_num_threads()
    mine = np.zeros((threads, 256), np.uint32)
    length = (words.size + threads - 1) // threads
    for t in prange(threads):
        table = mine[t]
        for i in range(t * length, min((t + 1) * length, words.size)):
            w = words[i]
            table[w & 255] += 1
            table[(w >> 8) & 255] += 1
            table[(w >> 16) & 255] += 1
            table[w >> 24] += 1
    for t in range(threads):
        for i in range(256):
            bins[i] += mine[t, i]


@njit(parallel=True, error_model="numpy", fastmath=SUMS)
def nbody(bodies, accel, softening):
    n = bodies.shape[0]
    px, py, pz, mass = bodies[:, 0].copy(), bodies[:, 1].copy(), bodies[:, 2].copy(), bodies[:, 3].copy()
    for i in prange(n):
        x, y, z = px[i], py[i], pz[i]
        ax = f32(0)
        ay = f32(0)
        az = f32(0)
        for j in range(n):
            dx, dy, dz = px[j] - x, py[j] - y, pz[j] - z
            inv = f32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            scale = mass[j] * inv * inv * inv
            ax += dx * scale
            ay += dy * scale
            az += dz * scale
        accel[i, 0] = ax
        accel[i, 1] = ay
        accel[i, 2] = az
        accel[i, 3] = f32(0)


@njit(error_model="numpy", fastmath=FMA, inline="always")
def _normal_cdf(d):
    k = f32(1) / (f32(1) + f32(0.2316419) * abs(d))
    inner = f32(1.781477937) + k * (f32(-1.821255978) + k * f32(1.330274429))
    series = k * (f32(0.31938153) + k * (f32(-0.356563782) + k * inner))
    tail = f32(0.39894228) * math.exp(f32(-0.5) * d * d) * series
    return f32(1) - tail if d > 0 else tail


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def black_scholes(spot, strike, years, call, put, rate, volatility):
    for i in prange(spot.size):
        s, x, t = spot[i], strike[i], years[i]
        root = math.sqrt(t)
        drift = (rate + f32(0.5) * volatility * volatility) * t
        d1 = (math.log(s / x) + drift) / (volatility * root)
        d2 = d1 - volatility * root
        n1, n2 = _normal_cdf(d1), _normal_cdf(d2)
        discounted = x * math.exp(-rate * t)
        call[i] = s * n1 - discounted * n2
        put[i] = discounted * (f32(1) - n2) - s * (f32(1) - n1)


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def transpose(src, dst):
    height, width = src.shape
    for block in prange((width + 31) // 32):
        x0 = block * 32
        x1 = min(x0 + 32, width)
        tile = np.empty((32, 33), f32)
        for y0 in range(0, height, 32):
            y1 = min(y0 + 32, height)
            for y in range(y0, y1):
                for x in range(x0, x1):
                    tile[y - y0, x - x0] = src[y, x]
            for x in range(x0, x1):
                for y in range(y0, y1):
                    dst[x, y] = tile[y - y0, x - x0]


@njit(parallel=True, error_model="numpy", fastmath=FMA)
def scan(src, dst):
    length = 1 << 16
    blocks = (src.size + length - 1) // length
    start = np.zeros(blocks + 1, np.uint32)
    for b in prange(blocks):
        total = np.uint32(0)
        for i in range(b * length, min((b + 1) * length, src.size)):
            total += src[i]
        start[b + 1] = total
    for b in range(blocks):
        start[b + 1] += start[b]
    for b in prange(blocks):
        total = start[b]
        for i in range(b * length, min((b + 1) * length, src.size)):
            total += src[i]
            dst[i] = total
