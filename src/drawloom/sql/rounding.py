"""Casts to integers and decimals that the planner would compute without rounding.

Constants it computes itself, and cuts them off. A comparison of a cast with a constant it makes one of what is cast,
``cast(d as int) > 1`` one of d and 1.00, unless it does not see the cast: the greatest of one value is that value.

    cast(1.5 + 1 as int)   =>   cast(round(1.5 + 1) as int)
    (2.5 * 3)::bigint      =>   round(2.5 * 3)::bigint
    '2.5'::int             =>   drawloom_text('2.5')::int
    cast(t.d as int)       =>   greatest(cast(t.d as int))
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.clauses import BEFORE, OPERATORS, Sql

#: The function that constant texts are which are not to be folded.
TEXT: Final = "drawloom_text"
INTEGERS: Final = frozenset([
    "tinyint", "smallint", "int", "integer", "bigint", "int1", "int2", "int4", "int8",
])  # fmt: skip
#: Other words of constants, their casts and what the planner computes of them; not of quotients, which are doubles.
_WORDS: Final = frozenset([
    "cast", "as", "decimal", "numeric", "abs", "round", "trunc", "floor", "ceil", "greatest", "least", "coalesce",
    *INTEGERS,
])  # fmt: skip
_MARKS: Final = frozenset(["+", "-", "*", "%", "(", ")", ",", "::"])
_DECIMALS: Final = ("decimal", "numeric")
_WANTED: Final = re.compile(rf"\b(?:{'|'.join([*sorted(INTEGERS), *_DECIMALS])})\b", re.IGNORECASE)
_REAL: Final = re.compile(r"'\s*[+-]?(?:\d+\.\d*|\.\d+|\d+e[+-]?\d+)(?:e[+-]?\d+)?\s*'", re.IGNORECASE)


#: A call of greatest or least with one argument in a name.
_HIDDEN: Final = re.compile(r"\b(?:greatest|least)\(((?:[^(),]|\((?:[^()]|\([^()]*\))*\))*)\)")


def rounded(text: str) -> dict[int, str]:
    """What to put in, by the offset that it stands at."""
    made: dict[int, str] = {}
    if not _WANTED.search(text):
        return made
    sql = Sql(text)
    for i, token in enumerate(sql.tokens):
        if not token.is_word(*INTEGERS, *_DECIMALS) or i < 2:
            continue
        last = i  # of the type
        if i + 1 < len(sql.tokens) and sql.tokens[i + 1].is_mark("(") and sql.tokens[i + 1].mate > 0:
            last = sql.tokens[i + 1].mate
        last += sql.is_at(last + 1, "unsigned")
        if last + 1 < len(sql.tokens) and sql.tokens[last + 1].is_mark("["):
            continue  # a list of them
        before = sql.tokens[i - 1]
        given = whole = range(0)
        if before.is_mark("::"):
            given = range(operand_start(sql, i - 2), i - 1)
            whole = range(given.start, last + 1)
        elif before.is_word("as") and last + 1 < len(sql.tokens):
            opens = sql.tokens[last + 1].mate
            if opens > 0 and sql.tokens[opens - 1].is_word("cast", "try_cast"):
                given, whole = range(opens + 1, i - 1), range(opens - 1, last + 2)
        if not given or given.start < 0:
            continue
        function = _function(sql, given) if token.is_word(*INTEGERS) else ""
        if function:
            _call(sql, function, given, made)
        elif not _is_constant(sql, given):
            _call(sql, "greatest", whole, made)
    return made


def seen(name: str) -> str:
    """The name that the planner gives a column, without the calls that hide casts."""
    found = _HIDDEN.sub(r"\1", name)
    return found if found == name else seen(found)


def _call(sql: Sql, function: str, tokens: range, made: dict[int, str]) -> None:
    start, end = sql.tokens[tokens.start].start, sql.tokens[tokens.stop - 1].end
    made[start] = f"{function}(" + made.get(start, "")
    made[end] = made.get(end, "") + ")"


def operand_start(sql: Sql, last: int) -> int:
    """Where the operand of ``::`` begins whose last token is ``last``; -1 where that is not told."""
    start = last
    while True:
        token = sql.tokens[start]
        if token.is_word("end"):
            start = _case(sql, start)
        if token.is_mark(")", "]"):
            start = token.mate
            before = sql.tokens[start - 1] if start > 0 else token
            is_name = before.is_identifier and not before.is_word(*BEFORE, *OPERATORS)
            if start > 0 and (is_name or before.is_mark(")", "]")):
                start -= 1  # a function, the type that its brackets belong to, or what is looked into
                continue
        if start >= 2 and sql.tokens[start - 1].is_mark(".", "::"):
            start -= 2
            continue
        return start


def _case(sql: Sql, last: int) -> int:
    """Where the CASE begins whose END is the token ``last``; -1 where there is none."""
    depth = 0
    for i in range(last, -1, -1):
        depth += sql.tokens[i].is_word("end") - sql.tokens[i].is_word("case")
        if depth == 0:
            return i
    return -1


def _function(sql: Sql, tokens: range) -> str:
    """What is to be called with a constant before it is cast; "" for nothing."""
    found = [sql.tokens[i] for i in tokens]
    if len(found) == 1 and found[0].kind == "string":
        return TEXT if _REAL.fullmatch(found[0].text) else ""
    has_point = any(t.kind == "number" and "." in t.text and "e" not in t.text.lower() for t in found)
    return "round" if has_point and _is_constant(sql, tokens) else ""


def _is_constant(sql: Sql, tokens: range) -> bool:
    found = [sql.tokens[i] for i in tokens]
    return all(t.kind in ("number", "string") or t.is_mark(*_MARKS) or t.is_word(*_WORDS) for t in found)
