// The same networks and passes, with digits of the size that caches like.
#include <omp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "loops.h"

namespace loops {
void bitonic_sort(int n, unsigned *data) {
#pragma omp parallel
  for (int length = 2; length <= n; length *= 2)
    for (int distance = length / 2; distance; distance /= 2)
#pragma omp for
      for (int k = 0; k < n / 2; ++k) {
        int i = (k & -distance) * 2 | (k & (distance - 1)), j = i + distance;
        unsigned least = std::min(data[i], data[j]), most = std::max(data[i], data[j]);
        bool up = (i & length) == 0;
        data[i] = up ? least : most;
        data[j] = up ? most : least;
      }
}

void odd_even_sort(int arrays, short *data) {
#pragma omp parallel for
  for (int k = 0; k < arrays; ++k) {
    short *a = data + k * 512;
    for (bool swapped = true; swapped;) {
      swapped = false;
      for (int odd = 0; odd < 2; ++odd)
        for (int i = odd; i + 1 < 512; i += 2) {
          short least = std::min(a[i], a[i + 1]), most = std::max(a[i], a[i + 1]);
          swapped |= least != a[i];
          a[i] = least;
          a[i + 1] = most;
        }
    }
  }
}

void radix_sort(int n, unsigned *keys, unsigned *other) {
  std::vector<std::array<int, 256>> places(omp_get_max_threads());
  for (int shift = 0; shift < 32; shift += 8) {
#pragma omp parallel
    {
      int threads = omp_get_num_threads(), thread = omp_get_thread_num();
      int begin = int((long long)n * thread / threads), end = int((long long)n * (thread + 1) / threads);
      auto &mine = places[thread];
      mine.fill(0);
      for (int i = begin; i < end; ++i) ++mine[keys[i] >> shift & 255];
#pragma omp barrier
#pragma omp single
      for (int digit = 0, sum = 0; digit < 256; ++digit)
        for (int t = 0; t < threads; ++t) {
          int here = places[t][digit];
          places[t][digit] = sum;
          sum += here;
        }
      for (int i = begin; i < end; ++i) other[mine[keys[i] >> shift & 255]++] = keys[i];
    }
    std::swap(keys, other);
  }
}
}  // namespace loops
