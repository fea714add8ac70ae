// Vector loads and stores, copies by a work-group, shuffles (OpenCL C 1.2, sections 6.12.7, 6.12.10 and 6.12.12).
#pragma once
#include "drawloom/opencl_types.h"

// A vector that is aligned as its elements are: one access where clang, or the CPU device, finds that it may be one.
#define __DL_LOOSE(T, N) typedef T##N __dl_loose_##T##N __attribute__((aligned(sizeof(T))));
#define __DL_LOOSE_VECTORS(T) __DL_LOOSE(T, 2) __DL_LOOSE(T, 4) __DL_LOOSE(T, 8) __DL_LOOSE(T, 16)
#define __DL_VLOAD(T, space, N)                                                        \
  __DL_FN T##N vload##N(size_t at, const space T *p) {                                 \
    return *(const space __dl_loose_##T##N *)(p + at * N);                             \
  }
#define __DL_VSTORE(T, space, N)                                                       \
  __DL_FN void vstore##N(T##N v, size_t at, space T *p) {                              \
    *(space __dl_loose_##T##N *)(p + at * N) = v;                                      \
  }
// A vector of three would take the place of a fourth.
#define __DL_VLOAD3(T, space)                                                          \
  __DL_FN T##3 vload3(size_t at, const space T *p) {                                   \
    p += at * 3;                                                                       \
    return (T##3)(p[0], p[1], p[2]);                                                   \
  }
#define __DL_VSTORE3(T, space)                                                         \
  __DL_FN void vstore3(T##3 v, size_t at, space T *p) {                                \
    p += at * 3;                                                                       \
    p[0] = v.x, p[1] = v.y, p[2] = v.z;                                                \
  }
#define __DL_LOADS(T, space) \
  __DL_VLOAD(T, space, 2) __DL_VLOAD3(T, space) __DL_VLOAD(T, space, 4) __DL_VLOAD(T, space, 8) __DL_VLOAD(T, space, 16)
#define __DL_STORES(T, space)                                                          \
  __DL_VSTORE(T, space, 2) __DL_VSTORE3(T, space) __DL_VSTORE(T, space, 4)             \
  __DL_VSTORE(T, space, 8) __DL_VSTORE(T, space, 16)
#define __DL_VECTOR_MEMORY(T)                                                          \
  __DL_LOOSE_VECTORS(T)                                                                \
  __DL_LOADS(T, __global)                                                              \
  __DL_LOADS(T, __local)                                                               \
  __DL_LOADS(T, __private)                                                             \
  __DL_LOADS(T, __constant)                                                            \
  __DL_STORES(T, __global)                                                             \
  __DL_STORES(T, __local)                                                              \
  __DL_STORES(T, __private)
__DL_INTEGERS(__DL_VECTOR_MEMORY)
__DL_FLOATS(__DL_VECTOR_MEMORY)
__DL_VECTOR_MEMORY(half)

// Halves in memory. Those of `vloada_half` and `vstorea_half` are aligned as a whole, three as four are.
#define __DL_HALF_LOAD(space, N)                                                       \
  __DL_FN float##N vload_half##N(size_t at, const space half *p) {                     \
    return __builtin_convertvector(vload##N(at, p), float##N);                         \
  }
#define __DL_HALF_LOAD_ALIGNED(space, N)                                               \
  __DL_FN float##N vloada_half##N(size_t at, const space half *p) {                    \
    return __builtin_convertvector(((const space half##N *)p)[at], float##N);          \
  }
#define __DL_HALF_STORE(space, F, mode, N)                                             \
  __DL_FN void vstore_half##N##mode(F##N v, size_t at, space half *p) {                \
    ushort##N bits;                                                                    \
    for (int i = 0; i < N; i++) bits[i] = __dl_half##mode(v[i]);                       \
    vstore##N(bits, at, (space ushort *)p);                                            \
  }
#define __DL_HALF_STORE_ALIGNED(space, F, mode, N)                                     \
  __DL_FN void vstorea_half##N##mode(F##N v, size_t at, space half *p) {               \
    ushort##N bits;                                                                    \
    for (int i = 0; i < N; i++) bits[i] = __dl_half##mode(v[i]);                       \
    ((space ushort##N *)p)[at] = bits;                                                 \
  }
#define __DL_HALF_STORE_ALIGNED3(space, F, mode)                                       \
  __DL_FN void vstorea_half3##mode(F##3 v, size_t at, space half *p) {                 \
    vstore_half3##mode(v, 0, p + at * 4);                                              \
  }
#define __DL_LENGTHS_BUT_3(X, ...) X(__VA_ARGS__, 2) X(__VA_ARGS__, 4) X(__VA_ARGS__, 8) X(__VA_ARGS__, 16)
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
  __DL_FN float vloada_half(size_t at, const space half *p) { return vload_half(at, p); }            \
  __DL_LENGTHS(__DL_HALF_LOAD, space)                                                                \
  __DL_LENGTHS_BUT_3(__DL_HALF_LOAD_ALIGNED, space)                                                  \
  __DL_FN float3 vloada_half3(size_t at, const space half *p) { return vload_half3(0, p + at * 4); }
#define __DL_HALVES_OF(space, F, mode)                                                 \
  __DL_FN void vstore_half##mode(F v, size_t at, space half *p) {                      \
    ((space ushort *)p)[at] = __dl_half##mode(v);                                      \
  }                                                                                    \
  __DL_FN void vstorea_half##mode(F v, size_t at, space half *p) {                     \
    vstore_half##mode(v, at, p);                                                       \
  }                                                                                    \
  __DL_LENGTHS(__DL_HALF_STORE, space, F, mode)                                        \
  __DL_LENGTHS_BUT_3(__DL_HALF_STORE_ALIGNED, space, F, mode)                          \
  __DL_HALF_STORE_ALIGNED3(space, F, mode)
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
__DL_COPIES(half)
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
__DL_SHUFFLES(half, ushort)
__DL_SHUFFLES(float, uint)
__DL_SHUFFLES(double, ulong)
