// One sweep of Jacobi's method with a window of 3 by 3: 3 rows of 3 loads.
#define AT(array, dy, dx) array[(j + (dy)) * nx + i + (dx)]

extern "C" __global__ void jacobi(float *__restrict__ w1, const float *__restrict__ w0, int nx, int ny, float c0,
                                  float c1, float c2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    AT(w1, 0, 0) = c0 * AT(w0, 0, 0) + c1 * (AT(w0, 0, -1) + AT(w0, -1, 0) + AT(w0, 0, 1) + AT(w0, 1, 0)) +
                   c2 * (AT(w0, -1, -1) + AT(w0, 1, -1) + AT(w0, -1, 1) + AT(w0, 1, 1));
}
