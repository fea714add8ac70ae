// Times a kernel and its OpenMP loops in turns, and compares what they leave. Each part names a kind of programs of
// tests/cuda/programs and launches their own kernels at sizes that fill the CPU.
#pragma once
#include <check.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "loops.h"

void elementwise(int rounds);
void stencils(int rounds);
void reductions(int rounds);
void scans(int rounds);
void sorting(int rounds);
void graphs(int rounds);
void dense(int rounds);

// Memory of both sides.
template <class T> T *managed(size_t count) {
  T *memory = nullptr;
  CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
  std::fill_n(memory, count, T());
  return memory;
}

template <class T, class F> T *filled(size_t count, F value) {
  T *memory = managed<T>(count);
  for (size_t i = 0; i < count; ++i) memory[i] = T(value(unsigned(i)));
  return memory;
}

inline int groups(int n, int size) { return (n + size - 1) / size; }

// Both sides write `count` results of type T to memory of their own, which they find as `prepare` or their last round
// left it. The results may be `bound` apart.
template <class T> struct Case {
  const char *program;
  size_t count;
  std::function<void(T *)> kernel, loops, prepare = nullptr;
  double bound = 0;
};

template <class T> void same(const char *program, size_t count, const T *ours, const T *theirs) {
  if (std::equal(ours, ours + count, theirs)) return;
  fprintf(stderr, "%s: the results differ\n", program);
  exit(1);
}

template <class T> void compare(int rounds, const Case<T> &c) {
  T *results[2] = {managed<T>(c.count), managed<T>(c.count)};
  std::vector<double> times[2];
  for (int round = 0; round <= rounds; ++round)
    for (int side = 0; side < 2; ++side) {
      if (c.prepare) c.prepare(results[side]);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // idle threads of the other side spin, then sleep
      auto begin = std::chrono::steady_clock::now();
      (side ? c.loops : c.kernel)(results[side]);
      CHECK(cudaDeviceSynchronize());
      std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
      if (round) times[side].push_back(taken.count());
    }
  double apart = 0;
  for (size_t i = 0; i < c.count; ++i) {
    double difference = std::fabs(double(results[0][i]) - double(results[1][i]));
    if (!(difference <= apart)) apart = difference;
  }
  for (auto &side : times) std::sort(side.begin(), side.end());
  printf("%s %.4f %.4f\n", c.program, times[0][rounds / 2], times[1][rounds / 2]);
  fflush(stdout);
  if (!(apart <= c.bound)) {
    fprintf(stderr, "%s: the results are %g apart\n", c.program, apart);
    exit(1);
  }
  for (T *memory : results) CHECK(cudaFree(memory));
}
