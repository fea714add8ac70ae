// cpu only
// prints: an illegal memory access was encountered
// err: kernel write(int*): write to unmapped memory at 0x10; DRAWLOOM_CHECK=memory finds the line in block (0, 0, 0)
#include "check.h"

__global__ void write(int *p) { *p = 1; }

int main() {
  write<<<1, 1>>>((int *)16);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
