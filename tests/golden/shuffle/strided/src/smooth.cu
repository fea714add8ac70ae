// A weighted mean over a field of two dimensions in grid-stride loops, through pointers that may overlap.
extern "C" __global__ void smooth(float *to, float *other, const float *from, int nx, int ny, int stride_x, int stride_y) {
#pragma unroll 1
    for (int j = 1 + blockIdx.y * blockDim.y + threadIdx.y; j < ny - 1; j += stride_y) {
#pragma unroll 1
        for (int i = 1 + blockIdx.x * blockDim.x + threadIdx.x; i < nx - 1; i += stride_x) {
            int at = j * nx + i;
            to[at] = 0.5f * from[at] + 0.25f * (from[at - 1] + from[at + 1]);
            other[at] = from[at - nx] - from[at + nx] + from[at + 1];
        }
    }
}
