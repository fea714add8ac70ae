// prints: saxpy: 0 of 50000 wrong
// Managed memory, a grid that strides over the data, and a pointer that both sides use.
#include "check.h"

__global__ void saxpy(int n, float a, const float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = fmaf(a, x[i], y[i]);
}

int main() {
  const int n = 50000;
  float *x, *y;
  CHECK(cudaMallocManaged(&x, n * sizeof(float)));
  CHECK(cudaMallocManaged(&y, n * sizeof(float)));
  for (int i = 0; i < n; ++i) x[i] = i % 97, y[i] = i % 13;
  saxpy<<<40, 128>>>(n, 3.0f, x, y);
  CHECK(cudaDeviceSynchronize());
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != 3.0f * (i % 97) + i % 13;
  cudaPointerAttributes about;
  CHECK(cudaPointerGetAttributes(&about, x));
  wrong += about.type != cudaMemoryTypeManaged;
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  return report("saxpy", wrong, n);
}
