// One sweep of a 9-point Jacobi relaxation; the border stays as it is.
#include "device.h"

extern "C" __global__ void jacobi9(const float *in, float *out, int width, int height, float centre, float edge,
                                   float corner) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const float *row = in + y * width + x;
    float cross = row[-1] + row[1] + row[-width] + row[width];
    float diagonal = row[-width - 1] + row[-width + 1] + row[width - 1] + row[width + 1];
    out[y * width + x] = centre * row[0] + edge * cross + corner * diagonal;
}
