// prints: device heap: 0 of 64 wrong
// Kernels take memory with malloc and leave it to a later kernel, which frees it.
#include "check.h"

__global__ void take(int **rows) {
  int t = threadIdx.x;
  rows[t] = (int *)malloc((t + 1) * sizeof(int));
  for (int i = 0; rows[t] && i <= t; ++i) rows[t][i] = i * t;
}

__global__ void give(int **rows, int *sums) {
  int t = threadIdx.x, sum = 0;
  for (int i = 0; rows[t] && i <= t; ++i) sum += rows[t][i];
  free(rows[t]);
  sums[t] = sum;
}

int main() {
  int **rows = on_device<int *>(nullptr, 64), *sums = on_device<int>(nullptr, 64), got[64];
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
  take<<<1, 64>>>(rows);
  give<<<1, 64>>>(rows, sums);
  to_host(got, sums, 64);
  long wrong = 0;
  for (int t = 0; t < 64; ++t) wrong += got[t] != t * t * (t + 1) / 2;
  return report("device heap", wrong, 64);
}
