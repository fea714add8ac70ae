/* Intrinsics that the programs of sx-aurora-dev/llvm-ve-intrinsic-test use around those that are compared, made of the
   model's (check_ve_model.py). Programs for C++ take it, too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <velintrin.h>

static inline __vm256 _vel_vfmkwgt_mvl(__vr a, int n)
{
    __vm256 m = ve_mask_poison();
    for (int i = 0; i < n; ++i)
        ve_set(&m, i, (int32_t)(uint32_t)a.element[i] > 0);
    return m;
}
static inline __vm512 _vel_pvfmkwgt_Mvl(__vr a, int n)
{
    __vm512 m;
    m.lower = _vel_vfmkwgt_mvl(a, n);
    for (int i = 0; i < n; ++i)
        a.element[i] >>= 32;
    m.upper = _vel_vfmkwgt_mvl(a, n);
    return m;
}
static inline uint64_t _vel_svm_sMs(__vm512 m, uint64_t i)
{
    return i < 4 ? m.lower.word[i] : m.upper.word[i - 4];
}
static inline __vm512 _vel_lvm_MMss(__vm512 m, uint64_t i, uint64_t word)
{
    (i < 4 ? &m.lower : &m.upper)->word[i & 3] = word;
    return m;
}

/* Conditions: the model has those that generated code needs; the others are made of them. */
#define UNORDERED(STEM, cc) static inline __vm256 _vel_##STEM##cc##nan_mvl(__vr a, int n) \
    { return _vel_orm_mmm(_vel_##STEM##cc##_mvl(a, n), _vel_##STEM##nan_mvl(a, n)); }
#define CONDITIONS(STEM) \
    UNORDERED(STEM, gt) UNORDERED(STEM, lt) UNORDERED(STEM, eq) UNORDERED(STEM, ge) UNORDERED(STEM, le) \
    static inline __vm256 _vel_##STEM##num_mvl(__vr a, int n) \
        { const __vm256 m = _vel_##STEM##nan_mvl(a, n); return _vel_nndm_mmm(m, _vel_vfmklat_ml(256)); } \
    static inline __vm256 _vel_##STEM##ne_mvl(__vr a, int n) \
        { return _vel_andm_mmm(_vel_##STEM##nenan_mvl(a, n), _vel_##STEM##num_mvl(a, n)); }
CONDITIONS(vfmkd)
CONDITIONS(vfmks)
CONDITIONS(pvfmkslo)
CONDITIONS(pvfmksup)

/* Integers have no NaN. */
#define WORDS(NAME, EXPR) static inline __vm256 _vel_##NAME##_mvl(__vr a, int n) \
    { for (int i = 0; i < n; ++i) { const int32_t x = (int32_t)(uint32_t)a.element[i]; a.element[i] = (uint64_t)(EXPR); } \
      return _vel_vfmklne_mvl(a, n); }
#define SAME(STEM, cc, other) static inline __vm256 _vel_##STEM##cc##_mvl(__vr a, int n) \
    { return _vel_##STEM##other##_mvl(a, n); }
#define WITHOUT_NAN(STEM) \
    SAME(STEM, gtnan, gt) SAME(STEM, ltnan, lt) SAME(STEM, nenan, ne) SAME(STEM, eqnan, eq) SAME(STEM, genan, ge) \
    SAME(STEM, lenan, le)
WORDS(vfmkwlt, x < 0)
WORDS(vfmkwne, x != 0)
WORDS(vfmkweq, x == 0)
WORDS(vfmkwge, x >= 0)
WORDS(vfmkwle, x <= 0)
WORDS(vfmkwnum, 1)
WORDS(vfmkwnan, 0)
WITHOUT_NAN(vfmkw)
static inline __vm256 _vel_vfmklnum_mvl(__vr a, int n) { (void)a; return _vel_vfmklat_ml(n); }
static inline __vm256 _vel_vfmklnan_mvl(__vr a, int n)
    { return _vel_nndm_mmm(_vel_vfmklnum_mvl(a, n), _vel_vfmklat_ml(256)); }
WITHOUT_NAN(vfmkl)

/* Masked conditions, and those of packed registers. */
#define ALL_CONDITIONS(M, STEM) \
    M(STEM, gt) M(STEM, lt) M(STEM, ne) M(STEM, eq) M(STEM, ge) M(STEM, le) M(STEM, num) M(STEM, nan) M(STEM, gtnan) \
    M(STEM, ltnan) M(STEM, nenan) M(STEM, eqnan) M(STEM, genan) M(STEM, lenan)
#define WITH_MASK(STEM, cc) static inline __vm256 _vel_##STEM##cc##_mvml(__vr a, __vm256 m, int n) \
    { return _vel_andm_mmm(_vel_##STEM##cc##_mvl(a, n), m); }
ALL_CONDITIONS(WITH_MASK, vfmkd)
ALL_CONDITIONS(WITH_MASK, vfmks)
ALL_CONDITIONS(WITH_MASK, vfmkl)
ALL_CONDITIONS(WITH_MASK, vfmkw)
static inline __vr ve_upper_halves(__vr a)
{
    for (int i = 0; i < VE_LANES; ++i)
        a.element[i] >>= 32;
    return a;
}
static inline __vm512 ve_both(__vm256 lower, __vm256 upper) { __vm512 m = {lower, upper}; return m; }
#define PACKED_FLOATS(STEM, cc) \
    static inline __vm512 _vel_##STEM##cc##_Mvl(__vr a, int n) \
        { return ve_both(_vel_##STEM##lo##cc##_mvl(a, n), _vel_##STEM##up##cc##_mvl(a, n)); } \
    static inline __vm512 _vel_##STEM##cc##_MvMl(__vr a, __vm512 m, int n) \
        { return ve_both(_vel_andm_mmm(_vel_##STEM##lo##cc##_mvl(a, n), m.lower), \
                         _vel_andm_mmm(_vel_##STEM##up##cc##_mvl(a, n), m.upper)); }
ALL_CONDITIONS(PACKED_FLOATS, pvfmks)
#define PACKED_WORDS(STEM, cc) \
    static inline __vm512 _vel_p##STEM##cc##_MvMl(__vr a, __vm512 m, int n) \
        { return ve_both(_vel_andm_mmm(_vel_##STEM##cc##_mvl(a, n), m.lower), \
                         _vel_andm_mmm(_vel_##STEM##cc##_mvl(ve_upper_halves(a), n), m.upper)); }
ALL_CONDITIONS(PACKED_WORDS, vfmkw)
#define PACKED_WORDS_ALL(STEM, cc) static inline __vm512 _vel_p##STEM##cc##_Mvl(__vr a, int n) \
    { return ve_both(_vel_##STEM##cc##_mvl(a, n), _vel_##STEM##cc##_mvl(ve_upper_halves(a), n)); }
#define ALL_BUT_GT(M, STEM) \
    M(STEM, lt) M(STEM, ne) M(STEM, eq) M(STEM, ge) M(STEM, le) M(STEM, num) M(STEM, nan) M(STEM, gtnan) \
    M(STEM, ltnan) M(STEM, nenan) M(STEM, eqnan) M(STEM, genan) M(STEM, lenan)
ALL_BUT_GT(PACKED_WORDS_ALL, vfmkw)

/* The suite's program has it; generated code does not use it. */
static inline __vr _vel_vmrgw_vsvMl(uint64_t s, __vr b, __vm512 m, int n)
{
    return _vel_vmrgw_vvvMl(_vel_vbrdl_vsl((int64_t)s, n), b, m, n);
}

/* Moves under a mask take the mask of the element that is moved. */
static inline __vr _vel_vmv_vsvmvl(uint32_t s, __vr a, __vm256 m, __vr d, int n)
{
    for (int i = 0; i < n; ++i)
        if (ve_is_set(m, (int)((s + (uint32_t)i) % VE_LANES)))
            d.element[i] = a.element[(s + (uint32_t)i) % VE_LANES];
    return d;
}
/* Lanes that are not set before the first one that is, and lanes up to the last one. */
static inline uint64_t _vel_lzvm_sml(__vm256 m, int n)
{
    int i = 0;
    while (i < n && !_vel_pcvm_sml(m, i + 1))
        ++i;
    return (uint64_t)i;
}
static inline uint64_t _vel_tovm_sml(__vm256 m, int n)
{
    while (n && _vel_pcvm_sml(m, n) == _vel_pcvm_sml(m, n - 1))
        --n;
    return (uint64_t)n;
}
static inline double _vel_lvsd_svs(__vr a, int i) { return ve_double(a.element[i]); }
static inline float _vel_lvss_svs(__vr a, int i) { return ve_upper(a.element[i]); }

/* Gathers and loads that do not keep what they read in the cache, and gathers that leave lanes undefined. */
#define GATHERS(LETTERS) \
    static inline __vr _vel_vgt##LETTERS##nc_vvssl(__vr a, uint64_t low, uint64_t high, int n) \
        { return _vel_vgt##LETTERS##_vvssl(a, low, high, n); } \
    static inline __vr _vel_vgt##LETTERS##_vvssml(__vr a, uint64_t low, uint64_t high, __vm256 m, int n) \
        { return _vel_vgt##LETTERS##_vvssmvl(a, low, high, m, ve_poison(), n); } \
    static inline __vr _vel_vgt##LETTERS##nc_vvssml(__vr a, uint64_t low, uint64_t high, __vm256 m, int n) \
        { return _vel_vgt##LETTERS##_vvssmvl(a, low, high, m, ve_poison(), n); }
GATHERS()
GATHERS(u)
GATHERS(lsx)
GATHERS(lzx)
#define _vel_vldnc_vssl _vel_vld_vssl
#define _vel_vldunc_vssl _vel_vldu_vssl
#define _vel_vldlsxnc_vssl _vel_vldlsx_vssl

static const int ve_reference_end = 0;
