// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: an illegal memory access was encountered
// err: kernel fill(int): access outside every allocation, 4 bytes at 0x
// err: , 0 bytes past the end of variable first of 400 bytes in block (0, 0, 0), thread (100, 0, 0) at
// err: error_variable_overrun.cu:12
// From one variable of the device into the next: they stood next to each other, and nobody noticed.
#include "check.h"

__device__ int first[100], second[100];

__global__ void fill(int value) { first[threadIdx.x] = second[threadIdx.x % 100] + value; }

int main() {
  fill<<<1, 128>>>(7);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
