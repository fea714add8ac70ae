// nvcc's built-in atomic functions (Programming Guide, "Atomic Functions", since CUDA 12.8): any memory order, any scope.
// Each is a relaxed access, of CUDA's older functions, between the fences that its order asks for.
#pragma once
#include "drawloom/atomics.h"
#include "drawloom/synchronise.h"

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

template <int size> struct __dl_word {
  static_assert(size == 4, "atomic operations of other than 1, 2, 4 and 8 bytes are not supported");
  typedef unsigned int type;
  typedef int number;
};
template <> struct __dl_word<1> { typedef unsigned char type; };
template <> struct __dl_word<2> { typedef unsigned short type; };
template <> struct __dl_word<8> {
  typedef unsigned long long type;
  typedef long long number;
};
template <class T> struct __dl_added { typedef typename __dl_word<sizeof(T)>::type type; };
template <> struct __dl_added<float> { typedef float type; };
template <> struct __dl_added<double> { typedef double type; };
template <class T, bool is_signed> struct __dl_ordered { typedef typename __dl_word<sizeof(T)>::type type; };
template <class T> struct __dl_ordered<T, true> { typedef typename __dl_word<sizeof(T)>::number type; };
template <class T> struct __dl_ordered<T *, false> { typedef unsigned long long type; };

__DL_DEVICE void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  if (order == __NV_ATOMIC_RELAXED) return;
  if (scope <= __NV_THREAD_SCOPE_BLOCK) __threadfence_block();
  else if (scope <= __NV_THREAD_SCOPE_DEVICE) __threadfence();
  else __threadfence_system();
}
__DL_DEVICE void __dl_fence_before(int order, int scope) {
  if (order >= __NV_ATOMIC_RELEASE) __nv_atomic_thread_fence(order, scope);
}
__DL_DEVICE void __dl_fence_after(int order, int scope) {
  if (order != __NV_ATOMIC_RELEASE) __nv_atomic_thread_fence(order, scope);
}

#if __DL_SINCE(600)
#define __DL_SCOPED(name, ...)                                          \
  (scope <= __NV_THREAD_SCOPE_BLOCK    ? name##_block(__VA_ARGS__)      \
   : scope <= __NV_THREAD_SCOPE_DEVICE ? name(__VA_ARGS__)              \
                                       : name##_system(__VA_ARGS__))
#else
#define __DL_SCOPED(name, ...) (__threadfence_system(), name(__VA_ARGS__))
#endif
#define __DL_RELAXED(ours, name, T) \
  __DL_DEVICE T ours(T *address, T value, int scope) { return __DL_SCOPED(name, address, value); }
#define __DL_RELAXED_WORDS(ours, name)   \
  __DL_RELAXED(ours, name, unsigned int) \
  __DL_RELAXED(ours, name, unsigned long long)
#define __DL_RELAXED_NUMBERS(ours, name) \
  __DL_RELAXED_WORDS(ours, name)         \
  __DL_RELAXED(ours, name, int)          \
  __DL_RELAXED(ours, name, long long)
__DL_RELAXED_WORDS(__dl_relaxed_add, atomicAdd)
__DL_RELAXED(__dl_relaxed_add, atomicAdd, float)
#if __DL_SINCE(600)
__DL_RELAXED(__dl_relaxed_add, atomicAdd, double)
#endif
__DL_RELAXED_WORDS(__dl_relaxed_and, atomicAnd)
__DL_RELAXED_WORDS(__dl_relaxed_or, atomicOr)
__DL_RELAXED_WORDS(__dl_relaxed_xor, atomicXor)
__DL_RELAXED_WORDS(__dl_relaxed_exchange, atomicExch)
__DL_RELAXED_NUMBERS(__dl_relaxed_min, atomicMin)
__DL_RELAXED_NUMBERS(__dl_relaxed_max, atomicMax)
#define __DL_RELAXED_SWAP(T)                                                      \
  __DL_DEVICE T __dl_relaxed_swap(T *address, T compare, T value, int scope) {    \
    return __DL_SCOPED(atomicCAS, address, compare, value);                       \
  }
__DL_RELAXED_SWAP(unsigned int)
__DL_RELAXED_SWAP(unsigned long long)
#if __DL_SINCE(700)
__DL_RELAXED_SWAP(unsigned short)
#endif

template <class T> __DL_DEVICE void __nv_atomic_load(T *address, T *result, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef typename __dl_word<sizeof(T)>::type Word;
  if (order == __NV_ATOMIC_SEQ_CST) __nv_atomic_thread_fence(order, scope);
  const Word word = *(const volatile Word *)address;
  __dl_fence_after(order, scope);
  __builtin_memcpy(result, &word, sizeof(T));
}
template <class T> __DL_DEVICE T __nv_atomic_load_n(T *address, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  T result;
  __nv_atomic_load(address, &result, order, scope);
  return result;
}
template <class T> __DL_DEVICE void __nv_atomic_store(T *address, T *value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef typename __dl_word<sizeof(T)>::type Word;
  Word word;
  __builtin_memcpy(&word, value, sizeof(T));
  __dl_fence_before(order, scope);
  *(volatile Word *)address = word;
  if (order == __NV_ATOMIC_SEQ_CST) __nv_atomic_thread_fence(order, scope);
}
template <class T, class V>
__DL_DEVICE void __nv_atomic_store_n(T *address, V value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  T stored = (T)value;
  __nv_atomic_store(address, &stored, order, scope);
}
template <class T>
__DL_DEVICE void __nv_atomic_exchange(T *address, T *value, T *result, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef typename __dl_word<sizeof(T)>::type Word;
  Word word;
  __builtin_memcpy(&word, value, sizeof(T));
  __dl_fence_before(order, scope);
  word = __dl_relaxed_exchange((Word *)address, word, scope);
  __dl_fence_after(order, scope);
  __builtin_memcpy(result, &word, sizeof(T));
}
template <class T, class V>
__DL_DEVICE T __nv_atomic_exchange_n(T *address, V value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  T result = (T)value;
  __nv_atomic_exchange(address, &result, &result, order, scope);
  return result;
}
template <class T>
__DL_DEVICE bool __nv_atomic_compare_exchange(T *address, T *expected, T *desired, bool, int success, int failure,
                                              int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef typename __dl_word<sizeof(T)>::type Word;
  Word compare, word;
  __builtin_memcpy(&compare, expected, sizeof(T));
  __builtin_memcpy(&word, desired, sizeof(T));
  __dl_fence_before(success, scope);
  const Word old = __dl_relaxed_swap((Word *)address, compare, word, scope);
  __dl_fence_after(old == compare ? success : failure, scope);
  if (old == compare) return true;
  __builtin_memcpy(expected, &old, sizeof(T));
  return false;
}
template <class T, class V>
__DL_DEVICE bool __nv_atomic_compare_exchange_n(T *address, T *expected, V desired, bool weak, int success, int failure,
                                                int scope = __NV_THREAD_SCOPE_SYSTEM) {
  T value = (T)desired;
  return __nv_atomic_compare_exchange(address, expected, &value, weak, success, failure, scope);
}

#define __DL_FETCH(name, relaxed, Kind, value_of)                                                              \
  template <class T, class V>                                                                                  \
  __DL_DEVICE T __nv_atomic_fetch_##name(T *address, V value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) { \
    typedef typename Kind::type Word;                                                                          \
    __dl_fence_before(order, scope);                                                                           \
    const Word old = __dl_relaxed_##relaxed((Word *)address, value_of, scope);                                 \
    __dl_fence_after(order, scope);                                                                            \
    return (T)old;                                                                                             \
  }                                                                                                            \
  template <class T, class V>                                                                                  \
  __DL_DEVICE void __nv_atomic_##name(T *address, V value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {  \
    __nv_atomic_fetch_##name(address, value, order, scope);                                                    \
  }
#define __DL_ORDER __dl_ordered<T, (T(-1) < T(0))>
__DL_FETCH(add, add, __dl_added<T>, (Word)value)
__DL_FETCH(sub, add, __dl_added<T>, (Word)((Word)0 - (Word)value))
__DL_FETCH(and, and, __dl_word<sizeof(T)>, (Word)value)
__DL_FETCH(or, or, __dl_word<sizeof(T)>, (Word)value)
__DL_FETCH(xor, xor, __dl_word<sizeof(T)>, (Word)value)
__DL_FETCH(min, min, __DL_ORDER, (Word)value)
__DL_FETCH(max, max, __DL_ORDER, (Word)value)
#undef __DL_FETCH
#undef __DL_ORDER
#undef __DL_RELAXED
#undef __DL_RELAXED_WORDS
#undef __DL_RELAXED_NUMBERS
#undef __DL_RELAXED_SWAP
#undef __DL_SCOPED
