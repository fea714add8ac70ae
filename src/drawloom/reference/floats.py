"""Floating-point arithmetic on bit patterns (PTX ISA 9.0 sections 9.7.3 to 9.7.5): exact, then rounded once.

Every function takes and returns bit patterns of one ``Format``. ``.ftz``, ``.sat``, ``.relu`` and packed types are
wrapped around them by ``finish`` and ``per_lane``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type
from drawloom.reference.formats import RM, RN, Format, format_of

#: Values are bit patterns; a function of one to four of them.
Semantics = Callable[..., int]


def add(f: Format, a: int, b: int, mode: str = RN) -> int:
    """``a + b``."""
    return fma(f, a, f.one, b, mode)


def sub(f: Format, a: int, b: int, mode: str = RN) -> int:
    """``a - b``; a NaN stays a NaN."""
    return fma(f, a, f.one, b ^ f.sign_bit, mode)


def fma(f: Format, a: int, b: int, c: int, mode: str = RN) -> int:
    """``a * b + c`` with one rounding."""
    ma, mb, mc = a & f.magnitude_mask, b & f.magnitude_mask, c & f.magnitude_mask
    if ma >= f.infinity or mb >= f.infinity or mc >= f.infinity:
        return _fma_special(f, a, b, c)
    sa, xa, ea = f.unpack(a)
    sb, xb, eb = f.unpack(b)
    sc, xc, ec = f.unpack(c)
    sp, xp, ep = sa ^ sb, xa * xb, ea + eb
    exponent = ep if ep < ec else ec
    product = xp << ep - exponent
    addend = xc << ec - exponent
    total = (-product if sp else product) + (-addend if sc else addend)
    if total:
        return f.round(1 if total < 0 else 0, abs(total), exponent, mode)
    # IEEE 754 section 6.3: an exact zero sum of opposite signs is +0, or -0 when rounding down.
    if sp == sc and xp == 0 and xc == 0:
        return f.sign_bit if sp else 0
    return f.sign_bit if mode == RM else 0


def _fma_special(f: Format, a: int, b: int, c: int) -> int:
    ma, mb, mc = a & f.magnitude_mask, b & f.magnitude_mask, c & f.magnitude_mask
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
        return f.nan
    product_sign = (a ^ b) & f.sign_bit
    if ma == f.infinity or mb == f.infinity:
        if ma == 0 or mb == 0 or (mc == f.infinity and product_sign != c & f.sign_bit):
            return f.nan
        return product_sign | f.infinity
    return c


def mul(f: Format, a: int, b: int, mode: str = RN) -> int:
    """``a * b``."""
    ma, mb = a & f.magnitude_mask, b & f.magnitude_mask
    sign = (a ^ b) & f.sign_bit
    if ma >= f.infinity or mb >= f.infinity:
        if f.is_nan(a) or f.is_nan(b) or ma == 0 or mb == 0:
            return f.nan
        return sign | f.infinity
    _, xa, ea = f.unpack(a)
    _, xb, eb = f.unpack(b)
    return f.round(1 if sign else 0, xa * xb, ea + eb, mode)


def div(f: Format, a: int, b: int, mode: str = RN) -> int:
    """``a / b``."""
    ma, mb = a & f.magnitude_mask, b & f.magnitude_mask
    sign = (a ^ b) & f.sign_bit
    if f.is_nan(a) or f.is_nan(b) or (ma == mb and ma in (0, f.infinity)):
        return f.nan
    if ma == f.infinity or mb == 0:
        return sign | f.infinity
    if ma == 0 or mb == f.infinity:
        return sign
    _, xa, ea = f.unpack(a)
    _, xb, eb = f.unpack(b)
    # Enough quotient bits to round from, and a last bit that says whether anything was cut off.
    scale = f.fraction_bits + 3 + xb.bit_length() - xa.bit_length()
    scale = max(scale, 0)
    quotient, remainder = divmod(xa << scale, xb)
    return f.round(1 if sign else 0, quotient << 1 | (remainder != 0), ea - eb - scale - 1, mode)


def rcp(f: Format, a: int, mode: str = RN) -> int:
    """``1 / a``."""
    return div(f, f.one, a, mode)


def sqrt(f: Format, a: int, mode: str = RN) -> int:
    """The square root; of -0 it is -0, of a negative number NaN."""
    if f.is_nan(a):
        return f.nan
    if a & f.magnitude_mask == 0:
        return a
    if a & f.sign_bit:
        return f.nan
    if a == f.infinity:
        return a
    _, x, e = f.unpack(a)
    scale = 2 * (f.fraction_bits + 3)
    if (e - scale) & 1:
        scale += 1
    x <<= scale
    root = isqrt(x)
    return f.round(0, root << 1 | (root * root != x), (e - scale) // 2 - 1, mode)


def rsqrt(f: Format, a: int, mode: str = RN) -> int:
    """``1 / sqrt(a)``, rounded once; infinite with the sign of a zero."""
    if f.is_nan(a):
        return f.nan
    if a & f.magnitude_mask == 0:
        return a | f.infinity
    if a & f.sign_bit:
        return f.nan
    if a == f.infinity:
        return 0
    _, x, e = f.unpack(a)
    if e & 1:
        x, e = x << 1, e - 1
    # 1/sqrt(x) = sqrt(2**(2k) / x) / 2**k; the integer root of the integer quotient is the floor of the true one.
    k = f.fraction_bits + 4 + x.bit_length()
    quotient, remainder = divmod(1 << 2 * k, x)
    root = isqrt(quotient)
    inexact = remainder != 0 or root * root != quotient
    return f.round(0, root << 1 | inexact, -k - e // 2 - 1, mode)


def is_less(f: Format, a: int, b: int) -> bool:
    """``a < b`` of two patterns that are no NaNs, with -0 below +0."""
    return _order(f, a) < _order(f, b)


def _order(f: Format, a: int) -> int:
    magnitude = a & f.magnitude_mask
    return -1 - magnitude if a & f.sign_bit else magnitude


def minimum(f: Format, a: int, b: int, propagate_nan: bool = False) -> int:
    """The smaller (-0 is below +0); a NaN loses against a number unless ``propagate_nan`` (``.NaN``)."""
    return _extremum(f, a, b, propagate_nan, True)


def maximum(f: Format, a: int, b: int, propagate_nan: bool = False) -> int:
    """The larger (+0 is above -0); a NaN loses against a number unless ``propagate_nan`` (``.NaN``)."""
    return _extremum(f, a, b, propagate_nan, False)


def _extremum(f: Format, a: int, b: int, propagate_nan: bool, smaller: bool) -> int:
    if f.is_nan(a) or f.is_nan(b):
        if propagate_nan or (f.is_nan(a) and f.is_nan(b)):
            return f.nan
        return b if f.is_nan(a) else a
    return a if is_less(f, a, b) == smaller else b


def saturate(f: Format, a: int) -> int:
    """``.sat``: clamped to [+0.0, 1.0], NaN becomes +0.0."""
    if f.is_nan(a) or a & f.sign_bit:
        return 0
    return f.one if a > f.one else a


def relu(f: Format, a: int) -> int:
    """``.relu``: what is negative becomes +0.0, NaN the canonical NaN."""
    if f.is_nan(a):
        return f.nan
    return 0 if a & f.sign_bit else a


def finish(op: Opcode, f: Format, compute: Semantics, operands: int) -> Semantics:
    """``compute`` with the opcode's ``.ftz`` on inputs and result, then ``.sat`` or ``.relu``."""
    result = compute
    if op.ftz:
        flush = f.flush
        inner = result
        if operands == 1:
            result = lambda a: flush(inner(flush(a)))  # noqa: E731
        elif operands == 2:
            result = lambda a, b: flush(inner(flush(a), flush(b)))  # noqa: E731
        else:
            result = lambda a, b, c: flush(inner(flush(a), flush(b), flush(c)))  # noqa: E731
    if op.sat or op.relu:
        clamp = saturate if op.sat else relu
        unclamped = result
        return lambda *values: clamp(f, unclamped(*values))
    return result


def per_lane(type: Type, compute: Semantics) -> Semantics:
    """``compute`` on each lane of a packed type; unchanged for a scalar type."""
    if type.lanes == 1:
        return compute
    width = type.bits // type.lanes
    mask = (1 << width) - 1
    shifts = range(0, type.bits, width)

    def lanes(*values: int) -> int:
        out = 0
        for shift in shifts:
            out |= compute(*[v >> shift & mask for v in values]) << shift
        return out

    return lanes


def _arithmetic(op: Opcode) -> Semantics:
    """``add sub mul fma mad div rcp sqrt`` with a rounding mode (``.rn`` when none is written)."""
    assert op.type is not None
    f = format_of(op.type)
    mode = op.rounding or RN
    compute: Semantics
    if len(op.types) == 2:
        return _mixed(op, f, format_of(op.types[1]), mode)
    if op.name in ("fma", "mad"):
        compute = lambda a, b, c: fma(f, a, b, c, mode)  # noqa: E731
        return per_lane(op.type, finish(op, f, compute, 3))
    if op.name in ("rcp", "sqrt"):
        unary = {"rcp": rcp, "sqrt": sqrt}[op.name]
        return finish(op, f, lambda a: unary(f, a, mode), 1)
    binary = {"add": add, "sub": sub, "mul": mul, "div": div}[op.name]
    return per_lane(op.type, finish(op, f, lambda a, b: binary(f, a, b, mode), 2))


def _mixed(op: Opcode, f: Format, narrow: Format, mode: str) -> Semantics:
    """Mixed precision (9.7.5): all sources but the last are of a narrower format, every number of which ``f`` has."""

    def widen(a: int) -> int:
        if narrow.is_nan(a):
            return f.nan
        if not narrow.is_finite(a):
            return (f.sign_bit if a & narrow.sign_bit else 0) | f.infinity
        return f.round(*narrow.unpack(a), mode)

    compute: Semantics
    if op.name == "fma":
        compute = lambda a, b, c: fma(f, widen(a), widen(b), c, mode)  # noqa: E731
        return finish(op, f, compute, 3)
    binary = {"add": add, "sub": sub}[op.name]
    return finish(op, f, lambda a, b: binary(f, widen(a), b, mode), 2)


def _sign_change(op: Opcode) -> Semantics:
    """``abs`` clears the sign bit, ``neg`` flips it."""
    assert op.type is not None
    f = format_of(op.type)
    if op.name == "abs":
        return per_lane(op.type, finish(op, f, lambda a: a & f.magnitude_mask, 1))
    return per_lane(op.type, finish(op, f, lambda a: a ^ f.sign_bit, 1))


def _min_max(op: Opcode) -> Semantics:
    """``min`` and ``max`` of two or three, with ``.NaN``, ``.abs`` and ``.xorsign`` (9.7.3.11, 9.7.3.12)."""
    assert op.type is not None
    f = format_of(op.type)
    select = minimum if op.name == "min" else maximum
    propagate = op.nan
    magnitudes = op.has("abs")
    xorsign = op.has("xorsign")
    prepare = f.flush if op.ftz else lambda a: a

    def compute(*values: int) -> int:
        inputs = [prepare(v) for v in values]
        terms = [v & f.magnitude_mask for v in inputs] if magnitudes else inputs
        out = terms[0]
        for term in terms[1:]:
            out = select(f, out, term, propagate)
        if xorsign and not f.is_nan(out):
            out = out & f.magnitude_mask | (inputs[0] ^ inputs[1]) & f.sign_bit
        return out

    return per_lane(op.type, compute)


def _testp(op: Opcode) -> Semantics:
    """``testp`` (9.7.3.1); zeros count as normal numbers."""
    assert op.type is not None
    f = format_of(op.type)
    tests: dict[str, Callable[[int], bool]] = {
        "finite": f.is_finite,
        "infinite": lambda a: a & f.magnitude_mask == f.infinity,
        "number": lambda a: not f.is_nan(a),
        "notanumber": f.is_nan,
        "normal": lambda a: f.is_finite(a) and not f.is_subnormal(a),
        "subnormal": f.is_subnormal,
    }
    test = tests[op.operation]
    return lambda a: 1 if test(a) else 0


def _copysign(op: Opcode) -> Semantics:
    """``copysign d, a, b``: the sign of ``a``, the rest of ``b`` (9.7.3.2)."""
    assert op.type is not None
    f = format_of(op.type)
    return lambda a, b: a & f.sign_bit | b & f.magnitude_mask


FLOAT_OPERATIONS: Final[dict[str, Callable[[Opcode], Semantics]]] = {
    "add": _arithmetic, "sub": _arithmetic, "mul": _arithmetic, "fma": _arithmetic, "mad": _arithmetic,
    "div": _arithmetic, "rcp": _arithmetic, "sqrt": _arithmetic, "abs": _sign_change, "neg": _sign_change,
    "min": _min_max, "max": _min_max, "testp": _testp, "copysign": _copysign,
}  # fmt: skip
