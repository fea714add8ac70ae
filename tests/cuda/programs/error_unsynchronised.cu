// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: sum 600
// err: drawloom: the host accesses memory at 0x
// err: before anything waited for kernel fill(int*, int), which uses it
// err: before anything waited for an asynchronous copy, which uses it
// The host reads what a kernel and a copy write, and waits too late: on a GPU it may see the old values.
#include "check.h"

__global__ void fill(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = 3;
}

int main() {
  const int n = 4096;
  int *managed, *pinned, *device = on_device<int>(nullptr, n), sum = 0;
  CHECK(cudaMallocManaged(&managed, n * sizeof(int)));
  CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  fill<<<n / 128, 128>>>(managed, n);
  for (int i = 0; i < 100; ++i) sum += managed[i];  // too early
  CHECK(cudaDeviceSynchronize());
  fill<<<n / 128, 128, 0, stream>>>(device, n);
  CHECK(cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  for (int i = 0; i < 100; ++i) sum += pinned[i];  // too early
  CHECK(cudaStreamSynchronize(stream));
  fill<<<n / 128, 128, 0, stream>>>(managed, n);
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) managed[i] += pinned[i];  // in time
  printf("sum %d\n", sum);
  return 0;
}
