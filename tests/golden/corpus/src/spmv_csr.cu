// Sparse matrix times vector in CSR form: one thread per row, and one warp per row.
#include "device.h"

extern "C" __global__ void spmv_scalar(const int *offsets, const int *columns, const double *values, const double *x,
                                       double *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int i = offsets[row]; i < offsets[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

extern "C" __global__ void spmv_warp(const int *offsets, const int *columns, const float *values, const float *x,
                                     float *y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0;
    for (int i = offsets[row] + lane; i < offsets[row + 1]; i += 32) sum += values[i] * __ldg(&x[columns[i]]);
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}
