// CUB: a block's reduction and scan, and the device's, against sums on the host.
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

constexpr int kThreads = 128;

__global__ void collect(const int *in, int *sums, int *scans) {
  using Reduce = cub::BlockReduce<int, kThreads>;
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Scan::TempStorage scan;
  const int k = blockIdx.x * kThreads + threadIdx.x;
  const int sum = Reduce(reduce).Sum(in[k]);
  Scan(scan).ExclusiveSum(in[k], scans[k]);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class F> void run(F &&algorithm) {
  void *memory = nullptr;
  size_t bytes = 0;
  algorithm(memory, bytes);
  cudaMalloc(&memory, bytes);
  algorithm(memory, bytes);
  cudaDeviceSynchronize();
  cudaFree(memory);
}

int main() {
  const int n = 79 * kThreads;
  int *in, *out, *sums;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&out, n * sizeof(int));
  cudaMallocManaged(&sums, n * sizeof(int));
  for (int k = 0; k < n; k++) in[k] = k * 7 % 23;
  collect<<<n / kThreads, kThreads>>>(in, sums, out);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int b = 0; b < n / kThreads; b++) {
    int sum = 0;
    for (int k = b * kThreads; k < (b + 1) * kThreads; sum += in[k++]) wrong += out[k] != sum;
    wrong += sums[b] != sum;
  }
  int all = 0;
  run([&](void *memory, size_t &bytes) { cub::DeviceReduce::Sum(memory, bytes, in, sums, n); });
  run([&](void *memory, size_t &bytes) { cub::DeviceScan::InclusiveSum(memory, bytes, in, out, n); });
  for (int k = 0; k < n; k++) wrong += out[k] != (all += in[k]);
  wrong += sums[0] != all;
  std::printf("%s, %d wrong\n", cudaGetErrorString(cudaGetLastError()), wrong);
}
