// compilers: nvcc
// The mathematical library in single precision: polynomials, range reduction, special cases in line.
#include "device.h"

extern "C" __global__ void trig(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], s, c;
    sincosf(v, &s, &c);
    out[i] = s * c + sinf(v * 3.0f) + tanf(v) + atan2f(s, v) + asinf(c) + sinpif(v);
}

extern "C" __global__ void exponentials(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    out[i] = expf(v) + exp2f(v) + logf(v) + log1pf(v) + powf(v, 1.7f) + tanhf(v) + erff(v) + cbrtf(v) + expm1f(v);
}

extern "C" __global__ void pieces(const float *x, float *out, int *e, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], whole;
    out[i] = fmodf(v, 2.5f) + roundf(v) + rintf(v) + ceilf(v) + modff(v, &whole) + hypotf(v, 2.0f) + rcbrtf(v) +
             copysignf(2.0f, v) + ldexpf(v, 3) + remainderf(v, 0.7f);
    out[i] += isnan(v) ? 1.0f : isinf(v) ? 2.0f : signbit(v) ? 3.0f : whole;
    e[i] = ilogbf(v) + (int)lrintf(v);
}
