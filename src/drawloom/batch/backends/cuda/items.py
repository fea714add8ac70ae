"""Numbers that are known at compile time and differ between the work-items of a group, as C++ expressions of `wi`.

    <0, 8, 16, 24>            ->  wi * 8
    <1, 2, 3, 0>              ->  (wi + 1) % 4
    <true, false, true, true> ->  (0xdu >> wi & 1) != 0
    <5, 1, 1, 7>              ->  table1[wi]                     in constant memory

What is not used by any item that is needed may have any number.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.cuda.operations import TYPES, number_text
from drawloom.batch.ir.ir import DTYPES

Items = NDArray[Any]

#: Floating-point types -> the type of their bits, and what reads a number of that.
FLOAT_TABLES: Final = {"float": ("i32", "__int_as_float({})"), "double": ("i64", "__longlong_as_double({})")}


class ItemNumbers:
    """The named numbers of a kernel: `lines` declare those that are computed, `tables` those in constant memory."""

    def __init__(self, wg_size: int) -> None:
        self.wg_size = wg_size
        self.lines: list[str] = []
        self.tables: list[str] = []
        self.names: dict[tuple[str, str], str] = {}

    def text(self, type: str, numbers: Items, needed: Items) -> str:
        """Return an expression of a type that has `numbers` in the items that are `needed`.

        Both have one element for each item, or a single one that stands for all.
        """
        used = np.flatnonzero(needed)
        if not used.size:
            return number_text(type, 0)
        first = numbers[used[0]]
        bits = np.ascontiguousarray(numbers, DTYPES[type]).view(f"u{DTYPES[type].itemsize}")
        if (bits[used] == bits[used[0]]).all():
            return number_text(type, first)
        if type == "i1":
            return self.mask(np.where(needed, numbers, False))
        if type not in ("float", "double"):
            formula = self.formula(type, numbers.astype(object), used)
            if formula:
                return self.named(type, formula)
        others = used[bits[used] != bits[used[0]]]
        if (bits[others] == bits[others[0]]).all():
            chosen = np.zeros(self.wg_size, bool)
            chosen[others] = True
            return f"({self.mask(chosen)} ? {number_text(type, numbers[others[0]])} : {number_text(type, first)})"
        return self.table(type, np.where(needed, numbers, first))

    def mask(self, chosen: Items) -> str:
        """Return the condition that the item is one of those chosen: its execution group."""
        if chosen.all():
            return "true"
        word = sum(1 << int(item) for item in np.flatnonzero(chosen))
        return self.named("i1", f"({hex(word)}u >> wi & 1) != 0")

    def formula(self, type: str, numbers: Items, used: Items) -> str:
        """Return a line, rotation or exclusive-or of `wi` that gives the numbers; nothing where none does."""
        pairs = [(int(item), int(numbers[item])) for item in used]
        (item, number), (next_item, next_number) = pairs[:2]
        if (next_number - number) % (next_item - item) == 0:
            slope = (next_number - number) // (next_item - item)
            start = number - slope * item
            if all(start + slope * item == number for item, number in pairs):
                return line_text(type, slope, start)
        size = self.wg_size
        rotation = (number - item) % size
        if all((item + rotation) % size == number for item, number in pairs):
            return f"({TYPES[type]})((wi + {rotation}u) % {size}u)"
        pattern = number ^ item
        if pattern >= 0 and all(item ^ pattern == number for item, number in pairs):
            return f"({TYPES[type]})(wi ^ {pattern}u)"
        return ""

    def named(self, type: str, expression: str) -> str:
        key = (type, expression)
        if key not in self.names:
            name = self.names[key] = f"{'m' if type == 'i1' else 'c'}{len(self.names)}"
            self.lines.append(f"const {TYPES[type]} {name} = {expression};")
        return self.names[key]

    def table(self, type: str, numbers: Items) -> str:
        """Return an element of a table. Infinity has no literal, so floating-point numbers are kept as bits."""
        stored, reader = FLOAT_TABLES.get(type, (type, "{}"))
        bits = np.ascontiguousarray(numbers, DTYPES[type]).view(DTYPES[stored])
        texts = ", ".join(number_text(stored, number) for number in bits)
        key = (stored, texts)
        if key not in self.names:
            name = self.names[key] = f"table{len(self.tables)}"
            self.tables.append(f"__constant__ const {TYPES[stored]} {name}[{len(bits)}] = {{{texts}}};")
        return reader.format(f"{self.names[key]}[wi]")


def line_text(type: str, slope: int, start: int) -> str:
    """Return `slope * wi + start`, modulo the type's range."""
    name = TYPES[type]
    wide = "i64" if type == "i64" else "i32"
    text = "(u64)wi" if type == "i64" else "wi"
    if slope != 1:
        text += f" * {number_text(wide, slope)}"
    if start:
        text += f" + {number_text(wide, start)}"
    return text if wide == type else f"({name})({text})"
