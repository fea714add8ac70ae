// Prints the microseconds of calls of the runtime interface with little to do, each the median of 15 rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

constexpr int kRounds = 15, kCalls = 1000;

__global__ void touch(float *data) { data[threadIdx.x] += 1; }
__global__ void stencil(float *to, const float *from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) to[i] = 0.33333f * (from[i - 1] + from[i] + from[i + 1]);
}

template <class F> void measure(const char *name, F call) {
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; ++r) {
    cudaDeviceSynchronize();
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    cudaDeviceSynchronize();
    std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
    rounds.push_back(spent.count() / kCalls);
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf("%s|%.2f\n", name, rounds[kRounds / 2]);
}

int main() {
  constexpr int n = 4096;
  float *a, *b, host[4] = {};
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMemset(a, 0, n * sizeof(float));
  cudaStream_t stream;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  measure("launch of 1 block of 32 threads", [&] { touch<<<1, 32>>>(a); });
  measure("the same, and wait for it", [&] { touch<<<1, 32>>>(a), cudaDeviceSynchronize(); });
  measure("the same in a stream of its own", [&] { touch<<<1, 32, 0, stream>>>(a), cudaStreamSynchronize(stream); });
  measure("launch of 16 blocks of 256 threads", [&] { stencil<<<16, 256>>>(b, a, n); });
  measure("the same, and wait for it", [&] { stencil<<<16, 256>>>(b, a, n), cudaDeviceSynchronize(); });
  measure("cudaMemcpy of 16 bytes to the device", [&] { cudaMemcpy(a, host, 16, cudaMemcpyHostToDevice); });
  measure("cudaMemcpy of 16 bytes to the host", [&] { cudaMemcpy(host, a, 16, cudaMemcpyDeviceToHost); });
  measure("cudaMemset of 16 bytes", [&] { cudaMemset(a, 0, 16); });
  measure("cudaMemsetAsync of 16 bytes", [&] { cudaMemsetAsync(a, 0, 16, stream); });
  measure("cudaEventRecord", [&] { cudaEventRecord(event); });
  measure("cudaEventRecord, and wait for it", [&] { cudaEventRecord(event), cudaEventSynchronize(event); });
  measure("cudaDeviceSynchronize", [&] { cudaDeviceSynchronize(); });
}
