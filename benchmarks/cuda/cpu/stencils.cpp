// Each cell from its neighbours, and cells that change places.
#include "loops.h"

#include <algorithm>

namespace loops {
void stencil(int n, const int *in, int *out) {
  const int radius = 3;
#pragma omp parallel for simd
  for (int i = radius; i < n - radius; ++i)
    out[i] = in[i - 3] + in[i - 2] + in[i - 1] + in[i] + in[i + 1] + in[i + 2] + in[i + 3];
  for (int i : {0, 1, 2, n - 3, n - 2, n - 1}) {
    out[i] = 0;
    for (int k = std::max(i - radius, 0); k <= std::min(i + radius, n - 1); ++k) out[i] += in[k];
  }
}

void heat(int width, int height, const float *in, float *out) {
#pragma omp parallel for
  for (int y = 0; y < height; ++y) {
    const float *row = in + y * width;
    float *to = out + y * width;
    if (y == 0 || y == height - 1) {
      std::copy(row, row + width, to);
      continue;
    }
    to[0] = row[0];
    for (int x = 1; x < width - 1; ++x) to[x] = 0.25f * (row[x - 1] + row[x + 1] + row[x - width] + row[x + width]);
    to[width - 1] = row[width - 1];
  }
}

void life(int size, const unsigned char *in, unsigned char *out) {
#pragma omp parallel for
  for (int y = 0; y < size; ++y) {
    const unsigned char *row = in + y * size;
    const unsigned char *up = in + (y + size - 1) % size * size, *down = in + (y + 1) % size * size;
    auto next = [=](int left, int x, int right) {
      unsigned char alive = up[left] + up[x] + up[right] + row[left] + row[right] + down[left] + down[x] + down[right];
      return (unsigned char)((alive == 3) | ((alive == 2) & row[x]));
    };
    unsigned char *to = out + y * size;
    to[0] = next(size - 1, 0, 1);
    for (int x = 1; x < size - 1; ++x) to[x] = next(x - 1, x, x + 1);
    to[size - 1] = next(size - 2, size - 1, 0);
  }
}

void convolve(int width, int height, const int *filter, const int *in, int *out) {
#pragma omp parallel for
  for (int y = 0; y < height; ++y) {
    const int *rows[5];
    for (int j = 0; j < 5; ++j) rows[j] = in + std::min(std::max(y + j - 2, 0), height - 1) * width;
    for (int x = 0; x < width; ++x) {
      if (x == 2) x = width - 2;
      int sum = 0;
      for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += rows[j][std::min(std::max(x + i - 2, 0), width - 1)] * filter[j * 5 + i];
      out[y * width + x] = sum;
    }
    for (int x = 2; x < width - 2; ++x) {
      int sum = 0;
      for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += rows[j][x + i - 2] * filter[j * 5 + i];
      out[y * width + x] = sum;
    }
  }
}

void volume(int width, int height, int depth, long pitch, unsigned char *cells) {
#pragma omp parallel for
  for (int z = 0; z < depth; ++z)
    for (int y = 0; y < height; ++y) {
      unsigned char *row = cells + (z * height + y) * pitch;
      for (int x = 0; x < width; ++x) row[x] += x + 3 * y + 5 * z;
    }
}

void automaton(int n, int steps, int *a, int *b) {
#pragma omp parallel
  for (int s = 0; s < steps; ++s) {
    const int *in = s % 2 ? b : a;
    int *out = s % 2 ? a : b;
#pragma omp for
    for (int i = 1; i < n - 1; ++i) out[i] = (in[i] * 3 + in[i + 1] + in[i - 1]) % 1009;
#pragma omp single
    {
      out[0] = (in[0] * 3 + in[1] + in[n - 1]) % 1009;
      out[n - 1] = (in[n - 1] * 3 + in[0] + in[n - 2]) % 1009;
    }
  }
}

void transpose(int width, int height, const double *in, double *out) {
#pragma omp parallel for
  for (int y0 = 0; y0 < height; y0 += 32)
    for (int x0 = 0; x0 < width; x0 += 32)
      for (int x = x0; x < std::min(x0 + 32, width); ++x)
        for (int y = y0; y < std::min(y0 + 32, height); ++y) out[x * height + y] = in[y * width + x];
}
}  // namespace loops
