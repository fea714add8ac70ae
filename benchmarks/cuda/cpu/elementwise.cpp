// One result from each element, or from a few.
#include "loops.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace loops {
void vector_add(int n, const float *a, const float *b, float *c) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void saxpy(int n, float a, const float *x, float *y) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void half_axpy(int n, float a, const void *x, void *y) {
  const __m128i *from = (const __m128i *)x;
  __m128i *to = (__m128i *)y;
  const __m256 factor = _mm256_set1_ps(a);
#pragma omp parallel for
  for (int i = 0; i < n / 8; ++i) {
    __m256 sum = _mm256_fmadd_ps(factor, _mm256_cvtph_ps(from[i]), _mm256_cvtph_ps(to[i]));
    to[i] = _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
}

void lambdas(int n, int *out) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) out[i] = (i * 81 | 1) + ((i + 1024) & ~1);
}

void square_and_scale(int n, long long factor, long long *data) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) data[i] = data[i] * data[i] * factor;
}

typedef int (*Operation)(int, int);
__attribute__((noinline)) static int plus(int a, int b) { return a + b; }
__attribute__((noinline)) static int minus(int a, int b) { return a - b; }
__attribute__((noinline)) static int times(int a, int b) { return a * b; }
Operation operations[3] = {plus, minus, times};

void function_pointers(int n, int *out) {
  Operation last = operations[1];
#pragma omp parallel for
  for (int i = 0; i < n; ++i) out[i] = last(operations[i % 3](i, 7), 1);
}

void structures(int n, const float *values, int tag, const Odd *odds, int trace, int *x, double *y) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    x[i] = odds[i].a + odds[i].b * 2 + odds[i].c[2] * 3 + tag + trace;
    y[i] = values[i % 12] + 0.125 * i;
  }
}

void reverse(int arrays, int n, int *data) {
#pragma omp parallel for
  for (int k = 0; k < arrays; ++k) std::reverse(data + k * n, data + (k + 1) * n);
}

static int ackermann(int m, int n) {
  return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static void quicksort(int *data, int low, int high) {
  if (low >= high) return;
  int pivot = data[(low + high) / 2], i = low, j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) std::swap(data[i++], data[j--]);
  }
  quicksort(data, low, j);
  quicksort(data, i, high);
}

void recursion(int blocks, int *out) {
#pragma omp parallel for
  for (int k = 0; k < blocks * 96; ++k) {
    int t = k % 96, own[20];
    for (int i = 0; i < 20; ++i) own[i] = mixed(t * 20 + i) % 1000;
    quicksort(own, 0, 19);
    bool sorted = true;
    for (int i = 1; i < 20; ++i) sorted = sorted && own[i - 1] <= own[i];
    int result = sorted ? ackermann(2, t % 5) : -1;
#pragma omp atomic write
    out[t] = result;
  }
}

void weigh(int n, int valid, const int *quads, int *out) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    int at = i / 128 * 128 + 127 - i % 128;
    const int *v = quads + 4 * at;
    out[i] = at < valid ? v[0] + 2 * v[1] + 3 * v[2] + 4 * v[3] : 0;
  }
}

void count_cells(int w, int h, int d, int *out) {
#pragma omp parallel for collapse(2)
  for (int z = 0; z < d; ++z)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) out[(z * h + y) * w + x] += 1 + x + 100 * y + 10000 * z;
}

void search(int n, const char *text, int length, const char *pattern, unsigned char *found) {
#pragma omp parallel for
  for (int i = 0; i <= n - length; ++i) found[i] = std::memcmp(text + i, pattern, length) == 0;
}
}  // namespace loops
