// convert_T, convert_T_sat and their rounding modes (OpenCL C 1.2, section 6.2.3).
#pragma once
#include "drawloom/opencl_common.h"

// A float or an integer as a whole number in a mode, still in its own type.
#define __DL_WHOLE(mode, by)                                              \
  __DL_FN float __dl_rounded##mode(half x) { return by((float)x); }         \
  __DL_FN float __dl_rounded##mode(float x) { return by(x); }               \
  __DL_FN double __dl_rounded##mode(double x) { return by(x); }             \
  __DL_FN long __dl_rounded##mode(long x) { return x; }                     \
  __DL_FN ulong __dl_rounded##mode(ulong x) { return x; }                   \
  __DL_FN int __dl_rounded##mode(int x) { return x; }                       \
  __DL_FN uint __dl_rounded##mode(uint x) { return x; }                     \
  __DL_FN short __dl_rounded##mode(short x) { return x; }                   \
  __DL_FN ushort __dl_rounded##mode(ushort x) { return x; }                 \
  __DL_FN char __dl_rounded##mode(char x) { return x; }                     \
  __DL_FN uchar __dl_rounded##mode(uchar x) { return x; }
__DL_WHOLE(, trunc)
__DL_WHOLE(_rtz, trunc)
__DL_WHOLE(_rte, rint)
__DL_WHOLE(_rtp, ceil)
__DL_WHOLE(_rtn, floor)
// Whether a whole number lies below or above what T holds; of floats also what is no number, which becomes 0.
#define __DL_SATURATE(T, F, low, high, under, over) \
  __DL_FN T __dl_sat_##T(F x) { return x under low ? low : x over high ? high : x != x ? (T)0 : (T)x; }
#define __DL_SATURATE_SIGNED(T, low, high, above)                                        \
  __DL_SATURATE(T, float, low, high, <, >=) __DL_SATURATE(T, double, low, high, <, >=)   \
  __DL_FN T __dl_sat_##T(long x) { return x < (long)low ? low : x > (long)high ? high : (T)x; } \
  __DL_FN T __dl_sat_##T(ulong x) { return x > (ulong)high ? high : (T)x; }              \
  __DL_SAT_SMALL(T)
#define __DL_SATURATE_UNSIGNED(T, high)                                                  \
  __DL_SATURATE(T, float, 0, high, <, >=) __DL_SATURATE(T, double, 0, high, <, >=)       \
  __DL_FN T __dl_sat_##T(long x) { return x < 0 ? 0 : (ulong)x > (ulong)high ? high : (T)x; } \
  __DL_FN T __dl_sat_##T(ulong x) { return x > (ulong)high ? high : (T)x; }              \
  __DL_SAT_SMALL(T)
#define __DL_SAT_SMALL(T)                                                                \
  __DL_FN T __dl_sat_##T(int x) { return __dl_sat_##T((long)x); }                        \
  __DL_FN T __dl_sat_##T(uint x) { return __dl_sat_##T((ulong)x); }                      \
  __DL_FN T __dl_sat_##T(short x) { return __dl_sat_##T((long)x); }                      \
  __DL_FN T __dl_sat_##T(ushort x) { return __dl_sat_##T((ulong)x); }                    \
  __DL_FN T __dl_sat_##T(char x) { return __dl_sat_##T((long)x); }                       \
  __DL_FN T __dl_sat_##T(uchar x) { return __dl_sat_##T((ulong)x); }
__DL_SATURATE_SIGNED(char, SCHAR_MIN, SCHAR_MAX, )
__DL_SATURATE_SIGNED(short, SHRT_MIN, SHRT_MAX, )
__DL_SATURATE_SIGNED(int, INT_MIN, INT_MAX, )
__DL_SATURATE_SIGNED(long, LONG_MIN, LONG_MAX, )
__DL_SATURATE_UNSIGNED(uchar, UCHAR_MAX)
__DL_SATURATE_UNSIGNED(ushort, USHRT_MAX)
__DL_SATURATE_UNSIGNED(uint, UINT_MAX)
__DL_SATURATE_UNSIGNED(ulong, ULONG_MAX)

#define __DL_CONVERT1(T, F, name, value)                                  \
  __DL_FN T convert_##T##name(F x) { return value; }
#define __DL_CONVERT_EACH(T, F, name, N)                                  \
  __DL_FN T##N convert_##T##N##name(F##N x) {                             \
    T##N r;                                                               \
    for (int i = 0; i < N; i++) r[i] = convert_##T##name(x[i]);           \
    return r;                                                             \
  }
#define __DL_CONVERT_NAMED(T, F, name, value) \
  __DL_CONVERT1(T, F, name, value) __DL_LENGTHS(__DL_CONVERT_EACH, T, F, name)
#define __DL_TO_INTEGER(T, F)                                             \
  __DL_CONVERT_NAMED(T, F, , (T)x)                                        \
  __DL_CONVERT_NAMED(T, F, _sat, __dl_sat_##T(__dl_rounded(x)))
#define __DL_TO_INTEGER_IN(T, F, mode)                                    \
  __DL_CONVERT_NAMED(T, F, mode, (T)__dl_rounded##mode(x))                  \
  __DL_CONVERT_NAMED(T, F, _sat##mode, __dl_sat_##T(__dl_rounded##mode(x)))
#define __DL_FLOAT_TO_INTEGER(T, F)                                       \
  __DL_TO_INTEGER(T, F)                                                   \
  __DL_TO_INTEGER_IN(T, F, _rtz)                                          \
  __DL_TO_INTEGER_IN(T, F, _rte)                                          \
  __DL_TO_INTEGER_IN(T, F, _rtp)                                          \
  __DL_TO_INTEGER_IN(T, F, _rtn)
#define __DL_INTO(T)                                                      \
  __DL_TO_INTEGER(T, char)                                                \
  __DL_TO_INTEGER(T, uchar)                                               \
  __DL_TO_INTEGER(T, short)                                               \
  __DL_TO_INTEGER(T, ushort)                                              \
  __DL_TO_INTEGER(T, int)                                                 \
  __DL_TO_INTEGER(T, uint)                                                \
  __DL_TO_INTEGER(T, long)                                                \
  __DL_TO_INTEGER(T, ulong)                                               \
  __DL_FLOAT_TO_INTEGER(T, half)                                          \
  __DL_FLOAT_TO_INTEGER(T, float)                                         \
  __DL_FLOAT_TO_INTEGER(T, double)
__DL_INTEGERS(__DL_INTO)
// To floats in the mode of the device, the nearest; other modes where they are named for.
#define __DL_TO_FLOAT(T, F)                                               \
  __DL_CONVERT_NAMED(T, F, , (T)x)                                        \
  __DL_CONVERT_NAMED(T, F, _rte, (T)x)
#define __DL_FROM(F) __DL_TO_FLOAT(float, F) __DL_TO_FLOAT(double, F)
__DL_INTEGERS(__DL_FROM)
__DL_FLOATS(__DL_FROM)
__DL_CONVERT_NAMED(float, double, _rtz, __nvvm_d2f_rz(x))
__DL_CONVERT_NAMED(float, double, _rtp, __nvvm_d2f_rp(x))
__DL_CONVERT_NAMED(float, double, _rtn, __nvvm_d2f_rm(x))
__DL_CONVERT_NAMED(float, int, _rtz, __nvvm_i2f_rz(x))
__DL_CONVERT_NAMED(float, int, _rtp, __nvvm_i2f_rp(x))
__DL_CONVERT_NAMED(float, int, _rtn, __nvvm_i2f_rm(x))
__DL_CONVERT_NAMED(float, uint, _rtz, __nvvm_ui2f_rz(x))
__DL_CONVERT_NAMED(float, uint, _rtp, __nvvm_ui2f_rp(x))
__DL_CONVERT_NAMED(float, uint, _rtn, __nvvm_ui2f_rm(x))

// Modes that make no difference, as no digit is lost or a whole number is its own.
#define __DL_WHOLE_IN(T, F, mode)                                         \
  __DL_CONVERT_NAMED(T, F, mode, (T)x)                                    \
  __DL_CONVERT_NAMED(T, F, _sat##mode, __dl_sat_##T(x))
#define __DL_WHOLE_MODES(T, F) \
  __DL_WHOLE_IN(T, F, _rte) __DL_WHOLE_IN(T, F, _rtz) __DL_WHOLE_IN(T, F, _rtp) __DL_WHOLE_IN(T, F, _rtn)
#define __DL_WHOLE_INTO(T)                                                                            \
  __DL_WHOLE_MODES(T, char) __DL_WHOLE_MODES(T, uchar) __DL_WHOLE_MODES(T, short) __DL_WHOLE_MODES(T, ushort) \
  __DL_WHOLE_MODES(T, int) __DL_WHOLE_MODES(T, uint) __DL_WHOLE_MODES(T, long) __DL_WHOLE_MODES(T, ulong)
__DL_INTEGERS(__DL_WHOLE_INTO)
#define __DL_EXACT(T, F) \
  __DL_CONVERT_NAMED(T, F, _rtz, (T)x) __DL_CONVERT_NAMED(T, F, _rtp, (T)x) __DL_CONVERT_NAMED(T, F, _rtn, (T)x)
#define __DL_EXACT_SMALL(T) \
  __DL_EXACT(T, char) __DL_EXACT(T, uchar) __DL_EXACT(T, short) __DL_EXACT(T, ushort) __DL_EXACT(T, float)
__DL_FLOATS(__DL_EXACT_SMALL)
__DL_EXACT(double, int)
__DL_EXACT(double, uint)
__DL_EXACT(double, double)
// By PTX: clang's functions take a `long long`, which has 128 bits here.
#define __DL_LONG_BY(T, C, F, mode, ptx)                                  \
  static inline T __dl_##F##_to_##T##mode(F x) {                          \
    T y;                                                                  \
    __asm("cvt." ptx " %0, %1;" : "=" C(y) : "l"(x));                     \
    return y;                                                             \
  }                                                                       \
  __DL_CONVERT_NAMED(T, F, mode, __dl_##F##_to_##T##mode(x))
#define __DL_LONG_IN(T, C, F, types)           \
  __DL_LONG_BY(T, C, F, _rtz, "rz." types)     \
  __DL_LONG_BY(T, C, F, _rtp, "rp." types)     \
  __DL_LONG_BY(T, C, F, _rtn, "rm." types)
__DL_LONG_IN(float, "f", long, "f32.s64")
__DL_LONG_IN(float, "f", ulong, "f32.u64")
__DL_LONG_IN(double, "d", long, "f64.s64")
__DL_LONG_IN(double, "d", ulong, "f64.u64")
