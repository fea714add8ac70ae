// Conversions with a rounding mode, and bits reinterpreted: __float2int_rn, __double2ull_rz, __int_as_float, ...
#pragma once
#include "drawloom/qualifiers.h"

// The PTX rounding of each suffix: to integers, and to floats.
#define __DL_FOUR(X, ...) X(rn, "rni", ".rn", __VA_ARGS__) X(rz, "rzi", ".rz", __VA_ARGS__) \
                          X(ru, "rpi", ".rp", __VA_ARGS__) X(rd, "rmi", ".rm", __VA_ARGS__)
#define __DL_TO_INTEGER(mode, i, f, name, T, to, F, from, C, D)                                     \
  __DL_DEVICE T name##_##mode(F x) {                                                                \
    T v;                                                                                            \
    asm("cvt." i "." to "." from " %0, %1;" : "=" C(v) : D(x));                                     \
    return v;                                                                                       \
  }
#define __DL_TO_FLOAT(mode, i, f, name, T, to, F, from, C, D)                                       \
  __DL_DEVICE T name##_##mode(F x) {                                                                \
    T v;                                                                                            \
    asm("cvt" f "." to "." from " %0, %1;" : "=" C(v) : D(x));                                      \
    return v;                                                                                       \
  }
__DL_FOUR(__DL_TO_INTEGER, __float2int, int, "s32", float, "f32", "r", "f")
__DL_FOUR(__DL_TO_INTEGER, __float2uint, unsigned int, "u32", float, "f32", "r", "f")
__DL_FOUR(__DL_TO_INTEGER, __float2ll, long long, "s64", float, "f32", "l", "f")
__DL_FOUR(__DL_TO_INTEGER, __float2ull, unsigned long long, "u64", float, "f32", "l", "f")
__DL_FOUR(__DL_TO_INTEGER, __double2int, int, "s32", double, "f64", "r", "d")
__DL_FOUR(__DL_TO_INTEGER, __double2uint, unsigned int, "u32", double, "f64", "r", "d")
__DL_FOUR(__DL_TO_INTEGER, __double2ll, long long, "s64", double, "f64", "l", "d")
__DL_FOUR(__DL_TO_INTEGER, __double2ull, unsigned long long, "u64", double, "f64", "l", "d")
__DL_FOUR(__DL_TO_FLOAT, __int2float, float, "f32", int, "s32", "f", "r")
__DL_FOUR(__DL_TO_FLOAT, __uint2float, float, "f32", unsigned int, "u32", "f", "r")
__DL_FOUR(__DL_TO_FLOAT, __ll2float, float, "f32", long long, "s64", "f", "l")
__DL_FOUR(__DL_TO_FLOAT, __ull2float, float, "f32", unsigned long long, "u64", "f", "l")
__DL_FOUR(__DL_TO_FLOAT, __ll2double, double, "f64", long long, "s64", "d", "l")
__DL_FOUR(__DL_TO_FLOAT, __ull2double, double, "f64", unsigned long long, "u64", "d", "l")
__DL_FOUR(__DL_TO_FLOAT, __double2float, float, "f32", double, "f64", "f", "d")
__DL_DEVICE double __int2double_rn(int x) { return x; }
__DL_DEVICE double __uint2double_rn(unsigned int x) { return x; }
#undef __DL_FOUR
#undef __DL_TO_INTEGER
#undef __DL_TO_FLOAT

#define __DL_BITS(name, T, F)                  \
  __DL_DEVICE T name(F x) {                    \
    T bits;                                    \
    __builtin_memcpy(&bits, &x, sizeof(T));    \
    return bits;                               \
  }
__DL_BITS(__float_as_int, int, float)
__DL_BITS(__float_as_uint, unsigned int, float)
__DL_BITS(__int_as_float, float, int)
__DL_BITS(__uint_as_float, float, unsigned int)
__DL_BITS(__double_as_longlong, long long, double)
__DL_BITS(__longlong_as_double, double, long long)
#undef __DL_BITS
__DL_DEVICE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__DL_DEVICE int __double2loint(double x) { return (int)__double_as_longlong(x); }
__DL_DEVICE double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned int)hi << 32 | (unsigned int)lo));
}
