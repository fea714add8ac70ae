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
  __attribute__((host, device)) __nv_bfloat16(T v) : __x(__dl_bfloat16_bits(__dl_odd((double)v))) {}
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
__DL_BOTH __nv_bfloat16 __float2bfloat16_rz(float f) {
  unsigned int bits;
  __builtin_memcpy(&bits, &f, 4);
  return __nv_bfloat16(__nv_bfloat16_raw{f != f ? (unsigned short)0x7fff : (unsigned short)(bits >> 16)});
}
__DL_BOTH __nv_bfloat16 __double2bfloat16(double d) { return __nv_bfloat16(d); }
__DL_BOTH __nv_bfloat16 __int2bfloat16_rn(int v) { return __nv_bfloat16(v); }
__DL_BOTH __nv_bfloat16 __uint2bfloat16_rn(unsigned int v) { return __nv_bfloat16(v); }
__DL_DEVICE int __bfloat162int_rn(__nv_bfloat16 b) { return (int)__builtin_rintf(b); }
__DL_DEVICE int __bfloat162int_rz(__nv_bfloat16 b) { return (int)(float)b; }
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
