// prints: sparse matrix-vector product: 0 of 777 wrong
// A warp for each row of a CSR matrix, reduced by shuffles.
#include "check.h"

__global__ void multiply(const int *begin, const int *columns, const float *values, const float *x, float *y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float sum = 0;
  for (int e = begin[row] + lane; e < begin[row + 1]; e += 32) sum += values[e] * x[columns[e]];
  for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) y[row] = sum;
}

int main() {
  const int n = 777, most = 90;
  static int begin[n + 1], columns[n * most];
  static float values[n * most], x[n], y[n];
  for (int r = 0; r < n; ++r) {
    x[r] = int(mixed(r) % 9) - 4;
    int count = mixed(r + 5) % most;
    begin[r + 1] = begin[r] + count;
    for (int e = begin[r]; e < begin[r + 1]; ++e) columns[e] = mixed(e) % n, values[e] = int(mixed(e + 1) % 17) - 8;
  }
  int *dbegin = on_device(begin, n + 1), *dcolumns = on_device(columns, begin[n]);
  float *dvalues = on_device(values, begin[n]), *dx = on_device(x, n), *dy = on_device<float>(nullptr, n);
  multiply<<<(n * 32 + 127) / 128, 128>>>(dbegin, dcolumns, dvalues, dx, dy, n);
  to_host(y, dy, n);
  long wrong = 0;
  for (int r = 0; r < n; ++r) {
    float sum = 0;
    for (int e = begin[r]; e < begin[r + 1]; ++e) sum += values[e] * x[columns[e]];
    wrong += y[r] != sum;
  }
  return report("sparse matrix-vector product", wrong, n);
}
