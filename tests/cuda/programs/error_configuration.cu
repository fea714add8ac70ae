// prints: errors: 0 of 12 wrong
// Launches that are refused, each with its code; the last error is told once; the device goes on working.
#include "check.h"

__global__ void nothing(int *out) {
  if (out) *out = 1;
}
__global__ __launch_bounds__(64) void small() {}

static long differs(cudaError_t wanted) {
  cudaError_t peeked = cudaPeekAtLastError(), told = cudaGetLastError(), after = cudaGetLastError();
  return (peeked != wanted) | (told != wanted) | (after != cudaSuccess);
}

int main() {
  long wrong = 0;
  nothing<<<0, 32>>>(nullptr);
  wrong += differs(cudaErrorInvalidConfiguration);
  nothing<<<1, 0>>>(nullptr);
  wrong += differs(cudaErrorInvalidConfiguration);
  nothing<<<1, 1025>>>(nullptr);
  wrong += differs(cudaErrorInvalidConfiguration);
  nothing<<<1, dim3(1, 1, 65)>>>(nullptr);
  wrong += differs(cudaErrorInvalidConfiguration);
  nothing<<<dim3(1, 65536), 1>>>(nullptr);
  wrong += differs(cudaErrorInvalidConfiguration);
  nothing<<<1, 32, 1 << 20>>>(nullptr);
  wrong += differs(cudaErrorInvalidValue);
  wrong += cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 24) != cudaErrorInvalidValue;
  wrong += cudaSetDevice(99) != cudaErrorInvalidDevice;
  wrong += cudaLaunchKernel((const void *)&wrong, dim3(1), dim3(1), nullptr, 0, 0) != cudaErrorInvalidDeviceFunction;
  cudaGetLastError();
  wrong += differs(cudaSuccess);
  int *out = on_device<int>(nullptr, 1), got = 0;
  nothing<<<1, 32>>>(out);
  wrong += differs(cudaSuccess);
  to_host(&got, out, 1);
  return report("errors", wrong + (got != 1), 12);
}
