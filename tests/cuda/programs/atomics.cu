// prints: atomics: 0 of 12 wrong
#include "check.h"

__global__ void run(int *w, unsigned *u, unsigned long long *l) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&w[0], i);
  atomicSub(&w[1], 2);
  atomicMin(&w[2], -i);
  atomicMax(&w[3], i);
  atomicOr(&u[0], 1u << i % 32);
  atomicAnd(&u[1], ~(1u << i % 16));
  atomicXor(&u[2], unsigned(i));
  atomicInc(&u[3], 99u);
  atomicDec(&u[4], 6u);
  atomicAdd(&l[0], 1ull << 33);
  atomicMax(&l[1], (unsigned long long)i << 20);
  if (atomicCAS(&w[4], 0, i + 1) == 0) atomicExch(&w[5], i + 1);
}

int main() {
  const int n = 1000;
  int w[6] = {0, 5000, 0, 0, 0, 0};
  unsigned u[5] = {0, ~0u, 0, 0, 0}, x = 0;
  unsigned long long l[2] = {};
  int *dw = on_device(w, 6);
  unsigned *du = on_device(u, 5);
  unsigned long long *dl = on_device(l, 2);
  run<<<10, 100>>>(dw, du, dl);
  to_host(w, dw, 6);
  to_host(u, du, 5);
  to_host(l, dl, 2);
  for (int i = 0; i < n; ++i) x ^= unsigned(i);
  unsigned dec = 0;
  for (int i = 0; i < n; ++i) dec = dec == 0 || dec > 6 ? 6 : dec - 1;
  long wrong = (w[0] != n * (n - 1) / 2) + (w[1] != 5000 - 2 * n) + (w[2] != 1 - n) + (w[3] != n - 1);
  wrong += (u[0] != ~0u) + (u[1] != 0xffff0000u) + (u[2] != x) + (u[3] != 0) + (u[4] != dec);
  wrong += (l[0] != n * (1ull << 33)) + (l[1] != (n - 1ull) << 20) + (w[4] == 0 || w[4] != w[5]);
  return report("atomics", wrong, 12);
}
