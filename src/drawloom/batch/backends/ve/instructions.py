"""NEC SX-Aurora's vector instructions as tables of intrinsics (`velintrin.h`).

An element of a register has 64 bits. It holds a double, an integer of any size, sign-extended, or a float in its upper
half. A *packed* register holds two floats in each element: lanes 0 to n - 1 of a chunk in the lower halves, lanes n to
2 n - 1 in the upper halves, where n is the vector length.

In a template, {0}, {1}, ... are operands and {n} is the vector length.
"""

from __future__ import annotations

from typing import Final

#: Elements of a register.
LANES: Final = 256
#: Registers of vectors and of masks; mask 0 has every lane, and two neighbours are a mask of a packed register.
REGISTERS: Final = 64
MASK_REGISTERS: Final = 16

#: Types of chunks -> how elements hold their numbers. Integers of 8 and 16 bits compute as those of 64 bits.
CARRIERS: Final = {"float": "f32", "double": "f64", "i8": "i64", "i16": "i64", "i32": "i32", "i64": "i64"}
#: The carrier of two floats in each element.
PACKED: Final = "f32x2"

SIGN: Final = "UINT64_C(0x8000000000000000)"
SIGNS: Final = "UINT64_C(0x8000000080000000)"

OPERATIONS: Final[dict[tuple[str, str], str]] = {
    ("fadd", "f64"): "_vel_vfaddd_vvvl({0}, {1}, {n})",
    ("fsub", "f64"): "_vel_vfsubd_vvvl({0}, {1}, {n})",
    ("fmul", "f64"): "_vel_vfmuld_vvvl({0}, {1}, {n})",
    ("fdiv", "f64"): "_vel_vfdivd_vvvl({0}, {1}, {n})",
    # The summand is the first operand.
    ("fma", "f64"): "_vel_vfmadd_vvvvl({2}, {0}, {1}, {n})",
    ("sqrt", "f64"): "_vel_vfsqrtd_vvl({0}, {n})",
    ("fadd", "f32"): "_vel_vfadds_vvvl({0}, {1}, {n})",
    ("fsub", "f32"): "_vel_vfsubs_vvvl({0}, {1}, {n})",
    ("fmul", "f32"): "_vel_vfmuls_vvvl({0}, {1}, {n})",
    ("fdiv", "f32"): "_vel_vfdivs_vvvl({0}, {1}, {n})",
    ("fma", "f32"): "_vel_vfmads_vvvvl({2}, {0}, {1}, {n})",
    ("sqrt", "f32"): "_vel_vfsqrts_vvl({0}, {n})",
    ("fadd", PACKED): "_vel_pvfadd_vvvl({0}, {1}, {n})",
    ("fsub", PACKED): "_vel_pvfsub_vvvl({0}, {1}, {n})",
    ("fmul", PACKED): "_vel_pvfmul_vvvl({0}, {1}, {n})",
    ("fma", PACKED): "_vel_pvfmad_vvvvl({2}, {0}, {1}, {n})",
    **{("fneg", carrier): f"_vel_vxor_vsvl({SIGN}, {{0}}, {{n}})" for carrier in ("f32", "f64")},
    **{("fabs", carrier): f"_vel_vand_vsvl(~{SIGN}, {{0}}, {{n}})" for carrier in ("f32", "f64")},
    ("fneg", PACKED): f"_vel_vxor_vsvl({SIGNS}, {{0}}, {{n}})",
    ("fabs", PACKED): f"_vel_vand_vsvl(~{SIGNS}, {{0}}, {{n}})",
    ("add", "i64"): "_vel_vaddul_vvvl({0}, {1}, {n})",
    ("sub", "i64"): "_vel_vsubul_vvvl({0}, {1}, {n})",
    ("mul", "i64"): "_vel_vmulul_vvvl({0}, {1}, {n})",
    ("add", "i32"): "_vel_vaddswsx_vvvl({0}, {1}, {n})",
    ("sub", "i32"): "_vel_vsubswsx_vvvl({0}, {1}, {n})",
    ("mul", "i32"): "_vel_vmulswsx_vvvl({0}, {1}, {n})",
    **{
        (op, carrier): template
        for carrier in ("i32", "i64")
        for op, template in {
            "and": "_vel_vand_vvvl({0}, {1}, {n})",
            "or": "_vel_vor_vvvl({0}, {1}, {n})",
            "xor": "_vel_vxor_vvvl({0}, {1}, {n})",
            "shl": "_vel_vsll_vvvl({0}, {1}, {n})",
            "lshr": "_vel_vsrl_vvvl({0}, {1}, {n})",
            "ashr": "_vel_vsral_vvvl({0}, {1}, {n})",
            # Functions of `FUNCTIONS`.
            "sdiv": "divide_signed({0}, {1}, {n})",
            "udiv": "divide_unsigned({0}, {1}, {n})",
            "srem": "remainder_signed({0}, {1}, {n})",
            "urem": "remainder_unsigned({0}, {1}, {n})",
        }.items()
    },
}

#: Operations with a mask {m} and a register {d} that the other lanes keep.
MASKED: Final[dict[tuple[str, str], str]] = {
    ("fadd", "f64"): "_vel_vfaddd_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fsub", "f64"): "_vel_vfsubd_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fmul", "f64"): "_vel_vfmuld_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fdiv", "f64"): "_vel_vfdivd_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fma", "f64"): "_vel_vfmadd_vvvvmvl({2}, {0}, {1}, {m}, {d}, {n})",
    ("fadd", "f32"): "_vel_vfadds_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fsub", "f32"): "_vel_vfsubs_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fmul", "f32"): "_vel_vfmuls_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fdiv", "f32"): "_vel_vfdivs_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("fma", "f32"): "_vel_vfmads_vvvvmvl({2}, {0}, {1}, {m}, {d}, {n})",
    ("fadd", PACKED): "_vel_pvfadd_vvvMvl({0}, {1}, {m}, {d}, {n})",
    ("fsub", PACKED): "_vel_pvfsub_vvvMvl({0}, {1}, {m}, {d}, {n})",
    ("fmul", PACKED): "_vel_pvfmul_vvvMvl({0}, {1}, {m}, {d}, {n})",
    ("fma", PACKED): "_vel_pvfmad_vvvvMvl({2}, {0}, {1}, {m}, {d}, {n})",
    ("add", "i64"): "_vel_vaddul_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("sub", "i64"): "_vel_vsubul_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("mul", "i64"): "_vel_vmulul_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("add", "i32"): "_vel_vaddswsx_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("sub", "i32"): "_vel_vsubswsx_vvvmvl({0}, {1}, {m}, {d}, {n})",
    ("mul", "i32"): "_vel_vmulswsx_vvvmvl({0}, {1}, {m}, {d}, {n})",
}

#: Conversions by the operand's type and the result's; integers that are unsigned come zero-extended to 64 bits.
CONVERSIONS: Final[dict[tuple[str, str, str], str]] = {
    ("fpext", "float", "double"): "_vel_vcvtds_vvl({0}, {n})",
    ("fptrunc", "double", "float"): "_vel_vcvtsd_vvl({0}, {n})",
    **{("sitofp", type, "double"): "_vel_vcvtdl_vvl({0}, {n})" for type in ("i8", "i16", "i32", "i64")},
    **{("sitofp", type, "float"): "_vel_vcvtsw_vvl({0}, {n})" for type in ("i8", "i16", "i32")},
    **{("uitofp", type, "double"): "_vel_vcvtdl_vvl({0}, {n})" for type in ("i8", "i16", "i32")},
    **{("uitofp", type, "float"): "_vel_vcvtsw_vvl({0}, {n})" for type in ("i8", "i16")},
    # A double holds every integer of 32 bits: only the second conversion rounds.
    ("uitofp", "i32", "float"): "_vel_vcvtsd_vvl(_vel_vcvtdl_vvl({0}, {n}), {n})",
    # A float is in the upper half of an element, an integer of 32 bits in the lower one.
    ("bitcast", "double", "i64"): "{0}",
    ("bitcast", "i64", "double"): "{0}",
    ("bitcast", "float", "i32"): "_vel_vsral_vvsl({0}, 32, {n})",
    ("bitcast", "i32", "float"): "_vel_vsll_vvsl({0}, 32, {n})",
}

#: InfReg-IR's predicates -> those of `vfmk`, which compares with 0 and is false for NaN without the suffix `nan`.
FLOAT_PREDICATES: Final = {
    "oeq": "eq", "une": "nenan", "olt": "lt", "ole": "le", "ogt": "gt", "oge": "ge", "uno": "nan",
}  # fmt: skip

#: Types of numbers in memory -> the letters of loads, stores, gathers and scatters. Bytes are stored one by one.
LOADS: Final = {"double": "vld", "i64": "vld", "float": "vldu", "i32": "vldlsx"}
STORES: Final = {"double": "vst", "i64": "vst", "float": "vstu", "i32": "vstl"}
GATHERS: Final = {"double": "vgt", "i64": "vgt", "float": "vgtu", "i32": "vgtlsx"}
SCATTERS: Final = {"double": "vsc", "i64": "vsc", "float": "vscu", "i32": "vscl"}

#: C functions that are printed where they are called, each with the functions that it calls.
FUNCTIONS: Final[dict[str, str]] = {
    "opaque": """/* The same address, which the compiler does not know: what is loaded again stays a load of its own. */
static inline void *opaque(const void *place)
{
    __asm__ volatile("" : "+r"(place));
    return (void *)place;
}""",
    "opaque_bits": """static inline uint64_t opaque_bits(uint64_t bits)
{
    __asm__ volatile("" : "+r"(bits));
    return bits;
}""",
    "bits_of_float": """static inline uint64_t bits_of_float(float number)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &number, sizeof bits);
    return bits;
}""",
    "bits_of_double": """static inline uint64_t bits_of_double(double number)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &number, sizeof bits);
    return bits;
}""",
    **{
        f"get_{type}": f"""static inline {type} get_{type}(const unsigned char *place)
{{
    {type} number;
    __builtin_memcpy(&number, place, sizeof number);
    return number;
}}"""
        for type in ("float", "double", "int64_t")
    },
    **{
        f"set_{type}": f"""static inline void set_{type}(unsigned char *place, {type} number)
{{
    __builtin_memcpy(place, &number, sizeof number);
}}"""
        for type in ("float", "double", "int64_t")
    },
    "make_mask": """/* Lane i is bit 63 - i % 64 of word i / 64. */
static inline __vm256 make_mask(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    __vm256 mask = _vel_vfmklat_ml(256);
    mask = _vel_lvm_mmss(mask, 0, opaque_bits(a));
    mask = _vel_lvm_mmss(mask, 1, opaque_bits(b));
    mask = _vel_lvm_mmss(mask, 2, opaque_bits(c));
    return _vel_lvm_mmss(mask, 3, opaque_bits(d));
}""",
    "load_mask": """static inline __vm256 load_mask(const unsigned char *place)
{
    const uint64_t *words = (const uint64_t *)opaque(place);
    return make_mask(words[0], words[1], words[2], words[3]);
}""",
    "store_mask": """static inline void store_mask(unsigned char *place, __vm256 mask)
{
    uint64_t *words = (uint64_t *)place;
    words[0] = _vel_svm_sms(mask, 0);
    words[1] = _vel_svm_sms(mask, 1);
    words[2] = _vel_svm_sms(mask, 2);
    words[3] = _vel_svm_sms(mask, 3);
}""",
    "is_live": """static inline int is_live(const unsigned char *place, int lane)
{
    return ((const uint64_t *)place)[lane / 64] >> (63 - lane % 64) & 1;
}""",
    "join_masks": """static inline __vm512 join_masks(__vm256 lower, __vm256 upper)
{
    return _vel_insert_vm512u(_vel_insert_vm512l(_vel_pvfmkat_Ml(256), lower), upper);
}""",
    "divide_unsigned": """/* x / 0 is x; x % 0 is 0. */
static inline __vr divide_unsigned(__vr a, __vr b, int n)
{
    return _vel_vdivul_vvvl(a, _vel_vmrg_vsvml(1, b, _vel_vfmklne_mvl(b, n), n), n);
}""",
    "remainder_unsigned": """static inline __vr remainder_unsigned(__vr a, __vr b, int n)
{
    const __vr divisor = _vel_vmrg_vsvml(1, b, _vel_vfmklne_mvl(b, n), n);
    return _vel_vsubul_vvvl(a, _vel_vmulul_vvvl(_vel_vdivul_vvvl(a, divisor, n), divisor, n), n);
}""",
    "safe_divisor": """/* The divisor, or 1 in place of 0 and of -1, by which the smallest number overflows. */
static inline __vr safe_divisor(__vr b, int n)
{
    const __vm256 is_large = _vel_andm_mmm(
        _vel_vfmklne_mvl(b, n), _vel_vfmklne_mvl(_vel_vaddul_vsvl(1, b, n), n));
    return _vel_vmrg_vsvml(1, b, is_large, n);
}""",
    "divide_signed": """static inline __vr divide_signed(__vr a, __vr b, int n)
{
    const __vr quotient = _vel_vdivsl_vvvl(a, safe_divisor(b, n), n);
    const __vm256 negates = _vel_vfmkleq_mvl(_vel_vaddul_vsvl(1, b, n), n);
    return _vel_vmrg_vvvml(quotient, _vel_vsubul_vsvl(0, a, n), negates, n);
}""",
    "remainder_signed": """static inline __vr remainder_signed(__vr a, __vr b, int n)
{
    const __vr divisor = safe_divisor(b, n);
    return _vel_vsubul_vvvl(a, _vel_vmulul_vvvl(_vel_vdivsl_vvvl(a, divisor, n), divisor, n), n);
}""",
}
