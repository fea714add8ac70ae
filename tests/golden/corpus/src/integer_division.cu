// Signed and unsigned division and remainder in each width, by variables and by constants.
#include "device.h"

extern "C" __global__ void divide_all(const int *a, const int *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i] | 1;
    unsigned ux = x, uy = y;
    short sx = (short)x, sy = (short)(y | 1);
    out[8 * i] = x / y;
    out[8 * i + 1] = x % y;
    out[8 * i + 2] = ux / uy;
    out[8 * i + 3] = ux % uy;
    out[8 * i + 4] = sx / sy + sx % sy;
    out[8 * i + 5] = x / 7 + x % 10 + x / 8 + x % 16;
    out[8 * i + 6] = ux / 1000000007u + ux % 641u;
    out[8 * i + 7] = (unsigned char)x / (unsigned char)uy;
}

extern "C" __global__ void divide_long(const long long *a, const long long *b, long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = a[i], y = b[i] | 1;
    out[4 * i] = x / y;
    out[4 * i + 1] = x % y;
    out[4 * i + 2] = (long long)((u64)x / (u64)y);
    out[4 * i + 3] = x / 86400 + x % 3600;
}

extern "C" __global__ void gcd(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i];
    while (y) {
        unsigned r = x % y;
        x = y;
        y = r;
    }
    out[i] = x;
}
