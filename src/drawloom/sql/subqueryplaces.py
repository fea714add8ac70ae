"""Where a text has subqueries within expressions, and what each is there for: its value, whether it has rows, or to be
compared with any or all of them.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.clauses import SETS, Sql, left_side, replaced

_COMPARISONS: Final[dict[str, str]] = {
    "=": "equal", "<>": "not_equal", "!=": "not_equal", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte",
}  # fmt: skip
_FROM_FIRST: Final = re.compile(r"\(\s*+from\b", re.IGNORECASE)
#: Words that ask whether a value is NULL.
_ASKING: Final = ("is", "coalesce", "ifnull", "nvl", "nvl2")


class Place:
    """A subquery in brackets, tokens ``open`` to ``close``, and the tokens from ``start`` on that it goes with."""

    def __init__(self, open: int, close: int, start: int, kind: str, comparison: str = "", value: str = "") -> None:
        self.open = open
        self.close = close
        self.start = start
        self.kind = kind
        self.comparison = comparison
        self.value = value
        self.is_negated = False


def place_at(sql: Sql, open: int) -> Place | None:
    """What the bracket at a token opens; None for a table, a named query, one side of a set, and what is not
    understood."""
    around = sql.within(open)
    if around is None or open == 0:
        return None
    close, before = sql.tokens[open].mate, sql.tokens[open - 1]
    if before.is_word("exists"):
        return Place(open, close, open - 1, "exists")
    if before.is_word("in"):
        is_negated = sql.tokens[open - 2].is_word("not")
        place = _compared(sql, open, open - 2 - is_negated, "any", "equal")
        if place is not None:
            place.is_negated = is_negated
        return place
    if before.is_word("any", "all", "some") and sql.tokens[open - 2].text in _COMPARISONS:
        kind = "all" if before.text == "all" else "any"
        return _compared(sql, open, open - 3, kind, _COMPARISONS[sql.tokens[open - 2].text])
    if before.is_word("from", "join", "lateral", "as", "all", "distinct", "materialized", *SETS):
        return None
    if before.is_mark(",") and around.clause_at(open) == "from" and sql.tokens[open].depth == around.depth:
        return None
    if before.is_mark("("):
        outside = sql.tokens[open - 2]
        if around.clause_at(open) == "from" or outside.is_word("in", "any", "all", "some", "exists"):
            return None
    return Place(open, close, open, "scalar")


def _compared(sql: Sql, open: int, last: int, kind: str, comparison: str) -> Place | None:
    """The subquery with the left side of its comparison, whose last token is ``last``; None where that is not told."""
    start = left_side(sql, last)
    if start < 0:
        return None
    return Place(open, sql.tokens[open].mate, start, kind, comparison, sql.between(start, last + 1))


def row_of(value: str) -> list[str]:
    """What a row in brackets has; the value alone where it is none, and nothing of nothing."""
    sql = Sql(value)
    last = len(sql.tokens) - 1
    if last > 0 and sql.tokens[0].is_mark("(") and sql.tokens[0].mate == last:
        return [sql.between(part.start, part.stop) for part in sql.parts(range(1, last))]
    return [value] if value else []


def has_rows(text: str) -> bool:
    """Whether a text asks if rows of several values are among those of a subquery, for which DataFusion has no plan."""
    return without_rows(text) != text


def without_rows(text: str) -> str:
    """The text in which tests of several values have a form that DataFusion binds, with the same types and the names
    that those of one value have:

    select (a, b) in (select c, d from u) as x from t
    =>  select ((a) is null or (b) is null) in (select exists (select c, d from u)) as x from t
    """
    if text.lower().count("select") < 2:
        return text
    while True:
        sql = Sql(text)
        place = _row_place(sql)
        if place is None:
            return text
        start, end = sql.tokens[place.start].start, sql.tokens[place.close].end
        values = " or ".join([f"({value}) is null" for value in row_of(place.value)])
        body = sql.between(place.open, place.close + 1)
        text = replaced(text, [(start, end, f"({values}) {'not ' * place.is_negated}in (select exists {body})")])


def _row_place(sql: Sql) -> Place | None:
    """The first subquery that several values are asked to be among."""
    for i, token in enumerate(sql.tokens[:-1]):
        if i and token.is_mark("(") and sql.tokens[i - 1].is_word("in") and sql.tokens[i + 1].is_word("select", "with"):
            place = place_at(sql, i)
            if place is not None and len(row_of(place.value)) > 1:
                return place
    return None


def selections(text: str) -> dict[int, str]:
    """What to put in, by the offset that it stands at, for subqueries that are a FROM alone, of which DataFusion takes
    no columns within a join.

    select * from (from t) a, u   =>   select * from (select * from t) a, u
    """
    if _FROM_FIRST.search(text) is None:
        return {}
    sql = Sql(text)
    made: dict[int, str] = {}
    for i, token in enumerate(sql.tokens):
        if token.is_mark("(") and token.mate > i and sql.is_at(i + 1, "from"):
            inside = sql.tokens[i + 1 : token.mate]
            if not any(t.is_word("select") and t.depth == token.depth + 1 for t in inside):
                made[sql.tokens[i + 1].start] = "select * "
    return made


def nullable(text: str) -> dict[int, str]:
    """What to put in, by the offset that it stands at, for the planner not to take subqueries that stand for a value
    for ones that always have one, as it does of a count of groups: the least of one value may be NULL to it. (The
    greatest of one value is a cast, in ``rounding.py``.)

    select (select count(*) from u group by a limit 1) is null   =>   select least((select ...)) is null
    """
    made: dict[int, str] = {}
    if text.lower().count("select") < 2:
        return made
    sql = Sql(text)
    if not any(t.is_word(*_ASKING) or sql.is_at(i, "count", "(", "(") for i, t in enumerate(sql.tokens)):
        return made
    for i, token in enumerate(sql.tokens[:-1]):
        if token.is_mark("(") and token.mate > i and sql.tokens[i + 1].is_word("select", "with"):
            place = place_at(sql, i)
            if place is not None and place.kind == "scalar":
                end = sql.tokens[token.mate].end
                made[token.start] = "least(" + made.get(token.start, "")
                made[end] = made.get(end, "") + ")"
    return made
