// What the programs share: calls that must succeed, inputs without a library, and the line that they end with.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t error_ = (call);                                                           \
    if (error_ != cudaSuccess) {                                                           \
      printf("%s failed at line %d: %s\n", #call, __LINE__, cudaGetErrorString(error_));   \
      exit(2);                                                                             \
    }                                                                                      \
  } while (0)

// A number that looks random, the same on both sides.
__host__ __device__ inline unsigned mixed(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

inline int report(const char *what, long wrong, long of) {
  printf("%s: %ld of %ld wrong\n", what, wrong, of);
  return wrong != 0;
}

template <class T> T *on_device(const T *host, size_t count) {
  T *memory;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  if (host) CHECK(cudaMemcpy(memory, host, count * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <class T> void to_host(T *host, const T *memory, size_t count) {
  CHECK(cudaMemcpy(host, memory, count * sizeof(T), cudaMemcpyDeviceToHost));
}
