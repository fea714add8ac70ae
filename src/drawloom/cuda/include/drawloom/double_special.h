// Error functions and gamma functions of doubles.
#pragma once
#include "drawloom/double_angles.h"
#include "drawloom/double_exp_log.h"

#define __DL_SQRT_HALF 0x1.6a09e667f3bcdp-1
#define __DL_SQRT_HALF_LO -0x1.bdd3413b26456p-55

// (1 + 2x) exp(x^2) erfc(x), for x from 1/2 on.
__DL_CORE double __dl_erfcx_factor(double x) { return __dl_poly_erfcx((x - 4.0) / (x + 4.0)); }
// erfc(x + tail) for x from 1/2 on.
__DL_CORE double __dl_erfc_large(double x, double tail) {
  if (x > 28.0) return 0.0;
  __dl_pair square = __dl_product(-x, x), one = __dl_fast_sum(1.0, 2.0 * x), q;
  if (x > 0.5) one = __dl_fast_sum(2.0 * x, 1.0);
  __dl_scaled e = __dl_exp_scaled(square.hi, square.lo - 2.0 * x * tail);
  q.hi = __dl_erfcx_factor(x), q.lo = 0.0;
  q = __dl_quotient(q, one);
  e.lo = __builtin_fma(e.hi, q.lo, e.lo * q.hi), e.hi *= q.hi;
  return __dl_scaled_value(e);
}
__DL_CORE double __dl_erf(double x) {
  double size = __dl_abs(x);
  if (size < 1.0) return __builtin_fma(x, __dl_poly_erf(x * x), x);
  if (x != x) return x;
  return __dl_sign(size > 6.0 ? 1.0 : 1.0 - __dl_erfc_large(size, 0.0), x);
}
__DL_CORE double __dl_erfc_of(double x, double tail) {
  if (x != x) return x;
  if (x >= 0.5) return __dl_erfc_large(x, tail);
  if (x <= -1.0) return x < -6.0 ? 2.0 : 2.0 - __dl_erfc_large(-x, -tail);
  __dl_pair one = __dl_sum(1.0, -x);
  return one.hi + (one.lo - __builtin_fma(x, __dl_poly_erf(x * x), tail * 0x1.20dd750429b6dp0));
}
__DL_CORE double __dl_erfc(double x) { return __dl_erfc_of(x, 0.0); }
__DL_CORE double __dl_erfcx(double x) {
  if (x != x) return x;
  if (x > 1e5) return 0x1.20dd750429b6dp-1 / x;
  if (x >= 0.5) return __dl_erfcx_factor(x) / (1.0 + 2.0 * x);
  if (x < -27.0) return __DL_INFINITY;
  __dl_pair square = __dl_product(x, x);
  __dl_scaled e = __dl_exp_scaled(square.hi, square.lo);
  double c = __dl_erfc(x);
  return __dl_ldexp(__builtin_fma(e.hi, c, e.lo * c), e.power);
}
__DL_CORE double __dl_normcdf(double x) {
  __dl_pair p = __dl_product(-x, __DL_SQRT_HALF);
  if (!(__dl_abs(x) < 40.0)) return x != x ? x : x > 0.0 ? 1.0 : 0.0;
  return 0.5 * __dl_erfc_of(p.hi, __builtin_fma(-x, __DL_SQRT_HALF_LO, p.lo));
}
// erfinv(x) / x where w = -log(1 - x^2) is up to 38.
__DL_CORE double __dl_erfinv_factor(double w) {
  if (w < 6.25) return __dl_poly_erfinv_low(w - 3.125);
  double root = __builtin_sqrt(w);
  return w < 16.0 ? __dl_poly_erfinv_middle(root - 3.25) : __dl_poly_erfinv_high(root - 5.1);
}
__DL_CORE double __dl_erfinv(double x) {
  double size = __dl_abs(x);
  if (!(size < 1.0)) return size == 1.0 ? __dl_sign(__DL_INFINITY, x) : __DL_NAN;
  return x * __dl_erfinv_factor(-__dl_log1p_of(-x * x, -__builtin_fma(x, x, -(x * x))));
}
__DL_CORE double __dl_erfcinv(double y) {
  if (!(y > 0.0 && y < 2.0)) return y == 0.0 ? __DL_INFINITY : y == 2.0 ? -__DL_INFINITY : __DL_NAN;
  if (y > 0x1p-48) return (1.0 - y) * __dl_erfinv_factor(-__dl_log(y * (2.0 - y)));
  double root = __builtin_sqrt(-__dl_log(y)), u = 1.0 / root;
  return root * (u > 0.0755 ? __dl_poly_erfcinv_tail(u - 0.125) : __dl_poly_erfcinv_end(u - 0.0625));
}
__DL_CORE double __dl_normcdfinv(double p) {
  double z = __dl_erfcinv(2.0 * p);
  return -2.0 * __DL_SQRT_HALF * z;
}

// log gamma by Stirling's series, x from 10 on, as a pair; `reduce` is taken from the series' factor log x.
__DL_CORE __dl_pair __dl_stirling(double x) {
  __dl_pair l = __dl_log_pair(x), h = __dl_product(x - 0.5, l.hi), s = __dl_sum(h.hi, -x);
  double u = 1.0 / x;
  double rest = u * __dl_poly_stirling(u * u) + 0x1.d67f1c864beb5p-1;  // log(2 pi) / 2
  return __dl_fast_sum(s.hi, s.lo + (h.lo + (x - 0.5) * l.lo + rest - 0x1.65b5a1b7ff5dfp-55));
}
__DL_CORE double __dl_tgamma(double x) {
  if (x != x || x == __DL_INFINITY) return x;
  if (x == 0.0) return __dl_sign(__DL_INFINITY, x);
  if (x < 0.0 && __builtin_trunc(x) == x) return __DL_NAN;
  if (x < -190.0) return __dl_parity(__builtin_floor(x)) == 1 ? -0.0 : 0.0;
  if (x > 172.0) return __DL_INFINITY;
  double size = __dl_abs(x);
  if (size < 0x1p-56) return 1.0 / x;
  if (size >= 12.0) {
    __dl_pair l = __dl_stirling(size);
    if (x > 0.0) return __dl_scaled_value(__dl_exp_scaled(l.hi, l.lo));
    // gamma(-x) gamma(x) = -pi / (x sin(pi x))
    __dl_scaled e = __dl_exp_scaled(-l.hi, -l.lo);
    double factor = -__DL_PI / (size * __dl_sinpi(size));
    return __dl_ldexp((e.hi + e.lo) * factor, e.power);
  }
  // gamma(x) = (x - 1) (x - 2) ... gamma(1..2), or gamma(x + n) / (x (x + 1) ...)
  __dl_pair p, step, at = __dl_sum(x, 0.0);
  p.hi = 1.0, p.lo = 0.0;
  if (x > 2.0) {
    while (at.hi > 2.0) {
      at.hi -= 1.0;
      step.hi = at.hi, step.lo = 0.0;
      p = __dl_times(p, step);
    }
    double g = __dl_poly_gamma(at.hi - 1.5);
    return __builtin_fma(p.hi, g, p.lo * g);
  }
  while (at.hi < 1.0) {
    p = __dl_times(p, at);
    __dl_pair next = __dl_sum(at.hi, 1.0);
    at = __dl_fast_sum(next.hi, next.lo + at.lo);
  }
  step.hi = __dl_poly_gamma((at.hi - 1.5) + at.lo), step.lo = 0.0;
  __dl_pair q = __dl_quotient(step, p);
  return q.hi + q.lo;
}
// For positive x.
__DL_CORE double __dl_lgamma_positive(double x) {
  if (x >= 10.0) {
    if (x > 0x1p200) return x > 1e306 && __dl_log(x) - 1.0 > 0x1.fffffffffffffp1023 / x ? __DL_INFINITY : x * (__dl_log(x) - 1.0);
    __dl_pair s = __dl_stirling(x);
    return s.hi + s.lo;
  }
  if (x < 1.0) {
    if (x < 0x1p-60) return -__dl_log(x);
    // log gamma(x) = log gamma(1 + x) - log x; log gamma(1 + x) = x (x - 1) g(1 + x)
    return __builtin_fma(x * (x - 1.0), __dl_poly_lgamma_one(x - 0.5), -__dl_log(x));
  }
  if (x <= 2.0) return (x - 1.0) * (x - 2.0) * __dl_poly_lgamma_one(x - 1.5) + 0.0;  // no negative zero at 1
  double product = 1.0;
  while (x > 3.0) x -= 1.0, product *= x;
  double last = (x - 1.0) * (x - 2.0) * __dl_poly_lgamma_two(x - 2.5);
  return product == 1.0 ? last : __dl_log(product) + last;
}
__DL_CORE double __dl_lgamma(double x) {
  if (x != x) return x;
  double size = __dl_abs(x);
  if (size == __DL_INFINITY) return size;
  if (x > 0.0) return __dl_lgamma_positive(x);
  if (__builtin_trunc(x) == x) return __DL_INFINITY;
  if (size < 0x1p-60) return -__dl_log(size);
  return __dl_log(__DL_PI / (size * __dl_abs(__dl_sinpi(size)))) - __dl_lgamma_positive(size);
}
