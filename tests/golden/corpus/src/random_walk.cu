// Counter-based and xorshift random numbers driving a Monte Carlo walk: 32x32->64 multiplies, selects.
#include "device.h"

static __device__ uint4 philox(uint4 c, unsigned k0, unsigned k1) {
#pragma unroll
    for (int r = 0; r < 7; ++r) {
        unsigned h0 = __umulhi(0xd2511f53u, c.x), l0 = 0xd2511f53u * c.x;
        unsigned h1 = __umulhi(0xcd9e8d57u, c.z), l1 = 0xcd9e8d57u * c.z;
        c.x = h1 ^ c.y ^ k0;
        c.y = l1;
        c.z = h0 ^ c.w ^ k1;
        c.w = l0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return c;
}

extern "C" __global__ void walk(float2 *ends, unsigned seed, int steps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = 0, y = 0;
    u64 state = seed * 0x9e3779b97f4a7c15ull + i;
    for (int s = 0; s < steps; ++s) {
        uint4 c;
        c.x = i; c.y = (unsigned)s; c.z = 0; c.w = seed;
        uint4 r = philox(c, seed, ~seed);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        x += (float)(r.x ^ (unsigned)state) * 2.3283064e-10f - 0.5f;
        y += (float)(r.y ^ r.z) * 2.3283064e-10f - 0.5f;
    }
    ends[i] = make_float2(x, y);
}
