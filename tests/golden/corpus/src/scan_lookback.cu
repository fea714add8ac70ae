// Inclusive prefix sum in one pass: blocks publish (flag, value) words and look back over their predecessors.
#include "device.h"
#define BLOCK 128

static __device__ u64 pack(unsigned flag, unsigned value) { return ((u64)flag << 32) | value; }

extern "C" __global__ void scan_lookback(const unsigned *in, unsigned *out, volatile u64 *status, unsigned *ticket,
                                         int n) {
    __shared__ unsigned warp_sums[BLOCK / 32];
    __shared__ unsigned block_index, exclusive;
    if (threadIdx.x == 0) block_index = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned block = block_index;
    int i = block * BLOCK + threadIdx.x;
    unsigned v = i < n ? in[i] : 0, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int d = 1; d < 32; d <<= 1) {
        unsigned t = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= (unsigned)d) v += t;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    for (unsigned w = 0; w < warp; ++w) v += warp_sums[w];
    if (threadIdx.x == BLOCK - 1) {
        unsigned before = 0;
        if (block == 0) {
            status[0] = pack(2, v);
        } else {
            status[block] = pack(1, v);
            __threadfence();
            for (int look = (int)block - 1; look >= 0;) {
                u64 s = status[look];
                unsigned flag = (unsigned)(s >> 32);
                if (flag == 0) continue;
                before += (unsigned)s;
                if (flag == 2) break;
                --look;
            }
            status[block] = pack(2, before + v);
        }
        exclusive = before;
    }
    __syncthreads();
    if (i < n) out[i] = v + exclusive;
}
