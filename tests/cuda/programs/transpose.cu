// prints: transpose: 0 of 19019 wrong
// Tiles with padding against bank conflicts; blocks of 32 x 8 threads.
#include "check.h"

__global__ void transpose(const double *in, double *out, int width, int height) {
  __shared__ double tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (x < width && y + k < height) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (x < height && y + k < width) out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
}

int main() {
  const int width = 209, height = 91, n = width * height;
  static double in[n], out[n];
  for (int i = 0; i < n; ++i) in[i] = i * 0.5;
  double *din = on_device(in, n), *dout = on_device<double>(nullptr, n);
  transpose<<<dim3((width + 31) / 32, (height + 31) / 32), dim3(32, 8)>>>(din, dout, width, height);
  to_host(out, dout, n);
  long wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) wrong += out[x * height + y] != in[y * width + x];
  return report("transpose", wrong, n);
}
