// prints: bitonic sort: 0 of 4096 wrong
#include "check.h"

__global__ void exchange(unsigned *data, int distance, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = i ^ distance;
  if (j <= i) return;
  bool up = (i & length) == 0;
  unsigned a = data[i], b = data[j];
  if ((a > b) == up) {
    data[i] = b;
    data[j] = a;
  }
}

int main() {
  const int n = 4096;
  static unsigned data[n], sorted[n];
  unsigned long long before = 0, after = 0;
  for (int i = 0; i < n; ++i) before += data[i] = mixed(i);
  unsigned *device = on_device(data, n);
  for (int length = 2; length <= n; length *= 2)
    for (int distance = length / 2; distance; distance /= 2) exchange<<<n / 128, 128>>>(device, distance, length);
  to_host(sorted, device, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    after += sorted[i];
    wrong += i && sorted[i - 1] > sorted[i];
  }
  return report("bitonic sort", wrong + (before != after), n);
}
