// prints: radix sort: 0 of 5000 wrong
// Four bits at a time: histograms per block, a scan of them, and a stable scatter that ranks keys in shared memory.
#include "check.h"

const int kBlock = 128, kBits = 4, kBins = 1 << kBits;

__global__ void count(const unsigned *keys, int n, int shift, int *bins, int blocks) {
  __shared__ int local[kBins];
  if (threadIdx.x < kBins) local[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) atomicAdd(&local[keys[i] >> shift & (kBins - 1)], 1);
  __syncthreads();
  if (threadIdx.x < kBins) bins[threadIdx.x * blocks + blockIdx.x] = local[threadIdx.x];
}

__global__ void scan(int *bins, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    int here = bins[i];
    bins[i] = sum;
    sum += here;
  }
}

__global__ void scatter(const unsigned *keys, unsigned *out, int n, int shift, const int *bins, int blocks) {
  __shared__ int digits[kBlock];
  int t = threadIdx.x, i = blockIdx.x * kBlock + t;
  int digit = i < n ? keys[i] >> shift & (kBins - 1) : -1;
  digits[t] = digit;
  __syncthreads();
  int rank = 0;
  for (int k = 0; k < t; ++k) rank += digits[k] == digit;
  if (i < n) out[bins[digit * blocks + blockIdx.x] + rank] = keys[i];
}

int main() {
  const int n = 5000, blocks = (n + kBlock - 1) / kBlock;
  static unsigned keys[n], sorted[n];
  unsigned long long before = 0, after = 0;
  for (int i = 0; i < n; ++i) before += keys[i] = mixed(i * 5 + 1);
  unsigned *in = on_device(keys, n), *out = on_device<unsigned>(nullptr, n);
  int *bins = on_device<int>(nullptr, kBins * blocks);
  for (int shift = 0; shift < 32; shift += kBits) {
    count<<<blocks, kBlock>>>(in, n, shift, bins, blocks);
    scan<<<1, 1>>>(bins, kBins * blocks);
    scatter<<<blocks, kBlock>>>(in, out, n, shift, bins, blocks);
    unsigned *swapped = in;
    in = out;
    out = swapped;
  }
  to_host(sorted, in, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    after += sorted[i];
    wrong += i && sorted[i - 1] > sorted[i];
  }
  return report("radix sort", wrong + (before != after), n);
}
