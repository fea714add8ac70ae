// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: checked: 0 of 256 wrong
// What is right stays right while it is checked: shared, local, constant and heap memory, that of both sides, and a
// parameter by its address.
#include "check.h"

__device__ int table[64];
__constant__ int weights[4] = {1, 2, 3, 4};

struct Offsets {
  int of[4];
};
__device__ __noinline__ int offset(const Offsets &offsets, int i) { return offsets.of[i % 4]; }

__global__ void run(int *out, const int *pinned, const int *managed, const __grid_constant__ Offsets offsets) {
  __shared__ int line[256];
  int t = threadIdx.x, own[8];
  for (int i = 0; i < 8; ++i) own[i * 5 % 8] = t + i;
  line[t] = own[t % 8];
  atomicAdd(&table[t % 64], weights[t % 4]);
  __syncthreads();
  int *heap = (int *)malloc(16);
  heap[3] = line[255 - t];
  out[t] = heap[3] + pinned[t % 4] + managed[t % 4] + offset(offsets, t);
  free(heap);
}

int main() {
  int *out = on_device<int>(nullptr, 256), *pinned, *managed, got[256];
  CHECK(cudaMallocHost(&pinned, 16));
  CHECK(cudaMallocManaged(&managed, 16));
  for (int i = 0; i < 4; ++i) pinned[i] = 10 * i, managed[i] = 100 * i;
  run<<<1, 256>>>(out, pinned, managed, Offsets{{0, 1000, 2000, 3000}});
  to_host(got, out, 256);
  long wrong = 0;
  for (int t = 0; t < 256; ++t) {
    int other = 255 - t, own[8];
    for (int i = 0; i < 8; ++i) own[i * 5 % 8] = other + i;
    wrong += got[t] != own[other % 8] + 1110 * (t % 4);
  }
  return report("checked", wrong, 256);
}
