// y = alpha A x + beta y, a row of A for each thread: two columns at a time, then the odd one, and y itself.

extern "C" __global__ void matvec(float *__restrict__ y, const float *__restrict__ a, const float *__restrict__ x,
                                  int nx, int ny, float alpha, float beta) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny) return;
    float sum = 0;
    int i = 0;
#pragma unroll 1
    for (; i + 1 < nx; i += 2) sum += a[j * nx + i] * x[i] + a[j * nx + i + 1] * x[i + 1];
    if (i < nx) sum += a[j * nx + i] * x[i];
    y[j] = alpha * sum + beta * y[j];
}
