// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: an illegal memory access was encountered
// err: kernel shift(int*, int): access outside every allocation, 4 bytes at 0x
// err: , 0 bytes past the end of an allocation of 400 bytes in block (3, 0, 0), thread (3, 0, 0) at
// err: error_out_of_bounds.cu:12
// An index that is one too far: without the check nobody notices.
#include "check.h"

__global__ void shift(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int next = i < n ? data[i + 1] : 0;
  __syncthreads();
  if (i < n) data[i] = next;
}

int main() {
  int *data = on_device<int>(nullptr, 100);
  CHECK(cudaMemset(data, 0, 400));
  shift<<<4, 32>>>(data, 100);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
