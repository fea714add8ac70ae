// The mathematical functions of floats: by floats where that is accurate enough, the rare ones by doubles.
#pragma once
#include "drawloom/double_roots.h"
#include "drawloom/double_special.h"

#define __DL_INFINITYF __builtin_inff()
#define __DL_NANF __builtin_nanf("")
#define __DL_LOG2_EF 0x1.715476p0f
#define __DL_LOG2_E_LOF 0x1.4ae0cp-26f
#define __DL_LN2F 0x1.62e43p-1f
#define __DL_LN2_LOF -0x1.05c61p-29f
// ln 2 and log10 2 with first parts of 16 bits, whose products by an exponent are exact.
#define __DL_LN2_16F 0x1.62e4p-1f
#define __DL_LN2_16_LOF 0x1.7f7d1cp-20f
#define __DL_LOG10_2_16F 0x1.3442p-2f
#define __DL_LOG10_2_16_LOF -0x1.95ec1p-19f
#define __DL_LOG10_EF 0x1.bcb7b2p-2f
#define __DL_LOG10_E_LOF -0x1.5b235ep-27f
#define __DL_LN10F 0x1.26bb1cp1f
#define __DL_LN10_LOF -0x1.12aabap-25f
#define __DL_PIF 0x1.921fb6p1f
#define __DL_PI_LOF -0x1.777a5cp-24f
#define __DL_HALF_PIF 0x1.921fb6p0f
#define __DL_HALF_PI_LOF -0x1.777a5cp-25f
#define __DL_HALF_PI_RESTF -0x1.ee59dap-50f

__DL_CORE __dl_pairf __dl_fast_sumf(float a, float b) {
  __dl_pairf s;
  s.hi = a + b;
  s.lo = b - (s.hi - a);
  return s;
}
__DL_CORE __dl_pairf __dl_sumf(float a, float b) {
  __dl_pairf s;
  s.hi = a + b;
  float part = s.hi - a;
  s.lo = (a - (s.hi - part)) + (b - part);
  return s;
}
__DL_CORE __dl_pairf __dl_productf(float a, float b) {
  __dl_pairf p;
  p.hi = a * b;
  p.lo = __builtin_fmaf(a, b, -p.hi);
  return p;
}

// exp(r + tail) - 1 for |r| up to half of ln 2.
__DL_CORE __dl_pairf __dl_expm1_reducedf(float r, float tail) {
  float square = r * r;
  return __dl_fast_sumf(r, __builtin_fmaf(square * r, __dl_poly_expf(r), __builtin_fmaf(square, 0.5f, tail)));
}
typedef struct { float hi, lo; int power; } __dl_scaledf;
__DL_CORE __dl_scaledf __dl_exp_scaledf(float x, float tail) {
  float bounded = __builtin_fminf(__builtin_fmaxf(x, -250.0f), 250.0f);
  tail = bounded == x ? tail : 0.0f;
  float k = __builtin_rintf(bounded * __DL_LOG2_EF);
  __dl_pairf r = __dl_sumf(__builtin_fmaf(-k, __DL_LN2F, bounded), __builtin_fmaf(-k, __DL_LN2_LOF, tail));
  __dl_pairf e = __dl_expm1_reducedf(r.hi, r.lo), one = __dl_fast_sumf(1.0f, e.hi);
  __dl_scaledf s;
  s.hi = one.hi, s.lo = one.lo + e.lo, s.power = (int)k;
  return s;
}
__DL_CORE float __dl_scaled_valuef(__dl_scaledf s) { return __dl_ldexpf(s.hi + s.lo, s.power); }
__DL_CORE float __dl_expf(float x) {
  float e = __dl_scaled_valuef(__dl_exp_scaledf(x, 0.0f));
  return x != x ? x : e;
}
__DL_CORE float __dl_exp_off(float x, float k, float hi, float lo) {
  __dl_pairf e = __dl_expm1_reducedf(hi, lo);
  float value = __dl_ldexpf(1.0f + (e.hi + e.lo), (int)k);
  return x != x ? x : value;
}
__DL_CORE float __dl_exp2f(float x) {
  float bounded = __builtin_fminf(__builtin_fmaxf(x, -300.0f), 300.0f), k = __builtin_rintf(bounded);
  __dl_pairf r = __dl_productf(bounded - k, __DL_LN2F);
  return __dl_exp_off(x, k, r.hi, r.lo + (bounded - k) * __DL_LN2_LOF);
}
__DL_CORE float __dl_exp10f(float x) {
  float bounded = __builtin_fminf(__builtin_fmaxf(x, -90.0f), 90.0f), k = __builtin_rintf(bounded * 0x1.a934fp1f);
  __dl_pairf f = __dl_sumf(__builtin_fmaf(-k, __DL_LOG10_2_16F, bounded), -k * __DL_LOG10_2_16_LOF);
  __dl_pairf r = __dl_productf(f.hi, __DL_LN10F);
  return __dl_exp_off(x, k, r.hi, r.lo + (f.hi * __DL_LN10_LOF + f.lo * __DL_LN10F));
}
// exp(x) - 1 as a pair, for x up to 88.
__DL_CORE __dl_pairf __dl_expm1_pairf(float x) {
  float k = __builtin_rintf(x * __DL_LOG2_EF);
  __dl_pairf r = __dl_sumf(__builtin_fmaf(-k, __DL_LN2F, x), -k * __DL_LN2_LOF);
  __dl_pairf e = __dl_expm1_reducedf(r.hi, r.lo);
  if (k == 0.0f) return e;
  float power = __dl_float(((int)k + 127) << 23);
  __dl_pairf whole = __dl_sumf(power, -1.0f), sum = __dl_sumf(whole.hi, power * e.hi);
  return __dl_sumf(sum.hi, sum.lo + (whole.lo + power * e.lo));
}
__DL_CORE float __dl_expm1f(float x) {
  if (!(x < 88.0f)) return __dl_expf(x);
  if (x < -30.0f) return -1.0f;
  __dl_pairf e = __dl_expm1_pairf(x);
  return x == 0.0f ? x : e.hi + e.lo;
}

typedef struct { float f; int power; } __dl_mantissaf;
__DL_CORE __dl_mantissaf __dl_splitf(float x) {
  __dl_mantissaf m;
  int subnormal = x < 0x1p-126f, bits = __dl_bitsf(subnormal ? x * 0x1p25f : x);
  int exponent = (bits - 0x3f3504f3) >> 23;
  m.f = __dl_float(bits - (int)((unsigned int)exponent << 23)) - 1.0f;
  m.power = exponent - (subnormal ? 25 : 0);
  return m;
}
// log(1 + f + tail) as a pair, good to 2^-30.
__DL_CORE __dl_pairf __dl_log_reducedf(float f, float tail) {
  __dl_pairf below = __dl_fast_sumf(2.0f, f), s;
  below.lo += tail;
  float inverse = 1.0f / below.hi;
  s.hi = f * inverse;
  s.lo = (__builtin_fmaf(-s.hi, below.hi, f) + tail - s.hi * below.lo) * inverse;
  float square = s.hi * s.hi;
  return __dl_fast_sumf(2.0f * s.hi, __builtin_fmaf(square * s.hi, __dl_poly_logf(square), 2.0f * s.lo));
}
__DL_CORE float __dl_log_specialf(float x) { return x == 0.0f ? -__DL_INFINITYF : x < 0.0f ? __DL_NANF : x + x; }
__DL_CORE __dl_pairf __dl_log_totalf(__dl_pairf l, float power) {
  __dl_pairf sum = __dl_sumf(power * __DL_LN2_16F, l.hi);
  return __dl_fast_sumf(sum.hi, sum.lo + (l.lo + power * __DL_LN2_16_LOF));
}
__DL_CORE float __dl_logf(float x) {
  if (!(x > 0.0f && x < __DL_INFINITYF)) return __dl_log_specialf(x);
  __dl_mantissaf m = __dl_splitf(x);
  return __dl_log_totalf(__dl_log_reducedf(m.f, 0.0f), m.power).hi;
}
__DL_CORE float __dl_log_in_basef(__dl_pairf l, float factor, float factor_lo, float whole, float whole_lo) {
  __dl_pairf p = __dl_productf(l.hi, factor), sum = __dl_sumf(whole, p.hi);
  return sum.hi + (sum.lo + (p.lo + l.hi * factor_lo + l.lo * factor + whole_lo));
}
__DL_CORE float __dl_log2f(float x) {
  if (!(x > 0.0f && x < __DL_INFINITYF)) return __dl_log_specialf(x);
  __dl_mantissaf m = __dl_splitf(x);
  return __dl_log_in_basef(__dl_log_reducedf(m.f, 0.0f), __DL_LOG2_EF, __DL_LOG2_E_LOF, m.power, 0.0f);
}
__DL_CORE float __dl_log10f(float x) {
  if (!(x > 0.0f && x < __DL_INFINITYF)) return __dl_log_specialf(x);
  __dl_mantissaf m = __dl_splitf(x);
  return __dl_log_in_basef(__dl_log_reducedf(m.f, 0.0f), __DL_LOG10_EF, __DL_LOG10_E_LOF, m.power * __DL_LOG10_2_16F,
                           m.power * __DL_LOG10_2_16_LOF);
}
__DL_CORE float __dl_log1pf(float x) {
  if (!(x > -1.0f && x < __DL_INFINITYF)) return __dl_log_specialf(1.0f + x);
  if (__dl_absf(x) < 0x1p-25f) return x;
  __dl_pairf one = __dl_sumf(1.0f, x);
  __dl_mantissaf m = __dl_splitf(one.hi);
  float f = m.f, rest = __dl_ldexpf(one.lo, -m.power);
  if (m.power == 0) f = x, rest = 0.0f;
  return __dl_log_totalf(__dl_log_reducedf(f, rest), m.power).hi;
}
__DL_CORE int __dl_parityf(float y) {
  if (__builtin_truncf(y) != y) return -1;
  float halved = 0.5f * y;
  return __builtin_truncf(halved) != halved;
}
__DL_CORE float __dl_powf(float x, float y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return x + y;
  float size = __dl_absf(x);
  int parity = __dl_parityf(y);
  float sign = parity == 1 ? x : 1.0f;
  if (!(__dl_absf(y) < __DL_INFINITYF)) return size == 1.0f ? 1.0f : (size > 1.0f) == (y > 0.0f) ? __DL_INFINITYF : 0.0f;
  if (size == 0.0f || size == __DL_INFINITYF) return __dl_signf((size == 0.0f) == (y > 0.0f) ? 0.0f : __DL_INFINITYF, sign);
  if (x < 0.0f && parity < 0) return __DL_NANF;
  __dl_mantissaf m = __dl_splitf(size);
  __dl_pairf l = __dl_log_totalf(__dl_log_reducedf(m.f, 0.0f), m.power), e = __dl_productf(y, l.hi);
  e.lo += y * l.lo;
  if (!(__dl_absf(e.hi) < 240.0f)) return __dl_signf(e.hi > 0.0f ? __DL_INFINITYF : 0.0f, sign);
  return __dl_signf(__dl_scaled_valuef(__dl_exp_scaledf(e.hi, e.lo)), sign);
}

typedef struct { float r; int quadrant; } __dl_anglef;
__DL_CORE_CALL __dl_anglef __dl_reduce_largef(float x) {
  __dl_angle a = __dl_reduce(x);
  __dl_anglef angle;
  angle.r = (float)a.hi, angle.quadrant = a.power;
  return angle;
}
__DL_CORE __dl_anglef __dl_reducef(float x) {
  if (!(__dl_absf(x) < 0x1p16f)) return __dl_reduce_largef(x);
  __dl_anglef angle;
  float k = __builtin_rintf(x * 0x1.45f306p-1f), r = __builtin_fmaf(-k, __DL_HALF_PIF, x);
  angle.r = __builtin_fmaf(-k, __DL_HALF_PI_RESTF, __builtin_fmaf(-k, __DL_HALF_PI_LOF, r));
  angle.quadrant = (int)k;
  return angle;
}
__DL_CORE float __dl_sin_reducedf(float r) { return __builtin_fmaf(r * r * r, __dl_poly_sinf(r * r), r); }
__DL_CORE float __dl_cos_reducedf(float r) {
  float square = r * r;
  return __builtin_fmaf(square * square, __dl_poly_cosf(square), __builtin_fmaf(square, -0.5f, 1.0f));
}
__DL_CORE float __dl_sin_off(__dl_anglef a, int quarter) {
  int quadrant = a.quadrant + quarter;
  float value = quadrant & 1 ? __dl_cos_reducedf(a.r) : __dl_sin_reducedf(a.r);
  return quadrant & 2 ? -value : value;
}
__DL_CORE float __dl_sinf(float x) { return x == 0.0f ? x : __dl_sin_off(__dl_reducef(x), 0); }
__DL_CORE float __dl_cosf(float x) { return __dl_sin_off(__dl_reducef(x), 1); }
__DL_CORE float __dl_tanf(float x) {
  __dl_anglef a = __dl_reducef(x);
  float s = __dl_sin_reducedf(a.r), c = __dl_cos_reducedf(a.r);
  return x == 0.0f ? x : a.quadrant & 1 ? -c / s : s / c;
}
// Sine, or cosine for a quarter turn more, of pi x, whose angle is a pair.
__DL_CORE float __dl_sin_turnsf(float x, int quarter) {
  float k = __builtin_rintf(2.0f * x), f = __builtin_fmaf(-0.5f, k, x);
  int quadrant = (int)__builtin_fmaf(-4.0f, __builtin_truncf(0.25f * k), k) + quarter;
  __dl_pairf r = __dl_productf(f, __DL_PIF), halved, one;
  r.lo = __builtin_fmaf(f, __DL_PI_LOF, r.lo);
  float square = r.hi * r.hi, value;
  if (quadrant & 1) {
    halved = __dl_productf(0.5f * r.hi, r.hi), one = __dl_fast_sumf(1.0f, -halved.hi);
    value = one.hi + (one.lo + __builtin_fmaf(square * square, __dl_poly_cosf(square), -halved.lo - r.hi * r.lo));
  } else {
    value = r.hi + __builtin_fmaf(square * r.hi, __dl_poly_sinf(square), r.lo);
  }
  return quadrant & 2 ? -value : value;
}
__DL_CORE float __dl_sinpif(float x) {
  if (!(__dl_absf(x) < __DL_INFINITYF)) return __DL_NANF;
  return __builtin_truncf(x) == x ? __dl_signf(0.0f, x) : __dl_sin_turnsf(x, 0);
}
__DL_CORE float __dl_cospif(float x) {
  if (!(__dl_absf(x) < __DL_INFINITYF)) return __DL_NANF;
  if (__dl_absf(x) >= 0x1p24f) return 1.0f;  // all even
  float v = __dl_sin_turnsf(x, 1);
  return v == 0.0f ? 0.0f : v;
}
// atan of a quotient that is not negative.
__DL_CORE float __dl_atan_quotientf(float above, float below) {
  float x = above / below, base = 0.0f, base_lo = 0.0f;
  if (x > 0x1.3504f4p1f) base = __DL_HALF_PIF, base_lo = __DL_HALF_PI_LOF, x = -below / above;
  else if (x > 0x1.a8279ap-2f) base = 0.5f * __DL_HALF_PIF, base_lo = 0.5f * __DL_HALF_PI_LOF, x = (x - 1.0f) / (x + 1.0f);
  return base + (base_lo + __builtin_fmaf(x * x * x, __dl_poly_atanf(x * x), x));
}
__DL_CORE float __dl_atanf(float x) {
  float a = __dl_atan_quotientf(__dl_absf(x), 1.0f);
  return x != x ? x : __dl_signf(a, x);
}
__DL_CORE float __dl_atan2f(float y, float x) {
  if (x != x || y != y) return x + y;
  float top = __dl_absf(y), side = __dl_absf(x);
  int behind = __dl_bitsf(x) < 0;
  if (top == 0.0f) return __dl_signf(behind ? __DL_PIF : 0.0f, y);
  if (top == side) return __dl_signf(behind ? 0x1.2d97c8p1f : 0.5f * __DL_HALF_PIF, y);
  float larger = top > side ? top : side, scale = larger > 0x1p60f ? 0x1p-60f : larger < 0x1p-60f ? 0x1p60f : 1.0f;
  float a = __dl_atan_quotientf(top * scale, side * scale);
  return __dl_signf(behind ? __DL_PIF - (a - __DL_PI_LOF) : a, y);
}
__DL_CORE float __dl_asin_restf(float z) { return z * __dl_poly_asinf(z); }
__DL_CORE float __dl_asinf(float x) {
  float size = __dl_absf(x);
  if (size <= 0.5f) return __builtin_fmaf(x, __dl_asin_restf(x * x), x);
  float z = __builtin_fmaf(-0.5f, size, 0.5f), s = __builtin_sqrtf(z);
  float s_lo = z > 0.0f ? __builtin_fmaf(-s, s, z) / (2.0f * s) : 0.0f;
  __dl_pairf sum = __dl_fast_sumf(__DL_HALF_PIF, -2.0f * s);
  float value = sum.hi + (sum.lo + (__DL_HALF_PI_LOF - 2.0f * __builtin_fmaf(s, __dl_asin_restf(z), s_lo)));
  return size <= 1.0f ? __dl_signf(value, x) : __DL_NANF;
}
__DL_CORE float __dl_acosf(float x) {
  float size = __dl_absf(x);
  if (!(size <= 1.0f)) return __DL_NANF;
  if (size <= 0.5f) return __DL_HALF_PIF - (__builtin_fmaf(x, __dl_asin_restf(x * x), x) - __DL_HALF_PI_LOF);
  float z = __builtin_fmaf(-0.5f, size, 0.5f), s = __builtin_sqrtf(z), halved = __builtin_fmaf(s, __dl_asin_restf(z), s);
  return x > 0.0f ? 2.0f * halved : __DL_PIF - (2.0f * halved - __DL_PI_LOF);
}
__DL_CORE float __dl_sinhf(float x) {
  float size = __dl_absf(x);
  if (!(size < 20.0f)) {
    __dl_scaledf e = __dl_exp_scaledf(size, 0.0f);
    e.power -= 1;
    return x != x ? x : __dl_signf(__dl_scaled_valuef(e), x);
  }
  __dl_pairf t = __dl_expm1_pairf(size);
  return __dl_signf(0.5f * (t.hi + (t.lo + t.hi / (1.0f + t.hi))), x);
}
__DL_CORE float __dl_coshf(float x) {
  __dl_scaledf e = __dl_exp_scaledf(__dl_absf(x), 0.0f);
  e.power -= 1;
  float up = __dl_scaled_valuef(e);
  return x != x ? x : up + 0.25f / up;
}
__DL_CORE float __dl_tanhf(float x) {
  float size = __dl_absf(x);
  if (!(size < 10.0f)) return x != x ? x : __dl_signf(1.0f, x);
  __dl_pairf t = __dl_expm1_pairf(2.0f * size);
  __dl_pairf two = __dl_sumf(2.0f, t.hi);
  float q = t.hi / two.hi, rest = __builtin_fmaf(-q, two.hi, t.hi) + (t.lo - q * (two.lo + t.lo));
  return __dl_signf(q + rest / two.hi, x);
}
__DL_CORE float __dl_asinhf(float x) {
  float size = __dl_absf(x);
  if (!(size < 0x1p13f)) return __dl_signf(__dl_logf(size) + __DL_LN2F, x);
  float square = size * size;
  return __dl_signf(__dl_log1pf(size + square / (1.0f + __builtin_sqrtf(square + 1.0f))), x);
}
__DL_CORE float __dl_acoshf(float x) {
  if (!(x < 0x1p13f)) return __dl_logf(x) + __DL_LN2F;
  float t = x - 1.0f;
  return t < 0.0f ? __DL_NANF : __dl_log1pf(t + __builtin_sqrtf(__builtin_fmaf(t, t, 2.0f * t)));
}
__DL_CORE float __dl_atanhf(float x) {
  float size = __dl_absf(x);
  if (!(size < 1.0f)) return size == 1.0f ? __dl_signf(__DL_INFINITYF, x) : __DL_NANF;
  return __dl_signf(0.5f * __dl_log1pf(2.0f * size / (1.0f - size)), x);
}
__DL_CORE float __dl_rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
__DL_CORE float __dl_cbrtf(float x) {
  if (x == 0.0f || !(__dl_absf(x) < __DL_INFINITYF)) return x + x;
  return __dl_signf((float)__dl_cbrt(__dl_absf(x)), x);
}
// By doubles, whose squares neither over- nor underflow.
__DL_CORE float __dl_normf(double a, double b, double c, double d) {
  if (__dl_abs(a) == __DL_INFINITY || __dl_abs(b) == __DL_INFINITY || __dl_abs(c) == __DL_INFINITY ||
      __dl_abs(d) == __DL_INFINITY)
    return __DL_INFINITYF;
  return (float)__builtin_sqrt(a * a + b * b + c * c + d * d);
}
__DL_CORE float __dl_rnormf(double a, double b, double c, double d) {
  if (__dl_abs(a) == __DL_INFINITY || __dl_abs(b) == __DL_INFINITY || __dl_abs(c) == __DL_INFINITY ||
      __dl_abs(d) == __DL_INFINITY)
    return 0.0f;
  return (float)(1.0 / __builtin_sqrt(a * a + b * b + c * c + d * d));
}
__DL_CORE float __dl_erfc_largef(float x) {
  if (x > 11.0f) return 0.0f;
  __dl_pairf square = __dl_productf(-x, x);
  __dl_scaledf e = __dl_exp_scaledf(square.hi, square.lo);
  float q = __dl_poly_erfcxf((x - 4.0f) / (x + 4.0f)) / (1.0f + 2.0f * x);
  return __dl_ldexpf(__builtin_fmaf(e.hi, q, e.lo * q), e.power);
}
__DL_CORE float __dl_erff(float x) {
  float size = __dl_absf(x);
  if (size < 1.0f) return __builtin_fmaf(x, __dl_poly_erff(x * x), x);
  return x != x ? x : __dl_signf(size > 4.0f ? 1.0f : 1.0f - __dl_erfc_largef(size), x);
}
__DL_CORE float __dl_erfcf(float x) {
  if (x >= 0.5f) return __dl_erfc_largef(x);
  return x <= -1.0f ? 2.0f - __dl_erfc_largef(-x) : 1.0f - __builtin_fmaf(x, __dl_poly_erff(x * x), x);
}
__DL_CORE float __dl_hypotf(float x, float y) { return __dl_normf(x, y, 0.0, 0.0); }
__DL_CORE float __dl_rhypotf(float x, float y) { return __dl_rnormf(x, y, 0.0, 0.0); }
