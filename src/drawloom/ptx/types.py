"""The PTX fundamental, packed and alternate types (PTX ISA 9.0 section 5.2), one interned object each."""

from __future__ import annotations

from typing import Final


class Type:
    """A PTX type. There is one object per name, so types compare with ``is``.

    ``kind`` is ``"p"`` (predicate), ``"b"`` (untyped bits), ``"u"``, ``"s"`` (integers) or ``"f"`` (floats);
    ``bits`` is the width of the whole value; ``lanes`` is 2 or 4 for packed types such as ``f16x2``.
    """

    def __init__(self, name: str, kind: str, bits: int, lanes: int = 1) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.bytes = (bits + 7) // 8
        self.lanes = lanes
        #: The signature of an address in a register of this type (see ``drawloom.ptx.operands``).
        self.address_signature = "[" + name
        self.is_float = kind == "f"
        self.is_signed = kind == "s"
        self.is_integer = kind in ("u", "s")

    def __repr__(self) -> str:
        return f".{self.name}"


PRED: Final = Type("pred", "p", 1)
B8: Final = Type("b8", "b", 8)
B16: Final = Type("b16", "b", 16)
B32: Final = Type("b32", "b", 32)
B64: Final = Type("b64", "b", 64)
B128: Final = Type("b128", "b", 128)
U8: Final = Type("u8", "u", 8)
U16: Final = Type("u16", "u", 16)
U32: Final = Type("u32", "u", 32)
U64: Final = Type("u64", "u", 64)
S8: Final = Type("s8", "s", 8)
S16: Final = Type("s16", "s", 16)
S32: Final = Type("s32", "s", 32)
S64: Final = Type("s64", "s", 64)
F16: Final = Type("f16", "f", 16)
F32: Final = Type("f32", "f", 32)
F64: Final = Type("f64", "f", 64)
F16X2: Final = Type("f16x2", "f", 32, 2)
BF16: Final = Type("bf16", "f", 16)
BF16X2: Final = Type("bf16x2", "f", 32, 2)
U16X2: Final = Type("u16x2", "u", 32, 2)
S16X2: Final = Type("s16x2", "s", 32, 2)
F32X2: Final = Type("f32x2", "f", 64, 2)
TF32: Final = Type("tf32", "f", 32)
E4M3X2: Final = Type("e4m3x2", "f", 16, 2)
E5M2X2: Final = Type("e5m2x2", "f", 16, 2)
#: Two of four bits in a byte; two of six in the low bits of a byte each; two powers of two.
E2M1X2: Final = Type("e2m1x2", "f", 8, 2)
E2M3X2: Final = Type("e2m3x2", "f", 16, 2)
E3M2X2: Final = Type("e3m2x2", "f", 16, 2)
UE8M0X2: Final = Type("ue8m0x2", "f", 16, 2)

_ALL: Final = (
    PRED, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F16, F32, F64,
    F16X2, BF16, BF16X2, U16X2, S16X2, F32X2, TF32, E4M3X2, E5M2X2, E2M1X2, E2M3X2,
    E3M2X2, UE8M0X2,
)  # fmt: skip

TYPES: Final[dict[str, Type]] = {t.name: t for t in _ALL}

#: Types that a register or a variable may be declared with (PTX ISA 9.0 section 5.2.1 and 5.2.3).
DECLARABLE: Final[frozenset[str]] = frozenset(
    "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 f32 f64".split()
)


def integer_type(kind: str, bits: int) -> Type:
    """The integer or bit type of ``kind`` (``"u"``, ``"s"`` or ``"b"``) with ``bits`` bits."""
    return TYPES[f"{kind}{bits}"]
