// threadIdx, blockIdx, blockDim, gridDim and warpSize: variables whose members are special registers.
#pragma once
#include "drawloom/vector_types.h"

#define __DL_COORDINATE(member, sreg)                    \
  __declspec(property(get = __read_##member)) unsigned int member; \
  static __inline__ __attribute__((device, always_inline)) unsigned int __read_##member() { return sreg; }

#define __DL_VARIABLE(name, T, sreg)                                                           \
  struct __drawloom_##name {                                                                   \
    __DL_COORDINATE(x, sreg##_x())                                                             \
    __DL_COORDINATE(y, sreg##_y())                                                             \
    __DL_COORDINATE(z, sreg##_z())                                                             \
    __attribute__((device)) operator dim3() const { return dim3(x, y, z); }                    \
    __attribute__((device)) operator uint3() const { return uint3{x, y, z}; }                  \
    __drawloom_##name(const __drawloom_##name &) = delete;                                     \
    __attribute__((device)) void operator=(const __drawloom_##name &) const = delete;          \
    __attribute__((device)) __drawloom_##name *operator&() const = delete;                     \
  };                                                                                           \
  extern const __attribute__((device, weak)) __drawloom_##name name;

__DL_VARIABLE(threadIdx, uint3, __nvvm_read_ptx_sreg_tid)
__DL_VARIABLE(blockIdx, uint3, __nvvm_read_ptx_sreg_ctaid)
__DL_VARIABLE(blockDim, dim3, __nvvm_read_ptx_sreg_ntid)
__DL_VARIABLE(gridDim, dim3, __nvvm_read_ptx_sreg_nctaid)
#undef __DL_VARIABLE
#undef __DL_COORDINATE

static __attribute__((device)) const int warpSize = 32;
