// Barriers that reduce, named barriers with thread counts, producers and consumers, barriers in loops.
#include "device.h"

#if !defined(__NVCC__)
static __device__ int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
static __device__ int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
static __device__ int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
#endif

extern "C" __global__ void count_positive(const int *x, int *out) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    int positive = __syncthreads_count(v > 0);
    int every = __syncthreads_and(v > -100), some = __syncthreads_or(v == 0);
    if (threadIdx.x == 0) out[blockIdx.x] = positive + (every ? 1000 : 0) + (some ? 10000 : 0);
}

extern "C" __global__ void handover(const float *in, float *out, int rounds) {
    __shared__ float buffer[2][32];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (int r = 0; r < rounds; ++r) {
        if (warp == 0) {
            if (r >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + (r & 1)) : "memory");
            buffer[r & 1][lane] = in[r * 32 + lane] * 2.0f;
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + (r & 1)) : "memory");
        } else if (warp == 1) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + (r & 1)) : "memory");
            out[r * 32 + lane] = buffer[r & 1][31 - lane];
            if (r + 2 < rounds) asm volatile("bar.arrive %0, 64;" ::"r"(3 + (r & 1)) : "memory");
        }
    }
    asm volatile("barrier.sync 5;" ::: "memory");
}

extern "C" __global__ void stencil_rounds(float *x, int rounds) {
    __shared__ float s[258];
    int t = threadIdx.x;
    s[t + 1] = x[blockIdx.x * 256 + t];
    if (t == 0) s[0] = s[257] = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        __syncthreads();
        float v = 0.25f * s[t] + 0.5f * s[t + 1] + 0.25f * s[t + 2];
        if (__syncthreads_or(fabsf(v - s[t + 1]) > 1e-6f) == 0) break;
        s[t + 1] = v;
    }
    x[blockIdx.x * 256 + t] = s[t + 1];
}
