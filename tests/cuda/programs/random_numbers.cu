// prints: random numbers: 0 of 4 wrong
// XORWOW and Philox in kernels: states that are kept, uniform numbers with the right mean and variance, repeatable.
#include <curand_kernel.h>
#include "check.h"
#include <cmath>

template <class State> __global__ void seed(State *states) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(1234, i, 0, &states[i]);
}

template <class State> __global__ void draw(State *states, float *out, int each) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  State state = states[i];
  for (int k = 0; k < each; ++k) out[i * each + k] = curand_uniform(&state);
  states[i] = state;
}

template <class State> long wrongs() {
  const int threads = 512, each = 40, n = threads * each;
  static float first[n], again[n];
  State *states = on_device<State>(nullptr, threads);
  float *out = on_device<float>(nullptr, n);
  float *both[] = {first, again};
  for (float *got : both) {
    seed<<<4, 128>>>(states);
    draw<<<4, 128>>>(states, out, each);
    to_host(got, out, n);
  }
  double sum = 0, squares = 0;
  bool same = true, inside = true;
  for (int i = 0; i < n; ++i) {
    same = same && first[i] == again[i];
    inside = inside && first[i] > 0 && first[i] <= 1;
    sum += first[i];
    squares += first[i] * first[i];
  }
  // Five standard deviations of the mean of n uniform numbers, and of the mean of their squares.
  bool fair = std::fabs(sum / n - 0.5) < 5 * std::sqrt(1.0 / 12 / n) &&
              std::fabs(squares / n - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / n);
  return !(same && inside) + !fair;
}

int main() { return report("random numbers", wrongs<curandState>() + wrongs<curandStatePhilox4_32_10_t>(), 4); }
