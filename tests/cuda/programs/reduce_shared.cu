// prints: sum 5043611 of 9999
// A tree over shared memory in each block, and one atomic per block.
#include "check.h"

__global__ void reduce(const int *in, int n, int *out) {
  __shared__ int part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

int main() {
  const int n = 9999;
  int in[n], out = 0;
  long expected = 0;
  for (int i = 0; i < n; ++i) expected += in[i] = mixed(i) % 1000;
  int *din = on_device(in, n), *dout = on_device(&out, 1);
  reduce<<<(n + 255) / 256, 256>>>(din, n, dout);
  to_host(&out, dout, 1);
  printf("sum %d of %d\n", out, n);
  return out != expected;
}
