// Work-efficient exclusive scan over dynamic shared memory; the total goes to a second array.
#include "device.h"

extern __shared__ int scratch[];

extern "C" __global__ void prefix_sum(const int *in, int *out, int *totals, int n) {
    int t = threadIdx.x, size = 2 * blockDim.x, base = blockIdx.x * size, offset = 1;
    scratch[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
    scratch[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
    for (int d = size >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            scratch[b] += scratch[a];
        }
        offset *= 2;
    }
    if (t == 0) {
        totals[blockIdx.x] = scratch[size - 1];
        scratch[size - 1] = 0;
    }
    for (int d = 1; d < size; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, kept = scratch[a];
            scratch[a] = scratch[b];
            scratch[b] += kept;
        }
    }
    __syncthreads();
    if (base + 2 * t < n) out[base + 2 * t] = scratch[2 * t];
    if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = scratch[2 * t + 1];
}
