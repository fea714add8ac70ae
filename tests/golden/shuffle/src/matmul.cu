// C = A B with matrices of n rows of n floats, n a multiple of 4: a loop with 4 loads of a row of A, 4 of a column of B.

extern "C" __global__ void matmul(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b,
                                  int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i >= n) return;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; k += 4)
#pragma unroll
        for (int m = 0; m < 4; m++) sum += a[j * n + k + m] * b[(k + m) * n + i];
    c[j * n + i] = sum;
}
