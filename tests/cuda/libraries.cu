// Cooperative groups, random numbers and small floats, as programs use them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <curand_kernel.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

extern "C" __global__ void groups(int *out, const int *in) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int n = block.size(), i = block.thread_rank(), v = in[i], row = 0;
#define PUT(value) out[n * row++ + i] = (int)(value)
  PUT(tile.thread_rank());
  PUT(tile.meta_group_rank());
  PUT(tile.shfl(v, 3));
  PUT(tile.shfl_up(v, 1));
  PUT(tile.shfl_down(v, 2));
  PUT(tile.shfl_xor(v, 5));
  PUT(tile.ballot(v & 1));
  PUT(tile.any(v == in[0]));
  PUT(cg::reduce(tile, v, cg::plus<int>()));
  PUT(cg::reduce(tile, v, cg::greater<int>()));
  PUT(cg::inclusive_scan(tile, v));
  PUT(cg::exclusive_scan(tile, v, cg::plus<int>()));
  row = 12;
  if (v & 1) {
    cg::coalesced_group odd = cg::coalesced_threads();
    PUT(odd.thread_rank());
    PUT(odd.size());
    PUT(odd.shfl(v, 0));
    PUT(cg::reduce(odd, v, cg::plus<int>()));
  }
  tile.sync();
  row = 16;
  cg::coalesced_group side = cg::binary_partition(tile, v % 3 == 0);
  PUT(side.size());
  PUT(cg::reduce(side, v, cg::plus<int>()));
  cg::thread_group part = cg::tiled_partition(block, 16);
  PUT(part.thread_rank() + 100 * part.size());
  cg::sync(block);
#undef PUT
}

// Each block adds its part, then all read the total: right only when the whole grid meets between.
extern "C" __global__ void grid(int *total, int *out, int rounds) {
  cg::grid_group all = cg::this_grid();
  for (int round = 0; round < rounds; round++) {
    if (threadIdx.x == 0) atomicAdd(total, (int)all.block_rank() + 1);
    all.sync();
    if (threadIdx.x == 0) out[round * gridDim.x + blockIdx.x] = atomicAdd(total, 0);
    all.sync();
  }
}

template <class State> __device__ void draw(unsigned *out, float *u, double *d, float *normal, unsigned long long seed) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  curand_init(seed, i, 5, &state);
#pragma unroll 1
  for (int k = 0; k < 6; k++) out[6 * i + k] = curand(&state);
  u[i] = curand_uniform(&state);
  d[i] = curand_uniform_double(&state);
#pragma unroll 1
  for (int k = 0; k < 8; k++) normal[8 * i + k] = curand_normal(&state);
}
extern "C" __global__ void xorwow(unsigned *out, float *u, double *d, float *normal, unsigned long long seed) {
  draw<curandState>(out, u, d, normal, seed);
}
extern "C" __global__ void philox(unsigned *out, float *u, double *d, float *normal, unsigned long long seed) {
  draw<curandStatePhilox4_32_10_t>(out, u, d, normal, seed);
}
extern "C" __global__ void philox_block(uint4 *out, const uint4 *counters, const uint2 *keys) {
  out[threadIdx.x] = __dl_philox(counters[threadIdx.x], keys[threadIdx.x]);
}

template <class H> __device__ void arithmetic(H *out, const H *x, const H *y, const H *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = x[i] + y[i];
  out[n + i] = x[i] - y[i];
  out[2 * n + i] = x[i] * y[i];
  out[3 * n + i] = x[i] / y[i];
  out[4 * n + i] = __hfma(x[i], y[i], z[i]);
  out[5 * n + i] = H((float)x[i] * 0.1f);
  out[6 * n + i] = H((double)(float)x[i] * 0.1);
  out[7 * n + i] = x[i] < y[i] ? H(1) : __hisnan(x[i]) ? H(2) : H(0);
}
extern "C" __global__ void halves(__half *out, const __half *x, const __half *y, const __half *z, int n) {
  arithmetic(out, x, y, z, n);
}
extern "C" __global__ void bfloats(__nv_bfloat16 *out, const __nv_bfloat16 *x, const __nv_bfloat16 *y,
                                   const __nv_bfloat16 *z, int n) {
  arithmetic(out, x, y, z, n);
}
extern "C" __global__ void pairs(__half2 *h, __nv_bfloat162 *b, __half *one, __nv_bfloat16 *other) {
  half2 v = __halves2half2(__float2half(0.5f), __int2half_rn(2));
  v = __hfma2(v, v, __float2half2_rn(1.0f));  // 1.25, 5
  v = __shfl_xor_sync(~0u, v, 1) + h2sqrt(__float2half2_rn(4.0f));
  atomicAdd(h, v);
  atomicAdd(one + 1, __low2half(v));
  atomicAdd(b, __floats2bfloat162_rn(1.0f, 2.0f));
  atomicAdd(other + 1, __float2bfloat16(0.5f));
}
