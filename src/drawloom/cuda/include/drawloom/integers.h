// Bit and integer intrinsics, and min, max and abs of integers.
#pragma once
#include "drawloom/vector_types.h"

__DL_DEVICE int __popc(unsigned int x) { return __builtin_popcount(x); }
__DL_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__DL_DEVICE int __clz(int x) { return x ? __builtin_clz(x) : 32; }
__DL_DEVICE int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
__DL_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
__DL_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
__DL_DEVICE unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
__DL_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }

__DL_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
__DL_DEVICE unsigned int __umulhi(unsigned int a, unsigned int b) {
  return (unsigned int)(((unsigned long long)a * b) >> 32);
}
__DL_DEVICE long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
__DL_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
__DL_DEVICE int __mul24(int a, int b) { return (int)((unsigned int)(a << 8 >> 8) * (unsigned int)(b << 8 >> 8)); }
__DL_DEVICE unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffffu) * (b & 0xffffffu); }
__DL_DEVICE unsigned int __sad(int a, int b, unsigned int c) {
  return c + (a > b ? (unsigned int)a - (unsigned int)b : (unsigned int)b - (unsigned int)a);
}
__DL_DEVICE unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) { return c + (a > b ? a - b : b - a); }
__DL_DEVICE int __hadd(int a, int b) { return (a & b) + ((a ^ b) >> 1); }
__DL_DEVICE int __rhadd(int a, int b) { return (a | b) - ((a ^ b) >> 1); }
__DL_DEVICE unsigned int __uhadd(unsigned int a, unsigned int b) { return (a & b) + ((a ^ b) >> 1); }
__DL_DEVICE unsigned int __urhadd(unsigned int a, unsigned int b) { return (a | b) - ((a ^ b) >> 1); }
__DL_DEVICE unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
  unsigned int d;
  // The three low bits of each selector choose; its sign bit, which prmt would spread, is not part of the function.
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector & 0x7777u));
  return d;
}
__DL_DEVICE unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift) {
  return (unsigned int)((((unsigned long long)hi << 32 | lo) << (shift & 31)) >> 32);
}
__DL_DEVICE unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift) {
  return (unsigned int)(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}
__DL_DEVICE unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
__DL_DEVICE unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}
__DL_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  unsigned int found;
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(found) : "r"(mask), "r"(base), "r"(offset));
  return found;
}

#if __DL_SINCE(610)
#define __DL_DOT(name, op, T, A, B)                                                                    \
  __DL_DEVICE T name(A a, B b, T c) {                                                                  \
    T d;                                                                                               \
    unsigned int left, right;                                                                          \
    __builtin_memcpy(&left, &a, 4), __builtin_memcpy(&right, &b, 4);                                   \
    asm(op " %0, %1, %2, %3;" : "=r"(d) : "r"(left), "r"(right), "r"(c));                              \
    return d;                                                                                          \
  }
__DL_DOT(__dp4a, "dp4a.s32.s32", int, int, int)
__DL_DOT(__dp4a, "dp4a.u32.u32", unsigned int, unsigned int, unsigned int)
__DL_DOT(__dp4a, "dp4a.s32.s32", int, char4, char4)
__DL_DOT(__dp4a, "dp4a.u32.u32", unsigned int, uchar4, uchar4)
__DL_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, int, int)
__DL_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, unsigned int, unsigned int)
__DL_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, int, int)
__DL_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, unsigned int, unsigned int)
__DL_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, short2, char4)
__DL_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, short2, char4)
#undef __DL_DOT
#endif

#define __DL_MIN_MAX(A, B, T)                                                  \
  __DL_BOTH T min(A a, B b) { return (T)b < (T)a ? (T)b : (T)a; }              \
  __DL_BOTH T max(A a, B b) { return (T)a < (T)b ? (T)b : (T)a; }
__DL_MIN_MAX(int, int, int)
__DL_MIN_MAX(unsigned int, unsigned int, unsigned int)
__DL_MIN_MAX(int, unsigned int, unsigned int)
__DL_MIN_MAX(unsigned int, int, unsigned int)
__DL_MIN_MAX(long, long, long)
__DL_MIN_MAX(unsigned long, unsigned long, unsigned long)
__DL_MIN_MAX(long, unsigned long, unsigned long)
__DL_MIN_MAX(unsigned long, long, unsigned long)
__DL_MIN_MAX(long long, long long, long long)
__DL_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
__DL_MIN_MAX(long long, unsigned long long, unsigned long long)
__DL_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef __DL_MIN_MAX

__DL_DEVICE int abs(int x) { return __builtin_abs(x); }
__DL_DEVICE long abs(long x) { return __builtin_labs(x); }
__DL_DEVICE long long abs(long long x) { return __builtin_llabs(x); }
__DL_DEVICE long labs(long x) { return __builtin_labs(x); }
__DL_DEVICE long long llabs(long long x) { return __builtin_llabs(x); }
__DL_BOTH unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
__DL_BOTH unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
__DL_BOTH long long llmin(long long a, long long b) { return min(a, b); }
__DL_BOTH long long llmax(long long a, long long b) { return max(a, b); }
__DL_BOTH unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
__DL_BOTH unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
