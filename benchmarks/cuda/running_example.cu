// The sum of a tile of 3 x 3 out of a matrix with rows of n, as in figure 6 of Wu and others, "gpucc" (CGO 2016).
extern "C" __global__ void running_example(const float *a, long b, long c, long n, float *out) {
    float sum = 0;
#pragma unroll
    for (long i = 0; i < 3; ++i)
#pragma unroll
        for (long j = 0; j < 3; ++j) sum += a[(b + i) * n + c + j];
    out[0] = sum;
}
