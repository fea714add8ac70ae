// Kernel parameters of every kind: small integers, structures by value, arrays inside structures, booleans.
#include "device.h"

struct grid_spec { int width, height; float origin[2]; double step; unsigned char tag; };
struct odd_sizes { char a[3]; short b; char c[5]; };

extern "C" __global__ void params(grid_spec spec, char small, unsigned short mid, bool flag, double factor,
                                  odd_sizes odd, float *out, const grid_spec *more) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= spec.width * spec.height) return;
    float v = spec.origin[i & 1] + (float)(spec.step * factor) + small + mid + (flag ? 1.0f : 0.0f) + spec.tag;
    v += odd.a[i % 3] + odd.b + odd.c[i % 5] + more[0].origin[1] + (float)more[1].step;
    out[i] = v;
}

extern "C" __global__ void no_params() { asm volatile("" ::: "memory"); }

extern "C" __global__ void three_dims(int *out, int nx, int ny, int nz) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
             z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) out[(z * ny + y) * nx + x] = x * 10000 + y * 100 + z + gridDim.z * gridDim.y;
}
