// prints: last block: 0 of 1 wrong
// Blocks leave sums and a fence; the one that counts last adds them up.
#include "check.h"

__device__ unsigned finished;
__device__ volatile long long sums[64];

__global__ void sum(const int *in, int n, long long *out) {
  __shared__ long long part[128];
  __shared__ bool last;
  int t = threadIdx.x;
  long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += in[i];
  part[t] = mine;
  __syncthreads();
  for (int half = 64; half; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) {
    sums[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    long long all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += sums[b];
    *out = all;
  }
}

int main() {
  const int n = 30000;
  static int in[n];
  long long expected = 0, got = 0;
  for (int i = 0; i < n; ++i) expected += in[i] = mixed(i) & 0x7fffffff;
  int *din = on_device(in, n);
  long long *out = on_device<long long>(nullptr, 1);
  sum<<<64, 128>>>(din, n, out);
  sum<<<64, 128>>>(din, n, out);
  to_host(&got, out, 1);
  return report("last block", got != expected, 1);
}
