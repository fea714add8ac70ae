// prints: function pointers: 0 of 300 wrong
// Device functions, called through a table of pointers and not inlined; a pointer that the host fetches.
#include "check.h"

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Operation operations[3] = {plus, minus, times};

__global__ void apply(int *out, int n, Operation last) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = last(operations[i % 3](i, 7), 1);
}

int main() {
  const int n = 300;
  int got[n];
  Operation last;
  CHECK(cudaMemcpyFromSymbol(&last, operations, sizeof last, sizeof last));
  int *out = on_device<int>(nullptr, n);
  apply<<<5, 64>>>(out, n, last);
  to_host(got, out, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[i] != (i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7) - 1;
  return report("function pointers", wrong, n);
}
