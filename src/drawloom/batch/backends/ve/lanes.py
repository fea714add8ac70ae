"""What SX-Aurora has no vector instruction for: loops over lanes, through memory.

Conversions to integers, which saturate, integers of 64 bits to single precision, integers of 8 and 16 bits in arrays,
and scatters whose places are known at run time only: of several lanes with one place the highest has to win.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.by_lane import EXPRESSIONS, saturating_conversion
from drawloom.batch.backends.c_text import C_TYPES
from drawloom.batch.backends.chunk_ir import Chunk
from drawloom.batch.backends.ve.instructions import CARRIERS
from drawloom.batch.backends.ve.values import MASK_BYTES, Values, at, mask_words
from drawloom.batch.ir.ir import BITS, MASK
from drawloom.errors import UnsupportedError

Numbers = NDArray[np.int64]


class LaneLoops(Values):
    """Loops over lanes, whose operands and results are in the memory of values."""

    def compute_by_lane(self, chunk: Chunk) -> None:
        """Apply an operation to lane after lane; a function may be called, so no register stays in use."""
        expression = self.lane_expression(chunk)
        places = []
        for operand in chunk.operands:
            self.pinned = {operand.number}
            places.append(self.keep_in_memory(operand))
        self.leave_registers()
        types = [operand.type for operand in chunk.operands]
        offset = self.take_slot(chunk, self.bytes_of(chunk.type))
        for part in range(self.parts):
            numbers = [self.get_lane(type, place, part) for type, place in zip(types, places)]
            self.line(f"for (int lane = 0; lane < {self.n}; ++lane)")
            self.line(f"    {self.set_lane(chunk.type, offset, part, expression.format(*numbers))};")

    def lane_expression(self, chunk: Chunk) -> str:
        if chunk.op in ("fptosi", "fptoui"):
            return saturating_conversion(chunk.op, BITS[chunk.type])
        key = (chunk.op, exact_carrier(chunk.operands[0].type), exact_carrier(chunk.type))
        found = EXPRESSIONS.get(key)
        if found is None:
            raise UnsupportedError(f"ve: {chunk.op} of {chunk.operands[0].type} to {chunk.type} is not supported")
        return found

    def get_lane(self, type: str, place: tuple[str, int], part: int) -> str:
        """Return the expression of a number of the current lane."""
        return f"get_{lane_type(type)}({self.lane_place(type, place, part)})"

    def set_lane(self, type: str, offset: int, part: int, number: str) -> str:
        return f"set_{lane_type(type)}({self.lane_place(type, ('slots', offset), part)}, {number})"

    def lane_place(self, type: str, place: tuple[str, int], part: int) -> str:
        base, offset = place
        offset += self.lane_offset(type, part * self.n)
        if type == "float" and not self.is_packed(type):
            offset += 4  # the upper half
        return f"{at(base, offset)} + 8 * lane"

    # Memory.

    def load_by_lane(self, chunk: Chunk, address: str, index: Chunk | Numbers, mask: Chunk | None) -> None:
        """Load lane after lane; those that are masked off become 0."""
        index_place, mask_place = self.index_place(index), self.mask_place(mask)
        offset = self.take_slot(chunk, self.bytes_of(chunk.type))
        for part in range(self.parts):
            element = f"({address})[{self.index_of(index, index_place, part)}]"
            if mask_place is not None:
                element = f"{self.condition(mask_place, part)} ? {element} : 0"
            self.line(f"for (int lane = 0; lane < {self.n}; ++lane)")
            self.line(f"    {self.set_lane(chunk.type, offset, part, element)};")

    def store_by_lane(self, value: Chunk, address: str, index: Chunk | Numbers, mask: Chunk | None) -> None:
        index_place, mask_place = self.index_place(index), self.mask_place(mask)
        self.pinned = {value.number}
        place = self.keep_in_memory(value)
        for part in range(self.parts):
            condition = "" if mask_place is None else f"if ({self.condition(mask_place, part)}) "
            number = f"({C_TYPES[value.type]}){self.get_lane(value.type, place, part)}"
            self.line(f"for (int lane = 0; lane < {self.n}; ++lane)")
            self.line(f"    {condition}({address})[{self.index_of(index, index_place, part)}] = {number};")

    def index_place(self, index: Chunk | Numbers) -> tuple[str, int]:
        """Return where the elements that lanes access are in memory."""
        if isinstance(index, Chunk):
            self.pinned = {index.number}
            return self.keep_in_memory(index)
        words = np.ascontiguousarray(index).view(np.uint64)
        return f"(const unsigned char *){self.table(words)}", 0

    def index_of(self, index: Chunk | Numbers, place: tuple[str, int], part: int) -> str:
        first = part * self.n
        if not isinstance(index, Chunk) and (np.diff(index) == 1).all():
            return f"lane + {first + int(index[0])}" if first + index[0] else "lane"
        return self.get_lane("i64", place, part)

    def mask_place(self, mask: Chunk | None) -> tuple[str, int] | None:
        if mask is None:
            return None
        if mask.op != "constant":
            self.pinned = {mask.number}
            return self.keep_in_memory(mask)
        rows = np.frombuffer(mask.detail, np.bool_).reshape(self.parts, -1)
        if rows.all():
            return None
        words = np.array([word for row in rows for word in mask_words(row)], np.uint64)
        return f"(const unsigned char *){self.table(words)}", 0

    def condition(self, place: tuple[str, int], part: int) -> str:
        base, offset = place
        return f"is_live({at(base, offset + MASK_BYTES * part)}, lane)"


def exact_carrier(type: str) -> str:
    """Return the carrier's name in tables of single lanes."""
    return "i32" if type in ("i8", "i16") else CARRIERS[type]


def lane_type(type: str) -> str:
    assert type != MASK
    return type if type in ("float", "double") else "int64_t"
