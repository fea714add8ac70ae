// Remainders, exponents and neighbours of floating-point numbers: all exact.
#pragma once
#include "drawloom/core.h"

// A finite positive number as integer 2^power, the integer of 53 bits.
typedef struct { __dl_u64 integer; int power; } __dl_whole;
__DL_CORE __dl_whole __dl_whole_of(double size) {
  __dl_whole w;
  __dl_u64 bits = (__dl_u64)__dl_bits(size), fraction = bits & 0xffffffffffffful;
  int exponent = (int)(bits >> 52);
  w.integer = exponent ? fraction | 0x10000000000000ul : fraction;
  w.power = (exponent ? exponent : 1) - 1075;
  int zeros = __builtin_clzl(w.integer) - 11;
  w.integer <<= zeros, w.power -= zeros;
  return w;
}
// size mod divisor, both positive and finite; and the quotient's low bits.
typedef struct { double rest; unsigned int quotient; } __dl_division;
__DL_CORE __dl_division __dl_divide(double size, double divisor) {
  __dl_division d;
  d.rest = size, d.quotient = 0;
  if (size < divisor) return d;
  __dl_whole a = __dl_whole_of(size), b = __dl_whole_of(divisor);
  __dl_u64 rest = a.integer;
  int left = a.power - b.power;
  __dl_u64 quotient = rest / b.integer;
  rest -= quotient * b.integer;
  while (left > 0) {  // eleven bits of the quotient at a time, as many as 64 bits leave room for
    int step = left < 11 ? left : 11;
    rest <<= step;
    __dl_u64 part = rest / b.integer;
    quotient = quotient << step | part;
    rest -= part * b.integer;
    left -= step;
  }
  d.quotient = (unsigned int)quotient;
  d.rest = __dl_ldexp((double)rest, b.power);
  return d;
}
__DL_CORE double __dl_fmod(double x, double y) {
  double size = __dl_abs(x), divisor = __dl_abs(y);
  if (!(size < __DL_INFINITY) || !(divisor > 0.0)) return __DL_NAN;
  return divisor == __DL_INFINITY ? x : __dl_sign(__dl_divide(size, divisor).rest, x);
}
__DL_CORE __dl_division __dl_remquo(double x, double y) {
  double size = __dl_abs(x), divisor = __dl_abs(y);
  __dl_division d;
  d.rest = __DL_NAN, d.quotient = 0;
  if (!(size < __DL_INFINITY) || !(divisor > 0.0)) return d;
  d.rest = size;
  if (divisor < __DL_INFINITY) d = __dl_divide(size, divisor);
  // The nearest multiple, of two the even one; the doubled rest is compared without overflow.
  double other = divisor - d.rest;
  if (divisor < __DL_INFINITY && (d.rest > other || (d.rest == other && (d.quotient & 1)))) d.rest = -other, d.quotient += 1;
  d.rest = __dl_bits(x) < 0 ? -d.rest : d.rest;
  int negative = (__dl_bits(x) ^ __dl_bits(y)) < 0;
  d.quotient &= 0x7fffffff;
  if (negative) d.quotient = -d.quotient;
  return d;
}
__DL_CORE double __dl_remainder(double x, double y) { return __dl_remquo(x, y).rest; }

__DL_CORE int __dl_ilogb(double x) {
  if (x == 0.0) return -2147483647 - 1;
  if (!__dl_is_finite(x)) return x != x ? -2147483647 - 1 : 2147483647;
  return __dl_whole_of(__dl_abs(x)).power + 52;
}
__DL_CORE double __dl_logb(double x) {
  if (x == 0.0) return -__DL_INFINITY;
  return __dl_is_finite(x) ? (double)__dl_ilogb(x) : x * x;
}
typedef struct { double fraction; int power; } __dl_fraction;
__DL_CORE __dl_fraction __dl_frexp(double x) {
  __dl_fraction f;
  f.fraction = x, f.power = 0;
  if (x == 0.0 || !__dl_is_finite(x)) return f;
  f.power = __dl_ilogb(x) + 1;
  f.fraction = __dl_ldexp(x, -f.power);
  return f;
}
__DL_CORE double __dl_nextafter(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0.0) return __dl_sign(0x1p-1074, y);
  return __dl_double(__dl_bits(x) + ((x < y) == (x > 0.0) ? 1 : -1));
}
__DL_CORE float __dl_nextafterf(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0.0f) return __dl_signf(0x1p-149f, y);
  return __dl_float(__dl_bitsf(x) + ((x < y) == (x > 0.0f) ? 1 : -1));
}
// The fraction of x, with its sign; whole numbers and infinities leave zero.
__DL_CORE double __dl_modf_rest(double x, double whole) {
  return __dl_sign(__dl_abs(x) == __DL_INFINITY ? 0.0 : x - whole, x);
}
