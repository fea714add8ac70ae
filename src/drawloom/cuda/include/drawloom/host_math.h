// Functions of CUDA's mathematics that the host's library lacks, for host code.
#pragma once
#include "drawloom/qualifiers.h"

#define __DL_HOST static __inline__ __host__
// What C23 has, too, is a C function: the newest C libraries declare it.
#define __DL_HOST_C23(T) extern "C" __inline__ __host__ T
#define __DL_HOST_MATH(T, f)                                                                         \
  __DL_HOST_C23(T) rsqrt##f(T x) noexcept { return 1 / __builtin_sqrt##f(x); }                       \
  __DL_HOST T rcbrt##f(T x) { return 1 / __builtin_cbrt##f(x); }                                     \
  /* In quarters of a turn, which are exact: the rest is at most an eighth away from 0. */           \
  __DL_HOST void sincospi##f(T x, T *sine, T *cosine) {                                              \
    T turn = x - 2 * __builtin_round##f(x / 2), quarter = __builtin_round##f(2 * turn);              \
    T rest = (turn - quarter / 2) * (T)3.14159265358979323846;                                       \
    T s = __builtin_sin##f(rest), c = __builtin_cos##f(rest);                                        \
    int q = x - x == 0 ? (int)quarter & 3 : 0;                                                       \
    *sine = q & 1 ? (q & 2 ? -c : c) : (q & 2 ? -s : s);                                             \
    *cosine = q & 1 ? (q & 2 ? s : -s) : (q & 2 ? -c : c);                                           \
  }                                                                                                  \
  __DL_HOST_C23(T) sinpi##f(T x) noexcept {                                                          \
    T s, c;                                                                                          \
    sincospi##f(x, &s, &c);                                                                          \
    return s;                                                                                        \
  }                                                                                                  \
  __DL_HOST_C23(T) cospi##f(T x) noexcept {                                                          \
    T s, c;                                                                                          \
    sincospi##f(x, &s, &c);                                                                          \
    return c;                                                                                        \
  }                                                                                                  \
  __DL_HOST T normcdf##f(T x) { return __builtin_erfc##f(x * (T)-0.70710678118654752440) / 2; }

__DL_HOST_MATH(double, )
__DL_HOST_MATH(float, f)
#undef __DL_HOST_MATH
#undef __DL_HOST_C23
#undef __DL_HOST
