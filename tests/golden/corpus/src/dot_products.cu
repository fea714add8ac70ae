// compilers: nvcc
// 8- and 16-bit dot products and the packed-byte comparisons that nvcc expands in line.
#include "device.h"

extern "C" __global__ void dots(const int *a, const int *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int r = __dp4a(a[i], b[i], 7);
    r = __dp4a(a[i], b[i] ^ 1, r);
    r += (int)__dp4a((unsigned)a[i], (unsigned)b[i], 3u);
    r = __dp2a_lo(a[i], b[i], r);
    r += (int)__dp2a_hi((unsigned)a[i], (unsigned)b[i], (unsigned)r);
    out[i] = r;
}

extern "C" __global__ void packed_bytes(const unsigned *a, const unsigned *b, unsigned *out) {
    int t = threadIdx.x;
    unsigned x = a[t], y = b[t];
    out[t] = __vadd4(x, y) ^ __vmaxu4(x, y) ^ __vcmpgts2(x, y) ^ __vsubss2(x, y);
    out[t] += __sad((int)x, (int)y, 3u) + __usad(x, y, 4u) + __hadd((int)x, (int)y) + __rhadd((int)x, (int)y) +
              __mul24((int)x, (int)y) + __umul24(x, y);
}
