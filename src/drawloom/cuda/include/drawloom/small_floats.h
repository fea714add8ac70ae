// What __half and __nv_bfloat16 have in common: arithmetic, comparisons, functions, and pairs of two. A type H brings
// __dl_wide(H) -> float, exact, and __dl_narrow_H(float), to the nearest.
#pragma once
#include "drawloom/math.h"
#include "drawloom/warp.h"

#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)
// a b + c as a double whose last bit says that something was lost, so that rounding it to fewer bits is right: a product
// of two small floats is exact in a double.
__DL_BOTH double __dl_odd_fma(float a, float b, float c) {
  double product = (double)a * (double)b, sum = product + (double)c;
  double part = sum - product, lost = (product - (sum - part)) + ((double)c - part);
  long long bits;
  __builtin_memcpy(&bits, &sum, 8);
  if ((lost < 0.0 || lost > 0.0) && !(bits & 1)) bits += (lost > 0.0) == (sum > 0.0) ? 1 : -1;
  __builtin_memcpy(&sum, &bits, 8);
  return sum;
}
#pragma float_control(pop)
#if defined(__NVPTX__) && !defined(__DRAWLOOM_UNFUSED__)  // where clang ignores float_control
#pragma clang fp contract(fast)
#endif

// Sums, products and quotients by floats are those of the type itself: a float has more than twice its bits and two.
#define __DL_SMALL_ARITHMETIC(H, name, sign)                                                              \
  __DL_BOTH H name(H a, H b) { return __dl_narrow_##H(__dl_wide(a) sign __dl_wide(b)); }                  \
  __DL_BOTH H operator sign(H a, H b) { return name(a, b); }                                              \
  __DL_BOTH H &operator sign##=(H &a, H b) { return a = name(a, b); }
#define __DL_SMALL_COMPARISON(H, name, sign)                                                              \
  __DL_BOTH bool name(H a, H b) { return __dl_wide(a) sign __dl_wide(b); }                                \
  __DL_BOTH bool operator sign(H a, H b) { return name(a, b); }
#define __DL_SMALL_UNORDERED(H, name, sign) \
  __DL_BOTH bool name(H a, H b) { return !(__dl_wide(a) sign __dl_wide(b)); }
#define __DL_SMALL_FUNCTION(H, H2, name, by)                                                              \
  __DL_DEVICE H h##name(H a) { return __dl_narrow_##H(by(__dl_wide(a))); }                                \
  __DL_DEVICE H2 h2##name(H2 a) { return H2(h##name(a.x), h##name(a.y)); }
#define __DL_SMALL_PAIRED(H2, name, kind)                                                                 \
  __DL_BOTH H2 name##2##kind(H2 a, H2 b) { return H2(name##kind(a.x, b.x), name##kind(a.y, b.y)); }
#define __DL_SMALL_PAIRED_COMPARISON(H, H2, name)                                                         \
  __DL_BOTH H2 __h##name##2(H2 a, H2 b) {                                                                 \
    return H2(__dl_narrow_##H(__h##name(a.x, b.x)), __dl_narrow_##H(__h##name(a.y, b.y)));                \
  }                                                                                                       \
  __DL_BOTH bool __hb##name##2(H2 a, H2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }         \
  __DL_BOTH unsigned int __h##name##2_mask(H2 a, H2 b) {                                                  \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);               \
  }
#define __DL_SMALL_PAIRED_COMPARISONS(H, H2, name)                                                        \
  __DL_SMALL_PAIRED_COMPARISON(H, H2, name)                                                               \
  __DL_SMALL_PAIRED_COMPARISON(H, H2, name##u)
// The smaller or the larger of two where NaN wins.
#define __DL_SMALL_NAN(H, name)                                                                           \
  __DL_BOTH H name##_nan(H a, H b) {                                                                      \
    H nan = a;                                                                                            \
    nan.__x = 0x7fff;                                                                                     \
    return __hisnan(a) || __hisnan(b) ? nan : name(a, b);                                                 \
  }
#define __DL_SMALL_TRIPLED(H2, name, kind)                                                                \
  __DL_BOTH H2 name##2##kind(H2 a, H2 b, H2 c) { return H2(name##kind(a.x, b.x, c.x), name##kind(a.y, b.y, c.y)); }
#define __DL_SMALL_SHUFFLE(H, name, T)                                                                    \
  __DL_DEVICE H __##name##_sync(unsigned int m, H v, T lane, int width = 32) { return __dl_##name(m, v, lane, width); }

#define __DL_SMALL_FLOAT(H, H2)                                                                           \
  __DL_SMALL_ARITHMETIC(H, __hadd, +)                                                                     \
  __DL_SMALL_ARITHMETIC(H, __hsub, -)                                                                     \
  __DL_SMALL_ARITHMETIC(H, __hmul, *)                                                                     \
  __DL_SMALL_ARITHMETIC(H, __hdiv, /)                                                                     \
  __DL_BOTH H __hadd_rn(H a, H b) { return __hadd(a, b); }                                                \
  __DL_BOTH H __hsub_rn(H a, H b) { return __hsub(a, b); }                                                \
  __DL_BOTH H __hmul_rn(H a, H b) { return __hmul(a, b); }                                                \
  __DL_BOTH H __hneg(H a) { a.__x ^= 0x8000; return a; }                                                  \
  __DL_BOTH H __habs(H a) { a.__x &= 0x7fff; return a; }                                                  \
  __DL_BOTH H operator-(H a) { return __hneg(a); }                                                        \
  __DL_BOTH H operator+(H a) { return a; }                                                                \
  __DL_BOTH H &operator++(H &a) { return a = a + H(1.0f); }                                               \
  __DL_BOTH H &operator--(H &a) { return a = a - H(1.0f); }                                               \
  __DL_SMALL_COMPARISON(H, __heq, ==)                                                                     \
  __DL_SMALL_COMPARISON(H, __hlt, <)                                                                      \
  __DL_SMALL_COMPARISON(H, __hle, <=)                                                                     \
  __DL_SMALL_COMPARISON(H, __hgt, >)                                                                      \
  __DL_SMALL_COMPARISON(H, __hge, >=)                                                                     \
  __DL_SMALL_UNORDERED(H, __hltu, >=)                                                                     \
  __DL_SMALL_UNORDERED(H, __hleu, >)                                                                      \
  __DL_SMALL_UNORDERED(H, __hgtu, <=)                                                                     \
  __DL_SMALL_UNORDERED(H, __hgeu, <)                                                                      \
  __DL_SMALL_COMPARISON(H, __hneu, !=)                                                                    \
  __DL_BOTH bool __hne(H a, H b) { return __dl_wide(a) < __dl_wide(b) || __dl_wide(a) > __dl_wide(b); }   \
  __DL_BOTH bool __hequ(H a, H b) { return !__hne(a, b); }                                                \
  __DL_BOTH bool __hisnan(H a) { return __builtin_isnan(__dl_wide(a)); }                                  \
  __DL_BOTH int __hisinf(H a) {                                                                           \
    float f = __dl_wide(a);                                                                               \
    return __builtin_isinf(f) ? f < 0.0f ? -1 : 1 : 0;                                                    \
  }                                                                                                       \
  __DL_BOTH H __hmin(H a, H b) { return __dl_narrow_##H(__builtin_fminf(__dl_wide(a), __dl_wide(b))); }   \
  __DL_BOTH H __hmax(H a, H b) { return __dl_narrow_##H(__builtin_fmaxf(__dl_wide(a), __dl_wide(b))); }   \
  __DL_SMALL_NAN(H, __hmin)                                                                               \
  __DL_SMALL_NAN(H, __hmax)                                                                               \
  __DL_BOTH H __dl_clamp(H a) {                                                                           \
    return __dl_narrow_##H(__builtin_fminf(__builtin_fmaxf(__dl_wide(a), 0.0f), 1.0f));                   \
  }                                                                                                       \
  __DL_BOTH H __hadd_sat(H a, H b) { return __dl_clamp(__hadd(a, b)); }                                   \
  __DL_BOTH H __hsub_sat(H a, H b) { return __dl_clamp(__hsub(a, b)); }                                   \
  __DL_BOTH H __hmul_sat(H a, H b) { return __dl_clamp(__hmul(a, b)); }                                   \
  __DL_BOTH H __hfma_sat(H a, H b, H c) { return __dl_clamp(__hfma(a, b, c)); }                           \
  __DL_BOTH H __hfma_relu(H a, H b, H c) {                                                                \
    H d = __hfma(a, b, c);                                                                                \
    return __dl_wide(d) <= 0.0f ? __dl_narrow_##H(0.0f) : d;                                              \
  }                                                                                                       \
  struct __attribute__((aligned(4))) H2 {                                                                 \
    H x, y;                                                                                               \
    H2() = default;                                                                                       \
    __attribute__((host, device)) H2(H x, H y) : x(x), y(y) {}                                            \
  };                                                                                                      \
  __DL_BOTH H2 make_##H2(H x, H y) { return H2(x, y); }                                                   \
  __DL_BOTH float __low2float(H2 a) { return __dl_wide(a.x); }                                            \
  __DL_BOTH float __high2float(H2 a) { return __dl_wide(a.y); }                                           \
  __DL_SMALL_PAIRED(H2, __hadd, )                                                                         \
  __DL_SMALL_PAIRED(H2, __hadd, _rn)                                                                      \
  __DL_SMALL_PAIRED(H2, __hadd, _sat)                                                                     \
  __DL_SMALL_PAIRED(H2, __hsub, )                                                                         \
  __DL_SMALL_PAIRED(H2, __hsub, _rn)                                                                      \
  __DL_SMALL_PAIRED(H2, __hsub, _sat)                                                                     \
  __DL_SMALL_PAIRED(H2, __hmul, )                                                                         \
  __DL_SMALL_PAIRED(H2, __hmul, _rn)                                                                      \
  __DL_SMALL_PAIRED(H2, __hmul, _sat)                                                                     \
  __DL_SMALL_PAIRED(H2, __hmin, )                                                                         \
  __DL_SMALL_PAIRED(H2, __hmin, _nan)                                                                     \
  __DL_SMALL_PAIRED(H2, __hmax, )                                                                         \
  __DL_SMALL_PAIRED(H2, __hmax, _nan)                                                                     \
  __DL_SMALL_TRIPLED(H2, __hfma, )                                                                        \
  __DL_SMALL_TRIPLED(H2, __hfma, _sat)                                                                    \
  __DL_SMALL_TRIPLED(H2, __hfma, _relu)                                                                   \
  __DL_BOTH H2 __h2div(H2 a, H2 b) { return H2(a.x / b.x, a.y / b.y); }                                   \
  /* Of complex numbers: a b + c. */                                                                      \
  __DL_BOTH H2 __hcmadd(H2 a, H2 b, H2 c) {                                                               \
    return H2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));  \
  }                                                                                                       \
  __DL_BOTH H2 __hneg2(H2 a) { return H2(__hneg(a.x), __hneg(a.y)); }                                     \
  __DL_BOTH H2 __habs2(H2 a) { return H2(__habs(a.x), __habs(a.y)); }                                     \
  __DL_BOTH H2 operator+(H2 a, H2 b) { return __hadd2(a, b); }                                            \
  __DL_BOTH H2 operator-(H2 a, H2 b) { return __hsub2(a, b); }                                            \
  __DL_BOTH H2 operator*(H2 a, H2 b) { return __hmul2(a, b); }                                            \
  __DL_BOTH H2 operator/(H2 a, H2 b) { return __h2div(a, b); }                                            \
  __DL_BOTH H2 &operator+=(H2 &a, H2 b) { return a = a + b; }                                             \
  __DL_BOTH H2 &operator-=(H2 &a, H2 b) { return a = a - b; }                                             \
  __DL_BOTH H2 &operator*=(H2 &a, H2 b) { return a = a * b; }                                             \
  __DL_BOTH H2 operator-(H2 a) { return __hneg2(a); }                                                     \
  __DL_SMALL_PAIRED_COMPARISONS(H, H2, eq)                                                                \
  __DL_SMALL_PAIRED_COMPARISONS(H, H2, ne)                                                                \
  __DL_SMALL_PAIRED_COMPARISONS(H, H2, lt)                                                                \
  __DL_SMALL_PAIRED_COMPARISONS(H, H2, le)                                                                \
  __DL_SMALL_PAIRED_COMPARISONS(H, H2, gt)                                                                \
  __DL_SMALL_PAIRED_COMPARISONS(H, H2, ge)                                                                \
  __DL_BOTH H2 __hisnan2(H2 a) { return __hneu2(a, a); }                                                  \
  /* As CUDA has them: of both numbers, so that neither of == and != may hold. */                         \
  __DL_BOTH bool operator==(H2 a, H2 b) { return __hbeq2(a, b); }                                         \
  __DL_BOTH bool operator!=(H2 a, H2 b) { return __hbneu2(a, b); }                                        \
  __DL_BOTH bool operator<(H2 a, H2 b) { return __hblt2(a, b); }                                          \
  __DL_BOTH bool operator<=(H2 a, H2 b) { return __hble2(a, b); }                                         \
  __DL_BOTH bool operator>(H2 a, H2 b) { return __hbgt2(a, b); }                                          \
  __DL_BOTH bool operator>=(H2 a, H2 b) { return __hbge2(a, b); }                                         \
  __DL_SMALL_FUNCTION(H, H2, sqrt, sqrtf)                                                                 \
  __DL_SMALL_FUNCTION(H, H2, rsqrt, __dl_rsqrtf)                                                          \
  __DL_SMALL_FUNCTION(H, H2, rcp, 1.0f /)                                                                 \
  __DL_SMALL_FUNCTION(H, H2, exp, expf)                                                                   \
  __DL_SMALL_FUNCTION(H, H2, exp2, exp2f)                                                                 \
  __DL_SMALL_FUNCTION(H, H2, exp10, exp10f)                                                               \
  __DL_SMALL_FUNCTION(H, H2, log, logf)                                                                   \
  __DL_SMALL_FUNCTION(H, H2, log2, log2f)                                                                 \
  __DL_SMALL_FUNCTION(H, H2, log10, log10f)                                                               \
  __DL_SMALL_FUNCTION(H, H2, sin, sinf)                                                                   \
  __DL_SMALL_FUNCTION(H, H2, cos, cosf)                                                                   \
  __DL_SMALL_FUNCTION(H, H2, tanh, tanhf)                                                                 \
  __DL_SMALL_FUNCTION(H, H2, tanh_approx, tanhf)                                                          \
  __DL_SMALL_FUNCTION(H, H2, floor, floorf)                                                               \
  __DL_SMALL_FUNCTION(H, H2, ceil, ceilf)                                                                 \
  __DL_SMALL_FUNCTION(H, H2, trunc, truncf)                                                               \
  __DL_SMALL_FUNCTION(H, H2, rint, rintf)                                                                 \
  __DL_SMALL_SHUFFLE(H, shfl, int)                                                                        \
  __DL_SMALL_SHUFFLE(H, shfl_up, unsigned int)                                                            \
  __DL_SMALL_SHUFFLE(H, shfl_down, unsigned int)                                                          \
  __DL_SMALL_SHUFFLE(H, shfl_xor, int)                                                                    \
  __DL_SMALL_SHUFFLE(H2, shfl, int)                                                                       \
  __DL_SMALL_SHUFFLE(H2, shfl_up, unsigned int)                                                           \
  __DL_SMALL_SHUFFLE(H2, shfl_down, unsigned int)                                                         \
  __DL_SMALL_SHUFFLE(H2, shfl_xor, int)                                                                   \
  __DL_DEVICE H __ldg(const H *p) {                                                                       \
    H v;                                                                                                  \
    v.__x = __ldg((const unsigned short *)p);                                                             \
    return v;                                                                                             \
  }                                                                                                       \
  __DL_DEVICE H2 __ldg(const H2 *p) {                                                                     \
    unsigned int bits = __ldg((const unsigned int *)p);                                                   \
    H2 v;                                                                                                 \
    __builtin_memcpy(&v, &bits, 4);                                                                       \
    return v;                                                                                             \
  }

// Atomic additions by a loop around a compare and swap of the two numbers that share a word, for targets without an
// instruction.
#define __DL_SMALL_ATOMIC(H, H2)                                                                          \
  __DL_DEVICE H2 atomicAdd(H2 *address, H2 value) {                                                       \
    unsigned int *word = (unsigned int *)address, seen = *(volatile unsigned int *)word, old, made;       \
    H2 v;                                                                                                 \
    do {                                                                                                  \
      old = seen;                                                                                         \
      __builtin_memcpy(&v, &old, 4);                                                                      \
      H2 sum = v + value;                                                                                 \
      __builtin_memcpy(&made, &sum, 4);                                                                   \
      seen = atomicCAS(word, old, made);                                                                  \
    } while (seen != old);                                                                                \
    return v;                                                                                             \
  }                                                                                                       \
  __DL_DEVICE H atomicAdd(H *address, H value) {                                                          \
    bool high = (size_t)address & 2;                                                                      \
    unsigned int *word = (unsigned int *)((size_t)address & ~(size_t)2);                                  \
    unsigned int seen = *(volatile unsigned int *)word, old, made;                                        \
    H v;                                                                                                  \
    do {                                                                                                  \
      old = seen;                                                                                         \
      v.__x = (unsigned short)(high ? old >> 16 : old);                                                   \
      H sum = v + value;                                                                                  \
      made = high ? (old & 0xffffu) | (unsigned int)sum.__x << 16 : (old & 0xffff0000u) | sum.__x;        \
      seen = atomicCAS(word, old, made);                                                                  \
    } while (seen != old);                                                                                \
    return v;                                                                                             \
  }
