// Functions of halves (cl_khr_fp16): by those of floats, whose results a half rounds once more. Sums, products, quotients
// and roots are the nearest halves so, as a float has more than twice a half's digits.
#pragma once
#include "drawloom/opencl_convert.h"
#include "drawloom/opencl_memory.h"

#define __DL_HALF1(name)                                                                       \
  __DL_FN half name(half x) { return (half)name((float)x); }                                   \
  __DL_LENGTHS(__DL_HALF1_EACH, name)
#define __DL_HALF1_EACH(name, N)                                                               \
  __DL_FN half##N name(half##N x) {                                                            \
    return __builtin_convertvector(name(__builtin_convertvector(x, float##N)), half##N);       \
  }
__DL_HALF1(acos)
__DL_HALF1(acosh)
__DL_HALF1(acospi)
__DL_HALF1(asin)
__DL_HALF1(asinh)
__DL_HALF1(asinpi)
__DL_HALF1(atan)
__DL_HALF1(atanh)
__DL_HALF1(atanpi)
__DL_HALF1(cbrt)
__DL_HALF1(ceil)
__DL_HALF1(cos)
__DL_HALF1(cosh)
__DL_HALF1(cospi)
__DL_HALF1(degrees)
__DL_HALF1(erf)
__DL_HALF1(erfc)
__DL_HALF1(exp)
__DL_HALF1(exp2)
__DL_HALF1(exp10)
__DL_HALF1(expm1)
__DL_HALF1(fabs)
__DL_HALF1(floor)
__DL_HALF1(lgamma)
__DL_HALF1(log)
__DL_HALF1(log2)
__DL_HALF1(log10)
__DL_HALF1(log1p)
__DL_HALF1(logb)
__DL_HALF1(radians)
__DL_HALF1(rint)
__DL_HALF1(round)
__DL_HALF1(rsqrt)
__DL_HALF1(sign)
__DL_HALF1(sin)
__DL_HALF1(sinh)
__DL_HALF1(sinpi)
__DL_HALF1(sqrt)
__DL_HALF1(tan)
__DL_HALF1(tanh)
__DL_HALF1(tanpi)
__DL_HALF1(tgamma)
__DL_HALF1(trunc)

#define __DL_HALF2(name)                                                                       \
  __DL_FN half name(half x, half y) { return (half)name((float)x, (float)y); }                 \
  __DL_LENGTHS(__DL_EACH2, name, half, half, half)
__DL_HALF2(atan2)
__DL_HALF2(atan2pi)
__DL_HALF2(copysign)
__DL_HALF2(fdim)
__DL_HALF2(fmax)
__DL_HALF2(fmin)
__DL_HALF2(fmod)
__DL_HALF2(hypot)
__DL_HALF2(max)
__DL_HALF2(maxmag)
__DL_HALF2(min)
__DL_HALF2(minmag)
__DL_HALF2(pow)
__DL_HALF2(powr)
__DL_HALF2(remainder)
__DL_HALF2(step)
__DL_LENGTHS(__DL_SPREAD2, fmax, half)
__DL_LENGTHS(__DL_SPREAD2, fmin, half)
__DL_LENGTHS(__DL_SPREAD2, max, half)
__DL_LENGTHS(__DL_SPREAD2, min, half)
// The next of the numbers as integers that are ordered as the halves are.
__DL_FN half nextafter(half x, half y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return as_half((ushort)(y > 0 ? 1 : 0x8001));
  ushort bits = as_ushort(x);
  return as_half((ushort)((x < y) == (x > 0) ? bits + 1 : bits - 1));
}
__DL_LENGTHS(__DL_EACH2, nextafter, half, half, half)

// Products and sums that are rounded once.
#define __DL_HALF_FUSED(name)                                                                  \
  __DL_FN half name(half x, half y, half z) { return __builtin_elementwise_fma(x, y, z); }     \
  __DL_LENGTHS(__DL_HALF_FUSED_EACH, name)
#define __DL_HALF_FUSED_EACH(name, N) \
  __DL_FN half##N name(half##N x, half##N y, half##N z) { return __builtin_elementwise_fma(x, y, z); }
__DL_HALF_FUSED(fma)
__DL_HALF_FUSED(mad)
#define __DL_HALF3(name)                                                                       \
  __DL_FN half name(half x, half y, half z) { return (half)name((float)x, (float)y, (float)z); } \
  __DL_LENGTHS(__DL_EACH3, name, half, half, half, half)
__DL_HALF3(clamp)
__DL_HALF3(mix)
__DL_HALF3(smoothstep)
__DL_LENGTHS(__DL_CLAMP_SPREAD, half)
__DL_LENGTHS(__DL_COMMON_SPREAD, half)

// With an integer, or a second result.
__DL_FN half ldexp(half x, int n) { return (half)ldexp((float)x, n); }
__DL_FN half pown(half x, int n) { return (half)pown((float)x, n); }
__DL_FN half rootn(half x, int n) { return (half)rootn((float)x, n); }
__DL_FN int ilogb(half x) { return ilogb((float)x); }
__DL_FN half nan(ushort bits) { return as_half((ushort)(bits | 0x7e00)); }
__DL_LENGTHS(__DL_EACH2, ldexp, half, half, int)
__DL_LENGTHS(__DL_EACH2, pown, half, half, int)
__DL_LENGTHS(__DL_EACH2, rootn, half, half, int)
__DL_LENGTHS(__DL_EACH1, ilogb, int, half)
__DL_LENGTHS(__DL_EACH1, nan, half, ushort)
#define __DL_HALF_SECOND(space, ...)                                                           \
  __DL_FN half modf(half x, space half *whole) {                                               \
    float y;                                                                                   \
    half rest = (half)modf((float)x, &y);                                                      \
    return *whole = (half)y, rest;                                                             \
  }                                                                                            \
  __DL_FN half fract(half x, space half *whole) {                                              \
    half below = floor(x);                                                                     \
    *whole = below;                                                                            \
    return fmin(x - below, 0x1.ffcp-1h);                                                       \
  }                                                                                            \
  __DL_FN half sincos(half x, space half *cosine) { return *cosine = cos(x), sin(x); }         \
  __DL_FN half frexp(half x, space int *power) { return (half)frexp((float)x, power); }        \
  __DL_FN half remquo(half x, half y, space int *quotient) {                                   \
    return (half)remquo((float)x, (float)y, quotient);                                         \
  }                                                                                            \
  __DL_FN half lgamma_r(half x, space int *sign) { return (half)lgamma_r((float)x, sign); }
__DL_HALF_SECOND(__global)
__DL_HALF_SECOND(__local)
__DL_HALF_SECOND(__private)
__DL_SPACES(__DL_SECOND_LENGTHS, half)

// Geometry, in floats.
__DL_FN half dot(half x, half y) { return x * y; }
__DL_FN half length(half x) { return fabs(x); }
__DL_FN half distance(half x, half y) { return fabs(x - y); }
__DL_FN half normalize(half x) { return sign(x); }
#define __DL_HALF_GEOMETRIC(N)                                                                 \
  __DL_FN half dot(half##N x, half##N y) {                                                     \
    return (half)dot(__builtin_convertvector(x, float##N), __builtin_convertvector(y, float##N)); \
  }                                                                                            \
  __DL_FN half length(half##N x) { return (half)length(__builtin_convertvector(x, float##N)); } \
  __DL_FN half distance(half##N x, half##N y) { return length(x - y); }                        \
  __DL_FN half##N normalize(half##N x) {                                                       \
    return __builtin_convertvector(normalize(__builtin_convertvector(x, float##N)), half##N);  \
  }
__DL_HALF_GEOMETRIC(2)
__DL_HALF_GEOMETRIC(3)
__DL_HALF_GEOMETRIC(4)
__DL_FN half3 cross(half3 x, half3 y) { return x.yzx * y.zxy - x.zxy * y.yzx; }
__DL_FN half4 cross(half4 x, half4 y) { return (half4)(cross(x.xyz, y.xyz), 0.0h); }

// Conversions: to halves in each mode, from them to floats, which lose nothing.
#define __DL_TO_HALF(F, name, mode) __DL_CONVERT_NAMED(half, F, name, as_half(__dl_half##mode(x)))
#define __DL_FLOAT_TO_HALF(F)                                                                  \
  __DL_TO_HALF(F, , )                                                                          \
  __DL_TO_HALF(F, _rte, )                                                                      \
  __DL_TO_HALF(F, _rtz, _rtz)                                                                  \
  __DL_TO_HALF(F, _rtp, _rtp)                                                                  \
  __DL_TO_HALF(F, _rtn, _rtn)
__DL_FLOATS(__DL_FLOAT_TO_HALF)
#define __DL_HALF_BY(F, C, types, name, mode)                                                  \
  static inline half __dl_half_of_##F##name(F x) {                                             \
    ushort y;                                                                                  \
    __asm("cvt." mode ".f16." types " %0, %1;" : "=h"(y) : C(x));                              \
    return as_half(y);                                                                         \
  }                                                                                            \
  __DL_CONVERT_NAMED(half, F, name, __dl_half_of_##F##name(x))
#define __DL_INTEGER_TO_HALF(F, C, types)                                                      \
  __DL_HALF_BY(F, C, types, , "rn")                                                            \
  __DL_HALF_BY(F, C, types, _rte, "rn")                                                        \
  __DL_HALF_BY(F, C, types, _rtz, "rz")                                                        \
  __DL_HALF_BY(F, C, types, _rtp, "rp")                                                        \
  __DL_HALF_BY(F, C, types, _rtn, "rm")
__DL_INTEGER_TO_HALF(int, "r", "s32")
__DL_INTEGER_TO_HALF(uint, "r", "u32")
__DL_INTEGER_TO_HALF(long, "l", "s64")
__DL_INTEGER_TO_HALF(ulong, "l", "u64")
#define __DL_SMALL_TO_HALF_IN(F, by, mode) __DL_CONVERT_NAMED(half, F, mode, convert_half##mode((by)x))
#define __DL_SMALL_TO_HALF(F, by)                                                              \
  __DL_SMALL_TO_HALF_IN(F, by, )                                                               \
  __DL_SMALL_TO_HALF_IN(F, by, _rte)                                                           \
  __DL_SMALL_TO_HALF_IN(F, by, _rtz)                                                           \
  __DL_SMALL_TO_HALF_IN(F, by, _rtp)                                                           \
  __DL_SMALL_TO_HALF_IN(F, by, _rtn)
__DL_SMALL_TO_HALF(char, int)
__DL_SMALL_TO_HALF(uchar, uint)
__DL_SMALL_TO_HALF(short, int)
__DL_SMALL_TO_HALF(ushort, uint)
#define __DL_OF_HALF(T)                                                                        \
  __DL_CONVERT_NAMED(T, half, , (T)x)                                                          \
  __DL_CONVERT_NAMED(T, half, _rte, (T)x)                                                      \
  __DL_EXACT(T, half)
__DL_OF_HALF(half)
__DL_OF_HALF(float)
__DL_OF_HALF(double)
