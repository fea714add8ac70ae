// Pointers whose space is known only at run time: shared, global, local, constant behind one pointer.
#include "device.h"

__constant__ int fixed[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int open_table[8];

__noinline__ __device__ int sum_range(const int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; ++i) s += p[i];
    return s;
}

extern "C" __global__ void mixed_spaces(const int *in, int *out, int *where) {
    __shared__ int shared_copy[8];
    int stack_copy[8];
    int t = threadIdx.x;
    if (t < 8) shared_copy[t] = in[t];
    for (int i = 0; i < 8; ++i) stack_copy[i] = in[i] + t;
    __syncthreads();
    const int *source = t % 4 == 0 ? shared_copy : t % 4 == 1 ? stack_copy : t % 4 == 2 ? (const int *)fixed : open_table;
    out[t] = sum_range(source, 8);
    unsigned flags;
    asm("{ .reg .pred a, b, c; .reg .u32 x, y, z;\n\t"
        "isspacep.shared a, %1; isspacep.local b, %1; isspacep.global c, %1;\n\t"
        "selp.u32 x, 1, 0, a; selp.u32 y, 2, 0, b; selp.u32 z, 4, 0, c;\n\t"
        "or.b32 %0, x, y; or.b32 %0, %0, z; }"
        : "=&r"(flags)
        : "l"(source));
    where[t] = (int)flags;
}
