// Vector loads and stores, atomics, copies by a work-group, shuffles (OpenCL C 1.2, sections 6.12.7 and 6.12.10 to 12).
#pragma once
#include "drawloom/opencl_types.h"

#define __DL_VLOAD(T, space, N)                                                        \
  __DL_FN T##N vload##N(size_t at, const space T *p) {                                 \
    T##N v;                                                                            \
    for (int i = 0; i < N; i++) v[i] = p[at * N + i];                                  \
    return v;                                                                          \
  }
#define __DL_VSTORE(T, space, N)                                                       \
  __DL_FN void vstore##N(T##N v, size_t at, space T *p) {                              \
    for (int i = 0; i < N; i++) p[at * N + i] = v[i];                                  \
  }
#define __DL_VECTOR_MEMORY(T)                                                          \
  __DL_LENGTHS(__DL_VLOAD, T, __global)                                                \
  __DL_LENGTHS(__DL_VLOAD, T, __local)                                                 \
  __DL_LENGTHS(__DL_VLOAD, T, __private)                                               \
  __DL_LENGTHS(__DL_VLOAD, T, __constant)                                              \
  __DL_LENGTHS(__DL_VSTORE, T, __global)                                               \
  __DL_LENGTHS(__DL_VSTORE, T, __local)                                                \
  __DL_LENGTHS(__DL_VSTORE, T, __private)
__DL_INTEGERS(__DL_VECTOR_MEMORY)
__DL_FLOATS(__DL_VECTOR_MEMORY)

// Halves in memory.
#define __DL_HALF_LOAD(space, N)                                                       \
  __DL_FN float##N vload_half##N(size_t at, const space half *p) {                     \
    float##N v;                                                                        \
    for (int i = 0; i < N; i++) v[i] = vload_half(at * N + i, p);                      \
    return v;                                                                          \
  }                                                                                    \
  __DL_FN float##N vloada_half##N(size_t at, const space half *p) {                    \
    float##N v;                                                                        \
    for (int i = 0; i < N; i++) v[i] = vload_half(at * (N == 3 ? 4 : N) + i, p);       \
    return v;                                                                          \
  }
#define __DL_HALF_STORE(space, F, mode, N)                                             \
  __DL_FN void vstore_half##N##mode(F##N v, size_t at, space half *p) {                \
    for (int i = 0; i < N; i++) vstore_half##mode(v[i], at * N + i, p);                \
  }                                                                                    \
  __DL_FN void vstorea_half##N##mode(F##N v, size_t at, space half *p) {               \
    for (int i = 0; i < N; i++) vstore_half##mode(v[i], at * (N == 3 ? 4 : N) + i, p); \
  }
// The bits of a half in a rounding mode.
#define __DL_HALF_BITS(mode, ptx)                                                      \
  __DL_FN ushort __dl_half##mode(float x) {                                            \
    ushort bits;                                                                       \
    __asm("cvt." ptx ".f16.f32 %0, %1;" : "=h"(bits) : "f"(x));                        \
    return bits;                                                                       \
  }                                                                                    \
  __DL_FN ushort __dl_half##mode(double x) {                                           \
    ushort bits;                                                                       \
    __asm("cvt." ptx ".f16.f64 %0, %1;" : "=h"(bits) : "d"(x));                        \
    return bits;                                                                       \
  }
__DL_HALF_BITS(, "rn")
__DL_HALF_BITS(_rte, "rn")
__DL_HALF_BITS(_rtz, "rz")
__DL_HALF_BITS(_rtp, "rp")
__DL_HALF_BITS(_rtn, "rm")
#define __DL_HALVES(space)                                                             \
  __DL_FN float vload_half(size_t at, const space half *p) { return __builtin_load_halff(p + at); } \
  __DL_LENGTHS(__DL_HALF_LOAD, space)
#define __DL_HALVES_OF(space, F, mode)                                                 \
  __DL_FN void vstore_half##mode(F v, size_t at, space half *p) {                      \
    ((space ushort *)p)[at] = __dl_half##mode(v);                                      \
  }                                                                                    \
  __DL_LENGTHS(__DL_HALF_STORE, space, F, mode)
#define __DL_HALVES_IN(space, mode) __DL_HALVES_OF(space, float, mode) __DL_HALVES_OF(space, double, mode)
#define __DL_HALVES_OUT(space)                                                         \
  __DL_HALVES_IN(space, )                                                              \
  __DL_HALVES_IN(space, _rte)                                                          \
  __DL_HALVES_IN(space, _rtz)                                                          \
  __DL_HALVES_IN(space, _rtp)                                                          \
  __DL_HALVES_IN(space, _rtn)
__DL_HALVES(__global)
__DL_HALVES(__local)
__DL_HALVES(__private)
__DL_HALVES(__constant)
__DL_HALVES_OUT(__global)
__DL_HALVES_OUT(__local)
__DL_HALVES_OUT(__private)

#define __DL_ATOMIC(name, T, space, ptx, type, C, get, address)                                            \
  __DL_FN T name(volatile space T *p, T v) {                                                               \
    T old;                                                                                                 \
    __asm volatile("atom." ptx "." type " %0, [%1], %2;" : "=" C(old) : address((size_t)p), C(v) : "memory"); \
    return old;                                                                                            \
  }
#define __DL_ATOMICS_IN(pre, T, space, ptx, bits, add, type, C)                                                 \
  __DL_ATOMIC(pre##_xchg, T, space, ptx ".exch", bits, C, , "l")                                           \
  __DL_ATOMIC(pre##_add, T, space, ptx ".add", add, C, , "l")                                             \
  __DL_ATOMIC(pre##_min, T, space, ptx ".min", type, C, , "l")                                             \
  __DL_ATOMIC(pre##_max, T, space, ptx ".max", type, C, , "l")                                             \
  __DL_ATOMIC(pre##_and, T, space, ptx ".and", bits, C, , "l")                                             \
  __DL_ATOMIC(pre##_or, T, space, ptx ".or", bits, C, , "l")                                               \
  __DL_ATOMIC(pre##_xor, T, space, ptx ".xor", bits, C, , "l")                                             \
  __DL_FN T pre##_sub(volatile space T *p, T v) { return pre##_add(p, (T)(0 - (ulong)v)); }                \
  __DL_FN T pre##_inc(volatile space T *p) { return pre##_add(p, (T)1); }                                  \
  __DL_FN T pre##_dec(volatile space T *p) { return pre##_add(p, (T)-1); }                                 \
  __DL_FN T pre##_cmpxchg(volatile space T *p, T compare, T v) {                                           \
    T old;                                                                                                 \
    __asm volatile("atom." ptx ".cas." bits " %0, [%1], %2, %3;"                                           \
                   : "=" C(old) : "l"((size_t)p), C(compare), C(v) : "memory");                            \
    return old;                                                                                            \
  }
#define __DL_ATOMICS(pre, T, bits, add, type, C)                   \
  __DL_ATOMICS_IN(pre, T, __global, "global", bits, add, type, C)       \
  __DL_ATOMICS_IN(pre, T, __local, "shared", bits, add, type, C)
__DL_ATOMICS(atomic, int, "b32", "u32", "s32", "r")
__DL_ATOMICS(atomic, uint, "b32", "u32", "u32", "r")
__DL_ATOMICS(atom, int, "b32", "u32", "s32", "r")
__DL_ATOMICS(atom, uint, "b32", "u32", "u32", "r")
__DL_ATOMICS(atom, long, "b64", "u64", "s64", "l")
__DL_ATOMICS(atom, ulong, "b64", "u64", "u64", "l")
__DL_ATOMIC(atomic_xchg, float, __global, "global.exch", "b32", "f", , "l")
__DL_ATOMIC(atomic_xchg, float, __local, "shared.exch", "b32", "f", , "l")

// Copies by all work-items; the event stands for nothing, as waiting for it is a barrier. (`event_t` is clang's.)
#define __DL_COPY(T, to_space, from_space)                                                                   \
  __attribute__((convergent)) __DL_FN event_t async_work_group_strided_copy(                                 \
      to_space T *to, const from_space T *from, size_t count, size_t step, event_t event) {                  \
    bool gathers = __builtin_strcmp(#to_space, "__local") == 0;                                              \
    size_t all = get_local_size(0) * get_local_size(1) * get_local_size(2);                                  \
    for (size_t i = get_local_linear_id(); i < count; i += all)                                              \
      if (gathers) to[i] = from[i * step];                                                                   \
      else to[i * step] = from[i];                                                                           \
    return event;                                                                                            \
  }                                                                                                          \
  __attribute__((convergent)) __DL_FN event_t async_work_group_copy(                                         \
      to_space T *to, const from_space T *from, size_t count, event_t event) {                               \
    return async_work_group_strided_copy(to, from, count, (size_t)1, event);                                 \
  }
#define __DL_COPIES1(T) __DL_COPY(T, __local, __global) __DL_COPY(T, __global, __local)
#define __DL_COPIES_EACH(T, N) __DL_COPIES1(T##N)
#define __DL_COPIES(T) __DL_COPIES1(T) __DL_LENGTHS(__DL_COPIES_EACH, T)
__DL_INTEGERS(__DL_COPIES)
__DL_FLOATS(__DL_COPIES)
#define wait_group_events(count, events) __syncthreads()
#define prefetch(p, count) ((void)(p))

// shuffle(x, mask) and shuffle2(x, y, mask): elements by number, whose higher bits do not count.
#define __DL_SHUFFLE(T, U, M, N)                                                                          \
  __DL_FN T##N shuffle(T##M x, U##N mask) {                                                               \
    T##N r;                                                                                               \
    for (int i = 0; i < N; i++) r[i] = x[mask[i] & (M - 1)];                                              \
    return r;                                                                                             \
  }                                                                                                       \
  __DL_FN T##N shuffle2(T##M x, T##M y, U##N mask) {                                                      \
    T##N r;                                                                                               \
    for (int i = 0; i < N; i++) r[i] = mask[i] & M ? y[mask[i] & (M - 1)] : x[mask[i] & (M - 1)];         \
    return r;                                                                                             \
  }
#define __DL_SHUFFLES_OF(T, U, M) __DL_LENGTHS(__DL_SHUFFLE, T, U, M)
#define __DL_SHUFFLES(T, U) \
  __DL_SHUFFLES_OF(T, U, 2) __DL_SHUFFLES_OF(T, U, 4) __DL_SHUFFLES_OF(T, U, 8) __DL_SHUFFLES_OF(T, U, 16)
__DL_SHUFFLES(char, uchar)
__DL_SHUFFLES(uchar, uchar)
__DL_SHUFFLES(short, ushort)
__DL_SHUFFLES(ushort, ushort)
__DL_SHUFFLES(int, uint)
__DL_SHUFFLES(uint, uint)
__DL_SHUFFLES(long, ulong)
__DL_SHUFFLES(ulong, ulong)
__DL_SHUFFLES(float, uint)
__DL_SHUFFLES(double, ulong)
