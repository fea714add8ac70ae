// cpu only
// prints: |   7|7   |2.25|
// Widths and precisions as arguments: CUDA documents the former alone, and OpenCL C and C have both.
#include "check.h"

__global__ void print() { printf("|%*d|%-*d|%.*f|\n", 4, 7, 4, 7, 2, 2.25f); }

int main() {
  print<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  return 0;
}
