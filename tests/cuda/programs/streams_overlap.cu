// prints: while it runs: 0 of 6 wrong
// prints: order: 0 of 5 wrong
// The host goes on while kernels run, tells them to stop, and copies on another stream; then the order that events,
// host functions and the default stream keep.
#include "check.h"
#include <chrono>
#include <thread>

__device__ int stop;

__global__ void until(volatile int *flag, int *out) {
  while (*flag == 0) {
  }
  *out = *flag;
}
__global__ void until_copied(int *out) {
  while (atomicAdd(&stop, 0) == 0) {
  }
  *out = stop;
}
__global__ void add(int *value, int by) { *value = *value * 10 + by; }

void CUDART_CB sleeps(void *milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int *>(milliseconds)));
}
void CUDART_CB calls(void *error) { *static_cast<cudaError_t *>(error) = cudaStreamQuery(0); }  // not permitted

int main() {
  int *shared, *value, got, milliseconds = 30;
  cudaStream_t one, two;
  cudaEvent_t begin, end;
  CHECK(cudaMallocHost(&shared, 4 * sizeof(int)));
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));

  shared[0] = shared[1] = 0;
  until<<<1, 1, 0, one>>>(shared, shared + 1);
  CHECK(cudaEventRecord(end, one));
  long wrong = cudaStreamQuery(one) != cudaErrorNotReady;
  wrong += cudaEventQuery(end) != cudaErrorNotReady;
  wrong += cudaEventElapsedTime(nullptr, begin, end) != cudaErrorInvalidValue;
  *(volatile int *)shared = 7;
  CHECK(cudaEventSynchronize(end));
  wrong += cudaStreamQuery(one) != cudaSuccess || shared[1] != 7;

  shared[0] = 5;
  until_copied<<<1, 1, 0, one>>>(shared + 1);
  wrong += cudaStreamQuery(one) != cudaErrorNotReady;
  CHECK(cudaMemcpyToSymbolAsync(stop, shared, sizeof(int), 0, cudaMemcpyHostToDevice, two));
  CHECK(cudaStreamSynchronize(two));
  CHECK(cudaStreamSynchronize(one));
  wrong += shared[1] != 5;
  report("while it runs", wrong, 6);

  // What one stream does after 30 ms, another and then the default stream come after.
  wrong = 0;
  cudaStream_t ordinary;
  CHECK(cudaStreamCreate(&ordinary));
  CHECK(cudaMemset(value, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventRecord(begin, one));
  CHECK(cudaLaunchHostFunc(one, sleeps, &milliseconds));
  add<<<1, 1, 0, one>>>(value, 1);
  CHECK(cudaEventRecord(end, one));
  CHECK(cudaStreamWaitEvent(two, end, 0));
  add<<<1, 1, 0, two>>>(value, 2);
  CHECK(cudaEventRecord(end, two));
  CHECK(cudaStreamWaitEvent(ordinary, end, 0));
  add<<<1, 1, 0, ordinary>>>(value, 3);
  add<<<1, 1>>>(value, 4);
  add<<<1, 1, 0, ordinary>>>(value, 5);
  CHECK(cudaMemcpy(&got, value, sizeof(int), cudaMemcpyDeviceToHost));
  wrong += got != 12345;
  float elapsed = 0;
  CHECK(cudaEventSynchronize(end));
  CHECK(cudaEventElapsedTime(&elapsed, begin, end));
  wrong += !(elapsed >= 29 && elapsed < 30000);

  cudaError_t inside = cudaSuccess;
  CHECK(cudaLaunchHostFunc(0, calls, &inside));
  CHECK(cudaDeviceSynchronize());
  wrong += inside == cudaSuccess;

  CHECK(cudaLaunchHostFunc(one, sleeps, &milliseconds));  // destroyed, and yet what it was given is done
  add<<<1, 1, 0, one>>>(value, 6);
  CHECK(cudaStreamDestroy(one));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(&got, value, sizeof(int), cudaMemcpyDeviceToHost));
  wrong += got != 123456;
  wrong += cudaStreamQuery(two) != cudaSuccess;
  return report("order", wrong, 5) || shared[1] != 5;
}
