// The part of CUDA's device library that the corpus uses, for a clang without a CUDA toolkit.
// Under nvcc this file only pulls in what nvcc itself ships.
#pragma once

#if defined(__NVCC__) || defined(__CUDACC_RTC__)

typedef unsigned int u32;
typedef unsigned long long u64;

#else

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))

typedef unsigned int u32;
typedef unsigned long long u64;
typedef __SIZE_TYPE__ size_t;

#define BUILTIN_TRIPLE(name, prefix)                                                                  \
    struct name##_t {                                                                                 \
        __declspec(property(get = get_x)) unsigned x;                                                 \
        __declspec(property(get = get_y)) unsigned y;                                                 \
        __declspec(property(get = get_z)) unsigned z;                                                 \
        static __device__ __forceinline__ unsigned get_x() { return __nvvm_read_ptx_sreg_##prefix##_x(); } \
        static __device__ __forceinline__ unsigned get_y() { return __nvvm_read_ptx_sreg_##prefix##_y(); } \
        static __device__ __forceinline__ unsigned get_z() { return __nvvm_read_ptx_sreg_##prefix##_z(); } \
    };                                                                                                \
    extern const __device__ __attribute__((weak)) name##_t name;
BUILTIN_TRIPLE(threadIdx, tid)
BUILTIN_TRIPLE(blockIdx, ctaid)
BUILTIN_TRIPLE(blockDim, ntid)
BUILTIN_TRIPLE(gridDim, nctaid)
#define warpSize 32

struct __attribute__((aligned(8))) float2 { float x, y; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
struct __attribute__((aligned(8))) int2 { int x, y; };
struct __attribute__((aligned(16))) int4 { int x, y, z, w; };
struct __attribute__((aligned(16))) uint4 { unsigned x, y, z, w; };
struct float3 { float x, y, z; };
struct __attribute__((aligned(16))) double2 { double x, y; };
static __device__ __forceinline__ float2 make_float2(float x, float y) { return float2{x, y}; }
static __device__ __forceinline__ float3 make_float3(float x, float y, float z) { return float3{x, y, z}; }
static __device__ __forceinline__ float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
static __device__ __forceinline__ int4 make_int4(int x, int y, int z, int w) { return int4{x, y, z, w}; }
static __device__ __forceinline__ double2 make_double2(double x, double y) { return double2{x, y}; }

#define DEVICE static __device__ __forceinline__
DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
DEVICE void __threadfence() { __nvvm_membar_gl(); }
DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
DEVICE void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
DEVICE unsigned __activemask() { return __nvvm_activemask(); }

#define SHUFFLE(name, builtin, clamp)                                                                 \
    DEVICE int name(unsigned m, int v, unsigned s, int width = 32) {                                  \
        return __nvvm_shfl_sync_##builtin##_i32(m, v, s, ((32 - width) << 8) | clamp);                \
    }                                                                                                 \
    DEVICE unsigned name(unsigned m, unsigned v, unsigned s, int width = 32) {                        \
        return (unsigned)__nvvm_shfl_sync_##builtin##_i32(m, (int)v, s, ((32 - width) << 8) | clamp); \
    }                                                                                                 \
    DEVICE float name(unsigned m, float v, unsigned s, int width = 32) {                              \
        return __nvvm_shfl_sync_##builtin##_f32(m, v, s, ((32 - width) << 8) | clamp);                \
    }
SHUFFLE(__shfl_sync, idx, 0x1f)
SHUFFLE(__shfl_up_sync, up, 0)
SHUFFLE(__shfl_down_sync, down, 0x1f)
SHUFFLE(__shfl_xor_sync, bfly, 0x1f)
DEVICE int __all_sync(unsigned m, int p) { return __nvvm_vote_all_sync(m, p); }
DEVICE int __any_sync(unsigned m, int p) { return __nvvm_vote_any_sync(m, p); }
DEVICE unsigned __ballot_sync(unsigned m, int p) { return __nvvm_vote_ballot_sync(m, p); }

DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
DEVICE int __popcll(u64 x) { return __builtin_popcountll(x); }
DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
DEVICE int __clzll(long long x) { return x ? __builtin_clzll((u64)x) : 64; }
DEVICE int __ffs(int x) { return __builtin_ffs(x); }
DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
DEVICE u64 __brevll(u64 x) { return __builtin_bitreverse64(x); }
DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return __nvvm_prmt(a, b, s); }
DEVICE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
    unsigned d;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(lo), "r"(hi), "r"(s));
    return d;
}
DEVICE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
    unsigned d;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(lo), "r"(hi), "r"(s));
    return d;
}
DEVICE int __mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
DEVICE unsigned __umulhi(unsigned a, unsigned b) { return __nvvm_mulhi_ui(a, b); }
DEVICE u64 __umul64hi(u64 a, u64 b) { return __nvvm_mulhi_ull(a, b); }
DEVICE int min(int a, int b) { return a < b ? a : b; }
DEVICE int max(int a, int b) { return a > b ? a : b; }
DEVICE unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
DEVICE unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }

DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
DEVICE double fabs(double x) { return __builtin_fabs(x); }
DEVICE float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
DEVICE float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
DEVICE double fmin(double a, double b) { return __nvvm_fmin_d(a, b); }
DEVICE double fmax(double a, double b) { return __nvvm_fmax_d(a, b); }
DEVICE float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
DEVICE double fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
DEVICE float floorf(float x) { return __nvvm_floor_f(x); }
DEVICE float ceilf(float x) { return __nvvm_ceil_f(x); }
DEVICE float truncf(float x) { return __nvvm_trunc_f(x); }
DEVICE double floor(double x) { return __nvvm_floor_d(x); }
DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.693147181f; }
DEVICE float __exp2f(float x) { return __nvvm_ex2_approx_f(x); }
DEVICE float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.442695041f); }
DEVICE float __powf(float x, float y) { return __exp2f(y * __log2f(x)); }
DEVICE float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
DEVICE float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
DEVICE float __fadd_rz(float a, float b) { return __nvvm_add_rz_f(a, b); }
DEVICE float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
DEVICE float __fmul_ru(float a, float b) { return __nvvm_mul_rp_f(a, b); }
DEVICE float __fmaf_rd(float a, float b, float c) { return __nvvm_fma_rm_f(a, b, c); }
DEVICE float __saturatef(float x) { return __nvvm_saturate_f(x); }
DEVICE int __float2int_rn(float x) { return __nvvm_f2i_rn(x); }
DEVICE int __float2int_rz(float x) { return __nvvm_f2i_rz(x); }
DEVICE unsigned __float2uint_ru(float x) { return __nvvm_f2ui_rp(x); }
DEVICE float __int2float_rd(int x) { return __nvvm_i2f_rm(x); }
DEVICE float __double2float_rz(double x) { return __nvvm_d2f_rz(x); }
DEVICE long long __double2ll_rn(double x) { return __nvvm_d2ll_rn(x); }
DEVICE double __ll2double_ru(long long x) { return __nvvm_ll2d_rp(x); }

DEVICE int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
DEVICE unsigned atomicAdd(unsigned *p, unsigned v) { return (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)v); }
DEVICE u64 atomicAdd(u64 *p, u64 v) { return (u64)__nvvm_atom_add_gen_ll((long long *)p, (long long)v); }
DEVICE float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
DEVICE int atomicSub(int *p, int v) { return __nvvm_atom_add_gen_i(p, -v); }
DEVICE int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
DEVICE unsigned atomicExch(unsigned *p, unsigned v) { return (unsigned)__nvvm_atom_xchg_gen_i((int *)p, (int)v); }
DEVICE int atomicMin(int *p, int v) { return __nvvm_atom_min_gen_i(p, v); }
DEVICE unsigned atomicMin(unsigned *p, unsigned v) { return __nvvm_atom_min_gen_ui(p, v); }
DEVICE int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
DEVICE unsigned atomicMax(unsigned *p, unsigned v) { return __nvvm_atom_max_gen_ui(p, v); }
DEVICE unsigned atomicInc(unsigned *p, unsigned v) { return __nvvm_atom_inc_gen_ui(p, v); }
DEVICE unsigned atomicDec(unsigned *p, unsigned v) { return __nvvm_atom_dec_gen_ui(p, v); }
DEVICE int atomicAnd(int *p, int v) { return __nvvm_atom_and_gen_i(p, v); }
DEVICE int atomicOr(int *p, int v) { return __nvvm_atom_or_gen_i(p, v); }
DEVICE int atomicXor(int *p, int v) { return __nvvm_atom_xor_gen_i(p, v); }
DEVICE int atomicCAS(int *p, int c, int v) { return __nvvm_atom_cas_gen_i(p, c, v); }
DEVICE u64 atomicCAS(u64 *p, u64 c, u64 v) { return (u64)__nvvm_atom_cas_gen_ll((long long *)p, (long long)c, (long long)v); }

template <class T> DEVICE T __ldg(const T *p) { return *p; }
template <class T> DEVICE T __ldcs(const T *p) { return *p; }
template <class T> DEVICE void __stcs(T *p, T v) { *p = v; }

extern "C" __device__ int vprintf(const char *format, void *arguments);
extern "C" __device__ int printf(const char *format, ...);
extern "C" __device__ void *malloc(size_t);
extern "C" __device__ void free(void *);

#endif
