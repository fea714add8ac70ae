// prints: volume: 0 of 1680 wrong
// Memory of three dimensions: allocated, set and copied in slices, also from and to the middle of another.
#include "check.h"

__global__ void add(cudaPitchedPtr volume, cudaExtent extent) {
  for (size_t z = threadIdx.x; z < extent.depth; z += blockDim.x)
    for (size_t y = 0; y < extent.height; ++y) {
      char *row = (char *)volume.ptr + (z * extent.height + y) * volume.pitch;
      for (size_t x = 0; x < extent.width; ++x) row[x] += x + 3 * y + 5 * z;
    }
}

int main() {
  const int width = 20, height = 12, depth = 7;
  static unsigned char host[depth][height][width], part[2][3][4];
  cudaExtent extent = make_cudaExtent(width, height, depth);
  cudaPitchedPtr volume;
  CHECK(cudaMalloc3D(&volume, extent));
  CHECK(cudaMemset3D(volume, 100, extent));
  add<<<1, 32>>>(volume, extent);

  cudaMemcpy3DParms what = {};
  what.srcPtr = volume;
  what.dstPtr = make_cudaPitchedPtr(host, width, width, height);
  what.extent = extent;
  what.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&what));
  what.srcPos = make_cudaPos(5, 4, 3);
  what.dstPtr = make_cudaPitchedPtr(part, 4, 4, 3);
  what.extent = make_cudaExtent(4, 3, 2);
  CHECK(cudaMemcpy3DAsync(&what, 0));
  CHECK(cudaDeviceSynchronize());
  long wrong = volume.pitch < width || volume.xsize != width || volume.ysize != height;
  for (int z = 0; z < depth; ++z)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) wrong += host[z][y][x] != (unsigned char)(100 + x + 3 * y + 5 * z);
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x) wrong += part[z][y][x] != host[z + 3][y + 4][x + 5];
  CHECK(cudaFree(volume.ptr));
  return report("volume", wrong, width * height * depth);
}
