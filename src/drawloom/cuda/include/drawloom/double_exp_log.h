// Exponentials, logarithms and powers of doubles.
#pragma once
#include "drawloom/core.h"
#include "drawloom/polynomials.h"

#define __DL_LOG2_E 0x1.71547652b82fep0
#define __DL_LOG2_E_LO 0x1.777d0ffda0d24p-56
#define __DL_LN2 0x1.62e42fefa39efp-1
#define __DL_LN2_LO 0x1.abc9e3b39803fp-56
// ln 2 with a first part of 42 bits, whose product by an exponent is exact.
#define __DL_LN2_42 0x1.62e42fefa38p-1
#define __DL_LN2_42_LO 0x1.ef35793c7673p-45
#define __DL_LOG10_2_42 0x1.34413509f78p-2
#define __DL_LOG10_2_42_LO 0x1.fef311f12b358p-46
#define __DL_LOG10_E 0x1.bcb7b1526e50ep-2
#define __DL_LOG10_E_LO 0x1.95355baaafad3p-57
#define __DL_LN10 0x1.26bb1bbb55516p1
#define __DL_LN10_LO -0x1.f48ad494ea3e9p-53

// exp(r + tail) - 1 for |r| up to half of ln 2, as a pair.
__DL_CORE __dl_pair __dl_expm1_reduced(double r, double tail) {
  double square = r * r;
  double rest = __builtin_fma(square * r, __dl_poly_exp(r), __builtin_fma(square, 0.5, tail + tail * r));
  return __dl_fast_sum(r, rest);
}
// exp(x + tail): beyond the exponents that there are, the power is clamped to what overflows or vanishes.
__DL_CORE __dl_scaled __dl_exp_scaled(double x, double tail) {
  double bounded = __builtin_fmin(__builtin_fmax(x, -1500.0), 1500.0);
  tail = bounded == x ? tail : 0.0;
  double k = __builtin_rint(bounded * __DL_LOG2_E);
  __dl_pair r = __dl_sum(__builtin_fma(-k, __DL_LN2, bounded), __builtin_fma(-k, __DL_LN2_LO, tail));
  __dl_pair e = __dl_expm1_reduced(r.hi, r.lo);
  __dl_pair one = __dl_fast_sum(1.0, e.hi);
  __dl_scaled s;
  s.hi = one.hi, s.lo = one.lo + e.lo, s.power = (int)k;
  return s;
}
__DL_CORE double __dl_exp(double x) {
  double e = __dl_scaled_value(__dl_exp_scaled(x, 0.0));
  return x != x ? x : e;
}
// 2^k times exp of the pair.
__DL_CORE double __dl_exp_of(double x, double k, double hi, double lo) {
  __dl_pair e = __dl_expm1_reduced(hi, lo);
  double value = __dl_ldexp(1.0 + (e.hi + e.lo), (int)k);
  return x != x ? x : value;
}
__DL_CORE double __dl_exp2(double x) {
  double bounded = __builtin_fmin(__builtin_fmax(x, -2100.0), 2100.0);
  double k = __builtin_rint(bounded), f = bounded - k;
  __dl_pair r = __dl_product(f, __DL_LN2);
  return __dl_exp_of(x, k, r.hi, r.lo + f * __DL_LN2_LO);
}
__DL_CORE double __dl_exp10(double x) {
  double bounded = __builtin_fmin(__builtin_fmax(x, -700.0), 700.0);
  double k = __builtin_rint(bounded * 0x1.a934f0979a371p1);
  __dl_pair f = __dl_sum(__builtin_fma(-k, __DL_LOG10_2_42, bounded), -k * __DL_LOG10_2_42_LO);
  __dl_pair r = __dl_product(f.hi, __DL_LN10);
  return __dl_exp_of(x, k, r.hi, r.lo + (f.hi * __DL_LN10_LO + f.lo * __DL_LN10));
}
// exp(x + tail) - 1 as a pair, for x up to 700.
__DL_CORE __dl_pair __dl_expm1_pair(double x) {
  double k = __builtin_rint(x * __DL_LOG2_E);
  __dl_pair r = __dl_sum(__builtin_fma(-k, __DL_LN2, x), -k * __DL_LN2_LO);
  __dl_pair e = __dl_expm1_reduced(r.hi, r.lo);
  if (k == 0.0) return e;
  double power = __dl_double((__dl_i64)((int)k + 1023) << 52);
  __dl_pair whole = __dl_sum(power, -1.0), sum = __dl_sum(whole.hi, power * e.hi);
  return __dl_sum(sum.hi, sum.lo + (whole.lo + power * e.lo));
}
__DL_CORE double __dl_expm1(double x) {
  if (!(x < 700.0)) return __dl_exp(x);
  if (x < -50.0) return -1.0;
  __dl_pair e = __dl_expm1_pair(x);
  return x == 0.0 ? x : e.hi + e.lo;
}

// x = (1 + f) 2^power with 1 + f between the square roots of 1/2 and 2, for positive finite x.
typedef struct { double f; int power; } __dl_mantissa;
__DL_CORE __dl_mantissa __dl_split(double x) {
  __dl_mantissa m;
  int subnormal = x < 0x1p-1022;
  __dl_i64 bits = __dl_bits(subnormal ? x * 0x1p54 : x);
  __dl_i64 exponent = (bits - 0x3fe6a09e667f3bcd) >> 52;
  m.f = __dl_double(bits - (exponent << 52)) - 1.0;
  m.power = (int)exponent - (subnormal ? 54 : 0);
  return m;
}
// log(1 + f + tail) as a pair, good to 2^-60, by the series of atanh in s = f / (2 + f).
__DL_CORE __dl_pair __dl_log_reduced(double f, double tail) {
  __dl_pair below = __dl_fast_sum(2.0, f), above;
  above.hi = f, above.lo = tail;
  below.lo += tail;
  __dl_pair s = __dl_quotient(above, below);
  double square = s.hi * s.hi;
  return __dl_fast_sum(2.0 * s.hi, __builtin_fma(square * s.hi, __dl_poly_log(square), 2.0 * s.lo));
}
// log x as a pair, good to 2^-66: what powers need.
__DL_CORE __dl_pair __dl_log_pair(double x) {
  __dl_mantissa m = __dl_split(x);
  __dl_pair below = __dl_fast_sum(2.0, m.f), above;
  above.hi = m.f, above.lo = 0.0;
  __dl_pair s = __dl_quotient(above, below);
  s = __dl_fast_sum(s.hi, s.lo);
  __dl_pair square = __dl_times(s, s);
  double tail = square.hi * __dl_poly_log_tail(square.hi);
  __dl_pair factor = __dl_fast_sum(0x1.5555555555555p-1, tail);
  factor.lo += 0x1.5555555555555p-55;
  __dl_pair cubic = __dl_times(__dl_times(square, s), factor);
  __dl_pair sum = __dl_fast_sum(2.0 * s.hi, cubic.hi);
  sum.lo += cubic.lo + 2.0 * s.lo;
  __dl_pair total = __dl_sum(m.power * __DL_LN2_42, sum.hi);
  return __dl_fast_sum(total.hi, total.lo + (sum.lo + m.power * __DL_LN2_42_LO));
}
// What logarithms give for 0, negative numbers, infinities and NaN.
__DL_CORE double __dl_log_special(double x) { return x == 0.0 ? -__DL_INFINITY : x < 0.0 ? __DL_NAN : x + x; }
__DL_CORE double __dl_log(double x) {
  if (!(x > 0.0 && x < __DL_INFINITY)) return __dl_log_special(x);
  __dl_mantissa m = __dl_split(x);
  __dl_pair l = __dl_log_reduced(m.f, 0.0);
  __dl_pair sum = __dl_sum(m.power * __DL_LN2_42, l.hi);
  return sum.hi + (sum.lo + (l.lo + m.power * __DL_LN2_42_LO));
}
// whole + whole_lo + the pair times the factor.
__DL_CORE double __dl_log_in_base(__dl_pair l, double factor, double factor_lo, double whole, double whole_lo) {
  __dl_pair p = __dl_product(l.hi, factor), sum = __dl_sum(whole, p.hi);
  return sum.hi + (sum.lo + (p.lo + l.hi * factor_lo + l.lo * factor + whole_lo));
}
__DL_CORE double __dl_log2(double x) {
  if (!(x > 0.0 && x < __DL_INFINITY)) return __dl_log_special(x);
  __dl_mantissa m = __dl_split(x);
  return __dl_log_in_base(__dl_log_reduced(m.f, 0.0), __DL_LOG2_E, __DL_LOG2_E_LO, m.power, 0.0);
}
__DL_CORE double __dl_log10(double x) {
  if (!(x > 0.0 && x < __DL_INFINITY)) return __dl_log_special(x);
  __dl_mantissa m = __dl_split(x);
  return __dl_log_in_base(__dl_log_reduced(m.f, 0.0), __DL_LOG10_E, __DL_LOG10_E_LO, m.power * __DL_LOG10_2_42,
                          m.power * __DL_LOG10_2_42_LO);
}
// log(1 + x + tail)
__DL_CORE double __dl_log1p_of(double x, double tail) {
  if (!(x > -1.0 && x < __DL_INFINITY)) return __dl_log_special(1.0 + x);
  __dl_pair one = __dl_sum(1.0, x);
  __dl_mantissa m = __dl_split(one.hi);
  double f = m.f, rest = __dl_ldexp(one.lo + tail, -m.power);
  if (m.power == 0) f = x, rest = tail;
  __dl_pair l = __dl_log_reduced(f, rest);
  __dl_pair sum = __dl_sum(m.power * __DL_LN2_42, l.hi);
  return sum.hi + (sum.lo + (l.lo + m.power * __DL_LN2_42_LO));
}
__DL_CORE double __dl_log1p(double x) { return __dl_abs(x) < 0x1p-54 ? x : __dl_log1p_of(x, 0.0); }

// 1 for an odd integer, 0 for an even one, -1 for what is none.
__DL_CORE int __dl_parity(double y) {
  if (__builtin_trunc(y) != y) return -1;
  double halved = 0.5 * y;
  return __builtin_trunc(halved) != halved;
}
__DL_CORE double __dl_pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  double size = __dl_abs(x);
  int parity = __dl_parity(y);
  double sign = parity == 1 ? x : 1.0;
  if (!__dl_is_finite(y)) return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? __DL_INFINITY : 0.0;
  if (size == 0.0 || size == __DL_INFINITY) return __dl_sign((size == 0.0) == (y > 0.0) ? 0.0 : __DL_INFINITY, sign);
  if (x < 0.0 && parity < 0) return __DL_NAN;
  __dl_pair l = __dl_log_pair(size), e = __dl_product(y, l.hi);
  e.lo += y * l.lo;
  if (!(__dl_abs(e.hi) < 1400.0)) return __dl_sign(e.hi > 0.0 ? __DL_INFINITY : 0.0, sign);
  return __dl_sign(__dl_scaled_value(__dl_exp_scaled(e.hi, e.lo)), sign);
}

__DL_CORE double __dl_sinh(double x) {
  double size = __dl_abs(x);
  if (!(size < 30.0)) {
    __dl_scaled e = __dl_exp_scaled(size, 0.0);
    e.power -= 1;
    return x != x ? x : __dl_sign(__dl_scaled_value(e), x);
  }
  __dl_pair e = __dl_expm1_pair(size), one = __dl_fast_sum(1.0, e.hi);
  if (e.hi > 1.0) one = __dl_fast_sum(e.hi, 1.0);
  one.lo += e.lo;
  __dl_pair q = __dl_quotient(e, one), sum = __dl_fast_sum(e.hi, q.hi);
  return __dl_sign(0.5 * (sum.hi + (sum.lo + (e.lo + q.lo))), x);
}
__DL_CORE double __dl_cosh(double x) {
  double size = __dl_abs(x);
  __dl_scaled e = __dl_exp_scaled(size, 0.0);
  e.power -= 1;
  if (!(size < 30.0)) return x != x ? x : __dl_scaled_value(e);
  double power = __dl_double((__dl_i64)(e.power + 1023) << 52), up = e.hi * power, down = 0.25 / up;
  __dl_pair sum = __dl_fast_sum(up, down);
  return sum.hi + (sum.lo + e.lo * power);
}
__DL_CORE double __dl_tanh(double x) {
  double size = __dl_abs(x);
  if (!(size < 20.0)) return x != x ? x : __dl_sign(1.0, x);
  __dl_pair e = __dl_expm1_pair(2.0 * size), two = __dl_sum(2.0, e.hi);
  two.lo += e.lo;
  __dl_pair q = __dl_quotient(e, two);
  return __dl_sign(q.hi + q.lo, x);
}
__DL_CORE double __dl_asinh(double x) {
  double size = __dl_abs(x);
  if (!(size < 0x1p28)) return __dl_sign(__dl_log(size) + __DL_LN2, x);
  double square = size * size;
  return __dl_sign(__dl_log1p(size + square / (1.0 + __builtin_sqrt(square + 1.0))), x);
}
__DL_CORE double __dl_acosh(double x) {
  if (!(x < 0x1p28)) return __dl_log(x) + __DL_LN2;
  double t = x - 1.0;
  return t < 0.0 ? __DL_NAN : __dl_log1p(t + __builtin_sqrt(__builtin_fma(t, t, 2.0 * t)));
}
__DL_CORE double __dl_atanh(double x) {
  double size = __dl_abs(x);
  __dl_pair above, below = __dl_sum(1.0, -size);
  above.hi = 2.0 * size, above.lo = 0.0;
  if (!(size < 1.0)) return size == 1.0 ? __dl_sign(__DL_INFINITY, x) : x - x == 0.0 || x == x ? __DL_NAN : x;
  __dl_pair q = __dl_quotient(above, below);
  return __dl_sign(0.5 * __dl_log1p_of(q.hi, q.lo), x);
}
