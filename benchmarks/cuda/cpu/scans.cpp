// Running sums: each thread's part is summed first, so that it knows what comes before it.
#include <omp.h>

#include <numeric>
#include <vector>

#include "loops.h"

namespace loops {
static int first_of(int n, int thread) { return int((long long)n * thread / omp_get_num_threads()); }

void scan(int n, const int *in, int *out) {
  std::vector<int> sums(omp_get_max_threads() + 1);
#pragma omp parallel
  {
    int thread = omp_get_thread_num(), begin = first_of(n, thread), end = first_of(n, thread + 1), sum = 0;
    for (int i = begin; i < end; ++i) sum += in[i];
    sums[thread + 1] = sum;
#pragma omp barrier
    sum = std::accumulate(sums.begin(), sums.begin() + thread + 1, 0);
    for (int i = begin; i < end; ++i) out[i] = sum += in[i];
  }
}

int compact(int n, const int *in, int *out) {
  std::vector<int> counts(omp_get_max_threads() + 1);
#pragma omp parallel
  {
    int thread = omp_get_thread_num(), begin = first_of(n, thread), end = first_of(n, thread + 1), count = 0;
    for (int i = begin; i < end; ++i) count += in[i] % 3 == 0;
    counts[thread + 1] = count;
#pragma omp barrier
    int *to = out + std::accumulate(counts.begin(), counts.begin() + thread + 1, 0);
    for (int i = begin; i < end; ++i)
      if (in[i] % 3 == 0) *to++ = in[i];
  }
  return std::accumulate(counts.begin(), counts.end(), 0);
}
}  // namespace loops
