// prints: shuffles: 0 of 320 wrong
// Every kind of shuffle with widths, of int, double and long long; a prefix sum by shfl_up.
#include "check.h"

__global__ void shuffle(int *out, double *reals) {
  int t = threadIdx.x, lane = t & 31;
  long long wide = (1ll << 40) * lane;
  int sum = lane;
  for (int step = 1; step < 32; step *= 2) {
    int lower = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += lower;
  }
  out[t] = sum;
  out[t + 64] = __shfl_sync(~0u, t, lane / 2 + 3, 8);
  out[t + 128] = __shfl_down_sync(~0u, t, 5, 16);
  out[t + 192] = int(__shfl_xor_sync(~0u, wide, 9) >> 40);
  reals[t] = __shfl_up_sync(~0u, t * 0.5, 2);
}

int main() {
  int got[256];
  double reals[64];
  int *out = on_device<int>(nullptr, 256);
  double *dreals = on_device<double>(nullptr, 64);
  shuffle<<<1, 64>>>(out, dreals);
  to_host(got, out, 256);
  to_host(reals, dreals, 64);
  long wrong = 0;
  for (int t = 0; t < 64; ++t) {
    int lane = t % 32, base = t - lane;
    wrong += got[t] != lane * (lane + 1) / 2;
    wrong += got[t + 64] != base + lane / 8 * 8 + (lane / 2 + 3) % 8;
    wrong += got[t + 128] != (lane % 16 + 5 < 16 ? t + 5 : t);
    wrong += got[t + 192] != (lane ^ 9);
    wrong += reals[t] != (lane >= 2 ? t - 2 : t) * 0.5;
  }
  return report("shuffles", wrong, 320);
}
