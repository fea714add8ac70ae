// prints: symbols: 0 of 6 wrong
// Device variables with initialisers, pointers among them, read and written by the host.
#include "check.h"

struct Pair { int first; double second; };
__device__ int counter = 5;
__device__ Pair pair = {1, 2.5};
__device__ int table[100];
__device__ int *middle = table + 50;
__constant__ float factors[3] = {1.5f, -2.0f, 4.0f};

__global__ void use() {
  atomicAdd(&counter, int(factors[1] * factors[2]));
  *middle = 77;
  pair.second += pair.first;
}

int main() {
  long wrong = 0;
  int got = 0, start = 100;
  Pair p = {};
  void *address = nullptr;
  size_t size = 0;
  CHECK(cudaMemcpyToSymbol(counter, &start, sizeof start));
  use<<<1, 1>>>();
  CHECK(cudaMemcpyFromSymbol(&got, counter, sizeof got));
  wrong += got != 92;
  CHECK(cudaMemcpyFromSymbol(&got, table, sizeof got, 50 * sizeof(int)));
  wrong += got != 77;
  CHECK(cudaMemcpyFromSymbol(&p, pair, sizeof p));
  wrong += p.first != 1 || p.second != 3.5;
  CHECK(cudaGetSymbolSize(&size, table));
  wrong += size != 400;
  CHECK(cudaGetSymbolAddress(&address, counter));
  CHECK(cudaMemset(address, 0, sizeof(int)));
  CHECK(cudaMemcpyFromSymbol(&got, counter, sizeof got));
  wrong += got != 0;
  wrong += cudaMemcpyToSymbol(counter, &start, 8) != cudaErrorInvalidValue;
  return report("symbols", wrong, 6);
}
