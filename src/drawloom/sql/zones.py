"""AT TIME ZONE, which DataFusion plans as a cast to a type that its Substrait form does not tell, to functions: what a
zone's clocks show at a moment with a time zone, or the moment at which they show one without.

    select at at time zone 'Asia/Tokyo' from t   =>   select drawloom_local_moment('Asia/Tokyo', at) from t
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from drawloom.horse.zones import zone_of
from drawloom.sql.clauses import Sql
from drawloom.sql.names import LOCAL, UNIVERSAL, ZONE_CALLS
from drawloom.sql.planner import Planner
from drawloom.sql.text import SqlText
from drawloom.sql.typed import type_of

REFUSED: Final = "AT TIME ZONE of what has no type that the planner tells, or is no date or moment"
_WANTED: Final = re.compile(r"\bat\s+time\s+zone\b", re.IGNORECASE)
#: Words that a constant of their type stands behind, and those between a call and the brackets that belong to it.
_TYPES: Final = ("timestamp", "timestamptz", "date")
_OF_CALL: Final = ("over", "filter")
_NO_CALL: Final = frozenset(["in", "any", "all", "some", "exists", "values", "on", "then", "else", "when", "and", "or",
                             "not", "select", "where", "having", "by", "distinct", "between", "case"])  # fmt: skip


def may_have_zones(text: str) -> bool:
    return _WANTED.search(text) is not None


def wrong_zone(sql: Sql) -> tuple[str, int] | None:
    """What is wrong with the name of a time zone, and the offset of that; None where nothing is."""
    for i in _places(sql):
        name = _name(sql, i)
        if name and zone_of(name) is None:
            return f"there is no time zone '{name}'", sql.tokens[i + 3].start
    return None


def with_zones(text: SqlText, planner: Planner) -> None:
    """Puts calls in the place of every AT TIME ZONE. One that is not understood stays, and is unsupported."""
    if not may_have_zones(text.sql):
        return
    sql = Sql(text.sql)
    while places := _places(sql):
        changes = _called(sql, places[0], planner)
        if not changes:
            if REFUSED not in text.unsupported:
                text.unsupported.append(REFUSED)
            return
        text.change(changes)
        sql = Sql(text.sql)


def has_zones(text: str) -> bool:
    """Whether ``with_zones`` has changed the text."""
    return any(call in text for call in ZONE_CALLS)


def _places(sql: Sql) -> list[int]:
    return [i for i in range(1, len(sql.tokens) - 3) if sql.is_at(i, "at", "time", "zone") and _name(sql, i)]


def _name(sql: Sql, at: int) -> str:
    """The zone's name behind the words; "" where no constant stands there."""
    token = sql.tokens[at + 3]
    return token.text[1:-1] if token.kind == "string" and token.text.startswith("'") else ""


def _called(sql: Sql, at: int, planner: Planner) -> list[tuple[int, int, str]]:
    """What makes a call of the operand before the words, and of these; nothing where the planner does not tell its
    type."""
    start = _operand(sql, at - 1)
    type = type_of(sql, at, range(start, at), planner)
    if type is None or not (pa.types.is_timestamp(type) or pa.types.is_date(type)):
        return []
    has_zone = pa.types.is_timestamp(type) and type.tz is not None
    function = LOCAL if has_zone else UNIVERSAL
    first, last, zone = sql.tokens[start].start, sql.tokens[at - 1].end, sql.tokens[at + 3]
    if not has_zone and type != pa.timestamp("us"):
        return [(first, first, f"{function}({zone.text}, cast("), (last, zone.end, " as timestamp(6)))")]
    return [(first, first, f"{function}({zone.text}, "), (last, zone.end, ")")]


def _operand(sql: Sql, last: int) -> int:
    """Where the value begins whose last token is ``last``: a name, a constant, a call, what is in brackets, each with
    what is cast or taken of it."""
    tokens = sql.tokens
    at = last
    while True:
        if 0 <= tokens[at].mate < at:
            is_index = tokens[at].is_mark("]")
            at = tokens[at].mate
            before = tokens[at - 1]
            if at and before.is_word(*_OF_CALL):
                at -= 2
                continue
            if at and (is_index or (before.is_identifier and not before.is_word(*_NO_CALL))):
                at -= 1
                continue
        elif tokens[at].is_word("end"):
            opens = [i for i in range(at) if tokens[i].is_word("case") and tokens[i].depth == tokens[at].depth]
            at = opens[-1] if opens else at
        elif at > 2 and sql.is_at(at - 2, "with", "time", "zone"):
            at -= 3
        if at > 1 and tokens[at - 1].is_mark(".", "::"):
            at -= 2
        elif at and tokens[at].kind == "string" and tokens[at - 1].is_word(*_TYPES, "zone"):
            at -= 1
        elif at and tokens[at - 1].is_word("over"):
            at -= 2
        else:
            return at
