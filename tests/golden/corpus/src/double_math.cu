// Double precision: fused operations with each rounding, division, square root, comparisons with NaN.
#include "device.h"

extern "C" __global__ void heat_step(const double *in, double *out, double alpha, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) out[i] = fma(alpha, in[i - 1] - 2.0 * in[i] + in[i + 1], in[i]);
}

extern "C" __global__ void quadratic_roots(const double *a, const double *b, const double *c, double2 *roots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double disc = b[i] * b[i] - 4.0 * a[i] * c[i];
    double q = -0.5 * (b[i] + (b[i] < 0 ? -sqrt(disc) : sqrt(disc)));
    roots[i] = make_double2(q / a[i], c[i] / q);
}

extern "C" __global__ void bounds(const double *x, double *lo, double *hi, int *flags, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    lo[i] = fmin(v, floor(v) + 0.25);
    hi[i] = fmax(fabs(v), 1e-300);
    flags[i] = (v < hi[i]) | (v != v) << 1 | !(v >= lo[i]) << 2 | (int)(float)v << 3;
}
