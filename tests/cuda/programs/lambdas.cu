// prints: lambdas: 0 of 2000 wrong
// A lambda for both sides, with captures, given to a kernel that is a template; constexpr functions and if constexpr.
#include "check.h"

template <class F> __global__ void each(int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

constexpr int power(int base, int exponent) { return exponent ? base * power(base, exponent - 1) : 1; }

template <bool kOdd> __host__ __device__ int chosen(int x) {
  if constexpr (kOdd)
    return x | 1;
  else
    return x & ~1;
}

int main() {
  const int n = 2000, offset = power(3, 4);
  static int got[n];
  int *out = on_device<int>(nullptr, n);
  auto write = [=] __host__ __device__(int i) { out[i] = chosen<true>(i * offset) + chosen<false>(i + power(2, 10)); };
  each<<<(n + 127) / 128, 128>>>(n, write);
  to_host(got, out, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[i] != ((i * 81) | 1) + ((i + 1024) & ~1);
  return report("lambdas", wrong, n);
}
