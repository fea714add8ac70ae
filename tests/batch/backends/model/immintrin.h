/* The AVX2 and AVX-512 intrinsics that generated kernels use, in portable C, for machines that lack the instructions.

   In place of the compiler's header of this name. Lanes that an intrinsic leaves undefined are filled with a pattern,
   memory is touched for live lanes only. Semantics are those of Intel's Intrinsics Guide; test_model.py holds every
   function against the instruction where the machine has it. Compile with -ffp-contract=off. */
#ifndef DRAWLOOM_MODEL_IMMINTRIN_H
#define DRAWLOOM_MODEL_IMMINTRIN_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct { float lane[4]; } __m128;
typedef struct { double lane[2]; } __m128d;
typedef struct { int64_t lane[2]; } __m128i;
typedef struct { float lane[8]; } __m256;
typedef struct { double lane[4]; } __m256d;
typedef struct { int64_t lane[4]; } __m256i;
typedef struct { float lane[16]; } __m512;
typedef struct { double lane[8]; } __m512d;
typedef struct { int64_t lane[8]; } __m512i;
typedef uint8_t __mmask8;
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;

#define POISON 0xA5
#define COUNT(V, T) (sizeof(V) / sizeof(T))
#define EACH(V, T) for (size_t i = 0; i < COUNT(V, T); ++i)
/* An operand as an array of lanes. */
#define LANES(V, T, name, from) T name[COUNT(V, T)]; memcpy(name, &from, sizeof(V))
#define RESULT(V, T, name) T name[COUNT(V, T)]; memset(name, POISON, sizeof(V))
#define RETURN(V, name) do { V made; memcpy(&made, name, sizeof made); return made; } while (0)

/* Lane by lane; the lanes of the operands are x, y and w. */
#define UNARY(V, NAME, T, EXPR) static inline V NAME(V a) \
    { LANES(V, T, xs, a); RESULT(V, T, rs); EACH(V, T) { T x = xs[i]; rs[i] = (T)(EXPR); } RETURN(V, rs); }
#define BINARY(V, NAME, T, EXPR) static inline V NAME(V a, V b) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); RESULT(V, T, rs); \
      EACH(V, T) { T x = xs[i], y = ys[i]; rs[i] = (T)(EXPR); } RETURN(V, rs); }
#define TERNARY(V, NAME, T, EXPR) static inline V NAME(V a, V b, V c) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); LANES(V, T, ws, c); RESULT(V, T, rs); \
      EACH(V, T) { T x = xs[i], y = ys[i], w = ws[i]; rs[i] = (T)(EXPR); } RETURN(V, rs); }
#define BY_IMMEDIATE(V, NAME, T, EXPR) static inline V NAME(V a, int imm) \
    { LANES(V, T, xs, a); RESULT(V, T, rs); EACH(V, T) { T x = xs[i]; rs[i] = (T)(EXPR); } RETURN(V, rs); }

#define REALS(V, P, S, T, U, SQRT, FMA) \
    BINARY(V, P##_add_##S, T, x + y) \
    BINARY(V, P##_sub_##S, T, x - y) \
    BINARY(V, P##_mul_##S, T, x * y) \
    BINARY(V, P##_div_##S, T, x / y) \
    UNARY(V, P##_sqrt_##S, T, SQRT(x)) \
    TERNARY(V, P##_fmadd_##S, T, FMA(x, y, w)) \
    BINARY(V, P##_xor_##S, U, x ^ y) \
    BINARY(V, P##_andnot_##S, U, ~x & y)
REALS(__m256, _mm256, ps, float, uint32_t, sqrtf, fmaf)
REALS(__m256d, _mm256, pd, double, uint64_t, sqrt, fma)
REALS(__m512, _mm512, ps, float, uint32_t, sqrtf, fmaf)
REALS(__m512d, _mm512, pd, double, uint64_t, sqrt, fma)

#define INTEGERS(V, P, S, T, U, B) \
    BINARY(V, P##_add_##S, U, x + y) \
    BINARY(V, P##_sub_##S, U, x - y) \
    BINARY(V, P##_sllv_##S, U, y < B ? x << y : 0) \
    BINARY(V, P##_srlv_##S, U, y < B ? x >> y : 0) \
    BY_IMMEDIATE(V, P##_slli_##S, U, (unsigned)imm < B ? x << imm : 0) \
    BY_IMMEDIATE(V, P##_srli_##S, U, (unsigned)imm < B ? x >> imm : 0)
INTEGERS(__m256i, _mm256, epi32, int32_t, uint32_t, 32)
INTEGERS(__m256i, _mm256, epi64, int64_t, uint64_t, 64)
INTEGERS(__m512i, _mm512, epi32, int32_t, uint32_t, 32)
INTEGERS(__m512i, _mm512, epi64, int64_t, uint64_t, 64)

/* A right shift of a negative number is arithmetic in every compiler that takes this file. */
#define WHOLE(V, P, W) \
    BINARY(V, P##_and_##W, uint64_t, x & y) \
    BINARY(V, P##_or_##W, uint64_t, x | y) \
    BINARY(V, P##_xor_##W, uint64_t, x ^ y) \
    BINARY(V, P##_mullo_epi32, uint32_t, x * y) \
    BINARY(V, P##_srav_epi32, int32_t, x >> ((uint32_t)y < 32 ? y : 31)) \
    BY_IMMEDIATE(V, P##_srai_epi32, int32_t, x >> ((unsigned)imm < 32 ? imm : 31))
WHOLE(__m256i, _mm256, si256)
WHOLE(__m512i, _mm512, si512)
BINARY(__m512i, _mm512_srav_epi64, int64_t, x >> ((uint64_t)y < 64 ? y : 63))
BINARY(__m512i, _mm512_mullo_epi64, uint64_t, x * y)
BINARY(__m256i, _mm256_mul_epu32, uint64_t, (x & 0xffffffff) * (y & 0xffffffff))

/* Constants and scalars. */
#define SET1(V, NAME, T, S) static inline V NAME(S value) \
    { RESULT(V, T, rs); EACH(V, T) rs[i] = (T)value; RETURN(V, rs); }
SET1(__m256, _mm256_set1_ps, float, float)
SET1(__m256d, _mm256_set1_pd, double, double)
SET1(__m256i, _mm256_set1_epi32, int32_t, int)
SET1(__m256i, _mm256_set1_epi64x, int64_t, long long)
SET1(__m512, _mm512_set1_ps, float, float)
SET1(__m512d, _mm512_set1_pd, double, double)
SET1(__m512i, _mm512_set1_epi32, int32_t, int)
SET1(__m512i, _mm512_set1_epi64, int64_t, long long)

#define ZERO(V, NAME) static inline V NAME(void) { V made; memset(&made, 0, sizeof made); return made; }
ZERO(__m128, _mm_setzero_ps)
ZERO(__m128i, _mm_setzero_si128)
ZERO(__m256, _mm256_setzero_ps)
ZERO(__m256d, _mm256_setzero_pd)
ZERO(__m256i, _mm256_setzero_si256)
ZERO(__m512, _mm512_setzero_ps)
ZERO(__m512d, _mm512_setzero_pd)
ZERO(__m512i, _mm512_setzero_si512)

#define SETR4(V, NAME, T, S) static inline V NAME(S a, S b, S c, S d) \
    { T rs[] = {a, b, c, d}; RETURN(V, rs); }
#define SETR8(V, NAME, T, S) static inline V NAME(S a, S b, S c, S d, S e, S f, S g, S h) \
    { T rs[] = {a, b, c, d, e, f, g, h}; RETURN(V, rs); }
#define SETR16(V, NAME, T, S) static inline V NAME(S a, S b, S c, S d, S e, S f, S g, S h, \
                                                   S k, S l, S m, S n, S o, S p, S q, S r) \
    { T rs[] = {a, b, c, d, e, f, g, h, k, l, m, n, o, p, q, r}; RETURN(V, rs); }
SETR4(__m256d, _mm256_setr_pd, double, double)
SETR4(__m256i, _mm256_setr_epi64x, int64_t, long long)
SETR8(__m256, _mm256_setr_ps, float, float)
SETR8(__m256i, _mm256_setr_epi32, int32_t, int)
SETR8(__m512d, _mm512_setr_pd, double, double)
SETR8(__m512i, _mm512_setr_epi64, int64_t, long long)
SETR16(__m512, _mm512_setr_ps, float, float)
SETR16(__m512i, _mm512_setr_epi32, int32_t, int)

/* The same bits as another type; halves. */
#define CAST(V, NAME, W) static inline W NAME(V a) \
    { W made; memset(&made, POISON, sizeof made); \
      memcpy(&made, &a, sizeof a < sizeof made ? sizeof a : sizeof made); return made; }
#define ZEXT(V, NAME, W) static inline W NAME(V a) \
    { W made; memset(&made, 0, sizeof made); memcpy(&made, &a, sizeof a); return made; }
#define HALVES(V, H, LOW, WIDE, HIGH, JOIN) \
    CAST(V, LOW, H) \
    CAST(H, WIDE, V) \
    static inline H HIGH(V a, int half) \
    { H made; memcpy(&made, (const char *)&a + (half & 1) * sizeof(H), sizeof made); return made; } \
    static inline V JOIN(V a, H b, int half) \
    { memcpy((char *)&a + (half & 1) * sizeof(H), &b, sizeof b); return a; }
CAST(__m256, _mm256_castps_pd, __m256d)
CAST(__m256, _mm256_castps_si256, __m256i)
CAST(__m256d, _mm256_castpd_ps, __m256)
CAST(__m256d, _mm256_castpd_si256, __m256i)
CAST(__m256i, _mm256_castsi256_ps, __m256)
CAST(__m256i, _mm256_castsi256_pd, __m256d)
CAST(__m512, _mm512_castps_pd, __m512d)
CAST(__m512, _mm512_castps_si512, __m512i)
CAST(__m512d, _mm512_castpd_ps, __m512)
CAST(__m512d, _mm512_castpd_si512, __m512i)
CAST(__m512i, _mm512_castsi512_ps, __m512)
CAST(__m512i, _mm512_castsi512_pd, __m512d)
CAST(__m128i, _mm_castsi128_ps, __m128)
CAST(__m512, _mm512_castps512_ps128, __m128)
CAST(__m512d, _mm512_castpd512_pd128, __m128d)
ZEXT(__m128, _mm256_zextps128_ps256, __m256)
ZEXT(__m128d, _mm256_zextpd128_pd256, __m256d)
ZEXT(__m256, _mm512_zextps256_ps512, __m512)
ZEXT(__m256d, _mm512_zextpd256_pd512, __m512d)
HALVES(__m256, __m128, _mm256_castps256_ps128, _mm256_castps128_ps256, _mm256_extractf128_ps, _mm256_insertf128_ps)
HALVES(__m256d, __m128d, _mm256_castpd256_pd128, _mm256_castpd128_pd256, _mm256_extractf128_pd, _mm256_insertf128_pd)
HALVES(__m256i, __m128i, _mm256_castsi256_si128, _mm256_castsi128_si256, _mm256_extracti128_si256,
       _mm256_inserti128_si256)
HALVES(__m512, __m256, _mm512_castps512_ps256, _mm512_castps256_ps512, _mm512_extractf32x8_ps, _mm512_insertf32x8)
HALVES(__m512d, __m256d, _mm512_castpd512_pd256, _mm512_castpd256_pd512, _mm512_extractf64x4_pd, _mm512_insertf64x4)
HALVES(__m512i, __m256i, _mm512_castsi512_si256, _mm512_castsi256_si512, _mm512_extracti64x4_epi64,
       _mm512_inserti64x4)

/* Conversions: as many lanes as the wider type has. */
#define CONVERT(V, NAME, S, W, T) static inline W NAME(V a) \
    { LANES(V, S, xs, a); RESULT(W, T, rs); \
      for (size_t i = 0; i < COUNT(V, S) && i < COUNT(W, T); ++i) rs[i] = (T)xs[i]; RETURN(W, rs); }
#define CONVERSIONS(P, H, HI, V, D, I) \
    CONVERT(HI, P##_cvtepi32_epi64, int32_t, I, int64_t) \
    CONVERT(HI, P##_cvtepu32_epi64, uint32_t, I, uint64_t) \
    CONVERT(H, P##_cvtps_pd, float, D, double) \
    CONVERT(D, P##_cvtpd_ps, double, H, float) \
    CONVERT(I, P##_cvtepi32_ps, int32_t, V, float) \
    CONVERT(HI, P##_cvtepi32_pd, int32_t, D, double)
CONVERSIONS(_mm256, __m128, __m128i, __m256, __m256d, __m256i)
CONVERSIONS(_mm512, __m256, __m256i, __m512, __m512d, __m512i)
CONVERT(__m512i, _mm512_cvtepi64_epi32, int64_t, __m256i, int32_t)
CONVERT(__m512i, _mm512_cvtepu32_ps, uint32_t, __m512, float)
CONVERT(__m256i, _mm512_cvtepu32_pd, uint32_t, __m512d, double)
CONVERT(__m512i, _mm512_cvtepi64_ps, int64_t, __m256, float)
CONVERT(__m512i, _mm512_cvtepu64_ps, uint64_t, __m256, float)
CONVERT(__m512i, _mm512_cvtepi64_pd, int64_t, __m512d, double)
CONVERT(__m512i, _mm512_cvtepu64_pd, uint64_t, __m512d, double)
CONVERT(__m128i, _mm512_cvtepi8_epi32, int8_t, __m512i, int32_t)
CONVERT(__m256i, _mm512_cvtepi16_epi32, int16_t, __m512i, int32_t)

/* Comparisons. */
#define _CMP_LT_OQ 0x11
#define _CMP_LE_OQ 0x12
#define _CMP_UNORD_Q 0x03
#define _CMP_EQ_OQ 0x00
#define _CMP_NEQ_UQ 0x04
#define _CMP_GE_OQ 0x1d
#define _CMP_GT_OQ 0x1e
#define _MM_CMPINT_EQ 0
#define _MM_CMPINT_LT 1
#define _MM_CMPINT_LE 2
#define _MM_CMPINT_NE 4
#define _MM_CMPINT_NLT 5
#define _MM_CMPINT_NLE 6

static inline int model_compare(double x, double y, int predicate)
{
    switch (predicate) {
    case _CMP_EQ_OQ: return x == y;
    case _CMP_LT_OQ: return x < y;
    case _CMP_LE_OQ: return x <= y;
    case _CMP_UNORD_Q: return x != x || y != y;
    case _CMP_NEQ_UQ: return !(x == y);
    case _CMP_GE_OQ: return x >= y;
    case _CMP_GT_OQ: return x > y;
    }
    __builtin_trap();
}

#define INTEGER_COMPARE(x, y) \
    (predicate == _MM_CMPINT_EQ ? x == y : predicate == _MM_CMPINT_LT ? x < y : predicate == _MM_CMPINT_LE ? x <= y \
     : predicate == _MM_CMPINT_NE ? x != y : predicate == _MM_CMPINT_NLT ? x >= y : x > y)
#define COMPARE_MASK(V, NAME, T, M, EXPR) static inline M NAME(V a, V b, int predicate) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); M mask = 0; \
      EACH(V, T) { T x = xs[i], y = ys[i]; mask |= (M)((M)(EXPR) << i); } return mask; }
COMPARE_MASK(__m512, _mm512_cmp_ps_mask, float, __mmask16, model_compare(x, y, predicate))
COMPARE_MASK(__m512d, _mm512_cmp_pd_mask, double, __mmask8, model_compare(x, y, predicate))
COMPARE_MASK(__m512i, _mm512_cmp_epi32_mask, int32_t, __mmask16, INTEGER_COMPARE(x, y))
COMPARE_MASK(__m512i, _mm512_cmp_epu32_mask, uint32_t, __mmask16, INTEGER_COMPARE(x, y))
COMPARE_MASK(__m512i, _mm512_cmp_epi64_mask, int64_t, __mmask8, INTEGER_COMPARE(x, y))
COMPARE_MASK(__m512i, _mm512_cmp_epu64_mask, uint64_t, __mmask8, INTEGER_COMPARE(x, y))

#define COMPARE_VECTOR(V, NAME, T, U) static inline V NAME(V a, V b, int predicate) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); RESULT(V, U, rs); \
      EACH(V, T) rs[i] = model_compare(xs[i], ys[i], predicate) ? (U)-1 : 0; RETURN(V, rs); }
COMPARE_VECTOR(__m256, _mm256_cmp_ps, float, uint32_t)
COMPARE_VECTOR(__m256d, _mm256_cmp_pd, double, uint64_t)
BINARY(__m256i, _mm256_cmpeq_epi32, int32_t, -(x == y))
BINARY(__m256i, _mm256_cmpeq_epi64, int64_t, -(x == y))
BINARY(__m256i, _mm256_cmpgt_epi32, int32_t, -(x > y))
BINARY(__m256i, _mm256_cmpgt_epi64, int64_t, -(x > y))

/* Masks and selections. */
#define MASK_BLEND(V, NAME, T, M) static inline V NAME(M mask, V a, V b) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); RESULT(V, T, rs); \
      EACH(V, T) rs[i] = mask >> i & 1 ? ys[i] : xs[i]; RETURN(V, rs); }
MASK_BLEND(__m512, _mm512_mask_blend_ps, float, __mmask16)
MASK_BLEND(__m512d, _mm512_mask_blend_pd, double, __mmask8)
MASK_BLEND(__m512i, _mm512_mask_blend_epi32, int32_t, __mmask16)
MASK_BLEND(__m512i, _mm512_mask_blend_epi64, int64_t, __mmask8)

#define MASK_VECTOR(TO, FROM, T, M) \
    static inline __m512i TO(M mask) { RESULT(__m512i, T, rs); EACH(__m512i, T) rs[i] = -(T)(mask >> i & 1); \
                                       RETURN(__m512i, rs); } \
    static inline M FROM(__m512i a) { LANES(__m512i, T, xs, a); M mask = 0; \
                                      EACH(__m512i, T) mask |= (M)((M)(xs[i] < 0) << i); return mask; }
MASK_VECTOR(_mm512_movm_epi32, _mm512_movepi32_mask, int32_t, __mmask16)
MASK_VECTOR(_mm512_movm_epi64, _mm512_movepi64_mask, int64_t, __mmask8)

#define BLENDV(V, NAME, T) static inline V NAME(V a, V b, V mask) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); LANES(V, T, ms, mask); RESULT(V, T, rs); \
      EACH(V, T) rs[i] = ms[i] < 0 ? ys[i] : xs[i]; RETURN(V, rs); }
BLENDV(__m256, _mm256_blendv_ps, int32_t)
BLENDV(__m256d, _mm256_blendv_pd, int64_t)
BLENDV(__m256i, _mm256_blendv_epi8, int8_t)

#define MOVEMASK(V, NAME, T) static inline int NAME(V a) \
    { LANES(V, T, xs, a); int mask = 0; EACH(V, T) mask |= (xs[i] < 0) << i; return mask; }
MOVEMASK(__m256, _mm256_movemask_ps, int32_t)
MOVEMASK(__m256d, _mm256_movemask_pd, int64_t)

/* Permutations. `first` is the first lane of lane i's block of 128 bits. */
#define MOVE1(V, NAME, T, LANE) static inline V NAME(V a, int imm) \
    { LANES(V, T, xs, a); RESULT(V, T, rs); const size_t block = 16 / sizeof(T); \
      EACH(V, T) { const size_t first = i - i % block; (void)first; rs[i] = xs[LANE]; } RETURN(V, rs); }
#define MOVE2(V, NAME, T, LANE) static inline V NAME(V a, V b, int imm) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); RESULT(V, T, rs); const size_t block = 16 / sizeof(T); \
      EACH(V, T) { const size_t first = i - i % block; (void)first; rs[i] = LANE; } RETURN(V, rs); }
#define UNPACK(V, NAME, T, START) static inline V NAME(V a, V b) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); RESULT(V, T, rs); const size_t block = 16 / sizeof(T); \
      EACH(V, T) { const size_t from = i - i % block + (START) * (block / 2) + i % block / 2; \
                   rs[i] = i % 2 ? ys[from] : xs[from]; } RETURN(V, rs); }
#define WITHIN_BLOCKS(V, VD, P) \
    MOVE1(V, P##_permute_ps, float, first + (imm >> 2 * (i % 4) & 3)) \
    MOVE1(VD, P##_permute_pd, double, first + (imm >> i & 1)) \
    MOVE2(V, P##_shuffle_ps, float, (i % 4 < 2 ? xs : ys)[first + (imm >> 2 * (i % 4) & 3)]) \
    MOVE2(VD, P##_shuffle_pd, double, (i % 2 ? ys : xs)[first + (imm >> i & 1)]) \
    UNPACK(V, P##_unpacklo_ps, float, 0) \
    UNPACK(V, P##_unpackhi_ps, float, 1) \
    UNPACK(VD, P##_unpacklo_pd, double, 0) \
    UNPACK(VD, P##_unpackhi_pd, double, 1)
WITHIN_BLOCKS(__m256, __m256d, _mm256)
WITHIN_BLOCKS(__m512, __m512d, _mm512)
MOVE1(__m256d, _mm256_permute4x64_pd, double, imm >> 2 * i & 3)
MOVE1(__m512d, _mm512_permutex_pd, double, i / 4 * 4 + (imm >> 2 * (i % 4) & 3))
MOVE2(__m256, _mm256_blend_ps, float, imm >> i & 1 ? ys[i] : xs[i])
MOVE2(__m256i, _mm256_blend_epi32, int32_t, imm >> i & 1 ? ys[i] : xs[i])
MOVE2(__m256d, _mm256_blend_pd, double, imm >> i & 1 ? ys[i] : xs[i])
#define TWO_BLOCKS(V, NAME, T) MOVE2(V, NAME, T, imm >> (i / block * 4 + 3) & 1 ? 0 : \
    (imm >> (i / block * 4 + 1) & 1 ? ys : xs)[(size_t)(imm >> i / block * 4 & 1) * block + i % block])
TWO_BLOCKS(__m256, _mm256_permute2f128_ps, float)
TWO_BLOCKS(__m256d, _mm256_permute2f128_pd, double)
#define FOUR_BLOCKS(V, NAME, T) MOVE2(V, NAME, T, \
    (i / block < 2 ? xs : ys)[(size_t)(imm >> 2 * (i / block) & 3) * block + i % block])
FOUR_BLOCKS(__m512, _mm512_shuffle_f32x4, float)
FOUR_BLOCKS(__m512d, _mm512_shuffle_f64x2, double)

#define BROADCAST(H, NAME, V, T) static inline V NAME(H a) \
    { LANES(H, T, xs, a); RESULT(V, T, rs); EACH(V, T) rs[i] = xs[0]; RETURN(V, rs); }
BROADCAST(__m128, _mm256_broadcastss_ps, __m256, float)
BROADCAST(__m128d, _mm256_broadcastsd_pd, __m256d, double)
BROADCAST(__m128, _mm512_broadcastss_ps, __m512, float)
BROADCAST(__m128d, _mm512_broadcastsd_pd, __m512d, double)

#define PERMUTE_BY(V, I, T, U) { LANES(V, T, xs, a); LANES(I, U, ns, index); RESULT(V, T, rs); \
    EACH(V, T) rs[i] = xs[ns[i] & (COUNT(V, T) - 1)]; RETURN(V, rs); }
static inline __m256 _mm256_permutevar8x32_ps(__m256 a, __m256i index) PERMUTE_BY(__m256, __m256i, float, uint32_t)
static inline __m256i _mm256_permutevar8x32_epi32(__m256i a, __m256i index)
    PERMUTE_BY(__m256i, __m256i, uint32_t, uint32_t)
static inline __m512 _mm512_permutexvar_ps(__m512i index, __m512 a) PERMUTE_BY(__m512, __m512i, float, uint32_t)
static inline __m512d _mm512_permutexvar_pd(__m512i index, __m512d a) PERMUTE_BY(__m512d, __m512i, double, uint64_t)
static inline __m512i _mm512_permutexvar_epi32(__m512i index, __m512i a)
    PERMUTE_BY(__m512i, __m512i, uint32_t, uint32_t)
static inline __m512i _mm512_permutexvar_epi64(__m512i index, __m512i a)
    PERMUTE_BY(__m512i, __m512i, uint64_t, uint64_t)
#define PERMUTE2(V, NAME, T, U) static inline V NAME(V a, __m512i index, V b) \
    { LANES(V, T, xs, a); LANES(V, T, ys, b); LANES(__m512i, U, ns, index); RESULT(V, T, rs); \
      EACH(V, T) rs[i] = (ns[i] & COUNT(V, T) ? ys : xs)[ns[i] & (COUNT(V, T) - 1)]; RETURN(V, rs); }
PERMUTE2(__m512, _mm512_permutex2var_ps, float, uint32_t)
PERMUTE2(__m512d, _mm512_permutex2var_pd, double, uint64_t)
PERMUTE2(__m512i, _mm512_permutex2var_epi32, uint32_t, uint32_t)
PERMUTE2(__m512i, _mm512_permutex2var_epi64, uint64_t, uint64_t)

/* Memory. */
#define LOAD(V, NAME, T) static inline V NAME(const T *place) { V made; memcpy(&made, place, sizeof made); return made; }
#define STORE(V, NAME, T) static inline void NAME(T *place, V a) { memcpy(place, &a, sizeof a); }
LOAD(__m128, _mm_loadu_ps, float)
LOAD(__m128d, _mm_loadu_pd, double)
LOAD(__m256, _mm256_loadu_ps, float)
LOAD(__m256d, _mm256_loadu_pd, double)
LOAD(__m256i, _mm256_loadu_si256, __m256i)
LOAD(__m512, _mm512_loadu_ps, float)
LOAD(__m512d, _mm512_loadu_pd, double)
LOAD(__m512i, _mm512_loadu_si512, void)
STORE(__m128, _mm_storeu_ps, float)
STORE(__m128d, _mm_storeu_pd, double)
STORE(__m256, _mm256_storeu_ps, float)
STORE(__m256d, _mm256_storeu_pd, double)
STORE(__m256i, _mm256_storeu_si256, __m256i)
STORE(__m512, _mm512_storeu_ps, float)
STORE(__m512d, _mm512_storeu_pd, double)
STORE(__m512i, _mm512_storeu_si512, void)
STORE(__m256, _mm256_stream_ps, float)
STORE(__m256d, _mm256_stream_pd, double)
STORE(__m256i, _mm256_stream_si256, __m256i)
STORE(__m512, _mm512_stream_ps, float)
STORE(__m512d, _mm512_stream_pd, double)
STORE(__m512i, _mm512_stream_si512, __m512i)
static inline void _mm_sfence(void) {}

/* Element i of memory is touched if LIVE. Addresses are computed as integers: a masked-off one may be anywhere. */
#define ELEMENT(place, T, i) ((void *)((uintptr_t)(place) + (uintptr_t)(i) * sizeof(T)))
#define LOAD_LIVE(V, T, LIVE) { RESULT(V, T, rs); \
    EACH(V, T) { rs[i] = 0; if (LIVE) memcpy(&rs[i], ELEMENT(place, T, i), sizeof(T)); } RETURN(V, rs); }
#define STORE_LIVE(V, T, LIVE) { LANES(V, T, xs, a); \
    EACH(V, T) if (LIVE) memcpy(ELEMENT(place, T, i), &xs[i], sizeof(T)); }
#define MASKZ_LOAD(V, NAME, T, M) static inline V NAME(M mask, const void *place) LOAD_LIVE(V, T, mask >> i & 1)
#define MASK_STORE(V, NAME, T, M) static inline void NAME(void *place, M mask, V a) STORE_LIVE(V, T, mask >> i & 1)
MASKZ_LOAD(__m512, _mm512_maskz_loadu_ps, float, __mmask16)
MASKZ_LOAD(__m512d, _mm512_maskz_loadu_pd, double, __mmask8)
MASKZ_LOAD(__m512i, _mm512_maskz_loadu_epi32, int32_t, __mmask16)
MASKZ_LOAD(__m512i, _mm512_maskz_loadu_epi64, int64_t, __mmask8)
MASKZ_LOAD(__m128i, _mm_maskz_loadu_epi8, int8_t, __mmask16)
MASKZ_LOAD(__m256i, _mm256_maskz_loadu_epi16, int16_t, __mmask16)
MASK_STORE(__m512, _mm512_mask_storeu_ps, float, __mmask16)
MASK_STORE(__m512d, _mm512_mask_storeu_pd, double, __mmask8)
MASK_STORE(__m512i, _mm512_mask_storeu_epi32, int32_t, __mmask16)
MASK_STORE(__m512i, _mm512_mask_storeu_epi64, int64_t, __mmask8)
#define MASK_STORE_NARROW(NAME, T) static inline void NAME(void *place, __mmask16 mask, __m512i a) \
    { LANES(__m512i, int32_t, xs, a); EACH(__m512i, int32_t) if (mask >> i & 1) { \
          const T narrow = (T)xs[i]; memcpy(ELEMENT(place, T, i), &narrow, sizeof narrow); } }
MASK_STORE_NARROW(_mm512_mask_cvtepi32_storeu_epi8, int8_t)
MASK_STORE_NARROW(_mm512_mask_cvtepi32_storeu_epi16, int16_t)

#define SIGN_MASK_MEMORY(V, LOADED, STORED, T, U) \
    static inline V LOADED(const T *place, __m256i mask) \
    { LANES(__m256i, U, ms, mask); LOAD_LIVE(V, T, ms[i] < 0) } \
    static inline void STORED(T *place, __m256i mask, V a) \
    { LANES(__m256i, U, ms, mask); STORE_LIVE(V, T, ms[i] < 0) }
SIGN_MASK_MEMORY(__m256, _mm256_maskload_ps, _mm256_maskstore_ps, float, int32_t)
SIGN_MASK_MEMORY(__m256d, _mm256_maskload_pd, _mm256_maskstore_pd, double, int64_t)
SIGN_MASK_MEMORY(__m256i, _mm256_maskload_epi32, _mm256_maskstore_epi32, int, int32_t)
SIGN_MASK_MEMORY(__m256i, _mm256_maskload_epi64, _mm256_maskstore_epi64, long long, int64_t)

/* Gathers and scatters by indices of 64 bits. */
#define GATHER_LIVE(V, T, I, LIVE) { LANES(V, T, rs, src); LANES(I, int64_t, ns, index); \
    EACH(V, T) if (LIVE) memcpy(&rs[i], (const void *)((uintptr_t)place + (uintptr_t)(ns[i] * scale)), sizeof(T)); \
    RETURN(V, rs); }
#define MASK_GATHER(V, NAME, T) \
    static inline V NAME(V src, __mmask8 mask, __m512i index, const void *place, int scale) \
    GATHER_LIVE(V, T, __m512i, mask >> i & 1)
MASK_GATHER(__m256, _mm512_mask_i64gather_ps, float)
MASK_GATHER(__m512d, _mm512_mask_i64gather_pd, double)
MASK_GATHER(__m256i, _mm512_mask_i64gather_epi32, int32_t)
MASK_GATHER(__m512i, _mm512_mask_i64gather_epi64, int64_t)
#define SIGN_GATHER(V, NAME, T, U) static inline V NAME(V src, const T *place, __m256i index, V mask, int scale) \
    { LANES(V, U, ms, mask); GATHER_LIVE(V, T, __m256i, ms[i] < 0) }
SIGN_GATHER(__m128, _mm256_mask_i64gather_ps, float, int32_t)
SIGN_GATHER(__m256d, _mm256_mask_i64gather_pd, double, int64_t)
SIGN_GATHER(__m128i, _mm256_mask_i64gather_epi32, int, int32_t)
SIGN_GATHER(__m256i, _mm256_mask_i64gather_epi64, long long, int64_t)
#define MASK_SCATTER(V, NAME, T) static inline void NAME(void *place, __mmask8 mask, __m512i index, V a, int scale) \
    { LANES(V, T, xs, a); LANES(__m512i, int64_t, ns, index); EACH(V, T) if (mask >> i & 1) \
          memcpy((void *)((uintptr_t)place + (uintptr_t)(ns[i] * scale)), &xs[i], sizeof(T)); }
MASK_SCATTER(__m256, _mm512_mask_i64scatter_ps, float)
MASK_SCATTER(__m512d, _mm512_mask_i64scatter_pd, double)
MASK_SCATTER(__m256i, _mm512_mask_i64scatter_epi32, int32_t)
MASK_SCATTER(__m512i, _mm512_mask_i64scatter_epi64, int64_t)

#endif
