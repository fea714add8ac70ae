"""Masks of chunks in C: integers with a bit for each lane (AVX-512), or vectors of lanes that are 0 or -1 (AVX2).

A program's masks have lanes of one size, that of its numbers: then a mask of W lanes fills as many registers as the
numbers that it masks do. A mask for lanes of another size is converted where it is used.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.simd.isa import I32, I64, Carrier, Isa

Bits = NDArray[np.bool_]


def carrier_of(lane_bytes: int) -> Carrier:
    """Return the integers that have a lane's size."""
    return I32 if lane_bytes == 4 else I64


class Masks(Protocol):
    """What a set's masks are in C. Every method takes and gives expressions of single registers or lists of them."""

    def type(self, lane_bytes: int) -> str: ...

    def constant(self, bits: Bits, lane_bytes: int) -> str:
        """Return the mask of one register."""
        ...

    def operate(self, op: str, left: str, right: str, lane_bytes: int) -> str:
        """Return `and`, `or` or `xor` of two masks."""
        ...

    def invert(self, mask: str, lane_bytes: int) -> str: ...

    def resize(self, parts: list[str], source_bytes: int, target_bytes: int, count: int) -> list[str]:
        """Return masks for lanes of another size."""
        ...

    def to_vector(self, mask: str, lane_bytes: int) -> str:
        """Return lanes of 0 or -1."""
        ...

    def from_vector(self, vector: str, lane_bytes: int) -> str: ...

    def to_bits(self, mask: str, lane_bytes: int) -> str:
        """Return an integer with a bit for each lane."""
        ...


class MaskRegisters:
    """AVX-512's `__mmask16` and `__mmask8`."""

    def __init__(self, isa: Isa) -> None:
        self.isa = isa

    def type(self, lane_bytes: int) -> str:
        return f"__mmask{self.isa.bytes // lane_bytes}"

    def constant(self, bits: Bits, lane_bytes: int) -> str:
        number = sum(1 << int(lane) for lane in np.flatnonzero(bits))
        return f"({self.type(lane_bytes)}){number:#x}"

    def operate(self, op: str, left: str, right: str, lane_bytes: int) -> str:
        return f"({self.type(lane_bytes)})({left} {dict(zip(('and', 'or', 'xor'), '&|^'))[op]} {right})"

    def invert(self, mask: str, lane_bytes: int) -> str:
        return f"({self.type(lane_bytes)})~{mask}"

    def resize(self, parts: list[str], source_bytes: int, target_bytes: int, count: int) -> list[str]:
        if source_bytes == target_bytes:
            return parts
        type = self.type(target_bytes)
        if target_bytes > source_bytes:
            return [f"({type})({parts[n // 2]} >> {8 * (n % 2)})" for n in range(count)]
        pairs = [parts[2 * n : 2 * n + 2] for n in range(count)]
        return [f"({type})({pair[0]} | {pair[1]} << 8)" if pair[1:] else f"({type}){pair[0]}" for pair in pairs]

    def to_vector(self, mask: str, lane_bytes: int) -> str:
        return f"{self.isa.prefix}_movm_epi{8 * lane_bytes}({mask})"

    def from_vector(self, vector: str, lane_bytes: int) -> str:
        return f"{self.isa.prefix}_movepi{8 * lane_bytes}_mask({vector})"

    def to_bits(self, mask: str, lane_bytes: int) -> str:
        return f"(uint64_t){mask}"


class MaskVectors:
    """AVX2's integer vectors."""

    def __init__(self, isa: Isa) -> None:
        self.isa = isa

    def type(self, lane_bytes: int) -> str:
        return self.isa.vector_types["si"]

    def constant(self, bits: Bits, lane_bytes: int) -> str:
        return self.isa.set_lanes(carrier_of(lane_bytes), [str(-int(bit)) for bit in bits])

    def operate(self, op: str, left: str, right: str, lane_bytes: int) -> str:
        return f"{self.isa.prefix}_{op}_{self.isa.whole}({left}, {right})"

    def invert(self, mask: str, lane_bytes: int) -> str:
        return self.operate("xor", mask, f"{self.isa.prefix}_set1_epi32(-1)", lane_bytes)

    def resize(self, parts: list[str], source_bytes: int, target_bytes: int, count: int) -> list[str]:
        if source_bytes == target_bytes:
            return parts
        isa = self.isa
        if target_bytes > source_bytes:
            halves = [isa.half("high" if n % 2 else "low", I32, parts[n // 2]) for n in range(count)]
            return [isa.format(isa.conversions["sext", "i32", "i64"], I32, half) for half in halves]
        narrow = [isa.format(isa.conversions["trunc", "i64", "i32"], I64, part) for part in parts]
        pairs = [narrow[2 * n : 2 * n + 2] for n in range(count)]
        return [isa.half("joined" if pair[1:] else "widened", I32, *pair) for pair in pairs]

    def to_vector(self, mask: str, lane_bytes: int) -> str:
        return mask

    def from_vector(self, vector: str, lane_bytes: int) -> str:
        return vector

    def to_bits(self, mask: str, lane_bytes: int) -> str:
        real = {4: "ps", 8: "pd"}[lane_bytes]
        return f"(uint64_t){self.isa.prefix}_movemask_{real}({self.isa.cast(mask, 'si', real)})"


def masks_of(isa: Isa) -> Masks:
    return MaskRegisters(isa) if isa.has_mask_registers else MaskVectors(isa)
