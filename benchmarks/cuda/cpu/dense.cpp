// Much arithmetic on little data.
#include <algorithm>
#include <cmath>

#include "loops.h"

namespace loops {
template <class T> static void product(int n, const T *a, const T *b, T *c) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    T *row = c + i * n;
    for (int j = 0; j < n; ++j) row[j] = 0;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) row[j] += a[i * n + k] * b[k * n + j];
  }
}

void gemm(int n, const float *a, const float *b, float *c) { product(n, a, b, c); }
void gemm(int n, const double *a, const double *b, double *c) { product(n, a, b, c); }

void accelerate(int n, const float *bodies, float *out) {
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

// Not fused, so that both sides leave the set at the same step.
__attribute__((optimize("fp-contract=off"))) void mandelbrot(int width, int height, int most, int *out) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int py = 0; py < height; ++py)
    for (int px = 0; px < width; ++px) {
      double cx = -2 + px * (3.0 / 128), cy = -1 + py * (2.0 / 64) / 1.5, x = 0, y = 0;
      int i = 0;
      for (; i < most; ++i) {
        double xx = x * x, yy = y * y, xy = x * y;
        if (xx + yy > 4) break;
        x = xx - yy + cx;
        y = xy + xy + cy;
      }
      out[py * width + px] = i;
    }
}

void integrate(int parts, int steps, double *out) {
  double h = 1.0 / ((double)parts * steps);
  auto height = [](double x) { return 4.0 / (1.0 + x * x); };
#pragma omp parallel for
  for (int part = 0; part < parts; ++part) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int k = 0; k < steps; ++k) {
      double x = ((double)part * steps + k) * h;
      sum += (height(x) + 4 * height(x + h / 2) + height(x + h)) * h / 6;
    }
    out[part] = sum;
  }
}

static unsigned permuted(unsigned long long &state) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  unsigned mixed = unsigned(((state >> 18) ^ state) >> 27), turn = unsigned(state >> 59);
  return mixed >> turn | mixed << (-turn & 31);
}

void throw_darts(int n, unsigned long long *states, int darts, int *inside) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) {
    unsigned long long state = states[i];
    int hits = 0;
    for (int k = 0; k < darts; ++k) {
      long long x = permuted(state) >> 8, y = permuted(state) >> 8;
      hits += x * x + y * y < 1ll << 48;
    }
    inside[i] += hits;
    states[i] = state;
  }
}

void draw(int n, Xorwow *states, int each, float *out) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    Xorwow s = states[i];
    for (int k = 0; k < each; ++k) {
      unsigned t = s.v[0] ^ s.v[0] >> 2;
      std::copy(s.v + 1, s.v + 5, s.v);
      s.v[4] = (s.v[4] ^ s.v[4] << 4) ^ (t ^ t << 1);
      s.d += 362437;
      out[i * each + k] = float(s.v[4] + s.d) * 0x1p-32f + 0x1p-33f;
    }
    states[i] = s;
  }
}
}  // namespace loops
