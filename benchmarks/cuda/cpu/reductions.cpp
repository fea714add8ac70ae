// Few results from many elements, and what the lanes of a warp tell each other.
#include "loops.h"

#include <algorithm>

namespace loops {
int sum(int n, const int *in) {
  int all = 0;
#pragma omp parallel for simd reduction(+ : all)
  for (int i = 0; i < n; ++i) all += in[i];
  return all;
}

int maximum(int n, const int *in) {
  int most = in[0];
#pragma omp parallel for simd reduction(max : most)
  for (int i = 0; i < n; ++i) most = std::max(most, in[i]);
  return most;
}

long long wide_sum(int n, const int *in) {
  long long all = 0;
#pragma omp parallel for simd reduction(+ : all)
  for (int i = 0; i < n; ++i) all += in[i];
  return all;
}

void histogram(int n, const unsigned char *data, unsigned *bins) {
#pragma omp parallel
  {
    unsigned mine[256] = {};
#pragma omp for
    for (int i = 0; i < n; ++i) ++mine[data[i]];
    for (int i = 0; i < 256; ++i)
#pragma omp atomic
      bins[i] += mine[i];
  }
}

void atomics(int n, int *words, unsigned *bits, unsigned long long *wide) {
  int all = 0, spent = 0, least = words[2], most = words[3];
  unsigned either = bits[0], both = bits[1], odd = bits[2];
  unsigned long long shifted = 0, highest = wide[1];
#pragma omp parallel for reduction(+ : all, spent, shifted) reduction(min : least) reduction(max : most, highest) \
    reduction(| : either) reduction(& : both) reduction(^ : odd)
  for (int i = 0; i < n; ++i) {
    all += i;
    spent += 2;
    least = std::min(least, -i);
    most = std::max(most, i);
    either |= 1u << i % 32;
    both &= ~(1u << i % 16);
    odd ^= unsigned(i);
    shifted += 1ull << 33;
    highest = std::max(highest, (unsigned long long)i << 20);
  }
  words[0] += all, words[1] -= spent, words[2] = least, words[3] = most;
  bits[0] = either, bits[1] = both, bits[2] = odd;
  bits[3] = (bits[3] + n) % 100;
  bits[4] = (bits[4] + 7 - n % 7) % 7;
  wide[0] += shifted, wide[1] = highest;
}

void floating_atomics(int n, float *f, double *d) {
  float halves = 0, small = 0;
  double quarters = 0, most = d[1];
#pragma omp parallel for simd reduction(+ : halves, small, quarters) reduction(max : most)
  for (int i = 0; i < n; ++i) {
    halves += 0.5f;
    small += float(i % 4);
    quarters += 0.25 * i;
    most = std::max(most, double(mixed(i) % 10007));
  }
  f[0] += halves, f[1] += small, d[0] += quarters, d[1] = most;
}

void votes(int n, const int *in, unsigned *out) {
#pragma omp parallel for
  for (int w = 0; w < n; w += 32) {
    unsigned ballot = 0, any = 0, all = 1, same[4] = {};
    for (int k = 0; k < 32; ++k) {
      ballot |= unsigned(in[w + k] & 1) << k;
      any |= in[w + k] == 3;
      all &= in[w + k] < 1000;
      same[in[w + k] % 4] |= 1u << k;
    }
    for (int k = 0; k < 32; ++k) out[w + k] = ballot ^ same[in[w + k] % 4] ^ (any | all << 1);
  }
}

void tiles(int n, const int *in, int *out) {
#pragma omp parallel for
  for (int block = 0; block < n; block += 128)
    for (int w = 0; w < 128; w += 32) {
      int mine[32], fours[8] = {}, eights[4] = {}, all = 0;
      bool odd[8] = {};
      for (int k = 0; k < 32; ++k) {
        mine[k] = in[block + 127 - w - k];
        fours[k / 4] += mine[k];
        odd[k / 4] |= mine[k] & 1;
      }
      for (int k = 0; k < 8; ++k) eights[k / 2] += fours[k];
      for (int k = 0; k < 4; ++k) all += eights[k];
      for (int k = 0; k < 32; ++k) out[block + w + k] = fours[k / 4] + 3 * eights[k / 8] + 5 * all + odd[k / 4] + k % 8;
    }
}
}  // namespace loops
