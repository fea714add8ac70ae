// prints: thread 0: 7 -7 ffff 1.50e+00 word %
// prints: thread 1:    11|11   |00011|0xb|13
// prints: 3 arguments; 123456789012 c 2.250
// prints: (null) of 100%
#include "check.h"

__global__ void print() {
  if (threadIdx.x == 0) printf("thread %d: %d %i %x %.2e %s %%\n", threadIdx.x, 7, -7, 0xffffu, 1.5, "word");
  __syncthreads();
  if (threadIdx.x == 1) printf("thread %d: %5d|%-5d|%05d|%#x|%o\n", threadIdx.x, 11, 11, 11, 11, 11);
  __syncthreads();
  if (threadIdx.x == 40) {
    int count = printf("");
    count += 3;
    printf("%d arguments; %lld %c %.3f\n", count, 123456789012ll, 'c', 2.25f);
    printf("%s of %d%%\n", (const char *)nullptr, 100);
  }
}

int main() {
  print<<<1, 64>>>();
  CHECK(cudaDeviceSynchronize());
  return 0;
}
