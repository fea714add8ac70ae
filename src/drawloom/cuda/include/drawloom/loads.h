// Loads and stores with cache hints: __ldg, __ldca, __ldcg, __ldcs, __ldlu, __ldcv; __stwb, __stcg, __stcs, __stwt.
#pragma once
#include "drawloom/vector_types.h"

#define __DL_LOAD1(name, op, T, U, type, C)                                                      \
  __DL_DEVICE T name(const T *p) {                                                               \
    U v;                                                                                         \
    asm volatile("ld.global" op "." type " %0, [%1];" : "=" C(v) : "l"(__DL_GLOBAL(p)) : "memory"); \
    return (T)v;                                                                                 \
  }
#define __DL_LOAD2(name, op, T, U, type, C)                                                      \
  __DL_DEVICE T name(const T *p) {                                                               \
    U x, y;                                                                                      \
    asm volatile("ld.global" op ".v2." type " {%0, %1}, [%2];" : "=" C(x), "=" C(y)              \
                 : "l"(__DL_GLOBAL(p)) : "memory");                                              \
    T v;                                                                                         \
    v.x = x, v.y = y;                                                                            \
    return v;                                                                                    \
  }
#define __DL_LOAD4(name, op, T, U, type, C)                                                      \
  __DL_DEVICE T name(const T *p) {                                                               \
    U x, y, z, w;                                                                                \
    asm volatile("ld.global" op ".v4." type " {%0, %1, %2, %3}, [%4];"                           \
                 : "=" C(x), "=" C(y), "=" C(z), "=" C(w) : "l"(__DL_GLOBAL(p)) : "memory");     \
    T v;                                                                                         \
    v.x = x, v.y = y, v.z = z, v.w = w;                                                          \
    return v;                                                                                    \
  }
#define __DL_STORE1(name, op, T, U, type, C)                                                     \
  __DL_DEVICE void name(T *p, T v) {                                                             \
    asm volatile("st.global" op "." type " [%0], %1;" ::"l"(__DL_GLOBAL(p)), C((U)v) : "memory"); \
  }
#define __DL_STORE2(name, op, T, U, type, C)                                                     \
  __DL_DEVICE void name(T *p, T v) {                                                             \
    asm volatile("st.global" op ".v2." type " [%0], {%1, %2};" ::"l"(__DL_GLOBAL(p)), C((U)v.x), \
                 C((U)v.y) : "memory");                                                          \
  }
#define __DL_STORE4(name, op, T, U, type, C)                                                     \
  __DL_DEVICE void name(T *p, T v) {                                                             \
    asm volatile("st.global" op ".v4." type " [%0], {%1, %2, %3, %4};" ::"l"(__DL_GLOBAL(p)),    \
                 C((U)v.x), C((U)v.y), C((U)v.z), C((U)v.w) : "memory");                         \
  }
// The global address of a generic pointer: what the functions of this file are defined for.
#define __DL_GLOBAL(p) ((unsigned long long)(const __attribute__((address_space(1))) void *)(p))

// (lanes, vector type, register type, PTX type, constraint)
#define __DL_EVERY(X, name, op)                                              \
  X##1(name, op, char, short, "s8", "h")                                     \
  X##1(name, op, signed char, short, "s8", "h")                              \
  X##1(name, op, unsigned char, unsigned short, "u8", "h")                   \
  X##1(name, op, short, short, "s16", "h")                                   \
  X##1(name, op, unsigned short, unsigned short, "u16", "h")                 \
  X##1(name, op, int, int, "s32", "r")                                       \
  X##1(name, op, unsigned int, unsigned int, "u32", "r")                     \
  X##1(name, op, long, long, "s64", "l")                                     \
  X##1(name, op, unsigned long, unsigned long, "u64", "l")                   \
  X##1(name, op, long long, long long, "s64", "l")                           \
  X##1(name, op, unsigned long long, unsigned long long, "u64", "l")         \
  X##1(name, op, float, float, "f32", "f")                                   \
  X##1(name, op, double, double, "f64", "d")                                 \
  X##2(name, op, char2, short, "s8", "h")                                    \
  X##2(name, op, uchar2, unsigned short, "u8", "h")                          \
  X##2(name, op, short2, short, "s16", "h")                                  \
  X##2(name, op, ushort2, unsigned short, "u16", "h")                        \
  X##2(name, op, int2, int, "s32", "r")                                      \
  X##2(name, op, uint2, unsigned int, "u32", "r")                            \
  X##2(name, op, longlong2, long long, "s64", "l")                           \
  X##2(name, op, ulonglong2, unsigned long long, "u64", "l")                 \
  X##2(name, op, float2, float, "f32", "f")                                  \
  X##2(name, op, double2, double, "f64", "d")                                \
  X##4(name, op, char4, short, "s8", "h")                                    \
  X##4(name, op, uchar4, unsigned short, "u8", "h")                          \
  X##4(name, op, short4, short, "s16", "h")                                  \
  X##4(name, op, ushort4, unsigned short, "u16", "h")                        \
  X##4(name, op, int4, int, "s32", "r")                                      \
  X##4(name, op, uint4, unsigned int, "u32", "r")                            \
  X##4(name, op, float4, float, "f32", "f")

__DL_EVERY(__DL_LOAD, __ldg, ".nc")
__DL_EVERY(__DL_LOAD, __ldca, ".ca")
__DL_EVERY(__DL_LOAD, __ldcg, ".cg")
__DL_EVERY(__DL_LOAD, __ldcs, ".cs")
__DL_EVERY(__DL_LOAD, __ldlu, ".lu")
__DL_EVERY(__DL_LOAD, __ldcv, ".cv")
__DL_EVERY(__DL_STORE, __stwb, ".wb")
__DL_EVERY(__DL_STORE, __stcg, ".cg")
__DL_EVERY(__DL_STORE, __stcs, ".cs")
__DL_EVERY(__DL_STORE, __stwt, ".wt")
#undef __DL_EVERY
