"""``@contains`` of integers within known bounds into a table of those that there are, and a look into it for each row.

    c = @contains(@list(a), @list(b))    ->    p = @present(b, low, high)    (c = whether p has a, element by element)

The table is control code; the look is element-wise, an indexed read in a register (thesis section 4.3.3), so that the
mask is of the kernel that computes ``a`` and of those that read it, and the keys are never in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.ir import (
    Assign,
    Call,
    Function,
    FunctionRef,
    If,
    Literal,
    Loop,
    Name,
    Operand,
    Statement,
    Target,
    assigned_once,
    walk,
    with_bodies,
)
from drawloom.horse.ranges import Facts, Range, Ranges
from drawloom.horse.shapes import Shape, base
from drawloom.horse.signatures import plus_type
from drawloom.horse.templates import S64, fits
from drawloom.horse.types import BOOL, I64, Type, VectorType

#: A table has an element for each of so many times the rows of the largest stored table (``matching.py`` has the like).
SPARSE: Final = 8


class Probe:
    """``mask = @contains`` of the integers ``keys`` among ``others``, all of which are within ``within``."""

    def __init__(self, mask: str, keys: Name, others: Name, within: Range) -> None:
        self.mask = mask
        self.keys = keys
        self.others = others
        self.within = within


def with_probes(
    main: Function,
    types: dict[str, Type],
    ranges: Ranges,
    shapes: dict[str, Shape],
    facts: Facts,
    fresh: Callable[[str], str],
) -> Function:
    """``main`` with tables in place of what ``@contains`` asks of integers; itself, where there is none such. ``fresh``
    makes a new name out of one."""
    once = assigned_once(main)
    calls = {s.targets[0].name: s.value for s in walk(main.body) if isinstance(s, Assign) and isinstance(s.value, Call)}
    single = {name: call for name, call in calls.items() if name in once}
    most = SPARSE * max([facts.rows(table) for table in ranges.tables.values()], default=0)
    found: dict[str, Probe] = {}
    for name, call in single.items():
        if call.function.name == "contains":
            sides = [_single_key(argument, single, once) for argument in call.arguments]
            if sides[0] is not None and sides[1] is not None:
                probe = _probe(name, sides[0], sides[1], types, ranges, shapes, most)
                if probe is not None:
                    found[name] = probe
    if not found:
        return main

    def body(statements: list[Statement]) -> list[Statement]:
        made: list[Statement] = []
        for statement in statements:
            if isinstance(statement, If | Loop):
                made.append(with_bodies(statement, body))
            elif isinstance(statement, Assign) and statement.targets[0].name in found:
                made.extend(_statements(found[statement.targets[0].name], types, ranges, fresh))
            else:
                made.append(statement)
        return made

    return Function(main.name, main.params, main.returns, body(main.body), main.is_kernel, main.pos)


def _single_key(operand: Operand, calls: dict[str, Call], once: set[str]) -> Name | None:
    """The one column of a list of keys."""
    call = calls.get(operand.name) if isinstance(operand, Name) else None
    if call is None or call.function.name != "list" or len(call.arguments) != 1:
        return None
    key = call.arguments[0]
    return key if isinstance(key, Name) and key.name in once else None


def _probe(
    mask: str,
    keys: Name,
    others: Name,
    types: dict[str, Type],
    ranges: Ranges,
    shapes: dict[str, Shape],
    most: int,
) -> Probe | None:
    left, right = types[keys.name], types[others.name]
    if not isinstance(left, VectorType) or not isinstance(right, VectorType):
        return None
    if not (left.is_integer and right.is_integer and fits(ranges.of(keys, left), S64)) or keys.name == others.name:
        return None
    within, of = ranges.of(others, right), ranges.of(keys, left)
    if within is None or of is None or not 0 <= within[1] - within[0] < most:
        return None
    # The difference below must not overflow for any key.
    is_exact = fits((of[0] - within[0], of[1] - within[0]), S64) and fits(within, S64)
    return Probe(mask, keys, others, within) if is_exact and base(shapes[keys.name].size) is not None else None


def _statements(probe: Probe, types: dict[str, Type], ranges: Ranges, fresh: Callable[[str], str]) -> list[Statement]:
    made: list[Statement] = []
    low, high = [Literal([bound], I64) for bound in probe.within]
    type = types[probe.keys.name]
    assert isinstance(type, VectorType)

    def assign(call: str, type: VectorType, *arguments: Operand, name: str = "") -> Name:
        target = name or fresh(probe.mask)
        made.append(Assign([Target(target, type)], Call(FunctionRef(call), list(arguments))))
        return Name(target)

    table = assign("present", BOOL, probe.others, low, high)
    place = assign("minus", plus_type(type, I64), probe.keys, low)
    if not fits(ranges.of(probe.keys, type), probe.within):
        above, below = assign("geq", BOOL, probe.keys, low), assign("leq", BOOL, probe.keys, high)
        inside = assign("and", BOOL, above, below)
        place = assign("if_else", I64, inside, place, Literal([-1], I64))
    assign("outer_index", BOOL, table, place, name=probe.mask)
    return made
