// Atomic functions of 1.2 (section 6.12.11), of floats, too, and those of C11 that OpenCL C 2.0 has (section 6.13.11).
#pragma once
#include "drawloom/opencl_types.h"

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


// Of floats (after cl_ext_float_atomics): sums by the hardware; the least and the most by integers, which are ordered as
// positive floats are, and the other way round as negative ones. As in fmin and fmax a number wins over a NaN.
#define __DL_FLOAT_ATOMICS(T, pre, I, U, space, ptx, type, C)                                              \
  __DL_ATOMIC(atomic_add, T, space, ptx ".add", type, C, , "l")                                            \
  __DL_FN T atomic_sub(volatile space T *p, T v) { return atomic_add(p, -v); }                             \
  __DL_FN T atomic_cmpxchg(volatile space T *p, T compare, T v) {                                          \
    return __builtin_astype(                                                                               \
        pre##_cmpxchg((volatile space U *)p, __builtin_astype(compare, U), __builtin_astype(v, U)), T);    \
  }                                                                                                        \
  __DL_FN bool __dl_replaces_nan(volatile space T *p, T v, T *old) {                                       \
    *old = *p;                                                                                             \
    if (v != v) return true;                                                                               \
    if (*old == *old) return false;                                                                        \
    U was = __builtin_astype(*old, U);                                                                     \
    return pre##_cmpxchg((volatile space U *)p, was, __builtin_astype(v, U)) == was;                       \
  }                                                                                                        \
  __DL_FLOAT_EXTREME(atomic_min, pre##_min, pre##_max, T, I, U, space)                                     \
  __DL_FLOAT_EXTREME(atomic_max, pre##_max, pre##_min, T, I, U, space)
#define __DL_FLOAT_EXTREME(name, of_positive, of_negative, T, I, U, space)                                 \
  __DL_FN T name(volatile space T *p, T v) {                                                               \
    T old;                                                                                                 \
    v += (T)0; /* -0 would be the least of the negative */                                                 \
    if (__dl_replaces_nan(p, v, &old)) return old;                                                         \
    return v < 0 ? __builtin_astype(of_negative((volatile space U *)p, __builtin_astype(v, U)), T)         \
                 : __builtin_astype(of_positive((volatile space I *)p, __builtin_astype(v, I)), T);        \
  }
__DL_FLOAT_ATOMICS(float, atomic, int, uint, __global, "global", "f32", "f")
__DL_FLOAT_ATOMICS(float, atomic, int, uint, __local, "shared", "f32", "f")
__DL_FLOAT_ATOMICS(double, atom, long, ulong, __global, "global", "f64", "d")
__DL_FLOAT_ATOMICS(double, atom, long, ulong, __local, "shared", "f64", "d")
__DL_ATOMIC(atomic_xchg, double, __global, "global.exch", "b64", "d", , "l")
__DL_ATOMIC(atomic_xchg, double, __local, "shared.exch", "b64", "d", , "l")
#define cl_ext_float_atomics 1
#define __opencl_c_ext_fp32_global_atomic_add 1
#define __opencl_c_ext_fp32_local_atomic_add 1
#define __opencl_c_ext_fp32_global_atomic_min_max 1
#define __opencl_c_ext_fp32_local_atomic_min_max 1
#define __opencl_c_ext_fp32_global_atomic_load_store 1
#define __opencl_c_ext_fp32_local_atomic_load_store 1
#define __opencl_c_ext_fp64_global_atomic_add 1
#define __opencl_c_ext_fp64_local_atomic_add 1
#define __opencl_c_ext_fp64_global_atomic_min_max 1
#define __opencl_c_ext_fp64_local_atomic_min_max 1
#define __opencl_c_ext_fp64_global_atomic_load_store 1
#define __opencl_c_ext_fp64_local_atomic_load_store 1

#if __OPENCL_C_VERSION__ >= 200
typedef enum {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST,
} memory_order;
#define ATOMIC_VAR_INIT(value) (value)
#define ATOMIC_FLAG_INIT 0
typedef atomic_int atomic_flag;
// The arguments behind the operands, an order and perhaps a scope, as clang's functions take them.
#define __DL_ORDER(order, scope, ...) order, scope
#define __DL_ORDERED(f, p, v, ...) f(p, v, __DL_ORDER(__VA_ARGS__, memory_scope_device, 0))
#define __DL_STRICT(f, p, v) f(p, v, memory_order_seq_cst, memory_scope_device)
#define atomic_init(p, v) __opencl_atomic_init(p, v)
#define atomic_store(p, v) __DL_STRICT(__opencl_atomic_store, p, v)
#define atomic_store_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_store, p, v, __VA_ARGS__)
#define atomic_load(p) __opencl_atomic_load(p, memory_order_seq_cst, memory_scope_device)
#define atomic_load_explicit(p, ...) __opencl_atomic_load(p, __DL_ORDER(__VA_ARGS__, memory_scope_device, 0))
#define atomic_exchange(p, v) __DL_STRICT(__opencl_atomic_exchange, p, v)
#define atomic_exchange_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_exchange, p, v, __VA_ARGS__)
#define atomic_fetch_add(p, v) __DL_STRICT(__opencl_atomic_fetch_add, p, v)
#define atomic_fetch_add_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_fetch_add, p, v, __VA_ARGS__)
#define atomic_fetch_sub(p, v) __DL_STRICT(__opencl_atomic_fetch_sub, p, v)
#define atomic_fetch_sub_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_fetch_sub, p, v, __VA_ARGS__)
#define atomic_fetch_min(p, v) __DL_STRICT(__opencl_atomic_fetch_min, p, v)
#define atomic_fetch_min_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_fetch_min, p, v, __VA_ARGS__)
#define atomic_fetch_max(p, v) __DL_STRICT(__opencl_atomic_fetch_max, p, v)
#define atomic_fetch_max_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_fetch_max, p, v, __VA_ARGS__)
#define atomic_fetch_and(p, v) __DL_STRICT(__opencl_atomic_fetch_and, p, v)
#define atomic_fetch_and_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_fetch_and, p, v, __VA_ARGS__)
#define atomic_fetch_or(p, v) __DL_STRICT(__opencl_atomic_fetch_or, p, v)
#define atomic_fetch_or_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_fetch_or, p, v, __VA_ARGS__)
#define atomic_fetch_xor(p, v) __DL_STRICT(__opencl_atomic_fetch_xor, p, v)
#define atomic_fetch_xor_explicit(p, v, ...) __DL_ORDERED(__opencl_atomic_fetch_xor, p, v, __VA_ARGS__)
// With orders for success and for failure, and perhaps a scope.
#define __DL_ORDERS(success, failure, scope, ...) success, failure, scope
#define __DL_COMPARED(f, p, e, v, ...) f(p, e, v, __DL_ORDERS(__VA_ARGS__, memory_scope_device, 0))
#define atomic_compare_exchange_strong(p, e, v) \
  __opencl_atomic_compare_exchange_strong(p, e, v, memory_order_seq_cst, memory_order_seq_cst, memory_scope_device)
#define atomic_compare_exchange_strong_explicit(p, e, v, ...) \
  __DL_COMPARED(__opencl_atomic_compare_exchange_strong, p, e, v, __VA_ARGS__)
#define atomic_compare_exchange_weak(p, e, v) atomic_compare_exchange_strong(p, e, v)
#define atomic_compare_exchange_weak_explicit(p, e, v, ...) \
  __DL_COMPARED(__opencl_atomic_compare_exchange_weak, p, e, v, __VA_ARGS__)
#define atomic_flag_test_and_set(p) (atomic_exchange(p, 1) != 0)
#define atomic_flag_test_and_set_explicit(p, ...) (atomic_exchange_explicit(p, 1, __VA_ARGS__) != 0)
#define atomic_flag_clear(p) atomic_store(p, 0)
#define atomic_flag_clear_explicit(p, ...) atomic_store_explicit(p, 0, __VA_ARGS__)
static inline void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) {
  if (order == memory_order_relaxed) return;
  if (scope <= memory_scope_work_group || scope == memory_scope_sub_group) __nvvm_membar_cta();
  else __nvvm_membar_gl();
}
#endif
