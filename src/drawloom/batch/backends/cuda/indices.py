"""What is known about lanes that a `lookup` reads at run time: which item they belong to, and which column.

The front end makes two kinds of them. An element of an item's own array is `wi * extent + index`, an index in the
array's bounds; a shuffle is `lane * extent + column`, a lane below the group's size. Everything else may be any lane.
"""

from __future__ import annotations

import numpy as np

from drawloom.batch.ir.ir import Format, Lanes, Value


class OwnElement:
    """Every item reads the element `index` of its own registers."""

    def __init__(self, index: Value) -> None:
        self.index = index


class OtherItem:
    """Lane (wi, ix) reads element columns[wi, ix] of the item `item`."""

    def __init__(self, item: Value | None, columns: Lanes) -> None:
        self.item = item
        self.columns = columns


def classify(index: Value, source: Format) -> OwnElement | OtherItem | None:
    """Return what is known about the lanes of a register that an index reads; None where nothing is."""
    if source.items == 1:
        return OwnElement(index)
    rest, added = split_sum(index)
    rows = np.broadcast_to(np.arange(index.format.items)[:, None] * source.extent, index.format)
    if index.format.items == source.items and (added == rows).all() and bound_of(rest) <= source.extent:
        return OwnElement(rest)
    if (added < 0).any() or (added >= source.extent).any():
        return None
    if source.extent == 1:
        return OtherItem(index, added) if bound_of(index) <= source.items else None
    if rest.op == "mul" and rest.operands[1].is_constant and (rest.operands[1].detail == source.extent).all():
        item = rest.operands[0]
        return OtherItem(item, added) if bound_of(item) <= source.items else None
    return None


def split_sum(index: Value) -> tuple[Value, Lanes]:
    """Return a value and the constant lanes that are added to it."""
    if index.op == "add":
        for value, constant in (index.operands, index.operands[::-1]):
            if constant.is_constant:
                return value, constant.detail
    return index, np.zeros(index.format, np.int64)


#: More lanes than any register has.
UNBOUNDED = 1 << 62


def bound_of(value: Value) -> int:
    """Return a number that all lanes are below, none of which is negative; `UNBOUNDED` where none is known."""
    op, operands = value.op, value.operands
    if value.is_constant:
        return int(value.detail.max()) + 1 if value.detail.min() >= 0 else UNBOUNDED
    if op in ("permute", "zext"):
        return bound_of(operands[0]) if operands[0].type == "i64" or op == "permute" else UNBOUNDED
    if op == "and":
        return min(bound_of(operand) for operand in operands)
    if op == "urem" and operands[1].is_constant:
        return bound_of(operands[1]) - 1
    if op == "select":
        return bound_of_select(*operands)
    return UNBOUNDED


def bound_of_select(condition: Value, then: Value, otherwise: Value) -> int:
    """Bound a choice: of an index that is in bounds or 0, of a remainder that was made positive, or of two bounds."""
    if condition.op == "icmp ult" and condition.operands[0] is then and condition.operands[1].is_constant:
        return max(int(condition.operands[1].detail.max()), bound_of(otherwise))
    if condition.op == "icmp slt" and otherwise.op == "srem" and condition.operands[0] is otherwise:
        divisor = otherwise.operands[1]
        is_zero = condition.operands[1].is_constant and not condition.operands[1].detail.any()
        is_sum = then.op == "add" and then.operands[0] is otherwise and then.operands[1] is divisor
        if divisor.is_constant and (divisor.detail > 0).all() and is_zero and is_sum:
            return int(divisor.detail.max())
    return max(bound_of(then), bound_of(otherwise))
