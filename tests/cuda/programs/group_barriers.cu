// prints: group barriers: 0 of 2560 wrong
// Barriers of blocks and of the grid in two halves, with work between them, and one thread that acts for its group.
#include <cooperative_groups.h>
#include "check.h"

namespace cg = cooperative_groups;

__device__ int next(int *count, int by) { return atomicAdd(count, by); }

__global__ void run(int *shown, int *turns, int *out) {
  __shared__ int line[64];
  auto grid = cg::this_grid();
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int i = grid.thread_rank(), rank = block.thread_rank();
  line[rank] = i;
  cg::thread_block::arrival_token here = block.barrier_arrive();
  int own = 3 * i;
  block.barrier_wait(static_cast<cg::thread_block::arrival_token &&>(here));
  shown[i] = line[63 - rank];
  auto all = grid.barrier_arrive();
  own += rank;
  grid.barrier_wait(static_cast<cg::grid_group::arrival_token &&>(all));
  int other = shown[grid.size() - 1 - i];
  cg::invoke_one(block, [=](int by) { atomicAdd(turns, by); }, 10);
  int mine = cg::invoke_one_broadcast(tile, next, turns + 1 + i / 16, 5);
  auto active = cg::coalesced_threads();
  mine += cg::invoke_one_broadcast(active, [=] { return i / 32 * 32; });
  grid.sync();
  out[i] = own + other + *turns + mine + turns[1 + i / 16];
}

int main() {
  const int n = 40 * 64;
  static int none[1 + n / 16], got[n];
  int *shown = on_device<int>(nullptr, n), *turns = on_device(none, 1 + n / 16), *out = on_device<int>(nullptr, n);
  void *arguments[] = {&shown, &turns, &out};
  CHECK(cudaLaunchCooperativeKernel(run, 40, 64, arguments));
  to_host(got, out, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    int k = n - 1 - i, other = k / 64 * 64 + 63 - k % 64;
    wrong += got[i] != 3 * i + i % 64 + other + 400 + i / 32 * 32 + 5;
  }
  return report("group barriers", wrong, n);
}
