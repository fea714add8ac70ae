"""The vector instruction sets that C is generated for, as tables of intrinsics: AVX-512 and AVX2.

Chunks are kept in *carriers*: float, double and integers of 32 and 64 bits, in registers of the full width. Integers of
8 and 16 bits are kept sign-extended in lanes of 32 bits, because no instruction set computes with all of them.

In a template, {p} is the prefix of the set's intrinsics (`_mm512`), {v} the suffix of whole integer registers
(`si512`), {s} the suffix of the carrier (`ps`, `epi32`), and {0}, {1}, ... are the operands.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Carrier(NamedTuple):
    """How lanes of a type are kept. `suffix` names an intrinsic's lanes, `domain` the kind of register."""

    name: str
    bytes: int
    c_type: str
    suffix: str
    domain: str


F32: Final = Carrier("f32", 4, "float", "ps", "ps")
F64: Final = Carrier("f64", 8, "double", "pd", "pd")
I32: Final = Carrier("i32", 4, "int32_t", "epi32", "si")
I64: Final = Carrier("i64", 8, "int64_t", "epi64", "si")

#: Types of chunks but masks. Narrow integers are sign-extended.
CARRIERS: Final = {"float": F32, "double": F64, "i8": I32, "i16": I32, "i32": I32, "i64": I64}


class Isa(NamedTuple):
    """An instruction set. Tables are keyed by the operation and the carrier's name, or by "*" for every carrier.

    `has_mask_registers` says whether a mask is one integer (`__mmask16`) or a vector of lanes that are 0 or -1.
    `features` are LLVM's names of what a CPU must have.
    """

    name: str
    prefix: str
    whole: str
    bytes: int
    registers: int
    march: str
    features: frozenset[str]
    has_mask_registers: bool
    vector_types: dict[str, str]
    half_types: dict[str, str]
    halves: dict[tuple[str, str], str]
    operations: dict[tuple[str, str], str]
    conversions: dict[tuple[str, str, str], str]
    compares: dict[tuple[str, str], str]
    memory: dict[tuple[str, str], str]

    def lanes(self, carrier: Carrier) -> int:
        return self.bytes // carrier.bytes

    def vector_type(self, carrier: Carrier) -> str:
        return self.vector_types[carrier.domain]

    def format(self, template: str, carrier: Carrier, *operands: str) -> str:
        return template.format(*operands, p=self.prefix, v=self.whole, s=carrier.suffix)

    def cast(self, register: str, source: str, target: str) -> str:
        """Return the bits of a register as one of another domain."""
        if source == target:
            return register
        names = {"ps": "ps", "pd": "pd", "si": self.whole}
        return f"{self.prefix}_cast{names[source]}_{names[target]}({register})"

    def half(self, which: str, carrier: Carrier, *operands: str) -> str:
        """Return the "low" or "high" half of a register, one "joined" of two halves, or one "widened" from one."""
        return self.halves[which, carrier.domain].format(*operands)

    def operation(self, op: str, carrier: Carrier) -> str | None:
        """Return the template of an operation; None where the set has no instruction for it."""
        return self.operations.get((op, carrier.name), self.operations.get((op, "*")))

    def set_lanes(self, carrier: Carrier, texts: list[str]) -> str:
        """Return a register of numbers in the order of lanes."""
        if len(set(texts)) == 1:
            return self.broadcast(carrier, texts[0])
        return f"{self.prefix}_setr_{self.set_suffix(carrier)}({', '.join(texts)})"

    def broadcast(self, carrier: Carrier, scalar: str) -> str:
        return f"{self.prefix}_set1_{self.set_suffix(carrier)}({scalar})"

    def set_suffix(self, carrier: Carrier) -> str:
        return "epi64x" if carrier is I64 and self.prefix == "_mm256" else carrier.suffix


#: Operations that both sets have.
COMMON: Final[dict[tuple[str, str], str]] = {
    ("fadd", "*"): "{p}_add_{s}({0}, {1})",
    ("fsub", "*"): "{p}_sub_{s}({0}, {1})",
    ("fmul", "*"): "{p}_mul_{s}({0}, {1})",
    ("fdiv", "*"): "{p}_div_{s}({0}, {1})",
    ("fma", "*"): "{p}_fmadd_{s}({0}, {1}, {2})",
    ("sqrt", "*"): "{p}_sqrt_{s}({0})",
    ("fneg", "f32"): "{p}_xor_ps({0}, {p}_set1_ps(-0.0f))",
    ("fneg", "f64"): "{p}_xor_pd({0}, {p}_set1_pd(-0.0))",
    ("fabs", "f32"): "{p}_andnot_ps({p}_set1_ps(-0.0f), {0})",
    ("fabs", "f64"): "{p}_andnot_pd({p}_set1_pd(-0.0), {0})",
    ("add", "*"): "{p}_add_{s}({0}, {1})",
    ("sub", "*"): "{p}_sub_{s}({0}, {1})",
    ("mul", "i32"): "{p}_mullo_epi32({0}, {1})",
    ("and", "*"): "{p}_and_{v}({0}, {1})",
    ("or", "*"): "{p}_or_{v}({0}, {1})",
    ("xor", "*"): "{p}_xor_{v}({0}, {1})",
    ("shl", "*"): "{p}_sllv_{s}({0}, {1})",
    ("lshr", "*"): "{p}_srlv_{s}({0}, {1})",
    ("ashr", "i32"): "{p}_srav_epi32({0}, {1})",
}

#: Conversions between carriers. Between sizes, the operand or the result is half a register.
COMMON_CONVERSIONS: Final[dict[tuple[str, str, str], str]] = {
    ("sext", "i32", "i64"): "{p}_cvtepi32_epi64({0})",
    ("zext", "i32", "i64"): "{p}_cvtepu32_epi64({0})",
    ("fpext", "f32", "f64"): "{p}_cvtps_pd({0})",
    ("fptrunc", "f64", "f32"): "{p}_cvtpd_ps({0})",
    ("sitofp", "i32", "f32"): "{p}_cvtepi32_ps({0})",
    ("sitofp", "i32", "f64"): "{p}_cvtepi32_pd({0})",
}

#: Predicates of floating-point comparisons: quiet, `o` false and `u` true where an operand is NaN.
FLOAT_PREDICATES: Final = {
    "oeq": "_CMP_EQ_OQ", "une": "_CMP_NEQ_UQ", "olt": "_CMP_LT_OQ", "ole": "_CMP_LE_OQ", "ogt": "_CMP_GT_OQ",
    "oge": "_CMP_GE_OQ", "uno": "_CMP_UNORD_Q",
}  # fmt: skip
INTEGER_PREDICATES: Final = {
    "eq": "_MM_CMPINT_EQ", "ne": "_MM_CMPINT_NE", "lt": "_MM_CMPINT_LT", "le": "_MM_CMPINT_LE",
    "gt": "_MM_CMPINT_NLE", "ge": "_MM_CMPINT_NLT",
}  # fmt: skip


def avx512_compares() -> dict[tuple[str, str], str]:
    table = {
        (f"fcmp {name}", "*"): f"{{p}}_cmp_{{s}}_mask({{0}}, {{1}}, {predicate})"
        for name, predicate in FLOAT_PREDICATES.items()
    }
    for name, predicate in INTEGER_PREDICATES.items():
        for sign, kind in (("s", "epi"), ("u", "epu")) if name not in ("eq", "ne") else (("", "epi"),):
            for carrier in (I32, I64):
                suffix = kind + carrier.suffix.removeprefix("epi")
                table[f"icmp {sign}{name}", carrier.name] = f"{{p}}_cmp_{suffix}_mask({{0}}, {{1}}, {predicate})"
    return table


def avx2_compares() -> dict[tuple[str, str], str]:
    """AVX2 compares integers for equality and signed `greater than`; the rest is negated, or has its sign flipped."""
    table = {
        (f"fcmp {name}", carrier.name): f"_mm256_cast{carrier.suffix}_si256("
        f"_mm256_cmp_{carrier.suffix}({{0}}, {{1}}, {predicate}))"
        for name, predicate in FLOAT_PREDICATES.items()
        for carrier in (F32, F64)
    }
    ones = "_mm256_set1_epi32(-1)"
    flips = {"i32": "_mm256_set1_epi32(INT32_MIN)", "i64": "_mm256_set1_epi64x(INT64_MIN)"}
    equal = "_mm256_cmpeq_{s}({0}, {1})"
    for name, flip in flips.items():
        signed = {"gt": "_mm256_cmpgt_{s}({0}, {1})", "lt": "_mm256_cmpgt_{s}({1}, {0})"}
        signed["le"] = f"_mm256_xor_si256({signed['gt']}, {ones})"
        signed["ge"] = f"_mm256_xor_si256({signed['lt']}, {ones})"
        table["icmp eq", name] = equal
        table["icmp ne", name] = f"_mm256_xor_si256({equal}, {ones})"
        for predicate, template in signed.items():
            table["icmp s" + predicate, name] = template
            unsigned = template.replace("{0}", f"_mm256_xor_si256(#, {flip})").replace("#", "{0}")
            table["icmp u" + predicate, name] = unsigned.replace("{1}", f"_mm256_xor_si256({{1}}, {flip})")
    return table


AVX512: Final = Isa(
    name="avx512",
    prefix="_mm512",
    whole="si512",
    bytes=64,
    registers=32,
    march="x86-64-v4",
    features=frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx2", "fma"}),
    has_mask_registers=True,
    vector_types={"ps": "__m512", "pd": "__m512d", "si": "__m512i"},
    half_types={"ps": "__m256", "pd": "__m256d", "si": "__m256i"},
    halves={
        ("low", "ps"): "_mm512_castps512_ps256({0})",
        ("low", "pd"): "_mm512_castpd512_pd256({0})",
        ("low", "si"): "_mm512_castsi512_si256({0})",
        ("high", "ps"): "_mm512_extractf32x8_ps({0}, 1)",
        ("high", "pd"): "_mm512_extractf64x4_pd({0}, 1)",
        ("high", "si"): "_mm512_extracti64x4_epi64({0}, 1)",
        ("widened", "ps"): "_mm512_castps256_ps512({0})",
        ("widened", "pd"): "_mm512_castpd256_pd512({0})",
        ("widened", "si"): "_mm512_castsi256_si512({0})",
        ("joined", "ps"): "_mm512_insertf32x8(_mm512_castps256_ps512({0}), {1}, 1)",
        ("joined", "pd"): "_mm512_insertf64x4(_mm512_castpd256_pd512({0}), {1}, 1)",
        ("joined", "si"): "_mm512_inserti64x4(_mm512_castsi256_si512({0}), {1}, 1)",
    },
    operations={
        **COMMON,
        ("mul", "i64"): "_mm512_mullo_epi64({0}, {1})",
        ("ashr", "i64"): "_mm512_srav_epi64({0}, {1})",
        # {0} is a mask.
        ("select", "*"): "_mm512_mask_blend_{s}({0}, {2}, {1})",
    },
    conversions={
        **COMMON_CONVERSIONS,
        ("trunc", "i64", "i32"): "_mm512_cvtepi64_epi32({0})",
        ("uitofp", "i32", "f32"): "_mm512_cvtepu32_ps({0})",
        ("uitofp", "i32", "f64"): "_mm512_cvtepu32_pd({0})",
        ("sitofp", "i64", "f32"): "_mm512_cvtepi64_ps({0})",
        ("uitofp", "i64", "f32"): "_mm512_cvtepu64_ps({0})",
        ("sitofp", "i64", "f64"): "_mm512_cvtepi64_pd({0})",
        ("uitofp", "i64", "f64"): "_mm512_cvtepu64_pd({0})",
    },
    compares=avx512_compares(),
    memory={
        ("load", "float"): "_mm512_loadu_ps({0})",
        ("load", "double"): "_mm512_loadu_pd({0})",
        ("load", "i32"): "_mm512_loadu_si512({0})",
        ("load", "i64"): "_mm512_loadu_si512({0})",
        ("load half", "float"): "_mm512_zextps256_ps512(_mm256_loadu_ps({0}))",
        ("load half", "double"): "_mm512_zextpd256_pd512(_mm256_loadu_pd({0}))",
        ("load masked", "float"): "_mm512_maskz_loadu_ps({1}, {0})",
        ("load masked", "double"): "_mm512_maskz_loadu_pd({1}, {0})",
        ("load masked", "i8"): "_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8({1}, {0}))",
        ("load masked", "i16"): "_mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16({1}, {0}))",
        ("load masked", "i32"): "_mm512_maskz_loadu_epi32({1}, {0})",
        ("load masked", "i64"): "_mm512_maskz_loadu_epi64({1}, {0})",
        ("store", "float"): "_mm512_storeu_ps({0}, {1})",
        ("store", "double"): "_mm512_storeu_pd({0}, {1})",
        ("store", "i32"): "_mm512_storeu_si512({0}, {1})",
        ("store", "i64"): "_mm512_storeu_si512({0}, {1})",
        ("store half", "float"): "_mm256_storeu_ps({0}, _mm512_castps512_ps256({1}))",
        ("store half", "double"): "_mm256_storeu_pd({0}, _mm512_castpd512_pd256({1}))",
        ("store masked", "float"): "_mm512_mask_storeu_ps({0}, {2}, {1})",
        ("store masked", "double"): "_mm512_mask_storeu_pd({0}, {2}, {1})",
        ("store masked", "i8"): "_mm512_mask_cvtepi32_storeu_epi8({0}, {2}, {1})",
        ("store masked", "i16"): "_mm512_mask_cvtepi32_storeu_epi16({0}, {2}, {1})",
        ("store masked", "i32"): "_mm512_mask_storeu_epi32({0}, {2}, {1})",
        ("store masked", "i64"): "_mm512_mask_storeu_epi64({0}, {2}, {1})",
        ("stream", "float"): "_mm512_stream_ps({0}, {1})",
        ("stream", "double"): "_mm512_stream_pd({0}, {1})",
        ("stream", "i32"): "_mm512_stream_si512((__m512i *)({0}), {1})",
        ("stream", "i64"): "_mm512_stream_si512((__m512i *)({0}), {1})",
        # A gather by 8 indices of 64 bits; lanes of 32 bits come as half a register. {2} is a mask of 8 lanes.
        ("gather", "float"): "_mm512_mask_i64gather_ps(_mm256_setzero_ps(), {2}, {1}, {0}, 4)",
        ("gather", "double"): "_mm512_mask_i64gather_pd(_mm512_setzero_pd(), {2}, {1}, {0}, 8)",
        ("gather", "i32"): "_mm512_mask_i64gather_epi32(_mm256_setzero_si256(), {2}, {1}, {0}, 4)",
        ("gather", "i64"): "_mm512_mask_i64gather_epi64(_mm512_setzero_si512(), {2}, {1}, {0}, 8)",
        ("scatter", "float"): "_mm512_mask_i64scatter_ps({0}, {2}, {1}, {3}, 4)",
        ("scatter", "double"): "_mm512_mask_i64scatter_pd({0}, {2}, {1}, {3}, 8)",
        ("scatter", "i32"): "_mm512_mask_i64scatter_epi32({0}, {2}, {1}, {3}, 4)",
        ("scatter", "i64"): "_mm512_mask_i64scatter_epi64({0}, {2}, {1}, {3}, 8)",
    },
)

AVX2: Final = Isa(
    name="avx2",
    prefix="_mm256",
    whole="si256",
    bytes=32,
    registers=16,
    march="x86-64-v3",
    features=frozenset({"avx2", "fma"}),
    has_mask_registers=False,
    vector_types={"ps": "__m256", "pd": "__m256d", "si": "__m256i"},
    half_types={"ps": "__m128", "pd": "__m128d", "si": "__m128i"},
    halves={
        ("low", "ps"): "_mm256_castps256_ps128({0})",
        ("low", "pd"): "_mm256_castpd256_pd128({0})",
        ("low", "si"): "_mm256_castsi256_si128({0})",
        ("high", "ps"): "_mm256_extractf128_ps({0}, 1)",
        ("high", "pd"): "_mm256_extractf128_pd({0}, 1)",
        ("high", "si"): "_mm256_extracti128_si256({0}, 1)",
        ("widened", "ps"): "_mm256_castps128_ps256({0})",
        ("widened", "pd"): "_mm256_castpd128_pd256({0})",
        ("widened", "si"): "_mm256_castsi128_si256({0})",
        ("joined", "ps"): "_mm256_insertf128_ps(_mm256_castps128_ps256({0}), {1}, 1)",
        ("joined", "pd"): "_mm256_insertf128_pd(_mm256_castpd128_pd256({0}), {1}, 1)",
        ("joined", "si"): "_mm256_inserti128_si256(_mm256_castsi128_si256({0}), {1}, 1)",
    },
    operations={
        **COMMON,
        # Functions of `AVX2_FUNCTIONS`.
        ("mul", "i64"): "mullo_i64({0}, {1})",
        ("ashr", "i64"): "srav_i64({0}, {1})",
        ("select", "f32"): "_mm256_blendv_ps({2}, {1}, _mm256_castsi256_ps({0}))",
        ("select", "f64"): "_mm256_blendv_pd({2}, {1}, _mm256_castsi256_pd({0}))",
        ("select", "i32"): "_mm256_blendv_epi8({2}, {1}, {0})",
        ("select", "i64"): "_mm256_blendv_epi8({2}, {1}, {0})",
    },
    conversions={
        **COMMON_CONVERSIONS,
        ("trunc", "i64", "i32"): "_mm256_castsi256_si128("
        "_mm256_permutevar8x32_epi32({0}, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)))",
    },
    compares=avx2_compares(),
    memory={
        ("load", "float"): "_mm256_loadu_ps({0})",
        ("load", "double"): "_mm256_loadu_pd({0})",
        ("load", "i32"): "_mm256_loadu_si256((const __m256i *)({0}))",
        ("load", "i64"): "_mm256_loadu_si256((const __m256i *)({0}))",
        ("load half", "float"): "_mm256_zextps128_ps256(_mm_loadu_ps({0}))",
        ("load half", "double"): "_mm256_zextpd128_pd256(_mm_loadu_pd({0}))",
        ("load masked", "float"): "_mm256_maskload_ps({0}, {1})",
        ("load masked", "double"): "_mm256_maskload_pd({0}, {1})",
        ("load masked", "i32"): "_mm256_maskload_epi32((const int *)({0}), {1})",
        ("load masked", "i64"): "_mm256_maskload_epi64((const long long *)({0}), {1})",
        ("store", "float"): "_mm256_storeu_ps({0}, {1})",
        ("store", "double"): "_mm256_storeu_pd({0}, {1})",
        ("store", "i32"): "_mm256_storeu_si256((__m256i *)({0}), {1})",
        ("store", "i64"): "_mm256_storeu_si256((__m256i *)({0}), {1})",
        ("store half", "float"): "_mm_storeu_ps({0}, _mm256_castps256_ps128({1}))",
        ("store half", "double"): "_mm_storeu_pd({0}, _mm256_castpd256_pd128({1}))",
        ("store masked", "float"): "_mm256_maskstore_ps({0}, {2}, {1})",
        ("store masked", "double"): "_mm256_maskstore_pd({0}, {2}, {1})",
        ("store masked", "i32"): "_mm256_maskstore_epi32((int *)({0}), {2}, {1})",
        ("store masked", "i64"): "_mm256_maskstore_epi64((long long *)({0}), {2}, {1})",
        ("stream", "float"): "_mm256_stream_ps({0}, {1})",
        ("stream", "double"): "_mm256_stream_pd({0}, {1})",
        ("stream", "i32"): "_mm256_stream_si256((__m256i *)({0}), {1})",
        ("stream", "i64"): "_mm256_stream_si256((__m256i *)({0}), {1})",
        # A gather by 4 indices of 64 bits; lanes of 32 bits come as half a register. {2} is a mask of 64-bit lanes.
        ("gather", "float"): "_mm256_mask_i64gather_ps(_mm_setzero_ps(), {0}, places({1}), _mm_castsi128_ps("
        "_mm256_castsi256_si128(_mm256_permutevar8x32_epi32({2}, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)))), 4)",
        ("gather", "double"): "_mm256_mask_i64gather_pd(_mm256_setzero_pd(), {0}, places({1}), "
        "_mm256_castsi256_pd({2}), 8)",
        ("gather", "i32"): "_mm256_mask_i64gather_epi32(_mm_setzero_si128(), (const int *)({0}), places({1}), "
        "_mm256_castsi256_si128(_mm256_permutevar8x32_epi32({2}, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6))), 4)",
        ("gather", "i64"): "_mm256_mask_i64gather_epi64(_mm256_setzero_si256(), (const long long *)({0}), "
        "places({1}), {2}, 8)",
    },
)

#: AVX2's products and arithmetic shifts of 64 bits, and the places of a gather.
AVX2_FUNCTIONS: Final = {
    "mullo_i64": """static inline __m256i mullo_i64(__m256i a, __m256i b)
{
    const __m256i low = _mm256_mul_epu32(a, b);
    const __m256i left = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    const __m256i right = _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32));
    return _mm256_add_epi64(low, _mm256_slli_epi64(_mm256_add_epi64(left, right), 32));
}""",
    "srav_i64": """static inline __m256i srav_i64(__m256i a, __m256i count)
{
    const __m256i sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), a);
    return _mm256_xor_si256(_mm256_srlv_epi64(_mm256_xor_si256(a, sign), count), sign);
}""",
    # gcc 12 built places that it knew in the register of the gather's mask.
    "places": """static inline __m256i places(__m256i index)
{
#if defined __GNUC__ && defined __AVX2__
    __asm__("" : "+x"(index));
#endif
    return index;
}""",
}

ISAS: Final = {isa.name: isa for isa in (AVX512, AVX2)}
