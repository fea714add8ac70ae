// prints: recursion: 0 of 96 wrong
// Ackermann's function and a recursive quicksort in each thread's own memory.
#include "check.h"

__host__ __device__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__device__ __noinline__ void quicksort(int *data, int low, int high) {
  if (low >= high) return;
  int pivot = data[(low + high) / 2], i = low, j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) {
      int kept = data[i];
      data[i++] = data[j];
      data[j--] = kept;
    }
  }
  quicksort(data, low, j);
  quicksort(data, i, high);
}

__global__ void run(int *out) {
  int t = threadIdx.x, own[20];
  for (int i = 0; i < 20; ++i) own[i] = mixed(t * 20 + i) % 1000;
  quicksort(own, 0, 19);
  bool sorted = true;
  for (int i = 1; i < 20; ++i) sorted = sorted && own[i - 1] <= own[i];
  out[t] = sorted ? ackermann(2, t % 5) : -1;
}

int main() {
  int got[96];
  int *out = on_device<int>(nullptr, 96);
  run<<<1, 96>>>(out);
  to_host(got, out, 96);
  long wrong = 0;
  for (int t = 0; t < 96; ++t) wrong += got[t] != ackermann(2, t % 5);
  return report("recursion", wrong, 96);
}
