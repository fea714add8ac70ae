// Bit counting, reversal, permutes, funnel shifts, field extraction, absolute differences.
#include "device.h"

extern "C" __global__ void bits(const unsigned *x, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = x[(i + 1) % n], r = 0;
    u64 w = (u64)a << 32 | b;
    r += __popc(a) + __popcll(w) + __clz((int)a) + __clzll((long long)w) + __ffs((int)b);
    r ^= __brev(a) + (unsigned)__brevll(w) + __byte_perm(a, b, 0x5142) + __byte_perm(a, b, i);
    r += __funnelshift_l(a, b, i) ^ __funnelshift_r(a, b, 9);
    r += __mulhi((int)a, (int)b) + __umulhi(a, b);
    r ^= (a >> (i & 31) | a << (32 - (i & 31)));
    r += (a & b) | (~a & r), r = (a & b) ^ (b & r) ^ (r & a);
    r -= (unsigned)((int)(a << 7) >> 20) + (a >> 5 & 0x3ff);
    out[i] = r;
}

extern "C" __global__ void fields(const int *x, int *out) {
    int t = threadIdx.x, v = x[t], r, p;
    asm("bfe.s32 %0, %1, 5, 9;" : "=r"(r) : "r"(v));
    asm("bfi.b32 %0, %1, %2, 12, 8;" : "=r"(p) : "r"(v), "r"(r));
    asm("sad.s32 %0, %1, %2, %3;" : "=r"(out[3 * t]) : "r"(v), "r"(r), "r"(p));
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(out[3 * t + 1]) : "r"(v));
    asm("{ .reg .u64 w; mul.wide.s32 w, %1, %2; shr.u64 w, w, 7; cvt.u32.u64 %0, w; }"
        : "=r"(out[3 * t + 2])
        : "r"(v), "r"(p));
}
