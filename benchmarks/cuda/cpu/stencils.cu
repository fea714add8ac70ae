// Each cell from its neighbours, and cells that change places.
#include <cooperative_groups.h>

#include <cstring>

#include "harness.h"

namespace stencil_halo {
#include "stencil_halo.cu"
}
namespace heat_pitched {
#include "heat_pitched.cu"
}
namespace game_of_life {
#include "game_of_life.cu"
}
namespace convolution_constant {
#include "convolution_constant.cu"
}
namespace volume_3d {
#include "volume_3d.cu"
}
namespace grid_sync {
#include "grid_sync.cu"
}
namespace transpose {
#include "transpose.cu"
}

static void pictures(int rounds) {
  const int size = 2048, cells = size * size;
  const dim3 strips(size / 32, size / 8), rows(32, 8);
  float *warm = filled<float>(cells, [](unsigned i) { return mixed(i) % 64; });
  compare<float>(rounds, {"heat_pitched", cells,
                          [=](float *out) {
                            heat_pitched::step<<<strips, rows>>>(warm, out, size * sizeof(float), size, size);
                          },
                          [=](float *out) { loops::heat(size, size, warm, out); }});
  int *grey = filled<int>(cells, [](unsigned i) { return mixed(i) % 256; });
  static int taps[25];
  for (int i = 0; i < 25; ++i) taps[i] = i * i % 11 - 5;
  CHECK(cudaMemcpyToSymbol(convolution_constant::filter, taps, sizeof taps));
  compare<int>(rounds, {"convolution_constant", cells,
                        [=](int *out) { convolution_constant::convolve<<<strips, rows>>>(grey, out, size, size); },
                        [=](int *out) { loops::convolve(size, size, taps, grey, out); }});
  unsigned char *world = filled<unsigned char>(cells, [](unsigned i) { return mixed(i) % 3 == 0; });
  compare<unsigned char>(rounds, {"game_of_life", cells,
                                  [=](unsigned char *out) { game_of_life::step<<<strips, rows>>>(world, out, size); },
                                  [=](unsigned char *out) { loops::life(size, world, out); }});
  double *square = filled<double>(cells, [](unsigned i) { return i * 0.5; });
  compare<double>(rounds, {"transpose", cells,
                           [=](double *out) {
                             transpose::transpose<<<dim3(size / 32, size / 32), rows>>>(square, out, size, size);
                           },
                           [=](double *out) { loops::transpose(size, size, square, out); }});
  for (void *memory : {(void *)warm, (void *)grey, (void *)world, (void *)square}) CHECK(cudaFree(memory));
}

static void lines(int rounds) {
  const int n = 1 << 22;
  int *in = filled<int>(n, [](unsigned i) { return mixed(i) % 1000; });
  compare<int>(rounds, {"stencil_halo", n,
                        [=](int *out) {
                          using namespace stencil_halo;
                          stencil<<<n / kBlock, kBlock>>>(in, out, n);
                        },
                        [=](int *out) { loops::stencil(n, in, out); }});
  const int cells = 1 << 18, steps = 10;
  int blocks = 0, *other = managed<int>(cells);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_sync::run, 64, 0));
  compare<int>(rounds, {"grid_sync", cells,
                        [=](int *out) {
                          void *arguments[] = {(void *)&out, (void *)&other, (void *)&cells, (void *)&steps};
                          CHECK(cudaLaunchCooperativeKernel(grid_sync::run, std::min(blocks, 12), 64, arguments));
                        },
                        [=](int *out) { loops::automaton(cells, steps, out, other); },
                        [=](int *out) { std::copy(in, in + cells, out); }});
  const cudaExtent extent = make_cudaExtent(256, 128, 64);
  const int volume = 256 * 128 * 64;
  compare<unsigned char>(rounds, {"volume_3d", volume,
                                  [=](unsigned char *out) {
                                    volume_3d::add<<<1, 64>>>(make_cudaPitchedPtr(out, 256, 256, 128), extent);
                                  },
                                  [=](unsigned char *out) { loops::volume(256, 128, 64, 256, out); }});
  CHECK(cudaFree(in));
  CHECK(cudaFree(other));
}

void stencils(int rounds) {
  pictures(rounds);
  lines(rounds);
}
