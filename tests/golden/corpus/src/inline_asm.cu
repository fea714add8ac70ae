// Inline assembly: nested scopes, predicates, labels, vectors, address arithmetic, odd widths.
#include "device.h"

extern "C" __global__ void scopes(const unsigned *x, unsigned *out) {
    unsigned t = threadIdx.x, r;
    asm volatile(
        "{\n\t"
        ".reg .pred p, q;\n\t"
        ".reg .u32 t1, t2;\n\t"
        "setp.lt.u32 p|q, %1, 1000;\n\t"
        "mov.u32 t1, 7;\n\t"
        "@p mul.lo.u32 t1, %1, 3;\n\t"
        "{ .reg .u32 t1; mov.u32 t1, 100; add.u32 t2, t1, %1; }\n\t"
        "@q bra skip_%=;\n\t"
        "add.u32 t2, t2, t1;\n"
        "skip_%=:\n\t"
        "xor.b32 %0, t1, t2;\n\t"
        "}"
        : "=r"(r)
        : "r"(x[t]));
    out[t] = r;
}

extern "C" __global__ void vectors(const float4 *x, float2 *out, unsigned short *s) {
    unsigned t = threadIdx.x;
    float a, b, c, d;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4+16];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + t));
    asm volatile("st.global.cs.v2.f32 [%0], {%1, %2};" ::"l"(out + t), "f"(a + c), "f"(b * d) : "memory");
    u64 packed;
    asm("mov.b64 %0, {%1, %2};" : "=l"(packed) : "f"(a), "f"(b));
    unsigned short lo, hi;
    asm("mov.b32 {%0, %1}, %2;" : "=h"(lo), "=h"(hi) : "r"((unsigned)(packed >> 32)));
    s[2 * t] = lo;
    s[2 * t + 1] = hi;
}

extern "C" __global__ void selects(const int *x, const float *f, int *out) {
    unsigned t = threadIdx.x;
    int a = x[t], r, m;
    float g;
    asm("slct.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(5), "r"(a - 9));
    asm("set.gt.and.s32.f32 %0, %1, 0f3F800000, 1;" : "=r"(m) : "f"(f[t]));
    asm("{ .reg .pred p1; testp.finite.f32 p1, %1; selp.f32 %0, %1, 0f00000000, p1; }" : "=f"(g) : "f"(f[t]));
    asm("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(r) : "r"(m), "r"(a));
    out[t] = r + (int)g;
}
