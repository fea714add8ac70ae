/* SIMDe's portable functions under the names of the intrinsics, in place of the compiler's header of this name.

   Compile with -I to this folder and to a checkout of SIMDe; tools/check_simde.py does. What ready kernels need and
   SIMDe lacks for registers of 512 bits is put together from its functions for the halves. Their names are in
   BY_HALVES of the tool, which reports the functions as not in SIMDe. */
#ifndef DRAWLOOM_SIMDE_IMMINTRIN_H
#define DRAWLOOM_SIMDE_IMMINTRIN_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

/* Macros, because immediates have to be constants. */
#define LOW_PS(a) _mm512_castps512_ps256(a)
#define LOW_PD(a) _mm512_castpd512_pd256(a)
#define LOW_SI(a) _mm512_castsi512_si256(a)
#define HIGH_PS(a) _mm512_extractf32x8_ps(a, 1)
#define HIGH_PD(a) _mm512_extractf64x4_pd(a, 1)
#define HIGH_SI(a) _mm512_extracti64x4_epi64(a, 1)
#define JOIN_PS(low, high) _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1)
#define JOIN_PD(low, high) _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1)
#define JOIN_SI(low, high) _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)

#ifndef _mm512_permute_ps
#define _mm512_permute_ps(a, imm) JOIN_PS(_mm256_permute_ps(LOW_PS(a), imm), _mm256_permute_ps(HIGH_PS(a), imm))
#endif
#ifndef _mm512_permute_pd
#define _mm512_permute_pd(a, imm) \
    JOIN_PD(_mm256_permute_pd(LOW_PD(a), (imm) & 15), _mm256_permute_pd(HIGH_PD(a), (imm) >> 4))
#endif
#ifndef _mm512_permutex_pd
#define _mm512_permutex_pd(a, imm) \
    JOIN_PD(_mm256_permute4x64_pd(LOW_PD(a), imm), _mm256_permute4x64_pd(HIGH_PD(a), imm))
#endif
#ifndef _mm512_srav_epi32
#define _mm512_srav_epi32(a, b) \
    JOIN_SI(_mm256_srav_epi32(LOW_SI(a), LOW_SI(b)), _mm256_srav_epi32(HIGH_SI(a), HIGH_SI(b)))
#endif
#ifndef _mm512_cvtepi32_pd
#define _mm512_cvtepi32_pd(a) \
    JOIN_PD(_mm256_cvtepi32_pd(_mm256_castsi256_si128(a)), _mm256_cvtepi32_pd(_mm256_extracti128_si256(a, 1)))
#endif
#ifndef _mm512_zextps256_ps512
#define _mm512_zextps256_ps512(a) _mm512_insertf32x8(_mm512_setzero_ps(), a, 0)
#endif
#ifndef _mm512_zextpd256_pd512
#define _mm512_zextpd256_pd512(a) _mm512_insertf64x4(_mm512_setzero_pd(), a, 0)
#endif
#ifndef _mm512_stream_ps
#define _mm512_stream_ps(place, a) \
    (_mm256_stream_ps((float *)(place), LOW_PS(a)), _mm256_stream_ps((float *)(place) + 8, HIGH_PS(a)))
#endif
#ifndef _mm512_stream_pd
#define _mm512_stream_pd(place, a) \
    (_mm256_stream_pd((double *)(place), LOW_PD(a)), _mm256_stream_pd((double *)(place) + 4, HIGH_PD(a)))
#endif
#ifndef _mm512_stream_si512
#define _mm512_stream_si512(place, a) \
    (_mm256_stream_si256((__m256i *)(place), LOW_SI(a)), _mm256_stream_si256((__m256i *)(place) + 1, HIGH_SI(a)))
#endif

/* SIMDe includes the compiler's header where it uses the CPU's instructions. */
#elif !defined(SIMDE_NO_NATIVE)
#include_next <immintrin.h>
#endif
