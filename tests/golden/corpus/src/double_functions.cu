// compilers: nvcc
// The mathematical library in double precision, which leaves long polynomials and slow-path calls.
#include "device.h"

extern "C" __global__ void double_functions(const double *x, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    out[3 * i] = exp(v) + log(v);
    out[3 * i + 1] = sin(v) * atan(v);
    out[3 * i + 2] = pow(v, 0.3) + 1.0 / v + rsqrt(v) + trunc(v) + rint(v);
}
