// Bitonic sort of 512 keys with payload in shared memory, one block per segment.
#include "device.h"

extern "C" __global__ void bitonic_sort(unsigned *keys, unsigned *values) {
    __shared__ unsigned k[512], v[512];
    unsigned base = blockIdx.x * 512;
    for (unsigned i = threadIdx.x; i < 512; i += blockDim.x) {
        k[i] = keys[base + i];
        v[i] = values[base + i];
    }
    for (unsigned size = 2; size <= 512; size <<= 1) {
        for (unsigned stride = size >> 1; stride > 0; stride >>= 1) {
            __syncthreads();
            for (unsigned t = threadIdx.x; t < 256; t += blockDim.x) {
                unsigned lo = 2 * t - (t & (stride - 1)), hi = lo + stride;
                bool ascending = (lo & size) == 0;
                if ((k[lo] > k[hi]) == ascending) {
                    unsigned tk = k[lo], tv = v[lo];
                    k[lo] = k[hi];
                    v[lo] = v[hi];
                    k[hi] = tk;
                    v[hi] = tv;
                }
            }
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 512; i += blockDim.x) {
        keys[base + i] = k[i];
        values[base + i] = v[i];
    }
}
