"""Finds what DataFusion's Substrait leaves out of window functions and aggregates, by the text of its plan: IGNORE
NULLS, DISTINCT, and the offsets of frames that are no integers, which it writes as if they were unbounded. A FILTER
of a window function that is still there is refused.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from drawloom.horse.types import DAY
from drawloom.sql import plan
from drawloom.sql.framestext import offset_in_groups
from drawloom.sql.names import known_aggregate
from drawloom.sql.windows import can_be_distinct

_LINE: Final = re.compile(r"^ *WindowAggr: windowExpr=\[\[(.*)\]\]$", re.MULTILINE)
_AGGREGATE: Final = re.compile(r"^ *Aggregate: groupBy=.*, aggr=\[\[(.*)\]\]$", re.MULTILINE)
_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_BOUND: Final = r"(CURRENT ROW|UNBOUNDED \w+|(?:[^{}]*?|IntervalMonthDayNano \{.*?\}) (?:PRECEDING|FOLLOWING))"
_FRAME: Final = re.compile(rf"\b(ROWS|RANGE) BETWEEN {_BOUND} AND {_BOUND}")
_SPAN: Final = re.compile(r"months: (-?\d+), days: (-?\d+), nanoseconds: (-?\d+)")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
#: What may follow a call.
_IGNORES: Final = "IGNORE NULLS"
_FILTERS: Final = "FILTER (WHERE "
_HIDDEN: Final = "window functions that the plan's text does not show"


def find_lost(root: plan.Relation, optimised: str, unsupported: list[str]) -> None:
    """Gives the window functions and aggregates of the decoded plan what the plan's text says of them; adds to
    ``unsupported`` what has no place there."""
    text = _TEXT.sub('""', optimised)
    lines = _LINE.findall(text)
    items = [item for line in lines for item in _items(line)]
    if any(_behind_call(item).startswith(_FILTERS) for item in items):
        unsupported.append("window functions: FILTER")
    if unsupported:
        return
    windows = _windows(root)
    if [w.function for w in windows] != [_name(i) for i in items]:
        unsupported.append(_HIDDEN)
        return
    for window, item in zip(windows, items):
        window.ignores_nulls = _behind_call(item).startswith(_IGNORES)
        window.is_distinct = item.partition("(")[2].startswith("DISTINCT ")
        if window.is_distinct and not can_be_distinct(window.function):
            unsupported.append(f"window function: {window.function} with DISTINCT")
        if not _set_frame(window, item):
            unsupported.append("window functions: RANGE with an offset that is no number and no interval")
    measures = [m for r in plan.relations(root) if isinstance(r, plan.Aggregate) for m in r.measures]
    told = [item for line in _AGGREGATE.findall(text) for item in _items(line)]
    if any(_IGNORES in _behind_call(item) for item in told):
        if [m.function for m in measures] != [_name(i) for i in told]:
            unsupported.append("IGNORE NULLS of aggregates that the plan's text does not show")
            return
        for measure, item in zip(measures, told):
            measure.ignores_nulls = _IGNORES in _behind_call(item)


def _windows(root: plan.Relation) -> list[plan.Window]:
    expressions = [e for relation in plan.relations(root) for e in relation.expressions()]
    return [part for e in expressions for part in plan.within(e) if isinstance(part, plan.Window)]


def _items(line: str) -> list[str]:
    """The expressions of a list, each with the name that it may have behind AS, which repeats what was written."""
    made: list[str] = []
    depth = start = 0
    for i, c in enumerate(line):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and line.startswith(", ", i):
            made.append(line[start:i])
            start = i + 2
    made.append(line[start:])
    return [item for item in made if item]


def _behind_call(item: str) -> str:
    """What follows the call that an expression begins with."""
    depth = 0
    for i, c in enumerate(item):
        depth += (c == "(") - (c == ")")
        if c == ")" and depth == 0:
            return item[i + 1 :].lstrip()
    return ""


def _name(item: str) -> str:
    return known_aggregate(item.partition("(")[0])


def _set_frame(window: plan.Window, item: str) -> bool:
    """Sets the frame as the text has it; False for an offset of another kind."""
    match = _FRAME.search(item)
    if match is None:
        return True
    low, high = [_offset(match[i]) for i in (2, 3)]
    if isinstance(low, str) or isinstance(high, str):
        return False
    window.frame = plan.WindowFrame(match[1].lower(), low, high)
    if match[1] == "ROWS" and any(offset_in_groups(b) is not None for b in (low, high) if isinstance(b, int)):
        low, high = [offset_in_groups(b) if isinstance(b, int) else None for b in (low, high)]
        window.frame = plan.WindowFrame("groups", low, high)
    return True


def _offset(bound: str) -> plan.Offset | str:
    """The offset of a bound; its text where that is none."""
    if bound == "CURRENT ROW":
        return 0
    amount, _, side = bound.rpartition(" ")
    if amount == "UNBOUNDED":
        return None
    sign = 1 if side == "FOLLOWING" else -1
    span = _SPAN.search(amount)
    if span is not None:
        months, days, nanos = [int(g) for g in span.groups()]
        return plan.Span(sign * months, sign * (days * DAY + nanos // 1000))
    if _NUMBER.fullmatch(amount) is None:
        return bound
    number = Fraction(amount)
    return sign * int(number) if number.denominator == 1 else sign * number
