// prints: pagerank: 0 of 400 wrong
// Sums over incoming links, in double precision and in the same order as the host's: the same bits.
#include "check.h"

__global__ void rank_step(const int *begin, const int *from, const double *in, double *out, const int *out_degree,
                          int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  double sum = 0;
  for (int e = begin[v]; e < begin[v + 1]; ++e) sum += in[from[e]] / out_degree[from[e]];
  out[v] = __dadd_rn(0.15 / n, __dmul_rn(0.85, sum));
}

int main() {
  const int n = 400, most = 6, steps = 15;
  static int begin[n + 1], from[n * most], degree[n];
  static double rank[2][n], got[n];
  for (int v = 0; v < n; ++v) {
    int count = 1 + mixed(v) % most;
    begin[v + 1] = begin[v] + count;
    for (int e = 0; e < count; ++e) ++degree[from[begin[v] + e] = mixed(v * 31 + e) % n];
    rank[0][v] = 1.0 / n;
  }
  int *dbegin = on_device(begin, n + 1), *dfrom = on_device(from, n * most), *ddegree = on_device(degree, n);
  double *in = on_device(rank[0], n), *out = on_device<double>(nullptr, n);
  for (int s = 0; s < steps; ++s) {
    rank_step<<<(n + 95) / 96, 96>>>(dbegin, dfrom, in, out, ddegree, n);
    double *swapped = in;
    in = out;
    out = swapped;
    for (int v = 0; v < n; ++v) {
      volatile double sum = 0;
      for (int e = begin[v]; e < begin[v + 1]; ++e) sum = sum + rank[s % 2][from[e]] / degree[from[e]];
      volatile double damped = 0.85 * sum;
      rank[1 - s % 2][v] = 0.15 / n + damped;
    }
  }
  to_host(got, in, n);
  long wrong = 0;
  for (int v = 0; v < n; ++v) wrong += got[v] != rank[steps % 2][v];
  return report("pagerank", wrong, n);
}
