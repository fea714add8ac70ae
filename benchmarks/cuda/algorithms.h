// The algorithms that kernels.cu has as kernels and openmp.cpp as loops: sizes and signatures.
#pragma once
constexpr int kVector = 1 << 23, kMatrix = 512, kPicture = 2048, kBodies = 2048, kSet = 1024;
constexpr int kRows = 1 << 16, kPerRow = 24;

extern "C" {
void openmp_saxpy(int n, float a, const float *x, float *y);
float openmp_sum(int n, const float *x);
void openmp_transpose(int n, const float *in, float *out);
void openmp_matmul(int n, const float *a, const float *b, float *c);
void openmp_stencil(int n, const float *in, float *out);
void openmp_histogram(int n, const unsigned char *data, unsigned *bins);
void openmp_nbody(int n, const float *bodies, float *out);
void openmp_mandelbrot(int n, int limit, unsigned char *image);
void openmp_spmv(int n, const int *begin, const int *columns, const float *values, const float *x, float *y);
}
