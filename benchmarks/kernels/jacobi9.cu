// One 9-point Jacobi sweep over the inner points of a grid.   nvcc -ptx -O3 -arch=sm_80 jacobi9.cu
extern "C" __global__ void jacobi9(const float *in, float *out, int width, int height, float centre, float edge,
                                   float corner) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const float *p = in + y * width + x;
    float cross = p[-1] + p[1] + p[-width] + p[width];
    float diagonal = p[-width - 1] + p[-width + 1] + p[width - 1] + p[width + 1];
    out[y * width + x] = centre * p[0] + edge * cross + corner * diagonal;
}
