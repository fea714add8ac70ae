// 64-, 128- and 256-bit arithmetic: carry chains by hand, __int128 by the compiler, Montgomery steps.
#include "device.h"

struct wide { unsigned w[8]; };

extern "C" __global__ void add256(const wide *a, const wide *b, wide *c, unsigned *carries, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    wide x = a[i], y = b[i], z;
    unsigned carry;
    asm("add.cc.u32 %0, %9, %17;\n\t"
        "addc.cc.u32 %1, %10, %18;\n\t"
        "addc.cc.u32 %2, %11, %19;\n\t"
        "addc.cc.u32 %3, %12, %20;\n\t"
        "addc.cc.u32 %4, %13, %21;\n\t"
        "addc.cc.u32 %5, %14, %22;\n\t"
        "addc.cc.u32 %6, %15, %23;\n\t"
        "addc.cc.u32 %7, %16, %24;\n\t"
        "addc.u32 %8, 0, 0;"
        : "=r"(z.w[0]), "=r"(z.w[1]), "=r"(z.w[2]), "=r"(z.w[3]), "=r"(z.w[4]), "=r"(z.w[5]), "=r"(z.w[6]),
          "=r"(z.w[7]), "=r"(carry)
        : "r"(x.w[0]), "r"(x.w[1]), "r"(x.w[2]), "r"(x.w[3]), "r"(x.w[4]), "r"(x.w[5]), "r"(x.w[6]), "r"(x.w[7]),
          "r"(y.w[0]), "r"(y.w[1]), "r"(y.w[2]), "r"(y.w[3]), "r"(y.w[4]), "r"(y.w[5]), "r"(y.w[6]), "r"(y.w[7]));
    c[i] = z;
    carries[i] = carry;
}

extern "C" __global__ void mul64x64(const u64 *a, const u64 *b, u64 *lo, u64 *hi, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 p = (unsigned __int128)a[i] * b[i];
    lo[i] = (u64)p;
    hi[i] = (u64)(p >> 64) ^ __umul64hi(a[i], b[i] | 1);
}

extern "C" __global__ void fixed128(const __int128 *a, const long long *b, __int128 *out, int shift, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __int128 v = a[i] + b[i];
    v = v < 0 ? -v : v;
    out[i] = (v >> (shift & 127)) - ((__int128)b[i] << (shift & 63)) * 3;
}

extern "C" __global__ void mad_chain(const unsigned *a, const unsigned *b, unsigned *out) {
    unsigned t = threadIdx.x, lo, mid, hi;
    asm("{\n\t"
        ".reg .u32 t0;\n\t"
        "mul.lo.u32 %0, %3, %4;\n\t"
        "mul.hi.u32 t0, %3, %4;\n\t"
        "mad.lo.cc.u32 %1, %3, %5, t0;\n\t"
        "madc.hi.u32 %2, %3, %5, 0;\n\t"
        "sub.cc.u32 %1, %1, %4;\n\t"
        "subc.cc.u32 %2, %2, 0;\n\t"
        "subc.u32 t0, t0, t0;\n\t"
        "and.b32 t0, t0, %3;\n\t"
        "add.u32 %0, %0, t0;\n\t"
        "}"
        : "=&r"(lo), "=&r"(mid), "=&r"(hi)
        : "r"(a[t]), "r"(b[2 * t]), "r"(b[2 * t + 1]));
    out[3 * t] = lo;
    out[3 * t + 1] = mid;
    out[3 * t + 2] = hi;
}
