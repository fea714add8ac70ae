// dim3, and the vector types with their sizes and alignments (CUDA C++ Programming Guide, "Built-in Vector Types").
#pragma once
#include "drawloom/qualifiers.h"

#if !defined(__cplusplus)  // the host's interface is for C, too, where only launches need a type of these
typedef struct dim3 { unsigned int x, y, z; } dim3;
#else

// T1 to T4 of one element type: the alignments of two and of four elements are arguments.
#define __DL_VECTORS(NAME, T, ALIGN2, ALIGN4)                                                        \
  struct NAME##1 { T x; };                                                                           \
  struct __attribute__((aligned(ALIGN2))) NAME##2 { T x, y; };                                       \
  struct NAME##3 { T x, y, z; };                                                                     \
  struct __attribute__((aligned(ALIGN4))) NAME##4 { T x, y, z, w; };                                 \
  __DL_BOTH constexpr NAME##1 make_##NAME##1(T x) { return NAME##1{x}; }                             \
  __DL_BOTH constexpr NAME##2 make_##NAME##2(T x, T y) { return NAME##2{x, y}; }                     \
  __DL_BOTH constexpr NAME##3 make_##NAME##3(T x, T y, T z) { return NAME##3{x, y, z}; }             \
  __DL_BOTH constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) { return NAME##4{x, y, z, w}; }

__DL_VECTORS(char, signed char, 2, 4)
__DL_VECTORS(uchar, unsigned char, 2, 4)
__DL_VECTORS(short, short, 4, 8)
__DL_VECTORS(ushort, unsigned short, 4, 8)
__DL_VECTORS(int, int, 8, 16)
__DL_VECTORS(uint, unsigned int, 8, 16)
__DL_VECTORS(long, long, 16, 16)
__DL_VECTORS(ulong, unsigned long, 16, 16)
__DL_VECTORS(longlong, long long, 16, 16)
__DL_VECTORS(ulonglong, unsigned long long, 16, 16)
__DL_VECTORS(float, float, 8, 16)
__DL_VECTORS(double, double, 16, 16)
#undef __DL_VECTORS

struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
      : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};
#endif
