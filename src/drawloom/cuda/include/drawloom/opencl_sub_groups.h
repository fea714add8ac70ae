// Sub-groups: a warp of 32 work-items (OpenCL C 3.0, section 6.15.19; cl_khr_subgroup_shuffle, _shuffle_relative,
// _rotate, _ballot, _non_uniform_vote). Work-items are numbered with dimension 0 first, and the last sub-group of a
// work-group may have fewer: those that are not there are members of the masks, as those that have returned are.
#pragma once
#include "drawloom/opencl_half.h"
#include "drawloom/opencl_work_items.h"

#ifndef cl_khr_subgroups
#define cl_khr_subgroups 1
#endif
#define cl_khr_subgroup_shuffle 1
#define cl_khr_subgroup_shuffle_relative 1
#define cl_khr_subgroup_rotate 1
#define cl_khr_subgroup_ballot 1
#define cl_khr_subgroup_non_uniform_vote 1
#define __DL_EVERYBODY 0xffffffffu

static inline uint __dl_work_items(void) { return __dl_local_size(0) * __dl_local_size(1) * __dl_local_size(2); }
static inline uint get_sub_group_local_id(void) { return __nvvm_read_ptx_sreg_laneid(); }
static inline uint get_sub_group_id(void) { return (uint)get_local_linear_id() / 32; }
static inline uint get_num_sub_groups(void) { return (__dl_work_items() + 31) / 32; }
static inline uint get_enqueued_num_sub_groups(void) { return get_num_sub_groups(); }
static inline uint get_max_sub_group_size(void) { return min(__dl_work_items(), 32u); }
static inline uint get_sub_group_size(void) { return min(__dl_work_items() - 32 * get_sub_group_id(), 32u); }
#define sub_group_barrier(...) __nvvm_bar_warp_sync(__DL_EVERYBODY)

// Words of 32 bits go through PTX's shuffles; `end` is the lane of the segment's end, 0 for those upwards.
#define __DL_SUB_SHUFFLE_WORD(name, mode, end) \
  static inline uint __dl_##name(uint x, uint by) { return __nvvm_shfl_sync_##mode##_i32(__DL_EVERYBODY, x, by, end); }
__DL_SUB_SHUFFLE_WORD(idx, idx, 31)
__DL_SUB_SHUFFLE_WORD(bfly, bfly, 31)
__DL_SUB_SHUFFLE_WORD(up, up, 0)
__DL_SUB_SHUFFLE_WORD(down, down, 31)
#define __DL_SUB_MOVES(name, mode)                                                                            \
  __DL_FN int name(int x, uint by) { return (int)__dl_##mode((uint)x, by); }                                  \
  __DL_FN uint name(uint x, uint by) { return __dl_##mode(x, by); }                                           \
  __DL_FN char name(char x, uint by) { return (char)__dl_##mode((uint)x, by); }                               \
  __DL_FN uchar name(uchar x, uint by) { return (uchar)__dl_##mode(x, by); }                                  \
  __DL_FN short name(short x, uint by) { return (short)__dl_##mode((uint)x, by); }                            \
  __DL_FN ushort name(ushort x, uint by) { return (ushort)__dl_##mode(x, by); }                               \
  __DL_FN half name(half x, uint by) { return as_half((ushort)__dl_##mode(as_ushort(x), by)); }               \
  __DL_FN float name(float x, uint by) { return as_float(__dl_##mode(as_uint(x), by)); }                      \
  __DL_FN ulong name(ulong x, uint by) {                                                                      \
    return (ulong)__dl_##mode((uint)(x >> 32), by) << 32 | __dl_##mode((uint)x, by);                          \
  }                                                                                                           \
  __DL_FN long name(long x, uint by) { return (long)name((ulong)x, by); }                                     \
  __DL_FN double name(double x, uint by) { return as_double(name(as_ulong(x), by)); }                         \
  __DL_INTEGERS(__DL_SUB_MOVES_OF_##name)                                                                     \
  __DL_FLOATS(__DL_SUB_MOVES_OF_##name)                                                                       \
  __DL_SUB_MOVES_OF_##name(half)
#define __DL_SUB_MOVES_EACH(name, T, N)                                                                       \
  __DL_FN T##N name(T##N x, uint by) {                                                                        \
    T##N r;                                                                                                   \
    for (int i = 0; i < N; i++) r[i] = name(x[i], by);                                                        \
    return r;                                                                                                 \
  }
#define __DL_SUB_MOVES_OF_sub_group_shuffle(T) __DL_LENGTHS(__DL_SUB_MOVES_EACH, sub_group_shuffle, T)
#define __DL_SUB_MOVES_OF_sub_group_shuffle_xor(T) __DL_LENGTHS(__DL_SUB_MOVES_EACH, sub_group_shuffle_xor, T)
#define __DL_SUB_MOVES_OF_sub_group_shuffle_up(T) __DL_LENGTHS(__DL_SUB_MOVES_EACH, sub_group_shuffle_up, T)
#define __DL_SUB_MOVES_OF_sub_group_shuffle_down(T) __DL_LENGTHS(__DL_SUB_MOVES_EACH, sub_group_shuffle_down, T)
__DL_SUB_MOVES(sub_group_shuffle, idx)
__DL_SUB_MOVES(sub_group_shuffle_xor, bfly)
__DL_SUB_MOVES(sub_group_shuffle_up, up)
__DL_SUB_MOVES(sub_group_shuffle_down, down)
#define sub_group_broadcast(x, lane) sub_group_shuffle(x, lane)
#define sub_group_non_uniform_broadcast(x, lane) sub_group_shuffle(x, lane)
#define sub_group_broadcast_first(x) sub_group_shuffle(x, (uint)__builtin_ctz(__nvvm_activemask()))
#define sub_group_rotate(x, by) sub_group_shuffle(x, (get_sub_group_local_id() + (uint)(by)) % get_sub_group_size())

// Votes.
static inline int sub_group_all(int p) { return __nvvm_vote_all_sync(__DL_EVERYBODY, p != 0); }
static inline int sub_group_any(int p) { return __nvvm_vote_any_sync(__DL_EVERYBODY, p != 0); }
static inline int sub_group_elect(void) { return get_sub_group_local_id() == __builtin_ctz(__nvvm_activemask()); }
static inline int sub_group_non_uniform_all(int p) { return __nvvm_vote_all_sync(__nvvm_activemask(), p != 0); }
static inline int sub_group_non_uniform_any(int p) { return __nvvm_vote_any_sync(__nvvm_activemask(), p != 0); }
static inline uint4 sub_group_ballot(int p) { return (uint4)(__nvvm_vote_ballot_sync(__nvvm_activemask(), p != 0), 0, 0, 0); }
static inline int sub_group_inverse_ballot(uint4 votes) { return votes.x >> get_sub_group_local_id() & 1; }
static inline int sub_group_ballot_bit_extract(uint4 votes, uint lane) { return votes.x >> (lane & 31) & 1; }
static inline uint __dl_members(void) { return __DL_EVERYBODY >> (32 - get_sub_group_size()); }
static inline uint __dl_below(void) { return (1u << get_sub_group_local_id()) - 1; }
static inline uint sub_group_ballot_bit_count(uint4 votes) { return popcount(votes.x & __dl_members()); }
static inline uint sub_group_ballot_exclusive_scan(uint4 votes) { return popcount(votes.x & __dl_below()); }
static inline uint sub_group_ballot_inclusive_scan(uint4 votes) { return popcount(votes.x & (__dl_below() << 1 | 1)); }
static inline uint sub_group_ballot_find_lsb(uint4 votes) { return ctz(votes.x & __dl_members()); }
static inline uint sub_group_ballot_find_msb(uint4 votes) { return 31 - clz(votes.x & __dl_members()); }
static inline uint4 get_sub_group_eq_mask(void) { return (uint4)(__dl_below() + 1, 0, 0, 0); }
static inline uint4 get_sub_group_lt_mask(void) { return (uint4)(__dl_below(), 0, 0, 0); }
static inline uint4 get_sub_group_le_mask(void) { return (uint4)(__dl_below() << 1 | 1, 0, 0, 0); }
static inline uint4 get_sub_group_ge_mask(void) { return (uint4)(~__dl_below() & __dl_members(), 0, 0, 0); }
static inline uint4 get_sub_group_gt_mask(void) { return (uint4)(~(__dl_below() << 1 | 1) & __dl_members(), 0, 0, 0); }

// Sums, least and most over the sub-group, and over the work-items before one. A reduction of a whole warp is a butterfly.
// Where there are fewer work-items, partners may not be there; those before one always are.
#define __DL_SUB_OPERATION(name, T, identity, combined)                                                       \
  __DL_FN T sub_group_scan_inclusive_##name(T x) {                                                            \
    uint lane = get_sub_group_local_id();                                                                     \
    for (uint by = 1; by < 32; by *= 2) {                                                                     \
      T y = sub_group_shuffle_up(x, by);                                                                      \
      if (lane >= by) x = combined;                                                                           \
    }                                                                                                         \
    return x;                                                                                                 \
  }                                                                                                           \
  __DL_FN T sub_group_scan_exclusive_##name(T x) {                                                            \
    T before = sub_group_shuffle_up(sub_group_scan_inclusive_##name(x), 1);                                   \
    return get_sub_group_local_id() == 0 ? (T)(identity) : before;                                            \
  }                                                                                                           \
  __DL_FN T sub_group_reduce_##name(T x) {                                                                    \
    uint size = get_sub_group_size();                                                                         \
    if (size < 32) return sub_group_shuffle(sub_group_scan_inclusive_##name(x), size - 1);                    \
    for (uint by = 16; by > 0; by /= 2) {                                                                     \
      T y = sub_group_shuffle_xor(x, by);                                                                     \
      x = combined;                                                                                           \
    }                                                                                                         \
    return x;                                                                                                 \
  }
#define __DL_SUB_OPERATIONS(T, least, most)        \
  __DL_SUB_OPERATION(add, T, 0, x + y)             \
  __DL_SUB_OPERATION(min, T, most, min(x, y))      \
  __DL_SUB_OPERATION(max, T, least, max(x, y))
__DL_SUB_OPERATIONS(char, SCHAR_MIN, SCHAR_MAX)
__DL_SUB_OPERATIONS(uchar, 0, UCHAR_MAX)
__DL_SUB_OPERATIONS(short, SHRT_MIN, SHRT_MAX)
__DL_SUB_OPERATIONS(ushort, 0, USHRT_MAX)
__DL_SUB_OPERATIONS(int, INT_MIN, INT_MAX)
__DL_SUB_OPERATIONS(uint, 0, UINT_MAX)
__DL_SUB_OPERATIONS(long, LONG_MIN, LONG_MAX)
__DL_SUB_OPERATIONS(ulong, 0, ULONG_MAX)
__DL_SUB_OPERATIONS(half, -INFINITY, INFINITY)
__DL_SUB_OPERATIONS(float, -INFINITY, INFINITY)
__DL_SUB_OPERATIONS(double, -INFINITY, INFINITY)
