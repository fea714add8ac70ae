// Barriers of a block and of a warp, and memory fences.
#pragma once
#include "drawloom/qualifiers.h"

// `__syncthreads` itself is clang's.
__DL_DEVICE int __syncthreads_count(int predicate) {
  int found;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }" : "=r"(found) : "r"(predicate) : "memory");
  return found;
}
#define __DL_BARRIER_VOTE(name, op)                                                                              \
  __DL_DEVICE int name(int predicate) {                                                                          \
    int found;                                                                                                   \
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; bar.red." op ".pred q, 0, p; selp.s32 %0, 1, 0, q; }" \
                 : "=r"(found) : "r"(predicate) : "memory");                                                     \
    return found;                                                                                                \
  }
__DL_BARRIER_VOTE(__syncthreads_and, "and")
__DL_BARRIER_VOTE(__syncthreads_or, "or")
#undef __DL_BARRIER_VOTE

__DL_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }
__DL_DEVICE void __barrier_sync(unsigned int barrier) { asm volatile("barrier.sync %0;" ::"r"(barrier) : "memory"); }
__DL_DEVICE void __barrier_sync_count(unsigned int barrier, unsigned int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__DL_DEVICE void __threadfence_block() { asm volatile("membar.cta;" ::: "memory"); }
__DL_DEVICE void __threadfence() { asm volatile("membar.gl;" ::: "memory"); }
__DL_DEVICE void __threadfence_system() { asm volatile("membar.sys;" ::: "memory"); }
