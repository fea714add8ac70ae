// Sines, cosines and tangents of doubles, and their inverses.
#pragma once
#include "drawloom/core.h"
#include "drawloom/polynomials.h"

#define __DL_PI 0x1.921fb54442d18p1
#define __DL_PI_LO 0x1.1a62633145c07p-53
#define __DL_HALF_PI 0x1.921fb54442d18p0
#define __DL_HALF_PI_LO 0x1.1a62633145c07p-54
#define __DL_HALF_PI_REST -0x1.f1976b7ed8fbcp-110
#define __DL_TWO_OVER_PI 0x1.45f306dc9c883p-1

// The bits of 2 / pi behind the point, after 64 zeros.
__DL_TABLE __dl_u64 __dl_two_over_pi[21] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
    0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

// What is left of x after the nearest multiple of pi / 2, as a pair; `power` is that multiple.
typedef __dl_scaled __dl_angle;

// For large x (Payne and Hanek): of the product of x's 53-bit integer by 2 / pi, whole multiples of 4 are left out.
__DL_CORE_CALL __dl_angle __dl_reduce_large(double x) {
  __dl_angle angle;
  __dl_i64 bits = __dl_bits(x);
  __dl_u64 integer = ((__dl_u64)bits & 0xffffffffffffful) | 0x10000000000000ul;
  int first = 64 + (int)((bits >> 52) & 0x7ff) - 1075 - 2, word = first >> 6, shift = first & 63;
  __dl_u64 part[3];
  for (int i = 0; i < 3; i++) {
    __dl_u64 low = shift ? __dl_two_over_pi[word + i + 1] >> (64 - shift) : 0;
    part[i] = __dl_two_over_pi[word + i] << shift | low;
  }
  // The product's upper 128 of 192 bits: a fraction of 4.
  __dl_u64 carry = __dl_umulhi64(integer, part[2]), middle = integer * part[1], next = middle + carry;
  __dl_u64 high = integer * part[0] + __dl_umulhi64(integer, part[1]) + (next < middle);
  int quadrant = (int)(high >> 62);
  high = high << 2 | next >> 62, next <<= 2;
  double sign = 1.0;
  if (high >> 63) {
    quadrant += 1, sign = -1.0;
    high = ~high, next = ~next;
    next += 1;
    high += next == 0;
  }
  int zeros = high ? __builtin_clzl(high) : 64;
  if (zeros == 64) high = next, next = 0;
  else if (zeros) high = high << zeros | next >> (64 - zeros), next <<= zeros;
  __dl_pair turn;
  double unit = __dl_double((__dl_i64)(1023 - zeros - 64) << 52);
  turn.hi = (double)(high >> 11) * 0x1p11 * unit;
  turn.lo = (double)((high & 2047) << 42 | next >> 22) * 0x1p-42 * unit;
  __dl_pair half_pi;
  half_pi.hi = __DL_HALF_PI, half_pi.lo = __DL_HALF_PI_LO;
  __dl_pair r = __dl_times(__dl_fast_sum(turn.hi, turn.lo), half_pi);
  if (bits < 0) sign = -sign, quadrant = -quadrant;
  angle.hi = sign * r.hi, angle.lo = sign * r.lo, angle.power = quadrant;
  return angle;
}
__DL_CORE __dl_angle __dl_reduce(double x) {
  if (__dl_abs(x) > 0x1p29) {
    if (__dl_is_finite(x)) return __dl_reduce_large(x);
    __dl_angle none;
    none.hi = none.lo = __DL_NAN, none.power = 0;
    return none;
  }
  double k = __builtin_rint(x * __DL_TWO_OVER_PI);
  __dl_pair second = __dl_product(k, __DL_HALF_PI_LO), r = __dl_sum(__builtin_fma(-k, __DL_HALF_PI, x), -second.hi);
  r = __dl_fast_sum(r.hi, r.lo - (second.lo + k * __DL_HALF_PI_REST));
  __dl_angle angle;
  angle.hi = r.hi, angle.lo = r.lo, angle.power = (int)k;
  return angle;
}

// Sine and cosine of the pair, up to pi / 4 and a little more.
__DL_CORE __dl_pair __dl_sin_reduced(double r, double tail) {
  double square = r * r;
  return __dl_fast_sum(r, __builtin_fma(square * r, __dl_poly_sin(square), __builtin_fma(-0.5 * square, tail, tail)));
}
__DL_CORE __dl_pair __dl_cos_reduced(double r, double tail) {
  __dl_pair halved = __dl_product(0.5 * r, r), one = __dl_fast_sum(1.0, -halved.hi);
  double square = r * r;
  one.lo += __builtin_fma(square * square, __dl_poly_cos(square), -halved.lo - r * tail);
  return __dl_fast_sum(one.hi, one.lo);
}
__DL_CORE double __dl_sin_of(__dl_angle a, int quarter) {
  int quadrant = a.power + quarter;
  __dl_pair v = quadrant & 1 ? __dl_cos_reduced(a.hi, a.lo) : __dl_sin_reduced(a.hi, a.lo);
  double value = v.hi + v.lo;
  return quadrant & 2 ? -value : value;
}
__DL_CORE double __dl_tan_of(__dl_angle a) {
  __dl_pair s = __dl_sin_reduced(a.hi, a.lo), c = __dl_cos_reduced(a.hi, a.lo), q;
  if (a.power & 1) {
    c.hi = -c.hi, c.lo = -c.lo;
    q = __dl_quotient(c, s);
  } else {
    q = __dl_quotient(s, c);
  }
  return q.hi + q.lo;
}
__DL_CORE double __dl_sin(double x) { return x == 0.0 ? x : __dl_sin_of(__dl_reduce(x), 0); }
__DL_CORE double __dl_cos(double x) { return __dl_sin_of(__dl_reduce(x), 1); }
__DL_CORE double __dl_tan(double x) { return x == 0.0 ? x : __dl_tan_of(__dl_reduce(x)); }

// The angle pi x.
__DL_CORE __dl_angle __dl_reduce_turns(double x) {
  __dl_angle angle;
  double k = __builtin_rint(2.0 * x), f = __builtin_fma(-0.5, k, x);
  __dl_pair r = __dl_product(f, __DL_PI);
  angle.hi = r.hi, angle.lo = r.lo + f * __DL_PI_LO;
  angle.power = (int)__builtin_fma(-4.0, __builtin_trunc(0.25 * k), k);
  return angle;
}
__DL_CORE double __dl_sinpi(double x) {
  if (!__dl_is_finite(x)) return __DL_NAN;
  if (__builtin_trunc(x) == x) return __dl_sign(0.0, x);
  return __dl_sin_of(__dl_reduce_turns(x), 0);
}
__DL_CORE double __dl_cospi(double x) {
  if (!__dl_is_finite(x)) return __DL_NAN;
  if (__dl_abs(x) >= 0x1p53) return 1.0;  // all even
  double v = __dl_sin_of(__dl_reduce_turns(x), 1);
  return v == 0.0 ? 0.0 : v;
}

// atan of a quotient that is not negative; what is returned lies from 0 to pi / 2.
__DL_CORE __dl_pair __dl_atan_quotient(__dl_pair above, __dl_pair below) {
  double x = above.hi / below.hi, base = 0.0, base_lo = 0.0;
  __dl_pair q;
  if (x > 0x1.3504f333f9de6p1) {  // 1 + sqrt 2: pi / 2 - atan(1 / x)
    base = __DL_HALF_PI, base_lo = __DL_HALF_PI_LO;
    above.hi = -above.hi, above.lo = -above.lo;
    q = __dl_quotient(below, above);
  } else if (x > 0x1.a827999fcef32p-2) {  // sqrt 2 - 1: pi / 4 + atan((x - 1) / (x + 1))
    base = 0.5 * __DL_HALF_PI, base_lo = 0.5 * __DL_HALF_PI_LO;
    __dl_pair less = __dl_sum(above.hi, -below.hi), more = __dl_sum(above.hi, below.hi);
    less.lo += above.lo - below.lo, more.lo += above.lo + below.lo;
    q = __dl_quotient(less, more);
  } else {
    q = __dl_quotient(above, below);
  }
  double square = q.hi * q.hi;
  __dl_pair a = __dl_sum(base, q.hi);
  a.lo += base_lo + (q.lo + square * q.hi * __dl_poly_atan(square));
  return a;
}
__DL_CORE double __dl_atan(double x) {
  double size = __dl_abs(x);
  if (size > 0x1p60) return x != x ? x : __dl_sign(__DL_HALF_PI, x);
  if (size < 0x1p-30) return x;
  __dl_pair above, below;
  above.hi = size, above.lo = 0.0, below.hi = 1.0, below.lo = 0.0;
  __dl_pair a = __dl_atan_quotient(above, below);
  return x != x ? x : __dl_sign(a.hi + a.lo, x);
}
__DL_CORE double __dl_atan2(double y, double x) {
  if (x != x || y != y) return x + y;
  double top = __dl_abs(y), side = __dl_abs(x);
  int behind = __dl_bits(x) < 0;
  if (top == 0.0) return __dl_sign(behind ? __DL_PI : 0.0, y);
  if (top == __DL_INFINITY && side == __DL_INFINITY) return __dl_sign(behind ? 0x1.2d97c7f3321d2p1 : 0.5 * __DL_HALF_PI, y);
  // Both are scaled to where neither the quotient's nor its remainder's bits are lost.
  double larger = top > side ? top : side;
  double scale = larger > 0x1p500 ? 0x1p-520 : larger < 0x1p-500 ? 0x1p520 : 1.0;
  __dl_pair above, below;
  above.hi = top * scale, below.hi = side * scale, above.lo = below.lo = 0.0;
  __dl_pair a;
  if (below.hi * 0x1p70 < above.hi || top == __DL_INFINITY) a.hi = __DL_HALF_PI, a.lo = __DL_HALF_PI_LO;
  else if (above.hi < below.hi * 0x1p-400 || side == __DL_INFINITY) {
    if (!behind) return __dl_sign(side == __DL_INFINITY ? 0.0 : top / side, y);
    a.hi = 0.0, a.lo = 0.0;
  } else a = __dl_atan_quotient(above, below);
  if (!behind) return __dl_sign(a.hi + a.lo, y);
  __dl_pair rest = __dl_sum(__DL_PI, -a.hi);
  return __dl_sign(rest.hi + (rest.lo + (__DL_PI_LO - a.lo)), y);
}
// asin(sqrt z) / sqrt z - 1 for z up to 1/4.
__DL_CORE double __dl_asin_rest(double z) { return z * __dl_poly_asin(z); }
// sqrt z as a pair.
__DL_CORE __dl_pair __dl_sqrt_pair(double z) {
  __dl_pair s;
  s.hi = __builtin_sqrt(z);
  s.lo = z == 0.0 ? 0.0 : __builtin_fma(-s.hi, s.hi, z) / (2.0 * s.hi);
  return s;
}
__DL_CORE double __dl_asin(double x) {
  double size = __dl_abs(x);
  if (size <= 0.5) return size < 0x1p-30 ? x : __builtin_fma(x, __dl_asin_rest(x * x), x);
  double z = __builtin_fma(-0.5, size, 0.5);
  __dl_pair s = __dl_sqrt_pair(z), sum = __dl_fast_sum(__DL_HALF_PI, -2.0 * s.hi);
  double value = sum.hi + (sum.lo + (__DL_HALF_PI_LO - 2.0 * (s.lo + s.hi * __dl_asin_rest(z))));
  return size <= 1.0 ? __dl_sign(value, x) : __DL_NAN;
}
__DL_CORE double __dl_acos(double x) {
  double size = __dl_abs(x);
  if (!(size <= 1.0)) return __DL_NAN;
  if (size <= 0.5) {
    __dl_pair sum = __dl_fast_sum(__DL_HALF_PI, -x);
    return sum.hi + (sum.lo + (__DL_HALF_PI_LO - x * __dl_asin_rest(x * x)));
  }
  double z = __builtin_fma(-0.5, size, 0.5);
  __dl_pair s = __dl_sqrt_pair(z);
  double halved = s.lo + s.hi * __dl_asin_rest(z);
  if (x > 0.0) return 2.0 * (s.hi + halved);
  __dl_pair sum = __dl_fast_sum(__DL_PI, -2.0 * s.hi);
  return sum.hi + (sum.lo + (__DL_PI_LO - 2.0 * halved));
}
