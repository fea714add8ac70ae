// Copies from global to shared memory that go on beside a thread's other work (CUDA C++ Programming Guide, "Pipeline
// Primitives Interface"), by PTX's cp.async; before sm_80, which lacks it, copies that are done at once.
#pragma once
#include <cuda_runtime.h>

// `size` is 4, 8 or 16 bytes, to which both addresses are aligned; the last `zeros` of them become 0.
__DL_DEVICE void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros = 0) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned int shared = (unsigned int)__cvta_generic_to_shared(to), taken = (unsigned int)(size - zeros);
  size_t global = __cvta_generic_to_global(from);
#define __DL_COPY(bytes)                                                                                    \
  asm volatile("cp.async.ca.shared.global [%0], [%1], " #bytes ", %2;" ::"r"(shared), "l"(global), "r"(taken) \
               : "memory")
  if (size == 4)
    __DL_COPY(4);
  else if (size == 8)
    __DL_COPY(8);
  else
    __DL_COPY(16);
#undef __DL_COPY
#else
  for (size_t i = 0; i < size; ++i) ((char *)to)[i] = i < size - zeros ? ((const char *)from)[i] : 0;
#endif
}
__DL_DEVICE void __pipeline_commit() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for all but the last `prior` groups, at most 7: fewer where the number is no constant.
__DL_DEVICE void __pipeline_wait_prior(unsigned int prior) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define __DL_WAIT(n) \
  case n: asm volatile("cp.async.wait_group " #n ";" ::: "memory"); break;
  switch (prior) {
    __DL_WAIT(1) __DL_WAIT(2) __DL_WAIT(3) __DL_WAIT(4) __DL_WAIT(5) __DL_WAIT(6) __DL_WAIT(7)
    default: asm volatile("cp.async.wait_group 0;" ::: "memory");
  }
#undef __DL_WAIT
#endif
}
