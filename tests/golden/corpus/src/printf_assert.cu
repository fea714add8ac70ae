// printf with mixed arguments, and a failing-path assert.
#include "device.h"
#if defined(__NVCC__)
#include <assert.h>
#include <stdio.h>
#else
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char *, const char *, unsigned, const char *,
                                                                  size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, "printf_assert.cu", __LINE__, __func__, 1))
#endif

extern "C" __global__ void report(const float *x, const int *k, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(n > 0);
    if (i >= n) return;
    if (k[i] < 0) printf("thread %d: k = %d, x = %g %s\n", i, k[i], x[i], i & 1 ? "odd" : "even");
    assert(k[i] < 1000);
    if (i == 0) printf("done\n");
    if (i == 1) printf("%lld %c %p 100%%\n", (long long)i << 40, 'a' + i, x);
}
