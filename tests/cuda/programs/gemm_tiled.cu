// prints: tiled gemm: 0 of 9216 wrong
// Tiles of 16 x 16 in shared memory; integers in floats, so that every order of the sums gives the same.
#include "check.h"

__global__ void gemm(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += as[y][j] * bs[j][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

int main() {
  const int n = 96;
  static float a[n * n], b[n * n], c[n * n];
  for (int i = 0; i < n * n; ++i) a[i] = int(mixed(i) % 21) - 10, b[i] = int(mixed(~i) % 21) - 10;
  float *da = on_device(a, n * n), *db = on_device(b, n * n), *dc = on_device<float>(nullptr, n * n);
  gemm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(da, db, dc, n);
  to_host(c, dc, n * n);
  long wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      wrong += c[i * n + j] != sum;
    }
  return report("tiled gemm", wrong, n * n);
}
