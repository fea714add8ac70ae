"""InfReg-IR (paper, section 3.2): values are registers of unbounded width, in static single assignment.

    kernel  ::= NAME wg_size parameter* block
    block   ::= value*
    value   ::= constant lanes | group | argument NAME
              | operation value*                              -- lane by lane (`operations.py`)
              | permute lanes value                           -- lane l of the result is lane lanes[l] of the operand
              | lookup value value                            -- the same with lanes that are known at run time only
              | load access [mask] | gather access index [mask]
              | store access value [mask] | scatter access value index [mask]
              | loop carried* header-block condition body-block next* | carried | result carried loop

A register holds the lanes of one work-group: `Format(items, extent)` has `extent` lanes for each of `items` work-items,
lane (wi, ix) at wi * extent + ix. A private variable's register has all items of the group, a local variable's has
one, which stands for the group. All lanes of a register have one scalar type. Operations combine equal lanes only:
`permute` and `lookup` are all that moves data between lanes, and only those of a `shuffle` move it between items.

How lanes of a group, and groups side by side (WG_PACK), lie in real vectors is the back ends' choice (`layout.py`).
A lane that a permutation leaves out (-1), or that an access leaves inactive, holds an arbitrary number.

A loop runs its header and leaves when the condition is false in every lane of a group. The carried values of a group
that has left keep what they had then: every change in the body is a `select` by the condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[Any]

DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}
BITS: Final = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
#: What no value uses: stores give nothing.
VOID: Final = "void"
UNDEFINED: Final = -1
MASK: Final = "i1"


class Format(NamedTuple):
    """The lanes of a register: `extent` for each of `items` work-items."""

    items: int
    extent: int

    @property
    def lanes(self) -> int:
        return self.items * self.extent


class Term(NamedTuple):
    """A product of run-time numbers ("group" or names of parameters) times a coefficient for each lane."""

    factors: tuple[str, ...]
    coefficients: Lanes


class Access:
    """The elements of a pointer's memory that the lanes of a register stand for.

    Lane l is element offsets[l] + sum of the terms; a gather or scatter adds its index. Lanes that are not `active`
    touch no memory. All arrays have the format's shape (items, extent); offsets and coefficients are int64.
    """

    __slots__ = ("active", "offsets", "pointer", "terms")

    def __init__(self, pointer: str, terms: tuple[Term, ...], offsets: Lanes, active: Lanes) -> None:
        self.pointer = pointer
        self.terms = terms
        self.offsets = offsets
        self.active = active


class Value:
    """One instruction and the register that it writes. `number` is unique in the kernel and grows in program order.

    `detail` is what the operation needs besides operands: the lanes of a constant (of the type) or a permutation
    (int32), shaped (items, extent); an argument's name; an `Access`; a `Loop`; the carried value of a result.
    """

    __slots__ = ("detail", "format", "number", "op", "operands", "type")

    def __init__(
        self, number: int, op: str, type: str, format: Format, operands: tuple[Value, ...], detail: Any
    ) -> None:
        self.number = number
        self.op = op
        self.type = type
        self.format = format
        self.operands = operands
        self.detail = detail

    @property
    def is_constant(self) -> bool:
        return self.op == "constant"

    def __repr__(self) -> str:
        return f"%{self.number} = {self.op} {self.type} {self.format.items}x{self.format.extent}"


class Block:
    """Values in program order. Constants are in no block."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[Value] = []


class Loop:
    """What a `loop` value runs; its operands are the initial values of the carried ones."""

    __slots__ = ("body", "carried", "condition", "header", "next_values")

    def __init__(self, carried: list[Value]) -> None:
        self.carried = carried
        self.header = Block()
        self.body = Block()
        self.condition: Value = carried[-1]
        self.next_values: list[Value] = []


class Parameter(NamedTuple):
    """`type` is what a pointer points to; `is_written` says whether a kernel stores through it."""

    name: str
    type: str
    is_pointer: bool
    is_written: bool


class Kernel:
    """`most_groups` is the largest number of groups for which the kernel's index arithmetic is known not to wrap."""

    def __init__(
        self, name: str, wg_size: int, parameters: list[Parameter], body: Block, most_groups: int = 2**40
    ) -> None:
        self.name = name
        self.wg_size = wg_size
        self.parameters = parameters
        self.body = body
        self.most_groups = most_groups

    def parameter(self, name: str) -> Parameter:
        return next(parameter for parameter in self.parameters if parameter.name == name)

    def blocks(self) -> Iterator[Block]:
        """Yield every block, outer ones first."""
        waiting = [self.body]
        while waiting:
            block = waiting.pop(0)
            yield block
            for value in block.values:
                if value.op == "loop":
                    waiting += [value.detail.header, value.detail.body]

    def count(self) -> int:
        """Return the number of instructions."""
        return sum(len(block.values) for block in self.blocks())


def splat(format: Format, type: str, number: Any) -> Lanes:
    """Return lanes that all hold one number."""
    return np.broadcast_to(np.asarray(number, DTYPES[type]), format)
