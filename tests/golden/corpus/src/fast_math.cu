// Approximate single-precision intrinsics and explicit roundings.
#include "device.h"

extern "C" __global__ void approximate(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float r = __sinf(v) + __cosf(v) + __expf(v) + __logf(fabsf(v)) + __powf(fabsf(v), 1.5f) + __fdividef(v, 3.0f + v);
    r += rsqrtf(v) + __saturatef(v) + __fmaf_rd(v, r, 0.5f) + __fadd_rz(v, r) + __fmul_ru(v, r);
    out[i] = r;
}

extern "C" __global__ void conversions(const float *x, const double *d, const long long *k, int *ints, double *out) {
    int t = threadIdx.x;
    float v = x[t];
    ints[t] = __float2int_rn(v) + __float2int_rz(v * 2.0f) + (int)__float2uint_ru(fabsf(v)) + (short)v +
              (unsigned char)(int)v + (int)(long long)d[t];
    out[t] = __ll2double_ru(k[t]) + (double)__double2ll_rn(d[t]) + __double2float_rz(d[t]) + (float)k[t] +
             __int2float_rd(ints[t]) + (double)(unsigned)ints[t] + (double)(u64)k[t] + (signed char)ints[t];
}
