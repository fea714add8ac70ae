// Atomics of every operation on global and shared memory, and loops built on compare-and-swap.
#include "device.h"

extern "C" __global__ void atomic_ops(int *ints, unsigned *words, u64 *longs, float *floats, const int *in) {
    __shared__ int s[16];
    int t = threadIdx.x, v = in[blockIdx.x * blockDim.x + t];
    if (t < 16) s[t] = 0;
    __syncthreads();
    atomicAdd(&s[0], v);
    atomicMin(&s[1], v);
    atomicMax(&s[2], v);
    atomicAnd(&s[3], v);
    atomicOr(&s[4], v);
    atomicXor(&s[5], v);
    int old = atomicExch(&s[6], v) + atomicCAS(&s[7], 0, v) + (int)atomicInc((unsigned *)&s[8], 100u);
    old += atomicDec((unsigned *)&s[9], 50u);
    __syncthreads();
    atomicAdd(&ints[0], old);
    atomicSub(&ints[1], v);
    atomicMin(&ints[2], v);
    atomicMax(&ints[3], s[t & 15]);
    words[2 + t] = atomicMin(&words[0], (unsigned)v) + atomicMax(&words[1], (unsigned)v);
    atomicExch(&ints[4], t);
    longs[1 + t] = atomicAdd(&longs[0], (u64)v);
    floats[1 + t] = atomicAdd(&floats[0], (float)v);
}

static __device__ float atomic_max_float(float *where, float v) {
    int *bits = (int *)where, old = *bits, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= v) break;
        old = atomicCAS(bits, seen, __float_as_int(v));
    } while (old != seen);
    return __int_as_float(old);
}

extern "C" __global__ void atomic_loops(float *best, double *total, int *lock, int *guarded, const float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomic_max_float(best, x[i]);
    u64 *bits = (u64 *)total, seen = *bits, assumed;
    do {
        assumed = seen;
        double sum = __builtin_bit_cast(double, assumed) + (double)x[i];
        seen = atomicCAS(bits, assumed, __builtin_bit_cast(u64, sum));
    } while (seen != assumed);
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)guarded += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
