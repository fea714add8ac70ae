// prints: cooperative groups: 0 of 512 wrong
// Blocks and tiles of 4, 8 and 32 threads as groups: ranks, shuffles, votes, synchronisation.
#include <cooperative_groups.h>
#include "check.h"

namespace cg = cooperative_groups;

template <class Group> __device__ int sum_of(const Group &group, int value) {
  for (int offset = group.size() / 2; offset; offset /= 2) value += group.shfl_down(value, offset);
  return group.shfl(value, 0);
}

__global__ void run(const int *in, int *out) {
  __shared__ int line[128];
  cg::thread_block block = cg::this_thread_block();
  int i = blockIdx.x * block.size() + block.thread_rank();
  line[block.thread_rank()] = in[i];
  block.sync();
  auto tile4 = cg::tiled_partition<4>(block);
  auto tile32 = cg::tiled_partition<32>(block);
  auto tile8 = cg::tiled_partition<8>(tile32);
  int mine = line[block.size() - 1 - block.thread_rank()];
  int odd = tile32.ballot(mine & 1) != 0 && tile4.any(mine & 1);
  out[i] = sum_of(tile4, mine) + 3 * sum_of(tile8, mine) + 5 * sum_of(tile32, mine) + odd + int(tile8.thread_rank());
}

int main() {
  const int n = 512;
  int in[n], got[n];
  for (int i = 0; i < n; ++i) in[i] = mixed(i) % 64 * (i % 12 > 3);
  int *din = on_device(in, n), *out = on_device<int>(nullptr, n);
  run<<<4, 128>>>(din, out);
  to_host(got, out, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    auto mine = [&](int k) { return in[k / 128 * 128 + 127 - k % 128]; };
    auto sum = [&](int size) {
      int all = 0;
      for (int k = i / size * size; k < (i / size + 1) * size; ++k) all += mine(k);
      return all;
    };
    bool odd = false;
    for (int k = i / 4 * 4; k < i / 4 * 4 + 4; ++k) odd = odd || (mine(k) & 1);
    wrong += got[i] != sum(4) + 3 * sum(8) + 5 * sum(32) + odd + i % 8;
  }
  return report("cooperative groups", wrong, n);
}
