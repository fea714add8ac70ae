// compilers: nvcc
// minimum: sm_80
// match.any, match.all and warp reductions (sm_80 and later), with lane masks.
#include "device.h"

extern "C" __global__ void groups(const int *keys, unsigned *masks, int *sums, const int *values) {
    int t = threadIdx.x;
    unsigned peers = __match_any_sync(0xffffffffu, keys[t]);
    int all_equal;
    unsigned same = __match_all_sync(0xffffffffu, (unsigned long long)keys[t] << 32, &all_equal);
    masks[3 * t] = peers;
    masks[3 * t + 1] = same;
    masks[3 * t + 2] = all_equal;
    sums[t] = __reduce_add_sync(peers, values[t]);
}

extern "C" __global__ void reductions(const int *x, unsigned *out) {
    int v = x[threadIdx.x];
    unsigned u = (unsigned)v, lt, eq;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
    unsigned r = __reduce_min_sync(~0u, v) + __reduce_max_sync(~0u, v) + __reduce_min_sync(~0u, u) +
                 __reduce_max_sync(~0u, u) + __reduce_and_sync(~0u, u) + __reduce_or_sync(~0u, u) +
                 __reduce_xor_sync(~0u, u);
    out[threadIdx.x] = r + __popc(lt) + eq;
}
