// prints: host threads: 0 of 8 wrong
// Threads of the host with a stream each launch at the same time; each has a last error of its own.
#include "check.h"
#include <thread>

__global__ void add(int *data, int n, int value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&data[i], value);
}

int main() {
  const int threads = 8, n = 1000, rounds = 20;
  static long wrong[threads];
  auto work = [](int number) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int *data, host[n];
    CHECK(cudaMalloc(&data, n * sizeof(int)));
    CHECK(cudaMemsetAsync(data, 0, n * sizeof(int), stream));
    for (int r = 0; r < rounds; ++r) add<<<1, 64, 0, stream>>>(data, n, number);
    CHECK(cudaMemcpyAsync(host, data, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int value : host) wrong[number] += value != rounds * number;
    if (number % 2) add<<<1, 2000, 0, stream>>>(data, n, 1);
    wrong[number] += cudaGetLastError() != (number % 2 ? cudaErrorInvalidConfiguration : cudaSuccess);
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
  };
  std::thread all[threads];
  for (int t = 0; t < threads; ++t) all[t] = std::thread(work, t);
  for (std::thread &t : all) t.join();
  long sum = 0;
  for (long w : wrong) sum += w != 0;
  return report("host threads", sum, threads);
}
