// The divergence of a vector field by central differences: 6 loads, of which ux(i-1) is ux(i+1) of the lane two before.
#define AT(array, dz, dy, dx) array[((k + (dz)) * ny + j + (dy)) * nx + i + (dx)]

extern "C" __global__ void divergence(float *__restrict__ w, const float *__restrict__ ux,
                                      const float *__restrict__ uy, const float *__restrict__ uz, int nx, int ny,
                                      int nz, float cx, float cy, float cz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;
    AT(w, 0, 0, 0) = cx * (AT(ux, 0, 0, 1) - AT(ux, 0, 0, -1)) + cy * (AT(uy, 0, 1, 0) - AT(uy, 0, -1, 0)) +
                     cz * (AT(uz, 1, 0, 0) - AT(uz, -1, 0, 0));
}
