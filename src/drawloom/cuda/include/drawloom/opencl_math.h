// The mathematical functions of OpenCL C (1.2, section 6.12.2), over our own of floats and doubles.
#pragma once
#include "drawloom/opencl_types.h"

static inline double __dl_tanpi(double x) { return __dl_sinpi(x) / __dl_cospi(x); }
#define __DL_UNARY(name, by_double, by_float)                      \
  __DL_FN float name(float x) { return by_float(x); }              \
  __DL_FN double name(double x) { return by_double(x); }           \
  __DL_LENGTHS(__DL_EACH1, name, float, float)                     \
  __DL_LENGTHS(__DL_EACH1, name, double, double)
#define __DL_OURS(name) __DL_UNARY(name, __dl_##name, __dl_##name##f)
#define __DL_CLANGS(name) __DL_UNARY(name, __builtin_##name, __builtin_##name##f)
__DL_CLANGS(sqrt)
__DL_CLANGS(fabs)
__DL_CLANGS(floor)
__DL_CLANGS(ceil)
__DL_CLANGS(trunc)
__DL_CLANGS(rint)
__DL_CLANGS(round)
__DL_OURS(exp)
__DL_OURS(exp2)
__DL_OURS(exp10)
__DL_OURS(expm1)
__DL_OURS(log)
__DL_OURS(log2)
__DL_OURS(log10)
__DL_OURS(log1p)
__DL_OURS(sin)
__DL_OURS(cos)
__DL_OURS(tan)
__DL_OURS(sinpi)
__DL_OURS(cospi)
__DL_OURS(asin)
__DL_OURS(acos)
__DL_OURS(atan)
__DL_OURS(sinh)
__DL_OURS(cosh)
__DL_OURS(tanh)
__DL_OURS(asinh)
__DL_OURS(acosh)
__DL_OURS(atanh)
__DL_OURS(cbrt)
__DL_OURS(rsqrt)
__DL_OURS(erf)
__DL_OURS(erfc)
__DL_UNARY(tgamma, __dl_tgamma, (float)__dl_tgamma)
__DL_UNARY(lgamma, __dl_lgamma, (float)__dl_lgamma)
__DL_UNARY(logb, __dl_logb, (float)__dl_logb)
__DL_UNARY(tanpi, __dl_tanpi, (float)__dl_tanpi)
__DL_UNARY(asinpi, 0x1.45f306dc9c883p-2 * __dl_asin, 0x1.45f306p-2f * __dl_asinf)
__DL_UNARY(acospi, 0x1.45f306dc9c883p-2 * __dl_acos, 0x1.45f306p-2f * __dl_acosf)
__DL_UNARY(atanpi, 0x1.45f306dc9c883p-2 * __dl_atan, 0x1.45f306p-2f * __dl_atanf)

#define __DL_BINARY(name, by_double, by_float)                             \
  __DL_FN float name(float x, float y) { return by_float(x, y); }          \
  __DL_FN double name(double x, double y) { return by_double(x, y); }      \
  __DL_LENGTHS(__DL_EACH2, name, float, float, float)                      \
  __DL_LENGTHS(__DL_EACH2, name, double, double, double)
#define __DL_SPREAD(name) __DL_LENGTHS(__DL_SPREAD2, name, float) __DL_LENGTHS(__DL_SPREAD2, name, double)
__DL_BINARY(atan2, __dl_atan2, __dl_atan2f)
__DL_BINARY(atan2pi, 0x1.45f306dc9c883p-2 * __dl_atan2, 0x1.45f306p-2f * __dl_atan2f)
__DL_BINARY(copysign, __builtin_copysign, __builtin_copysignf)
__DL_BINARY(fmax, __builtin_fmax, __builtin_fmaxf)
__DL_BINARY(fmin, __builtin_fmin, __builtin_fminf)
__DL_BINARY(fmod, __dl_fmod, (float)__dl_fmod)
__DL_BINARY(remainder, __dl_remainder, (float)__dl_remainder)
__DL_BINARY(hypot, __dl_hypot, __dl_hypotf)
__DL_BINARY(nextafter, __dl_nextafter, __dl_nextafterf)
__DL_BINARY(pow, __dl_pow, __dl_powf)
__DL_SPREAD(fmax)
__DL_SPREAD(fmin)
#define __DL_BY_BODY(name, body)                                           \
  __DL_FN float name(float x, float y) body                                \
  __DL_FN double name(double x, double y) body                             \
  __DL_LENGTHS(__DL_EACH2, name, float, float, float)                      \
  __DL_LENGTHS(__DL_EACH2, name, double, double, double)
__DL_BY_BODY(fdim, { return x > y ? x - y : x <= y ? 0 : x + y; })
__DL_BY_BODY(powr, { return x < 0 ? __builtin_nanf("") : pow(x, y); })
__DL_BY_BODY(maxmag, { return fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y); })
__DL_BY_BODY(minmag, { return fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y); })

#define __DL_TERNARY(name)                                                                 \
  __DL_FN float name(float x, float y, float z) { return __builtin_fmaf(x, y, z); }        \
  __DL_FN double name(double x, double y, double z) { return __builtin_fma(x, y, z); }     \
  __DL_LENGTHS(__DL_EACH3, name, float, float, float, float)                               \
  __DL_LENGTHS(__DL_EACH3, name, double, double, double, double)
__DL_TERNARY(fma)
__DL_TERNARY(mad)

// With an integer beside the float.
#define __DL_WITH_INTEGER(T, body_ldexp, body_pown, body_rootn)                        \
  __DL_FN T ldexp(T x, int n) { return body_ldexp; }                                   \
  __DL_FN T pown(T x, int n) { return body_pown; }                                     \
  __DL_FN T rootn(T x, int n) { return body_rootn; }                                   \
  __DL_FN int ilogb(T x) { return __dl_ilogb(x); }                                     \
  __DL_LENGTHS(__DL_EACH2, ldexp, T, T, int)                                           \
  __DL_LENGTHS(__DL_EACH2, pown, T, T, int)                                            \
  __DL_LENGTHS(__DL_EACH2, rootn, T, T, int)                                           \
  __DL_LENGTHS(__DL_EACH1, ilogb, int, T)
static inline int __dl_small(int n) { return n > 100000 ? 100000 : n < -100000 ? -100000 : n; }
static inline double __dl_rootn(double x, int n) {
  if (n == 0 || (x < 0.0 && !(n & 1))) return __DL_NAN;
  double root = __dl_pow(__dl_abs(x), 1.0 / n);
  return n & 1 ? __dl_sign(root, x) : root;
}
__DL_WITH_INTEGER(float, __dl_ldexpf(x, __dl_small(n)), (float)__dl_pow(x, n), (float)__dl_rootn(x, n))
__DL_WITH_INTEGER(double, __dl_ldexp(x, __dl_small(n)), __dl_pow(x, n), __dl_rootn(x, n))
__DL_FN float nan(uint bits) { return as_float(bits | 0x7fc00000u); }
__DL_FN double nan(ulong bits) { return as_double(bits | 0x7ff8000000000000ul); }
__DL_LENGTHS(__DL_EACH1, nan, float, uint)
__DL_LENGTHS(__DL_EACH1, nan, double, ulong)

// A second result through a pointer into each address space.
#define __DL_SPACES(X, ...) X(__VA_ARGS__, __global) X(__VA_ARGS__, __local) X(__VA_ARGS__, __private)
#define __DL_SECOND1(T, space)                                                                            \
  __DL_FN T modf(T x, space T *whole) { return (T)__dl_modf_rest(x, *whole = trunc(x)); }                 \
  __DL_FN T fract(T x, space T *whole) {                                                                  \
    T below = floor(x);                                                                                   \
    *whole = below;                                                                                       \
    return fmin(x - below, nextafter((T)1, (T)0));                                                        \
  }                                                                                                       \
  __DL_FN T sincos(T x, space T *cosine) { return *cosine = cos(x), sin(x); }                             \
  __DL_FN T frexp(T x, space int *power) {                                                                \
    __dl_fraction f = __dl_frexp(x);                                                                      \
    *power = f.power;                                                                                     \
    return (T)f.fraction;                                                                                 \
  }                                                                                                       \
  __DL_FN T remquo(T x, T y, space int *quotient) {                                                       \
    __dl_division d = __dl_remquo(x, y);                                                                  \
    *quotient = (int)d.quotient;                                                                          \
    return (T)d.rest;                                                                                     \
  }                                                                                                       \
  __DL_FN T lgamma_r(T x, space int *sign) {                                                              \
    *sign = x < 0 && __dl_parity(floor(x)) == 1 ? -1 : 1;                                                 \
    return lgamma(x);                                                                                     \
  }
#define __DL_SECOND_EACH(T, space, N)                                                                     \
  __DL_FN T##N sincos(T##N x, space T##N *cosine) { return *cosine = cos(x), sin(x); }                    \
  __DL_BY_ELEMENT(T, space, N, fract, T)                                                                  \
  __DL_BY_ELEMENT(T, space, N, modf, T)                                                                   \
  __DL_BY_ELEMENT(T, space, N, frexp, int)                                                                \
  __DL_BY_ELEMENT(T, space, N, lgamma_r, int)                                                             \
  __DL_FN T##N remquo(T##N x, T##N y, space int##N *quotient) {                                           \
    T##N r;                                                                                               \
    int##N q;                                                                                             \
    for (int i = 0; i < N; i++) {                                                                         \
      int one;                                                                                            \
      r[i] = remquo(x[i], y[i], &one);                                                                    \
      q[i] = one;                                                                                         \
    }                                                                                                     \
    *quotient = q;                                                                                        \
    return r;                                                                                             \
  }
#define __DL_BY_ELEMENT(T, space, N, name, S)                                                             \
  __DL_FN T##N name(T##N x, space S##N *second) {                                                         \
    T##N r;                                                                                               \
    S##N all;                                                                                             \
    for (int i = 0; i < N; i++) {                                                                         \
      S one;                                                                                              \
      r[i] = name(x[i], &one);                                                                            \
      all[i] = one;                                                                                       \
    }                                                                                                     \
    *second = all;                                                                                        \
    return r;                                                                                             \
  }
__DL_SPACES(__DL_SECOND1, float)
__DL_SPACES(__DL_SECOND1, double)
#define __DL_SECOND_LENGTHS(T, space) __DL_LENGTHS(__DL_SECOND_EACH, T, space)
__DL_SPACES(__DL_SECOND_LENGTHS, float)
__DL_SPACES(__DL_SECOND_LENGTHS, double)

// The short functions: by the hardware's instructions where there are some.
#define __DL_SHORT(name, by)                                       \
  __DL_FN float half_##name(float x) { return name(x); }           \
  __DL_FN float native_##name(float x) { return by; }              \
  __DL_LENGTHS(__DL_EACH1, half_##name, float, float)              \
  __DL_LENGTHS(__DL_EACH1, native_##name, float, float)
static inline float recip(float x) { return 1.0f / x; }
__DL_SHORT(sin, __nvvm_sin_approx_f(x))
__DL_SHORT(cos, __nvvm_cos_approx_f(x))
__DL_SHORT(tan, __nvvm_sin_approx_f(x) / __nvvm_cos_approx_f(x))
__DL_SHORT(exp, __nvvm_ex2_approx_f(x * 0x1.715476p0f))
__DL_SHORT(exp2, __nvvm_ex2_approx_f(x))
__DL_SHORT(exp10, __nvvm_ex2_approx_f(x * 0x1.a934fp1f))
__DL_SHORT(log, __nvvm_lg2_approx_f(x) * 0x1.62e43p-1f)
__DL_SHORT(log2, __nvvm_lg2_approx_f(x))
__DL_SHORT(log10, __nvvm_lg2_approx_f(x) * 0x1.344136p-2f)
__DL_SHORT(rsqrt, __nvvm_rsqrt_approx_f(x))
__DL_SHORT(sqrt, __nvvm_sqrt_approx_f(x))
__DL_SHORT(recip, __nvvm_rcp_approx_ftz_f(x))
#define __DL_SHORT2(kind)                                                                                \
  __DL_FN float kind##_divide(float x, float y) { return x / y; }                                        \
  __DL_FN float kind##_powr(float x, float y) { return kind##_exp2(y * kind##_log2(x)); }                \
  __DL_LENGTHS(__DL_EACH2, kind##_divide, float, float, float)                                           \
  __DL_LENGTHS(__DL_EACH2, kind##_powr, float, float, float)
__DL_SHORT2(half)
__DL_SHORT2(native)
