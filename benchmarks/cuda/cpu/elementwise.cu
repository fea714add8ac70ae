// One result from each element, or from a few.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cstring>

#include "harness.h"

namespace vector_add {
#include "vector_add.cu"
}
namespace saxpy_managed {
#include "saxpy_managed.cu"
}
namespace half_precision {
#include "half_precision.cu"
}
namespace lambdas {
#include "lambdas.cu"
}
namespace templates {
#include "templates.cu"
}
namespace function_pointers {
#include "function_pointers.cu"
}
namespace structures {
#include "structures.cu"
}
namespace dynamic_shared {
#include "dynamic_shared.cu"
}
namespace recursion {
#include "recursion.cu"
}
namespace pipelined_copies {
#include "pipelined_copies.cu"
}
namespace block_shapes {
#include "block_shapes.cu"
}
namespace string_search {
#include "string_search.cu"
}

static void arithmetic(int rounds) {
  const int n = 1 << 23;
  float *a = filled<float>(n, [](unsigned i) { return mixed(i) % 1000 * 0.25f; });
  float *b = filled<float>(n, [](unsigned i) { return mixed(i + n) % 1000 * 0.5f; });
  compare<float>(rounds, {"vector_add", n, [=](float *c) { vector_add::add<<<n / 256, 256>>>(a, b, c, n); },
                          [=](float *c) { loops::vector_add(n, a, b, c); }});
  // Multiples of 0.25 below 2^21 after 15 rounds: every sum is exact.
  compare<float>(rounds, {"saxpy_managed", n, [=](float *y) { saxpy_managed::saxpy<<<256, 256>>>(n, 3.0f, a, y); },
                          [=](float *y) { loops::saxpy(n, 3.0f, a, y); }});
  // Multiples of 0.25 below 256: exact in halves.
  __half *x = filled<__half>(n, [](unsigned i) { return mixed(i) % 32 * 0.25f; });
  compare<__half>(rounds, {"half_precision", n,
                           [=](__half *y) {
                             using half_precision::axpy;
                             axpy<<<n / 256, 128>>>((const __half2 *)x, (__half2 *)y, __float2half(2.0f), n / 2);
                           },
                           [=](__half *y) { loops::half_axpy(n, 2.0f, x, y); },
                           [=](__half *y) { std::fill_n(y, n, __half(1.0f)); }});
  for (void *memory : {(void *)a, (void *)b, (void *)x}) CHECK(cudaFree(memory));
}

static void language(int rounds) {
  const int n = 1 << 22;
  compare<int>(rounds, {"lambdas", n,
                        [=](int *out) {
                          auto write = [=] __host__ __device__(int i) {
                            using namespace lambdas;
                            out[i] = chosen<true>(i * power(3, 4)) + chosen<false>(i + power(2, 10));
                          };
                          lambdas::each<<<n / 128, 128>>>(n, write);
                        },
                        [=](int *out) { loops::lambdas(n, out); }});
  using namespace templates;
  compare<long long>(rounds, {"templates", n,
                              [=](long long *data) {
                                Then<Square, Scale<long long>> f{{}, {-3}};
                                templates::apply<long long, n><<<1, 1024>>>(data, f);
                              },
                              [=](long long *data) { loops::square_and_scale(n, -3, data); },
                              [=](long long *data) {
                                for (int i = 0; i < n; ++i) data[i] = i % 50;
                              }});
  function_pointers::Operation last;
  CHECK(cudaMemcpyFromSymbol(&last, function_pointers::operations, sizeof last, sizeof last));
  compare<int>(rounds, {"function_pointers", n,
                        [=](int *out) { function_pointers::apply<<<n / 128, 128>>>(out, n, last); },
                        [=](int *out) { loops::function_pointers(n, out); }});
  structures::Wide wide;
  wide.tag = -5;
  for (int i = 0; i < 12; ++i) wide.values[i] = i * i;
  using structures::Odd;
  Odd *odds = filled<Odd>(n, [](unsigned i) { return Odd{char(i), short(-i), {1, 2, char(i / 2)}}; });
  int *x = managed<int>(n), *theirs = managed<int>(n);
  compare<double>(rounds, {"structures", n,
                           [=](double *y) {
                             structures::run<<<n / 128, 128>>>(wide, odds, {x, y}, structures::Matrix3(4), n);
                           },
                           [=](double *y) {
                             loops::structures(n, wide.values, wide.tag, (const loops::Odd *)odds, 12, theirs, y);
                           }});
  same("structures", n, x, theirs);
  const int blocks = 512;
  compare<int>(rounds, {"recursion", 96, [=](int *out) { recursion::run<<<blocks, 96>>>(out); },
                        [=](int *out) { loops::recursion(blocks, out); }});
  for (void *memory : {(void *)odds, (void *)x, (void *)theirs}) CHECK(cudaFree(memory));
}

static void movement(int rounds) {
  const int arrays = 128, length = 15000, bytes = length * sizeof(int);
  CHECK(cudaFuncSetAttribute(dynamic_shared::reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  compare<int>(rounds, {"dynamic_shared", arrays * length,
                        [=](int *data) {
                          for (int k = 0; k < arrays; ++k)
                            dynamic_shared::reverse<<<1, 256, bytes>>>(data + k * length, length);
                        },
                        [=](int *data) { loops::reverse(arrays, length, data); },
                        [=](int *data) {
                          for (int i = 0; i < arrays * length; ++i) data[i] = mixed(i);
                        }});
  const int tiles = 1 << 13, n = tiles * pipelined_copies::kTile, last = 100;
  int *quads = filled<int>(4 * n, [](unsigned i) { return mixed(i) % 1000; });
  compare<int>(rounds, {"pipelined_copies", n,
                        [=](int *out) {
                          using namespace pipelined_copies;
                          scale<<<1, kTile>>>(out, (const int4 *)quads, tiles, last);
                        },
                        [=](int *out) { loops::weigh(n, n - pipelined_copies::kTile + last, quads, out); }});
  const dim3 block(32, 4, 2), grid(8, 32, 32);
  const int w = 256, h = 128, d = 64;
  compare<int>(rounds, {"block_shapes", w * h * d,
                        [=](int *out) { block_shapes::in_three<<<grid, block>>>(out, w, h); },
                        [=](int *out) { loops::count_cells(w, h, d, out); }});
  const int characters = 1 << 22;
  const char *wanted = "weave";
  char *text = filled<char>(characters, [=](unsigned i) { return wanted[mixed(i) % 5]; });
  CHECK(cudaMemcpyToSymbol(string_search::pattern, wanted, 5));
  compare<unsigned char>(rounds, {"string_search", characters,
                                  [=](unsigned char *found) {
                                    string_search::search<<<characters / 256, 256>>>(text, characters, 5, found);
                                  },
                                  [=](unsigned char *found) { loops::search(characters, text, 5, wanted, found); }});
  CHECK(cudaFree(quads));
  CHECK(cudaFree(text));
}

void elementwise(int rounds) {
  arithmetic(rounds);
  language(rounds);
  movement(rounds);
}
