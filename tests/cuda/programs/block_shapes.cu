// prints: block shapes: 0 of 64 wrong
// Blocks and grids of many shapes, by a kernel that asks for all dimensions and by one that asks for the first alone.
#include "check.h"
__global__ void in_three(int *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  atomicAdd(&out[(z * h + y) * w + x], 1 + x + 100 * y + 10000 * z);
}

__global__ void in_one(int *out) { atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], 1); }

int main() {
  const dim3 blocks[] = {{1, 1, 1},  {3, 1, 1}, {32, 1, 1}, {7, 3, 2},  {8, 8, 1}, {16, 16, 1},
                         {16, 4, 4}, {32, 8, 1}, {64, 2, 2}, {5, 5, 5},  {1, 64, 1}, {1, 1, 64},
                         {8, 4, 8},  {33, 2, 1}, {1024, 1, 1}, {24, 16, 2}};
  const dim3 grids[] = {{1, 1, 1}, {3, 2, 2}, {1, 5, 1}, {2, 1, 3}};
  long wrong = 0, cases = 0;
  for (dim3 b : blocks)
    for (dim3 g : grids) {
      int w = b.x * g.x, h = b.y * g.y, d = b.z * g.z, n = w * h * d, *out;
      CHECK(cudaMallocManaged(&out, n * sizeof(int)));
      for (int i = 0; i < n; ++i) out[i] = 0;
      in_three<<<g, b>>>(out, w, h);
      CHECK(cudaDeviceSynchronize());
      for (int i = 0; i < n; ++i) wrong += out[i] != 1 + i % w + 100 * (i / w % h) + 10000 * (i / w / h);
      for (int i = 0; i < n; ++i) out[i] = 0;
      in_one<<<g, b>>>(out);
      CHECK(cudaDeviceSynchronize());
      for (int i = 0; i < w; ++i) wrong += out[i] != int(b.y * b.z * g.y * g.z);
      CHECK(cudaFree(out));
      ++cases;
    }
  return report("block shapes", wrong, cases);
}
