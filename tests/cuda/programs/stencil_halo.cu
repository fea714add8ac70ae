// prints: stencil: 0 of 30000 wrong
// A sum over 7 neighbours, with a halo in shared memory.
#include "check.h"

const int kRadius = 3, kBlock = 128;

__global__ void stencil(const int *in, int *out, int n) {
  __shared__ int cells[kBlock + 2 * kRadius];
  int i = blockIdx.x * kBlock + threadIdx.x, s = threadIdx.x + kRadius;
  auto at = [&](int j) { return j >= 0 && j < n ? in[j] : 0; };
  cells[s] = at(i);
  if (threadIdx.x < kRadius) {
    cells[s - kRadius] = at(i - kRadius);
    cells[s + kBlock] = at(i + kBlock);
  }
  __syncthreads();
  int sum = 0;
  for (int k = -kRadius; k <= kRadius; ++k) sum += cells[s + k];
  if (i < n) out[i] = sum;
}

int main() {
  const int n = 30000;
  static int in[n], out[n];
  for (int i = 0; i < n; ++i) in[i] = mixed(i) % 1000;
  int *din = on_device(in, n), *dout = on_device<int>(nullptr, n);
  stencil<<<(n + kBlock - 1) / kBlock, kBlock>>>(din, dout, n);
  to_host(out, dout, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    int sum = 0;
    for (int k = -kRadius; k <= kRadius; ++k)
      if (i + k >= 0 && i + k < n) sum += in[i + k];
    wrong += out[i] != sum;
  }
  return report("stencil", wrong, n);
}
