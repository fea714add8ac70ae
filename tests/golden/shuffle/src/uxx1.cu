// The velocity ux from the stresses xx, xy, xz by differences of fourth order on a staggered grid, over the density d:
// 4 loads in a row of xx, 4 of xy, 4 of xz, 4 of d, and u itself.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

extern "C" __global__ void uxx1(float *__restrict__ u, const float *__restrict__ d, const float *__restrict__ xx,
                                const float *__restrict__ xy, const float *__restrict__ xz, int nx, int ny, int nz,
                                float c1, float c2, float dth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 2 || j < 2 || k < 2 || i >= nx - 2 || j >= ny - 2 || k >= nz - 2) return;
    float density = 0.25f * (AT(d, 0, 0, 0) + AT(d, 0, -1, 0) + AT(d, -1, 0, 0) + AT(d, -1, -1, 0));
    AT(u, 0, 0, 0) += dth / density *
                      (c1 * (AT(xx, 0, 0, 0) - AT(xx, 0, 0, -1)) + c2 * (AT(xx, 0, 0, 1) - AT(xx, 0, 0, -2)) +
                       c1 * (AT(xy, 0, 0, 0) - AT(xy, 0, -1, 0)) + c2 * (AT(xy, 0, 1, 0) - AT(xy, 0, -2, 0)) +
                       c1 * (AT(xz, 0, 0, 0) - AT(xz, -1, 0, 0)) + c2 * (AT(xz, 1, 0, 0) - AT(xz, -2, 0, 0)));
}
