// Edge filter on 8-bit pixels with clamped borders, packed RGBA words in and out.
#include "device.h"

static __device__ int luma(unsigned rgba) {
    return (77 * (int)(rgba & 255) + 150 * (int)(rgba >> 8 & 255) + 29 * (int)(rgba >> 16 & 255)) >> 8;
}

extern "C" __global__ void sobel(const unsigned *in, unsigned *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int p[3][3];
    for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) {
            int sx = min(max(x + i - 1, 0), width - 1), sy = min(max(y + j - 1, 0), height - 1);
            p[j][i] = luma(in[sy * width + sx]);
        }
    int gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
    int gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
    int magnitude = min((int)sqrtf((float)(gx * gx + gy * gy)), 255);
    out[y * width + x] = 0xff000000u | magnitude << 16 | magnitude << 8 | magnitude;
}
