// compilers: nvcc
// Loads and stores with cache operators, read-only loads, vectors of each shape, nanosleep, clocks.
#include "device.h"

extern "C" __global__ void hinted(const float4 *__restrict__ a, const int2 *b, const short4 *s, const uchar4 *c,
                                  float4 *out, int2 *out2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = __ldg(&a[i]), w = __ldcs(&a[i + 1]);
    int2 p = __ldcg(&b[i]), q = __ldca(&b[i + 1]), r = __ldcv(&b[i + 2]), l = __ldlu(&b[i + 3]);
    short4 h = s[i];
    uchar4 u = c[i];
    v.x += w.x + h.x + u.x;
    v.y += w.y + h.y + u.y;
    v.z += w.z + h.z + u.z;
    v.w += w.w + h.w + u.w;
    __stcs(&out[i], v);
    p.x += q.x + r.x + l.x;
    p.y += q.y + r.y + l.y;
    __stcg(&out2[i], p);
    __stwt(&out2[i + 1], q);
    __stwb(&out2[i + 2], r);
}

extern "C" __global__ void clocks(long long *out, unsigned wait) {
    long long start = clock64();
#if __CUDA_ARCH__ >= 700
    __nanosleep(wait);
#endif
    unsigned lane, warp, sm;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    out[threadIdx.x] = clock64() - start + clock() + lane + warp + sm;
    __prof_trigger(1);
    if (wait == 12345) __trap();
    if (wait == 12346) __brkpt();
}
