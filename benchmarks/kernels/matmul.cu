// C = A B (row major, any size) through 16 x 16 tiles in shared memory, two barriers per tile.
// nvcc -ptx -O3 -arch=sm_80 matmul.cu
#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int base = 0; base < k; base += TILE) {
        tile_a[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
        tile_b[ty][tx] = col < n && base + ty < k ? b[(base + ty) * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += tile_a[ty][i] * tile_b[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
