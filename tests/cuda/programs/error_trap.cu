// prints: launch: no error
// prints: synchronize: unspecified launch failure
// prints: last: unspecified launch failure, unspecified launch failure
// prints: after reset: unspecified launch failure
// err: kernel stop(): the kernel executed trap in block (1, 0, 0), thread (3, 0, 0) at
// err: error_trap.cu:11
// A trap is told when somebody waits for it, and by every call after that: only a new process has a device again.
#include "check.h"

__global__ void stop() {
  if (blockIdx.x == 1 && threadIdx.x == 3) __trap();
}

int main() {
  stop<<<2, 32>>>();
  printf("launch: %s\n", cudaGetErrorString(cudaGetLastError()));
  printf("synchronize: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaError_t last = cudaGetLastError();
  printf("last: %s, %s\n", cudaGetErrorString(last), cudaGetErrorString(cudaGetLastError()));
  cudaDeviceReset();
  printf("after reset: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
