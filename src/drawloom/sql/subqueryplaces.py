"""Where a text has subqueries within expressions, and what each is there for: its value, whether it has rows, or to be
compared with any or all of them.
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.clauses import SETS, Sql, left_side

_COMPARISONS: Final[dict[str, str]] = {
    "=": "equal", "<>": "not_equal", "!=": "not_equal", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte",
}  # fmt: skip
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
