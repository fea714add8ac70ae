// prints: histogram: 0 of 256 wrong
// Counts in shared memory, added to those of the grid at the end.
#include "check.h"

__global__ void histogram(const unsigned char *data, int n, unsigned *bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]);
}

int main() {
  const int n = 100000;
  static unsigned char data[n];
  unsigned expected[256] = {}, got[256];
  for (int i = 0; i < n; ++i) ++expected[data[i] = mixed(i) % 7 ? mixed(i) & 255 : 42];
  unsigned char *ddata = on_device(data, n);
  unsigned *bins = on_device<unsigned>(nullptr, 256);
  CHECK(cudaMemset(bins, 0, sizeof got));
  histogram<<<30, 192>>>(ddata, n, bins);
  to_host(got, bins, 256);
  long wrong = 0;
  for (int i = 0; i < 256; ++i) wrong += got[i] != expected[i];
  return report("histogram", wrong, 256);
}
