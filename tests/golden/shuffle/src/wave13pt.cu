// The wave equation in fourth order in space, second in time: a star of 13 points, one row of 5, and the step before.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

extern "C" __global__ void wave13pt(float *__restrict__ w2, const float *__restrict__ w1, const float *__restrict__ w0,
                                    int nx, int ny, int nz, float m0, float m1, float m2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 2 || j < 2 || k < 2 || i >= nx - 2 || j >= ny - 2 || k >= nz - 2) return;
    AT(w2, 0, 0, 0) = m0 * AT(w1, 0, 0, 0) - AT(w0, 0, 0, 0) +
                      m1 * (AT(w1, 0, 0, 1) + AT(w1, 0, 0, -1) + AT(w1, 0, 1, 0) + AT(w1, 0, -1, 0) +
                            AT(w1, 1, 0, 0) + AT(w1, -1, 0, 0)) +
                      m2 * (AT(w1, 0, 0, 2) + AT(w1, 0, 0, -2) + AT(w1, 0, 2, 0) + AT(w1, 0, -2, 0) +
                            AT(w1, 2, 0, 0) + AT(w1, -2, 0, 0));
}
