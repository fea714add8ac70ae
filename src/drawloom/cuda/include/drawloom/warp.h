// Exchanges between the lanes of a warp: shuffles, votes, matches, reductions.
#pragma once
#include "drawloom/qualifiers.h"

__DL_DEVICE unsigned int __activemask() {
  unsigned int mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
__DL_DEVICE int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate != 0); }
__DL_DEVICE int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate != 0); }
__DL_DEVICE int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate != 0); }
__DL_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate != 0);
}

// A value of 1 to 8 bytes goes through one or two 32-bit shuffles. `clamp` is the lane field of the segment's end
// (PTX manual, shfl.sync): 31, but 0 for shuffles upwards.
#define __DL_SHUFFLE(name, mode, clamp)                                                                  \
  template <class T> __DL_DEVICE T __dl_##name(unsigned int mask, T value, unsigned int lane, int width) { \
    static_assert(sizeof(T) <= 8, "shuffles move up to 8 bytes");                                        \
    unsigned int word[(sizeof(T) + 3) / 4] = {};                                                         \
    __builtin_memcpy(word, &value, sizeof(T));                                                           \
    for (unsigned int &part : word)                                                                      \
      part = __nvvm_shfl_sync_##mode##_i32(mask, part, lane, ((32 - width) << 8) | clamp);               \
    __builtin_memcpy(&value, word, sizeof(T));                                                           \
    return value;                                                                                        \
  }
__DL_SHUFFLE(shfl, idx, 31)
__DL_SHUFFLE(shfl_up, up, 0)
__DL_SHUFFLE(shfl_down, down, 31)
__DL_SHUFFLE(shfl_xor, bfly, 31)
#undef __DL_SHUFFLE

#define __DL_SHUFFLES(T)                                                                                           \
  __DL_DEVICE T __shfl_sync(unsigned int m, T v, int lane, int width = 32) { return __dl_shfl(m, v, lane, width); } \
  __DL_DEVICE T __shfl_up_sync(unsigned int m, T v, unsigned int delta, int width = 32) {                          \
    return __dl_shfl_up(m, v, delta, width);                                                                       \
  }                                                                                                                \
  __DL_DEVICE T __shfl_down_sync(unsigned int m, T v, unsigned int delta, int width = 32) {                        \
    return __dl_shfl_down(m, v, delta, width);                                                                     \
  }                                                                                                                \
  __DL_DEVICE T __shfl_xor_sync(unsigned int m, T v, int lanes, int width = 32) {                                  \
    return __dl_shfl_xor(m, v, lanes, width);                                                                      \
  }
__DL_SHUFFLES(int)
__DL_SHUFFLES(unsigned int)
__DL_SHUFFLES(long)
__DL_SHUFFLES(unsigned long)
__DL_SHUFFLES(long long)
__DL_SHUFFLES(unsigned long long)
__DL_SHUFFLES(float)
__DL_SHUFFLES(double)

#if __DL_SINCE(700)
__DL_DEVICE unsigned int __dl_match_any32(unsigned int mask, unsigned int value) {
  unsigned int found;
  asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(found) : "r"(value), "r"(mask));
  return found;
}
__DL_DEVICE unsigned int __dl_match_any64(unsigned int mask, unsigned long long value) {
  unsigned int found;
  asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(found) : "l"(value), "r"(mask));
  return found;
}
__DL_DEVICE unsigned int __dl_match_all32(unsigned int mask, unsigned int value, int *all) {
  unsigned int found;
  asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }"
               : "=r"(found), "=r"(*all) : "r"(value), "r"(mask));
  return found;
}
__DL_DEVICE unsigned int __dl_match_all64(unsigned int mask, unsigned long long value, int *all) {
  unsigned int found;
  asm volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }"
               : "=r"(found), "=r"(*all) : "l"(value), "r"(mask));
  return found;
}
#define __DL_MATCH(T, bits, U)                                                                             \
  __DL_DEVICE unsigned int __match_any_sync(unsigned int mask, T v) {                                      \
    U word;                                                                                                \
    __builtin_memcpy(&word, &v, sizeof(U));                                                                \
    return __dl_match_any##bits(mask, word);                                                               \
  }                                                                                                        \
  __DL_DEVICE unsigned int __match_all_sync(unsigned int mask, T v, int *all) {                            \
    U word;                                                                                                \
    __builtin_memcpy(&word, &v, sizeof(U));                                                                \
    return __dl_match_all##bits(mask, word, all);                                                          \
  }
__DL_MATCH(int, 32, unsigned int)
__DL_MATCH(unsigned int, 32, unsigned int)
__DL_MATCH(float, 32, unsigned int)
__DL_MATCH(long, 64, unsigned long long)
__DL_MATCH(unsigned long, 64, unsigned long long)
__DL_MATCH(long long, 64, unsigned long long)
__DL_MATCH(unsigned long long, 64, unsigned long long)
__DL_MATCH(double, 64, unsigned long long)
#undef __DL_MATCH
#endif

#if __DL_SINCE(800)
#define __DL_REDUCE(name, T, op)                                                              \
  __DL_DEVICE T __reduce_##name##_sync(unsigned int mask, T value) {                          \
    T result;                                                                                 \
    asm volatile("redux.sync." op " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));     \
    return result;                                                                            \
  }
__DL_REDUCE(add, unsigned int, "add.u32")
__DL_REDUCE(min, unsigned int, "min.u32")
__DL_REDUCE(max, unsigned int, "max.u32")
__DL_REDUCE(add, int, "add.s32")
__DL_REDUCE(min, int, "min.s32")
__DL_REDUCE(max, int, "max.s32")
__DL_REDUCE(and, unsigned int, "and.b32")
__DL_REDUCE(or, unsigned int, "or.b32")
__DL_REDUCE(xor, unsigned int, "xor.b32")
#undef __DL_REDUCE
#endif

#define __DL_LANE_MASK(name)                                          \
  __DL_DEVICE unsigned int __lanemask_##name() {                      \
    unsigned int mask;                                                \
    asm("mov.u32 %0, %%lanemask_" #name ";" : "=r"(mask));            \
    return mask;                                                      \
  }
__DL_LANE_MASK(lt)
__DL_LANE_MASK(le)
__DL_LANE_MASK(gt)
__DL_LANE_MASK(ge)
__DL_LANE_MASK(eq)
#undef __DL_LANE_MASK
