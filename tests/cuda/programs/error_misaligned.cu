// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: misaligned address
// err: misaligned access, 8 bytes at 0x
#include "check.h"

__global__ void write(char *p) { *(double *)(p + 4) = 1; }

int main() {
  char *p = on_device<char>(nullptr, 64);
  write<<<1, 1>>>(p);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
