// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: an illegal memory access was encountered
// err: access outside every allocation
// Memory of the host that no call made known: a GPU could not reach it either.
#include "check.h"

__global__ void write(int *p) { *p = 1; }

int main() {
  static int here;
  write<<<1, 1>>>(&here);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return here;
}
