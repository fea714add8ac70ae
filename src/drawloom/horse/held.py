"""What a kernel holds of a vector: one element a thread, in a register of a width that its range proves enough."""

from __future__ import annotations

from typing import Final

from drawloom.horse.types import VectorType
from drawloom.ptx.ir import Operand
from drawloom.ptx.types import B32, B64, F32, F64, PRED
from drawloom.ptx.types import Type as PtxType

#: The kinds of registers, with their PTX types.
REGISTERS: Final[dict[str, PtxType]] = {"s32": B32, "s64": B64, "f32": F32, "f64": F64, "pred": PRED}


class Held:
    """``kind`` is "s32", "s64", "f32", "f64", "pred", or "text" for a text literal (``words``).

    ``low..high`` bound the integer (the code, for text columns, whose ``column`` is the parameter it came from).
    ``masks`` are the boolean variables by which its rows are compressed, outermost last.
    """

    def __init__(
        self,
        kind: str,
        type: VectorType,
        operand: Operand,
        low: int = 0,
        high: int = 0,
        masks: tuple[str, ...] = (),
        column: str = "",
        words: list[str] | None = None,
    ) -> None:
        self.kind = kind
        self.type = type
        self.operand = operand
        self.low = low
        self.high = high
        self.masks = masks
        self.column = column
        self.words = words

    def masked(self, masks: tuple[str, ...]) -> Held:
        """The same register under other masks."""
        return Held(self.kind, self.type, self.operand, self.low, self.high, masks, self.column, self.words)


def integer_kind(low: int, high: int) -> str:
    """The narrowest register kind for a range, which must fit 64 bits."""
    return "s32" if low >= -(1 << 31) and high < 1 << 31 else "s64"
