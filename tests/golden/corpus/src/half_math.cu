// compilers: nvcc
// minimum: sm_80
// Half and bfloat16 arithmetic, scalar and packed, with comparisons and conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "device.h"

extern "C" __global__ void half_axpy(__half a, const __half *x, __half *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(a, x[i], y[i]);
}

extern "C" __global__ void half2_mix(const __half2 *x, const __half2 *y, __half2 *z, float *norms, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 p = x[i], q = y[i];
    __half2 r = __hadd2_sat(__hmul2(p, q), __hsub2(p, q));
    r = __hmax2(r, __hneg2(q));
    if (__hbgt2(p, q)) r = __h2div(p, __hadd2(q, q));
    z[i] = __hmin2(r, h2exp2(p));
    float2 f = __half22float2(r);
    norms[i] = f.x * f.x + f.y * f.y + __half2float(hsqrt(__low2half(p)));
}

extern "C" __global__ void bf16_mix(const __nv_bfloat16 *x, const __nv_bfloat162 *y, __nv_bfloat16 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 v = __hfma2(y[i], y[i], __bfloat162bfloat162(x[i]));
    __nv_bfloat16 s = __hadd(__low2bfloat16(v), __high2bfloat16(v));
    s = __hlt(s, x[i]) ? __hmul(s, __float2bfloat16(0.5f)) : __hmax(s, x[i]);
    out[i] = __hisnan(s) ? __float2bfloat16_rn(0.0f) : s;
}

extern "C" __global__ void half_convert(const double *d, const int *k, __half *h, short *s, unsigned long long *u,
                                        int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = __double2half(d[i]);
    h[i] = __hadd(a, __int2half_rz(k[i]));
    s[i] = __half2short_rn(a);
    u[i] = __half2ull_rz(a) + __half2int_ru(hfloor(a)) + __half_as_ushort(hceil(a));
}
