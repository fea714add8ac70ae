// prints: vector add: 0 of 100003 wrong
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 100003;
  static float a[n], b[n], c[n];
  for (int i = 0; i < n; ++i) a[i] = mixed(i) % 1000 * 0.25f, b[i] = mixed(i + n) % 1000 * 0.5f;
  float *da = on_device(a, n), *db = on_device(b, n), *dc = on_device<float>(nullptr, n);
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  CHECK(cudaGetLastError());
  to_host(c, dc, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != a[i] + b[i];
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return report("vector add", wrong, n);
}
