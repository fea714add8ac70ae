"""OpenCL C beyond 1.2: halves, atomics of floats and of C11, sub-groups; NumPy says what comes out."""

from functools import cache

import numpy as np
import pytest

import drawloom
from drawloom.cuda import compile_opencl

HALVES = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#ifndef cl_khr_fp16
#error "no halves"
#endif
kernel void arithmetic(global half *out, global const half *a, global const half *b, half c, int n) {
  int i = get_global_id(0);
  half x = a[i], y = b[i];
  out[i] = x + y;
  out[n + i] = x * y - c;
  out[2 * n + i] = x / y;
  out[3 * n + i] = sqrt(fabs(x));
  out[4 * n + i] = fma(x, y, c);
  out[5 * n + i] = fmax(x, y) - fmin(x, 0.5h);
  out[6 * n + i] = convert_half_rtz(1.0f / 3) + convert_half(i) + (half)convert_int_rte(x);
  out[7 * n + i] = isgreater(x, y) ? nextafter(x, y) : select(x, y, (short)(x < c));
}
kernel void functions(global half *out, global const half *a, int n) {
  int i = get_global_id(0);
  half x = a[i];
  out[i] = exp(x);
  out[n + i] = sin(x);
  out[2 * n + i] = log2(fabs(x));
  out[3 * n + i] = tanh(x);
  out[4 * n + i] = pow(fabs(x), 0.75h);
  half4 v = vload4(0, a + i / 4 * 4), w = v.wzyx * v + (half4)(1, 2, 3, 4);
  out[5 * n + i] = w.s0 + exp(v).s1;
  out[6 * n + i] = dot(v, v);
  out[7 * n + i] = convert_float4(w).s3;
}
"""
N = 256


@cache
def module(source: str, standard: str = "CL1.2") -> drawloom.Module:
    return drawloom.load(compile_opencl(source, standard=standard), device="cpu")


def halves(seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).uniform(-3, 3, N).astype(np.float16)
    drawn[drawn == 0] = 1
    return drawn


def ulp(value: np.ndarray) -> np.ndarray:
    spacing: np.ndarray = np.abs(np.spacing(value.astype(np.float16)).astype(float))
    return np.maximum(spacing, 2.0**-24)


def test_half_arithmetic_is_rounded_once() -> None:
    a, b, c = halves(1), halves(2), np.float16(0.3)
    out = np.zeros((8, N), np.float16)
    module(HALVES)["arithmetic"][N // 64, 64](out, a, b, c, N)
    x, y = a.astype(float), b.astype(float)
    third = np.nextafter(np.float16(1 / 3), np.float16(0)) if np.float16(1 / 3) > 1 / 3 else np.float16(1 / 3)
    numbers = np.arange(N).astype(np.float16)
    expected = [
        (x + y).astype(np.float16),
        None,
        (x / y).astype(np.float16),
        np.sqrt(np.abs(x)).astype(np.float16),
        (x * y + float(c)).astype(np.float16),
        np.maximum(a, b) - np.minimum(a, np.float16(0.5)),
        (third + numbers) + np.rint(a),
        np.where(a > b, np.nextafter(a, b), np.where(a < c, b, a)),
    ]
    for row, wanted in enumerate(expected):
        if wanted is not None:
            np.testing.assert_array_equal(out[row], wanted, str(row))
    # A product and a difference may be one operation, whose result is at most a unit from that of two.
    fused = (x * y - float(c)).astype(np.float16)
    twice = a * b - c
    assert ((out[1] == fused) | (out[1] == twice)).all()


def test_half_functions_are_within_a_unit() -> None:
    a = halves(3)
    out = np.zeros((8, N), np.float16)
    module(HALVES)["functions"][N // 64, 64](out, a, N)
    x = a.astype(float)
    v = x.reshape(-1, 4)
    w = v[:, ::-1] * v + [1, 2, 3, 4]
    exact = [np.exp(x), np.sin(x), np.log2(np.abs(x)), np.tanh(x), np.abs(x) ** 0.75]
    for row, wanted in enumerate(exact):
        assert (np.abs(out[row] - wanted) <= ulp(wanted)).all(), row
    first = np.repeat(w[:, 0] + np.exp(v[:, 1]), 4)
    # Each of the two terms and the sum may be off by a unit of the largest of them.
    largest = ulp(np.repeat(np.maximum(np.abs(w[:, 0]), np.exp(v[:, 1])) + np.abs(first[::4]), 4))
    assert (np.abs(out[5] - first) <= 2.5 * largest).all()
    assert (np.abs(out[6] - np.repeat((v * v).sum(1), 4)) <= ulp(np.repeat((v * v).sum(1), 4))).all()
    assert (np.abs(out[7] - np.repeat(w[:, 3], 4)) <= 2 * ulp(np.repeat(np.abs(w[:, 3]) + 4, 4))).all()


ATOMICS = """
kernel void floats(global float *out, global const float *in, local float *sum) {
  if (get_local_id(0) == 0) *sum = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  float x = in[get_global_id(0)];
  atomic_add(&out[0], x);
  atomic_sub(&out[1], x);
  atomic_max(&out[2], x);
  atomic_min(&out[3], x);
  atomic_max(&out[4], -1 - fabs(x));
  atomic_min(&out[5], 1 + fabs(x));
  atomic_max(&out[6], x);
  atomic_min(&out[7], x > 0 ? x : NAN);
  atomic_add(sum, x);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_add(&out[8], *sum);
}
kernel void doubles(global double *out, global const float *in) {
  double x = in[get_global_id(0)];
  atomic_add(&out[0], x);
  atomic_max(&out[1], x);
  atomic_min(&out[2], x);
}
// As people add floats in 1.2.
kernel void swapped(global float *out, global const float *in) {
  volatile global uint *word = (volatile global uint *)out;
  uint old, seen = *word;
  do {
    old = seen;
    seen = atomic_cmpxchg(word, old, as_uint(as_float(old) + in[get_global_id(0)]));
  } while (seen != old);
}
"""


def whole_numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1000, 1000, N).astype(np.float32)


@pytest.mark.parametrize("block", [32, 64, 128])
def test_float_atomics(block: int) -> None:
    x = whole_numbers(4)
    out = np.array([5, 5, -2000, 2000, -np.inf, np.inf, np.nan, np.nan, 0], np.float32)
    module(ATOMICS)["floats"][N // block, block, 4](out, x, 4)
    near, least = np.abs(x).min(), x[x > 0].min()
    assert out.tolist() == [5 + x.sum(), 5 - x.sum(), x.max(), x.min(), -1 - near, 1 + near, x.max(), least, x.sum()]


def test_double_atomics_and_loops_of_compare_and_swap() -> None:
    x = whole_numbers(5)
    out = np.array([0.25, -2000, 2000])
    module(ATOMICS)["doubles"][N // 64, 64](out, x)
    assert out.tolist() == [0.25 + x.sum(), x.max(), x.min()]
    total = np.array([0.5], np.float32)
    module(ATOMICS)["swapped"][N // 64, 64](total, x)
    assert total[0] == 0.5 + x.sum()


C11 = """
kernel void k(global atomic_float *f, global atomic_int *n, global atomic_ulong *u, global atomic_double *d,
              global const float *in, global atomic_flag *lock, global int *plain) {
  local atomic_int there;
  if (get_local_id(0) == 0) atomic_init(&there, 0);
  work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
  float x = in[get_global_id(0)];
  atomic_fetch_add(f, x);
  atomic_fetch_add_explicit(f + 1, x, memory_order_relaxed);
  atomic_fetch_max_explicit(f + 2, x, memory_order_acq_rel, memory_scope_device);
  atomic_fetch_min(f + 3, x);
  atomic_fetch_add(n, 1);
  atomic_fetch_sub_explicit(n + 1, 2, memory_order_release, memory_scope_work_group);
  atomic_fetch_or(n + 2, 1 << get_local_id(0) % 8);
  atomic_fetch_xor_explicit(n + 3, 5, memory_order_relaxed);
  atomic_fetch_max(n + 4, (int)x);
  atomic_fetch_add(u, 1ul << 33);
  atomic_fetch_add(d, (double)x);
  atomic_fetch_add(&there, 1);
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_store(n + 5 + get_group_id(0), atomic_load(&there));
  if (get_global_id(0) == 0) {
    int expected = 7;
    bool swapped = atomic_compare_exchange_strong(n + 9, &expected, 8);
    plain[0] = expected + 100 * swapped;
    swapped = atomic_compare_exchange_weak_explicit(n + 9, &expected, 8, memory_order_acquire, memory_order_relaxed);
    plain[1] = atomic_exchange(n + 9, 11) + 100 * swapped;
    plain[2] = atomic_flag_test_and_set(lock) + 10 * atomic_flag_test_and_set_explicit(lock, memory_order_relaxed);
    atomic_flag_clear(lock);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device);
    plain[3] = atomic_flag_test_and_set(lock);
  }
}
"""


@pytest.mark.parametrize("standard", ["CL2.0", "CL3.0"])
def test_atomics_of_c11(standard: str) -> None:
    x = whole_numbers(6)
    f = np.array([0, 1, -2000, 2000], np.float32)
    n, u, d = np.zeros(16, np.int32), np.zeros(1, np.uint64), np.zeros(1)
    n[9] = 3
    plain, lock = np.zeros(4, np.int32), np.zeros(1, np.int32)
    module(C11, standard)["k"][4, 64](f, n, u, d, x, lock, plain)
    assert f.tolist() == [x.sum(), 1 + x.sum(), x.max(), x.min()]
    assert n.tolist()[:10] == [N, -2 * N, 255, 0, x.max(), 64, 64, 64, 64, 11]
    assert u[0] == N << 33 and d[0] == x.sum()
    assert plain.tolist() == [3, 8 + 100, 10, 0]


SUB_GROUPS = """
#define PUT(row, value) out[(row) * get_global_size(0) * get_global_size(1) + i] = (value)
kernel void numbers(global int *out, global const int *in) {
  int i = get_global_linear_id();
  PUT(0, get_sub_group_id());
  PUT(1, get_sub_group_local_id());
  PUT(2, get_sub_group_size());
  PUT(3, get_num_sub_groups() * 100 + get_max_sub_group_size());
}
kernel void reduced(global int *out, global const int *in) {
  int i = get_global_linear_id(), x = in[i];
  PUT(0, sub_group_reduce_add(x));
  PUT(1, sub_group_reduce_min(x));
  PUT(2, convert_int(sub_group_reduce_max((float)x)));
  PUT(3, sub_group_scan_inclusive_add(x));
  PUT(4, sub_group_scan_exclusive_add((long)x));
  PUT(5, sub_group_scan_inclusive_max(x));
  PUT(6, max(sub_group_scan_exclusive_min((short)x), (short)-1000));
  PUT(7, (int)sub_group_reduce_add((double)x));
}
kernel void moved(global int *out, global const int *in) {
  int i = get_global_linear_id(), x = in[i], lane = get_sub_group_local_id(), size = get_sub_group_size();
  PUT(0, sub_group_broadcast(x, 3));
  PUT(1, sub_group_shuffle(x, size - 1 - lane));
  PUT(2, size % 2 ? x : convert_int(sub_group_shuffle_xor((double)x, 1)));
  int up = sub_group_shuffle_up(x, 2);
  PUT(3, lane >= 2 ? up : 0);
  int4 v = (int4)(x, x + 1, x + 2, x + 3), down = size == 32 ? sub_group_shuffle_down(v, 1) : v;
  PUT(4, lane == 31 ? 0 : down.w);
  PUT(5, sub_group_rotate(x, 5));
  PUT(6, sub_group_broadcast_first(x));
}
kernel void voted(global int *out, global const int *in) {
  int i = get_global_linear_id(), x = in[i];
  uint4 votes = sub_group_ballot(x > 0);
  PUT(0, votes.x);
  PUT(1, sub_group_ballot_bit_count(votes));
  PUT(2, sub_group_ballot_exclusive_scan(votes));
  PUT(3, sub_group_inverse_ballot(votes) == (x > 0) && sub_group_ballot_bit_extract(votes, 1) == (votes.x >> 1 & 1));
  PUT(4, sub_group_any(x > 90) * 2 + sub_group_all(x > -100));
  PUT(5, votes.x ? 100 * sub_group_ballot_find_msb(votes) + sub_group_ballot_find_lsb(votes) : -1);
  PUT(6, popcount(get_sub_group_ge_mask().x) + 100 * popcount(get_sub_group_lt_mask().x));
  int odd = 0;
  if (x & 1) odd = sub_group_non_uniform_any(x & 1) + 10 * sub_group_elect();
  sub_group_barrier(CLK_LOCAL_MEM_FENCE);
  PUT(7, odd);
}
"""
#: Work-groups of whole sub-groups, of one that is not full, and of two dimensions.
GROUPS = [(64, 1, 1), (40, 1, 1), (12, 4, 1), (5, 1, 1)]


def by_sub_groups(values: np.ndarray, block: tuple[int, int, int]) -> list[np.ndarray]:
    """The values of the work-items of each sub-group of a row of blocks, as the kernels number them."""
    size = block[0] * block[1]
    return [values[g : g + size][s : s + 32] for g in range(0, len(values), size) for s in range(0, size, 32)]


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("block", GROUPS, ids=repr)
@pytest.mark.parametrize("kernel", ["numbers", "reduced", "moved", "voted"])
def test_sub_groups(kernel: str, block: tuple[int, int, int], device: str) -> None:
    size = block[0] * block[1]
    groups = 3 if block[1] == 1 else 1  # of several rows only one, so that linear ids are in order
    x = np.random.default_rng(7).integers(-99, 100, groups * size).astype(np.int32)
    out = np.zeros((8, x.size), np.int32)
    drawloom.load(sub_groups(), device=device)[kernel][groups, block](out, x)
    expected = [np.concatenate(rows) for rows in zip(*[ROWS[kernel](p, size) for p in numbered(x, block)], strict=True)]
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(out[row], wanted, str(row))


@cache
def sub_groups() -> "drawloom.ptx.Module":
    return compile_opencl(SUB_GROUPS)


def numbered(x: np.ndarray, block: tuple[int, int, int]) -> list[tuple[int, np.ndarray]]:
    """Each sub-group's number in its work-group, and its values."""
    count = -(-block[0] * block[1] // 32)
    return [(k % count, part) for k, part in enumerate(by_sub_groups(x, block))]


Rows = list[np.ndarray]


def numbers(part: tuple[int, np.ndarray], size: int) -> Rows:
    number, x = part
    ones = np.ones_like(x)
    return [number * ones, np.arange(x.size), x.size * ones, (-(-size // 32) * 100 + min(size, 32)) * ones]


def reduced(part: tuple[int, np.ndarray], size: int) -> Rows:
    x = part[1]
    ones = np.ones_like(x)
    before = np.concatenate([[1000], np.minimum.accumulate(x)[:-1]])
    before[0] = 32767
    return [
        x.sum() * ones, x.min() * ones, x.max() * ones, np.cumsum(x), np.cumsum(x) - x, np.maximum.accumulate(x),
        before, x.sum() * ones,
    ]  # fmt: skip


def moved(part: tuple[int, np.ndarray], size: int) -> Rows:
    x = part[1]
    lanes = np.arange(x.size)
    ones = np.ones_like(x)
    across = x if x.size % 2 else x[lanes ^ 1]  # what is not there has no value
    below = np.append(x[1:], -3) + 3 if x.size == 32 else x + 3
    return [
        x[3] * ones, x[::-1], across, np.where(lanes >= 2, x[lanes - 2], 0),
        below, x[(lanes + 5) % x.size], x[0] * ones,
    ]  # fmt: skip


def voted(part: tuple[int, np.ndarray], size: int) -> Rows:
    x = part[1]
    lanes = np.arange(x.size)
    ones = np.ones_like(x)
    positive = np.flatnonzero(x > 0)
    votes = np.uint32(sum(1 << int(lane) for lane in positive)).astype(np.int32)
    odd = np.flatnonzero(x & 1)
    chosen = np.where(lanes == (odd[0] if odd.size else -1), 11, 1)
    found = 100 * positive[-1] + positive[0] if positive.size else -1
    return [
        votes * ones, positive.size * ones, np.cumsum(x > 0) - (x > 0), ones,
        ((x > 90).any() * 2 + (x > -100).all()) * ones, found * ones, x.size - lanes + 100 * lanes,
        np.where(x & 1, chosen, 0),
    ]  # fmt: skip


ROWS = {"numbers": numbers, "reduced": reduced, "moved": moved, "voted": voted}
