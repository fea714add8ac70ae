// prints: small launches: 0 of 7 wrong
// cpu only
// Launches that are over sooner than a thread is woken: in order, beside other threads', with a deep stack, in the
// device's own rounding of subnormals; and a kernel that begins to wait for the host after it never had to.
#include "check.h"
#include <sys/resource.h>
#include <thread>
#include <vector>
#include <xmmintrin.h>

constexpr int kLaunches = 2000;

__global__ void twice_and_one(unsigned *data) { data[threadIdx.x] = data[threadIdx.x] * 2 + 1; }
__global__ void add_each(int *data) { atomicAdd(data, 1); }
__device__ __noinline__ int depth_of(int n, volatile int *zero) {
  volatile int kept[16];
  kept[n & 15] = n;
  return n ? depth_of(n - 1, zero) + 1 + *zero * kept[3] : 0;
}
__global__ void recurse(int *out, int depth, int *zero) { *out = depth_of(depth, zero); }
__global__ void halve(float *value) { *value *= 0.5f; }
__global__ void wait_for(volatile int *flag, int wanted, int *out) {
  while (*flag != wanted) {}
  *out += 1;
}

long waits() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_nvcsw;
}

int main() {
  // No thread waits for another in nine of ten launches.
  unsigned *data = on_device<unsigned>(nullptr, 32), expected = 0, got;
  CHECK(cudaMemset(data, 0, 128));
  long before = waits();
  for (int i = 0; i < kLaunches; ++i) {
    twice_and_one<<<1, 32>>>(data);
    CHECK(cudaDeviceSynchronize());
    expected = expected * 2 + 1;
  }
  int sleepy = waits() - before > kLaunches / 10;
  to_host(&got, data + 31, 1);
  int wrong = sleepy + (got != expected);

  // Four threads, of which two share a stream.
  int *sums;
  CHECK(cudaMallocManaged(&sums, 4 * sizeof(int)));
  cudaStream_t streams[2];
  for (auto &s : streams) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([=] {
      for (int i = 0; i < kLaunches; ++i) add_each<<<1, 1, 0, streams[t & 1]>>>(&sums[t & 1]);
      CHECK(cudaStreamSynchronize(streams[t & 1]));
    });
  for (std::thread &one : threads) one.join();
  wrong += sums[0] != 2 * kLaunches || sums[1] != 2 * kLaunches;

  // As deep after launches that are none as without them.
  int *zero = on_device<int>(nullptr, 1), *deep = on_device<int>(nullptr, 1), depth = 0;
  CHECK(cudaMemset(zero, 0, sizeof(int)));
  for (int i = 0; i < 10; ++i) recurse<<<1, 1>>>(deep, 1, zero);
  recurse<<<1, 1>>>(deep, 12000, zero);
  CHECK(cudaDeviceSynchronize());
  to_host(&depth, deep, 1);
  wrong += depth != 12000;

  // The host's flushing of subnormals is not the device's.
  float small = 4e-38f, *value = on_device(&small, 1);
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  for (int i = 0; i < 5; ++i) halve<<<1, 1>>>(value);
  CHECK(cudaDeviceSynchronize());
  wrong += _MM_GET_FLUSH_ZERO_MODE() != _MM_FLUSH_ZERO_ON;
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
  to_host(&small, value, 1);
  wrong += small != 4e-38f / 32;

  // The host runs on beside a kernel that waits for it.
  int *flag;
  CHECK(cudaMallocManaged(&flag, 2 * sizeof(int)));
  flag[0] = flag[1] = 0;
  for (int i = 0; i < 10; ++i) wait_for<<<1, 1>>>(flag, 0, flag + 1);
  CHECK(cudaDeviceSynchronize());
  wait_for<<<1, 1>>>(flag, 1, flag + 1);
  add_each<<<1, 1>>>(sums);
  *(volatile int *)flag = 1;
  CHECK(cudaDeviceSynchronize());
  wrong += flag[1] != 11 || sums[0] != 2 * kLaunches + 1;
  return report("small launches", wrong, 7);
}
