// prints: reversed: 0 of 15000 wrong
// 60 KB of dynamic shared memory, more than a block gets without asking.
#include "check.h"

extern __shared__ int words[];

__global__ void reverse(int *data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = data[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = words[n - 1 - i];
}

int main() {
  const int n = 15000;
  static int data[n];
  for (int i = 0; i < n; ++i) data[i] = mixed(i);
  int *device = on_device(data, n);
  long wrong = 0;
  reverse<<<1, 256, n * sizeof(int)>>>(device, n);
  wrong += cudaGetLastError() != cudaErrorInvalidValue;
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, n * sizeof(int)));
  reverse<<<1, 256, n * sizeof(int)>>>(device, n);
  CHECK(cudaGetLastError());
  static int got[n];
  to_host(got, device, n);
  for (int i = 0; i < n; ++i) wrong += got[i] != data[n - 1 - i];
  return report("reversed", wrong, n);
}
