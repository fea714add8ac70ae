// The Laplacian with a star of 7 points: one row of 3 loads, four of 1.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

extern "C" __global__ void laplacian(float *__restrict__ w1, const float *__restrict__ w0, int nx, int ny, int nz,
                                     float alpha, float beta) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;
    AT(w1, 0, 0, 0) = alpha * AT(w0, 0, 0, 0) + beta * (AT(w0, 0, 0, -1) + AT(w0, 0, 0, 1) + AT(w0, 0, -1, 0) +
                                                        AT(w0, 0, 1, 0) + AT(w0, -1, 0, 0) + AT(w0, 1, 0, 0));
}
