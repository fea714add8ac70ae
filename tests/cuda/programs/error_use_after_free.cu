// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: an illegal memory access was encountered
// err: use after free: 8 bytes into an allocation of 256 bytes that was freed
// err: error_use_after_free.cu:9
#include "check.h"

__global__ void read(const int *data, int *out) {
  *out = data[2];
}

int main() {
  int *data = on_device<int>(nullptr, 64), *out = on_device<int>(nullptr, 1);
  CHECK(cudaFree(data));
  int *other = on_device<int>(nullptr, 64);
  read<<<1, 1>>>(data, out);
  printf("%s\n", cudaGetErrorString(cudaMemcpy(other, out, 4, cudaMemcpyDeviceToDevice)));
  return 0;
}
