// Work-items, barriers and fences (OpenCL C 1.2, sections 6.12.1 and 6.12.8): a work-group is a block.
#pragma once
#include "drawloom/opencl_types.h"

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define CLK_IMAGE_MEM_FENCE 4
typedef enum {
  memory_scope_work_item = 0,
  memory_scope_work_group = 1,
  memory_scope_device = 2,
  memory_scope_all_svm_devices = 3,
  memory_scope_sub_group = 4,
} memory_scope;

#define __DL_DIMENSION(name, register, otherwise)                             \
  static inline size_t name(uint dimension) {                                 \
    return dimension == 0   ? (size_t)__nvvm_read_ptx_sreg_##register##_x()   \
           : dimension == 1 ? (size_t)__nvvm_read_ptx_sreg_##register##_y()   \
           : dimension == 2 ? (size_t)__nvvm_read_ptx_sreg_##register##_z()   \
                            : (size_t)otherwise;                              \
  }
__DL_DIMENSION(get_local_id, tid, 0)
__DL_DIMENSION(get_local_size, ntid, 1)
__DL_DIMENSION(get_group_id, ctaid, 0)
__DL_DIMENSION(get_num_groups, nctaid, 1)
static inline size_t get_enqueued_local_size(uint dimension) { return get_local_size(dimension); }
static inline size_t get_global_offset(uint dimension) { return 0; }
static inline size_t get_global_size(uint dimension) { return get_num_groups(dimension) * get_local_size(dimension); }
static inline size_t get_global_id(uint dimension) {
  return get_group_id(dimension) * get_local_size(dimension) + get_local_id(dimension);
}
static inline size_t get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
static inline size_t get_global_linear_id(void) {
  return (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
}
// A launch has three dimensions always; those behind the last with more than one item count as not there.
static inline uint get_work_dim(void) { return get_global_size(2) > 1 ? 3 : get_global_size(1) > 1 ? 2 : 1; }

__attribute__((convergent)) static inline void barrier(cl_mem_fence_flags flags) { __syncthreads(); }
#define work_group_barrier(...) __syncthreads()
static inline void mem_fence(cl_mem_fence_flags flags) {
  if (flags & CLK_GLOBAL_MEM_FENCE) __nvvm_membar_gl();
  else __nvvm_membar_cta();
}
static inline void read_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
static inline void write_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
int printf(__constant const char *format, ...);
