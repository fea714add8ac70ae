"""InfReg-IR to CUDA C++ (paper, section 4.2.1): a thread is a work-item, a column of an InfReg is one of its variables.

    before: %3 = permute <(2, 0), (2, 1), ...> %1;  %4 = fma %2, %3, %0
    after:  float v3_0 = __shfl_sync(members, v1_0, base + 2); ...
            float v4_0 = __fmaf_rn(v2_0, v3_0, v0_0); ...

A warp runs 32 / WG_SIZE groups, rounded down; threads that are left over return, as do those of groups beyond the last.
`members` is the mask of a group's threads, `warp` that of all that run. Items that do something others do not, an
*execution group*, are told apart by masks that are known at compile time. A group leaves a run-time loop when a vote
among its members says so: groups of a warp then run apart, which is why everything in loops names its members only.

The register of a group's variable, which has one item, is a variable of every thread, with the same number in all.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.cuda.accesses import AccessText
from drawloom.batch.backends.cuda.hazards import Hazards
from drawloom.batch.backends.cuda.indices import OtherItem, OwnElement, classify
from drawloom.batch.backends.cuda.items import ItemNumbers
from drawloom.batch.backends.cuda.moves import is_own, plan_shuffles
from drawloom.batch.backends.cuda.operations import (
    PRELUDE,
    SATURATE,
    TYPES,
    conversion_text,
    number_text,
    operation_text,
)
from drawloom.batch.backends.cuda.tiles import WARPS
from drawloom.batch.backends.demand import Demand
from drawloom.batch.ir.ir import MASK, Block, Kernel, Loop, Value
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS
from drawloom.errors import UnsupportedError

Items = NDArray[Any]

WARP_SIZE: Final = 32
WORD: Final = re.compile(r"\w+")


class CudaText(NamedTuple):
    """A kernel as CUDA C++. A block of `threads` runs `groups_per_block` groups of the batch."""

    text: str
    entry: str
    threads: int
    groups_per_block: int


def emit_cuda(kernel: Kernel) -> CudaText:
    """Return a kernel as CUDA C++, a function of its parameters and the number of groups.

    Raises:
        UnsupportedError: A group has more items than a warp has threads.
    """
    if kernel.wg_size > WARP_SIZE:
        raise UnsupportedError(
            f"{kernel.name}: groups of {kernel.wg_size} do not fit a warp\n  expected at most {WARP_SIZE} work-items"
        )
    return Emitter(kernel).program()


class Emitter:
    """The lines of a function, and for every value the expressions of its columns."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.size = kernel.wg_size
        self.groups = WARP_SIZE // kernel.wg_size
        self.demand = Demand(kernel)
        self.numbers = ItemNumbers(kernel.wg_size)
        self.lines: list[str] = []
        self.indent = 1
        self.depth = 0
        self.temporaries = 0
        self.names: dict[int, list[str]] = {}
        self.moved: list[dict[tuple[str, str], str]] = [{}]
        self.hazards = Hazards(self)
        self.accesses = AccessText(self)

    def program(self) -> CudaText:
        self.block(self.kernel.body)
        entry = f"batch_{self.kernel.name}"
        parameters = ", ".join(
            f"{'' if p.is_written else 'const '}{TYPES[p.type]} *__restrict__ arg_{p.name}"
            if p.is_pointer
            else f"const {TYPES[p.type]} arg_{p.name}"
            for p in self.kernel.parameters
        )
        body = "\n".join(self.lines)
        head = used_lines([*self.threads(), *self.numbers.lines], body)
        parts = [
            f"// {self.kernel.name}: groups of {self.size} work-items, {self.groups} in a warp.",
            PRELUDE + (SATURATE if "saturate<" in body else ""),
            *self.numbers.tables,
            f'extern "C" __global__ void __launch_bounds__({WARPS * WARP_SIZE})',
            f"{entry}({parameters + ', ' if parameters else ''}const u64 groups) {{",
            *("    " + line for line in head),
            body,
            "}",
            "",
        ]
        return CudaText("\n".join(parts), entry, WARPS * WARP_SIZE, WARPS * self.groups)

    def threads(self) -> list[str]:
        """Return the lines that say which item of which group a thread is."""
        left_over = f"part >= {self.groups} || " if WARP_SIZE % self.size else ""
        lines = [
            "const u32 lane = threadIdx.x % 32;",
            f"const u32 part = lane / {self.size};",
            f"const u32 wi = lane % {self.size};",
            "const u32 base = lane - wi;",
            f"const u64 first = ((u64)blockIdx.x * {WARPS} + threadIdx.x / 32) * {self.groups};",
            "const u64 group = first + part;",
            f"if ({left_over}group >= groups) return;",
            f"const u32 members = {hex((1 << self.size) - 1)}u << base;",
            f"const u32 here = groups - first < {self.groups} ? (u32)(groups - first) : {self.groups};",
            f"const u32 live = here * {self.size};",
            "const u32 warp = 0xffffffffu >> (32 - live);",
        ]
        tile = self.accesses.tile_bytes
        if tile:
            lines.append(f"__shared__ __align__(16) u8 tiles[{WARPS}][{tile}];")
            lines.append("u8 *const tile = tiles[threadIdx.x / 32];")
        return lines

    # Lines and names.

    def line(self, text: str) -> None:
        self.indent -= text.startswith("}")
        self.lines.append("    " * self.indent + text)
        self.indent += text.endswith("{")

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries}"

    def define(self, type: str, expression: str, name: str = "") -> str:
        """Declare a value. None is `const`: for each use of a `const` number, clang looks at both operands of a choice
        `m ? x : y` in its initial value, and so on through those, which takes for ever."""
        name = name or self.temporary()
        self.line(f"{TYPES[type]} {name} = {expression};")
        return name

    def column_name(self, value: Value, column: int) -> str:
        return f"v{value.number}_{column}" if value.format.extent > 1 else f"v{value.number}"

    def wanted(self, value: Value, column: int) -> Items:
        """Return the items for which a column of a value is demanded, one for each thread of a group."""
        return self.all_items(self.demand.of(value)[:, column])

    def all_items(self, lanes: Items) -> Items:
        """Return one element for each item of a group: a register of one item has the same in all threads."""
        return np.broadcast_to(lanes, (self.size,)) if lanes.shape[0] == 1 else lanes

    def name(self, value: Value, column: int, needed: Items) -> str:
        """Return the expression of a column, which has its number in the items that are needed."""
        if value.is_constant:
            return self.numbers.text(value.type, self.all_items(value.detail[:, column]), needed)
        return self.names[value.number][column]

    # Values.

    def block(self, block: Block) -> None:
        fetched = -1
        for number, value in enumerate(block.values):
            if value.op == "load" and number > fetched:
                loads = list(takewhile(lambda other: other.op == "load", block.values[number:]))
                fetched = number + len(loads) - 1
                self.accesses.fetch(loads)
            if value.op == "loop":
                self.loop(value)
            elif value.op in ("store", "scatter"):
                self.accesses.store(value)
            else:
                self.columns(value)

    def columns(self, value: Value) -> None:
        """Name every column of a value that something needs."""
        if value.op in ("load", "gather"):
            self.names[value.number] = self.accesses.load(value)
            return
        names = self.names[value.number] = [number_text(value.type, 0)] * value.format.extent
        for column in range(value.format.extent):
            needed = self.wanted(value, column)
            if needed.any():
                names[column] = self.column(value, column, needed)

    def column(self, value: Value, column: int, needed: Items) -> str:
        op = value.op
        if op == "group":
            return "group"
        if op == "argument":
            return f"arg_{value.detail}"
        if op == "result":
            return self.names[value.detail.number][column]
        if op == "permute":
            return self.permute(value, column, needed)
        if op == "lookup":
            return self.lookup(value, column, needed)
        operands = [self.name(operand, column, needed) for operand in value.operands]
        if op == "select" and operands[0] in ("true", "false"):
            # Only the items that want an operand decide what its constants are.
            return operands[1] if operands[0] == "true" else operands[2]
        name = self.column_name(value, column)
        if op in CONVERSIONS:
            return self.define(value.type, conversion_text(op, value.operands[0].type, value.type, operands[0]), name)
        assert op in OPERATIONS, op
        return self.define(value.type, operation_text(op, value.operands[-1].type, operands), name)

    def choose(self, type: str, choices: list[tuple[str, Items]]) -> str:
        """Return an expression that has each name in the items beside it; the last one stands for all others."""
        merged: dict[str, Items] = {}
        for name, items in choices:
            merged[name] = merged[name] | items if name in merged else items
        rows = sorted(merged.items(), key=lambda row: int(row[1].sum()))
        text = rows[-1][0]
        for name, items in reversed(rows[:-1]):
            text = f"{self.numbers.mask(items)} ? {name} : {text}"
        return text if len(rows) == 1 else self.define(type, text)

    # Moves between lanes.

    def permute(self, value: Value, column: int, needed: Items) -> str:
        source = value.operands[0]
        lanes = self.all_items(value.detail[:, column])
        needed = needed & (lanes >= 0)
        if not needed.any():
            return number_text(value.type, 0)
        items, columns = np.divmod(lanes.clip(0), source.format.extent)
        if source.format.items == 1 or is_own(items, needed):
            return self.choose(value.type, self.offers(source, columns, needed))
        parts = []
        for shuffle in plan_shuffles(items, columns, needed):
            offered = np.where(shuffle.offered < 0, shuffle.offered.max(), shuffle.offered)
            name = self.choose(value.type, self.offers(source, offered, np.ones(self.size, bool)))
            item = self.numbers.text("i32", shuffle.sources.astype(np.int32), np.ones(self.size, bool))
            parts.append((self.shuffle(value.type, name, item), shuffle.readers))
        return self.choose(value.type, parts)

    def offers(self, source: Value, columns: Items, needed: Items) -> list[tuple[str, Items]]:
        return [
            (self.name(source, int(column), needed & (columns == column)), needed & (columns == column))
            for column in np.unique(columns[needed])
        ]

    def shuffle(self, type: str, name: str, item: str) -> str:
        """Return what an item has in a register."""
        if self.size == 1 or name[0].isdigit() or name == "group" or name.startswith("arg_"):
            return name
        for known in reversed(self.moved):
            if (name, item) in known:
                return known[name, item]
        sent = name if type in ("i32", "i64", "float", "double") else f"(u32){name}"
        text = f"__shfl_sync(members, {sent}, base + {item})"
        if type == MASK:
            text += " != 0"
        elif sent != name:
            text = f"({TYPES[type]}){text}"
        moved = self.moved[-1][name, item] = self.define(type, text)
        return moved

    def lookup(self, value: Value, column: int, needed: Items) -> str:
        source, index = value.operands
        extent = source.format.extent
        known = classify(index, source.format)
        if isinstance(known, OwnElement):
            names = [self.name(source, number, needed) for number in range(extent)]
            return self.element(value, column, names, self.name(known.index, column, needed))
        if isinstance(known, OtherItem):
            assert known.item is not None
            columns = self.all_items(known.columns[:, column])
            item = f"(u32){self.name(known.item, column, np.ones(self.size, bool))}"
            parts = []
            for number in np.unique(columns[needed]):
                name = self.name(source, int(number), np.ones(self.size, bool))
                parts.append((self.shuffle(value.type, name, item), needed & (columns == number)))
            return self.choose(value.type, parts)
        place = self.name(index, column, np.ones(self.size, bool))
        item = self.define("i32", f"(u32)({place} / {extent}) % {self.size}")
        everyone = np.ones(self.size, bool)
        names = [self.shuffle(value.type, self.name(source, number, everyone), item) for number in range(extent)]
        return self.element(value, column, names, self.define("i64", f"{place} % {extent}"))

    def element(self, value: Value, column: int, names: list[str], index: str) -> str:
        """Return one of several variables by a number that is known at run time."""
        text = names[-1]
        for number in range(len(names) - 2, -1, -1):
            text = f"{index} == {number} ? {names[number]} : {text}"
        return text if len(names) == 1 else self.define(value.type, text, self.column_name(value, column))

    # Loops.

    def loop(self, value: Value) -> None:
        loop: Loop = value.detail
        everyone = np.ones(self.size, bool)
        self.hazards.enter_loop(loop)
        for carried, initial in zip(loop.carried, value.operands):
            names = self.names[carried.number] = []
            for column in range(carried.format.extent):
                names.append(self.column_name(carried, column))
                self.line(f"{TYPES[carried.type]} {names[-1]} = {self.name(initial, column, everyone)};")
        self.line("for (;;) {")
        self.depth += 1
        self.moved.append({})
        self.hazards.begin_turn(loop)
        self.block(loop.header)
        self.line(f"if (!{self.vote(loop.condition)}) break;")
        self.block(loop.body)
        self.next_values(loop)
        self.moved.pop()
        self.depth -= 1
        self.line("}")
        self.hazards.leave_loop(loop)

    def vote(self, condition: Value) -> str:
        """Return whether any item of the group goes on."""
        everyone = np.ones(self.size, bool)
        names = [self.name(condition, column, everyone) for column in range(condition.format.extent)]
        text = " || ".join(names)
        return f"({text})" if self.size == 1 else f"__any_sync(members, {text})"

    def next_values(self, loop: Loop) -> None:
        """Assign all carried values at once: one may be another's next value."""
        everyone = np.ones(self.size, bool)
        changes = []
        for carried, following in zip(loop.carried, loop.next_values):
            for column, name in enumerate(self.names[carried.number]):
                text = self.name(following, column, everyone)
                if text != name:
                    changes.append((carried.type, name, text))
        changed = {name for _, name, _ in changes}
        for number, (type, name, text) in enumerate(changes):
            if text in changed:
                changes[number] = (type, name, self.define(type, text))
        for _, name, text in changes:
            self.line(f"{name} = {text};")


def used_lines(lines: list[str], body: str) -> list[str]:
    """Return the lines whose variables are used by others that are kept, or by the body."""
    kept: list[str] = []
    words = set(WORD.findall(body))
    for line in reversed(lines):
        declared = WORD.findall(line.partition(" = ")[0])[-1]
        if not line.startswith("const ") or declared in words:
            kept.append(line)
            words.update(WORD.findall(line))
    return kept[::-1]
