// Radix-2 FFT of 256 complex points in shared memory with a twiddle table in constant memory.
#include "device.h"

__constant__ float2 twiddle[128];

extern "C" __global__ void fft256(float2 *data, int inverse) {
    __shared__ float2 s[256];
    unsigned t = threadIdx.x, base = blockIdx.x * 256;
    s[__brev(t) >> 24] = data[base + t];
    s[__brev(t + 128) >> 24] = data[base + t + 128];
    for (unsigned half = 1; half < 256; half <<= 1) {
        __syncthreads();
        unsigned k = t & (half - 1), lo = ((t & ~(half - 1)) << 1) + k, hi = lo + half;
        float2 w = twiddle[k * (128 / half)];
        if (inverse) w.y = -w.y;
        float2 a = s[lo], b = s[hi];
        float re = b.x * w.x - b.y * w.y, im = b.x * w.y + b.y * w.x;
        s[lo] = make_float2(a.x + re, a.y + im);
        s[hi] = make_float2(a.x - re, a.y - im);
    }
    __syncthreads();
    data[base + t] = s[t];
    data[base + t + 128] = s[t + 128];
}
