"""One instruction over arrays: as it is, expanded, and expanded with estimates as bad as the manual allows.

The estimates of ``rcp.approx`` and ``rsqrt.approx`` are the only inexact things in a sequence; ``worst`` replaces them
by functions, run on the `cpu` device, that return the ends of the interval of allowed results and what lies between.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np

import drawloom
from drawloom.ptx import Module, parse, verify
from drawloom.sass.expand import expand

HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"
NUMPY = {"u16": "u2", "s16": "u2", "u32": "u4", "s32": "u4", "u64": "u8", "s64": "u8", "f32": "u4", "f64": "u8"}
NUMPY |= {"b32": "u4", "b16": "u2", "b64": "u8"}


def kernel(opcode: str, types: list[str], literal: str | None = None) -> str:
    """``out[i] = opcode(a[i], b[i] ...)``; ``literal`` stands for the last operand."""
    sources = types[1:] if literal is None else types[1:-1]
    params = "".join([f", .param .u64 p{n}" for n in range(len(sources))])
    loads = "".join(
        [
            f"ld.param.u64 q, [p{n}]; mad.wide.u32 q, i, {size(t)}, q; ld.global.{plain(t)} x{n}, [q];\n"
            for n, t in enumerate(sources)
        ]
    )
    registers = "".join([f".reg .{t} x{n}; " for n, t in enumerate(sources)])
    operands = [f"x{n}" for n in range(len(sources))] + ([] if literal is None else [literal])
    return f"""{HEADER}
.visible .entry k(.param .u32 n, .param .u64 out{params})
{{
.reg .u32 i, n1, t, c; .reg .u64 q; .reg .pred p; .reg .{types[0]} y; {registers}
mov.u32 i, %tid.x; mov.u32 t, %ctaid.x; mov.u32 c, %ntid.x; mad.lo.u32 i, t, c, i;
ld.param.u32 n1, [n]; setp.ge.u32 p, i, n1; @p exit;
{loads}
{opcode} y, {", ".join(operands)};
ld.param.u64 q, [out]; mad.wide.u32 q, i, {size(types[0])}, q; st.global.{plain(types[0])} [q], y;
ret;
}}
"""


def size(type: str) -> int:
    return int(NUMPY[type][1:])


def plain(type: str) -> str:
    return f"b{8 * size(type)}"


def expanded(text: str, target: int = 90) -> Module:
    """The expanded module, which has to be legal PTX."""
    module = parse(text)
    verify(module)
    out = expand(module, target)
    verify(out)
    return out


@cache
def loaded(text: str) -> drawloom.Module:
    return drawloom.load(text, device="cpu")


def compute(text: str, type: str, *arrays: np.ndarray) -> np.ndarray:
    """Run ``k`` on the cpu device; arrays are bit patterns."""
    count = len(arrays[0])
    out = np.zeros(count, NUMPY[type])
    if count:
        loaded(text)["k"][(count + 255) // 256, 256](count, out, *arrays)
    return out


#: How bad the estimates are: at the lower or upper end of the allowed interval, the nearest below or above the true
#: value, or (where that is a number of the format) one unit beside it.
MODES = ("low", "high", "below", "above")

_WORST = """
.func (.reg .f32 y) worst_rcp_f32(.reg .f32 x)
{
    .reg .f32 z, lo, hi; .reg .b32 i, e, r; .reg .pred p, q;
    rcp.rn.ftz.f32 z, x;
    rcp.rm.f32 lo, x; rcp.rp.f32 hi, x;
    mov.b32 i, z; bfe.u32 e, i, 23, 8; sub.u32 e, e, 2; setp.ge.u32 p, e, 251;
    mov.f32 y, z;
    @p bra DONE;
    // one unit is allowed: the neighbours, and where the reciprocal is exact, those beside it
    setp.eq.f32 q, lo, hi;
    mov.f32 y, RCP_SIDE;
    mov.b32 r, y;
    @q add.s32 r, r, RCP_STEP;
    mov.b32 y, r;
DONE:
    ret;
}
.func (.reg .f32 y) worst_rsqrt_f32(.reg .f32 x)
{
    .reg .f32 z; .reg .b32 i, e, r; .reg .pred p, q; .reg .f64 w, t, u, v; .reg .b32 k;
    rsqrt.approx.ftz.f32 z, x;
    mov.f32 y, z;
    mov.b32 i, z; bfe.u32 e, i, 23, 8; sub.u32 e, e, 2; setp.ge.u32 p, e, 251;
    @p bra DONE;
    cvt.f64.f32 w, x; sqrt.rn.f64 t, w; rcp.rn.f64 t, t;
    mul.f64 u, t, RSQRT_END;
    cvt.RSQRT_ROUNDING.f32.f64 y, u;
DONE:
    ret;
}
.func (.reg .f64 y) worst_high(.reg .f64 t, .reg .f64 end)
{
    .reg .f64 u; .reg .b32 lo, hi; .reg .pred p;
    mul.f64 u, t, end;
    mov.b64 {lo, hi}, u;
    setp.ne.s32 p, lo, 0;
    @p add.s32 hi, hi, HIGH_STEP;
    mov.b64 y, {0, hi};
    ret;
}
.func (.reg .f64 y) worst_rcp_f64(.reg .f64 x)
{
    .reg .f64 z; .reg .b32 i, e; .reg .pred p; .reg .f64 t;
    rcp.approx.ftz.f64 z, x;
    mov.f64 y, z;
    mov.b64 {_, i}, z; bfe.u32 e, i, 20, 11; sub.u32 e, e, 2; setp.ge.u32 p, e, 2043;
    @p bra DONE;
    rcp.rn.f64 t, x;
    call (y), worst_high, (t, RCP64_END);
DONE:
    ret;
}
.func (.reg .f64 y) worst_rsqrt_f64(.reg .f64 x)
{
    .reg .f64 z; .reg .b32 i, e; .reg .pred p; .reg .f64 t;
    rsqrt.approx.ftz.f64 z, x;
    mov.f64 y, z;
    mov.b64 {_, i}, z; bfe.u32 e, i, 20, 11; sub.u32 e, e, 2; setp.ge.u32 p, e, 2043;
    @p bra DONE;
    sqrt.rn.f64 t, x; rcp.rn.f64 t, t;
    call (y), worst_high, (t, RSQRT64_END);
DONE:
    ret;
}
"""
_PRIMITIVE = re.compile(r"\b(rcp|rsqrt)\.approx\.ftz\.(f32|f64) ([\w$%]+), ([\w$%]+);")


def worst(module: Module, mode: str) -> str:
    """The text of an expanded module with estimates of ``mode``.

    Bounds: rcp f32 1 unit, rsqrt f32 2**-22.9, rcp f64 2**-20, rsqrt f64 2**-19 (``drawloom.reference.approx``).
    """
    sign = -1 if mode in ("low", "below") else 1
    ends = mode in ("low", "high")

    def literal(relative: float) -> str:
        return f"0d{np.float64(1 + sign * relative).view('u8'):016X}" if ends else "0d3FF0000000000000"

    functions = _WORST
    for word, value in {
        "RCP_SIDE": "lo" if sign < 0 else "hi",
        "RCP_STEP": str(sign if ends else 0),
        "RSQRT_END": literal(2**-22.9),
        # the ends are inside of the interval: rounded inwards; the neighbours outwards
        "RSQRT_ROUNDING": ("rp" if sign < 0 else "rm") if ends else ("rm" if sign < 0 else "rp"),
        "HIGH_STEP": str(int(sign < 0) if ends else int(sign > 0)),
        "RCP64_END": literal(2**-20),
        "RSQRT64_END": literal(2**-19),
    }.items():
        functions = re.sub(rf"\b{word}\b", value, functions)
    text = str(module)
    head, body = text.split(".address_size 64", 1)
    body, count = _PRIMITIVE.subn(r"call (\3), worst_\1_\2, (\4);", body)
    assert count
    return f"{head}.address_size 64\n{functions}\n{body}"
