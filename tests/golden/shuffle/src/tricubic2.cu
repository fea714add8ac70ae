// Tricubic interpolation, one direction after the other by Catmull and Rom's splines: 4 by 4 rows of 4 loads, and the
// 3 coordinates.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

__device__ inline float cubic(float t, float p0, float p1, float p2, float p3) {
    return p1 + 0.5f * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
}

extern "C" __global__ void tricubic2(float *__restrict__ w, const float *__restrict__ u, const float *__restrict__ a,
                                  const float *__restrict__ b, const float *__restrict__ c, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 2 || j >= ny - 2 || k >= nz - 2) return;
    float x = AT(a, 0, 0, 0), y = AT(b, 0, 0, 0), z = AT(c, 0, 0, 0);
    float planes[4];
#pragma unroll
    for (int dz = 0; dz < 4; dz++) {
        float rows[4];
#pragma unroll
        for (int dy = 0; dy < 4; dy++)
            rows[dy] = cubic(x, AT(u, dz - 1, dy - 1, -1), AT(u, dz - 1, dy - 1, 0), AT(u, dz - 1, dy - 1, 1),
                             AT(u, dz - 1, dy - 1, 2));
        planes[dz] = cubic(y, rows[0], rows[1], rows[2], rows[3]);
    }
    AT(w, 0, 0, 0) = cubic(z, planes[0], planes[1], planes[2], planes[3]);
}
