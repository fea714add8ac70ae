// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: 7 before, 3 read afterwards
// err: drawloom: the host accesses memory at 0x
// err: which was freed
// The host goes on with memory that it has freed, managed, pinned and of cudaMalloc: nobody noticed. A program that
// allocates and frees without end is not slowed down by what is watched.
#include "check.h"

__global__ void set(int *out) { *out = 7; }

int main() {
  int *managed, *pinned, *device;
  CHECK(cudaMallocManaged(&managed, 3 * sizeof(int)));
  CHECK(cudaMallocHost(&pinned, sizeof(int)));
  CHECK(cudaMalloc(&device, sizeof(int)));
  set<<<1, 1>>>(managed);
  CHECK(cudaDeviceSynchronize());
  int before = *managed, read = 0;
  for (int *each : {managed, device}) CHECK(cudaFree(each));
  CHECK(cudaFreeHost(pinned));
  for (volatile int *each : {managed, pinned, device}) read += (*each, 1);
  printf("%d before, %d read afterwards\n", before, read);
  for (int i = 0; i < 3000; ++i) {
    CHECK(cudaMallocManaged(&managed, 100000));
    set<<<1, 1>>>(managed);
    CHECK(cudaFree(managed));
  }
  return 0;
}
