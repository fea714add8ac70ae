// The gradient of a scalar field by central differences: 6 loads of one array.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

extern "C" __global__ void gradient(float *__restrict__ wx, float *__restrict__ wy, float *__restrict__ wz,
                                    const float *__restrict__ u, int nx, int ny, int nz, float cx, float cy,
                                    float cz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;
    AT(wx, 0, 0, 0) = cx * (AT(u, 0, 0, 1) - AT(u, 0, 0, -1));
    AT(wy, 0, 0, 0) = cy * (AT(u, 0, 1, 0) - AT(u, 0, -1, 0));
    AT(wz, 0, 0, 0) = cz * (AT(u, 1, 0, 0) - AT(u, -1, 0, 0));
}
