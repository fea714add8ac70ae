"""Rows of 32 lanes, sets of lanes as rows and as masks, and what running code must not do."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

LANES: Final = 32
FULL: Final = (1 << LANES) - 1
#: A row of registers (unsigned words), of predicates (booleans), a set of lanes (booleans).
Row = npt.NDArray[Any]

EVERYBODY: Final[Row] = np.ones(LANES, np.bool_)
EVERYBODY.setflags(write=False)
#: All of the lanes, or of the accesses, that an index would name.
ALL: Final = slice(None)


class Fault(Exception):
    """Something that machine code must not do; the machine adds where it was."""


class AccessFault(Fault):
    """An access to `size` bytes at `address` that memory does not have or that is not aligned."""

    def __init__(self, message: str, address: int, size: int) -> None:
        super().__init__(message)
        self.address = address
        self.size = size


@lru_cache(1 << 12)
def lanes_of(mask: int) -> Row:
    """The set of a mask's lanes, which nobody writes."""
    if mask == FULL:
        return EVERYBODY
    lanes = np.unpackbits(np.array([mask], "<u4").view(np.uint8), bitorder="little").astype(np.bool_)
    lanes.setflags(write=False)
    return lanes


def mask_of(lanes: Row) -> int:
    """The mask of a set of lanes."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


def numbers_of(lanes: Row) -> list[int]:
    """The numbers of the lanes in a set."""
    found: list[int] = lanes.nonzero()[0].tolist()
    return found


def anybody(lanes: Row) -> bool:
    """Whether the set has a lane. For so few lanes this is several times as fast as `any`."""
    return 1 in lanes.tobytes()
