// prints: register-tiled gemm: 0 of 16384 wrong
// Each thread computes 4 x 4 results in registers, in double precision.
#include "check.h"

const int kTile = 64, kStep = 8;

__global__ __launch_bounds__(256) void gemm(const double *a, const double *b, double *c, int n) {
  __shared__ double as[kStep][kTile], bs[kStep][kTile];
  int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4;
  double sum[4][4] = {};
  for (int k = 0; k < n; k += kStep) {
    for (int i = t; i < kTile * kStep; i += 256) {
      as[i % kStep][i / kStep] = a[(blockIdx.y * kTile + i / kStep) * n + k + i % kStep];
      bs[i / kTile][i % kTile] = b[(k + i / kTile) * n + blockIdx.x * kTile + i % kTile];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kStep; ++j)
      for (int p = 0; p < 4; ++p)
        for (int q = 0; q < 4; ++q) sum[p][q] += as[j][y + p] * bs[j][x + q];
    __syncthreads();
  }
  for (int p = 0; p < 4; ++p)
    for (int q = 0; q < 4; ++q) c[(blockIdx.y * kTile + y + p) * n + blockIdx.x * kTile + x + q] = sum[p][q];
}

int main() {
  const int n = 128;
  static double a[n * n], b[n * n], c[n * n];
  for (int i = 0; i < n * n; ++i) a[i] = mixed(i) % 100, b[i] = mixed(i + 7) % 100;
  double *da = on_device(a, n * n), *db = on_device(b, n * n), *dc = on_device<double>(nullptr, n * n);
  gemm<<<dim3(n / kTile, n / kTile), 256>>>(da, db, dc, n);
  to_host(c, dc, n * n);
  long wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      wrong += c[i * n + j] != sum;
    }
  return report("register-tiled gemm", wrong, n * n);
}
