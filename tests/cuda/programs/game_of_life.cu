// prints: game of life: 0 of 4096 wrong
// Cells are bytes, the world is a torus; 30 generations.
#include "check.h"
#include <cstring>

__host__ __device__ unsigned char next(const unsigned char *world, int x, int y, int size) {
  int alive = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i)
      if (i || j) alive += world[(y + j + size) % size * size + (x + i + size) % size];
  return alive == 3 || (alive == 2 && world[y * size + x]);
}

__global__ void step(const unsigned char *in, unsigned char *out, int size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < size && y < size) out[y * size + x] = next(in, x, y, size);
}

int main() {
  const int size = 64, n = size * size;
  static unsigned char world[2][n], got[n];
  for (int i = 0; i < n; ++i) world[0][i] = mixed(i) % 3 == 0;
  unsigned char *in = on_device(world[0], n), *out = on_device<unsigned char>(nullptr, n);
  for (int g = 0; g < 30; ++g) {
    step<<<dim3(size / 8, size / 8), dim3(8, 8)>>>(in, out, size);
    unsigned char *swapped = in;
    in = out;
    out = swapped;
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) world[1 - g % 2][y * size + x] = next(world[g % 2], x, y, size);
  }
  to_host(got, in, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[i] != world[0][i];
  return report("game of life", wrong, n);
}
