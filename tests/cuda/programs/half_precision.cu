// prints: half precision: 0 of 1000 wrong
// Halves and pairs of halves: values whose sums and products are exact.
#include <cuda_fp16.h>
#include "check.h"

__global__ void axpy(const __half2 *x, __half2 *y, __half a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

__global__ void convert(const float *in, __half *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __float2half(in[i]);
}

__global__ void widen(const __half *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __half2float(in[i]) + float(in[i] > __half(3.0f));
}

int main() {
  const int n = 1000;
  float x[n], y[n], got[n];
  for (int i = 0; i < n; ++i) x[i] = i % 32 * 0.25f, y[i] = i % 17 - 8;
  float *dx = on_device(x, n), *dy = on_device(y, n);
  __half *hx = on_device<__half>(nullptr, n), *hy = on_device<__half>(nullptr, n);
  convert<<<8, 128>>>(dx, hx, n);
  convert<<<8, 128>>>(dy, hy, n);
  axpy<<<4, 128>>>((const __half2 *)hx, (__half2 *)hy, __float2half(2.0f), n / 2);
  widen<<<8, 128>>>(hy, dy, n);
  to_host(got, dy, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    float expected = 2.0f * x[i] + y[i];
    wrong += got[i] != expected + (expected > 3.0f);
  }
  return report("half precision", wrong, n);
}
