// prints: odd-even sort: 0 of 512 wrong
// One block sorts in shared memory, with a vote of all its threads that ends the loop.
#include "check.h"

__global__ void sort(short *data) {
  __shared__ short a[512];
  int t = threadIdx.x;
  a[t] = data[t];
  a[t + 256] = data[t + 256];
  for (bool odd = false;; odd = !odd) {
    __syncthreads();
    int i = 2 * t + odd;
    bool swap = i + 1 < 512 && a[i] > a[i + 1];
    if (swap) {
      short kept = a[i];
      a[i] = a[i + 1];
      a[i + 1] = kept;
    }
    __shared__ int quiet;
    int any = __syncthreads_or(swap);
    if (t == 0) quiet = odd || any ? (any ? 0 : quiet + 1) : 1;
    __syncthreads();
    if (quiet > 1) break;
  }
  data[t] = a[t];
  data[t + 256] = a[t + 256];
}

int main() {
  short data[512], sorted[512];
  long before = 0, after = 0, wrong = 0;
  for (int i = 0; i < 512; ++i) before += data[i] = short(mixed(i));
  short *device = on_device(data, 512);
  sort<<<1, 256>>>(device);
  to_host(sorted, device, 512);
  for (int i = 0; i < 512; ++i) {
    after += sorted[i];
    wrong += i && sorted[i - 1] > sorted[i];
  }
  return report("odd-even sort", wrong + (before != after), 512);
}
