// Thrust over device vectors, and CUB's sort of pairs, against the host's algorithms.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

struct Mix {
  __host__ __device__ unsigned operator()(unsigned x) const { return x * 2654435761u >> 7; }
};

int main() {
  const int n = 5000;
  thrust::device_vector<unsigned> values(n);
  thrust::sequence(values.begin(), values.end());
  thrust::transform(values.begin(), values.end(), values.begin(), Mix());
  std::vector<unsigned> expected(n);
  for (int k = 0; k < n; k++) expected[k] = Mix()(k);
  int wrong = thrust::reduce(values.begin(), values.end()) != std::accumulate(expected.begin(), expected.end(), 0u);
  thrust::sort(values.begin(), values.end());
  std::sort(expected.begin(), expected.end());
  thrust::host_vector<unsigned> sorted = values;
  wrong += !std::equal(expected.begin(), expected.end(), sorted.begin());
  thrust::inclusive_scan(values.begin(), values.end(), values.begin());
  std::partial_sum(expected.begin(), expected.end(), expected.begin());
  thrust::copy(values.begin(), values.end(), sorted.begin());
  wrong += !std::equal(expected.begin(), expected.end(), sorted.begin());
  std::printf("%s, %d wrong\n", cudaGetErrorString(cudaGetLastError()), wrong);
}
