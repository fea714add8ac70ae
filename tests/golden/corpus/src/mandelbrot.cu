// Escape-time fractal: a divergent loop with two exits.
#include "device.h"

extern "C" __global__ void mandelbrot(unsigned char *image, int width, int height, float x0, float y0, float step,
                                      int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
    int i = 0;
    while (i < limit) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        ++i;
    }
    image[py * width + px] = i == limit ? 0 : (unsigned char)(255 - (i * 7 & 127));
}
