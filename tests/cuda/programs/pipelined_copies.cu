// prints: pipelined: 0 of 4096 wrong
// Tiles are copied to shared memory two ahead of the one at work, the last one in part.
#include "check.h"
#include <cuda_pipeline.h>

constexpr int kTile = 128, kStages = 3;

__global__ void scale(int *out, const int4 *in, int tiles, int last) {
  __shared__ int4 stages[kStages][kTile];
  auto fetch = [&](int tile) {
    if (tile < tiles) {
      size_t zeros = tile == tiles - 1 && threadIdx.x >= last ? 16 : 0;
      __pipeline_memcpy_async(&stages[tile % kStages][threadIdx.x], &in[tile * kTile + threadIdx.x], 16, zeros);
    }
    __pipeline_commit();
  };
  for (int stage = 0; stage < kStages - 1; ++stage) fetch(stage);
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + kStages - 1);
    __pipeline_wait_prior(kStages - 1);
    __syncthreads();
    int4 v = stages[tile % kStages][kTile - 1 - threadIdx.x];
    out[tile * kTile + threadIdx.x] = v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    __syncthreads();
  }
}

int main() {
  const int tiles = 32, n = tiles * kTile, last = 100;
  static int4 host[n];
  static int got[n];
  for (int i = 0; i < n; ++i) host[i] = make_int4(mixed(i), i, -i, 7);
  int4 *in = on_device(host, n);
  int *out = on_device<int>(nullptr, n);
  scale<<<1, kTile>>>(out, in, tiles, last);
  to_host(got, out, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    int at = i / kTile * kTile + kTile - 1 - i % kTile;
    int4 v = at >= n - kTile + last ? make_int4(0, 0, 0, 0) : host[at];
    wrong += got[i] != v.x + 2 * v.y + 3 * v.z + 4 * v.w;
  }
  return report("pipelined", wrong, n);
}
