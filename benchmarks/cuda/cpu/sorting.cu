// Sorts: two networks and a radix sort.
#include "harness.h"

namespace bitonic_sort {
#include "bitonic_sort.cu"
}
namespace odd_even_sort {
#include "odd_even_sort.cu"
}
namespace radix_sort {
#include "radix_sort.cu"
}

static void radix(int n, unsigned *in, unsigned *out, int *bins) {
  using namespace radix_sort;
  int blocks = groups(n, kBlock);
  for (int shift = 0; shift < 32; shift += kBits) {
    count<<<blocks, kBlock>>>(in, n, shift, bins, blocks);
    scan<<<1, 1>>>(bins, kBins * blocks);
    scatter<<<blocks, kBlock>>>(in, out, n, shift, bins, blocks);
    std::swap(in, out);
  }
}

void sorting(int rounds) {
  const int network = 1 << 17, arrays = 64, n = 1 << 20;
  compare<unsigned>(rounds, {"bitonic_sort", network,
                             [=](unsigned *data) {
                               for (int length = 2; length <= network; length *= 2)
                                 for (int distance = length / 2; distance; distance /= 2)
                                   bitonic_sort::exchange<<<network / 128, 128>>>(data, distance, length);
                             },
                             [=](unsigned *data) { loops::bitonic_sort(network, data); },
                             [=](unsigned *data) {
                               for (int i = 0; i < network; ++i) data[i] = mixed(i);
                             }});
  compare<short>(rounds, {"odd_even_sort", arrays * 512,
                          [=](short *data) {
                            for (int k = 0; k < arrays; ++k) odd_even_sort::sort<<<1, 256>>>(data + k * 512);
                          },
                          [=](short *data) { loops::odd_even_sort(arrays, data); },
                          [=](short *data) {
                            for (int i = 0; i < arrays * 512; ++i) data[i] = short(mixed(i));
                          }});
  unsigned *other = managed<unsigned>(n);
  int *bins = managed<int>(radix_sort::kBins * groups(n, radix_sort::kBlock));
  compare<unsigned>(rounds, {"radix_sort", n, [=](unsigned *keys) { radix(n, keys, other, bins); },
                             [=](unsigned *keys) { loops::radix_sort(n, keys, other); },
                             [=](unsigned *keys) {
                               for (int i = 0; i < n; ++i) keys[i] = mixed(i * 5 + 1);
                             }});
  CHECK(cudaFree(other));
  CHECK(cudaFree(bins));
}
