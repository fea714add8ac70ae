// Of __half and __nv_bfloat16: comparisons, what saturates, NaN, infinities, integers in each direction. Of words: DPX.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class H, class H2> __device__ void compare(unsigned *out, const H *x, const H *y) {
  int i = threadIdx.x;
  H2 a(x[i], y[i]), b(y[i], y[i]);
  out += 4 * i;
#define COMPARED(k, name) (unsigned)__h##name(x[i], y[i]) << k
  out[0] = COMPARED(0, eq) | COMPARED(1, ne) | COMPARED(2, lt) | COMPARED(3, le) | COMPARED(4, gt) | COMPARED(5, ge) |
           COMPARED(6, equ) | COMPARED(7, neu) | COMPARED(8, ltu) | COMPARED(9, leu) | COMPARED(10, gtu) |
           COMPARED(11, geu);
  out[1] = (a == b) | (a != b) << 1 | (a < b) << 2 | (x[i] == y[i]) << 3 | (x[i] != y[i]) << 4 | (x[i] < y[i]) << 5;
  out[2] = __hne2_mask(a, b);
  out[3] = __hgeu2_mask(a, b);
}
extern "C" __global__ void compare_half(unsigned *out, const __half *x, const __half *y) {
  compare<__half, __half2>(out, x, y);
}
extern "C" __global__ void compare_bfloat16(unsigned *out, const __nv_bfloat16 *x, const __nv_bfloat16 *y) {
  compare<__nv_bfloat16, __nv_bfloat162>(out, x, y);
}

template <class H, class H2> __device__ void extremes(H *out, H zero, H one, H infinity, H nan) {
  H2 less = __hfma2_relu(H2(__hneg(zero), one), H2(one, __hneg(one)), H2(__hneg(zero), zero));
  *out++ = less.x, *out++ = less.y;
  *out++ = __hfma(one, one, __hneg(infinity));
  *out++ = __hmax_nan(one, nan), *out++ = __hmin_nan(nan, one);
  *out++ = __hmax(one, nan), *out++ = __hmin_nan(one, zero);
  H2 sat = __hmul2_sat(H2(infinity, __hneg(one)), H2(one, one));
  *out++ = sat.x, *out++ = sat.y;
  H2 product = __hcmadd(H2(one, one + one), H2(one + one + one, one), H2(one, zero));  // (1 + 2i) (3 + i) + 1
  *out++ = product.x, *out++ = product.y;
}
extern "C" __global__ void extremes_half(__half *out, const __half *x) {
  extremes<__half, __half2>(out, x[0], x[1], x[2], x[3]);
}
extern "C" __global__ void extremes_bfloat16(__nv_bfloat16 *out, const __nv_bfloat16 *x) {
  extremes<__nv_bfloat16, __nv_bfloat162>(out, x[0], x[1], x[2], x[3]);
}

extern "C" __global__ void integers(__nv_bfloat16 *out, signed char *bytes, const long long *x) {
  long long v = x[threadIdx.x];
  out += 4 * threadIdx.x;
  out[0] = __ll2bfloat16_rn(v), out[1] = __ll2bfloat16_rz(v);
  out[2] = __ll2bfloat16_ru(v), out[3] = __ll2bfloat16_rd(v);
  bytes[2 * threadIdx.x] = __bfloat162char_rz(out[0]);
  bytes[2 * threadIdx.x + 1] = __half2char_rz(__ll2half_rn(v));
}

extern "C" __global__ void words(int *out, const int *x) {
  int a = x[0], b = x[1], c = x[2], *p = out;
  bool high, low;
  *p++ = __viaddmax_s32(a, b, c), *p++ = __viaddmin_u32(a, b, c), *p++ = __vimax3_s32_relu(a, b, c);
  *p++ = __viaddmax_s16x2(a, b, c), *p++ = __vimin3_u16x2(a, b, c), *p++ = __vimin_s16x2_relu(a, b);
  *p++ = __vibmax_s16x2(a, b, &high, &low), *p++ = high, *p++ = low;
}

extern "C" __global__ void reciprocal_roots(float *out, const float *x) {
  out[threadIdx.x] = __frsqrt_rn(x[threadIdx.x]);
}
