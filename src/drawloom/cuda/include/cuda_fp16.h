// Half precision: __half and __half2, their conversions, arithmetic and functions.
#pragma once
#include <cuda_runtime.h>
#include "drawloom/small_floats.h"

struct __half_raw { unsigned short x; };
// The bits of the nearest half, and the float of a half; clangs before 19 have no _Float16 on the device.
#if defined(__CUDA_ARCH__) && __clang_major__ < 19
__DL_DEVICE unsigned short __dl_half_bits(float f) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(f));
  return bits;
}
__DL_DEVICE unsigned short __dl_half_bits(double d) {
  unsigned short bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(d));
  return bits;
}
__DL_DEVICE float __dl_half_value(unsigned short bits) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
  return f;
}
#else
template <class T> __DL_BOTH unsigned short __dl_half_bits(T v) {
  _Float16 h = (_Float16)v;
  unsigned short bits;
  __builtin_memcpy(&bits, &h, 2);
  return bits;
}
__DL_BOTH float __dl_half_value(unsigned short bits) {
  _Float16 h;
  __builtin_memcpy(&h, &bits, 2);
  return (float)h;
}
#endif
struct __half {
  unsigned short __x;
  __half() = default;
  __attribute__((host, device)) __half(__half_raw raw) : __x(raw.x) {}
  __attribute__((host, device)) __half(float f) : __x(__dl_half_bits(f)) {}
  __attribute__((host, device)) __half(double d) : __x(__dl_half_bits(d)) {}
  // Integers whose floats are rounded are beyond every half.
  template <class T, class = typename __dl_double_for<__is_integral(T)>::type>
  __attribute__((host, device)) __half(T v) : __x(__dl_half_bits((float)v)) {}
  __attribute__((host, device)) operator float() const { return __dl_half_value(__x); }
  __attribute__((host, device)) operator __half_raw() const { return __half_raw{__x}; }
};
__DL_BOTH float __dl_wide(__half h) { return __dl_half_value(h.__x); }
__DL_BOTH __half __dl_narrow___half(float f) { return __half(f); }
__DL_BOTH __half __hfma(__half a, __half b, __half c) {
#ifdef __CUDA_ARCH__
  __half d;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(d.__x) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
  return d;
#else
  return __half(__dl_odd_fma(__dl_wide(a), __dl_wide(b), __dl_wide(c)));
#endif
}
__DL_SMALL_FLOAT(__half, __half2)
#if __DL_SINCE(700)
__DL_DEVICE __half atomicAdd(__half *address, __half value) {
  __half old;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old.__x) : "l"(address), "h"(value.__x) : "memory");
  return old;
}
__DL_DEVICE __half2 atomicAdd(__half2 *address, __half2 value) {
  unsigned int old, added;
  __builtin_memcpy(&added, &value, 4);
  asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(added) : "memory");
  __builtin_memcpy(&value, &old, 4);
  return value;
}
#else
__DL_SMALL_ATOMIC(__half, __half2)
#endif
typedef __half half;
typedef __half2 half2;

__DL_BOTH __half2 make_half2(__half x, __half y) { return __half2(x, y); }
__DL_BOTH __half __float2half(float f) { return __half(f); }
__DL_BOTH __half __float2half_rn(float f) { return __half(f); }
__DL_BOTH __half __double2half(double d) { return __half(d); }
__DL_BOTH float __half2float(__half h) { return __dl_wide(h); }
#define __DL_ROUNDED_HALF(mode, round)                                            \
  __DL_DEVICE __half __float2half_##mode(float f) {                               \
    __half h;                                                                     \
    asm("cvt" round ".f16.f32 %0, %1;" : "=h"(h.__x) : "f"(f));                   \
    return h;                                                                     \
  }
__DL_ROUNDED_HALF(rz, ".rz")
__DL_ROUNDED_HALF(ru, ".rp")
__DL_ROUNDED_HALF(rd, ".rm")
#undef __DL_ROUNDED_HALF
// The half next to an integer in a direction: towards zero, upwards (1) or downwards (-1). Integers that a double does
// not hold are beyond every half.
template <class T> __DL_DEVICE __half __dl_half_beside(T v, int direction) {
  double d = (double)v;
  float f = direction > 0 ? __double2float_ru(d) : direction < 0 ? __double2float_rd(d) : __double2float_rz(d);
  return direction > 0 ? __float2half_ru(f) : direction < 0 ? __float2half_rd(f) : __float2half_rz(f);
}
#define __DL_HALF_INTEGER(T, name)                                                                  \
  __DL_DEVICE T __half2##name##_rn(__half h) { return (T)__builtin_rintf(__dl_wide(h)); }           \
  __DL_DEVICE T __half2##name##_rz(__half h) { return (T)__dl_wide(h); }                            \
  __DL_DEVICE T __half2##name##_ru(__half h) { return (T)__builtin_ceilf(__dl_wide(h)); }           \
  __DL_DEVICE T __half2##name##_rd(__half h) { return (T)__builtin_floorf(__dl_wide(h)); }          \
  __DL_BOTH __half __##name##2half_rn(T v) { return __half(v); }                                    \
  __DL_DEVICE __half __##name##2half_rz(T v) { return __dl_half_beside(v, 0); }                     \
  __DL_DEVICE __half __##name##2half_ru(T v) { return __dl_half_beside(v, 1); }                     \
  __DL_DEVICE __half __##name##2half_rd(T v) { return __dl_half_beside(v, -1); }
__DL_HALF_INTEGER(int, int)
__DL_HALF_INTEGER(unsigned int, uint)
__DL_HALF_INTEGER(short, short)
__DL_HALF_INTEGER(unsigned short, ushort)
__DL_HALF_INTEGER(long long, ll)
__DL_HALF_INTEGER(unsigned long long, ull)
#undef __DL_HALF_INTEGER
__DL_DEVICE signed char __half2char_rz(__half h) {
  return (signed char)min(max(__float2int_rz(__dl_wide(h)), -128), 127);
}
__DL_DEVICE unsigned char __half2uchar_rz(__half h) {
  return (unsigned char)min(max(__float2int_rz(__dl_wide(h)), 0), 255);
}
__DL_BOTH __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
__DL_BOTH __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
__DL_BOTH __half2 __float2half2_rn(float f) { return __floats2half2_rn(f, f); }
__DL_BOTH float2 __half22float2(__half2 v) { return float2{__dl_wide(v.x), __dl_wide(v.y)}; }
__DL_BOTH __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
__DL_BOTH __half2 __half2half2(__half h) { return __half2(h, h); }
__DL_BOTH __half __low2half(__half2 v) { return v.x; }
__DL_BOTH __half __high2half(__half2 v) { return v.y; }
__DL_BOTH __half2 __low2half2(__half2 v) { return __half2(v.x, v.x); }
__DL_BOTH __half2 __high2half2(__half2 v) { return __half2(v.y, v.y); }
__DL_BOTH __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
__DL_BOTH __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
__DL_BOTH __half2 __lowhigh2highlow(__half2 v) { return __half2(v.y, v.x); }
__DL_BOTH short __half_as_short(__half h) { return (short)h.__x; }
__DL_BOTH unsigned short __half_as_ushort(__half h) { return h.__x; }
__DL_BOTH __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{bits}); }
__DL_BOTH __half __short_as_half(short bits) { return __ushort_as_half((unsigned short)bits); }
