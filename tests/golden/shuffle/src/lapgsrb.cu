// The Laplacian of the Laplacian, in one step of relaxation: 25 points, of which one row has 5, four have 3, eight 1.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

extern "C" __global__ void lapgsrb(float *__restrict__ w1, const float *__restrict__ w0, int nx, int ny, int nz,
                                   float c0, float c1, float c2, float c3) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 2 || j < 2 || k < 2 || i >= nx - 2 || j >= ny - 2 || k >= nz - 2) return;
    float far = AT(w0, 0, 0, 2) + AT(w0, 0, 0, -2) + AT(w0, 0, 2, 0) + AT(w0, 0, -2, 0) + AT(w0, 2, 0, 0) +
                AT(w0, -2, 0, 0);
    float edges = AT(w0, 0, 1, 1) + AT(w0, 0, 1, -1) + AT(w0, 0, -1, 1) + AT(w0, 0, -1, -1) + AT(w0, 1, 0, 1) +
                  AT(w0, 1, 0, -1) + AT(w0, -1, 0, 1) + AT(w0, -1, 0, -1) + AT(w0, 1, 1, 0) + AT(w0, 1, -1, 0) +
                  AT(w0, -1, 1, 0) + AT(w0, -1, -1, 0);
    float near = AT(w0, 0, 0, 1) + AT(w0, 0, 0, -1) + AT(w0, 0, 1, 0) + AT(w0, 0, -1, 0) + AT(w0, 1, 0, 0) +
                 AT(w0, -1, 0, 0);
    AT(w1, 0, 0, 0) = c0 * AT(w0, 0, 0, 0) + c1 * near + c2 * edges + c3 * far;
}
