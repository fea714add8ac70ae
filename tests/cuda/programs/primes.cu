// prints: primes below 20000: 2262
// A sieve with racing writes of the same value, and 64-bit division.
#include "check.h"

__global__ void strike(unsigned char *composite, int n) {
  int p = 2 + blockIdx.x * blockDim.x + threadIdx.x;
  if ((long long)p * p >= n || composite[p]) return;
  for (int m = p * p; m < n; m += p) composite[m] = 1;
}

__global__ void check(const unsigned char *composite, int n, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 2 || i >= n || composite[i]) return;
  bool prime = true;
  for (long long d = 2; d * d <= i; ++d) prime = prime && (long long)i % d != 0;
  if (prime) atomicAdd(count, 1);
}

int main() {
  const int n = 20000;
  unsigned char *composite = on_device<unsigned char>(nullptr, n);
  int *dcount = on_device<int>(nullptr, 1), count = 0;
  CHECK(cudaMemset(composite, 0, n));
  CHECK(cudaMemset(dcount, 0, sizeof(int)));
  strike<<<2, 96>>>(composite, n);
  check<<<(n + 255) / 256, 256>>>(composite, n, dcount);
  to_host(&count, dcount, 1);
  printf("primes below %d: %d\n", n, count);
  return 0;
}
