// Cooperative groups: blocks, grids, tiles of a warp, and the threads that meet (Programming Guide, "Cooperative
// Groups"). Every group has sync, thread_rank and size; groups within a warp exchange values, too.
#pragma once
#include <cuda_runtime.h>

#define __DL_MEMBER __attribute__((device)) __inline__

// How many blocks wait at the grid's barrier; the top bit turns each time that all have come.
static __attribute__((device)) unsigned int __dl_grid_barrier;

namespace cooperative_groups {
// As in NVIDIA's header: CCCL declares groups in this namespace before it is read.
namespace __v1 {

__DL_DEVICE unsigned int __dl_rank_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

class thread_block {
 public:
  struct arrival_token {};

  static __DL_MEMBER void sync() { __syncthreads(); }
  // Threads meet where they wait: a block's barrier cannot be told of an arrival by those who wait at it later.
  static __DL_MEMBER arrival_token barrier_arrive() { return arrival_token(); }
  static __DL_MEMBER void barrier_wait(arrival_token &&) { __syncthreads(); }
  static __DL_MEMBER unsigned int thread_rank() { return __dl_rank_in_block(); }
  static __DL_MEMBER unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
  static __DL_MEMBER unsigned int num_threads() { return size(); }
  static __DL_MEMBER dim3 group_index() { return blockIdx; }
  static __DL_MEMBER dim3 thread_index() { return threadIdx; }
  static __DL_MEMBER dim3 group_dim() { return blockDim; }
  static __DL_MEMBER dim3 dim_threads() { return blockDim; }
};
__DL_DEVICE thread_block this_thread_block() { return thread_block(); }

// All threads of a cooperative launch, whose blocks run at one time.
class grid_group {
 public:
  static __DL_MEMBER bool is_valid() { return true; }
  static __DL_MEMBER unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static __DL_MEMBER unsigned long long block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static __DL_MEMBER unsigned long long thread_rank() { return block_rank() * thread_block::size() + __dl_rank_in_block(); }
  static __DL_MEMBER unsigned long long size() { return num_blocks() * thread_block::size(); }
  static __DL_MEMBER unsigned long long num_threads() { return size(); }
  static __DL_MEMBER dim3 dim_blocks() { return gridDim; }
  static __DL_MEMBER dim3 group_dim() { return gridDim; }
  static __DL_MEMBER dim3 block_index() { return blockIdx; }
  using arrival_token = unsigned int;
  // A block has arrived when all its threads have; its first thread then counts it, and gets the count before.
  static __DL_MEMBER arrival_token barrier_arrive() {
    __syncthreads();
    if (__dl_rank_in_block()) return 0;
    // All additions together are 2^31, so that the count of those who wait is zero again.
    unsigned int others = (unsigned int)num_blocks() - 1;
    __threadfence();
    return atomicAdd(&__dl_grid_barrier, block_rank() == 0 ? 0x80000000u - others : 1u);
  }
  static __DL_MEMBER void barrier_wait(arrival_token &&seen) {
    if (__dl_rank_in_block() == 0) {
      while (((atomicAdd(&__dl_grid_barrier, 0u) ^ seen) & 0x80000000u) == 0) __nanosleep(32);
      __threadfence();
    }
    __syncthreads();
  }
  static __DL_MEMBER void sync() { barrier_wait(barrier_arrive()); }
};
__DL_DEVICE grid_group this_grid() { return grid_group(); }

// What the groups within a warp share: their lanes as a mask, and a lane's rank among them.
template <class Group> class __dl_lanes {
  __DL_MEMBER unsigned int mask() const { return static_cast<const Group *>(this)->__dl_mask(); }

 public:
  __DL_MEMBER void sync() const { __syncwarp(mask()); }
  __DL_MEMBER int any(int predicate) const { return __any_sync(mask(), predicate); }
  __DL_MEMBER int all(int predicate) const { return __all_sync(mask(), predicate); }
  __DL_MEMBER unsigned int ballot(int predicate) const { return packed(__ballot_sync(mask(), predicate)); }
  template <class T> __DL_MEMBER unsigned int match_any(T v) const { return packed(__match_any_sync(mask(), v)); }
  template <class T> __DL_MEMBER unsigned int match_all(T v, int &all) const { return packed(__match_all_sync(mask(), v, &all)); }

 private:
  // The bits of the group's lanes next to each other.
  __DL_MEMBER unsigned int packed(unsigned int lanes) const { return static_cast<const Group *>(this)->__dl_packed(lanes); }
};

// Values of any size, four bytes at a time.
template <class T> __DL_DEVICE T __dl_shuffled(unsigned int mask, T value, unsigned int lane) {
  unsigned int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (unsigned int &word : words) word = __shfl_sync(mask, word, (int)lane);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

// `Size` neighbouring lanes, a power of two up to 32.
template <unsigned int Size, class Parent = void> class thread_block_tile : public __dl_lanes<thread_block_tile<Size, Parent>> {
  static_assert(Size && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  static __DL_MEMBER unsigned int first() { return __dl_rank_in_block() & 31u & ~(Size - 1); }

 public:
  thread_block_tile() = default;
  template <class Other> __DL_MEMBER thread_block_tile(const thread_block_tile<Size, Other> &) {}
  static __DL_MEMBER unsigned int __dl_mask() { return (Size == 32 ? 0xffffffffu : (1u << (Size & 31)) - 1) << first(); }
  static __DL_MEMBER unsigned int __dl_packed(unsigned int lanes) { return (lanes & __dl_mask()) >> first(); }
  static __DL_MEMBER unsigned int thread_rank() { return __dl_rank_in_block() & (Size - 1); }
  static constexpr __attribute__((host, device)) unsigned int size() { return Size; }
  static constexpr __attribute__((host, device)) unsigned int num_threads() { return Size; }
  static __DL_MEMBER unsigned int meta_group_rank() { return __dl_rank_in_block() / Size; }
  static __DL_MEMBER unsigned int meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  template <class T> __DL_MEMBER T shfl(T v, int rank) const { return __dl_shuffled(__dl_mask(), v, first() | (rank & (Size - 1))); }
  template <class T> __DL_MEMBER T shfl_up(T v, unsigned int by) const {
    return __dl_shuffled(__dl_mask(), v, first() + (thread_rank() >= by ? thread_rank() - by : thread_rank()));
  }
  template <class T> __DL_MEMBER T shfl_down(T v, unsigned int by) const {
    return __dl_shuffled(__dl_mask(), v, first() + (thread_rank() + by < Size ? thread_rank() + by : thread_rank()));
  }
  template <class T> __DL_MEMBER T shfl_xor(T v, unsigned int lanes) const {
    return __dl_shuffled(__dl_mask(), v, first() + ((thread_rank() ^ lanes) & (Size - 1)));
  }
};

// Any lanes of a warp.
class coalesced_group : public __dl_lanes<coalesced_group> {
  unsigned int lanes;

 public:
  __DL_MEMBER explicit coalesced_group(unsigned int lanes) : lanes(lanes) {}
  __DL_MEMBER unsigned int __dl_mask() const { return lanes; }
  __DL_MEMBER unsigned int __dl_packed(unsigned int wanted) const {
    unsigned int bits = 0;
    for (unsigned int rest = lanes, rank = 0; rest; rest &= rest - 1, rank++)
      bits |= (wanted & rest & -rest ? 1u : 0u) << rank;
    return bits;
  }
  __DL_MEMBER unsigned int thread_rank() const { return __popc(lanes & __lanemask_lt()); }
  __DL_MEMBER unsigned int size() const { return __popc(lanes); }
  __DL_MEMBER unsigned int num_threads() const { return size(); }
  static __DL_MEMBER unsigned int meta_group_rank() { return 0; }
  static __DL_MEMBER unsigned int meta_group_size() { return 1; }
  __DL_MEMBER unsigned int __dl_lane(unsigned int rank) const {
    unsigned int rest = lanes;
    for (unsigned int i = 0; i < rank; i++) rest &= rest - 1;
    return __ffs((int)rest) - 1;
  }
  template <class T> __DL_MEMBER T shfl(T v, unsigned int rank) const { return __dl_shuffled(lanes, v, __dl_lane(rank % size())); }
  template <class T> __DL_MEMBER T shfl_up(T v, unsigned int by) const {
    return __dl_shuffled(lanes, v, __dl_lane(thread_rank() >= by ? thread_rank() - by : thread_rank()));
  }
  template <class T> __DL_MEMBER T shfl_down(T v, unsigned int by) const {
    return __dl_shuffled(lanes, v, __dl_lane(thread_rank() + by < size() ? thread_rank() + by : thread_rank()));
  }
};
__DL_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// A group of a size that is known when the program runs: a block, or a tile of one.
class thread_group {
  unsigned int tile;  // 0: the block

 public:
  __DL_MEMBER thread_group(thread_block) : tile(0) {}
  template <unsigned int Size, class Parent> __DL_MEMBER thread_group(thread_block_tile<Size, Parent>) : tile(Size) {}
  __DL_MEMBER explicit thread_group(unsigned int tile) : tile(tile) {}
  __DL_MEMBER unsigned int size() const { return tile ? tile : thread_block::size(); }
  __DL_MEMBER unsigned int num_threads() const { return size(); }
  __DL_MEMBER unsigned int thread_rank() const { return tile ? __dl_rank_in_block() & (tile - 1) : __dl_rank_in_block(); }
  __DL_MEMBER void sync() const {
    if (!tile) return __syncthreads();
    unsigned int first = __dl_rank_in_block() & 31u & ~(tile - 1);
    __syncwarp((tile == 32 ? 0xffffffffu : (1u << tile) - 1) << first);
  }
};

template <unsigned int Size, class Parent> __DL_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent &) {
  return thread_block_tile<Size, Parent>();
}
__DL_DEVICE thread_group tiled_partition(const thread_group &, unsigned int size) { return thread_group(size); }
template <class Group> __DL_DEVICE coalesced_group binary_partition(const Group &group, bool side) {
  unsigned int lanes = __ballot_sync(group.__dl_mask(), side);
  return coalesced_group(side ? lanes : group.__dl_mask() & ~lanes);
}
template <class Group, class T> __DL_DEVICE coalesced_group labeled_partition(const Group &group, T label) {
  return coalesced_group(__match_any_sync(group.__dl_mask(), label));
}
template <class Group> __DL_DEVICE void sync(const Group &group) { group.sync(); }
template <class Group> __DL_DEVICE unsigned int thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> __DL_DEVICE unsigned int group_size(const Group &group) { return group.size(); }

// Calls `function` in one thread of a group; with `broadcast`, all of a tile or of a coalesced group get the result.
template <class Group, class Function, class... Arguments>
__DL_DEVICE void invoke_one(const Group &group, Function &&function, Arguments &&...arguments) {
  if (group.thread_rank() == 0) function(static_cast<Arguments &&>(arguments)...);
}
template <class Group, class Function, class... Arguments>
__DL_DEVICE auto invoke_one_broadcast(const Group &group, Function &&function, Arguments &&...arguments)
    -> __remove_cvref(decltype(function(static_cast<Arguments &&>(arguments)...))) {
  __remove_cvref(decltype(function(static_cast<Arguments &&>(arguments)...))) value{};
  if (group.thread_rank() == 0) value = function(static_cast<Arguments &&>(arguments)...);
  return group.shfl(value, 0);
}

template <class T = void> struct plus { __DL_MEMBER T operator()(T a, T b) const { return a + b; } };
template <class T = void> struct less { __DL_MEMBER T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T = void> struct greater { __DL_MEMBER T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { __DL_MEMBER T operator()(T a, T b) const { return a & b; } };
template <class T = void> struct bit_or { __DL_MEMBER T operator()(T a, T b) const { return a | b; } };
template <class T = void> struct bit_xor { __DL_MEMBER T operator()(T a, T b) const { return a ^ b; } };

// The value of all threads of a tile or a coalesced group together, in each of them.
template <class Group, class T, class Op> __DL_DEVICE T reduce(const Group &group, T value, Op op) {
  unsigned int rank = group.thread_rank(), size = group.size();
  for (unsigned int by = 1; by < size; by *= 2) {  // afterwards rank 0 has them all, in the order of the ranks
    T other = group.shfl_down(value, by);
    if ((rank & (2 * by - 1)) == 0 && rank + by < size) value = op(value, other);
  }
  return group.shfl(value, 0);
}
template <class Group, class T, class Op> __DL_DEVICE T inclusive_scan(const Group &group, T value, Op op) {
  unsigned int rank = group.thread_rank(), size = group.size();
  for (unsigned int by = 1; by < size; by *= 2) {
    T other = group.shfl_up(value, by);
    if (rank >= by) value = op(other, value);
  }
  return value;
}
template <class Group, class T> __DL_DEVICE T inclusive_scan(const Group &group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class Op> __DL_DEVICE T exclusive_scan(const Group &group, T value, Op op) {
  T before = group.shfl_up(inclusive_scan(group, value, op), 1);
  return group.thread_rank() ? before : T();
}
template <class Group, class T> __DL_DEVICE T exclusive_scan(const Group &group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

// Copies `bytes` by all threads of a group; they may be read after `wait`.
template <class Group> __DL_DEVICE void memcpy_async(const Group &group, void *to, const void *from, size_t bytes) {
  bool words = (((size_t)to | (size_t)from | bytes) & 3) == 0;
  size_t count = words ? bytes / 4 : bytes;
  for (size_t i = group.thread_rank(); i < count; i += group.size()) {
    if (words) ((unsigned int *)to)[i] = ((const unsigned int *)from)[i];
    else ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
  }
}
template <class Group> __DL_DEVICE void wait(const Group &group) { group.sync(); }
template <unsigned int, class Group> __DL_DEVICE void wait_prior(const Group &group) { group.sync(); }
}  // namespace __v1
using namespace __v1;
}  // namespace cooperative_groups
#undef __DL_MEMBER
