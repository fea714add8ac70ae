// The generators of <curand_kernel.h>: words at a place, skips, distributions; a thread for each seed, sequence, offset.
#include <curand_kernel.h>
struct Place { unsigned long long seed, sequence, offset; };

template <class S> __device__ void words(unsigned *out, const Place *places) {
  Place at = places[threadIdx.x];
  S s;
  curand_init(at.seed, at.sequence, at.offset, &s);
  out += 8 * threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 4; k++) out[k] = curand(&s);
  skipahead(at.offset, &s);
#pragma unroll 1
  for (int k = 4; k < 6; k++) out[k] = curand(&s);
  skipahead_sequence(at.sequence, &s);
#pragma unroll 1
  for (int k = 6; k < 8; k++) out[k] = curand(&s);
}
extern "C" __global__ void words_xorwow(unsigned *out, const Place *places) { words<curandState>(out, places); }
extern "C" __global__ void words_philox(unsigned *out, const Place *places) {
  words<curandStatePhilox4_32_10_t>(out, places);
}

// Of each distribution three numbers, and the word that comes after them.
template <class S, class F> __device__ void draw(S s, double *&out, F next) {
#pragma unroll 1
  for (int k = 0; k < 3; k++) *out++ = next(&s);
  *out++ = curand(&s);
}
template <class S> __device__ void distributions(double *out, Place at) {
  S s;
  curand_init(at.seed, at.sequence, at.offset, &s);
  draw(s, out, [](S *s) { return (double)curand_uniform(s); });
  draw(s, out, [](S *s) { return curand_uniform_double(s); });
  draw(s, out, [](S *s) { return (double)curand_normal(s); });
  draw(s, out, [](S *s) { return curand_normal_double(s); });
  draw(s, out, [](S *s) { return (double)curand_log_normal(s, 0.5f, 0.25f); });
  draw(s, out, [](S *s) { return (double)curand_poisson(s, 0.5); });
  draw(s, out, [](S *s) { return (double)curand_poisson(s, 63.5); });
  draw(s, out, [](S *s) { return (double)curand_poisson(s, 5000.0); });
}
extern "C" __global__ void distributions_xorwow(double *out, Place at) { distributions<curandState>(out, at); }
extern "C" __global__ void distributions_philox(double *out, Place at) {
  distributions<curandStatePhilox4_32_10_t>(out, at);
}
extern "C" __global__ void pairs_xorwow(double *out, Place at) {
  using S = curandState;
  S s;
  curand_init(at.seed, at.sequence, at.offset, &s);
  draw(s, out, [](S *s) { return (double)curand_normal2(s).y; });
  draw(s, out, [](S *s) { return curand_normal2_double(s).y; });
  draw(s, out, [](S *s) { return (double)curand_log_normal2(s, 0.5f, 0.25f).y; });
  draw(s, out, [](S *s) { return curand_log_normal2_double(s, 0.5, 0.25).y; });
  draw(s, out, [](S *s) { return curand_log_normal_double(s, 0.5, 0.25); });
}

// Of each function that gives four numbers two answers, and the word that comes after them.
template <class S, class F> __device__ void draw_four(S s, double *&out, F next) {
#pragma unroll 1
  for (int k = 0; k < 2; k++) {
    auto four = next(&s);
    *out++ = four.x, *out++ = four.y, *out++ = four.z, *out++ = four.w;
  }
  *out++ = curand(&s);
}
extern "C" __global__ void fours_philox(double *out, Place at) {
  using S = curandStatePhilox4_32_10_t;
  S s;
  curand_init(at.seed, at.sequence, at.offset, &s);
  draw_four(s, out, [](S *s) { return curand4(s); });
  draw_four(s, out, [](S *s) { return curand_uniform4(s); });
  draw_four(s, out, [](S *s) { return curand_uniform4_double(s); });
  draw_four(s, out, [](S *s) { return curand_normal4(s); });
  draw_four(s, out, [](S *s) { return curand_normal4_double(s); });
  draw_four(s, out, [](S *s) { return curand_log_normal4(s, 0.5f, 0.25f); });
  draw_four(s, out, [](S *s) { return curand_log_normal4_double(s, 0.5, 0.25); });
  draw_four(s, out, [](S *s) { return curand_poisson4(s, 7.5); });
  draw_four(s, out, [](S *s) { return curand_poisson4(s, 5000.0); });
}

template <class S> __device__ void poisson(unsigned *out, double mean, int each) {
  S s;
  curand_init(7, blockIdx.x * blockDim.x + threadIdx.x, 0, &s);
  out += each * (blockIdx.x * blockDim.x + threadIdx.x);
#pragma unroll 1
  for (int k = 0; k < each; k++) out[k] = curand_poisson(&s, mean);
}
extern "C" __global__ void poisson_xorwow(unsigned *out, double mean, int each) {
  poisson<curandState>(out, mean, each);
}
