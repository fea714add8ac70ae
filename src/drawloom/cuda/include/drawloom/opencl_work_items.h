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

// Ids and sizes have 32 bits before they become a size_t, and the conversion stands in the caller: clang narrows
// `int i = get_global_id(0)` to arithmetic of 32 bits before it inlines functions.
#define __DL_DIMENSION(name, register, otherwise)                      \
  static inline uint name(uint dimension) {                            \
    return dimension == 0   ? __nvvm_read_ptx_sreg_##register##_x()    \
           : dimension == 1 ? __nvvm_read_ptx_sreg_##register##_y()    \
           : dimension == 2 ? __nvvm_read_ptx_sreg_##register##_z()    \
                            : otherwise;                               \
  }
__DL_DIMENSION(__dl_local_id, tid, 0)
__DL_DIMENSION(__dl_local_size, ntid, 1)
__DL_DIMENSION(__dl_group_id, ctaid, 0)
__DL_DIMENSION(__dl_num_groups, nctaid, 1)
#define get_local_id(dimension) ((size_t)__dl_local_id(dimension))
#define get_local_size(dimension) ((size_t)__dl_local_size(dimension))
#define get_enqueued_local_size(dimension) ((size_t)__dl_local_size(dimension))
#define get_group_id(dimension) ((size_t)__dl_group_id(dimension))
#define get_num_groups(dimension) ((size_t)__dl_num_groups(dimension))
#define get_global_offset(dimension) ((void)(dimension), (size_t)0)
#define get_global_size(dimension)                                                  \
  ({                                                                                \
    const uint __dl_dimension = (dimension);                                        \
    (size_t)__dl_num_groups(__dl_dimension) * __dl_local_size(__dl_dimension);      \
  })
#define get_global_id(dimension)                                                    \
  ({                                                                                \
    const uint __dl_dimension = (dimension);                                        \
    (size_t)__dl_group_id(__dl_dimension) * __dl_local_size(__dl_dimension) + __dl_local_id(__dl_dimension); \
  })
#define get_local_linear_id() \
  ((size_t)((__dl_local_id(2) * __dl_local_size(1) + __dl_local_id(1)) * __dl_local_size(0) + __dl_local_id(0)))
#define get_global_linear_id() \
  ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0))
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

// printf: its arguments, promoted as C does, lie in memory as vprintf takes them (PTX Interoperability, "System
// calls"). Each is put there by the function of its type; vectors have none.
int vprintf(const char *format, void *arguments);
#define __DL_PUT(T, As)                                                     \
  __DL_FN int __dl_put(ulong *words, int bytes, T value) {                  \
    int at = (bytes + (int)sizeof(As) - 1) & -(int)sizeof(As);              \
    *(As *)((char *)words + at) = value;                                    \
    return at + (int)sizeof(As);                                            \
  }
__DL_PUT(char, int)
__DL_PUT(uchar, int)
__DL_PUT(short, int)
__DL_PUT(ushort, int)
__DL_PUT(int, int)
__DL_PUT(uint, uint)
__DL_PUT(long, long)
__DL_PUT(ulong, ulong)
__DL_PUT(half, double)
__DL_PUT(float, double)
__DL_PUT(double, double)
static inline const char *__dl_generic(__constant const char *text) {
  const char *p;
  __asm("cvta.const.u64 %0, %1;" : "=l"(p) : "l"(text));
  return p;
}
__DL_FN int __dl_put(ulong *words, int bytes, __constant const char *value) {
  return __dl_put(words, bytes, (ulong)__dl_generic(value));
}
// The format, and up to 16 arguments; the macro that takes as many is found by counting.
#define __DL_COUNT(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, n, ...) n
#define __DL_PUT0(f)
#define __DL_PUT1(f, a) bytes = __dl_put(words, bytes, a);
#define __DL_PUT2(f, a, ...) __DL_PUT1(f, a) __DL_PUT1(f, __VA_ARGS__)
#define __DL_PUT3(f, a, ...) __DL_PUT1(f, a) __DL_PUT2(f, __VA_ARGS__)
#define __DL_PUT4(f, a, ...) __DL_PUT1(f, a) __DL_PUT3(f, __VA_ARGS__)
#define __DL_PUT5(f, a, ...) __DL_PUT1(f, a) __DL_PUT4(f, __VA_ARGS__)
#define __DL_PUT6(f, a, ...) __DL_PUT1(f, a) __DL_PUT5(f, __VA_ARGS__)
#define __DL_PUT7(f, a, ...) __DL_PUT1(f, a) __DL_PUT6(f, __VA_ARGS__)
#define __DL_PUT8(f, a, ...) __DL_PUT1(f, a) __DL_PUT7(f, __VA_ARGS__)
#define __DL_PUT9(f, a, ...) __DL_PUT1(f, a) __DL_PUT8(f, __VA_ARGS__)
#define __DL_PUT10(f, a, ...) __DL_PUT1(f, a) __DL_PUT9(f, __VA_ARGS__)
#define __DL_PUT11(f, a, ...) __DL_PUT1(f, a) __DL_PUT10(f, __VA_ARGS__)
#define __DL_PUT12(f, a, ...) __DL_PUT1(f, a) __DL_PUT11(f, __VA_ARGS__)
#define __DL_PUT13(f, a, ...) __DL_PUT1(f, a) __DL_PUT12(f, __VA_ARGS__)
#define __DL_PUT14(f, a, ...) __DL_PUT1(f, a) __DL_PUT13(f, __VA_ARGS__)
#define __DL_PUT15(f, a, ...) __DL_PUT1(f, a) __DL_PUT14(f, __VA_ARGS__)
#define __DL_PUT16(f, a, ...) __DL_PUT1(f, a) __DL_PUT15(f, __VA_ARGS__)
#define __DL_PUTS(...) \
  __DL_COUNT(__VA_ARGS__, __DL_PUT16, __DL_PUT15, __DL_PUT14, __DL_PUT13, __DL_PUT12, __DL_PUT11, __DL_PUT10, __DL_PUT9, \
             __DL_PUT8, __DL_PUT7, __DL_PUT6, __DL_PUT5, __DL_PUT4, __DL_PUT3, __DL_PUT2, __DL_PUT1, __DL_PUT0)(__VA_ARGS__)
#define __DL_FORMAT(format, ...) format
#define printf(...)                                                        \
  ({                                                                       \
    ulong words[16];                                                       \
    int bytes = 0;                                                         \
    __DL_PUTS(__VA_ARGS__)                                                 \
    vprintf(__dl_generic(__DL_FORMAT(__VA_ARGS__, 0)), words);             \
  })
