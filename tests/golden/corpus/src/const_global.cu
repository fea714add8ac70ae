// Module variables: constants, initialised globals of each type, pointers to other variables, strings.
#include "device.h"

__constant__ float coefficients[5] = {1.0f, -0.5f, 0.25f, -0.125f, 0.0625f};
__constant__ short weights[7] = {1, -2, 3, -4, 5, -6, 7};
__constant__ double scale;
__device__ int counter = 42;
__device__ unsigned long long big = 0x123456789abcdef0ull;
__device__ float table[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
__device__ signed char bytes[6] = {-1, 0, 1, 127, -128};
__device__ double tiny = 4.9406564584124654e-324;
__device__ float zeros[1000];
__device__ const char message[] = "warp\tand weft\n";
__device__ const char *words[3] = {"one", "two", message};
__device__ int *counter_address = &counter;
__device__ float *middle = &table[1][2];
struct mixed { char c; short s; int i; double d; const float *p; };
__device__ mixed record = {'x', -7, 1 << 20, 2.5, &coefficients[2]};
#if defined(__NVCC__)
__managed__ int managed_flag = 3;
#else
__device__ int managed_flag = 3;
#endif

extern "C" __global__ void use_globals(float *out, int *ints, char *text, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = 0;
    for (int k = 4; k >= 0; --k) p = p * out[i] + coefficients[k];
    p += table[i & 3][i % 3] + zeros[i] + (float)(scale * tiny) + *middle + (float)record.d + *record.p;
    zeros[i] = p;
    out[i] = p;
    ints[i] = counter + weights[i % 7] + bytes[i % 6] + (int)(big >> (i & 63)) + *counter_address + record.s + managed_flag;
    text[i] = words[i % 3][i & 1];
    if (i == 0) {
        counter = 43;
        record.i += 1;
        big ^= (u64)i;
    }
}
