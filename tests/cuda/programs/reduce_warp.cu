// prints: maximum, sum, minimum: 0 of 3 wrong
// Shuffles inside warps, one shared word per warp, the last warp reduces those.
#include "check.h"

struct Add { __device__ static int of(int a, int b) { return a + b; } };
struct Max { __device__ static int of(int a, int b) { return a > b ? a : b; } };
struct Min { __device__ static int of(int a, int b) { return a < b ? a : b; } };

template <class Op> __device__ int over_warp(int value) {
  for (int offset = 16; offset; offset /= 2) value = Op::of(value, __shfl_down_sync(0xffffffffu, value, offset));
  return value;
}

template <class Op> __global__ void reduce(const int *in, int n, int *out) {
  __shared__ int warps[32];
  int value = in[0];
  bool first = true;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    value = first ? in[i] : Op::of(value, in[i]);
    first = false;
  }
  value = over_warp<Op>(value);
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  if (lane == 0) warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = over_warp<Op>(warps[lane]);
    if (lane == 0) *out = value;
  }
}

int main() {
  const int n = 20000;
  static int in[n];
  int sum = 0, most = 0, least = 1 << 30, got[3];
  for (int i = 0; i < n; ++i) {
    in[i] = mixed(i * 3) % 100000;
    sum += in[i];
    if (in[i] > most) most = in[i];
    if (in[i] < least) least = in[i];
  }
  int *din = on_device(in, n), *dout = on_device<int>(nullptr, 3);
  reduce<Max><<<1, 1024>>>(din, n, dout);
  reduce<Add><<<1, 1024>>>(din, n, dout + 1);
  reduce<Min><<<1, 1024>>>(din, n, dout + 2);
  to_host(got, dout, 3);
  return report("maximum, sum, minimum", (got[0] != most) + (got[1] != sum) + (got[2] != least), 3);
}
