// A Gaussian blur with a symmetric window of 5 by 5: 5 rows of 5 loads.
#define AT(array, dy, dx) array[(j + (dy)) * nx + i + (dx)]
#define ROW(dy) (s2 * (AT(w0, dy, -2) + AT(w0, dy, 2)) + s1 * (AT(w0, dy, -1) + AT(w0, dy, 1)) + s0 * AT(w0, dy, 0))

extern "C" __global__ void gaussblur(float *__restrict__ w1, const float *__restrict__ w0, int nx, int ny, float s0,
                                     float s1, float s2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i < 2 || j < 2 || i >= nx - 2 || j >= ny - 2) return;
    AT(w1, 0, 0) = s2 * (ROW(-2) + ROW(2)) + s1 * (ROW(-1) + ROW(1)) + s0 * ROW(0);
}
