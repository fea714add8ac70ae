// Bessel functions of doubles: J and Y of orders 0, 1 and n; the modified I of orders 0 and 1.
#pragma once
#include "drawloom/double_angles.h"
#include "drawloom/double_exp_log.h"

// x - zero and x^2 - zero^2, where zero = hi + lo.
__DL_CORE double __dl_beside(double x, double hi, double lo) { return (x - hi) - lo; }
__DL_CORE double __dl_beside_square(double x, double hi, double lo) { return __dl_beside(x, hi, lo) * (x + hi); }

// From 8 on (Hankel's expansion): sqrt(2 / (pi x)) times P cos - Q sin for J, P sin + Q cos for Y, of x - pi/4 - n pi/2.
__DL_CORE double __dl_bessel_large(double x, int order, int is_y) {
  if (x == __DL_INFINITY) return 0.0;
  double u = 64.0 / (x * x), p, q;
  if (order) p = __dl_poly_hankel_p1(u), q = __dl_poly_hankel_q1(u) / x;
  else p = __dl_poly_hankel_p0(u), q = __dl_poly_hankel_q0(u) / x;
  __dl_angle angle = __dl_reduce(x);
  double s = __dl_sin_of(angle, 0), c = __dl_sin_of(angle, 1);
  double cosine = order ? s - c : c + s, sine = order ? -(s + c) : s - c;  // both times sqrt 2
  return (is_y ? p * sine + q * cosine : p * cosine - q * sine) / __builtin_sqrt(__DL_PI * x);
}
__DL_CORE double __dl_j0(double x) {
  double size = __dl_abs(x), square = x * x;
  if (x != x) return x;
  if (size >= 8.0) return __dl_bessel_large(size, 0, 0);
  return __dl_beside_square(size, __DL_ZERO_J0_1) * __dl_beside_square(size, __DL_ZERO_J0_2) *
         (square < 32.0 ? __dl_poly_j0_near(square * 0.0625 - 1.0) : __dl_poly_j0_far(square * 0.0625 - 3.0));
}
__DL_CORE double __dl_j1(double x) {
  double size = __dl_abs(x), square = x * x;
  if (x != x) return x;
  if (size >= 8.0) return x < 0.0 ? -__dl_bessel_large(size, 1, 0) : __dl_bessel_large(size, 1, 0);
  return x * (__dl_beside_square(size, __DL_ZERO_J1_1) * __dl_beside_square(size, __DL_ZERO_J1_2) *
              (square < 32.0 ? __dl_poly_j1_near(square * 0.0625 - 1.0) : __dl_poly_j1_far(square * 0.0625 - 3.0)));
}
__DL_CORE double __dl_y0(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -__DL_INFINITY : __DL_NAN;
  if (x >= 8.0) return __dl_bessel_large(x, 0, 1);
  if (x < 0.5) return __builtin_fma(__DL_TWO_OVER_PI * (__dl_log(x) - __DL_LN2), __dl_j0(x), __dl_poly_y0_series(x * x));
  double zeros = __dl_beside(x, __DL_ZERO_Y0_1) * __dl_beside(x, __DL_ZERO_Y0_2) * __dl_beside(x, __DL_ZERO_Y0_3);
  if (x < 1.5) return zeros * __dl_poly_y0_near(2.0 * x - 2.0);
  return zeros * (x < 4.0 ? __dl_poly_y0_middle((x - 2.75) * 0.8) : __dl_poly_y0_far((x - 6.0) * 0.5));
}
__DL_CORE double __dl_y1(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -__DL_INFINITY : __DL_NAN;
  if (x >= 8.0) return __dl_bessel_large(x, 1, 1);
  if (x < 0.5)
    return __builtin_fma(__DL_TWO_OVER_PI * (__dl_log(x) - __DL_LN2), __dl_j1(x), x * __dl_poly_y1_series(x * x)) -
           __DL_TWO_OVER_PI / x;
  double zeros = __dl_beside(x, __DL_ZERO_Y1_1) * __dl_beside(x, __DL_ZERO_Y1_2) / x;
  if (x < 1.5) return zeros * __dl_poly_y1_near(2.0 * x - 2.0);
  return zeros * (x < 4.0 ? __dl_poly_y1_middle((x - 2.75) * 0.8) : __dl_poly_y1_far((x - 6.0) * 0.5));
}
// By the recurrence F(n+1) = 2n/x F(n) - F(n-1): upwards where that is stable, else downwards from far above and
// scaled by J0 or J1 (Miller).
__DL_CORE double __dl_jn(int n, double x) {
  if (n < 0) return n & 1 ? -__dl_jn(-n, x) : __dl_jn(-n, x);
  if (n == 0) return __dl_j0(x);
  if (n == 1 || x != x) return n == 1 ? __dl_j1(x) : x;
  double size = __dl_abs(x), value;
  if (size == 0.0 || size == __DL_INFINITY) return 0.0;
  if (size > n) {
    double before = __dl_j0(size);
    value = __dl_j1(size);
    for (int k = 1; k < n; k++) {
      double next = 2.0 * k / size * value - before;
      before = value, value = next;
    }
  } else {
    double before = 0.0, at = 0x1p-1000, found = 0.0;
    int top = n + (int)__builtin_sqrt(60.0 * n) + 30;
    for (int k = top & ~1; k > 0; k--) {
      double next = 2.0 * k / size * at - before;
      before = at, at = next;
      if (k - 1 == n) found = at;
      if (__dl_abs(at) > 0x1p800) at *= 0x1p-800, before *= 0x1p-800, found *= 0x1p-800;
    }
    double j0 = __dl_j0(size), j1 = __dl_j1(size);
    value = __dl_abs(j0) > __dl_abs(j1) ? found / at * j0 : found / before * j1;
  }
  return x < 0.0 && (n & 1) ? -value : value;
}
__DL_CORE double __dl_yn(int n, double x) {
  if (n < 0) return n & 1 ? -__dl_yn(-n, x) : __dl_yn(-n, x);
  if (n == 0 || !(x > 0.0)) return __dl_y0(x);
  double before = __dl_y0(x), value = __dl_y1(x);
  for (int k = 1; k < n && value > -__DL_INFINITY; k++) {
    double next = 2.0 * k / x * value - before;
    before = value, value = next;
  }
  return value;
}
// I from 8 on: exp(x) / sqrt x times a polynomial of 8 / x.
__DL_CORE double __dl_bessel_i_large(double size, double factor) {
  __dl_scaled e = __dl_exp_scaled(size, 0.0);
  factor /= __builtin_sqrt(size);
  return __dl_ldexp(__builtin_fma(e.hi, factor, e.lo * factor), e.power);
}
__DL_CORE double __dl_cyl_bessel_i0(double x) {
  double size = __dl_abs(x);
  if (!(size < 800.0)) return x != x ? x : __DL_INFINITY;
  return size < 8.0 ? __dl_poly_i0(x * x) : __dl_bessel_i_large(size, __dl_poly_i0_large(8.0 / size));
}
__DL_CORE double __dl_cyl_bessel_i1(double x) {
  double size = __dl_abs(x);
  if (!(size < 800.0)) return x != x ? x : __dl_sign(__DL_INFINITY, x);
  return size < 8.0 ? x * __dl_poly_i1(x * x) : __dl_sign(__dl_bessel_i_large(size, __dl_poly_i1_large(8.0 / size)), x);
}
