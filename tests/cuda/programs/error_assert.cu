// prints: assert: device-side assert triggered
// prints: later: device-side assert triggered
// err: error_assert.cu:10: void checked(int): block: [2,0,0], thread: [7,0,0] Assertion `x != 2 * 32 + 7` failed.
// An assertion ends the kernel; from then on every call fails.
#include "check.h"
#include <cassert>

__global__ void checked(int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  assert(x != 2 * 32 + 7);
}

int main() {
  checked<<<4, 32>>>(5);
  printf("assert: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  void *memory;
  printf("later: %s\n", cudaGetErrorString(cudaMalloc(&memory, 4)));
  return 0;
}
