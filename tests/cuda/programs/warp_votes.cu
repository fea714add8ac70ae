// prints: votes: 0 of 256 wrong
// Ballots, any, all, matches, stream compaction inside a warp by the count of lower lanes, and lanes that come to one
// vote from both sides of a branch.
#include "check.h"

__global__ void vote(const int *in, unsigned *out, int *kept, int *count) {
  int t = threadIdx.x, lane = t % 32;
  bool odd = in[t] & 1;
  unsigned ballot = __ballot_sync(~0u, odd);
  unsigned flags = __any_sync(~0u, in[t] == 3) | __all_sync(~0u, in[t] < 1000) << 1;
  unsigned same = __match_any_sync(~0u, in[t] % 4);
  out[t] = ballot ^ same ^ flags;
  int base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(ballot));
  base = __shfl_sync(~0u, base, 0);
  if (odd) kept[base + __popc(ballot & ((1u << lane) - 1))] = in[t];
}

__device__ __noinline__ unsigned meet(bool flag) { return __ballot_sync(~0u, flag); }

__global__ void apart(unsigned *out, int bound) {
  __shared__ unsigned first[8];
  int t = threadIdx.x, lane = t % 32;
  unsigned got = t;
  out[t] = 1;
  if (lane < bound) {
    got += __ballot_sync(~0u, lane % 3 == 0);
    for (int i = 0; i < lane; ++i) got += i;
    got ^= meet(lane % 5 == 0);
  } else {
    got += __ballot_sync(~0u, lane % 2 == 0);
    got ^= meet(lane % 7 == 0);
  }
  if (lane == 0) first[t / 32] = got;
  __syncthreads();
  out[t] += got + first[(t / 32 + 1) % (blockDim.x / 32)];
}

int main() {
  const int n = 256;
  int in[n], kept[n], count = 0;
  unsigned got[n];
  for (int i = 0; i < n; ++i) in[i] = mixed(i) % 100;
  int *din = on_device(in, n), *dkept = on_device<int>(nullptr, n), *dcount = on_device(&count, 1);
  unsigned *dout = on_device<unsigned>(nullptr, n);
  vote<<<1, n>>>(din, dout, dkept, dcount);
  to_host(got, dout, n);
  to_host(&count, dcount, 1);
  to_host(kept, dkept, count);
  long wrong = 0, sum = 0, kept_sum = 0;
  for (int t = 0; t < n; ++t) {
    unsigned ballot = 0, same = 0, any = 0;
    for (int k = 0; k < 32; ++k) {
      int other = in[t / 32 * 32 + k];
      ballot |= unsigned(other & 1) << k;
      same |= unsigned(other % 4 == in[t] % 4) << k;
      any |= other == 3;
    }
    wrong += got[t] != (ballot ^ same ^ (any | 2));
    if (in[t] & 1) sum += in[t];
  }
  apart<<<1, n>>>(dout, 10);
  to_host(got, dout, n);
  unsigned one = 0, two = 0;
  for (int k = 0; k < 32; ++k) {
    one |= unsigned(k % (k < 10 ? 3 : 2) == 0) << k;
    two |= unsigned(k % (k < 10 ? 5 : 7) == 0) << k;
  }
  for (int t = 0; t < n; ++t) {
    unsigned lane = t % 32, other = (t / 32 + 1) % 8 * 32;
    unsigned sum = lane < 10 ? lane * (lane - 1) / 2 : 0;
    wrong += got[t] != 1 + ((t + one + sum) ^ two) + ((other + one) ^ two);
  }
  for (int i = 0; i < count; ++i) kept_sum += kept[i];
  return report("votes", wrong + (sum != kept_sum), n);
}
