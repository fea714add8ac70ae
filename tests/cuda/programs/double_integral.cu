// prints: pi 3.141592653590
// Double precision: Simpson's rule per thread, Kahan's summation, a tree over the block.
#include "check.h"

__device__ double height(double x) { return 4.0 / (1.0 + x * x); }

__global__ void integrate(double *parts, int steps) {
  __shared__ double sums[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  double h = 1.0 / (double(threads) * steps), sum = 0, lost = 0;
  for (int k = 0; k < steps; ++k) {
    double x = (double(i) * steps + k) * h;
    double term = (height(x) + 4 * height(x + h / 2) + height(x + h)) * h / 6 - lost;
    double next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  sums[threadIdx.x] = sum;
  for (int half = 64; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = sums[0];
}

int main() {
  double parts[8], pi = 0, *device = on_device<double>(nullptr, 8);
  integrate<<<8, 128>>>(device, 20);
  to_host(parts, device, 8);
  for (double part : parts) pi += part;
  printf("pi %.12f\n", pi);
  return 0;
}
