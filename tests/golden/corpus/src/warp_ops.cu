// Shuffles in every mode and width, votes, ballots, warp synchronisation under divergence.
#include "device.h"

extern "C" __global__ void shuffles(int *out, const int *in, int lane_arg) {
    int t = threadIdx.x, v = in[t];
    float f = (float)v;
    out[10 * t + 0] = __shfl_sync(0xffffffffu, v, lane_arg);
    out[10 * t + 1] = __shfl_sync(0xffffffffu, v, t * 7, 8);
    out[10 * t + 2] = __shfl_up_sync(0xffffffffu, v, 3);
    out[10 * t + 3] = __shfl_up_sync(0xffffffffu, v, 2, 16);
    out[10 * t + 4] = __shfl_down_sync(0xffffffffu, v, 5);
    out[10 * t + 5] = __shfl_down_sync(0xffffffffu, v, lane_arg, 4);
    out[10 * t + 6] = __shfl_xor_sync(0xffffffffu, v, 1);
    out[10 * t + 7] = __shfl_xor_sync(0xffffffffu, v, 12, 16);
    out[10 * t + 8] = __float_as_int(__shfl_down_sync(0xffffffffu, f, 1) + __shfl_xor_sync(0xffffffffu, f, 16));
    out[10 * t + 9] = (int)__shfl_sync(0xffffffffu, (unsigned)v, 31 - (t & 31));
}

extern "C" __global__ void votes(unsigned *out, const int *in) {
    int t = threadIdx.x, lane = t & 31, v = in[t];
    unsigned all = __ballot_sync(0xffffffffu, v > 0);
    out[4 * t] = all;
    out[4 * t + 1] = __all_sync(0xffffffffu, v > -5) + 2 * __any_sync(0xffffffffu, v == 7);
    if (lane & 1) {
        unsigned odd = __activemask();
        out[4 * t + 2] = __ballot_sync(0xaaaaaaaau, v & 2) + __popc(odd & ((1u << lane) - 1));
        __syncwarp(0xaaaaaaaau);
    } else {
        out[4 * t + 2] = __any_sync(0x55555555u, v & 4);
    }
    __syncwarp();
    out[4 * t + 3] = __popc(all & ~(~0u << lane));
}

extern "C" __global__ void aggregate(int *counter, int *slots, const int *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] <= 0) return;
    unsigned mask = __activemask();
    int leader = __ffs(mask) - 1, lane = threadIdx.x & 31, base = 0;
    if (lane == leader) base = atomicAdd(counter, __popc(mask));
    base = __shfl_sync(mask, base, leader);
    slots[base + __popc(mask & ((1u << lane) - 1))] = i;
}
