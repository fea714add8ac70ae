"""The instructions that tools/legality.py asks ptxas about, family by family (PTX ISA 9.0, chapter 9).

`first_round` crosses opcodes, modifiers and types without regard to what is legal; `second_round` takes
what was legal and damages it. Register names follow the module in tools/legality.py.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import product

TYPES = (
    "u8 s8 b8 u16 s16 b16 f16 bf16 u32 s32 b32 f16x2 bf16x2 f32 u64 s64 b64 f64 b128 pred u16x2 s16x2 tf32"
).split()
INTEGERS = "u16 s16 u32 s32 u64 s64".split()
FLOATS = "f16 f16x2 bf16 bf16x2 f32 f64".split()
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "b16": "b32", "b32": "b64"}
PREFIX = {
    "pred": "p", "u8": "h", "s8": "h", "b8": "h", "u16": "h", "s16": "h", "b16": "h", "f16": "h", "bf16": "h",
    "u32": "r", "s32": "r", "b32": "r", "f16x2": "r", "bf16x2": "r", "u16x2": "r", "s16x2": "r", "tf32": "r",
    "f32": "f", "u64": "rd", "s64": "rd", "b64": "rd", "f64": "fd", "b128": "rq",
}  # fmt: skip
ROUND = (".rn", ".rz", ".rm", ".rp")


def reg(type_: str, number: int) -> str:
    return f"%{PREFIX[type_]}{number}"


def regs(type_: str, count: int, first: int = 0) -> str:
    return ", ".join(reg(type_, first + k) for k in range(count))


def uniform(opcode: str, modifiers: tuple[str, ...], sources: int, types: list[str] = TYPES) -> Iterator[str]:
    """`opcode.modifier.type d, a, b, ...` with every operand of the instruction's own type."""
    for modifier, type_ in product(modifiers, types):
        if type_ == "b128" and sources == 3:
            continue  # the module declares four registers of it
        yield f"{opcode}{modifier}.{type_} {regs(type_, sources + 1)};"


def integer_arithmetic() -> Iterator[str]:
    yield from uniform("add", ("", ".sat", ".cc"), 2)
    yield from uniform("sub", ("", ".sat", ".cc"), 2)
    yield from uniform("addc", ("", ".cc", ".sat"), 2)
    yield from uniform("subc", ("", ".cc", ".sat"), 2)
    yield from uniform("mul", ("", ".lo", ".hi", ".wide", ".hi.sat", ".lo.cc"), 2)
    yield from uniform("mad", ("", ".lo", ".hi", ".wide", ".hi.sat", ".lo.sat", ".lo.cc", ".hi.cc"), 3)
    yield from uniform("madc", ("", ".lo", ".hi", ".wide", ".lo.cc", ".hi.cc"), 3)
    for opcode in ("mul", "mad"):
        for modifier, type_ in product((".wide", ".wide.cc", ".wide.sat"), WIDE):
            wide = reg(WIDE[type_], 0)
            extra = f", {reg(WIDE[type_], 3)}" if opcode == "mad" else ""
            yield f"{opcode}{modifier}.{type_} {wide}, {regs(type_, 2, 1)}{extra};"
    for opcode, sources in (("mul24", 2), ("mad24", 3)):
        yield from uniform(opcode, ("", ".lo", ".hi", ".wide", ".hi.sat", ".lo.sat"), sources)
    yield from uniform("sad", ("", ".sat"), 3)
    yield from uniform("div", ("", ".sat"), 2)
    yield from uniform("rem", ("", ".rn"), 2)
    yield from uniform("abs", ("", ".ftz", ".sat"), 1)
    yield from uniform("neg", ("", ".ftz", ".sat"), 1)
    for op, modifier in product(("min", "max"), ("", ".relu", ".ftz", ".NaN", ".xorsign.abs")):
        yield from uniform(op, (modifier,), 2)
    for opcode, modifier, type_ in product(("popc", "clz", "brev", "bfind", "bfind.shiftamt"), ("",), TYPES):
        yield f"{opcode}{modifier}.{type_} %r0, {reg(type_, 1)};"
        yield f"{opcode}{modifier}.{type_} {regs(type_, 2)};"
    for type_ in TYPES:
        yield f"bfe.{type_} {regs(type_, 2)}, %r2, %r3;"
        yield f"bfi.{type_} {regs(type_, 3)}, %r3, %r4;"
        yield f"fns.{type_} {reg(type_, 0)}, %r1, %r2, %s1;"
        for mode in ("", ".clamp", ".wrap"):
            yield f"szext{mode}.{type_} {regs(type_, 2)}, %r2;"
            yield f"bmsk{mode}.{type_} {reg(type_, 0)}, %r1, %r2;"
    for a, b in product(("u32", "s32", "b32", "u16", "f32", "u64"), repeat=2):
        yield f"dp4a.{a}.{b} %r0, %r1, %r2, %r3;"
        for half in ("", ".lo", ".hi"):
            yield f"dp2a{half}.{a}.{b} %r0, %r1, %r2, %r3;"


def float_arithmetic() -> Iterator[str]:
    suffixes = ("", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu", ".sat.ftz", ".sat.relu")
    roundings = ("", *ROUND, ".rna")
    floats = [*FLOATS, "f32x2", "b32", "s32", "b16"]
    for opcode, sources in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("mad", 3)):
        for rounding, suffix, type_ in product(roundings, suffixes, floats):
            if type_ == "f32x2":
                if rounding in ("", ".rn"):
                    yield f"{opcode}{rounding}{suffix}.f32x2 {regs('b64', sources + 1)};"
                continue
            yield f"{opcode}{rounding}{suffix}.{type_} {regs(type_, sources + 1)};"
    divisions = (".approx", ".full", *ROUND, ".approx.rn", ".rna")
    for rounding, suffix, type_ in product(divisions, ("", ".ftz", ".sat", ".ftz.sat"), [*FLOATS, "s32", "u64"]):
        yield f"div{rounding}{suffix}.{type_} {regs(type_, 3)};"
    for opcode in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"):
        for rounding, suffix, type_ in product(("", ".approx", *ROUND), ("", ".ftz", ".sat"), [*FLOATS, "u32"]):
            yield f"{opcode}{rounding}{suffix}.{type_} {regs(type_, 2)};"
    minimums = (
        "", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz.NaN.xorsign.abs",
        ".ftz.xorsign.abs", ".abs", ".xorsign", ".NaN.ftz", ".relu", ".nan",
    )  # fmt: skip
    for opcode in ("min", "max"):
        yield from uniform(opcode, minimums, 2, FLOATS)
        yield from uniform(opcode, ("", ".ftz", ".NaN", ".abs"), 3, ["f32", "f16", "s32", "f64"])
    yield from uniform("neg", ("", ".ftz"), 1, FLOATS)
    tests = ("", ".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal", ".nan", ".zero")
    for test, type_ in product(tests, [*FLOATS, "b32", "u32"]):
        yield f"testp{test}.{type_} %p0, {reg(type_, 1)};"
        if test == ".finite":
            yield f"testp{test}.{type_} %r0, {reg(type_, 1)};"
    yield from uniform("copysign", ("", ".ftz"), 2)


def comparison() -> Iterator[str]:
    compares = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan".split()
    for compare, type_ in product(compares, TYPES):
        yield f"setp.{compare}.{type_} %p0, {regs(type_, 2, 1)};"
    for compare, dest, type_ in product(("eq", "lt", "lo", "nan", "geu"), ("u32", "s32", "f32", "b32", "f16",
                                        "bf16", "f16x2", "bf16x2", "u64", "pred", "u16"), TYPES):  # fmt: skip
        if compare in ("eq", "lt") or type_ in ("f32", "u32", "f16", "f64", "bf16x2"):
            yield f"set.{compare}.{dest}.{type_} {reg(dest, 0)}, {regs(type_, 2, 1)};"
    for boolean, ftz, type_ in product(
        ("and", "or", "xor", "nand"), ("", ".ftz"), ("f32", "f16", "bf16", "s32", "f64")
    ):
        yield f"setp.lt.{boolean}{ftz}.{type_} %p0|%p1, {regs(type_, 2, 1)}, %p2;"
        yield f"setp.lt.{boolean}{ftz}.{type_} %p0, {regs(type_, 2, 1)}, !%p2;"
        yield f"set.lt.{boolean}{ftz}.u32.{type_} %r0, {regs(type_, 2, 1)}, !%p2;"
        yield f"set.lt.{boolean}{ftz}.f32.{type_} %f0, {regs(type_, 2, 1)}, %p2;"
    for type_ in TYPES:
        yield f"setp.eq.ftz.{type_} %p0, {regs(type_, 2, 1)};"
        yield f"setp.eq.{type_} %p0|%p1, {regs(type_, 2, 1)};"
        yield f"selp.{type_} {regs(type_, 3)}, %p3;"
        yield f"selp.{type_} {regs(type_, 3)}, %r3;"
        yield f"selp.{type_} {regs(type_, 3)}, !%p3;"
        for decider in ("s32", "f32", "u32", "s64", "f64"):
            yield f"slct.{type_}.{decider} {regs(type_, 3)}, {reg(decider, 3)};"
        yield f"slct.ftz.{type_}.f32 {regs(type_, 3)}, %f3;"
    yield from ("slct.ftz.u32.s32 %r0, %r1, %r2, %r3;", "setp.lt.f16x2 %p0|%p1, %r1, %r2;")
    yield from ("setp.lt.f16x2 %p0, %r1, %r2;", "setp.lt.ftz.bf16x2 %p0|%p1, %r1, %r2;", "setp.lt.s32 %r0, %r1, %r2;")
    yield from ("setp.lt.s32 _|%p1, %r1, %r2;", "setp.lt.s32 %p0|_, %r1, %r2;", "setp.s32 %p0, %r1, %r2;")


def logic() -> Iterator[str]:
    for opcode in ("and", "or", "xor"):
        yield from uniform(opcode, ("",), 2)
    for opcode in ("not", "cnot"):
        yield from uniform(opcode, ("",), 1)
    for opcode, type_ in product(("shl", "shr"), TYPES):
        yield f"{opcode}.{type_} {regs(type_, 2)}, %r2;"
        yield f"{opcode}.{type_} {regs(type_, 2)}, 3;"
        yield f"{opcode}.{type_} {regs(type_, 2)}, {reg('b64', 2)};"
        yield f"{opcode}.{type_} {regs(type_, 2)}, %h2;"
    for direction, mode, type_ in product(
        ("", ".l", ".r"), ("", ".wrap", ".clamp"), ("b32", "u32", "s32", "b64", "b16")
    ):
        yield f"shf{direction}{mode}.{type_} {regs(type_, 3)}, %r3;"
    for table in ("0", "0x96", "255", "256", "-1", "%r4", "0b1010"):
        yield f"lop3.b32 %r0, %r1, %r2, %r3, {table};"
        yield f"lop3.or.b32 %r0|%p0, %r1, %r2, %r3, {table}, %p1;"
    for type_ in TYPES:
        yield f"lop3.{type_} {regs(type_, 3)}, {reg(type_, 3)}, 0x80;"
    for boolean in ("and", "or", "xor"):
        yield f"lop3.{boolean}.b32 %r0|%p0, %r1, %r2, %r3, 0x96, %p1;"
        yield f"lop3.{boolean}.b32 %r0|%p0, %r1, %r2, %r3, 0x96, !%p1;"
        yield f"lop3.{boolean}.b32 _|%p0, %r1, %r2, %r3, 0x96, %p1;"
        yield f"lop3.{boolean}.b32 %r0, %r1, %r2, %r3, 0x96, %p1;"
    for mode, type_ in product(
        ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16", ".xyz"), ("b32", "u32", "b64", "b16")
    ):
        yield f"prmt.{type_}{mode} {regs(type_, 3)}, %r3;"
        yield f"prmt{mode}.{type_} {regs(type_, 3)}, 0x3210;"


SPECIAL = (
    "tid.x tid.y tid.z tid ntid.x ntid ctaid.x ctaid.z nctaid.y laneid warpid nwarpid smid nsmid gridid clock "
    "clock_hi clock64 pm0 pm7 pm0_64 lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt globaltimer "
    "globaltimer_lo globaltimer_hi total_smem_size aggr_smem_size dynamic_smem_size is_explicit_cluster "
    "clusterid.x nclusterid.x cluster_ctaid.x cluster_nctaid.x cluster_ctarank cluster_nctarank envreg0 "
    "envreg31 current_graph_exec reserved_smem_offset_begin nothing tid.w ntid.q"
).split()


def moves() -> Iterator[str]:
    yield from uniform("mov", ("",), 1)
    for name, type_ in product(SPECIAL, ("u32", "b32", "u64", "s32", "u16", "f32", "v4.u32")):
        if type_ == "v4.u32":
            yield f"mov.v4.u32 {{%r0, %r1, %r2, %r3}}, %{name};"
        else:
            yield f"mov.{type_} {reg(type_, 0)}, %{name};"
    for type_, pieces in (
        ("b16", "h h"), ("b16", "b b"), ("b32", "h h"), ("b32", "b b b b"), ("b32", "r r"), ("b64", "r r"),
        ("b64", "f f"), ("b64", "h h h h"), ("b64", "h h"), ("b64", "r f"), ("b128", "rd rd"), ("b128",
            "r r r r"),
        ("b128", "fd fd"), ("u32", "h h"), ("f32", "h h"), ("b64", "rd rd"), ("b32", "r"), ("u64", "r r"),
        ("b64", "r r r"), ("b64", "_ r"), ("b64", "r _"), ("b32", "h _"), ("f64", "f f"),
    ):  # fmt: skip
        names = ", ".join("_" if p == "_" else f"%{p}{k + 1}" for k, p in enumerate(pieces.split()))
        whole = "%h0" if type_ == "b16" else reg(type_, 0)
        yield f"mov.{type_} {whole}, {{{names}}};"
        yield f"mov.{type_} {{{names}}}, {whole};"
    for type_, name in product(("u64", "b64", "s64", "u32", "b32", "f64", "u16"),
                               ("garr", "carr", "smem", "lmem", "dynamic_smem", "p0", "p2", "callee_void",
                                   "L0", "garr+8", "smem+4")):  # fmt: skip
        yield f"mov.{type_} {reg(type_, 0)}, {name};"
    for type_, value in product(("u16", "s32", "b32", "u64", "f16", "f32", "f64", "pred", "b8", "b128"),
                                ("0", "-1", "1.5", "0f3F800000", "0d3FF0000000000000", "0x7f", "017",
                                    "0b11", "4294967295",
                                 "4294967296", "70000", "'a'", "1 << 4", "(3+4)*2", "-(5)", "~7", "!0",
                                     "3 > 2 ? 1 : 0", "5U", "WARP_SZ", "1e3", "0x1p3")):  # fmt: skip
        yield f"mov.{type_} {reg(type_, 0)}, {value};"


SPACES = (
    "",
    ".global",
    ".shared",
    ".local",
    ".const",
    ".param",
    ".shared::cta",
    ".shared::cluster",
    ".generic",
    ".param::entry",
    ".tex",
)
LOAD_CACHE = ("", ".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".volatile", ".relaxed.gpu", ".acquire.sys",
    ".weak", ".relaxed",
              ".acquire.cta", ".release.gpu", ".relaxed.cluster", ".mmio.relaxed.sys",
                  ".weak.ca")  # fmt: skip
STORE_CACHE = ("", ".wb", ".cg", ".cs", ".wt", ".ca", ".volatile", ".relaxed.gpu", ".release.sys", ".weak",
    ".release.cta",
               ".acquire.gpu", ".relaxed.cluster", ".mmio.relaxed.sys", ".relaxed")  # fmt: skip
ADDRESS = {
    ".shared": "smem", ".local": "lmem", ".const": "carr", ".param": "p2", ".shared::cta": "smem",
        ".shared::cluster": "smem",
    ".global": "garr", ".param::entry": "p2",
}  # fmt: skip


def memory() -> Iterator[str]:
    for space, cache, type_ in product(SPACES, LOAD_CACHE, ("u32", "f64", "b16")):
        yield f"ld{cache}{space}.{type_} {reg(type_, 0)}, [{ADDRESS.get(space, '%rd1')}];"
    for space, cache, type_ in product(SPACES, STORE_CACHE, ("u32", "f64", "b16")):
        where = "q0" if space == ".param" else ADDRESS.get(space, "%rd1")
        yield f"st{cache}{space}.{type_} [{where}], {reg(type_, 0)};"
    for type_ in TYPES:
        yield f"ld.global.{type_} {reg(type_, 0)}, [%rd1];"
        yield f"ld.shared.{type_} {reg(type_, 0)}, [smem+16];"
        yield f"ld.global.nc.{type_} {reg(type_, 0)}, [%rd1];"
        yield f"ldu.global.{type_} {reg(type_, 0)}, [%rd1];"
        yield f"ldu.{type_} {reg(type_, 0)}, [%rd1];"
        yield f"st.{type_} [%rd1], {reg(type_, 0)};"
        yield f"st.local.{type_} [lmem], {reg(type_, 0)};"
        for width in (2, 3, 4, 8):
            names = "{" + ", ".join(reg(type_, k) for k in range(min(width, 4 if type_ == "b128" else 8))) + "}"
            yield f"ld.global.v{width}.{type_} {names}, [%rd1];"
            yield f"st.shared.v{width}.{type_} [smem], {names};"
            if width == 2:
                yield f"ldu.global.v2.{type_} {names}, [%rd1];"
                yield f"ld.const.v2.{type_} {names}, [carr];"
                yield f"ld.param.v2.{type_} {names}, [p2];"
    for nc, cache in product((".nc",), ("", ".ca", ".cg", ".cs", ".cv", ".lu", ".L1::evict_last", ".L1::no_allocate")):
        yield f"ld.global{cache}{nc}.f32 %f0, [%rd1];"
        yield f"ld.global{nc}{cache}.f32 %f0, [%rd1];"
        yield f"ld{cache}.nc.f32 %f0, [%rd1];"
    hints = (".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last",
        ".L1::no_allocate",
             ".L2::64B", ".L2::128B", ".L2::256B", ".L2::32B", ".L1::evict_last.L2::128B",
                 ".L2::evict_last")  # fmt: skip
    for hint, space in product(hints, ("", ".global", ".shared")):
        yield f"ld{space}{hint}.f32 %f0, [{ADDRESS['.shared'] if space == '.shared' else '%rd1'}];"
        yield f"st{space}{hint}.f32 [{ADDRESS['.shared'] if space == '.shared' else '%rd1'}], %f0;"
    yield from ("ld.global.L2::cache_hint.f32 %f0, [%rd1], %rd2;",
        "st.global.L2::cache_hint.f32 [%rd1], %f0, %rd2;",
                "ld.shared.L2::cache_hint.f32 %f0, [smem], %rd2;", "ld.global.f32 %f0, [%rd1], %rd2;",
                "ld.global.unified.f32 %f0, [%rd1].unified;",
                    "ld.global.f32 %f0, [%rd1].unified;")  # fmt: skip
    places = ("[%rd1]", "[%rd1+4]", "[%rd1+-4]", "[%rd1-4]", "[%r1]", "[%r1+8]", "[%f1]", "[%h1]",
        "[%rd1+%rd2]", "[%rd1+%r2]",
              "[64]", "[0]", "[garr]", "[garr+4]", "[garr+%rd1]", "[smem]", "[smem+12]", "[smem+-4]",
                  "[carr+4]", "[lmem+4]", "[p0]",
              "[p1]", "[p2+8]", "[q0]", "[nowhere]", "%rd1", "garr", "[garr+4+4]", "[%rd1+0x10]", "[%p1]",
                  "[%ud1]", "[%sd1]",
              "[%fd1]", "[%u1]", "[garr[4]]", "garr[4]", "[4294967296]", "[%rd1+4294967296]",
                  "[%rd1+2147483647]", "[callee_void]",
              "[dynamic_smem]", "[L0]")  # fmt: skip
    for space, place in product(("", ".global", ".shared", ".const", ".local", ".param"), places):
        yield f"ld{space}.u32 %r0, {place};"
        yield f"st{space}.u32 {place}, %r0;"
    for space, to, type_ in product((".global", ".shared", ".local", ".const", ".param", "", ".shared::cta",
        ".shared::cluster",
                                     ".param::entry"), ("", ".to"), ("u64", "u32", "s64", "b64",
                                         "b32")):  # fmt: skip
        yield f"cvta{to}{space}.{type_} {regs(type_, 2)};"
        if space and not to:
            yield f"cvta{space}.{type_} {reg(type_, 0)}, {ADDRESS.get(space, 'garr')};"
    for space in (
        ".global",
        ".shared",
        ".local",
        ".const",
        ".param",
        "",
        ".shared::cta",
        ".shared::cluster",
        ".param::entry",
    ):
        for source in ("%rd1", "%r1", "%f1", "garr"):
            yield f"isspacep{space} %p0, {source};"
    for space, level in product(("", ".global", ".local", ".shared", ".const"), (".L1", ".L2", "", ".L3",
        ".L2::evict_last",
                                ".L2::evict_normal", ".L2::evict_first")):  # fmt: skip
        yield f"prefetch{space}{level} [%rd1];"
        yield f"prefetch{space}{level} [%rd1+64];"
    yield from ("prefetchu.L1 [%rd1];", "prefetchu.L2 [%rd1];", "prefetch.tensormap [%rd1];",
        "prefetchu.global.L1 [%rd1];",
                "discard.global.L2 [%rd1], 128;", "discard.L2 [%rd1], 128;", "discard.global.L2 [%rd1], 64;",
                "applypriority.global.L2::evict_normal [%rd1], 128;",
                    "applypriority.L2::evict_normal [%rd1], 128;")  # fmt: skip


def conversion() -> Iterator[str]:
    types = "u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64".split()
    other = ["b16", "b32", "f16x2", "bf16x2", "tf32", "pred", "b8", "b64"]
    roundings = ("", ".rn", ".rz", ".rm", ".rp", ".rni", ".rzi", ".rmi", ".rpi", ".rna")
    for dest, source in product(types, types):
        for rounding, suffix in product(roundings, ("", ".ftz", ".sat", ".ftz.sat", ".relu")):
            if suffix in (".ftz.sat", ".relu") and rounding not in ("", ".rn", ".rz", ".rzi"):
                continue
            if "8" in dest + source and rounding not in ("", ".rn", ".rzi"):
                continue
            yield f"cvt{rounding}{suffix}.{dest}.{source} {reg(dest, 0)}, {reg(source, 1)};"
    for dest, source in [*product(types, other), *product(other, types), *product(other, other)]:
        for rounding in ("", ".rn", ".rna"):
            yield f"cvt{rounding}.{dest}.{source} {reg(dest, 0)}, {reg(source, 1)};"
    for dest, rounding, suffix in product(("f16x2", "bf16x2", "f16", "bf16", "tf32", "e4m3x2", "e5m2x2"),
        roundings,
                                          ("", ".relu", ".satfinite", ".sat", ".satfinite.relu",
                                              ".relu.satfinite")):  # fmt: skip
        target = "%h0" if dest[0] == "e" else reg(dest, 0)
        yield f"cvt{rounding}{suffix}.{dest}.f32 {target}, %f1, %f2;"
        yield f"cvt{rounding}{suffix}.{dest}.f32 {target}, %f1;"
    for dest, source, suffix in product(
        ("e4m3x2", "e5m2x2"), ("f16x2", "bf16x2"), ("", ".satfinite", ".satfinite.relu")
    ):
        yield f"cvt.rn{suffix}.{dest}.{source} %h0, %r1;"
        yield f"cvt.rn{suffix}.{source}.{dest} %r0, %h1;"
        yield f"cvt.rn.relu.{source}.{dest} %r0, %h1;"
    for dest, source, accumulator in product(
        ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "u32"), ("s32", "u32", "s16"), ("", ".b32", ".u32")
    ):
        extra = ", %r3" if accumulator else ""
        for sat in ("", ".sat"):
            yield f"cvt.pack{sat}.{dest}.{source}{accumulator} %r0, %r1, %r2{extra};"


SCOPES = ("", ".cta", ".cluster", ".gpu", ".sys", ".gl", ".warp")
ORDERS = ("", ".relaxed", ".acquire", ".release", ".acq_rel", ".sc", ".volatile", ".weak")


def atomics() -> Iterator[str]:
    operations = "add and or xor min max inc dec exch cas sub".split()
    for space, operation, type_ in product(("", ".global", ".shared"), operations, TYPES):
        where = "smem" if space == ".shared" else "%rd9"
        third = f", {reg(type_, 2)}" if operation == "cas" else ""
        yield f"atom{space}.{operation}.{type_} {reg(type_, 0)}, [{where}], {reg(type_, 1)}{third};"
        if operation != "cas" or space == "":
            yield f"red{space}.{operation}.{type_} [{where}], {reg(type_, 1)}{third};"
    for order, scope, space in product(
        ORDERS, SCOPES, ("", ".global", ".shared", ".local", ".const", ".shared::cta", ".shared::cluster")
    ):
        where = "smem" if space.startswith(".shared") else "%rd9"
        yield f"atom{order}{scope}{space}.add.u32 %r0, [{where}], %r1;"
        yield f"red{order}{scope}{space}.add.u32 [{where}], %r1;"
    for type_ in ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "u32"):
        for space, noftz, operation in product(("", ".global", ".shared"), ("", ".noftz"), ("add", "min", "max")):
            yield f"atom{space}.{operation}{noftz}.{type_} {reg(type_, 0)}, [%rd9], {reg(type_, 1)};"
            yield f"red{space}.{operation}{noftz}.{type_} [%rd9], {reg(type_, 1)};"
        for width, operation, noftz in product((2, 4, 8), ("add", "max", "exch"), ("", ".noftz")):
            names = ["{" + ", ".join(reg(type_, base + k) for k in range(width)) + "}" for base in (0, 0)]
            yield f"atom.global.v{width}.{type_}.{operation}{noftz} {names[0]}, [%rd9], {names[1]};"
            yield f"atom.global.{operation}{noftz}.v{width}.{type_} {names[0]}, [%rd9], {names[1]};"
            yield f"red.global.{operation}{noftz}.v{width}.{type_} [%rd9], {names[0]};"
    yield from ("atom.global.add.u32 _, [%rd9], %r1;", "atom.global.cas.b32 _, [%rd9], %r1, %r2;",
        "atom.exch.b32 _, [%rd9], %r1;",
                "atom.add.u32 %r0, [%rd9], 1;", "atom.add.f32 %f0, [%rd9], 1.0;",
                    "atom.add.f32 %f0, [%rd9], 1;",
                "atom.add.u32 %r0, [%rd9+8], %r1;", "atom.add.u32 %r0, [garr+8], %r1;",
                    "atom.add.u32 %r0, %rd9, %r1;",
                "atom.global.add.L2::cache_hint.u32 %r0, [%rd9], %r1, %rd2;", "red.add.u32 [garr], 2;",
                "atom.global.cas.b128 %rq0, [%rd9], %rq1, %rq2;", "atom.global.exch.b128 %rq0, [%rd9], %rq1;",
                "atom.shared.cas.b16 %h0, [smem], %h1, %h2;", "atom.inc.u32 %r0, [%rd9], 100;",
                    "red.async.relaxed.cluster.add.u32 [%r1], %r2;")  # fmt: skip
    for scope in (".cta", ".gl", ".sys", ".gpu", ".cluster", "", ".warp"):
        yield f"membar{scope};"
        for order in ORDERS:
            yield f"fence{order}{scope};"
    yield from ("membar.level;", "fence.proxy.alias;", "fence.proxy.async;", "fence.proxy.async.global;",
        "fence.proxy.async.shared::cta;",
                "membar.proxy.alias;", "fence.mbarrier_init.release.cluster;",
                    "fence.proxy.nothing;")  # fmt: skip


def synchronisation() -> Iterator[str]:
    for opcode, form in product(
        ("bar", "barrier", "barrier.cta", "bar.cta"), (".sync", ".arrive", ".sync.aligned", ".arrive.aligned", "")
    ):
        for operands in ("0", "1, 64", "%r1", "%r1, %r2", "16", "15", "1, 33", "-1", "", "0, 0", "%rd1", "1, 64, %p0"):
            yield f"{opcode}{form} {operands};".replace(" ;", ";")
    for opcode, aligned in product(("bar", "barrier", "barrier.cta"), ("", ".aligned")):
        for operation, dest in product(("popc", "and", "or", "xor", "add"), ("%r0", "%p0")):
            for type_ in ("u32", "pred", "b32"):
                yield f"{opcode}.red.{operation}{aligned}.{type_} {dest}, 0, %p1;"
                yield f"{opcode}.red{aligned}.{operation}.{type_} {dest}, 1, 64, !%p1;"
    yield from (f"bar.warp.sync {m};" for m in ("0xffffffff", "%r1", "-1", "%rd1", "%p0", "0", "1.0"))
    yield from ("bar.warp.sync;", "bar.warp.arrive %r0;", "barrier.cluster.arrive;", "barrier.cluster.wait;",
                "barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire;",
                    "bar.sync 0 1;")  # fmt: skip
    for sync, mode, type_ in product(
        ("", ".sync"), (".up", ".down", ".bfly", ".idx", ""), ("b32", "u32", "f32", "b64", "b16")
    ):
        mask = ", 0xffffffff" if sync else ""
        yield f"shfl{sync}{mode}.{type_} {regs(type_, 2)}, 1, 31{mask};"
        yield f"shfl{sync}{mode}.{type_} {reg(type_, 0)}|%p0, {reg(type_, 1)}, %r2, %r3{', %r4' if sync else ''};"
    yield from ("shfl.sync.idx.b32 %r0, %r1, 40, 31, -1;", "shfl.sync.idx.b32 %r0, %r1, 1, 0x1f1f, -1;",
        "shfl.sync.idx.b32 %f0, %f1, 1, 31, -1;",
                "shfl.sync.idx.b32 %r0, 5, 1, 31, -1;", "shfl.sync.idx.b32 _|%p0, %r1, 1, 31, -1;",
                    "shfl.sync.idx.b32 %r0|_, %r1, 1, 31, -1;",
                "shfl.sync.idx.b32 %r0, %r1, 1, 31;",
                    "shfl.sync.idx.b32 %r0, %r1, 1, 99999, -1;")  # fmt: skip
    for sync, mode in product(("", ".sync"), (".all", ".any", ".uni", ".ballot", "")):
        mask = ", 0xffffffff" if sync else ""
        for dest, type_ in product(("%p0", "%r0"), ("pred", "b32", "u32")):
            yield f"vote{sync}{mode}.{type_} {dest}, %p1{mask};"
            yield f"vote{sync}{mode}.{type_} {dest}, !%p1{mask.replace('0xffffffff', '%r1')};"
    yield from ("vote.sync.all.pred %p0, %r1, -1;", "vote.sync.ballot.b32 %r0, 1, -1;", "vote.sync.all.pred %p0, %p1;")
    for mode, type_, sync in product((".any", ".all", ""), ("b32", "b64", "u32", "b16", "f32"), ("", ".sync")):
        yield f"match{mode}{sync}.{type_} %r0, {reg(type_, 1)}, %r2;"
        yield f"match{mode}{sync}.{type_} %r0|%p0, {reg(type_, 1)}, -1;"
    for operation, type_, sync in product(
        "add min max and or xor popc".split(), ("u32", "s32", "b32", "f32", "u64"), ("", ".sync")
    ):
        yield f"redux{sync}.{operation}.{type_} {regs(type_, 2)}, %r2;"
    yield from (f"activemask.{t} {reg(t, 0)};" for t in ("b32", "u32", "b64", "pred"))
    yield from (f"nanosleep.{t} {v};" for t in ("u32", "b32", "u64") for v in ("%r1", "100", "%rd1", "-1"))
    yield from ("elect.sync %r0|%p0, -1;", "elect.sync _|%p0, %r1;", "elect.sync %p0, -1;",
        "griddepcontrol.wait;", "griddepcontrol.launch_dependents;",
                "nanosleep.u32 %r1, %r2;", "activemask.b32 %r0, %r1;",
                    "setmaxnreg.inc.sync.aligned.u32 96;", "stacksave.u64 %rd0;",
                "stackrestore.u64 %rd0;", "alloca.u64 %rd0, %rd1;", "alloca.u64 %rd0, %rd1, 16;",
                    "stacksave.u32 %r0;")  # fmt: skip


def control() -> Iterator[str]:
    yield from (
        "bra L0;", "bra.uni L0;", "@%p0 bra L1;", "@!%p0 bra.uni L1;", "@%p0 bra nowhere;", "bra %r0;",
            "bra 5;", "bra;", "bra L0, L1;", "bra.all L0;",
        "@%r0 bra L0;", "@!%h0 bra L0;", "@%p0 @%p1 bra L0;", "brx.idx %r0, ts;", "brx.idx.uni %r0, ts;",
            "brx.idx %rd0, ts;", "brx.idx %r0, L0;",
        "brx.idx 1, ts;", "@%p0 brx.idx %r0, ts;", "brx %r0, ts;", "brx.idx %r0;", "ret;", "ret.uni;",
            "@%p0 ret;", "ret %r0;", "exit;", "@%p0 exit;",
        "exit.uni;", "exit 0;", "trap;", "@%p3 trap;", "trap 1;", "brkpt;", "brkpt 1;", "pmevent 3;",
            "pmevent 15;", "pmevent 16;", "pmevent.mask 0xff;",
        "pmevent %r0;", "pmevent.mask 0x1ffff;", "nop;", "halt;", "call callee_void;",
            "call.uni callee_void;", "call callee_void, ();",
        "call (%r0), callee_regs, (%r1, %rd1);", "call.uni (%r0), callee_regs, (%r1, %rd1);",
            "call (%r0), callee_regs, (%r1);",
        "call (%r0), callee_regs, (%r1, %rd1, %r2);", "call (%rd0), callee_regs, (%r1, %rd1);",
            "call callee_regs, (%r1, %rd1);",
        "call (%r0), callee_regs, (1, 2);", "call (%r0), callee_regs, (%rd1, %r1);",
            "call (q0), callee_params, (q1);", "call (q1), callee_params, (q0);",
        "call (%f0), callee_regs, (%f1, %fd1);", "call (%u0), callee_regs, (%s1, %ud1);",
            "call (_), callee_regs, (%r1, %rd1);",
        "call (%r0), %rd3, (%r1, %rd1), proto;", "call (%r0), %rd3, (%r1, %rd1);",
            "call (%r0), %r3, (%r1, %rd1), proto;", "call %rd3, proto;",
        "call (%r0), %rd3, (%r1), proto;", "call (%r0), nowhere, (%r1);", "call probes;",
            "@%p0 call callee_void;", "@%p0 call (%r0), callee_regs, (%r1, 3);",
        "add.s32 %r0, %r1, %r2,;", "add.s32, %r0, %r1, %r2;", "add.s32 %r0, %r1, , %r2;", "L5:",
        "{ add.s32 %r0, %r1, %r2; }", "{ .reg .b32 %r77; mov.b32 %r77, 1; }",
            "{ .reg .b32 %r0; mov.b32 %r0, 1; }", ".reg .b32 extra<3>;",
        ".reg .b32 x, y;", ".reg .b33 x;", ".reg .b32 %r1;", ".reg .v2.b32 w;", ".reg .v4 .f32 w4;",
            ".local .b32 spill[4];", ".shared .align 8 .b8 inner[16];",
        ".global .u32 g = 3;", ".pragma \"nounroll\";", "@%p9 add.s32 %r0, %r1, 1;",
            "@!%p7 add.s32 %r0, %r1, 1;", "@ %p0 add.s32 %r0, %r1, 1;",
        "@%p0 mov.pred %p1, %p2;", "@!%p0 setp.eq.s32 %p1, %r1, 0;", "mov.pred %p0, 1;", "mov.pred %p0, 0;",
            "mov.pred %p0, 2;", "mov.pred %p0, !%p1;",
        "not.pred %p0, %p1;", "and.pred %p0, %p1, !%p2;", "and.pred %p0, %p1, 1;",
            "xor.pred %p0, %p1, %r2;", "add.pred %p0, %p1, %p2;",
    )  # fmt: skip


def immediates() -> Iterator[str]:
    values = ("0", "1", "-1", "65535", "65536", "-32768", "-32769", "0x7fffffff", "4294967295",
        "4294967296", "-2147483649", "0xffffffffffffffff",
              "18446744073709551616", "0f3F800000", "0d3FF0000000000000", "1.5", "1e10", "0f3F80", "3U",
                  "0x10U", "1.0f", "'x'", "5+3", "5 * (2 - 7)",
              "0.5 + 0.5", "-0.0", "1 / 0", "7 % 3", "sizeof", "-0f3F800000", "!1", "~0", "(.s64)3",
                  "(.u64) 0xff", "1 == 1", "1 ? 2 : 3",
              "+3", "08", "0b102", "0x", "1.", ".5", "WARP_SZ", "%tid.x", "%clock64", "garr", "p0", "smem",
                  "mask(garr)", "0xFF(garr)", "generic(garr)")  # fmt: skip
    for type_, value in product(
        ("u16", "s16", "u32", "s32", "b32", "u64", "s64", "f16", "bf16", "f32", "f64", "f16x2"), values
    ):
        opcode = "and" if type_[0] == "b" and type_ != "bf16" else "add"
        yield f"{opcode}.{type_} {regs(type_, 2)}, {value};"
    for value in ("0", "31", "32", "-1", "64", "%r2", "1.0"):
        yield f"shl.b32 %r0, %r1, {value};"
        yield f"shf.l.wrap.b32 %r0, %r1, %r2, {value};"
        yield f"bfe.u32 %r0, %r1, {value}, 4;"
        yield f"bfi.b32 %r0, %r1, %r2, {value}, 8;"
    yield from ("st.global.u32 [%rd1], 5;", "st.global.f32 [%rd1], 1.0;", "st.global.f32 [%rd1], 1;",
        "st.global.v2.u32 [%rd1], {1, 2};", "st.global.u8 [%rd1], 300;",
                "ld.global.v2.u32 {%r0, _}, [%rd1];", "ld.global.v2.u32 {_, _}, [%rd1];",
                    "ld.global.v2.u32 {%r0, %r0}, [%rd1];", "ld.global.v4.f32 {%f0, _, _, %f3}, [%rd1];",
                "ld.global.u32 _, [%rd1];", "mov.u32 _, %r1;", "add.s32 _, %r1, %r2;",
                    "add.s32 5, %r1, %r2;", "add.s32 %tid.x, %r1, %r2;", "add.s32 %r0, _, %r2;",
                "add.s32 %r0, -%r1, %r2;", "add.s32 %r0, !%r1, %r2;", "add.s32 %r0, %r1, [%rd1];",
                    "add.s32 %r0, 3, 4;", "add.f32 %f0, 1.0, 2.0;", "st.global.v2.u32 [%rd1], {%r0, 2};",
                "mov.b64 %rd0, {1, 2};", "mov.b32 %r0, {%h1, 5};", "selp.b32 %r0, 1, 0, %p0;",
                    "selp.f32 %f0, 1.0, 0f00000000, %p0;", "selp.b32 %r0, 1, 0, 1;")  # fmt: skip


REGISTER_KINDS = "p h uh sh hf b ub r u s f hx rd ud sd fd rq".split()


def register_classes() -> Iterator[str]:
    """Which declared register types an instruction type takes, operand by operand (table 28 and 29)."""
    for kind in REGISTER_KINDS:
        for type_ in TYPES:
            if type_ in ("pred", "tf32", "u16x2", "s16x2", "b128"):
                continue
            own = reg(type_, 1)
            if type_ in ("u8", "s8", "b8"):
                yield f"ld.global.{type_} %{kind}0, [%rd1];"
                yield f"st.global.{type_} [%rd1], %{kind}0;"
                yield f"cvt.{type_}.s32 %{kind}0, %r1;"
                continue
            opcode = ("and" if type_[0] == "b" and type_[:2] != "bf" else "add") + "."
            opcode = "fma.rn." if type_.startswith("bf") else opcode
            extra = f", {own}" if opcode == "fma.rn." else ""
            yield f"{opcode}{type_} %{kind}0, {own}, {own}{extra};"
            yield f"{opcode}{type_} {reg(type_, 0)}, %{kind}1, {own}{extra};"
            yield f"mov.{type_} %{kind}0, {own};"
            yield f"ld.global.{type_} %{kind}0, [%rd1];"
            yield f"st.global.{type_} [%rd1], %{kind}0;"
            yield f"selp.{type_} %{kind}0, {own}, {own}, %p1;"
            yield f"setp.eq.{type_} %p0, %{kind}1, {own};"
            rounding = {"f": ".rn", "b": ".rn"}.get(type_[0], "")
            yield f"cvt{rounding}.{type_}.s32 %{kind}0, %r1;"
            back = ".rzi" if type_[0] == "f" or type_ == "bf16" else ""
            yield f"cvt{back}.s32.{type_} %r0, %{kind}1;"
        for form in ("shl.b32 %r0, %r1, {};", "shfl.sync.idx.b32 %r0, {}, 0, 31, -1;", "popc.b32 {}, %r1;",
            "popc.b64 {}, %rd1;", "mul.wide.s32 {}, %r1, %r2;",
                     "mul.wide.u16 {}, %h1, %h2;", "atom.add.u32 {}, [%rd1], %r1;",
                         "atom.add.f32 %f0, [%rd1], {};", "vote.sync.ballot.b32 {}, %p1, -1;",
                     "mov.u32 {}, %tid.x;", "mov.b32 {{{}, %h1}}, %r1;", "bar.sync {};",
                         "set.eq.u32.f32 {}, %f1, %f2;", "set.eq.f32.f32 {}, %f1, %f2;",
                     "slct.b32.s32 %r0, %r1, %r2, {};", "cvta.to.global.u64 {}, %rd1;",
                         "cvta.global.u64 %rd0, {};", "ld.shared.u32 %r0, [{}];",
                     "bfe.u64 %rd0, %rd1, {}, %r2;", "prmt.b32 %r0, %r1, %r2, {};",
                         "lop3.b32 %r0, {}, %r2, %r3, 3;", "isspacep.shared %p0, {};",
                     "redux.sync.add.s32 {}, %r1, %r2;", "match.any.sync.b32 %r0, {}, %r2;",
                         "testp.finite.f32 %p0, {};", "dp4a.s32.s32 %r0, {}, %r2, %r3;"):  # fmt: skip
            yield form.format(f"%{kind}0")


def video() -> Iterator[str]:
    """Scalar and packed video instructions: types, second operations, selectors of every kind, signs."""
    pairs = ("u32", "s32")
    seconds = ("", ".sat", ".add", ".min", ".max", ".sat.add", ".sat.min", ".add.sat", ".add.add", ".min.max", ".shr7")
    for opcode in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"):
        for dest, a, b in product(pairs, repeat=3):
            yield f"{opcode}.{dest}.{a}.{b} %r0, %r1, %r2;"
        for second, extra in product(seconds, ("", ", %r3")):
            yield f"{opcode}.s32.u32.s32{second} %r0, %r1.b3, %r2.h1{extra};"
            yield f"{opcode}.s32.u32.s32{second} %r0.h0, %r1, %r2{extra};"
    for opcode, mode, b, second in product(("vshl", "vshr"), ("", ".clamp", ".wrap"), pairs, ("", ".sat", ".max")):
        yield f"{opcode}.s32.u32.{b}{mode}{second} %r0, %r1, %r2.b1{', %r3' if second == '.max' else ''};"
        yield f"{opcode}.u32.s32.{b}{second}{mode} %r0.b2, %r1.h0, %r2, %r3;"
    for compare, second, extra in product("eq ne lt le gt ge lo hs equ".split(), ("", ".add", ".min", ".sat"),
                                          ("", ", %r3")):  # fmt: skip
        yield f"vset.s32.u32.{compare}{second} %r0, %r1.h1, %r2{extra};"
        yield f"vset2.u32.u32.{compare}{second} %r0.h1, %r1.h30, %r2{extra};"
        yield f"vset4.u32.s32.{compare}{second} %r0.b2, %r1.b4567, %r2{extra};"
    signs = product(("", "-"), repeat=3)
    for (first, second, third), words in product(signs, ("", ".po", ".sat", ".po.shr7", ".sat.shr15", ".shr8")):
        yield f"vmad.s32.u32.s32{words} %r0, {first}%r1, {second}%r2, {third}%r3;"
        yield f"vmad.u32.u32.u32{words} %r0, {first}%r1.b1, {second}%r2.h0, {third}%r3;"
    for fields, opcode in product("24", ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")):
        for dest, a, b in product(pairs, repeat=3):
            yield f"{opcode}{fields}.{dest}.{a}.{b} %r0, %r1, %r2, %r3;"
        for second in ("", ".sat", ".add", ".min", ".sat.add"):
            yield f"{opcode}{fields}.u32.s32.u32{second} %r0.{'h0' if fields == '2' else 'b20'}, %r1, %r2, %r3;"
            yield f"{opcode}{fields}.s32.s32.s32{second} %r0, %r1, %r2;"
    selectors = "b0 b3 b4 h0 h1 h2 b10 h10 h01 h32 h33 h43 b210 b3210 b0123 b7777 b8000 b320 x".split()
    for opcode, selector, place in product(("vadd", "vmad", "vadd2", "vadd4"), selectors, range(4)):
        operands = [f"%r{k}" + (f".{selector}" if k == place else "") for k in range(4)]
        yield f"{opcode}.s32.s32.s32 {', '.join(operands)};"
    for opcode, place, wrong in product(("vadd", "vmad", "vadd4"), range(4), ("5", "-5", "%f4", "%rd4", "%h4", "%hx4",
                                        "%u4", "_", "-%r4", "%tid.x", "1.0", "%rd4.b0", "garr")):  # fmt: skip
        operands = [wrong if k == place else f"%r{k}" for k in range(4)]
        yield f"{opcode}.s32.s32.s32 {', '.join(operands)};"


def policies() -> Iterator[str]:
    priorities = ("evict_last", "evict_normal", "evict_first", "evict_unchanged", "no_allocate")
    for primary, secondary in product(priorities, ("", *priorities)):
        both = f".L2::{primary}" + (f".L2::{secondary}" if secondary else "")
        yield f"createpolicy.fractional{both}.b64 %rd0, 0.5;"
        yield f"createpolicy.range.global{both}.b64 %rd0, [%rd1], %r1, %r2;"
    for fraction in ("", ", 1.0", ", 0.0", ", 1.5", ", %f1", ", 0f3F800000", ", 1", ", %fd1"):
        yield f"createpolicy.fractional.L2::evict_last.b64 %rd0{fraction};"
    for space, sizes in product(("", ".global", ".shared"), ("4, 8", "8, 4", "%r1, 8", "8", "%rd1, %rd2")):
        yield f"createpolicy.range{space}.L2::evict_last.b64 %rd0, [%rd1+16], {sizes};"
    yield from ("createpolicy.cvt.L2.b64 %rd0, %rd1;", "createpolicy.cvt.L2.b64 %rd0, 7;",
                "createpolicy.cvt.b64 %rd0, %rd1;", "createpolicy.cvt.L2.b32 %r0, %r1;",
                "createpolicy.b64 %rd0, %rd1;")  # fmt: skip


def asynchronous() -> Iterator[str]:
    """Copies to shared memory that are waited for, and the barriers in memory that count them."""
    spaces = (".shared.global", ".shared::cta.global", ".global.shared", ".shared", "", ".shared::cluster.global")
    for cache, space, size in product((".ca", ".cg", ".cs", ""), spaces, ("4", "8", "16", "12", "%r2", "")):
        yield f"cp.async{cache}{space} [%r1], [%rd1]{', ' if size else ''}{size};"
    for cache, hints in product((".ca", ".cg"), ("", ".L2::cache_hint", ".L2::128B", ".L2::cache_hint.L2::64B",
                                ".L2::256B.L2::cache_hint", ".L2::32B", ".L1::no_allocate")):  # fmt: skip
        for last in ("", ", %r2", ", 8", ", 0", ", 16", ", 17", ", %p1", ", !%p1", ", %rd2", ", %r2, %rd2",
                     ", %p1, %rd2", ", %r2, %p1", ", %rd2, %r2", ", %h1", ", -1", ", 8, 9"):  # fmt: skip
            yield f"cp.async{cache}.shared.global{hints} [smem+16], [%rd1+4], 16{last};"
    for to, source in product(("%r1", "%rd1", "smem", "smem+4", "garr", "16", "%h1", "lmem", "%u1", "%f1"),
                              ("%rd1", "%r1", "garr+4", "smem", "carr", "p0", "16", "%rd1+-4")):  # fmt: skip
        yield f"cp.async.ca.shared.global [{to}], [{source}], 4;"
    for words in ("commit_group;", "wait_group 0;", "wait_group 3;", "wait_group -1;", "wait_group %r1;", "wait_group;",
                  "wait_all;", "wait_all 0;", "commit_group 1;", "wait_group 1000000;", "commit_group.b64;",
                  "wait_group.sync 0;", "wait_all.aligned;", "mbarrier.arrive.b64 [%r1], 1;"):  # fmt: skip
        yield f"cp.async.{words}"
    places = ("", ".shared", ".shared::cta", ".global", ".shared::cluster")
    for noinc, space, kind, place in product(("", ".noinc"), places, (".b64", "", ".b32", ".u64"),
                                             ("%r1", "%rd1", "smem")):  # fmt: skip
        yield f"cp.async.mbarrier.arrive{noinc}{space}{kind} [{place}];"
    places = ("", ".shared", ".shared::cta", ".shared::cluster", ".global")
    for space, place, count in product(places, ("%r1", "%rd1", "smem", "garr", "smem+8"), ("%r2", "1", "0", "1048575",
                                       "1048576", "-1", "%rd2", "")):  # fmt: skip
        yield f"mbarrier.init{space}.b64 [{place}]{', ' if count else ''}{count};"
    for what, place in product(("inval.b64", "inval.shared.b64", "inval.shared::cta.b64", "inval", "inval.u64",
                                "inval.global.b64"), ("%r1", "%rd1", "smem", "smem], [smem")):  # fmt: skip
        yield f"mbarrier.{what} [{place}];"
    orders = ("", ".release.cta", ".relaxed.cta", ".acquire.cta", ".release.cluster", ".relaxed.cluster", ".release",
              ".cta", ".release.gpu", ".acq_rel.cta", ".acquire.cluster", ".acquire")  # fmt: skip
    for order, space, name in product(orders, places[:4], ("expect_tx", "complete_tx")):
        yield f"mbarrier.{name}{order}{space}.b64 [%r1], %r2;"
    for name, count in product(("expect_tx", "complete_tx"), ("16", "-1", "1048576", "%rd1", "%p1", "")):
        yield f"mbarrier.{name}.relaxed.cta.shared::cta.b64 [smem]{', ' if count else ''}{count};"
    for name, order, space in product(("arrive", "arrive_drop"), orders, places):
        for what, state, count in (("", "%rd0", ""), ("", "%rd0", ", %r2"), ("", "_", ""), ("", "_", ", 1"),
                                   (".expect_tx", "%rd0", ", %r2"), (".expect_tx", "_", ", 64"),
                                   (".noComplete", "%rd0", ", %r2"), (".noComplete", "_", ", %r2")):  # fmt: skip
            yield f"mbarrier.{name}{what}{order}{space}.b64 {state}, [%r1]{count};"
    for state, place, count in product(("%rd0", "%r0", "%ud0", "%fd0", "%p0"), ("%r1", "%rd1", "smem", "garr"),
                                       ("", ", 1", ", 0", ", 1048576", ", -1", ", %rd1", ", %r1, %r2")):  # fmt: skip
        yield f"mbarrier.arrive.shared.b64 {state}, [{place}]{count};"
    for form in (
        "arrive.noComplete.b64 %rd0, [%r1];",
        "arrive.expect_tx.b64 %rd0, [%r1];",
        "arrive.b32 %r0, [%r1];",
        "arrive %rd0, [%r1];",
        "arrive.b64 [%r1];",
        "arrive.noComplete.shared.b64 %rd0, [%r1], 0;",
        "arrive.noComplete.expect_tx.b64 %rd0, [%r1], 1;",
        "arrive.shared.noComplete.b64 %rd0, [%r1], 1;",
    ):
        yield f"mbarrier.{form}"
    for name, order, space in product(("test_wait", "try_wait"), orders, places):
        for what, state in (("", "%rd2"), (".parity", "%r2")):
            yield f"mbarrier.{name}{what}{order}{space}.b64 %p0, [%r1], {state};"
            yield f"mbarrier.{name}{what}{order}{space}.b64 %p0, [%r1], {state}, %r3;"
    for name, what in product(("test_wait", "try_wait"), ("", ".parity")):
        for target, state in product(("%p0", "%r0", "_", "%p0|%p1"), ("%rd2", "%r2", "0", "1", "2", "%p2", "%ud1")):
            yield f"mbarrier.{name}{what}.shared.b64 {target}, [smem], {state};"
            yield f"mbarrier.{name}.shared{what}.b64 {target}, [smem], {state}, 1000;"
    for form in ("%r0, %rd1", "%rd0, %rd1", "%r0, %r1", "%u0, %ud1", "%r0, 5", "_, %rd1", "%r0, [%rd1]"):
        yield f"mbarrier.pending_count.b64 {form};"
        yield f"mbarrier.pending_count.shared.b64 {form};"


FAMILIES: tuple[Callable[[], Iterator[str]], ...] = (
    integer_arithmetic,
    float_arithmetic,
    comparison,
    logic,
    moves,
    memory,
    conversion,
    atomics,
    synchronisation,
    control,
    immediates,
    register_classes,
    video,
    policies,
    asynchronous,
)


def first_round() -> Iterator[str]:
    """Every generated probe, family by family; duplicates are possible."""
    for family in FAMILIES:
        yield from family()


def second_round(legal: list[str], chance: random.Random) -> Iterator[str]:
    """Damages legal probes: operands dropped, added, swapped for another class; modifiers doubled, swapped, dropped."""
    by_opcode: dict[str, list[str]] = {}
    for probe in legal:
        by_opcode.setdefault(re.split(r"[.\s;]", probe.lstrip("@!%p01 "), maxsplit=1)[0], []).append(probe)
    for opcode in sorted(by_opcode):
        if not opcode.isalnum() or opcode[0].isupper():
            continue
        for probe in chance.sample(by_opcode[opcode], min(12, len(by_opcode[opcode]))):
            head, _, rest = probe.rstrip(";").partition(" ")
            if not rest or probe.startswith(("@", "{", ".")):
                continue
            operands = [part.strip() for part in re.split(r",(?![^{(\[]*[})\]])", rest)]
            if len(operands) > 1:
                yield f"{head} {', '.join(operands[:-1])};"
                yield f"{head} {', '.join(operands[1:])};"
                yield f"{head} {', '.join([operands[1], operands[0], *operands[2:]])};"
            yield f"{head} {rest}, {operands[-1]};"
            place = chance.randrange(len(operands))
            for wrong in (f"%{chance.choice(REGISTER_KINDS)}2", "%undefined", "7", "1.25", "[%rd3]", "_"):
                yield f"{head} {', '.join([*operands[:place], wrong, *operands[place + 1 :]])};"
            words = head.split(".")
            if len(words) > 2:
                first = chance.randrange(1, len(words) - 1)
                swapped = [*words[:first], words[first + 1], words[first], *words[first + 2 :]]
                yield f"{'.'.join(swapped)} {rest};"
                yield f"{'.'.join(words[:first] + words[first + 1 :])} {rest};"
                yield f"{'.'.join([*words[: first + 1], *words[first:]])} {rest};"
            yield f"{head}.b32 {rest};"
            yield f"{words[0]}.bogus.{'.'.join(words[1:])} {rest};"
            yield f"@%p6 {probe}"
