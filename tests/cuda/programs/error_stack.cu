// cpu only
// prints: hardware stack error
// err: stack overflow
#include "check.h"

__device__ __noinline__ int down(int n, volatile int *out) {
  int here[64];
  for (int i = 0; i < 64; ++i) here[i] = n + i + *out;
  if (n < 0) return here[-n & 63];
  return down(n + 1, out) + here[n & 63];
}

__global__ void fall(int *out) { out[0] = down(1, out); }

int main() {
  int *out = on_device<int>(nullptr, 1);
  CHECK(cudaMemset(out, 0, 4));
  fall<<<1, 1>>>(out);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
