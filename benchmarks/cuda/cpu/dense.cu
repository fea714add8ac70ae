// Much arithmetic on little data.
#include <curand_kernel.h>

#include "harness.h"

namespace gemm_tiled {
#include "gemm_tiled.cu"
}
namespace gemm_registers {
#include "gemm_registers.cu"
}
namespace nbody {
#include "nbody.cu"
}
namespace mandelbrot {
#include "mandelbrot.cu"
}
namespace double_integral {
#include "double_integral.cu"
}
namespace monte_carlo {
#include "monte_carlo.cu"
}
namespace random_numbers {
#include "random_numbers.cu"
}

static void products(int rounds) {
  const int n = 512;
  // Sums of integers below 2^24 and 2^53: every order of them gives the same.
  auto small = [](unsigned i) { return int(mixed(i) % 21) - 10; };
  float *a = filled<float>(n * n, small), *b = filled<float>(n * n, [=](unsigned i) { return small(~i); });
  compare<float>(rounds, {"gemm_tiled", n * n,
                          [=](float *c) { gemm_tiled::gemm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n); },
                          [=](float *c) { loops::gemm(n, a, b, c); }});
  double *da = filled<double>(n * n, small), *db = filled<double>(n * n, [=](unsigned i) { return small(~i); });
  compare<double>(rounds, {"gemm_registers", n * n,
                           [=](double *c) {
                             using namespace gemm_registers;
                             gemm<<<dim3(n / kTile, n / kTile), 256>>>(da, db, c, n);
                           },
                           [=](double *c) { loops::gemm(n, da, db, c); }});
  for (void *memory : {(void *)a, (void *)b, (void *)da, (void *)db}) CHECK(cudaFree(memory));
}

// The largest sum over the bodies of the sizes of the terms that one of them feels.
static double largest_pull(int n, const float4 *bodies) {
  double most = 0;
  for (int i = 0; i < n; ++i) {
    double size = 0;
    for (int k = 0; k < n; ++k) {
      double x = bodies[k].x - bodies[i].x, y = bodies[k].y - bodies[i].y, z = bodies[k].z - bodies[i].z;
      size += bodies[k].w / (x * x + y * y + z * z + 0.01);
    }
    most = std::max(most, size);
  }
  return most;
}

static void bodies(int rounds) {
  const int n = 2048;
  float *all = filled<float>(4 * n, [](unsigned i) { return mixed(i) % 10000 / 10000.0f; });
  // Each of n terms and sums is rounded a few times to 2^-24 of the sum of their sizes, on both sides.
  double bound = 2 * largest_pull(n, (const float4 *)all) * (n + 8) * 0x1p-24;
  compare<float>(rounds, {"nbody", 3 * n,
                          [=](float *out) {
                            using namespace nbody;
                            accelerate<<<n / kBlock, kBlock>>>((const float4 *)all, (float3 *)out, n);
                          },
                          [=](float *out) { loops::accelerate(n, all, out); }, nullptr, bound});
  CHECK(cudaFree(all));
}

static void numbers(int rounds) {
  const int width = 128, height = 96, most = 5000;
  compare<int>(rounds, {"mandelbrot", width * height,
                        [=](int *out) {
                          mandelbrot::mandelbrot<<<dim3(8, 12), dim3(16, 8)>>>(out, width, height, most);
                        },
                        [=](int *out) { loops::mandelbrot(width, height, most, out); }});
  // Each part is below 4 / 256; its 2560 terms and their sum are rounded to 2^-53 of that, on both sides.
  const int parts = 256, steps = 20;
  compare<double>(rounds, {"double_integral", parts,
                           [=](double *out) { double_integral::integrate<<<parts, 128>>>(out, steps); },
                           [=](double *out) { loops::integrate(parts, 128 * steps, out); }, nullptr,
                           2 * 4.0 / parts * (128 * steps + 8) * 0x1p-53});
  const int n = 1 << 14, darts = 100;
  using monte_carlo::Generator;
  auto seeded = [](unsigned i) { return Generator{mixed(i) * 0x100000001ull}; };
  Generator *ours = filled<Generator>(n, seeded), *theirs = filled<Generator>(n, seeded);
  compare<int>(rounds, {"monte_carlo", n,
                        [=](int *inside) { monte_carlo::play<<<n / 256, 256>>>(ours, inside, n, darts); },
                        [=](int *inside) { loops::throw_darts(n, &theirs->state, darts, inside); }});
  CHECK(cudaFree(ours));
  CHECK(cudaFree(theirs));

  const int each = 40;
  curandState *states = managed<curandState>(n);
  random_numbers::seed<<<n / 128, 128>>>(states);
  CHECK(cudaDeviceSynchronize());
  auto *copied = filled<loops::Xorwow>(n, [=](unsigned i) {
    const curandState &s = states[i];
    return loops::Xorwow{s.d, {s.v[0], s.v[1], s.v[2], s.v[3], s.v[4]}};
  });
  compare<float>(rounds, {"random_numbers", n * each,
                          [=](float *out) { random_numbers::draw<<<n / 128, 128>>>(states, out, each); },
                          [=](float *out) { loops::draw(n, copied, each, out); }});
  CHECK(cudaFree(states));
  CHECK(cudaFree(copied));
}

void dense(int rounds) {
  products(rounds);
  bodies(rounds);
  numbers(rounds);
}
