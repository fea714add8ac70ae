// <math.h> on the device: float and double functions under their C names, and under one name for all types in C++.
#pragma once
#include "drawloom/vector_types.h"

// The functions are exact about their roundings, whatever the program's own code is compiled with.
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)
#include "drawloom/float_functions.h"
#include "drawloom/double_parts.h"
#include "drawloom/bessel.h"
#pragma float_control(pop)
#if defined(__NVPTX__) && !defined(__DRAWLOOM_UNFUSED__)  // where clang ignores float_control
#pragma clang fp contract(fast)
#endif

template <bool integral> struct __dl_double_for {};
template <> struct __dl_double_for<true> { typedef double type; };
// What an integer argument is computed in.
template <class T> using __dl_of_integer = typename __dl_double_for<__is_integral(T)>::type;
template <bool mixed> struct __dl_mixed_for {};
template <> struct __dl_mixed_for<true> { typedef double type; };
template <class A, class B>
using __dl_of_mixed = typename __dl_mixed_for<__is_arithmetic(A) && __is_arithmetic(B) && !__is_same(A, B) &&
                                              sizeof(A) <= 8 && sizeof(B) <= 8>::type;

#define __DL_UNARY(name, to_double, to_float)                              \
  __DL_DEVICE double name(double x) { return to_double(x); }               \
  __DL_DEVICE float name##f(float x) { return to_float(x); }               \
  __DL_DEVICE float name(float x) { return to_float(x); }                  \
  template <class T> __DL_DEVICE __dl_of_integer<T> name(T x) { return to_double((double)x); }
// Both by functions of ours; the float one by the double one; both by clang's.
#define __DL_OURS(name) __DL_UNARY(name, __dl_##name, __dl_##name##f)
#define __DL_BY_DOUBLE(name) __DL_UNARY(name, __dl_##name, (float)__dl_##name)
#define __DL_CLANGS(name) __DL_UNARY(name, __builtin_##name, __builtin_##name##f)

__DL_CLANGS(sqrt)
__DL_CLANGS(fabs)
__DL_CLANGS(floor)
__DL_CLANGS(ceil)
__DL_CLANGS(trunc)
__DL_CLANGS(rint)
__DL_CLANGS(nearbyint)
__DL_CLANGS(round)
__DL_OURS(exp2)
__DL_OURS(expm1)
__DL_OURS(log1p)
__DL_OURS(asin)
__DL_OURS(acos)
__DL_OURS(atan)
__DL_OURS(sinh)
__DL_OURS(cosh)
__DL_OURS(tanh)
__DL_OURS(asinh)
__DL_OURS(acosh)
__DL_OURS(atanh)
__DL_OURS(sinpi)
__DL_OURS(cospi)
__DL_OURS(erf)
__DL_OURS(erfc)
__DL_OURS(cbrt)
__DL_OURS(rsqrt)
__DL_BY_DOUBLE(rcbrt)
__DL_BY_DOUBLE(erfcx)
__DL_BY_DOUBLE(erfinv)
__DL_BY_DOUBLE(erfcinv)
__DL_BY_DOUBLE(normcdf)
__DL_BY_DOUBLE(normcdfinv)
__DL_BY_DOUBLE(tgamma)
__DL_BY_DOUBLE(lgamma)
__DL_BY_DOUBLE(j0)
__DL_BY_DOUBLE(j1)
__DL_BY_DOUBLE(y0)
__DL_BY_DOUBLE(y1)
__DL_BY_DOUBLE(cyl_bessel_i0)
__DL_BY_DOUBLE(cyl_bessel_i1)
// With fast_math the floats of these go to the short instructions, as nvcc's -use_fast_math sends them.
#ifdef __DRAWLOOM_FAST_MATH__
#define __DL_FAST(name) __DL_UNARY(name, __dl_##name, __##name##f)
#else
#define __DL_FAST(name) __DL_OURS(name)
#endif
__DL_FAST(exp)
__DL_FAST(exp10)
__DL_FAST(log)
__DL_FAST(log2)
__DL_FAST(log10)
__DL_FAST(sin)
__DL_FAST(cos)
__DL_FAST(tan)

#define __DL_BINARY(name, to_double, to_float)                                         \
  __DL_DEVICE double name(double x, double y) { return to_double(x, y); }              \
  __DL_DEVICE float name##f(float x, float y) { return to_float(x, y); }               \
  __DL_DEVICE float name(float x, float y) { return to_float(x, y); }                  \
  template <class A, class B> __DL_DEVICE __dl_of_mixed<A, B> name(A x, B y) { return to_double((double)x, (double)y); } \
  template <class T> __DL_DEVICE __dl_of_integer<T> name(T x, T y) { return to_double((double)x, (double)y); }
__DL_BINARY(fmin, __builtin_fmin, __builtin_fminf)
__DL_BINARY(fmax, __builtin_fmax, __builtin_fmaxf)
__DL_BINARY(copysign, __builtin_copysign, __builtin_copysignf)
__DL_BINARY(atan2, __dl_atan2, __dl_atan2f)
__DL_BINARY(fmod, __dl_fmod, (float)__dl_fmod)
__DL_BINARY(remainder, __dl_remainder, (float)__dl_remainder)
__DL_BINARY(nextafter, __dl_nextafter, __dl_nextafterf)
__DL_BINARY(hypot, __dl_hypot, __dl_hypotf)
__DL_BINARY(rhypot, __dl_rhypot, __dl_rhypotf)
#ifdef __DRAWLOOM_FAST_MATH__
__DL_BINARY(pow, __dl_pow, __powf)
#else
__DL_BINARY(pow, __dl_pow, __dl_powf)
#endif
__DL_DEVICE double fdim(double x, double y) { return x > y ? x - y : x <= y ? 0.0 : x + y; }
__DL_DEVICE float fdimf(float x, float y) { return x > y ? x - y : x <= y ? 0.0f : x + y; }
__DL_DEVICE float fdim(float x, float y) { return fdimf(x, y); }
__DL_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
__DL_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__DL_DEVICE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__DL_DEVICE float fdividef(float x, float y) { return x / y; }
__DL_BOTH float min(float a, float b) { return __builtin_fminf(a, b); }
__DL_BOTH float max(float a, float b) { return __builtin_fmaxf(a, b); }
__DL_BOTH double min(double a, double b) { return __builtin_fmin(a, b); }
__DL_BOTH double max(double a, double b) { return __builtin_fmax(a, b); }
__DL_BOTH double min(float a, double b) { return __builtin_fmin(a, b); }
__DL_BOTH double max(float a, double b) { return __builtin_fmax(a, b); }
__DL_BOTH double min(double a, float b) { return __builtin_fmin(a, b); }
__DL_BOTH double max(double a, float b) { return __builtin_fmax(a, b); }
__DL_DEVICE float abs(float x) { return __builtin_fabsf(x); }
__DL_DEVICE double abs(double x) { return __builtin_fabs(x); }

// Lengths in three, four and n dimensions.
__DL_DEVICE double norm3d(double a, double b, double c) { return __dl_norm4d(a, b, c, 0.0); }
__DL_DEVICE double rnorm3d(double a, double b, double c) { return __dl_rnorm4d(a, b, c, 0.0); }
__DL_DEVICE double norm4d(double a, double b, double c, double d) { return __dl_norm4d(a, b, c, d); }
__DL_DEVICE double rnorm4d(double a, double b, double c, double d) { return __dl_rnorm4d(a, b, c, d); }
__DL_DEVICE float norm3df(float a, float b, float c) { return __dl_normf(a, b, c, 0.0); }
__DL_DEVICE float rnorm3df(float a, float b, float c) { return __dl_rnormf(a, b, c, 0.0); }
__DL_DEVICE float norm4df(float a, float b, float c, float d) { return __dl_normf(a, b, c, d); }
__DL_DEVICE float rnorm4df(float a, float b, float c, float d) { return __dl_rnormf(a, b, c, d); }
__DL_DEVICE double norm(int count, const double *p) {
  double length = 0.0;
  for (int i = 0; i < count; i++) length = __dl_hypot(length, p[i]);
  return length;
}
__DL_DEVICE float normf(int count, const float *p) {
  double sum = 0.0;
  for (int i = 0; i < count; i++) sum += (double)p[i] * p[i];
  return (float)__builtin_sqrt(sum);
}
__DL_DEVICE double rnorm(int count, const double *p) { return 1.0 / norm(count, p); }
__DL_DEVICE float rnormf(int count, const float *p) {
  double sum = 0.0;
  for (int i = 0; i < count; i++) sum += (double)p[i] * p[i];
  return (float)(1.0 / __builtin_sqrt(sum));
}

// Several results.
__DL_DEVICE void sincos(double x, double *s, double *c) {
  __dl_angle a = __dl_reduce(x);
  *s = x == 0.0 ? x : __dl_sin_of(a, 0), *c = __dl_sin_of(a, 1);
}
__DL_DEVICE void sincosf(float x, float *s, float *c) { *s = sin(x), *c = cos(x); }
__DL_DEVICE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
__DL_DEVICE void sincospi(double x, double *s, double *c) { *s = __dl_sinpi(x), *c = __dl_cospi(x); }
__DL_DEVICE void sincospif(float x, float *s, float *c) { *s = __dl_sinpif(x), *c = __dl_cospif(x); }
__DL_DEVICE void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }
__DL_DEVICE double modf(double x, double *whole) { return __dl_modf_rest(x, *whole = __builtin_trunc(x)); }
__DL_DEVICE float modff(float x, float *whole) { return (float)__dl_modf_rest(x, *whole = __builtin_truncf(x)); }
__DL_DEVICE float modf(float x, float *whole) { return modff(x, whole); }
__DL_DEVICE double frexp(double x, int *power) {
  __dl_fraction f = __dl_frexp(x);
  *power = f.power;
  return f.fraction;
}
__DL_DEVICE float frexpf(float x, int *power) { return (float)frexp((double)x, power); }
__DL_DEVICE float frexp(float x, int *power) { return frexpf(x, power); }
__DL_DEVICE double remquo(double x, double y, int *quotient) {
  __dl_division d = __dl_remquo(x, y);
  *quotient = (int)d.quotient;
  return d.rest;
}
__DL_DEVICE float remquof(float x, float y, int *quotient) { return (float)remquo((double)x, (double)y, quotient); }
__DL_DEVICE float remquo(float x, float y, int *quotient) { return remquof(x, y, quotient); }

// Exponents.
__DL_DEVICE int __dl_int_of(long n) { return n > 100000 ? 100000 : n < -100000 ? -100000 : (int)n; }
__DL_DEVICE double ldexp(double x, int n) { return __dl_ldexp(x, __dl_int_of(n)); }
__DL_DEVICE float ldexpf(float x, int n) { return __dl_ldexpf(x, __dl_int_of(n)); }
__DL_DEVICE float ldexp(float x, int n) { return ldexpf(x, n); }
__DL_DEVICE double scalbn(double x, int n) { return ldexp(x, n); }
__DL_DEVICE float scalbnf(float x, int n) { return ldexpf(x, n); }
__DL_DEVICE float scalbn(float x, int n) { return ldexpf(x, n); }
__DL_DEVICE double scalbln(double x, long n) { return ldexp(x, __dl_int_of(n)); }
__DL_DEVICE float scalblnf(float x, long n) { return ldexpf(x, __dl_int_of(n)); }
__DL_DEVICE float scalbln(float x, long n) { return scalblnf(x, n); }
__DL_DEVICE int ilogb(double x) { return __dl_ilogb(x); }
__DL_DEVICE int ilogbf(float x) { return __dl_ilogb(x); }
__DL_DEVICE int ilogb(float x) { return __dl_ilogb(x); }
__DL_DEVICE double logb(double x) { return __dl_logb(x); }
__DL_DEVICE float logbf(float x) { return (float)__dl_logb(x); }
__DL_DEVICE float logb(float x) { return (float)__dl_logb(x); }

// To integers: `rint` to the nearest, of two the even one; `round` half away from zero.
#define __DL_TO_INTEGER(name, T, by)                                            \
  __DL_DEVICE T name(double x) { return (T)__builtin_##by(x); }                 \
  __DL_DEVICE T name##f(float x) { return (T)__builtin_##by##f(x); }            \
  __DL_DEVICE T name(float x) { return (T)__builtin_##by##f(x); }
__DL_TO_INTEGER(lrint, long, rint)
__DL_TO_INTEGER(llrint, long long, rint)
__DL_TO_INTEGER(lround, long, round)
__DL_TO_INTEGER(llround, long long, round)

__DL_DEVICE double nan(const char *) { return __DL_NAN; }
__DL_DEVICE float nanf(const char *) { return __DL_NANF; }
#define __DL_CLASS(T)                                                                          \
  __DL_DEVICE bool isnan(T x) { return __builtin_isnan(x); }                                   \
  __DL_DEVICE bool isinf(T x) { return __builtin_isinf(x); }                                   \
  __DL_DEVICE bool isfinite(T x) { return __builtin_isfinite(x); }                             \
  __DL_DEVICE bool isnormal(T x) { return __builtin_isnormal(x); }                             \
  __DL_DEVICE bool signbit(T x) { return __builtin_signbit(x); }
__DL_CLASS(float)
__DL_CLASS(double)

__DL_DEVICE double jn(int n, double x) { return __dl_jn(n, x); }
__DL_DEVICE double yn(int n, double x) { return __dl_yn(n, x); }
__DL_DEVICE float jnf(int n, float x) { return (float)__dl_jn(n, x); }
__DL_DEVICE float ynf(int n, float x) { return (float)__dl_yn(n, x); }

#undef __DL_UNARY
#undef __DL_OURS
#undef __DL_BY_DOUBLE
#undef __DL_CLANGS
#undef __DL_FAST
#undef __DL_BINARY
#undef __DL_TO_INTEGER
#undef __DL_CLASS
