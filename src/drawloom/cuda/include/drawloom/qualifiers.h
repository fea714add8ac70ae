// The keywords of CUDA C++, as attributes of clang; nothing in sources that are no CUDA.
#pragma once
#if defined(__CUDA__)
#define __DL_KEYWORD(word) __attribute__((word))
#else
#define __DL_KEYWORD(word)
#endif
#define __host__ __DL_KEYWORD(host)
#define __device__ __DL_KEYWORD(device)
#define __global__ __DL_KEYWORD(global)
#define __shared__ __DL_KEYWORD(shared)
#define __constant__ __DL_KEYWORD(constant)
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#if __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#endif
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __cluster_dims__(...) _Pragma("GCC error \"__cluster_dims__: thread block clusters are not supported\"")
#if defined(__DRAWLOOM_PROGRAM__)  // the host's side would be a variable of its own
#define __managed__ _Pragma("GCC error \"__managed__: variables of both sides are not supported; use cudaMallocManaged\"")
#else
#define __managed__ __attribute__((device))
#endif
#define __nv_pure__ __attribute__((const))
#define CUDARTAPI

typedef __SIZE_TYPE__ size_t;

// Functions of these headers: for the device alone, and for both sides.
#define __DL_DEVICE static __inline__ __device__
#define __DL_BOTH static __inline__ __host__ __device__
// Functions that a target has from this architecture on; the host side knows them all.
#define __DL_SINCE(arch) (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= (arch))
