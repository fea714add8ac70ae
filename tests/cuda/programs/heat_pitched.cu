// prints: heat: 0 of 3500 wrong
// Pitched memory and 2-D copies; 20 steps of a five-point average, swapped between two grids.
#include "check.h"
#include <cstring>

__global__ void step(const float *in, float *out, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  auto row = [=](int k) { return (const float *)((const char *)in + k * pitch); };
  float value = row(y)[x];
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
    value = 0.25f * (row(y)[x - 1] + row(y)[x + 1] + row(y - 1)[x] + row(y + 1)[x]);
  ((float *)((char *)out + y * pitch))[x] = value;
}

int main() {
  const int width = 70, height = 50, steps = 20;
  static float host[2][height][width], got[height][width];
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) host[0][y][x] = host[1][y][x] = mixed(y * width + x) % 64;
  float *grid[2];
  size_t pitch;
  for (float *&g : grid) {
    CHECK(cudaMallocPitch(&g, &pitch, width * sizeof(float), height));
    CHECK(cudaMemset2D(g, pitch, 0, width * sizeof(float), height));
  }
  CHECK(cudaMemcpy2D(grid[0], pitch, host[0], sizeof host[0][0], sizeof host[0][0], height, cudaMemcpyHostToDevice));
  for (int s = 0; s < steps; ++s) {
    step<<<dim3(5, 13), dim3(16, 4)>>>(grid[s % 2], grid[1 - s % 2], pitch, width, height);
    auto &in = host[s % 2], &out = host[1 - s % 2];
    for (int y = 1; y < height - 1; ++y)
      for (int x = 1; x < width - 1; ++x)
        out[y][x] = 0.25f * (in[y][x - 1] + in[y][x + 1] + in[y - 1][x] + in[y + 1][x]);
  }
  CHECK(cudaMemcpy2D(got, sizeof got[0], grid[steps % 2], pitch, sizeof got[0], height, cudaMemcpyDeviceToHost));
  long wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) wrong += got[y][x] != host[steps % 2][y][x];
  return report("heat", wrong, width * height);
}
