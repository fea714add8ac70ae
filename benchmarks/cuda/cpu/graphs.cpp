// Rows of different lengths, lists, and a sieve.
#include <omp.h>

#include <algorithm>
#include <vector>

#include "loops.h"

namespace loops {
void breadth_first(int n, const int *begin, const int *edges, int *level, int *frontier, int *next) {
  std::fill_n(level, n, -1);
  level[0] = frontier[0] = 0;
  int size = 1;
  for (int depth = 1; size; ++depth) {
    int next_size = 0;
#pragma omp parallel
    {
      std::vector<int> found;
#pragma omp for schedule(dynamic, 256) nowait
      for (int i = 0; i < size; ++i)
        for (int e = begin[frontier[i]]; e < begin[frontier[i] + 1]; ++e) {
          int unseen = -1, v = edges[e];
          if (__atomic_load_n(&level[v], __ATOMIC_RELAXED) == -1 &&
              __atomic_compare_exchange_n(&level[v], &unseen, depth, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            found.push_back(v);
        }
      int place;
#pragma omp atomic capture
      {
        place = next_size;
        next_size += int(found.size());
      }
      std::copy(found.begin(), found.end(), next + place);
    }
    std::swap(frontier, next);
    size = next_size;
  }
}

// Not fused, so that the results have the same bits.
__attribute__((optimize("fp-contract=off"))) void rank_step(int n, const int *begin, const int *from, const double *in,
                                                            double *out, const int *out_degree) {
#pragma omp parallel for
  for (int v = 0; v < n; ++v) {
    double sum = 0;
    for (int e = begin[v]; e < begin[v + 1]; ++e) sum += in[from[e]] / out_degree[from[e]];
    out[v] = 0.15 / n + 0.85 * sum;
  }
}

void multiply(int n, const int *begin, const int *columns, const float *values, const float *x, float *y) {
#pragma omp parallel for
  for (int r = 0; r < n; ++r) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int e = begin[r]; e < begin[r + 1]; ++e) sum += values[e] * x[columns[e]];
    y[r] = sum;
  }
}

int primes(int n, unsigned char *composite) {
  std::fill_n(composite, n, 0);
  for (int p = 2; (long long)p * p < n; ++p)
    if (!composite[p])
      for (int m = p * p; m < n; m += p) composite[m] = 1;
  int count = 0;
#pragma omp parallel for reduction(+ : count) schedule(dynamic, 256)
  for (int i = 2; i < n; ++i) {
    if (composite[i]) continue;
    bool prime = true;
    for (long long d = 2; prime && d * d <= i; ++d) prime = i % d != 0;
    count += prime;
  }
  return count;
}

int walk(Node *first) {
  int length = 0;
  for (Node *node = first; node; node = node->next, ++length) node->value += 1000;
  return length;
}
}  // namespace loops
