// Open-addressing hash table: build by compare-and-swap, probe with a bounded walk.
#include "device.h"

static __device__ unsigned mix(u64 k) {
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdull;
    k ^= k >> 33;
    return (unsigned)k;
}

extern "C" __global__ void build(u64 *slots, int *rows, const u64 *keys, unsigned mask, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 key = keys[i] + 1;
    for (unsigned s = mix(key) & mask;; s = (s + 1) & mask) {
        u64 old = atomicCAS(&slots[s], 0ull, key);
        if (old == 0 || old == key) {
            rows[s] = i;
            return;
        }
    }
}

extern "C" __global__ void probe(const u64 *slots, const int *rows, const u64 *keys, int *matches, unsigned mask, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 key = keys[i] + 1;
    int found = -1;
    unsigned s = mix(key) & mask;
    for (unsigned tries = 0; tries <= mask; ++tries, s = (s + 1) & mask) {
        u64 seen = slots[s];
        if (seen == key) found = rows[s];
        if (seen == key || seen == 0) break;
    }
    matches[i] = found;
}
