// What a C programmer writes for each algorithm: plain loops, the outer one over the cores, the inner ones for the
// compiler to vectorise.
#include "algorithms.h"

#include <cmath>

void openmp_saxpy(int n, float a, const float *x, float *y) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

float openmp_sum(int n, const float *x) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += x[i];
  return sum;
}

void openmp_transpose(int n, const float *in, float *out) {
#pragma omp parallel for
  for (int y0 = 0; y0 < n; y0 += 32)
    for (int x0 = 0; x0 < n; x0 += 32)
      for (int x = x0; x < x0 + 32; ++x)
        for (int y = y0; y < y0 + 32; ++y) out[x * n + y] = in[y * n + x];
}

void openmp_matmul(int n, const float *a, const float *b, float *c) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    float *row = c + i * n;
    for (int j = 0; j < n; ++j) row[j] = 0;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) row[j] += a[i * n + k] * b[k * n + j];
  }
}

void openmp_stencil(int n, const float *in, float *out) {
#pragma omp parallel for
  for (int y = 1; y < n - 1; ++y)
    for (int x = 1; x < n - 1; ++x)
      out[y * n + x] = 0.25f * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}

void openmp_histogram(int n, const unsigned char *data, unsigned *bins) {
#pragma omp parallel
  {
    unsigned mine[256] = {};
#pragma omp for
    for (int i = 0; i < n; ++i) ++mine[data[i]];
    for (int i = 0; i < 256; ++i)
#pragma omp atomic
      bins[i] += mine[i];
  }
}

void openmp_nbody(int n, const float *bodies, float *out) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    const float *me = bodies + 4 * i;
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int k = 0; k < n; ++k) {
      const float *b = bodies + 4 * k;
      float dx = b[0] - me[0], dy = b[1] - me[1], dz = b[2] - me[2];
      float inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01f);
      float s = b[3] * inverse * inverse * inverse;
      ax += s * dx;
      ay += s * dy;
      az += s * dz;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
  }
}

void openmp_mandelbrot(int n, int limit, unsigned char *image) {
#pragma omp parallel for schedule(dynamic, 8)
  for (int py = 0; py < n; ++py)
    for (int px = 0; px < n; ++px) {
      float cx = 3.0f * px / n - 2.25f, cy = 2.0f * py / n - 1.0f, x = 0, y = 0;
      int i = 0;
      for (; i < limit; ++i) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
      }
      image[py * n + px] = i == limit ? 0 : 255 - i * 255 / limit;
    }
}

void openmp_spmv(int n, const int *begin, const int *columns, const float *values, const float *x, float *y) {
#pragma omp parallel for
  for (int r = 0; r < n; ++r) {
    float sum = 0;
    for (int e = begin[r]; e < begin[r + 1]; ++e) sum += values[e] * x[columns[e]];
    y[r] = sum;
  }
}
