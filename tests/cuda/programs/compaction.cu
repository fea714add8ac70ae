// prints: compaction: 0 of 20000 wrong
// What is wanted goes to the front in order: flags, a scan over one block's chunks, a scatter.
#include "check.h"

__global__ void compact(const int *in, int n, int *out, int *count) {
  __shared__ int place[256], base;
  int t = threadIdx.x;
  if (t == 0) base = 0;
  for (int first = 0; first < n; first += 256) {
    int i = first + t;
    int wanted = i < n && in[i] % 3 == 0;
    place[t] = wanted;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
      int more = t >= step ? place[t - step] : 0;
      __syncthreads();
      place[t] += more;
      __syncthreads();
    }
    if (wanted) out[base + place[t] - 1] = in[i];
    __syncthreads();
    if (t == 255) base += place[255];
    __syncthreads();
  }
  if (t == 0) *count = base;
}

int main() {
  const int n = 20000;
  static int in[n], got[n];
  for (int i = 0; i < n; ++i) in[i] = mixed(i) % 1000;
  int *din = on_device(in, n), *out = on_device<int>(nullptr, n), *dcount = on_device<int>(nullptr, 1), count = 0;
  compact<<<1, 256>>>(din, n, out, dcount);
  to_host(&count, dcount, 1);
  to_host(got, out, count);
  long wrong = 0;
  int k = 0;
  for (int i = 0; i < n; ++i)
    if (in[i] % 3 == 0) wrong += k >= count || got[k++] != in[i];
  return report("compaction", wrong + (k != count), n);
}
