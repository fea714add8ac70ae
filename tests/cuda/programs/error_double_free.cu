// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: again: invalid argument
// prints: in the middle: invalid argument
// prints: of the host: invalid argument
// prints: after that: no error
// err: cudaFree of 0x
// err: use after free: 0 bytes into an allocation of 400 bytes that was freed
// What was freed is not freed twice, nor from its middle, nor memory that was never allocated; the device goes on.
#include "check.h"

int main() {
  int *memory, *other, own[4];
  CHECK(cudaMalloc(&memory, 400));
  CHECK(cudaMalloc(&other, 400));
  CHECK(cudaFree(memory));
  printf("again: %s\n", cudaGetErrorString(cudaFree(memory)));
  printf("in the middle: %s\n", cudaGetErrorString(cudaFree(other + 1)));
  printf("of the host: %s\n", cudaGetErrorString(cudaFree(own)));
  cudaGetLastError();
  CHECK(cudaFree(other));
  printf("after that: %s\n", cudaGetErrorString(cudaGetLastError()));
  return 0;
}
