// Tricubic interpolation by Lagrange's polynomials: 4 by 4 rows of 4 loads, and the 3 coordinates.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

__device__ inline void weights(float t, float *w) {
    w[0] = -1.0f / 6 * t * (t - 1) * (t - 2);
    w[1] = 1.0f / 2 * (t + 1) * (t - 1) * (t - 2);
    w[2] = -1.0f / 2 * (t + 1) * t * (t - 2);
    w[3] = 1.0f / 6 * (t + 1) * t * (t - 1);
}

extern "C" __global__ void tricubic(float *__restrict__ w, const float *__restrict__ u, const float *__restrict__ a,
                                  const float *__restrict__ b, const float *__restrict__ c, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 2 || j >= ny - 2 || k >= nz - 2) return;
    float x = AT(a, 0, 0, 0), y = AT(b, 0, 0, 0), z = AT(c, 0, 0, 0);
    float wx[4], wy[4], wz[4];
    weights(x, wx);
    weights(y, wy);
    weights(z, wz);
    float sum = 0;
#pragma unroll
    for (int dz = 0; dz < 4; dz++)
#pragma unroll
        for (int dy = 0; dy < 4; dy++)
#pragma unroll
            for (int dx = 0; dx < 4; dx++) sum += wz[dz] * wy[dy] * wx[dx] * AT(u, dz - 1, dy - 1, dx - 1);
    AT(w, 0, 0, 0) = sum;
}
