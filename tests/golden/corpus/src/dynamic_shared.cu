// Several arrays carved out of one dynamic shared allocation, with a templated and a bounded kernel.
#include "device.h"

extern __shared__ __attribute__((aligned(16))) unsigned char pool[];

extern "C" __global__ void __launch_bounds__(128, 4) carve(const float *x, const int *k, double *out, int n) {
    double *sums = (double *)pool;
    float *values = (float *)(sums + blockDim.x);
    short *keys = (short *)(values + blockDim.x);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = i < n ? x[i] : 0.0f;
    keys[t] = (short)(i < n ? k[i] : 0);
    sums[t] = 0.0;
    __syncthreads();
    for (unsigned j = 0; j < blockDim.x; ++j)
        if (keys[j] == t) sums[t] += values[j];
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = sums[t];
}

template <class T, int STEP> __global__ void gather(const T *in, T *out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * STEP;
    if (i < n) out[i] = in[n - 1 - i];
}
template __global__ void gather<short, 2>(const short *, short *, int);
template __global__ void gather<long long, 3>(const long long *, long long *, int);
