// prints: grid barrier: 0 of 2048 wrong
// One cooperative launch in place of thirty: all blocks meet after each step.
#include <cooperative_groups.h>
#include "check.h"

__host__ __device__ int next(const int *cells, int i, int n) {
  return (cells[i] * 3 + cells[(i + 1) % n] + cells[(i + n - 1) % n]) % 1009;
}

__global__ void run(int *a, int *b, int n, int steps) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) b[i] = next(a, i, n);
    grid.sync();
    int *swapped = a;
    a = b;
    b = swapped;
  }
}

int main() {
  const int n = 2048;
  int steps = 30, size = n, host[2][n], got[n], blocks = 0;
  for (int i = 0; i < n; ++i) host[0][i] = mixed(i) % 1009;
  for (int s = 0; s < steps; ++s)
    for (int i = 0; i < n; ++i) host[1 - s % 2][i] = next(host[s % 2], i, n);
  for (int i = 0; i < n; ++i) got[i] = mixed(i) % 1009;
  int *a = on_device(got, n), *b = on_device<int>(nullptr, n);
  void *arguments[] = {&a, &b, &size, &steps};
  long wrong = cudaLaunchCooperativeKernel(run, 1 << 20, 64, arguments) != cudaErrorCooperativeLaunchTooLarge;
  cudaGetLastError();
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, run, 64, 0));
  CHECK(cudaLaunchCooperativeKernel(run, blocks < 12 ? blocks : 12, 64, arguments));
  to_host(got, a, n);
  for (int i = 0; i < n; ++i) wrong += got[i] != host[steps % 2][i];
  return report("grid barrier", wrong, n);
}
