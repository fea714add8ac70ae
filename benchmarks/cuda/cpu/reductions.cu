// Few results from many elements, and what the lanes of a warp tell each other.
#include <cooperative_groups.h>

#include "harness.h"

namespace reduce_shared {
#include "reduce_shared.cu"
}
namespace reduce_warp {
#include "reduce_warp.cu"
}
namespace last_block {
#include "last_block.cu"
}
namespace histogram_shared {
#include "histogram_shared.cu"
}
namespace atomics {
#include "atomics.cu"
}
namespace atomics_floating {
#include "atomics_floating.cu"
}
namespace warp_votes {
#include "warp_votes.cu"
}
namespace groups_of_threads {
#include "cooperative_groups.cu"
}

static void sums(int rounds) {
  const int n = 1 << 22;
  int *in = filled<int>(n, [](unsigned i) { return mixed(i) % 100; });
  compare<int>(rounds, {"reduce_shared", 1, [=](int *out) { reduce_shared::reduce<<<n / 256, 256>>>(in, n, out); },
                        [=](int *out) { *out = loops::sum(n, in); }, [](int *out) { *out = 0; }});
  compare<int>(rounds, {"reduce_warp", 1,
                        [=](int *out) { reduce_warp::reduce<reduce_warp::Max><<<1, 1024>>>(in, n, out); },
                        [=](int *out) { *out = loops::maximum(n, in); }});
  compare<long long>(rounds, {"last_block", 1, [=](long long *out) { last_block::sum<<<64, 128>>>(in, n, out); },
                              [=](long long *out) { *out = loops::wide_sum(n, in); }});
  unsigned char *data = filled<unsigned char>(n, [](unsigned i) { return mixed(i) % 7 ? mixed(i) & 255 : 42; });
  compare<unsigned>(rounds, {"histogram_shared", 256,
                             [=](unsigned *bins) { histogram_shared::histogram<<<256, 256>>>(data, n, bins); },
                             [=](unsigned *bins) { loops::histogram(n, data, bins); }});
  CHECK(cudaFree(in));
  CHECK(cudaFree(data));
}

// The words of the program's three arrays, one after the other. The one that is compared and exchanged is never zero:
// which thread would come first is not determined.
struct Words {
  int *words;
  unsigned *bits;
  unsigned long long *wide;
  explicit Words(unsigned *all) : words((int *)all + 4), bits(all + 10), wide((unsigned long long *)all) {}
};

static void counters(int rounds) {
  const int n = 1 << 16;
  auto start = [](unsigned *all) {
    std::fill_n(all, 15, 0u);
    Words(all).words[4] = 1;
    Words(all).bits[1] = ~0u;
  };
  compare<unsigned>(rounds, {"atomics", 15,
                             [=](unsigned *all) {
                               Words w(all);
                               atomics::run<<<n / 128, 128>>>(w.words, w.bits, w.wide);
                             },
                             [=](unsigned *all) {
                               Words w(all);
                               loops::atomics(n, w.words, w.bits, w.wide);
                             },
                             start});
  // Two doubles, two floats: all sums are exact, multiples of a quarter or a half below the types' 2^53 and 2^24.
  auto floats = [](double *all) { return (float *)(all + 2); };
  compare<double>(rounds, {"atomics_floating", 3,
                           [=](double *all) { atomics_floating::run<<<n / 128, 128>>>(floats(all), all); },
                           [=](double *all) { loops::floating_atomics(n, floats(all), all); },
                           [](double *all) { std::fill_n(all, 3, 0.0); }});
}

static void warps(int rounds) {
  const int n = 1 << 18, block = 1024;
  int *in = filled<int>(n, [](unsigned i) { return mixed(i) % 64 * (i % 12 > 3); });
  int *kept = managed<int>(block), *count = managed<int>(1);
  compare<unsigned>(rounds, {"warp_votes", n,
                             [=](unsigned *out) {
                               for (int k = 0; k < n; k += block) {
                                 CHECK(cudaMemsetAsync(count, 0, sizeof(int)));
                                 warp_votes::vote<<<1, block>>>(in + k, out + k, kept, count);
                               }
                             },
                             [=](unsigned *out) { loops::votes(n, in, out); }});
  compare<int>(rounds, {"cooperative_groups", n, [=](int *out) { groups_of_threads::run<<<n / 128, 128>>>(in, out); },
                        [=](int *out) { loops::tiles(n, in, out); }});
  for (int *memory : {in, kept, count}) CHECK(cudaFree(memory));
}

void reductions(int rounds) {
  sums(rounds);
  counters(rounds);
  warps(rounds);
}
