"""Warp operations as functions of what the participating lanes bring (PTX ISA 9.0 section 9.7.9.6 and 9.7.13).

``values`` maps a lane to the tuple of its source operands. Only lanes that take part are in it: lanes outside of the
member mask, lanes that exited and lanes beyond the end of the block are not. The result maps every participating
lane to what it writes to its one or two destinations; None is an undefined value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.reference.floats import maximum, minimum
from drawloom.reference.formats import F32
from drawloom.reference.integers import MASK32, reader

Values = dict[int, tuple[int | None, ...]]
Results = dict[int, tuple[int | None, ...]]
Collective = Callable[[Values], Results]


def _number(value: int | None) -> int:
    if value is None:
        raise TypeError("an undefined value")
    return value


def _lane_mask(values: Values) -> int:
    return sum([1 << lane for lane in values])


def shuffle_source(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """``(source lane, in range)``; a lane whose source is out of range reads itself."""
    bval, cval, segment = b & 31, c & 31, c >> 8 & 31
    max_lane = lane & segment | cval & ~segment
    min_lane = lane & segment
    if mode == "up":
        j = lane - bval
        in_range = j >= max_lane
    elif mode == "down":
        j = lane + bval
        in_range = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        in_range = j <= max_lane
    else:
        j = min_lane | bval & ~segment
        in_range = j <= max_lane
    return (j, True) if in_range else (lane, False)


def _shfl(op: Opcode) -> Collective:
    mode = op.operation

    def shfl(values: Values) -> Results:
        out: Results = {}
        for lane, operands in values.items():
            source, in_range = shuffle_source(mode, lane, _number(operands[1]), _number(operands[2]))
            # The value of a lane that takes no part is undefined.
            out[lane] = (values[source][0] if source in values else None, 1 if in_range else 0)
        return out

    return shfl


def _vote(op: Opcode) -> Collective:
    operation = op.operation

    def vote(values: Values) -> Results:
        predicates = {lane: _number(v[0]) for lane, v in values.items()}
        if operation == "ballot":
            result = sum([p << lane for lane, p in predicates.items()])
        elif operation == "all":
            result = int(all(predicates.values()))
        elif operation == "any":
            result = int(any(predicates.values()))
        else:
            result = int(len(set(predicates.values())) == 1)
        return dict.fromkeys(values, (result,))

    return vote


def _match(op: Opcode) -> Collective:
    def match_any(values: Values) -> Results:
        groups: dict[int, int] = {}
        for lane, operands in values.items():
            key = _number(operands[0])
            groups[key] = groups.get(key, 0) | 1 << lane
        return {lane: (groups[_number(v[0])],) for lane, v in values.items()}

    def match_all(values: Values) -> Results:
        same = len({_number(v[0]) for v in values.values()}) == 1
        return dict.fromkeys(values, (_lane_mask(values), 1) if same else (0, 0))

    return match_any if op.operation == "any" else match_all


def _redux(op: Opcode) -> Collective:
    type = op.type
    assert type is not None
    number = reader(type)
    operation = op.operation
    select = minimum if operation == "min" else maximum
    absolute, propagate = op.has("abs"), op.nan

    def redux_float(values: Values) -> Results:
        terms = [_number(v[0]) & (F32.magnitude_mask if absolute else MASK32) for v in values.values()]
        out = terms[0] if not F32.is_nan(terms[0]) else F32.nan
        for term in terms[1:]:
            out = select(F32, out, term, propagate)
        return dict.fromkeys(values, (out,))

    def redux(values: Values) -> Results:
        terms = [number(_number(v[0])) for v in values.values()]
        out = terms[0]
        for term in terms[1:]:
            if operation == "add":
                out += term
            elif operation == "min":
                out = min(out, term)
            elif operation == "max":
                out = max(out, term)
            elif operation == "and":
                out &= term
            elif operation == "or":
                out |= term
            else:
                out ^= term
        return dict.fromkeys(values, (out & MASK32,))

    return redux_float if type.is_float else redux


def _activemask(op: Opcode) -> Collective:
    return lambda values: dict.fromkeys(values, (_lane_mask(values),))


def _elect(op: Opcode) -> Collective:
    """The manual leaves the choice open but constant for one mask; it is the lowest lane here."""

    def elect(values: Values) -> Results:
        leader = min(values)
        return {lane: (leader, 1 if lane == leader else 0) for lane in values}

    return elect


def _bar_warp(op: Opcode) -> Collective:
    return lambda values: dict.fromkeys(values, ())


COLLECTIVES: Final[dict[str, Callable[[Opcode], Collective]]] = {
    "shfl": _shfl, "vote": _vote, "match": _match, "redux": _redux, "activemask": _activemask, "elect": _elect,
    "bar.warp": _bar_warp,
}  # fmt: skip
