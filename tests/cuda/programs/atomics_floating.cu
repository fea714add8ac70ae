// prints: floating-point atomics: 0 of 4 wrong
// atomicAdd of float and double, and a maximum of doubles by a loop of compare-and-swap.
#include "check.h"

__device__ void atomic_max(double *place, double value) {
  unsigned long long *word = (unsigned long long *)place, seen = *word, assumed;
  do {
    assumed = seen;
    if (__longlong_as_double(assumed) >= value) break;
    seen = atomicCAS(word, assumed, __double_as_longlong(value));
  } while (seen != assumed);
}

__global__ void run(float *f, double *d) {
  __shared__ float local;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25 * i);
  atomicAdd(&local, float(i % 4));
  atomic_max(d + 1, double(mixed(i) % 10007));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(f + 1, local);
}

int main() {
  const int n = 2048;
  float f[2] = {};
  double d[2] = {}, most = 0;
  for (int i = 0; i < n; ++i) most = mixed(i) % 10007 > most ? mixed(i) % 10007 : most;
  float *df = on_device(f, 2);
  double *dd = on_device(d, 2);
  run<<<n / 128, 128>>>(df, dd);
  to_host(f, df, 2);
  to_host(d, dd, 2);
  long wrong = (f[0] != n * 0.5f) + (f[1] != n * 1.5f) + (d[0] != 0.25 * (n * (n - 1.0) / 2)) + (d[1] != most);
  return report("floating-point atomics", wrong, 4);
}
