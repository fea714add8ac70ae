"""IN lists of one value in one query, which DataFusion makes one list of, and takes an empty one for false where the
value is NULL; the least of one value is that value, and another expression to the planner:

    not (a in (1, 2) and a in (3))   =>   not (a in (1, 2) and least(a) in (3))
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.clauses import Sql, left_side

_IN: Final = re.compile(r"\bin\s*\(", re.IGNORECASE)


def kept_apart(text: str) -> dict[int, str]:
    """What to put in, by the offset that it stands at."""
    made: dict[int, str] = {}
    if len(_IN.findall(text)) < 2:
        return made
    sql = Sql(text)
    lists: dict[str, list[str]] = {}
    for i, token in enumerate(sql.tokens[:-1]):
        if not token.is_word("in") or not sql.is_at(i + 1, "(") or sql.tokens[i + 1].mate < 0:
            continue
        if sql.is_at(i + 2, "select") or sql.is_at(i + 2, "with"):
            continue
        last = i - 1 - sql.is_at(i - 1, "not")
        start = left_side(sql, last)
        if start < 0:
            continue
        value, options = _words(sql, range(start, last + 1)), _words(sql, range(last + 1, sql.tokens[i + 1].mate + 1))
        others = lists.setdefault(value, [])
        found = f"not {options}" if sql.is_at(start - 1, "not") else options
        if found not in others:
            others.append(found)
        times = others.index(found)
        begin, end = sql.tokens[start].start, sql.tokens[last].end
        made[begin] = made.get(begin, "") + "least(" * times
        made[end] = made.get(end, "") + ")" * times
    return {offset: marks for offset, marks in made.items() if marks}


def _words(sql: Sql, tokens: range) -> str:
    """What expressions have in common that are the same, with the names of tables or without them, and in brackets."""
    while tokens and sql.tokens[tokens.start].mate == tokens.stop - 1:
        tokens = tokens[1:-1]
    found = [sql.tokens[i] for i in tokens if not (sql.is_at(i + 1, ".") or sql.is_at(i, "."))]
    return " ".join([t.text for t in found])
