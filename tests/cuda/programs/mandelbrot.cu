// prints: mandelbrot: 0 of 12288 wrong
// Divergent loops; only multiplications that are exact to the host's, as neither side fuses them.
#include "check.h"

__host__ __device__ int escape(double cx, double cy, int most) {
  double x = 0, y = 0;
  for (int i = 0; i < most; ++i) {
#ifdef __CUDA_ARCH__
    double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y), xy = __dmul_rn(x, y);
#else
    volatile double xx = x * x, yy = y * y, xy = x * y;
#endif
    if (xx + yy > 4) return i;
    x = xx - yy + cx;
    y = xy + xy + cy;
  }
  return most;
}

__global__ void mandelbrot(int *out, int width, int height, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = escape(-2 + x * (3.0 / 128), -1 + y * (2.0 / 64) / 1.5, most);
}

int main() {
  const int width = 128, height = 96, most = 200;
  static int got[width * height];
  int *out = on_device<int>(nullptr, width * height);
  mandelbrot<<<dim3(8, 12), dim3(16, 8)>>>(out, width, height, most);
  to_host(got, out, width * height);
  long wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      wrong += got[y * width + x] != escape(-2 + x * (3.0 / 128), -1 + y * (2.0 / 64) / 1.5, most);
  return report("mandelbrot", wrong, width * height);
}
