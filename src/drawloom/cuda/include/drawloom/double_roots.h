// Roots and lengths of doubles: rsqrt, cbrt, rcbrt, hypot, rhypot and their kin.
#pragma once
#include "drawloom/double_angles.h"

// 1 / sqrt x, with one correction by the exact remainder.
__DL_CORE double __dl_rsqrt(double x) {
  if (!(x > 0.0 && x < __DL_INFINITY)) return x == 0.0 ? __dl_sign(__DL_INFINITY, x) : x > 0.0 ? 0.0 : __DL_NAN;
  double scale = x < 0x1p-1000 ? 0x1p100 : 1.0;
  x *= scale;
  double r = 1.0 / __builtin_sqrt(x);
  __dl_pair p = __dl_product(x, r);
  double rest = __builtin_fma(-p.hi, r, 1.0) - p.lo * r;
  return __builtin_fma(0.5 * r, rest, r) * (scale == 1.0 ? 1.0 : 0x1p50);
}
// x = m 8^power, m from 1 to 8, and a root of m good to 20 bits.
typedef struct { double m, root; int power; } __dl_cube;
__DL_CORE __dl_cube __dl_split_cube(double size) {
  __dl_cube c;
  int subnormal = size < 0x1p-1022;
  __dl_i64 bits = __dl_bits(subnormal ? size * 0x1p54 : size);
  int exponent = (int)(bits >> 52) - 1023 - (subnormal ? 54 : 0);
  c.power = (exponent + 3000) / 3 - 1000;
  c.m = __dl_double((bits & 0xfffffffffffffl) | (__dl_i64)(1023 + exponent - 3 * c.power) << 52);
  c.root = __nvvm_ex2_approx_f(__nvvm_lg2_approx_f((float)c.m) * 0x1.555556p-2f);
  return c;
}
// One step of Newton from a root of m: what is left after the cube is exact to twice the bits.
__DL_CORE __dl_pair __dl_cube_step(double m, double y) {
  __dl_pair square = __dl_product(y, y), cube = __dl_product(square.hi, y);
  double rest = (m - cube.hi) - (cube.lo + square.lo * y);
  __dl_pair r;
  r.hi = y, r.lo = rest / (3.0 * square.hi);
  return r;
}
__DL_CORE double __dl_cbrt(double x) {
  if (x == 0.0 || !__dl_is_finite(x)) return x + x;
  __dl_cube c = __dl_split_cube(__dl_abs(x));
  __dl_pair y = __dl_cube_step(c.m, c.root);
  y = __dl_cube_step(c.m, y.hi + y.lo);
  return __dl_sign(__dl_ldexp(y.hi + y.lo, c.power), x);
}
__DL_CORE double __dl_rcbrt(double x) {
  if (x == 0.0) return __dl_sign(__DL_INFINITY, x);
  if (!__dl_is_finite(x)) return x != x ? x : __dl_sign(0.0, x);
  __dl_cube c = __dl_split_cube(__dl_abs(x));
  __dl_pair y = __dl_cube_step(c.m, c.root), one;
  y = __dl_cube_step(c.m, y.hi + y.lo);
  one.hi = 1.0, one.lo = 0.0;
  __dl_pair q = __dl_quotient(one, __dl_fast_sum(y.hi, y.lo));
  return __dl_sign(__dl_ldexp(q.hi + q.lo, -c.power), x);
}

// A sum of squares, scaled so that none over- or underflows: length^2 = sum 4^power.
typedef struct { __dl_pair sum; int power; } __dl_squares;
__DL_CORE int __dl_exponent(double size) { return (int)(__dl_bits(size) >> 52 & 0x7ff) - 1023; }
__DL_CORE __dl_squares __dl_add_squares(double largest, double a, double b, double c, double d) {
  __dl_squares s;
  s.power = __dl_exponent(largest);
  __dl_pair x = __dl_product(__dl_ldexp(a, -s.power), __dl_ldexp(a, -s.power));
  __dl_pair y = __dl_product(__dl_ldexp(b, -s.power), __dl_ldexp(b, -s.power));
  __dl_pair z = __dl_product(__dl_ldexp(c, -s.power), __dl_ldexp(c, -s.power));
  __dl_pair w = __dl_product(__dl_ldexp(d, -s.power), __dl_ldexp(d, -s.power));
  __dl_pair left = __dl_sum(x.hi, y.hi), right = __dl_sum(z.hi, w.hi), all = __dl_sum(left.hi, right.hi);
  s.sum = __dl_fast_sum(all.hi, all.lo + left.lo + right.lo + (x.lo + y.lo + z.lo + w.lo));
  return s;
}
__DL_CORE double __dl_norm4d(double a, double b, double c, double d) {
  a = __dl_abs(a), b = __dl_abs(b), c = __dl_abs(c), d = __dl_abs(d);
  double largest = __builtin_fmax(__builtin_fmax(a, b), __builtin_fmax(c, d));
  if (largest == __DL_INFINITY) return __DL_INFINITY;
  if (!(a + b + c + d == a + b + c + d)) return __DL_NAN;
  if (largest == 0.0) return 0.0;
  __dl_squares s = __dl_add_squares(largest, a, b, c, d);
  double root = __builtin_sqrt(s.sum.hi);
  double rest = (__builtin_fma(-root, root, s.sum.hi) + s.sum.lo) / (2.0 * root);
  return __dl_ldexp(root + rest, s.power);
}
__DL_CORE double __dl_rnorm4d(double a, double b, double c, double d) {
  a = __dl_abs(a), b = __dl_abs(b), c = __dl_abs(c), d = __dl_abs(d);
  double largest = __builtin_fmax(__builtin_fmax(a, b), __builtin_fmax(c, d));
  if (largest == __DL_INFINITY) return 0.0;
  if (!(a + b + c + d == a + b + c + d)) return __DL_NAN;
  if (largest == 0.0) return __DL_INFINITY;
  __dl_squares s = __dl_add_squares(largest, a, b, c, d);
  double r = 1.0 / __builtin_sqrt(s.sum.hi);
  __dl_pair p = __dl_product(s.sum.hi, r);
  double rest = __builtin_fma(-p.hi, r, 1.0) - (p.lo + s.sum.lo * r) * r;
  return __dl_ldexp(__builtin_fma(0.5 * r, rest, r), -s.power);
}
__DL_CORE double __dl_hypot(double x, double y) { return __dl_norm4d(x, y, 0.0, 0.0); }
__DL_CORE double __dl_rhypot(double x, double y) { return __dl_rnorm4d(x, y, 0.0, 0.0); }
