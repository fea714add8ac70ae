// What the mathematical functions stand on, in the C that CUDA C++ and OpenCL C share: words of floats, exact sums and
// products as pairs (hi, lo), scaling by powers of two.
#pragma once

#ifdef __OPENCL_C_VERSION__
#define __DL_CORE static inline
#define __DL_CORE_CALL static __attribute__((noinline))
#define __DL_TABLE static __constant
#else
#define __DL_CORE static __inline__ __attribute__((device))
#define __DL_CORE_CALL static __attribute__((device, noinline))
#define __DL_TABLE static __attribute__((constant)) const
#endif

typedef __INT64_TYPE__ __dl_i64;
typedef __UINT64_TYPE__ __dl_u64;
typedef union { double value; __dl_i64 bits; } __dl_word64;
typedef union { float value; int bits; } __dl_word32;
typedef struct { double hi, lo; } __dl_pair;             // hi + lo, lo below half a unit of hi
typedef struct { double hi, lo; int power; } __dl_scaled;  // (hi + lo) 2^power
typedef struct { float hi, lo; } __dl_pairf;

#define __DL_INFINITY __builtin_inf()
#define __DL_NAN __builtin_nan("")

__DL_CORE __dl_i64 __dl_bits(double x) { __dl_word64 w; w.value = x; return w.bits; }
__DL_CORE double __dl_double(__dl_i64 bits) { __dl_word64 w; w.bits = bits; return w.value; }
__DL_CORE int __dl_bitsf(float x) { __dl_word32 w; w.value = x; return w.bits; }
__DL_CORE float __dl_float(int bits) { __dl_word32 w; w.bits = bits; return w.value; }
__DL_CORE double __dl_abs(double x) { return __builtin_fabs(x); }
__DL_CORE float __dl_absf(float x) { return __builtin_fabsf(x); }
__DL_CORE double __dl_sign(double size, double sign) { return __builtin_copysign(size, sign); }
__DL_CORE float __dl_signf(float size, float sign) { return __builtin_copysignf(size, sign); }
__DL_CORE int __dl_is_finite(double x) { return __dl_abs(x) < __DL_INFINITY; }

__DL_CORE __dl_u64 __dl_umulhi64(__dl_u64 a, __dl_u64 b) {
  __dl_u64 high;
  __asm("mul.hi.u64 %0, %1, %2;" : "=l"(high) : "l"(a), "l"(b));
  return high;
}

// a + b for |a| >= |b|, for any, and a b, exactly.
__DL_CORE __dl_pair __dl_fast_sum(double a, double b) {
  __dl_pair s;
  s.hi = a + b;
  s.lo = b - (s.hi - a);
  return s;
}
__DL_CORE __dl_pair __dl_sum(double a, double b) {
  __dl_pair s;
  s.hi = a + b;
  double part = s.hi - a;
  s.lo = (a - (s.hi - part)) + (b - part);
  return s;
}
__DL_CORE __dl_pair __dl_product(double a, double b) {
  __dl_pair p;
  p.hi = a * b;
  p.lo = __builtin_fma(a, b, -p.hi);
  return p;
}
__DL_CORE __dl_pair __dl_times(__dl_pair a, __dl_pair b) {
  __dl_pair p = __dl_product(a.hi, b.hi);
  p.lo += a.hi * b.lo + a.lo * b.hi;
  return __dl_fast_sum(p.hi, p.lo);
}
__DL_CORE __dl_pair __dl_quotient(__dl_pair a, __dl_pair b) {
  __dl_pair q;
  q.hi = a.hi / b.hi;
  q.lo = (__builtin_fma(-q.hi, b.hi, a.hi) + a.lo - q.hi * b.lo) / b.hi;
  return q;
}

// x 2^n, rounded once.
__DL_CORE double __dl_ldexp(double x, int n) {
  if (n > 1023) {
    x *= 0x1p1023, n -= 1023;
    if (n > 1023) x *= 0x1p1023, n = n > 2046 ? 1023 : n - 1023;
  } else if (n < -1022) {
    // Steps of 969 leave 53 bits above the smallest, so that only the last product rounds.
    x *= 0x1p-969, n += 969;
    if (n < -1022) x *= 0x1p-969, n = n < -1991 ? -1022 : n + 969;
  }
  return x * __dl_double((__dl_i64)(n + 1023) << 52);
}
__DL_CORE float __dl_ldexpf(float x, int n) {
  if (n > 127) {
    x *= 0x1p127f, n -= 127;
    if (n > 127) x *= 0x1p127f, n = n > 254 ? 127 : n - 127;
  } else if (n < -126) {
    x *= 0x1p-102f, n += 102;
    if (n < -126) x *= 0x1p-102f, n = n < -228 ? -126 : n + 102;
  }
  return x * __dl_float((n + 127) << 23);
}
__DL_CORE double __dl_scaled_value(__dl_scaled s) { return __dl_ldexp(s.hi + s.lo, s.power); }
