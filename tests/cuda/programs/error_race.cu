// cpu only
// with: DRAWLOOM_CHECK=race
// prints: ordered: no error
// prints: rows: unspecified launch failure
// err: kernel add_rows(int const*, int*): data race: 4 bytes at 0x
// err: written by block (0, 0, 0), thread (0, 0, 0) at
// err: error_race.cu:35, and are read, unordered by any barrier, in block (0, 0, 0), thread (0, 1, 0) at
// exits: 0
// Rows of a block add to the same sums: right on a GPU whose rows are late enough, and a race. A block sum that waits at
// barriers, hands over between blocks by a fence and an atomic, and reads within warps, is none.
#include "check.h"

__device__ unsigned finished;

__global__ void sum(const int *data, int *parts, int *total) {
  __shared__ int of[8];
  __shared__ bool last;
  int t = threadIdx.x, value = data[blockIdx.x * 256 + t];
  for (int step = 16; step; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (t % 32 == 0) of[t / 32] = value;
  __syncthreads();
  if (t == 0) {
    int whole = 0;
    for (int w = 0; w < 8; ++w) whole += of[w];
    parts[blockIdx.x] = whole;
    __threadfence();
    last = atomicAdd(&finished, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && t == 0)
    for (unsigned b = 0; b < gridDim.x; ++b) *total += parts[b];
}

__global__ void add_rows(const int *data, int *sums) { sums[threadIdx.x] += data[threadIdx.y * 32 + threadIdx.x]; }

int main() {
  int *data = on_device<int>(nullptr, 1024), *sums = on_device<int>(nullptr, 32);
  CHECK(cudaMemset(data, 0, 4096));
  CHECK(cudaMemset(sums, 0, 128));
  sum<<<4, 256>>>(data, sums + 1, sums);
  printf("ordered: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  add_rows<<<1, dim3(32, 8)>>>(data, sums);
  printf("rows: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
