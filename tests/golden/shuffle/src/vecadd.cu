// The sum of two vectors: nothing to share.

extern "C" __global__ void vecadd(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b,
                                  int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
