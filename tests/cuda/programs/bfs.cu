// prints: breadth-first search: 0 of 3000 wrong
// A frontier per level, grown by atomics; the host reads its size after each.
#include "check.h"

__global__ void expand(const int *begin, const int *edges, int *level, const int *frontier, int size, int *next,
                       int *next_size, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int v = frontier[i];
  for (int e = begin[v]; e < begin[v + 1]; ++e)
    if (atomicCAS(&level[edges[e]], -1, depth) == -1) next[atomicAdd(next_size, 1)] = edges[e];
}

int main() {
  const int n = 3000, degree = 3;
  static int begin[n + 1], edges[n * degree], level[n], expected[n], queue[n];
  for (int v = 0; v < n; ++v) {
    begin[v + 1] = begin[v] + degree;
    for (int e = 0; e < degree; ++e) edges[v * degree + e] = e ? mixed(v * degree + e) % n : (v + 1) % n;
    level[v] = expected[v] = -1;
  }
  level[0] = expected[0] = 0;
  int head = 0, tail = 1;
  for (; head < tail; ++head)
    for (int e = begin[queue[head]]; e < begin[queue[head] + 1]; ++e)
      if (expected[edges[e]] < 0) {
        expected[edges[e]] = expected[queue[head]] + 1;
        queue[tail++] = edges[e];
      }
  int size = 1;
  int *dbegin = on_device(begin, n + 1), *dedges = on_device(edges, n * degree), *dlevel = on_device(level, n);
  int *frontier = on_device<int>(nullptr, n), *next = on_device<int>(nullptr, n), *dsize = on_device<int>(nullptr, 1);
  CHECK(cudaMemset(frontier, 0, sizeof(int)));
  for (int depth = 1; size; ++depth) {
    CHECK(cudaMemset(dsize, 0, sizeof(int)));
    expand<<<(size + 63) / 64, 64>>>(dbegin, dedges, dlevel, frontier, size, next, dsize, depth);
    to_host(&size, dsize, 1);
    int *swapped = frontier;
    frontier = next;
    next = swapped;
  }
  to_host(level, dlevel, n);
  long wrong = 0;
  for (int v = 0; v < n; ++v) wrong += level[v] != expected[v];
  return report("breadth-first search", wrong, n);
}
