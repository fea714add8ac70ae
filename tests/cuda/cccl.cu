// CUB's and Thrust's algorithms of a block and of the device, against the same on the host.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/device_ptr.h>
#include <thrust/transform.h>

constexpr int kThreads = 128;
using Value = long long;
// The larger an item, the fewer of them a thread has, and the sooner what is unrolled for them is compiled.
struct Item {
  Value key, unused[3];
};

struct Mix {
  __host__ __device__ Value operator()(Value x) const { return x * 2654435761 % 4099; }
};
struct Larger {
  __host__ __device__ Item operator()(const Item &a, const Item &b) const { return a.key < b.key ? b : a; }
};
struct Less {
  __host__ __device__ bool operator()(const Item &a, const Item &b) const { return a.key < b.key; }
};

__global__ void collect(const Value *in, Value *sums, Value *scans) {
  using Reduce = cub::BlockReduce<Value, kThreads>;
  using Scan = cub::BlockScan<Value, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Scan::TempStorage scan;
  const int k = blockIdx.x * kThreads + threadIdx.x;
  const Value sum = Reduce(reduce).Sum(in[k]);
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
  const int n = 41 * kThreads;
  Value *in, *out, *sums;
  cudaMallocManaged(&in, n * sizeof(Value));
  cudaMallocManaged(&out, n * sizeof(Value));
  cudaMallocManaged(&sums, n * sizeof(Value));
  std::iota(in, in + n, Value(0));
  thrust::device_ptr<Value> values(in);
  thrust::transform(values, values + n, values, Mix());
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int k = 0; k < n; k++) wrong += in[k] != Mix()(k);

  collect<<<n / kThreads, kThreads>>>(in, sums, out);
  cudaDeviceSynchronize();
  for (int b = 0; b < n / kThreads; b++) {
    Value sum = 0;
    for (int k = b * kThreads; k < (b + 1) * kThreads; sum += in[k++]) wrong += out[k] != sum;
    wrong += sums[b] != sum;
  }

  run([&](void *memory, size_t &bytes) { cub::DeviceScan::InclusiveSum(memory, bytes, in, out, n); });
  Value all = 0;
  for (int k = 0; k < n; k++) wrong += out[k] != (all += in[k]);

  Item *items, *largest;
  cudaMallocManaged(&items, n * sizeof(Item));
  cudaMallocManaged(&largest, sizeof(Item));
  for (int k = 0; k < n; k++) items[k] = Item{in[k]};
  run([&](void *memory, size_t &bytes) {
    cub::DeviceReduce::Reduce(memory, bytes, items, largest, n, Larger(), Item{-1});
  });
  run([&](void *memory, size_t &bytes) { cub::DeviceMergeSort::SortKeys(memory, bytes, items, n, Less()); });
  std::sort(in, in + n);
  wrong += largest->key != in[n - 1];
  for (int k = 0; k < n; k++) wrong += items[k].key != in[k];
  std::printf("%s, %d wrong\n", cudaGetErrorString(cudaGetLastError()), wrong);
}
