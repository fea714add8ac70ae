// The sum of the sine of one field and the cosine of another: nothing to share.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

extern "C" __device__ float sinf(float);
extern "C" __device__ float cosf(float);

extern "C" __global__ void sines_and_cosines(float *__restrict__ xy, const float *__restrict__ x,
                                             const float *__restrict__ y,
                                             int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    AT(xy, 0, 0, 0) = sinf(AT(x, 0, 0, 0)) + cosf(AT(y, 0, 0, 0));
}
