// cpu only
// prints: the launch timed out and was terminated
// err: deadlock: a barrier waits for warps that never reach it
#include "check.h"

__global__ void wait(int *out) {
  if (threadIdx.x < 32) asm volatile("barrier.sync 1, 64;");
  out[threadIdx.x] = 1;
}

int main() {
  int *out = on_device<int>(nullptr, 64);
  wait<<<1, 64>>>(out);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
