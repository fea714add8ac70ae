// prints: convolution: 0 of 6000 wrong
// A filter in constant memory, set by cudaMemcpyToSymbol, in two halves.
#include "check.h"

__constant__ int filter[25];

__global__ void convolve(const int *in, int *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int j = -2; j <= 2; ++j)
    for (int i = -2; i <= 2; ++i) {
      int u = min(max(x + i, 0), width - 1), v = min(max(y + j, 0), height - 1);
      sum += in[v * width + u] * filter[(j + 2) * 5 + i + 2];
    }
  out[y * width + x] = sum;
}

int main() {
  const int width = 100, height = 60, n = width * height;
  static int in[n], out[n], taps[25];
  for (int i = 0; i < n; ++i) in[i] = mixed(i) % 256;
  for (int i = 0; i < 25; ++i) taps[i] = i * i % 11 - 5;
  CHECK(cudaMemcpyToSymbol(filter, taps, 12 * sizeof(int)));
  CHECK(cudaMemcpyToSymbol(filter, taps + 12, 13 * sizeof(int), 12 * sizeof(int)));
  int *din = on_device(in, n), *dout = on_device<int>(nullptr, n);
  convolve<<<dim3(4, 8), dim3(32, 8)>>>(din, dout, width, height);
  to_host(out, dout, n);
  long wrong = 0;
  auto clamp = [](int v, int most) { return v < 0 ? 0 : v > most ? most : v; };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i)
          sum += in[clamp(y + j - 2, height - 1) * width + clamp(x + i - 2, width - 1)] * taps[j * 5 + i];
      wrong += out[y * width + x] != sum;
    }
  return report("convolution", wrong, n);
}
