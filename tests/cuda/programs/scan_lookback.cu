// prints: chained scan: 0 of 40000 wrong
// One pass: each block publishes its sum, and waits for those before it (decoupled look-back).
#include "check.h"

const int kBlock = 128;

struct Cell { int state, sum, prefix; };  // state 0: nothing, 1: the sum, 2: the prefix, too

__global__ void scan(const int *in, int *out, volatile Cell *cells, int *ticket, int n) {
  __shared__ int a[kBlock], block, before;
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1);
  __syncthreads();
  int t = threadIdx.x, i = block * kBlock + t;
  a[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < kBlock; step *= 2) {
    int more = t >= step ? a[t - step] : 0;
    __syncthreads();
    a[t] += more;
    __syncthreads();
  }
  if (t == 0) {
    int total = a[kBlock - 1], sum = 0;
    cells[block].sum = total;
    __threadfence();
    cells[block].state = 1;
    for (int b = block - 1; b >= 0; --b) {
      int state;
      do state = cells[b].state; while (state == 0);
      __threadfence();
      if (state == 2) {
        sum += cells[b].prefix;
        break;
      }
      sum += cells[b].sum;
    }
    cells[block].prefix = sum + total;
    __threadfence();
    cells[block].state = 2;
    before = sum;
  }
  __syncthreads();
  if (i < n) out[i] = a[t] + before;
}

int main() {
  const int n = 40000, blocks = (n + kBlock - 1) / kBlock;
  static int in[n], out[n];
  for (int i = 0; i < n; ++i) in[i] = mixed(i) % 50;
  int *din = on_device(in, n), *dout = on_device<int>(nullptr, n), *ticket = on_device<int>(nullptr, 1);
  Cell *cells = on_device<Cell>(nullptr, blocks);
  CHECK(cudaMemset(cells, 0, blocks * sizeof(Cell)));
  CHECK(cudaMemset(ticket, 0, sizeof(int)));
  scan<<<blocks, kBlock>>>(din, dout, cells, ticket, n);
  to_host(out, dout, n);
  long wrong = 0;
  int sum = 0;
  for (int i = 0; i < n; ++i) wrong += out[i] != (sum += in[i]);
  return report("chained scan", wrong, n);
}
