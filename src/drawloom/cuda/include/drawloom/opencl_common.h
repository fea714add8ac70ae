// Integer, common, geometric and relational functions of OpenCL C (1.2, sections 6.12.3 to 6.12.6).
#pragma once
#include "drawloom/opencl_math.h"

// The unsigned type of each integer type, and the integer type that comparisons of floats give.
typedef uchar __dl_unsigned_char, __dl_unsigned_uchar;
typedef ushort __dl_unsigned_short, __dl_unsigned_ushort;
typedef uint __dl_unsigned_int, __dl_unsigned_uint;
typedef ulong __dl_unsigned_long, __dl_unsigned_ulong;

#define __DL_INTEGER1(T, U)                                                                            \
  __DL_FN U abs(T x) { return x < 0 ? (U)0 - (U)x : (U)x; }                                            \
  __DL_FN U abs_diff(T x, T y) { return x > y ? (U)x - (U)y : (U)y - (U)x; }                           \
  __DL_FN T popcount(T x) { return __builtin_popcountl((ulong)(U)x); }                                 \
  __DL_FN T clz(T x) { return x ? __builtin_clzl((ulong)(U)x) - 8 * (8 - (int)sizeof(T)) : 8 * (int)sizeof(T); } \
  __DL_FN T ctz(T x) { return x ? __builtin_ctzl((ulong)(U)x) : 8 * (int)sizeof(T); }                  \
  __DL_FN T rotate(T x, T n) {                                                                         \
    int by = (int)n & (8 * (int)sizeof(T) - 1);                                                        \
    return by ? (T)((U)x << by | (U)x >> (8 * (int)sizeof(T) - by)) : x;                               \
  }                                                                                                    \
  __DL_FN T hadd(T x, T y) { return (x & y) + ((x ^ y) >> 1); }                                        \
  __DL_FN T rhadd(T x, T y) { return (x | y) - ((x ^ y) >> 1); }                                       \
  __DL_FN T add_sat(T x, T y) {                                                                        \
    T r;                                                                                               \
    if (!__builtin_add_overflow(x, y, &r)) return r;                                                   \
    return y < 0 ? __dl_least(x) : __dl_most(x);                                                       \
  }                                                                                                    \
  __DL_FN T sub_sat(T x, T y) {                                                                        \
    T r;                                                                                               \
    if (!__builtin_sub_overflow(x, y, &r)) return r;                                                   \
    return y > 0 ? __dl_least(x) : __dl_most(x);                                                       \
  }                                                                                                    \
  __DL_FN T mad_hi(T x, T y, T z) { return mul_hi(x, y) + z; }                                         \
  __DL_FN T mad_sat(T x, T y, T z) {                                                                   \
    T r;                                                                                               \
    if (!__builtin_mul_overflow(x, y, &r)) return add_sat(r, z);                                       \
    return __dl_far(mul_hi(x, y), (T)((U)x * (U)y), z);                                                \
  }                                                                                                    \
  __DL_FN T max(T x, T y) { return x < y ? y : x; }                                                    \
  __DL_FN T min(T x, T y) { return y < x ? y : x; }                                                    \
  __DL_FN T clamp(T x, T low, T high) { return min(max(x, low), high); }
#define __DL_LIMITS(T, low, high)                   \
  __DL_FN T __dl_least(T x) { return low; }         \
  __DL_FN T __dl_most(T x) { return high; }
__DL_LIMITS(char, SCHAR_MIN, SCHAR_MAX)
__DL_LIMITS(uchar, 0, UCHAR_MAX)
__DL_LIMITS(short, SHRT_MIN, SHRT_MAX)
__DL_LIMITS(ushort, 0, USHRT_MAX)
__DL_LIMITS(int, INT_MIN, INT_MAX)
__DL_LIMITS(uint, 0, UINT_MAX)
__DL_LIMITS(long, LONG_MIN, LONG_MAX)
__DL_LIMITS(ulong, 0, ULONG_MAX)
#define __DL_MUL_HI(T, Wide) __DL_FN T mul_hi(T x, T y) { return (T)(((Wide)x * (Wide)y) >> 8 * sizeof(T)); }
__DL_MUL_HI(char, int)
__DL_MUL_HI(uchar, uint)
__DL_MUL_HI(short, int)
__DL_MUL_HI(ushort, uint)
__DL_MUL_HI(int, long)
__DL_MUL_HI(uint, ulong)
__DL_FN long mul_hi(long x, long y) {
  long high;
  __asm("mul.hi.s64 %0, %1, %2;" : "=l"(high) : "l"(x), "l"(y));
  return high;
}
__DL_FN ulong mul_hi(ulong x, ulong y) { return __dl_umulhi64(x, y); }
// What saturates when a product of two words (high, low) does not fit: adding z may bring it back only from the word
// just beside.
#define __DL_FAR(T, U, is_signed)                                                                      \
  __DL_FN T __dl_far(T high, T low, T z) {                                                             \
    U sum = (U)low + (U)z;                                                                             \
    T top = high + (T)(sum < (U)low) - (T)(is_signed && z < 0);                                        \
    if (is_signed && top == ((T)sum < 0 ? (T)-1 : (T)0)) return (T)sum;                                \
    return top < 0 ? __dl_least(z) : __dl_most(z);                                                     \
  }
__DL_FAR(char, uchar, 1)
__DL_FAR(uchar, uchar, 0)
__DL_FAR(short, ushort, 1)
__DL_FAR(ushort, ushort, 0)
__DL_FAR(int, uint, 1)
__DL_FAR(uint, uint, 0)
__DL_FAR(long, ulong, 1)
__DL_FAR(ulong, ulong, 0)
#define __DL_INTEGER(T, U)                                            \
  __DL_INTEGER1(T, U)                                                 \
  __DL_LENGTHS(__DL_EACH1, abs, U, T)                                 \
  __DL_LENGTHS(__DL_EACH2, abs_diff, U, T, T)                         \
  __DL_LENGTHS(__DL_EACH1, popcount, T, T)                            \
  __DL_LENGTHS(__DL_EACH1, clz, T, T)                                 \
  __DL_LENGTHS(__DL_EACH1, ctz, T, T)                                 \
  __DL_LENGTHS(__DL_EACH2, rotate, T, T, T)                           \
  __DL_LENGTHS(__DL_EACH2, hadd, T, T, T)                             \
  __DL_LENGTHS(__DL_EACH2, rhadd, T, T, T)                            \
  __DL_LENGTHS(__DL_EACH2, add_sat, T, T, T)                          \
  __DL_LENGTHS(__DL_EACH2, sub_sat, T, T, T)                          \
  __DL_LENGTHS(__DL_EACH2, mul_hi, T, T, T)                           \
  __DL_LENGTHS(__DL_EACH3, mad_hi, T, T, T, T)                        \
  __DL_LENGTHS(__DL_EACH3, mad_sat, T, T, T, T)                       \
  __DL_BOUNDS(T)
#define __DL_CLAMP_SPREAD(T, N) \
  __DL_FN T##N clamp(T##N x, T low, T high) { return clamp(x, (T##N)(low), (T##N)(high)); }
// max, min and clamp of vectors, also against scalars.
#define __DL_BOUNDS(T)                                                \
  __DL_LENGTHS(__DL_EACH2, max, T, T, T)                              \
  __DL_LENGTHS(__DL_EACH2, min, T, T, T)                              \
  __DL_LENGTHS(__DL_EACH3, clamp, T, T, T, T)                         \
  __DL_LENGTHS(__DL_SPREAD2, max, T)                                  \
  __DL_LENGTHS(__DL_SPREAD2, min, T)                                  \
  __DL_LENGTHS(__DL_CLAMP_SPREAD, T)
__DL_INTEGER(char, uchar)
__DL_INTEGER(uchar, uchar)
__DL_INTEGER(short, ushort)
__DL_INTEGER(ushort, ushort)
__DL_INTEGER(int, uint)
__DL_INTEGER(uint, uint)
__DL_INTEGER(long, ulong)
__DL_INTEGER(ulong, ulong)
#define __DL_24(T)                                                                \
  __DL_FN T mul24(T x, T y) { return x * y; }                                     \
  __DL_FN T mad24(T x, T y, T z) { return x * y + z; }                            \
  __DL_LENGTHS(__DL_EACH2, mul24, T, T, T)                                        \
  __DL_LENGTHS(__DL_EACH3, mad24, T, T, T, T)
__DL_24(int)
__DL_24(uint)
#define __DL_UPSAMPLE(R, A, B)                                                            \
  __DL_FN R upsample(A high, B low) { return (R)high << 8 * (int)sizeof(A) | (R)low; }    \
  __DL_LENGTHS(__DL_EACH2, upsample, R, A, B)
__DL_UPSAMPLE(short, char, uchar)
__DL_UPSAMPLE(ushort, uchar, uchar)
__DL_UPSAMPLE(int, short, ushort)
__DL_UPSAMPLE(uint, ushort, ushort)
__DL_UPSAMPLE(long, int, uint)
__DL_UPSAMPLE(ulong, uint, uint)

#define __DL_COMMON1(T)                                                                          \
  __DL_FN T max(T x, T y) { return x < y ? y : x; }                                              \
  __DL_FN T min(T x, T y) { return y < x ? y : x; }                                              \
  __DL_FN T clamp(T x, T low, T high) { return fmin(fmax(x, low), high); }                       \
  __DL_FN T degrees(T x) { return x * (T)57.295779513082320877; }                                \
  __DL_FN T radians(T x) { return x * (T)0.017453292519943295769; }                              \
  __DL_FN T mix(T x, T y, T a) { return x + (y - x) * a; }                                       \
  __DL_FN T step(T edge, T x) { return x < edge ? (T)0 : (T)1; }                                 \
  __DL_FN T smoothstep(T low, T high, T x) {                                                     \
    T t = clamp((x - low) / (high - low), (T)0, (T)1);                                           \
    return t * t * (3 - 2 * t);                                                                  \
  }                                                                                              \
  __DL_FN T sign(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? x : (T)0; }               \
  __DL_FN T dot(T x, T y) { return x * y; }                                                      \
  __DL_FN T length(T x) { return fabs(x); }                                                      \
  __DL_FN T distance(T x, T y) { return fabs(x - y); }                                           \
  __DL_FN T normalize(T x) { return sign(x); }
#define __DL_COMMON_SPREAD(T, N)                                                                             \
  __DL_FN T##N mix(T##N x, T##N y, T a) { return mix(x, y, (T##N)(a)); }                                     \
  __DL_FN T##N step(T edge, T##N x) { return step((T##N)(edge), x); }                                        \
  __DL_FN T##N smoothstep(T low, T high, T##N x) { return smoothstep((T##N)(low), (T##N)(high), x); }
// Lengths are computed of vectors that are scaled by their largest element, so that no square overflows.
#define __DL_GEOMETRIC(T, N)                                                                     \
  __DL_FN T dot(T##N x, T##N y) {                                                                \
    T sum = x[0] * y[0];                                                                         \
    for (int i = 1; i < N; i++) sum += x[i] * y[i];                                              \
    return sum;                                                                                  \
  }                                                                                              \
  __DL_FN T length(T##N x) {                                                                     \
    T largest = fabs(x[0]);                                                                      \
    for (int i = 1; i < N; i++) largest = fmax(largest, fabs(x[i]));                             \
    if (largest == 0 || __builtin_isinf(largest)) return largest;                                \
    int power = ilogb(largest);                                                                  \
    for (int i = 0; i < N; i++) x[i] = ldexp(x[i], -power);                                      \
    return ldexp(sqrt(dot(x, x)), power);                                                        \
  }                                                                                              \
  __DL_FN T distance(T##N x, T##N y) { return length(x - y); }                                   \
  __DL_FN T##N normalize(T##N x) {                                                               \
    T size = length(x);                                                                          \
    return size == 0 ? x : x / size;                                                             \
  }
#define __DL_COMMON(T)                                                                           \
  __DL_COMMON1(T)                                                                                \
  __DL_BOUNDS(T)                                                                                 \
  __DL_LENGTHS(__DL_EACH1, degrees, T, T)                                                        \
  __DL_LENGTHS(__DL_EACH1, radians, T, T)                                                        \
  __DL_LENGTHS(__DL_EACH1, sign, T, T)                                                           \
  __DL_LENGTHS(__DL_EACH2, step, T, T, T)                                                        \
  __DL_LENGTHS(__DL_EACH3, mix, T, T, T, T)                                                      \
  __DL_LENGTHS(__DL_EACH3, smoothstep, T, T, T, T)                                               \
  __DL_LENGTHS(__DL_COMMON_SPREAD, T)                                                            \
  __DL_GEOMETRIC(T, 2)                                                                           \
  __DL_GEOMETRIC(T, 3)                                                                           \
  __DL_GEOMETRIC(T, 4)                                                                           \
  __DL_FN T##3 cross(T##3 x, T##3 y) { return x.yzx * y.zxy - x.zxy * y.yzx; }                   \
  __DL_FN T##4 cross(T##4 x, T##4 y) { return (T##4)(cross(x.xyz, y.xyz), (T)0); }
__DL_COMMON(float)
__DL_COMMON(double)
#define fast_length(x) length(x)
#define fast_distance(x, y) distance(x, y)
#define fast_normalize(x) normalize(x)

// Comparisons: 1 for scalars, all bits for elements of vectors.
#define __DL_COMPARE(name, test)                                                                   \
  __DL_FN int name(float x, float y) { return test; }                                              \
  __DL_FN int name(double x, double y) { return test; }                                            \
  __DL_FN int name(half x, half y) { return test; }                                                \
  __DL_LENGTHS(__DL_COMPARE_EACH, name, half, short)                                               \
  __DL_LENGTHS(__DL_COMPARE_EACH, name, float, int)                                                \
  __DL_LENGTHS(__DL_COMPARE_EACH, name, double, long)
#define __DL_COMPARE_EACH(name, T, I, N)                                                           \
  __DL_FN I##N name(T##N x, T##N y) {                                                              \
    I##N r;                                                                                        \
    for (int i = 0; i < N; i++) r[i] = -(I)name(x[i], y[i]);                                       \
    return r;                                                                                      \
  }
__DL_COMPARE(isequal, x == y)
__DL_COMPARE(isnotequal, x != y)
__DL_COMPARE(isgreater, x > y)
__DL_COMPARE(isgreaterequal, x >= y)
__DL_COMPARE(isless, x < y)
__DL_COMPARE(islessequal, x <= y)
__DL_COMPARE(islessgreater, x < y || x > y)
__DL_COMPARE(isordered, x == x && y == y)
__DL_COMPARE(isunordered, x != x || y != y)
#define __DL_CLASS(name, by)                                                                       \
  __DL_FN int name(float x) { return by(x); }                                                      \
  __DL_FN int name(double x) { return by(x); }                                                     \
  __DL_FN int name(half x) { return by(x); }                                                       \
  __DL_LENGTHS(__DL_CLASS_EACH, name, half, short)                                                 \
  __DL_LENGTHS(__DL_CLASS_EACH, name, float, int)                                                  \
  __DL_LENGTHS(__DL_CLASS_EACH, name, double, long)
#define __DL_CLASS_EACH(name, T, I, N)                                                             \
  __DL_FN I##N name(T##N x) {                                                                      \
    I##N r;                                                                                        \
    for (int i = 0; i < N; i++) r[i] = -(I)name(x[i]);                                             \
    return r;                                                                                      \
  }
__DL_CLASS(isfinite, __builtin_isfinite)
__DL_CLASS(isinf, !!__builtin_isinf)
__DL_CLASS(isnan, __builtin_isnan)
__DL_CLASS(isnormal, __builtin_isnormal)
__DL_CLASS(signbit, !!__builtin_signbit)

#define __DL_ANY_EACH(T, N)                                       \
  __DL_FN int any(T##N x) {                                       \
    int found = 0;                                                \
    for (int i = 0; i < N; i++) found |= x[i] < 0;                \
    return found;                                                 \
  }                                                               \
  __DL_FN int all(T##N x) {                                       \
    int found = 1;                                                \
    for (int i = 0; i < N; i++) found &= x[i] < 0;                \
    return found;                                                 \
  }
#define __DL_ANY(T)                                               \
  __DL_FN int any(T x) { return x < 0; }                          \
  __DL_FN int all(T x) { return x < 0; }                          \
  __DL_LENGTHS(__DL_ANY_EACH, T)
__DL_ANY(char)
__DL_ANY(short)
__DL_ANY(int)
__DL_ANY(long)

// select(a, b, c): b where c is not 0, and of vectors where its top bit is set.
#define __DL_SELECT_EACH(T, I, N)                                                       \
  __DL_FN T##N select(T##N a, T##N b, I##N c) {                                         \
    for (int i = 0; i < N; i++) a[i] = c[i] >> (8 * (int)sizeof(I) - 1) & 1 ? b[i] : a[i]; \
    return a;                                                                           \
  }
#define __DL_SELECT(T, I, U)                                                            \
  __DL_FN T select(T a, T b, I c) { return c ? b : a; }                                 \
  __DL_FN T select(T a, T b, U c) { return c ? b : a; }                                 \
  __DL_LENGTHS(__DL_SELECT_EACH, T, I)                                                  \
  __DL_LENGTHS(__DL_SELECT_EACH, T, U)
#define __DL_BITSELECT1(T, U)                                                           \
  __DL_FN T bitselect(T a, T b, T c) {                                                  \
    U x = __builtin_astype(a, U), y = __builtin_astype(b, U), mask = __builtin_astype(c, U); \
    return __builtin_astype((U)((x & ~mask) | (y & mask)), T);                          \
  }
#define __DL_BITSELECT(T, U) __DL_BITSELECT1(T, U) __DL_LENGTHS(__DL_EACH3, bitselect, T, T, T, T)
#define __DL_CHOICES(T, I, U) __DL_SELECT(T, I, U) __DL_BITSELECT(T, U)
__DL_CHOICES(char, char, uchar)
__DL_CHOICES(uchar, char, uchar)
__DL_CHOICES(short, short, ushort)
__DL_CHOICES(ushort, short, ushort)
__DL_CHOICES(int, int, uint)
__DL_CHOICES(uint, int, uint)
__DL_CHOICES(long, long, ulong)
__DL_CHOICES(ulong, long, ulong)
__DL_CHOICES(half, short, ushort)
__DL_CHOICES(float, int, uint)
__DL_CHOICES(double, long, ulong)
