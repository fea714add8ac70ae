/* The SX-Aurora intrinsics that generated kernels use, in portable C, for machines that lack the instructions.

   In place of clang's header of this name, for little-endian machines. Elements at and beyond the vector length, the
   halves that single precision leaves open, and lanes of masks beyond the length are filled with a pattern; operands that
   pass through (the last `v` of a name) stay in lanes that are not computed. Memory is touched for live lanes only, and
   must be aligned to its elements. Comparisons give numbers of which the sign alone means something. Held against
   gen/ref.cc of sx-aurora-dev/llvm-ve-intrinsic-test by tools/check_ve_model.py. Compile with -ffp-contract=off. */
#ifndef DRAWLOOM_MODEL_VELINTRIN_H
#define DRAWLOOM_MODEL_VELINTRIN_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VE_LANES 256
#define VE_POISON UINT64_C(0xA5A5A5A5A5A5A5A5)
#define VE_HALF_POISON UINT64_C(0xA5A5A5A5)

typedef struct { uint64_t element[VE_LANES]; } __vr;
/* Lane i is bit 63 - i % 64 of word i / 64. */
typedef struct { uint64_t word[VE_LANES / 64]; } __vm256;
typedef struct { __vm256 lower, upper; } __vm512;
typedef __vm256 __vm;

enum VShuffleCodes {
    VE_VSHUFFLE_YUYU, VE_VSHUFFLE_YUYL, VE_VSHUFFLE_YUZU, VE_VSHUFFLE_YUZL,
    VE_VSHUFFLE_YLYU, VE_VSHUFFLE_YLYL, VE_VSHUFFLE_YLZU, VE_VSHUFFLE_YLZL,
    VE_VSHUFFLE_ZUYU, VE_VSHUFFLE_ZUYL, VE_VSHUFFLE_ZUZU, VE_VSHUFFLE_ZUZL,
    VE_VSHUFFLE_ZLYU, VE_VSHUFFLE_ZLYL, VE_VSHUFFLE_ZLZU, VE_VSHUFFLE_ZLZL,
};

/* Elements as numbers. Single precision is in the upper half, packed single precision in both. */
static inline double ve_double(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline float ve_lower(uint64_t bits) { uint32_t half = (uint32_t)bits; float x; memcpy(&x, &half, 4); return x; }
static inline float ve_upper(uint64_t bits) { return ve_lower(bits >> 32); }
static inline uint64_t ve_from_double(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }
static inline uint32_t ve_half(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
static inline uint64_t ve_from_float(float x) { return (uint64_t)ve_half(x) << 32 | VE_HALF_POISON; }
static inline uint64_t ve_pair(float upper, float lower) { return (uint64_t)ve_half(upper) << 32 | ve_half(lower); }
static inline uint64_t ve_from_int(int32_t x) { return (uint64_t)(int64_t)x; }

static inline __vr ve_poison(void) { __vr r; memset(&r, 0xA5, sizeof r); return r; }
static inline void ve_check(int n) { if (n < 0 || n > VE_LANES) abort(); }
static inline int ve_is_set(__vm256 m, int i) { return m.word[i / 64] >> (63 - i % 64) & 1; }
static inline void ve_set(__vm256 *m, int i, int on)
{
    const uint64_t bit = UINT64_C(1) << (63 - i % 64);
    m->word[i / 64] = on ? m->word[i / 64] | bit : m->word[i / 64] & ~bit;
}

#define EACH for (int i = 0; i < n; ++i)
#define X a.element[i]
#define Y b.element[i]
#define W c.element[i]

/* The forms of an operation on elements: with and without a mask and an operand that passes through. */
#define UNARY(NAME, EXPR) \
static inline __vr _vel_##NAME##_vvl(__vr a, int n) \
    { ve_check(n); __vr r = ve_poison(); EACH { const uint64_t x = X; r.element[i] = (EXPR); } return r; }
#define BINARY(NAME, EXPR) \
static inline __vr _vel_##NAME##_vvvl(__vr a, __vr b, int n) \
    { ve_check(n); __vr r = ve_poison(); EACH { const uint64_t x = X, y = Y; r.element[i] = (EXPR); } return r; }
#define SCALAR(NAME, S, EXPR) \
static inline __vr _vel_##NAME##_vsvl(S s, __vr b, int n) \
    { ve_check(n); __vr r = ve_poison(); const uint64_t x = (uint64_t)s; \
      EACH { const uint64_t y = Y; r.element[i] = (EXPR); } return r; }
#define MASKED(NAME, EXPR) \
static inline __vr _vel_##NAME##_vvvmvl(__vr a, __vr b, __vm256 m, __vr d, int n) \
    { ve_check(n); EACH if (ve_is_set(m, i)) { const uint64_t x = X, y = Y; d.element[i] = (EXPR); } return d; }
#define TERNARY(NAME, EXPR) \
static inline __vr _vel_##NAME##_vvvvl(__vr a, __vr b, __vr c, int n) \
    { ve_check(n); __vr r = ve_poison(); \
      EACH { const uint64_t x = X, y = Y, w = W; r.element[i] = (EXPR); } return r; } \
static inline __vr _vel_##NAME##_vvvvmvl(__vr a, __vr b, __vr c, __vm256 m, __vr d, int n) \
    { ve_check(n); \
      EACH if (ve_is_set(m, i)) { const uint64_t x = X, y = Y, w = W; d.element[i] = (EXPR); } return d; }

#define D(x) ve_double(x)
#define S(x) ve_upper(x)
#define REALS(NAME, OP) \
    BINARY(NAME##d, ve_from_double(D(x) OP D(y))) MASKED(NAME##d, ve_from_double(D(x) OP D(y))) \
    BINARY(NAME##s, ve_from_float(S(x) OP S(y))) MASKED(NAME##s, ve_from_float(S(x) OP S(y)))
REALS(vfadd, +)
REALS(vfsub, -)
REALS(vfmul, *)
REALS(vfdiv, /)
UNARY(vfsqrtd, ve_from_double(sqrt(D(x))))
UNARY(vfsqrts, ve_from_float(sqrtf(S(x))))
/* The first operand is the summand. */
TERNARY(vfmadd, ve_from_double(fma(D(y), D(w), D(x))))
TERNARY(vfmads, ve_from_float(fmaf(S(y), S(w), S(x))))

#define INTEGERS(NAME, EXPR) BINARY(NAME, EXPR) MASKED(NAME, EXPR)
INTEGERS(vaddul, x + y)
INTEGERS(vsubul, x - y)
INTEGERS(vmulul, x * y)
INTEGERS(vaddswsx, ve_from_int((int32_t)(uint32_t)(x + y)))
INTEGERS(vsubswsx, ve_from_int((int32_t)(uint32_t)(x - y)))
INTEGERS(vmulswsx, ve_from_int((int32_t)(uint32_t)(x * y)))
SCALAR(vaddul, uint64_t, x + y)
SCALAR(vsubul, uint64_t, x - y)
SCALAR(vaddswsx, int32_t, ve_from_int((int32_t)(uint32_t)(x + y)))
/* Division by zero and overflow raise an exception. */
static inline uint64_t ve_divide(uint64_t x, uint64_t y) { if (y == 0) abort(); return x / y; }
static inline uint64_t ve_divide_signed(int64_t x, int64_t y)
{
    if (y == 0 || (y == -1 && x == INT64_MIN)) abort();
    return (uint64_t)(x / y);
}
BINARY(vdivul, ve_divide(x, y))
BINARY(vdivsl, ve_divide_signed((int64_t)x, (int64_t)y))
BINARY(vand, x & y)
BINARY(vor, x | y)
BINARY(vxor, x ^ y)
SCALAR(vand, uint64_t, x & y)
SCALAR(vxor, uint64_t, x ^ y)
BINARY(vsll, x << (y & 63))
BINARY(vsrl, x >> (y & 63))
BINARY(vsral, (uint64_t)((int64_t)x >> (y & 63)))
#define SHIFT(NAME, EXPR) \
static inline __vr _vel_##NAME##_vvsl(__vr a, uint64_t y, int n) \
    { ve_check(n); __vr r = ve_poison(); EACH { const uint64_t x = X; r.element[i] = (EXPR); } return r; }
SHIFT(vsll, x << (y & 63))
SHIFT(vsral, (uint64_t)((int64_t)x >> (y & 63)))
static inline __vr _vel_vsfa_vvssl(__vr a, uint64_t shift, uint64_t base, int n)
    { ve_check(n); __vr r = ve_poison(); EACH r.element[i] = (X << (shift & 7)) + base; return r; }

UNARY(vcvtdl, ve_from_double((double)(int64_t)x))
UNARY(vcvtds, ve_from_double((double)S(x)))
UNARY(vcvtsd, ve_from_float((float)D(x)))
UNARY(vcvtsw, ve_from_float((float)(int32_t)(uint32_t)x))

/* Comparisons. */
#define ORDER(x, y, MORE) ((x) > (y) ? (MORE) : (x) < (y) ? -(MORE) : 0)
static inline double ve_compare(double x, double y) { return x != x || y != y ? NAN : ORDER(x, y, 3.0); }
BINARY(vcmpsl, (uint64_t)ORDER((int64_t)x, (int64_t)y, INT64_C(0x5A5A)))
BINARY(vcmpul, (uint64_t)ORDER(x, y, INT64_C(0x5A5A)))
BINARY(vfcmpd, ve_from_double(ve_compare(D(x), D(y))))
BINARY(vfcmps, ve_from_float((float)ve_compare(S(x), S(y))))
BINARY(pvfcmp, ve_pair((float)ve_compare(S(x), S(y)), (float)ve_compare(ve_lower(x), ve_lower(y))))

/* Masks of elements compared with 0. */
static inline __vm256 ve_mask_poison(void)
    { __vm256 m; memset(&m, 0x5A, sizeof m); return m; }
#define CONDITION(NAME, VALUE, EXPR) \
static inline __vm256 _vel_##NAME##_mvl(__vr a, int n) \
    { ve_check(n); __vm256 m = ve_mask_poison(); EACH { const uint64_t x = X; ve_set(&m, i, VALUE EXPR); } return m; }
#define FLOAT_CONDITIONS(NAME, VALUE) \
    CONDITION(NAME##eq, VALUE, == 0) CONDITION(NAME##lt, VALUE, < 0) CONDITION(NAME##le, VALUE, <= 0) CONDITION(NAME##gt, VALUE, > 0) \
    CONDITION(NAME##ge, VALUE, >= 0) CONDITION(NAME##nenan, VALUE, != 0) CONDITION(NAME##nan, VALUE, != VALUE)
FLOAT_CONDITIONS(vfmkd, D(x))
FLOAT_CONDITIONS(vfmks, S(x))
FLOAT_CONDITIONS(pvfmksup, S(x))
FLOAT_CONDITIONS(pvfmkslo, ve_lower(x))
#define INTEGER_CONDITIONS(NAME, VALUE) \
    CONDITION(NAME##eq, VALUE, == 0) CONDITION(NAME##ne, VALUE, != 0) CONDITION(NAME##lt, VALUE, < 0) CONDITION(NAME##le, VALUE, <= 0) \
    CONDITION(NAME##gt, VALUE, > 0) CONDITION(NAME##ge, VALUE, >= 0)
INTEGER_CONDITIONS(vfmkl, (int64_t)x)
static inline __vm256 _vel_vfmklat_ml(int n)
    { ve_check(n); __vm256 m = ve_mask_poison(); EACH ve_set(&m, i, 1); return m; }
static inline __vm512 _vel_pvfmkat_Ml(int n) { const __vm256 m = _vel_vfmklat_ml(n); __vm512 r = {m, m}; return r; }

#define MASKS(NAME, EXPR) \
static inline __vm256 _vel_##NAME##_mmm(__vm256 a, __vm256 b) \
    { __vm256 r; for (int i = 0; i < 4; ++i) { const uint64_t x = a.word[i], y = b.word[i]; r.word[i] = (EXPR); } return r; }
MASKS(andm, x & y)
MASKS(orm, x | y)
MASKS(xorm, x ^ y)
MASKS(eqvm, ~(x ^ y))
MASKS(nndm, ~x & y)
static inline uint64_t _vel_pcvm_sml(__vm256 m, int n)
    { ve_check(n); uint64_t sum = 0; EACH sum += (uint64_t)ve_is_set(m, i); return sum; }
static inline __vm256 _vel_lvm_mmss(__vm256 m, uint64_t place, uint64_t word) { m.word[place & 3] = word; return m; }
static inline uint64_t _vel_svm_sms(__vm256 m, uint64_t place) { return m.word[place & 3]; }
static inline __vm512 _vel_insert_vm512u(__vm512 m, __vm256 upper) { m.upper = upper; return m; }
static inline __vm512 _vel_insert_vm512l(__vm512 m, __vm256 lower) { m.lower = lower; return m; }

/* Moves. */
static inline __vr _vel_vbrdl_vsl(int64_t s, int n)
    { ve_check(n); __vr r = ve_poison(); EACH r.element[i] = (uint64_t)s; return r; }
static inline uint64_t _vel_lvsl_svs(__vr a, int i) { return a.element[i & (VE_LANES - 1)]; }
static inline __vr ve_moved(uint32_t s, __vr a, __vr r, int n)
    { ve_check(n); EACH r.element[i] = a.element[(s + (uint32_t)i) % VE_LANES]; return r; }
static inline __vr _vel_vmv_vsvl(uint32_t s, __vr a, int n) { return ve_moved(s, a, ve_poison(), n); }
static inline __vr _vel_vmv_vsvvl(uint32_t s, __vr a, __vr d, int n) { return ve_moved(s, a, d, n); }
static inline __vr _vel_vmrg_vvvml(__vr a, __vr b, __vm256 m, int n)
    { ve_check(n); __vr r = ve_poison(); EACH r.element[i] = ve_is_set(m, i) ? Y : X; return r; }
static inline __vr _vel_vmrg_vsvml(uint64_t s, __vr b, __vm256 m, int n)
    { ve_check(n); __vr r = ve_poison(); EACH r.element[i] = ve_is_set(m, i) ? Y : s; return r; }
#define HALVES(u, l) ((u) & ~UINT64_C(0xffffffff)) | ((l) & UINT64_C(0xffffffff))
static inline __vr _vel_vmrgw_vvvMl(__vr a, __vr b, __vm512 m, int n)
    { ve_check(n); __vr r = ve_poison();
      EACH r.element[i] = HALVES(ve_is_set(m.upper, i) ? Y : X, ve_is_set(m.lower, i) ? Y : X); return r; }
static inline __vr _vel_vshf_vvvsl(__vr a, __vr b, uint64_t code, int n)
{
    ve_check(n);
    __vr r = ve_poison();
    EACH {
        const uint64_t halves[] = {X >> 32, X & UINT64_C(0xffffffff), Y >> 32, Y & UINT64_C(0xffffffff)};
        r.element[i] = halves[code >> 2 & 3] << 32 | halves[code & 3];
    }
    return r;
}

/* Packed single precision. */
#define PACKED(NAME, OP) \
static inline __vr _vel_##NAME##_vvvl(__vr a, __vr b, int n) \
    { ve_check(n); __vr r = ve_poison(); \
      EACH r.element[i] = ve_pair(S(X) OP S(Y), ve_lower(X) OP ve_lower(Y)); return r; } \
static inline __vr _vel_##NAME##_vvvMvl(__vr a, __vr b, __vm512 m, __vr d, int n) \
    { return ve_merged(_vel_##NAME##_vvvl(a, b, n), m, d, n); }
static inline __vr ve_merged(__vr r, __vm512 m, __vr d, int n)
{
    EACH d.element[i] = HALVES(ve_is_set(m.upper, i) ? r.element[i] : d.element[i],
                               ve_is_set(m.lower, i) ? r.element[i] : d.element[i]);
    return d;
}
PACKED(pvfadd, +)
PACKED(pvfsub, -)
PACKED(pvfmul, *)
static inline __vr _vel_pvfmad_vvvvl(__vr a, __vr b, __vr c, int n)
{
    ve_check(n);
    __vr r = ve_poison();
    EACH r.element[i] = ve_pair(fmaf(S(Y), S(W), S(X)), fmaf(ve_lower(Y), ve_lower(W), ve_lower(X)));
    return r;
}
static inline __vr _vel_pvfmad_vvvvMvl(__vr a, __vr b, __vr c, __vm512 m, __vr d, int n)
    { return ve_merged(_vel_pvfmad_vvvvl(a, b, c, n), m, d, n); }

/* Memory, by element: 8 bytes, or 4 bytes of an upper or lower half. */
static inline void *ve_aligned(const void *place, uintptr_t size)
    { if ((uintptr_t)place % size) abort(); return (void *)place; }
static inline uint64_t ve_read(const void *place)
    { uint64_t x; memcpy(&x, ve_aligned(place, 8), 8); return x; }
static inline uint32_t ve_read_half(const void *place)
    { uint32_t x; memcpy(&x, ve_aligned(place, 4), 4); return x; }
#define LOADS(STEM, LETTERS, EXPR) \
static inline __vr _vel_vld##LETTERS##_vssl(int64_t stride, const void *first, int n) \
    { ve_check(n); __vr r = ve_poison(); \
      EACH { const char *p = (const char *)first + i * stride; r.element[i] = (EXPR); } return r; } \
static inline __vr _vel_vgt##LETTERS##_vvssl(__vr a, uint64_t low, uint64_t high, int n) \
    { ve_check(n); __vr r = ve_poison(); (void)low; (void)high; \
      EACH { const char *p = (const char *)(uintptr_t)X; r.element[i] = (EXPR); } return r; } \
static inline __vr _vel_vgt##LETTERS##_vvssmvl(__vr a, uint64_t low, uint64_t high, __vm256 m, __vr d, int n) \
    { ve_check(n); (void)low; (void)high; \
      EACH if (ve_is_set(m, i)) { const char *p = (const char *)(uintptr_t)X; d.element[i] = (EXPR); } return d; }
LOADS(vld, , ve_read(p))
LOADS(vldu, u, (uint64_t)ve_read_half(p) << 32)
LOADS(vldl, lsx, ve_from_int((int32_t)ve_read_half(p)))
LOADS(vldl, lzx, ve_read_half(p))

#define STORES(LETTERS, HINT, T, EXPR) \
static inline void _vel_vst##LETTERS##HINT##_vssl(__vr a, int64_t stride, void *first, int n) \
    { ve_check(n); EACH { const T x = (T)(EXPR); memcpy(ve_aligned((char *)first + i * stride, sizeof x), &x, sizeof x); } } \
static inline void _vel_vst##LETTERS##HINT##_vssml(__vr a, int64_t stride, void *first, __vm256 m, int n) \
    { ve_check(n); EACH if (ve_is_set(m, i)) \
      { const T x = (T)(EXPR); memcpy(ve_aligned((char *)first + i * stride, sizeof x), &x, sizeof x); } } \
static inline void _vel_vsc##LETTERS##HINT##_vvssl(__vr a, __vr b, uint64_t low, uint64_t high, int n) \
    { ve_check(n); (void)low; (void)high; \
      EACH { const T x = (T)(EXPR); memcpy(ve_aligned((void *)(uintptr_t)Y, sizeof x), &x, sizeof x); } } \
static inline void _vel_vsc##LETTERS##HINT##_vvssml(__vr a, __vr b, uint64_t low, uint64_t high, __vm256 m, int n) \
    { ve_check(n); (void)low; (void)high; EACH if (ve_is_set(m, i)) \
      { const T x = (T)(EXPR); memcpy(ve_aligned((void *)(uintptr_t)Y, sizeof x), &x, sizeof x); } }
STORES(, , uint64_t, X)
STORES(u, , uint32_t, X >> 32)
STORES(l, , uint32_t, X)
/* What is stored without being kept in the cache. */
STORES(, nc, uint64_t, X)
STORES(u, nc, uint32_t, X >> 32)
STORES(l, nc, uint32_t, X)

#undef EACH
#undef X
#undef Y
#undef W
#undef D
#undef S
#undef UNARY
#undef BINARY
#undef SCALAR
#undef MASKED
#undef TERNARY
#undef REALS
#undef INTEGERS
#undef SHIFT
#undef ORDER
#undef CONDITION
#undef FLOAT_CONDITIONS
#undef INTEGER_CONDITIONS
#undef MASKS
#undef HALVES
#undef PACKED
#undef LOADS
#undef STORES

#endif
