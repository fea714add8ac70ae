// Atomic functions, in three scopes: `_block`, the device (no suffix), `_system`. All are relaxed, as CUDA's are.
#pragma once
#include "drawloom/qualifiers.h"

#define __DL_ATOMIC(name, suffix, scope, T, op, C)                                                               \
  __DL_DEVICE T name##suffix(T *address, T value) {                                                              \
    T old;                                                                                                       \
    asm volatile("atom" scope "." op " %0, [%1], %2;" : "=" C(old) : "l"(address), C(value) : "memory");         \
    return old;                                                                                                  \
  }
#define __DL_SWAP(suffix, scope, T, type, C)                                                                     \
  __DL_DEVICE T atomicCAS##suffix(T *address, T compare, T value) {                                              \
    T old;                                                                                                       \
    asm volatile("atom" scope ".cas." type " %0, [%1], %2, %3;" : "=" C(old)                                     \
                 : "l"(address), C(compare), C(value) : "memory");                                               \
    return old;                                                                                                  \
  }
#define __DL_BITWISE(name, suffix, scope, op)                                  \
  __DL_ATOMIC(name, suffix, scope, int, op ".b32", "r")                        \
  __DL_ATOMIC(name, suffix, scope, unsigned int, op ".b32", "r")               \
  __DL_ATOMIC(name, suffix, scope, unsigned long long, op ".b64", "l")
#define __DL_EXTREME(name, suffix, scope, op)                                  \
  __DL_ATOMIC(name, suffix, scope, int, op ".s32", "r")                        \
  __DL_ATOMIC(name, suffix, scope, unsigned int, op ".u32", "r")               \
  __DL_ATOMIC(name, suffix, scope, long long, op ".s64", "l")                  \
  __DL_ATOMIC(name, suffix, scope, unsigned long long, op ".u64", "l")
#define __DL_SUBTRACT(suffix, T, U)                                                                              \
  __DL_DEVICE T atomicSub##suffix(T *address, T value) { return (T)atomicAdd##suffix((U *)address, 0u - (U)value); }

#define __DL_ATOMICS(suffix, scope)                                            \
  __DL_ATOMIC(atomicAdd, suffix, scope, int, "add.s32", "r")                   \
  __DL_ATOMIC(atomicAdd, suffix, scope, unsigned int, "add.u32", "r")          \
  __DL_ATOMIC(atomicAdd, suffix, scope, unsigned long long, "add.u64", "l")    \
  __DL_ATOMIC(atomicAdd, suffix, scope, float, "add.f32", "f")                 \
  __DL_SUBTRACT(suffix, int, unsigned int)                                     \
  __DL_SUBTRACT(suffix, unsigned int, unsigned int)                            \
  __DL_ATOMIC(atomicExch, suffix, scope, int, "exch.b32", "r")                 \
  __DL_ATOMIC(atomicExch, suffix, scope, unsigned int, "exch.b32", "r")        \
  __DL_ATOMIC(atomicExch, suffix, scope, unsigned long long, "exch.b64", "l")  \
  __DL_ATOMIC(atomicExch, suffix, scope, float, "exch.b32", "f")               \
  __DL_EXTREME(atomicMin, suffix, scope, "min")                                \
  __DL_EXTREME(atomicMax, suffix, scope, "max")                                \
  __DL_ATOMIC(atomicInc, suffix, scope, unsigned int, "inc.u32", "r")          \
  __DL_ATOMIC(atomicDec, suffix, scope, unsigned int, "dec.u32", "r")          \
  __DL_BITWISE(atomicAnd, suffix, scope, "and")                                \
  __DL_BITWISE(atomicOr, suffix, scope, "or")                                  \
  __DL_BITWISE(atomicXor, suffix, scope, "xor")                                \
  __DL_SWAP(suffix, scope, int, "b32", "r")                                    \
  __DL_SWAP(suffix, scope, unsigned int, "b32", "r")                           \
  __DL_SWAP(suffix, scope, unsigned long long, "b64", "l")

__DL_ATOMICS(, "")
#if __DL_SINCE(600)
__DL_ATOMICS(_block, ".cta")
__DL_ATOMICS(_system, ".sys")
__DL_ATOMIC(atomicAdd, , "", double, "add.f64", "d")
__DL_ATOMIC(atomicAdd, _block, ".cta", double, "add.f64", "d")
__DL_ATOMIC(atomicAdd, _system, ".sys", double, "add.f64", "d")
#endif
#if __DL_SINCE(700)
__DL_SWAP(, "", unsigned short, "b16", "h")
__DL_SWAP(_block, ".cta", unsigned short, "b16", "h")
__DL_SWAP(_system, ".sys", unsigned short, "b16", "h")
#endif
#if __DL_SINCE(900)
// Vectors of floats: each element is added atomically, the vector as a whole is not (Programming Guide, atomicAdd).
__DL_DEVICE float2 atomicAdd(float2 *address, float2 v) {
  return float2{atomicAdd(&address->x, v.x), atomicAdd(&address->y, v.y)};
}
__DL_DEVICE float4 atomicAdd(float4 *address, float4 v) {
  return float4{atomicAdd(&address->x, v.x), atomicAdd(&address->y, v.y), atomicAdd(&address->z, v.z),
                atomicAdd(&address->w, v.w)};
}
#endif
#undef __DL_ATOMICS
#undef __DL_SUBTRACT
#undef __DL_EXTREME
#undef __DL_BITWISE
