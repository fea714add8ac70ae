"""Loads and stores of InfReg-IR as C++: direct ones, and those that a warp makes together through shared memory.

    direct    float v1_3 = a0[3];                          a0 = arg_a + (group * 64 + wi * 8), made once
    masked    float v1_3 = m2 && v0 ? a0[3] : 0.0f;
    staged    f1[j] = a0[k]; ... tile[k + k / 8] = f1[j]; ... __syncwarp(warp); float v1_3 = tile[at0 + 3];
    streamed  float v1_3 = a0[lane + 3 * live];

`tiles.py` says what is staged, `streams.py` what is streamed. Of several items that store to one place the highest one
wins. Where places are known at compile time, the others do not store. Elsewhere `__match_any_sync` finds the items with
the same place.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.cuda.hazards import TILE, Hazards
from drawloom.batch.backends.cuda.items import ItemNumbers
from drawloom.batch.backends.cuda.operations import TYPES, number_text
from drawloom.batch.backends.cuda.streams import is_stream
from drawloom.batch.backends.cuda.tiles import Tile, group_stride, is_uniform, plan_tile
from drawloom.batch.backends.demand import Demand
from drawloom.batch.ir.ir import DTYPES, Access, Kernel, Value

Items = NDArray[Any]
Lanes = NDArray[Any]

OWN_GROUP: Final = "group"
FIRST_GROUP: Final = "first"


class Text(Protocol):
    """The emitter, as far as accesses need it."""

    kernel: Kernel
    size: int
    groups: int
    depth: int
    demand: Demand
    numbers: ItemNumbers
    hazards: Hazards

    def line(self, text: str) -> None: ...
    def define(self, type: str, expression: str, name: str = "") -> str: ...
    def column_name(self, value: Value, column: int) -> str: ...
    def all_items(self, lanes: Items) -> Items: ...
    def name(self, value: Value, column: int, needed: Items) -> str: ...


class AccessText:
    """`bases` are the names of the run-time parts of addresses, `tile_bytes` is what a warp needs of shared memory."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.tile_bytes = 0
        self.bases: dict[tuple[str, str], str] = {}
        self.tiles: dict[int, Tile] = {}
        self.is_stream = is_stream(text.kernel, text.demand)

    # Loads.

    def fetch(self, loads: list[Value]) -> None:
        """Have the threads of the warp read what staged loads are to give, all before any of them waits."""
        for value in loads:
            tile = self.tile_of_load(value)
            if tile is not None:
                self.text.hazards.before_read(value.detail.pointer)
                used = value.detail.active & self.text.demand.of(value)
                self.tiles[value.number] = tile
                turns = -(-tile.span // self.text.size)
                self.text.line(f"{TYPES[value.type]} f{value.number}[{turns}];")
                self.copy_tile(value.detail, used, tile, f"f{value.number}[j] = {{element}};")

    def tile_of_load(self, value: Value) -> Tile | None:
        """Return how a load is staged; None where it is not, as in loops, where groups of a warp run apart."""
        if value.op != "load" or value.operands or self.text.depth or self.is_stream:
            return None
        used = value.detail.active & self.text.demand.of(value)
        return plan_tile(value.detail, used, value.type, self.text.groups, is_store=False)

    def load(self, value: Value) -> list[str]:
        """Load what is demanded; returns the names of the columns."""
        text, access, operands = self.text, value.detail, value.operands
        used = access.active & text.demand.of(value)
        if value.number in self.tiles:
            return self.load_tile(value, used, self.tiles[value.number])
        index = operands[0] if value.op == "gather" else None
        mask = operands[-1] if len(operands) > (index is not None) else None
        text.hazards.before_read(access.pointer)
        names = [number_text(value.type, 0)] * value.format.extent
        for column in range(value.format.extent):
            needed = text.all_items(used[:, column])
            if self.is_stream:
                names[column] = self.define_loaded(value, column, self.stream_place(access, column), "true")
            elif needed.any():
                place = self.place(value.type, access, column, needed, index)
                names[column] = self.define_loaded(value, column, place, self.condition(needed, mask, column))
        return names

    def define_loaded(self, value: Value, column: int, place: str, condition: str) -> str:
        """Define a column as what is at a place where a condition holds, as 0 elsewhere."""
        loaded = place if condition == "true" else f"{condition} ? {place} : {number_text(value.type, 0)}"
        return self.text.define(value.type, loaded, self.text.column_name(value, column))

    def condition(self, chosen: Items, mask: Value | None, column: int) -> str:
        """Return the condition under which an item accesses memory."""
        parts = [self.text.numbers.mask(chosen)]
        if mask is not None:
            parts.append(self.text.name(mask, column, chosen))
        return " && ".join(part for part in parts if part != "true") or "true"

    # Addresses.

    def place(self, type: str, access: Access, column: int, needed: Items, index: Value | None) -> str:
        """Return the element that a column's items access."""
        offsets = self.text.all_items(access.offsets[:, column])
        least = int(offsets[needed][0])
        base = self.base(access, column, needed, offsets - least, OWN_GROUP)
        if index is None:
            return f"{base}[{least}]"
        text = self.text.name(index, column, needed)
        return f"{base}[(i64)({text} + {number_text('i64', least)})]" if least else f"{base}[(i64){text}]"

    def base(self, access: Access, column: int, needed: Items, offsets: Items, group: str) -> str:
        """Return a pointer to the run-time part of a column's places plus `offsets`."""
        parts = [text for text in [self.text.numbers.text("i64", offsets, needed)] if text != "0ull"]
        for term in access.terms:
            coefficients = self.text.all_items(term.coefficients[:, column])
            factor = self.text.numbers.text("i64", coefficients, needed)
            if factor != "0ull":
                parts.append(self.product(term.factors, factor, group))
        if not parts:
            return f"arg_{access.pointer}"
        key = (access.pointer, " + ".join(parts))
        if key not in self.bases:
            parameter = self.text.kernel.parameter(access.pointer)
            name = self.bases[key] = f"at_{access.pointer}_{len(self.bases)}"
            const = "" if parameter.is_written else "const "
            self.text.numbers.lines.append(
                f"{const}{TYPES[parameter.type]} *const {name} = arg_{access.pointer} + (i64)({key[1]});"
            )
        return self.bases[key]

    def product(self, factors: tuple[str, ...], coefficient: str, group: str) -> str:
        texts = [group if factor == "group" else self.scalar(factor) for factor in factors]
        return " * ".join([*texts, *([coefficient] if coefficient != "1ull" else [])])

    def scalar(self, name: str) -> str:
        """Return a parameter as a factor; narrower ones are signed (`frontend/addresses.py`)."""
        signed = "(i64)" if self.text.kernel.parameter(name).type == "i64" else "(i64)(i32)"
        return f"(u64){signed}arg_{name}"

    # Stores.

    def store(self, value: Value) -> None:
        text, access, operands = self.text, value.detail, value.operands
        index = operands[1] if value.op == "scatter" else None
        mask = operands[-1] if len(operands) > 1 + (index is not None) else None
        used = access.active.copy()
        if mask is not None and mask.is_constant:
            used &= mask.detail
            mask = None
        text.hazards.before_write(access.pointer)
        if self.is_stream:
            for column in range(value.format.extent):
                stored = text.name(operands[0], column, used[:, column])
                text.line(f"{self.stream_place(access, column)} = {stored};")
            return
        is_known = index is None and all(is_uniform(term.coefficients, used) for term in access.terms if used.any())
        if is_known and mask is None:
            used = without_losers(access.offsets, used)
            tile = None
            if text.depth == 0:
                tile = plan_tile(access, used, operands[0].type, text.groups, is_store=True)
            if tile is not None:
                self.store_tile(value, used, tile)
                return
        columns = [column for column in range(value.format.extent) if used[:, column].any()]
        if is_known and (mask is None or has_no_losers(access.offsets, used)):
            for column in columns:
                self.store_column(value, column, used[:, column], mask)
        elif len(columns) == 1 and value.format.items > 1:
            self.store_highest(value, columns[0], used[:, columns[0]], index, mask)
        else:
            self.store_in_turn(value, columns, used, index, mask)

    def store_column(
        self, value: Value, column: int, used: Items, mask: Value | None, index: Value | None = None
    ) -> None:
        """Store a column of items, whose places differ."""
        text = self.text
        chosen = used if value.format.items > 1 else np.arange(text.size) == 0
        place = self.place(value.operands[0].type, value.detail, column, chosen, index)
        condition = self.condition(chosen, mask, column)
        guard = "" if condition == "true" else f"if ({condition}) "
        text.line(f"{guard}{place} = {text.name(value.operands[0], column, chosen)};")

    def store_highest(self, value: Value, column: int, used: Items, index: Value | None, mask: Value | None) -> None:
        """Store a column where no higher item stores to the same place."""
        text = self.text
        place = self.place(value.operands[0].type, value.detail, column, used, index)
        stored = text.name(value.operands[0], column, used)
        condition = self.condition(used, mask, column)
        if text.size == 1:
            text.line(f"if ({condition}) {place} = {stored};")
            return
        storing = text.define("i32", f"__ballot_sync(members, {condition})")
        text.line(f"if ({condition}) {{")
        text.line(f"const u32 same = __match_any_sync({storing}, (u64)&{place});")
        text.line(f"if (same >> lane == 1) {place} = {stored};")
        text.line("}")

    def store_in_turn(
        self, value: Value, columns: list[int], used: Lanes, index: Value | None, mask: Value | None
    ) -> None:
        """Store item by item, which is the order of lanes, where any two may have the same place."""
        text = self.text
        is_shared = value.format.items == 1
        text.line(f"for (u32 turn = 0; turn < {1 if is_shared else text.size}; ++turn) {{")
        text.line("if (wi == turn) {")
        for column in columns:
            self.store_column(value, column, used[:, column], mask, index)
        text.line("}")
        text.line("__syncwarp(members);")
        text.line("}")

    def stream_place(self, access: Access, column: int) -> str:
        """Return the element that a thread of the warp has in a column of a kernel that is a stream."""
        everyone = np.ones(self.text.size, bool)
        least = np.full(self.text.size, access.offsets.min())
        return f"{self.base(access, 0, everyone, least, FIRST_GROUP)}[lane + {column} * live]"

    # Shared memory.

    def load_tile(self, value: Value, used: Lanes, tile: Tile) -> list[str]:
        """Put what threads of the warp have fetched into shared memory, and take each item's elements from there."""
        text, access = self.text, value.detail
        text.hazards.before_write(TILE)
        name = self.tile(value.type, tile)
        self.copy_tile(access, used, tile, f"{name}[{{place}}] = f{value.number}[j];")
        text.hazards.before_read(TILE)
        names = [number_text(value.type, 0)] * value.format.extent
        for column in range(value.format.extent):
            if used[:, column].any():
                element = self.tile_element(access, used, column, tile, name)
                names[column] = self.define_loaded(value, column, element, text.numbers.mask(used[:, column]))
        return names

    def store_tile(self, value: Value, used: Lanes, tile: Tile) -> None:
        """Store each item's elements to shared memory, then the group's with all threads of the warp."""
        text, access = self.text, value.detail
        stored = value.operands[0]
        text.hazards.before_write(TILE)
        name = self.tile(stored.type, tile)
        for column in range(value.format.extent):
            chosen = used[:, column]
            if chosen.any():
                condition = text.numbers.mask(chosen)
                guard = "" if condition == "true" else f"if ({condition}) "
                element = self.tile_element(access, used, column, tile, name)
                text.line(f"{guard}{element} = {text.name(stored, column, chosen)};")
        text.hazards.before_read(TILE)
        self.copy_tile(access, used, tile, f"{{element}} = {name}[{{place}}];")
        # The threads met after they filled the tile, and before what they did here.
        text.hazards.written.add(access.pointer)

    def tile(self, type: str, tile: Tile) -> str:
        """Return the tile as an array of a type."""
        self.tile_bytes = max(self.tile_bytes, -(-self.text.groups * tile.size * DTYPES[type].itemsize // 16) * 16)
        line = f"{TYPES[type]} *const tile_{type} = ({TYPES[type]} *)tile;"
        if line not in self.text.numbers.lines:
            self.text.numbers.lines.append(line)
        return f"tile_{type}"

    def tile_element(self, access: Access, used: Lanes, column: int, tile: Tile, name: str) -> str:
        """Return where a column's element of an item lies in the tile."""
        text = self.text
        chosen = used[:, column]
        places = tile.place(np.where(chosen, access.offsets[:, column] - tile.least, 0))
        least = int(places[chosen][0])
        own = text.numbers.text("i32", (places - least).astype(np.int32), chosen)
        part = f"part * {tile.size}u" if text.groups > 1 else ""
        at = " + ".join(term for term in (part, own if own != "0u" else "") if term)
        parts = [text.numbers.named("i32", at)] if at else []
        return f"{name}[{' + '.join([*parts, *([str(least)] if least or not at else [])])}]"

    def copy_tile(self, access: Access, used: Lanes, tile: Tile, pattern: str) -> None:
        """Have every thread of the warp copy every so-manieth element of all groups."""
        text = self.text
        column = int(np.flatnonzero(used.any(axis=0))[0])
        chosen = used[:, column]
        base = self.base(access, column, chosen, np.full(text.size, tile.least), FIRST_GROUP)
        place, element = self.tile_copy_places(access, tile, chosen, column)
        turns = -(-tile.span // text.size)
        text.line("#pragma unroll")
        text.line(f"for (u32 j = 0; j < {turns}; ++j) {{")
        text.line("const u32 k = lane + j * live;")
        guard = "" if tile.span % text.size == 0 else f"if (k < here * {tile.span}u) "
        text.line(f"{guard}{pattern.format(place=place, element=f'{base}[{element}]')}")
        text.line("}")

    def tile_copy_places(self, access: Access, tile: Tile, chosen: Items, column: int) -> tuple[str, str]:
        """Return where the warp's element k lies in the tile and in memory."""
        pitch, span = tile.pitch, tile.span
        is_dense = self.text.groups == 1 or (group_stride(access) == span and (not pitch or span % pitch == 0))
        if is_dense:
            return (f"k + k / {pitch}" if pitch else "k"), "k"
        rest = f"k % {span}u"
        place = f"k / {span}u * {tile.size}u + {rest}" + (f" + {rest} / {pitch}u" if pitch else "")
        return place, f"(i64)(k / {span}u * ({self.stride_text(access, chosen, column)}) + {rest})"

    def stride_text(self, access: Access, chosen: Items, column: int) -> str:
        """Return by how many elements the groups lie apart."""
        parts = []
        for term in access.terms:
            if "group" in term.factors:
                factors = tuple(factor for factor in term.factors if factor != "group")
                coefficient = self.text.numbers.text("i64", term.coefficients[:, column], chosen)
                parts.append(self.product(factors, coefficient, OWN_GROUP) or "1ull")
        return " + ".join(parts) or "0ull"


def without_losers(offsets: Lanes, used: Lanes) -> Lanes:
    """Return the lanes that store, without those after which a higher one stores to the same place."""
    flat = np.flatnonzero(used.reshape(-1))
    places = offsets.reshape(-1)[flat]
    _, last = np.unique(places[::-1], return_index=True)
    result = np.zeros(used.size, bool)
    result[flat[len(flat) - 1 - last]] = True
    return result.reshape(used.shape)


def has_no_losers(offsets: Lanes, used: Lanes) -> bool:
    places = offsets[used]
    return len(np.unique(places)) == len(places)
