"""Constants that are cast to integers, so that they are rounded: the planner computes them itself, and cuts them off.

cast(1.5 + 1 as int)   =>   cast(round(1.5 + 1) as int)
(2.5 * 3)::bigint      =>   round(2.5 * 3)::bigint
'2.5'::int             =>   drawloom_text('2.5')::int
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
_WANTED: Final = re.compile(rf"\b(?:{'|'.join(sorted(INTEGERS))})\b", re.IGNORECASE)
_REAL: Final = re.compile(r"'\s*[+-]?(?:\d+\.\d*|\.\d+|\d+e[+-]?\d+)(?:e[+-]?\d+)?\s*'", re.IGNORECASE)


def rounded(text: str) -> dict[int, str]:
    """What to put in, by the offset that it stands at."""
    made: dict[int, str] = {}
    if not _WANTED.search(text):
        return made
    sql = Sql(text)
    for i, token in enumerate(sql.tokens):
        if not token.is_word(*INTEGERS) or i < 2:
            continue
        before = sql.tokens[i - 1]
        given = range(0)
        if before.is_mark("::"):
            given = range(_operand(sql, i - 2), i - 1)
        elif before.is_word("as"):
            opens = [j for j in range(i - 1) if sql.tokens[j].mate == i + 1]
            given = range(opens[-1] + 1, i - 1) if opens and sql.is_at(opens[-1] - 1, "cast") else given
        function = _function(sql, given)
        if function:
            start, end = sql.tokens[given.start].start, sql.tokens[given.stop - 1].end
            made[start] = f"{function}(" + made.get(start, "")
            made[end] = made.get(end, "") + ")"
    return made


def _operand(sql: Sql, last: int) -> int:
    """Where the operand of ``::`` begins whose last token is ``last``."""
    start = last
    while start > 0:
        token = sql.tokens[start]
        if token.is_mark(")") and token.mate >= 0:
            start = token.mate
            before = sql.tokens[start - 1] if start else token
            if before.kind == "word" and not before.is_word(*BEFORE, *OPERATORS):
                start -= 1  # a function, or the type that its brackets belong to
        if start < 2 or not sql.tokens[start - 1].is_mark("::"):
            return start
        start -= 2
    return start


def _function(sql: Sql, tokens: range) -> str:
    """What is to be called with a value before it is cast; "" for nothing."""
    found = [sql.tokens[i] for i in tokens]
    if len(found) == 1 and found[0].kind == "string":
        return TEXT if _REAL.fullmatch(found[0].text) else ""
    has_point = any(t.kind == "number" and "." in t.text and "e" not in t.text.lower() for t in found)
    is_constant = all(t.kind == "number" or t.is_mark(*_MARKS) or t.is_word(*_WORDS) for t in found)
    return "round" if has_point and is_constant else ""
