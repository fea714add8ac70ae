// Device functions that stay calls: by value, by struct, recursive, through a pointer table.
#include "device.h"

struct pair { int quotient, remainder; };

__noinline__ __device__ pair divide(int a, int b) {
    pair p;
    p.quotient = a / b;
    p.remainder = a % b;
    return p;
}

__noinline__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__noinline__ __device__ float square(float x) { return x * x; }
__noinline__ __device__ float cube(float x) { return x * x * x; }
__noinline__ __device__ float half_of(float x) { return 0.5f * x; }
__noinline__ __device__ void accumulate(float *where, double amount, char tag) { *where += (float)amount + tag; }

typedef float (*unary)(float);
__device__ unary operations[3] = {square, cube, half_of};

struct matrix { float m[9]; };
__noinline__ __device__ matrix multiply(matrix a, const matrix &b) {
    matrix c;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            c.m[3 * i + j] = 0;
            for (int k = 0; k < 3; ++k) c.m[3 * i + j] += a.m[3 * i + k] * b.m[3 * k + j];
        }
    return c;
}

extern "C" __global__ void call_direct(const int *a, const int *b, int *out) {
    int i = threadIdx.x;
    pair p = divide(a[i], b[i]);
    out[2 * i] = p.quotient;
    out[2 * i + 1] = p.remainder + fibonacci(a[i] & 15);
}

extern "C" __global__ void call_indirect(const float *x, const int *which, float *out) {
    int i = threadIdx.x;
    float v = operations[which[i] % 3](x[i]);
    accumulate(&v, 0.5 * i, (char)which[i]);
    out[i] = v;
}

extern "C" __global__ void call_struct(const matrix *a, const matrix *b, matrix *out) {
    out[threadIdx.x] = multiply(a[threadIdx.x], b[threadIdx.x]);
}
