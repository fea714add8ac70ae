// A product of matrices by tiles in shared memory, timed and compared with the host's.
//
//   drawloom cc examples/matmul.cu -march=native -o matmul && ./matmul 512
//   DRAWLOOM_CHECK=memory ./matmul 64
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

#define CHECK(call)                                                                            \
    if (cudaError_t error = (call)) {                                                          \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));         \
        return 1;                                                                              \
    }

const int kTile = 16;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
    float sum = 0;
    for (int k = 0; k < n; k += kTile) {
        a_tile[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        b_tile[y][x] = k + y < n && column < n ? b[(k + y) * n + column] : 0;
        __syncthreads();
        for (int j = 0; j < kTile; ++j) sum += a_tile[y][j] * b_tile[j][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 256, blocks = (n + kTile - 1) / kTile;
    size_t bytes = size_t(n) * n * sizeof(float);
    std::vector<float> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; ++i) a[i] = i % 7 - 3.0f, b[i] = i % 11 * 0.25f;
    float *da, *db, *dc;
    CHECK(cudaMalloc(&da, bytes));
    CHECK(cudaMalloc(&db, bytes));
    CHECK(cudaMalloc(&dc, bytes));
    CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    matmul<<<dim3(blocks, blocks), dim3(kTile, kTile)>>>(da, db, dc, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    int wrong = 0;
    for (int i = 0; i < n * n; i += 97) {
        double sum = 0;
        for (int k = 0; k < n; ++k) sum += double(a[i / n * n + k]) * b[k * n + i % n];
        wrong += fabs(c[i] - sum) > 1e-6 * 8 * n;
    }
    cudaDeviceProp about;
    CHECK(cudaGetDeviceProperties(&about, 0));
    printf("%s: %d x %d in %.2f ms, %.1f GFLOP/s, %d wrong\n", about.name, n, n, milliseconds,
           2.0 * n * n * n / milliseconds * 1e-6, wrong);
    return wrong != 0;
}
