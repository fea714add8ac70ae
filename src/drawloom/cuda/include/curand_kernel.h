// Random numbers on the device: XORWOW (Marsaglia 2003, "Xorshift RNGs") and Philox 4x32-10 (Salmon et al. 2011,
// "Parallel random numbers: as easy as 1, 2, 3"), with the uniform, normal, log-normal and Poisson distributions over
// them: cuRAND's words for a seed, a sequence and an offset, and as many of them spent on a number.
#pragma once
#include <cuda_runtime.h>

struct curandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag, boxmuller_flag_double;  // whether a second normal number waits in `extra`
  float boxmuller_extra;
  double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;  // how many of `output` are used
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
#define __DL_GENERATOR(name) \
  struct __DL_REFUSED("other generators than XORWOW and Philox") name {}; \
  struct __DL_REFUSED("other generators than XORWOW and Philox") name##_t {};
__DL_GENERATOR(curandStateMRG32k3a)
__DL_GENERATOR(curandStateMtgp32)
__DL_GENERATOR(curandStateSobol32)
__DL_GENERATOR(curandStateSobol64)
__DL_GENERATOR(curandStateScrambledSobol32)
#undef __DL_GENERATOR

// XORWOW: five words of a linear generator over bits, and a counter that is added.
__DL_BOTH void __dl_xorwow_step(unsigned int *v) {
  unsigned int t = v[0] ^ v[0] >> 2;
  v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
  v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
}
__DL_BOTH unsigned int curand(curandStateXORWOW_t *s) {
  __dl_xorwow_step(s->v);
  s->d += 362437;
  return s->v[4] + s->d;
}
// Polynomials over bits of degree below 160, modulo the characteristic polynomial of a step: n steps are x^n.
struct __dl_steps { unsigned int c[5]; };
__DL_BOTH __dl_steps __dl_steps_product(__dl_steps a, __dl_steps b) {
  const unsigned int characteristic[5] = {0x00060001, 0x08610030, 0x00062121, 0x0f3c0035, 0x00000f0e};
  __dl_steps r = {};
  for (int i = 159; i >= 0; i--) {
    unsigned int top = r.c[4] >> 31, wanted = -(b.c[i >> 5] >> (i & 31) & 1u);
    for (int k = 4; k >= 0; k--) {
      unsigned int carried = k ? r.c[k - 1] >> 31 : 0;
      r.c[k] = (r.c[k] << 1 | carried) ^ (-top & characteristic[k]) ^ (wanted & a.c[k]);
    }
  }
  return r;
}
__DL_BOTH void __dl_xorwow_skip(unsigned int *v, __dl_steps base, unsigned long long n) {
  if (!n) return;
  __dl_steps power = {{1, 0, 0, 0, 0}};
  for (; n; n >>= 1) {
    if (n & 1) power = __dl_steps_product(power, base);
    base = __dl_steps_product(base, base);
  }
  unsigned int sum[5] = {};
  for (int i = 0; i < 160; i++) {
    unsigned int wanted = -(power.c[i >> 5] >> (i & 31) & 1u);
    for (int k = 0; k < 5; k++) sum[k] ^= wanted & v[k];
    __dl_xorwow_step(v);
  }
  for (int k = 0; k < 5; k++) v[k] = sum[k];
}
__DL_BOTH void skipahead(unsigned long long n, curandStateXORWOW_t *s) {
  __dl_xorwow_skip(s->v, __dl_steps{{2, 0, 0, 0, 0}}, n);
  s->d += 362437u * (unsigned int)n;
}
// A sequence is 2^67 numbers long, a multiple of the counter's period.
__DL_BOTH void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *s) {
  __dl_xorwow_skip(s->v, __dl_steps{{0x26294934, 0x77bbc248, 0x1a87dad0, 0x930052d4, 0x947e6dd2}}, n);
}
__DL_BOTH void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                           curandStateXORWOW_t *s) {
  unsigned int low = 1099087573u * ((unsigned int)seed ^ 0xaad26b49u);
  unsigned int high = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xf7dcefddu);
  *s = curandStateXORWOW_t{};
  s->d = 6615241 + high + low;
  s->v[0] = 123456789u + low, s->v[1] = 362436069u ^ low;
  s->v[2] = 521288629u + high, s->v[3] = 88675123u ^ high, s->v[4] = 5783321u + low;
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}

// Philox: ten rounds of multiplications over a counter and a key.
__DL_BOTH uint4 __dl_philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; round++) {
    unsigned long long p = 0xd2511f53ull * c.x, q = 0xcd9e8d57ull * c.z;
    c = uint4{(unsigned int)(q >> 32) ^ c.y ^ key.x, (unsigned int)q, (unsigned int)(p >> 32) ^ c.w ^ key.y, (unsigned int)p};
    key.x += 0x9e3779b9u, key.y += 0xbb67ae85u;
  }
  return c;
}
__DL_BOTH void __dl_philox_count(curandStatePhilox4_32_10_t *s, unsigned long long n) {
  unsigned long long low = (unsigned long long)s->ctr.y << 32 | s->ctr.x, high = (unsigned long long)s->ctr.w << 32 | s->ctr.z;
  unsigned long long sum = low + n;
  high += sum < low;
  s->ctr = uint4{(unsigned int)sum, (unsigned int)(sum >> 32), (unsigned int)high, (unsigned int)(high >> 32)};
}
__DL_BOTH void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *s) {
  unsigned long long used = s->STATE + (n & 3);
  __dl_philox_count(s, (n >> 2) + (used >> 2));
  s->STATE = (unsigned int)used & 3;
  s->output = __dl_philox(s->ctr, s->key);
}
__DL_BOTH void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *s) {
  unsigned long long high = ((unsigned long long)s->ctr.w << 32 | s->ctr.z) + n;
  s->ctr.z = (unsigned int)high, s->ctr.w = (unsigned int)(high >> 32);
  s->output = __dl_philox(s->ctr, s->key);
}
__DL_BOTH void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                           curandStatePhilox4_32_10_t *s) {
  *s = curandStatePhilox4_32_10_t{};
  s->key = uint2{(unsigned int)seed, (unsigned int)(seed >> 32)};
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}
__DL_BOTH unsigned int curand(curandStatePhilox4_32_10_t *s) {
  unsigned int n = s->STATE++;
  unsigned int word = n == 0 ? s->output.x : n == 1 ? s->output.y : n == 2 ? s->output.z : s->output.w;
  if (s->STATE == 4) {
    __dl_philox_count(s, 1);
    s->output = __dl_philox(s->ctr, s->key);
    s->STATE = 0;
  }
  return word;
}
// The next four numbers, wherever in a counter's four the generator stands.
__DL_BOTH uint4 curand4(curandStatePhilox4_32_10_t *s) {
  uint4 now = s->output;
  __dl_philox_count(s, 1);
  uint4 then = s->output = __dl_philox(s->ctr, s->key);
  switch (s->STATE) {
    case 0: return now;
    case 1: return uint4{now.y, now.z, now.w, then.x};
    case 2: return uint4{now.z, now.w, then.x, then.y};
    default: return uint4{now.w, then.x, then.y, then.z};
  }
}

// Uniform numbers above 0 and up to 1: of 32 bits, and of 53.
__DL_BOTH float __dl_uniform(unsigned int x) { return x * 0x1p-32f + 0x1p-33f; }
__DL_BOTH double __dl_uniform_double(unsigned int x, unsigned int y) {
  return (double)((unsigned long long)x ^ (unsigned long long)y << 21) * 0x1p-53 + 0x1p-54;
}
// Two normal numbers from two uniform ones (Box and Muller 1958).
__DL_DEVICE float2 __dl_normal(unsigned int x, unsigned int y) {
  float length = sqrtf(-2.0f * logf(__dl_uniform(x))), angle = y * 0x1.921fb6p-30f + 0x1.921fb6p-31f;
  float2 v;
  sincosf(angle, &v.x, &v.y);
  v.x *= length, v.y *= length;
  return v;
}
__DL_DEVICE double2 __dl_normal_double(uint4 r) {
  double length = sqrt(-2.0 * log(__dl_uniform_double(r.x, r.y)));
  double2 v;
  sincospi(2.0 * __dl_uniform_double(r.z, r.w), &v.x, &v.y);
  v.x *= length, v.y *= length;
  return v;
}

// Poisson numbers: small means by products of uniform numbers (Knuth, volume 2), large ones from normal numbers, both
// as cuRAND has them; between them transformed rejection (Hoermann 1993, algorithm PTRS), whose numbers are our own.
__DL_DEVICE unsigned int __dl_poisson_of_normal(double normal, double lambda) {
  return (unsigned int)(sqrt(lambda) * normal + lambda + 0.5);
}
template <class S> __DL_DEVICE unsigned int __dl_poisson(S *s, double lambda) {
  if (lambda < 64) {
    unsigned int k = 0;
    for (float product = expf(lambda) * curand_uniform(s); product > 1; product *= curand_uniform(s)) k++;
    return k;
  }
  if (lambda > 4000) return __dl_poisson_of_normal(curand_normal_double(s), lambda);
  double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b, log_lambda = log(lambda);
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = curand_uniform_double(s) - 0.5, v = curand_uniform_double(s), edge = 0.5 - fabs(u);
    double k = floor((2 * a / edge + b) * u + lambda + 0.43);
    if (edge >= 0.07 && v <= accepted) return (unsigned int)k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    double least = log(v * inverse_alpha / (a / (edge * edge) + b));
    if (least <= k * log_lambda - lambda - lgamma(k + 1)) return (unsigned int)k;
  }
}

__DL_BOTH uint4 __dl_four_words(curandStatePhilox4_32_10_t *s) { return curand4(s); }
__DL_BOTH uint4 __dl_four_words(curandStateXORWOW_t *s) {
  uint4 v;
  v.x = curand(s), v.y = curand(s), v.z = curand(s), v.w = curand(s);
  return v;
}

#define __DL_DISTRIBUTIONS(S)                                                                      \
  __DL_BOTH float curand_uniform(S *s) { return __dl_uniform(curand(s)); }                         \
  __DL_DEVICE float2 curand_normal2(S *s) {                                                        \
    unsigned int x = curand(s), y = curand(s);                                                     \
    return __dl_normal(x, y);                                                                      \
  }                                                                                                \
  __DL_DEVICE float curand_normal(S *s) {                                                          \
    if (s->boxmuller_flag) return s->boxmuller_flag = 0, s->boxmuller_extra;                       \
    float2 v = curand_normal2(s);                                                                  \
    s->boxmuller_flag = 1, s->boxmuller_extra = v.y;                                               \
    return v.x;                                                                                    \
  }                                                                                                \
  __DL_DEVICE double2 curand_normal2_double(S *s) { return __dl_normal_double(__dl_four_words(s)); }  \
  __DL_DEVICE double curand_normal_double(S *s) {                                                  \
    if (s->boxmuller_flag_double) return s->boxmuller_flag_double = 0, s->boxmuller_extra_double;  \
    double2 v = curand_normal2_double(s);                                                          \
    s->boxmuller_flag_double = 1, s->boxmuller_extra_double = v.y;                                 \
    return v.x;                                                                                    \
  }                                                                                                \
  __DL_DEVICE float curand_log_normal(S *s, float mean, float deviation) {                         \
    return expf(mean + deviation * curand_normal(s));                                              \
  }                                                                                                \
  __DL_DEVICE float2 curand_log_normal2(S *s, float mean, float deviation) {                       \
    float2 v = curand_normal2(s);                                                                  \
    return float2{expf(mean + deviation * v.x), expf(mean + deviation * v.y)};                     \
  }                                                                                                \
  __DL_DEVICE double curand_log_normal_double(S *s, double mean, double deviation) {               \
    return exp(mean + deviation * curand_normal_double(s));                                        \
  }                                                                                                \
  __DL_DEVICE double2 curand_log_normal2_double(S *s, double mean, double deviation) {             \
    double2 v = curand_normal2_double(s);                                                          \
    return double2{exp(mean + deviation * v.x), exp(mean + deviation * v.y)};                      \
  }                                                                                                \
  __DL_DEVICE unsigned int curand_poisson(S *s, double lambda) { return __dl_poisson(s, lambda); }
__DL_DISTRIBUTIONS(curandStateXORWOW_t)
__DL_DISTRIBUTIONS(curandStatePhilox4_32_10_t)
#undef __DL_DISTRIBUTIONS

// Double: two words of XORWOW, but one of Philox, whose `curand_uniform2_double` gives all 53 bits.
__DL_BOTH double curand_uniform_double(curandStateXORWOW_t *s) {
  unsigned int x = curand(s), y = curand(s);
  return __dl_uniform_double(x, y);
}
__DL_BOTH double curand_uniform_double(curandStatePhilox4_32_10_t *s) { return curand(s) * 0x1p-32 + 0x1p-32; }

// Four numbers at once.
__DL_BOTH float4 curand_uniform4(curandStatePhilox4_32_10_t *s) {
  uint4 r = curand4(s);
  return float4{__dl_uniform(r.x), __dl_uniform(r.y), __dl_uniform(r.z), __dl_uniform(r.w)};
}
__DL_BOTH double2 curand_uniform2_double(curandStatePhilox4_32_10_t *s) {
  uint4 r = curand4(s);
  return double2{__dl_uniform_double(r.x, r.y), __dl_uniform_double(r.z, r.w)};
}
__DL_BOTH double4 curand_uniform4_double(curandStatePhilox4_32_10_t *s) {
  double2 a = curand_uniform2_double(s), b = curand_uniform2_double(s);
  return double4{a.x, a.y, b.x, b.y};
}
__DL_DEVICE float4 curand_normal4(curandStatePhilox4_32_10_t *s) {
  uint4 r = curand4(s);
  float2 a = __dl_normal(r.x, r.y), b = __dl_normal(r.z, r.w);
  return float4{a.x, a.y, b.x, b.y};
}
__DL_DEVICE double4 curand_normal4_double(curandStatePhilox4_32_10_t *s) {
  double2 a = curand_normal2_double(s), b = curand_normal2_double(s);
  return double4{a.x, a.y, b.x, b.y};
}
__DL_DEVICE float4 curand_log_normal4(curandStatePhilox4_32_10_t *s, float mean, float deviation) {
  float4 v = curand_normal4(s);
  return float4{expf(mean + deviation * v.x), expf(mean + deviation * v.y), expf(mean + deviation * v.z),
                expf(mean + deviation * v.w)};
}
__DL_DEVICE double4 curand_log_normal4_double(curandStatePhilox4_32_10_t *s, double mean, double deviation) {
  double2 a = curand_log_normal2_double(s, mean, deviation), b = curand_log_normal2_double(s, mean, deviation);
  return double4{a.x, a.y, b.x, b.y};
}
__DL_DEVICE uint4 curand_poisson4(curandStatePhilox4_32_10_t *s, double lambda) {
  uint4 v;
  if (lambda > 4000) {
    double4 r = curand_normal4_double(s);
    v.x = __dl_poisson_of_normal(r.x, lambda), v.y = __dl_poisson_of_normal(r.y, lambda);
    v.z = __dl_poisson_of_normal(r.z, lambda), v.w = __dl_poisson_of_normal(r.w, lambda);
    return v;
  }
  v.x = curand_poisson(s, lambda), v.y = curand_poisson(s, lambda);
  v.z = curand_poisson(s, lambda), v.w = curand_poisson(s, lambda);
  return v;
}
