"""A generated program with its launch, and the constants that its writer and its runner share."""

from __future__ import annotations

import copy
from typing import Final

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

INPUT_WORDS: Final = 1024
ACCUMULATORS: Final = 32
#: Accumulators that are no sums: a lock, what it guards, and the number of blocks that have passed a chain.
LOCK: Final = 29
GUARDED: Final = 30
CHAIN: Final = 31
#: 8-byte slots that a thread has in the output behind those of the pools, for private atomics and stores.
PRIVATE_SLOTS: Final = 4
LOCAL_BYTES: Final = 64
TABLE_WORDS: Final = 16

#: Register classes: what a pool holds, and how its registers are declared.
DECLARED: Final[dict[str, str]] = {
    "s": "b16", "r": "b32", "l": "b64", "h": "b16", "bh": "b16", "hh": "b32", "bhh": "b32", "f": "f32", "d": "f64",
    "ff": "b64", "p": "pred",
}  # fmt: skip
FLOAT_CLASSES: Final[dict[str, str]] = {
    "f16": "h", "bf16": "bh", "f16x2": "hh", "bf16x2": "bhh", "f32": "f", "f64": "d", "f32x2": "ff", "tf32": "f",
    "e4m3x2": "s", "e5m2x2": "s",
}  # fmt: skip
INTEGER_CLASSES: Final[dict[int, str]] = {8: "s", 16: "s", 32: "r", 64: "l"}

CANONICAL: Final[dict[str, str]] = {"f": "0x7FFFFFFF", "d": "0x7FF8000000000000", "h": "0x7FFF", "bh": "0x7FFF"}

EDGES: Final = (
    0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
    0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x55555555, 0xAAAAAAAA, 0x3F800000, 0xBF800000,
    0x3F000000, 0x40490FDB, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x00400000, 0x00800000, 0x7F7FFFFF,
    0x4B000000, 0x4F000000, 0x3C003C00, 0xBC000400, 0x7C007BFF, 0x7E0003FF, 0x3F803F80, 0x7F80007F, 0x42280000,
    0xC2280000, 0x3FF00000, 0x7FF00000, 0x43E00000, 0x41E00000, 0x3E99999A,
)  # fmt: skip


class Program:
    """A generated program and its launch. Arguments in order: input (read only), output, accumulators, ``n``, and
    64 bits ``shift`` where the program takes them."""

    def __init__(
        self, seed: int, text: str, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
        input: Words, output: Words, accumulators: Words, n: int, shift: int | None = None,
    ) -> None:  # fmt: skip
        self.seed = seed
        self.text = text
        self.grid = grid
        self.block = block
        self.shared_bytes = shared_bytes
        self.input = input
        self.output = output
        self.accumulators = accumulators
        self.n = n
        self.shift = shift

    def with_text(self, text: str) -> Program:
        """The same launch of another text, for minimising."""
        out = copy.copy(self)
        out.text = text
        return out
