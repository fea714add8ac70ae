// prints: streams and events: 0 of 8192 wrong
// Four streams with pinned memory, an event that another stream waits for, timing, and a host function.
#include "check.h"

__global__ void add(int *data, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += value;
}

int main() {
  const int parts = 4, n = 2048;
  int *host, *device, called = 0;
  CHECK(cudaMallocHost(&host, parts * n * sizeof(int)));
  CHECK(cudaMalloc(&device, parts * n * sizeof(int)));
  for (int i = 0; i < parts * n; ++i) host[i] = i;
  cudaStream_t streams[parts];
  cudaEvent_t begin, end, copied;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  CHECK(cudaEventRecord(begin));
  for (int p = 0; p < parts; ++p) {
    CHECK(cudaStreamCreateWithFlags(&streams[p], p % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    int *h = host + p * n, *d = device + p * n;
    CHECK(cudaMemcpyAsync(d, h, n * sizeof(int), cudaMemcpyHostToDevice, streams[p]));
    add<<<n / 256, 256, 0, streams[p]>>>(d, n, 1000 * p);
    CHECK(cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, streams[p]));
  }
  CHECK(cudaEventRecord(copied, streams[0]));
  CHECK(cudaStreamWaitEvent(streams[1], copied));
  CHECK(cudaLaunchHostFunc(streams[1], [](void *data) { ++*static_cast<int *>(data); }, &called));
  for (cudaStream_t s : streams) CHECK(cudaStreamSynchronize(s));
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1, refused;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  long wrong = !(milliseconds >= 0) + (called != 1);
  wrong += cudaEventElapsedTime(&refused, begin, copied) != cudaErrorInvalidResourceHandle;
  wrong += cudaStreamQuery(streams[2]) != cudaSuccess;
  for (int i = 0; i < parts * n; ++i) wrong += host[i] != i + 1000 * (i / n);
  for (cudaStream_t s : streams) CHECK(cudaStreamDestroy(s));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaFreeHost(host));
  return report("streams and events", wrong, parts * n);
}
