// bfloat16: __nv_bfloat16 and __nv_bfloat162, their conversions, arithmetic and functions.
#pragma once
#include <cuda_runtime.h>
#include "drawloom/small_floats.h"

struct __nv_bfloat16_raw { unsigned short x; };
// The upper half of a float, rounded to the nearest, of two the even one; NaN stays NaN.
__DL_BOTH unsigned short __dl_bfloat16_bits(float f) {
  unsigned int bits;
  __builtin_memcpy(&bits, &f, 4);
  if (f != f) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
struct __nv_bfloat16 {
  unsigned short __x;
  __nv_bfloat16() = default;
  __attribute__((host, device)) __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
  __attribute__((host, device)) __nv_bfloat16(float f) : __x(__dl_bfloat16_bits(f)) {}
  __attribute__((host, device)) __nv_bfloat16(double d) : __x(__dl_bfloat16_bits(__dl_odd(d))) {}
  template <class T, class = typename __dl_double_for<__is_integral(T)>::type>
  __attribute__((host, device)) __nv_bfloat16(T v) : __x(__dl_bfloat16_bits(__dl_odd(__dl_double(v)))) {}
  // A double as a float whose last bit says that something was lost, so that a second rounding is right, too.
  static __attribute__((host, device)) float __dl_odd(double d) {
    float f = (float)d;
    if ((double)f == d || d != d) return f;
    unsigned int bits;
    __builtin_memcpy(&bits, &f, 4);
    if (__builtin_fabs((double)f) > __builtin_fabs(d)) bits -= 1;
    bits |= 1;
    __builtin_memcpy(&f, &bits, 4);
    return f;
  }
  // An integer as a double that rounds to fewer bits as the integer does.
  template <class T> static __attribute__((host, device)) double __dl_double(T v) {
    unsigned long long size = v < 0 ? 0 - (unsigned long long)v : (unsigned long long)v;
    if (size >> 53) size = (size >> 11 | ((size & 0x7ff) != 0)) << 11;
    return v < 0 ? -(double)size : (double)size;
  }
  __attribute__((host, device)) operator float() const {
    unsigned int bits = (unsigned int)__x << 16;
    float f;
    __builtin_memcpy(&f, &bits, 4);
    return f;
  }
  __attribute__((host, device)) operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__x}; }
};
__DL_BOTH float __dl_wide(__nv_bfloat16 b) { return (float)b; }
__DL_BOTH __nv_bfloat16 __dl_narrow___nv_bfloat16(float f) { return __nv_bfloat16(f); }
__DL_BOTH __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __nv_bfloat16(__dl_odd_fma(__dl_wide(a), __dl_wide(b), __dl_wide(c)));
}
__DL_SMALL_FLOAT(__nv_bfloat16, __nv_bfloat162)
__DL_SMALL_ATOMIC(__nv_bfloat16, __nv_bfloat162)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

__DL_BOTH __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
__DL_BOTH __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
// The bfloat16 next to a float: towards zero, upwards (1) or downwards (-1).
__DL_BOTH __nv_bfloat16 __dl_bfloat16_beside(float f, int direction) {
  unsigned int bits;
  __builtin_memcpy(&bits, &f, 4);
  bool away = (bits & 0xffffu) && direction == (f < 0.0f ? -1 : 1);
  return __nv_bfloat16(__nv_bfloat16_raw{f != f ? (unsigned short)0x7fff : (unsigned short)((bits >> 16) + away)});
}
__DL_BOTH __nv_bfloat16 __float2bfloat16_rz(float f) { return __dl_bfloat16_beside(f, 0); }
__DL_BOTH __nv_bfloat16 __float2bfloat16_ru(float f) { return __dl_bfloat16_beside(f, 1); }
__DL_BOTH __nv_bfloat16 __float2bfloat16_rd(float f) { return __dl_bfloat16_beside(f, -1); }
__DL_BOTH __nv_bfloat16 __double2bfloat16(double d) { return __nv_bfloat16(d); }
#define __DL_BFLOAT16_INTEGER(T, name)                                                                            \
  __DL_DEVICE T __bfloat162##name##_rn(__nv_bfloat16 b) { return (T)__builtin_rintf(b); }                         \
  __DL_DEVICE T __bfloat162##name##_rz(__nv_bfloat16 b) { return (T)(float)b; }                                   \
  __DL_DEVICE T __bfloat162##name##_ru(__nv_bfloat16 b) { return (T)__builtin_ceilf(b); }                         \
  __DL_DEVICE T __bfloat162##name##_rd(__nv_bfloat16 b) { return (T)__builtin_floorf(b); }                        \
  __DL_BOTH __nv_bfloat16 __##name##2bfloat16_rn(T v) { return __nv_bfloat16(v); }                                \
  __DL_DEVICE __nv_bfloat16 __##name##2bfloat16_rz(T v) {                                                         \
    return __dl_bfloat16_beside(__double2float_rz(__nv_bfloat16::__dl_double(v)), 0);                             \
  }                                                                                                               \
  __DL_DEVICE __nv_bfloat16 __##name##2bfloat16_ru(T v) {                                                         \
    return __dl_bfloat16_beside(__double2float_ru(__nv_bfloat16::__dl_double(v)), 1);                             \
  }                                                                                                               \
  __DL_DEVICE __nv_bfloat16 __##name##2bfloat16_rd(T v) {                                                         \
    return __dl_bfloat16_beside(__double2float_rd(__nv_bfloat16::__dl_double(v)), -1);                            \
  }
__DL_BFLOAT16_INTEGER(int, int)
__DL_BFLOAT16_INTEGER(unsigned int, uint)
__DL_BFLOAT16_INTEGER(short, short)
__DL_BFLOAT16_INTEGER(unsigned short, ushort)
__DL_BFLOAT16_INTEGER(long long, ll)
__DL_BFLOAT16_INTEGER(unsigned long long, ull)
#undef __DL_BFLOAT16_INTEGER
__DL_DEVICE signed char __bfloat162char_rz(__nv_bfloat16 b) {
  return (signed char)min(max(__float2int_rz(__dl_wide(b)), -128), 127);
}
__DL_DEVICE unsigned char __bfloat162uchar_rz(__nv_bfloat16 b) {
  return (unsigned char)min(max(__float2int_rz(__dl_wide(b)), 0), 255);
}
__DL_BOTH float __bfloat162float(__nv_bfloat16 b) { return b; }
__DL_BOTH __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return __nv_bfloat162(x, y); }
__DL_BOTH __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __nv_bfloat162(v.x, v.y); }
__DL_BOTH __nv_bfloat162 __float2bfloat162_rn(float f) { return __nv_bfloat162(f, f); }
__DL_BOTH float2 __bfloat1622float2(__nv_bfloat162 v) { return float2{(float)v.x, (float)v.y}; }
__DL_BOTH __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__DL_BOTH __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 b) { return __nv_bfloat162(b, b); }
__DL_BOTH __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
__DL_BOTH __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
__DL_BOTH unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) { return b.__x; }
__DL_BOTH __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16(__nv_bfloat16_raw{bits}); }
__DL_BOTH short __bfloat16_as_short(__nv_bfloat16 b) { return (short)b.__x; }
__DL_BOTH __nv_bfloat16 __short_as_bfloat16(short bits) { return __ushort_as_bfloat16((unsigned short)bits); }
__DL_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__DL_BOTH __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.x, v.x); }
__DL_BOTH __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.y, v.y); }
__DL_BOTH __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
__DL_BOTH __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
