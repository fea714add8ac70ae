"""Columns of keys into what kernels compare and hash: one 64-bit code a row and key, equal where the keys are.

Integers, dates, decimals of 64 bits, truth values and codes of text are extended by their sign. A float is its bits
as a double, one zero and one NaN for all.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.emit import Emitter, float64
from drawloom.horse.evaluate import check_comparable, comparable
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.rows import bits_of, storage_of
from drawloom.horse.kernels.workspace import Memory
from drawloom.horse.types import I64, scale_of
from drawloom.horse.values import Array, Vector
from drawloom.ptx.ir import Register
from drawloom.ptx.types import B64

_NAN: Final = 0x7FF8 << 48
#: Of murmur3's finaliser of 64 bits.
_FACTORS: Final = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)


class KeyColumns:
    """The key columns of the first ``rows`` rows of ``vectors``. ``storages`` has their PTX types."""

    def __init__(self, storages: list[str], vectors: list[Vector], rows: int) -> None:
        self.storages = storages
        self.vectors = vectors
        self.rows = rows

    def first(self, rows: int) -> KeyColumns:
        """The keys of the first rows only."""
        return KeyColumns(self.storages, self.vectors, rows)

    @property
    def is_integer(self) -> bool:
        return "f" not in [s[0] for s in self.storages]

    @property
    def suffix(self) -> str:
        """The columns' part of a kernel's name."""
        return "_".join(self.storages)

    def memory(self, kernels: DeviceKernels) -> list[Memory]:
        """The columns' addresses, as kernels take them."""
        return [kernels.workspace.column(v, v.dtype) for v in self.vectors]


def key_columns(vectors: list[Vector]) -> KeyColumns | None:
    """The vectors as keys; None where there are none, or of unlike lengths, or one that no kernel takes (Python's
    integers)."""
    storages = [storage_of(v) or "" for v in vectors]
    if "" in storages or "u64" in storages or len({len(v) for v in vectors}) != 1:
        return None
    return KeyColumns(storages, vectors, len(vectors[0]))


def key_pairs(left: list[Vector], right: list[Vector]) -> tuple[KeyColumns, KeyColumns] | None:
    """Both sides' keys, pair by pair of types whose codes are equal where the values are; None as above, and for
    lists of unlike lengths."""
    if len(left) != len(right):
        return None
    both = [_pair(a, b) for a, b in zip(left, right)]
    one, other = key_columns([a for a, _ in both]), key_columns([b for _, b in both])
    return None if one is None or other is None else (one, other)


def _pair(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    check_comparable(a.type, b.type)
    if _compare_as_stored(a, b):
        return a, b
    left, right = comparable(a, b)
    return _as_key(a, left), _as_key(b, right)


def _compare_as_stored(a: Vector, b: Vector) -> bool:
    """Whether the elements compare as they lie, so that nobody has to look at them on the host."""
    if a.type.kind == "text":
        return a.dictionary is not None and a.dictionary is b.dictionary
    if a.type.is_float or b.type.is_float:
        return a.type == b.type
    return scale_of(a.type) == scale_of(b.type)


def _as_key(vector: Vector, data: Array) -> Vector:
    """The vector itself where its own data compare, so that a copy on the device is found again."""
    if data is vector.data:
        return vector
    return Vector(I64 if data.dtype.kind == "i" else vector.type, data)


# Instructions


def code(emitter: Emitter, base: Register, row: Register, storage: str, keeps_sign: bool = False) -> Register:
    """The 64-bit code of the key in ``row`` of a column; -0.0 has that of 0.0, but where zeros keep their sign."""
    if not storage.startswith("f"):
        return emitter.made(B64, f"ld.global.{storage}", [emitter.element(base, row, bits_of(storage) // 8)])
    loaded = emitter.load(storage, base, row)
    wide = loaded if storage == "f64" else emitter.calc("cvt.f64.f32", loaded)
    value = wide if keeps_sign else emitter.calc("add.rn.f64", wide, float64(0.0))
    is_nan = emitter.calc("setp.nan.f64", value, value)
    return emitter.calc("selp.b64", _NAN, emitter.calc("mov.b64", value), is_nan)


def codes(emitter: Emitter, bases: list[Register], row: Register, storages: list[str]) -> list[Register]:
    return [code(emitter, base, row, storage) for base, storage in zip(bases, storages)]


def hashed(emitter: Emitter, keys: list[Register]) -> Register:
    """64 well-mixed bits of the codes: murmur3's finaliser over each, added to what the ones before gave."""
    made = _finalised(emitter, keys[0])
    for key in keys[1:]:
        made = _finalised(emitter, emitter.calc("add.s64", made, key))
    return made


def _finalised(emitter: Emitter, value: Register) -> Register:
    for factor in _FACTORS:
        value = emitter.calc("xor.b64", value, emitter.calc("shr.u64", value, 33))
        value = emitter.calc("mul.lo.s64", value, factor)
    return emitter.calc("xor.b64", value, emitter.calc("shr.u64", value, 33))
