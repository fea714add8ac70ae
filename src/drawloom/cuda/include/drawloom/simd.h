// Arithmetic on the two halves or the four bytes of a word: __vadd2, __vmaxu4, __vcmpgts2, __vsads4, __vimax3_s16x2 ...
#pragma once
#include "drawloom/qualifiers.h"

// A word whose parts are `value`, of the parts x and y of two words.
#define __DL_PARTS(name, bits, T, value)                                                    \
  __DL_DEVICE unsigned int name(unsigned int a, unsigned int b) {                           \
    unsigned int word = 0;                                                                  \
    for (int at = 0; at < 32; at += bits) {                                                 \
      int x = (T)(a >> at), y = (T)(b >> at);                                               \
      int low = (T)-1 < 0 ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;           \
      (void)x, (void)y, (void)low, (void)high;                                              \
      word |= ((unsigned int)(value) & ((1u << bits) - 1)) << at;                           \
    }                                                                                       \
    return word;                                                                            \
  }
#define __DL_PARTS1(name, bits, T, value)                                                   \
  __DL_PARTS(__dl_##name, bits, T, value)                                                   \
  __DL_DEVICE unsigned int name(unsigned int a) { return __dl_##name(a, 0); }
#define __DL_SUMS(name, bits, T)                                                            \
  __DL_DEVICE unsigned int name(unsigned int a, unsigned int b) {                           \
    unsigned int sum = 0;                                                                   \
    for (int at = 0; at < 32; at += bits) {                                                 \
      int x = (T)(a >> at), y = (T)(b >> at);                                               \
      sum += x > y ? x - y : y - x;                                                         \
    }                                                                                       \
    return sum;                                                                             \
  }
#define __DL_BOUNDED(v) ((v) < low ? low : (v) > high ? high : (v))
#define __DL_COMPARED(kind, N, bits, S, U, value)                                           \
  __DL_PARTS(__v##kind##eq##N, bits, U, x == y ? value : 0)                                 \
  __DL_PARTS(__v##kind##ne##N, bits, U, x != y ? value : 0)                                 \
  __DL_PARTS(__v##kind##gts##N, bits, S, x > y ? value : 0)                                 \
  __DL_PARTS(__v##kind##gtu##N, bits, U, x > y ? value : 0)                                 \
  __DL_PARTS(__v##kind##ges##N, bits, S, x >= y ? value : 0)                                \
  __DL_PARTS(__v##kind##geu##N, bits, U, x >= y ? value : 0)                                \
  __DL_PARTS(__v##kind##lts##N, bits, S, x < y ? value : 0)                                 \
  __DL_PARTS(__v##kind##ltu##N, bits, U, x < y ? value : 0)                                 \
  __DL_PARTS(__v##kind##les##N, bits, S, x <= y ? value : 0)                                \
  __DL_PARTS(__v##kind##leu##N, bits, U, x <= y ? value : 0)
#define __DL_SIMD(N, bits, S, U)                                                            \
  __DL_PARTS(__vadd##N, bits, U, x + y)                                                     \
  __DL_PARTS(__vsub##N, bits, U, x - y)                                                     \
  __DL_PARTS(__vaddss##N, bits, S, __DL_BOUNDED(x + y))                                     \
  __DL_PARTS(__vaddus##N, bits, U, __DL_BOUNDED(x + y))                                     \
  __DL_PARTS(__vsubss##N, bits, S, __DL_BOUNDED(x - y))                                     \
  __DL_PARTS(__vsubus##N, bits, U, __DL_BOUNDED(x - y))                                     \
  __DL_PARTS(__vhaddu##N, bits, U, (x + y) >> 1)                                            \
  __DL_PARTS(__vavgu##N, bits, U, (x + y + 1) >> 1)                                         \
  __DL_PARTS(__vavgs##N, bits, S, (x + y + (x + y >= 0)) >> 1)                              \
  __DL_PARTS(__vmaxs##N, bits, S, x > y ? x : y)                                            \
  __DL_PARTS(__vmaxu##N, bits, U, x > y ? x : y)                                            \
  __DL_PARTS(__vmins##N, bits, S, x < y ? x : y)                                            \
  __DL_PARTS(__vminu##N, bits, U, x < y ? x : y)                                            \
  __DL_PARTS(__vabsdiffs##N, bits, S, x > y ? x - y : y - x)                                \
  __DL_PARTS(__vabsdiffu##N, bits, U, x > y ? x - y : y - x)                                \
  __DL_PARTS1(__vabs##N, bits, S, x < 0 ? -x : x)                                           \
  __DL_PARTS1(__vabsss##N, bits, S, __DL_BOUNDED(x < 0 ? -x : x))                           \
  __DL_PARTS1(__vneg##N, bits, S, -x)                                                       \
  __DL_PARTS1(__vnegss##N, bits, S, __DL_BOUNDED(-x))                                       \
  __DL_SUMS(__vsads##N, bits, S)                                                            \
  __DL_SUMS(__vsadu##N, bits, U)                                                            \
  __DL_COMPARED(cmp, N, bits, S, U, -1)                                                     \
  __DL_COMPARED(set, N, bits, S, U, 1)
__DL_SIMD(2, 16, short, unsigned short)
__DL_SIMD(4, 8, signed char, unsigned char)

// Largest and smallest of sums and of three, each also not below zero: of words and of two halves of one (DPX).
template <class T> __DL_DEVICE T __dl_sum(T a, T b) { return (T)((unsigned int)a + (unsigned int)b); }
template <class T> __DL_DEVICE T __dl_largest(T a, T b) { return a > b ? a : b; }
template <class T> __DL_DEVICE T __dl_smallest(T a, T b) { return a < b ? a : b; }
#define __DL_OF_THREE(name, T, value)                                                       \
  __DL_DEVICE T name(T a, T b, T c) {                                                       \
    (void)c;                                                                                \
    return value;                                                                           \
  }
#define __DL_OF_THREE_HALVES(name, T, value)                                                \
  __DL_DEVICE unsigned int name(unsigned int p, unsigned int q, unsigned int r) {           \
    unsigned int word = 0;                                                                  \
    for (int at = 0; at < 32; at += 16) {                                                   \
      T a = (T)(p >> at), b = (T)(q >> at), c = (T)(r >> at);                               \
      (void)c;                                                                              \
      word |= (unsigned int)(unsigned short)(value) << at;                                  \
    }                                                                                       \
    return word;                                                                            \
  }
#define __DL_DPX(name, value)                                                               \
  __DL_OF_THREE(name##_s32, int, value)                                                     \
  __DL_OF_THREE(name##_u32, unsigned int, value)                                            \
  __DL_OF_THREE(name##_s32_relu, int, __dl_largest(value, 0))                               \
  __DL_OF_THREE_HALVES(name##_s16x2, short, value)                                          \
  __DL_OF_THREE_HALVES(name##_u16x2, unsigned short, value)                                 \
  __DL_OF_THREE_HALVES(name##_s16x2_relu, short, __dl_largest(value, (short)0))
__DL_DPX(__viaddmax, __dl_largest(__dl_sum(a, b), c))
__DL_DPX(__viaddmin, __dl_smallest(__dl_sum(a, b), c))
__DL_DPX(__vimax3, __dl_largest(__dl_largest(a, b), c))
__DL_DPX(__vimin3, __dl_smallest(__dl_smallest(a, b), c))
__DL_OF_THREE_HALVES(__dl_vimax_relu, short, __dl_largest(__dl_largest(a, b), (short)0))
__DL_OF_THREE_HALVES(__dl_vimin_relu, short, __dl_largest(__dl_smallest(a, b), (short)0))
__DL_DEVICE int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
__DL_DEVICE int __vimin_s32_relu(int a, int b) { return __dl_largest(__dl_smallest(a, b), 0); }
__DL_DEVICE unsigned int __vimax_s16x2_relu(unsigned int a, unsigned int b) { return __dl_vimax_relu(a, b, 0); }
__DL_DEVICE unsigned int __vimin_s16x2_relu(unsigned int a, unsigned int b) { return __dl_vimin_relu(a, b, 0); }
// Largest and smallest, and whether it is the first.
#define __DL_WITH_CHOICE(kind, of_two, sign)                                                \
  __DL_DEVICE int __vib##kind##_s32(int a, int b, bool *first) {                            \
    return *first = a sign b, of_two(a, b);                                                 \
  }                                                                                         \
  __DL_DEVICE unsigned int __vib##kind##_u32(unsigned int a, unsigned int b, bool *first) { \
    return *first = a sign b, of_two(a, b);                                                 \
  }                                                                                         \
  __DL_DEVICE unsigned int __vib##kind##_s16x2(unsigned int a, unsigned int b, bool *high, bool *low) { \
    *high = (short)(a >> 16) sign (short)(b >> 16), *low = (short)a sign (short)b;          \
    return (a & (*high ? 0xffff0000u : 0u)) | (b & (*high ? 0u : 0xffff0000u)) | ((*low ? a : b) & 0xffffu); \
  }                                                                                         \
  __DL_DEVICE unsigned int __vib##kind##_u16x2(unsigned int a, unsigned int b, bool *high, bool *low) { \
    *high = a >> 16 sign b >> 16, *low = (a & 0xffffu) sign (b & 0xffffu);                  \
    return (a & (*high ? 0xffff0000u : 0u)) | (b & (*high ? 0u : 0xffff0000u)) | ((*low ? a : b) & 0xffffu); \
  }
__DL_WITH_CHOICE(max, __dl_largest, >=)
__DL_WITH_CHOICE(min, __dl_smallest, <=)
#undef __DL_OF_THREE
#undef __DL_OF_THREE_HALVES
#undef __DL_DPX
#undef __DL_WITH_CHOICE
#undef __DL_PARTS
#undef __DL_PARTS1
#undef __DL_SUMS
#undef __DL_BOUNDED
#undef __DL_COMPARED
#undef __DL_SIMD
