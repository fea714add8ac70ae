// Arithmetic on the two halves or the four bytes of a word: __vadd2, __vmaxu4, __vcmpgts2, __vsads4, ...
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
#undef __DL_PARTS
#undef __DL_PARTS1
#undef __DL_SUMS
#undef __DL_BOUNDED
#undef __DL_COMPARED
#undef __DL_SIMD
