// prints: occupancy: 0 of 9 wrong
// Launch bounds, attributes of functions, the block size that fills the device.
#include "check.h"

__global__ __launch_bounds__(128, 2) void bounded(int *out) { out[threadIdx.x] = blockDim.x; }
__global__ void shared_user(int *out) {
  __shared__ int kept[1024];
  kept[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}

int main() {
  cudaFuncAttributes bounded_about, shared_about;
  CHECK(cudaFuncGetAttributes(&bounded_about, bounded));
  CHECK(cudaFuncGetAttributes(&shared_about, shared_user));
  long wrong = (bounded_about.maxThreadsPerBlock != 128) + (shared_about.sharedSizeBytes != 4096);
  wrong += shared_about.maxThreadsPerBlock != 1024;
  int grid = 0, block = 0, blocks = 0, fewer = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, shared_user, 0, 0));
  wrong += block < 32 || block > 1024 || block % 32 || grid < 1;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared_user, 128, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, shared_user, 128, 40000));
  wrong += (blocks < 1) + (fewer < 1 || fewer >= blocks);
  int *out = on_device<int>(nullptr, 1024), got[1024];
  bounded<<<1, 256>>>(out);
  wrong += cudaGetLastError() == cudaSuccess;
  bounded<<<1, 128>>>(out);
  wrong += cudaGetLastError() != cudaSuccess;
  shared_user<<<1, block>>>(out);
  to_host(got, out, block);
  bool reversed = true;
  for (int i = 0; i < block; ++i) reversed = reversed && got[i] == block - 1 - i;
  return report("occupancy", wrong + !reversed, 9);
}
