// prints: monte carlo: 0 of 4096 wrong
// A generator in each thread, with state that survives between launches.
#include "check.h"

struct Generator {
  unsigned long long state;
  __host__ __device__ unsigned next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    unsigned mixed = unsigned(((state >> 18) ^ state) >> 27), turn = unsigned(state >> 59);
    return mixed >> turn | mixed << (-turn & 31);
  }
};

__host__ __device__ int throw_darts(Generator &g, int darts) {
  int inside = 0;
  for (int k = 0; k < darts; ++k) {
    long long x = g.next() >> 8, y = g.next() >> 8;
    inside += x * x + y * y < 1ll << 48;
  }
  return inside;
}

__global__ void seed(Generator *generators, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) generators[i].state = mixed(i) * 0x100000001ull;
}

__global__ void play(Generator *generators, int *inside, int n, int darts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Generator g = generators[i];
  inside[i] += throw_darts(g, darts);
  generators[i] = g;
}

int main() {
  const int n = 4096;
  static int got[n];
  Generator *generators = on_device<Generator>(nullptr, n);
  int *inside = on_device<int>(nullptr, n);
  CHECK(cudaMemset(inside, 0, n * sizeof(int)));
  seed<<<n / 256, 256>>>(generators, n);
  for (int round = 0; round < 3; ++round) play<<<n / 256, 256>>>(generators, inside, n, 50);
  to_host(got, inside, n);
  long wrong = 0, all = 0;
  for (int i = 0; i < n; ++i) {
    Generator g{mixed(i) * 0x100000001ull};
    wrong += got[i] != throw_darts(g, 150);
    all += got[i];
  }
  double pi = 4.0 * all / (150.0 * n);
  return report("monte carlo", wrong + (pi < 3.13 || pi > 3.155), n);
}
