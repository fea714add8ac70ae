// prints: inclusive scan: 0 of 70000 wrong
// Hillis and Steele in each block, a scan of the blocks' sums, and their addition: three kernels.
#include "check.h"

const int kBlock = 256;

__global__ void scan(const int *in, int *out, int *sums, int n) {
  __shared__ int a[2][kBlock];
  int t = threadIdx.x, i = blockIdx.x * kBlock + t, now = 0;
  a[0][t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < kBlock; step *= 2) {
    a[1 - now][t] = t >= step ? a[now][t] + a[now][t - step] : a[now][t];
    now = 1 - now;
    __syncthreads();
  }
  if (i < n) out[i] = a[now][t];
  if (sums && t == kBlock - 1) sums[blockIdx.x] = a[now][t];
}

__global__ void add(int *out, const int *sums, int n) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (blockIdx.x && i < n) out[i] += sums[blockIdx.x - 1];
}

void scan_all(const int *in, int *out, int n) {
  int blocks = (n + kBlock - 1) / kBlock;
  int *sums = on_device<int>(nullptr, blocks);
  scan<<<blocks, kBlock>>>(in, out, sums, n);
  if (blocks > 1) {
    int *scanned = on_device<int>(nullptr, blocks);
    scan_all(sums, scanned, blocks);
    add<<<blocks, kBlock>>>(out, scanned, n);
    CHECK(cudaFree(scanned));
  }
  CHECK(cudaFree(sums));
}

int main() {
  const int n = 70000;
  static int in[n], out[n];
  for (int i = 0; i < n; ++i) in[i] = mixed(i) % 100;
  int *din = on_device(in, n), *dout = on_device<int>(nullptr, n);
  scan_all(din, dout, n);
  to_host(out, dout, n);
  long wrong = 0;
  int sum = 0;
  for (int i = 0; i < n; ++i) wrong += out[i] != (sum += in[i]);
  return report("inclusive scan", wrong, n);
}
