// Block sum and maximum by warp shuffles, one partial result per block.
#include "device.h"

static __device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

extern "C" __global__ void reduce_sum(const float *x, float *partial, int n) {
    __shared__ float warp_totals[32];
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    v = warp_sum(v);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0) warp_totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < (int)(blockDim.x + 31) / 32 ? warp_totals[lane] : 0.0f;
        v = warp_sum(v);
        if (lane == 0) partial[blockIdx.x] = v;
    }
}

extern "C" __global__ void reduce_max_index(const int *x, int *best, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : -2147483647 - 1, index = i;
    for (int mask = 16; mask; mask >>= 1) {
        int other = __shfl_xor_sync(0xffffffffu, value, mask);
        int other_index = __shfl_xor_sync(0xffffffffu, index, mask);
        bool take = other > value || (other == value && other_index < index);
        value = take ? other : value;
        index = take ? other_index : index;
    }
    if ((threadIdx.x & 31) == 0) {
        best[2 * (i >> 5)] = value;
        best[2 * (i >> 5) + 1] = index;
    }
}
