// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: 0, then 7
// err: drawloom: the host accesses memory at 0x
// err: which is the device's
// The host reads memory of cudaMalloc, which a GPU would fault on: told once, and it passes. Copies, kernels and what the
// runtime does with such memory are no such accesses.
#include "check.h"

__global__ void set(int *out) { *out = 7; }

int main() {
  int *device, *other, value;
  CHECK(cudaMalloc(&device, sizeof(int)));
  CHECK(cudaMalloc(&other, 10000));
  CHECK(cudaMemset(device, 0, sizeof(int)));
  CHECK(cudaMemcpy(other, device, sizeof(int), cudaMemcpyDeviceToDevice));
  CHECK(cudaFree(other));
  int before = *device;
  set<<<1, 1>>>(device);
  CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
  printf("%d, then %d\n", before, value);
  CHECK(cudaFree(device));
  return 0;
}
