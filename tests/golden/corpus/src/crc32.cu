// CRC-32 of byte strings, bit by bit and with a table that the block builds in shared memory.
#include "device.h"

extern "C" __global__ void crc32_bits(const unsigned char *data, const int *offsets, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned crc = ~0u;
    for (int p = offsets[i]; p < offsets[i + 1]; ++p) {
        crc ^= data[p];
        for (int b = 0; b < 8; ++b) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
    }
    out[i] = ~crc;
}

extern "C" __global__ void crc32_table(const unsigned char *data, const int *offsets, unsigned *out, int n) {
    __shared__ unsigned table[256];
    for (unsigned t = threadIdx.x; t < 256; t += blockDim.x) {
        unsigned v = t;
        for (int b = 0; b < 8; ++b) v = v & 1 ? (v >> 1) ^ 0xedb88320u : v >> 1;
        table[t] = v;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned crc = ~0u;
    for (int p = offsets[i]; p < offsets[i + 1]; ++p) crc = table[(crc ^ data[p]) & 255] ^ (crc >> 8);
    out[i] = ~crc;
}
