// compilers: nvcc
// Atomics at block and system scope, on doubles, halves and 64-bit integers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "device.h"

extern "C" __global__ void scoped(int *a, unsigned long long *b, double *d, float *f) {
    int t = threadIdx.x;
    a[8 + t] = atomicAdd_block(&a[0], t) + atomicAdd_system(&a[1], t) + atomicCAS_block(&a[2], 0, t) +
               atomicExch_system(&a[3], t) + atomicMax_block(&a[4], t) + atomicAnd_system(&a[5], t);
    b[8 + t] = atomicMin(&b[0], (unsigned long long)t) + atomicMax(&b[1], 3ull * t) + atomicOr(&b[2], 1ull << t) +
               atomicXor_block(&b[3], 1ull << t) + atomicExch(&b[4], 7ull) + atomicCAS_system(&b[5], 0ull, 9ull);
    d[t + 1] = atomicAdd(&d[0], 0.5 * t);
    f[t + 1] = atomicExch(&f[0], (float)t);
    atomicAdd_system(&d[0], 1.0);
}

extern "C" __global__ void half_atomics(__half *h, __half2 *h2, __nv_bfloat162 *b2, unsigned short *s) {
    int t = threadIdx.x;
    atomicAdd(&h[t & 3], __float2half(1.0f));
    atomicAdd(&h2[t & 3], __float2half2_rn(0.5f));
    atomicAdd(&b2[t & 3], __float2bfloat162_rn(0.25f));
    s[1 + t] = atomicCAS(&s[0], (unsigned short)t, (unsigned short)(t + 1));
}
