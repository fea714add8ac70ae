// What a C programmer writes for each program: plain loops, the outer one over the cores, the inner ones for the
// compiler to vectorise. They are in the file of the program's kind.
#pragma once

namespace loops {
// The programs' number that looks random.
inline unsigned mixed(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

// elementwise.cpp
struct Odd { char a; short b; char c[3]; };
void vector_add(int n, const float *a, const float *b, float *c);
void saxpy(int n, float a, const float *x, float *y);
void half_axpy(int n, float a, const void *x, void *y);
void lambdas(int n, int *out);
void square_and_scale(int n, long long factor, long long *data);
void function_pointers(int n, int *out);
void structures(int n, const float *values, int tag, const Odd *odds, int trace, int *x, double *y);
void reverse(int arrays, int n, int *data);
void recursion(int blocks, int *out);
void weigh(int n, int valid, const int *quads, int *out);
void count_cells(int w, int h, int d, int *out);
void search(int n, const char *text, int length, const char *pattern, unsigned char *found);

// stencils.cpp
void stencil(int n, const int *in, int *out);
void heat(int width, int height, const float *in, float *out);
void life(int size, const unsigned char *in, unsigned char *out);
void convolve(int width, int height, const int *filter, const int *in, int *out);
void volume(int width, int height, int depth, long pitch, unsigned char *cells);
void automaton(int n, int steps, int *a, int *b);
void transpose(int width, int height, const double *in, double *out);

// reductions.cpp
int sum(int n, const int *in);
int maximum(int n, const int *in);
long long wide_sum(int n, const int *in);
void histogram(int n, const unsigned char *data, unsigned *bins);
void atomics(int n, int *words, unsigned *bits, unsigned long long *wide);
void floating_atomics(int n, float *f, double *d);
void votes(int n, const int *in, unsigned *out);
void tiles(int n, const int *in, int *out);

// scans.cpp
void scan(int n, const int *in, int *out);
int compact(int n, const int *in, int *out);

// sorting.cpp
void bitonic_sort(int n, unsigned *data);
void odd_even_sort(int arrays, short *data);
void radix_sort(int n, unsigned *keys, unsigned *other);

// graphs.cpp
struct Node { int value; Node *next; };
void breadth_first(int n, const int *begin, const int *edges, int *level, int *frontier, int *next);
void rank_step(int n, const int *begin, const int *from, const double *in, double *out, const int *out_degree);
void multiply(int n, const int *begin, const int *columns, const float *values, const float *x, float *y);
int primes(int n, unsigned char *composite);
int walk(Node *first);

// dense.cpp
struct Xorwow { unsigned d, v[5]; };
void gemm(int n, const float *a, const float *b, float *c);
void gemm(int n, const double *a, const double *b, double *c);
void accelerate(int n, const float *bodies, float *out);
void mandelbrot(int width, int height, int most, int *out);
void integrate(int parts, int steps, double *out);
void throw_darts(int n, unsigned long long *states, int darts, int *inside);
void draw(int n, Xorwow *states, int each, float *out);
}  // namespace loops
