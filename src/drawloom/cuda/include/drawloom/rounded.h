// Arithmetic with a rounding mode, which is never contracted: __fadd_rn, __fmaf_rz, __ddiv_ru, __fsqrt_rd, ...
#pragma once
#include "drawloom/qualifiers.h"

#define __DL_ROUNDED(mode, round)                                            \
  __DL_BINARY(__fadd_##mode, "add" round ".f32", float, "f")                 \
  __DL_BINARY(__fsub_##mode, "sub" round ".f32", float, "f")                 \
  __DL_BINARY(__fmul_##mode, "mul" round ".f32", float, "f")                 \
  __DL_BINARY(__fdiv_##mode, "div" round ".f32", float, "f")                 \
  __DL_UNARY(__frcp_##mode, "rcp" round ".f32", float, "f")                  \
  __DL_UNARY(__fsqrt_##mode, "sqrt" round ".f32", float, "f")                \
  __DL_TERNARY(__fmaf_##mode, "fma" round ".f32", float, "f")                \
  __DL_BINARY(__dadd_##mode, "add" round ".f64", double, "d")                \
  __DL_BINARY(__dsub_##mode, "sub" round ".f64", double, "d")                \
  __DL_BINARY(__dmul_##mode, "mul" round ".f64", double, "d")                \
  __DL_BINARY(__ddiv_##mode, "div" round ".f64", double, "d")                \
  __DL_UNARY(__drcp_##mode, "rcp" round ".f64", double, "d")                 \
  __DL_UNARY(__dsqrt_##mode, "sqrt" round ".f64", double, "d")               \
  __DL_TERNARY(__fma_##mode, "fma" round ".f64", double, "d")
#define __DL_UNARY(name, op, T, C)                                           \
  __DL_DEVICE T name(T a) {                                                  \
    T d;                                                                     \
    asm(op " %0, %1;" : "=" C(d) : C(a));                                    \
    return d;                                                                \
  }
#define __DL_BINARY(name, op, T, C)                                          \
  __DL_DEVICE T name(T a, T b) {                                             \
    T d;                                                                     \
    asm(op " %0, %1, %2;" : "=" C(d) : C(a), C(b));                          \
    return d;                                                                \
  }
#define __DL_TERNARY(name, op, T, C)                                         \
  __DL_DEVICE T name(T a, T b, T c) {                                        \
    T d;                                                                     \
    asm(op " %0, %1, %2, %3;" : "=" C(d) : C(a), C(b), C(c));                \
    return d;                                                                \
  }
__DL_ROUNDED(rn, ".rn")
__DL_ROUNDED(rz, ".rz")
__DL_ROUNDED(ru, ".rp")
__DL_ROUNDED(rd, ".rm")
#undef __DL_ROUNDED
__DL_UNARY(__saturatef, "cvt.sat.f32.f32", float, "f")
// The short instructions, as accurate as they are.
__DL_BINARY(__fdividef, "div.approx.f32", float, "f")
__DL_UNARY(__sinf, "sin.approx.f32", float, "f")
__DL_UNARY(__cosf, "cos.approx.f32", float, "f")
__DL_UNARY(__dl_ex2_approx, "ex2.approx.f32", float, "f")
__DL_UNARY(__dl_lg2_approx, "lg2.approx.f32", float, "f")
__DL_UNARY(__dl_rsqrt_approx, "rsqrt.approx.f32", float, "f")
#undef __DL_UNARY
#undef __DL_BINARY
#undef __DL_TERNARY

// Right for every float: the quotient of doubles is never so near to the middle of two floats that its error counts.
__DL_DEVICE float __frsqrt_rn(float x) { return (float)__ddiv_rn(1.0, __dsqrt_rn((double)x)); }
__DL_DEVICE float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
__DL_DEVICE void __sincosf(float x, float *s, float *c) { *s = __sinf(x), *c = __cosf(x); }
__DL_DEVICE float __log2f(float x) { return __dl_lg2_approx(x); }
__DL_DEVICE float __logf(float x) { return __dl_lg2_approx(x) * 0x1.62e43p-1f; }
__DL_DEVICE float __log10f(float x) { return __dl_lg2_approx(x) * 0x1.344136p-2f; }
__DL_DEVICE float __exp2f(float x) { return __dl_ex2_approx(x); }
__DL_DEVICE float __expf(float x) { return __dl_ex2_approx(x * 0x1.715476p0f); }
__DL_DEVICE float __exp10f(float x) { return __dl_ex2_approx(x * 0x1.a934fp1f); }
__DL_DEVICE float __powf(float x, float y) { return __dl_ex2_approx(y * __dl_lg2_approx(x)); }
