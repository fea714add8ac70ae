"""Wrong queries that DataFusion plans: subqueries of other numbers of columns than what they are compared with has, of
which it takes the first, and window functions in clauses that choose the rows that these are over. Statements that it
looks into before it refuses them.
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.clauses import Select, Sql, left_side
from drawloom.sql.planner import Planner, SqlError
from drawloom.sql.subqueries import named_before, with_named
from drawloom.sql.subqueryplaces import row_of
from drawloom.sql.using import lacks_columns
from drawloom.sql.zones import may_have_zones, wrong_zone

_QUANTIFIERS = ("any", "some", "all")
#: What statements that DataFusion finds other mistakes in first begin with, and what it calls them.
_STATEMENTS: Final[dict[str, str]] = {"insert": "Insert Into", "copy": "COPY", "merge": "MergeInto", "update": "Update"}


def misuse(text: str, planner: Planner) -> tuple[str, int] | None:
    """What is wrong with a query, and the offset of that; None where nothing is."""
    lower = text.lower()
    sql = Sql(text) if any(word in lower for word in _STATEMENTS) else None
    first = sql.tokens[0] if sql is not None and sql.tokens else None
    if first is not None and first.is_word(*_STATEMENTS):
        return f"DML not supported: {_STATEMENTS[first.text]}", first.start
    if may_have_zones(text):
        sql = sql or Sql(text)
        found_zone = wrong_zone(sql)
        if found_zone is not None:
            return found_zone
    if lower.count("select") < 2 and "over" not in lower and "natural" not in lower:
        return None
    sql = sql or Sql(text)
    if any(t.is_word("natural") for t in sql.tokens):
        natural = lacks_columns(sql, planner)
        if natural >= 0:
            return "NATURAL JOIN of tables without a column of one name", sql.tokens[natural].start
    for i, token in enumerate(sql.tokens[:-1]):
        if (
            token.is_word("over")
            and (sql.is_at(i + 1, "(") or sql.tokens[i + 1].is_identifier)
            and sql.is_at(i - 1, ")")
        ):
            around = sql.within(i)
            clause = "" if around is None else around.clause_at(i)
            if clause in ("where", "having", "group"):
                said = "GROUP BY" if clause == "group" else clause.upper()
                return f"Window functions are not allowed in the {said} clause", _call_before(sql, i)
        if token.is_word("in", *_QUANTIFIERS) and sql.is_at(i + 1, "(") and sql.tokens[i + 1].mate > 0:
            found = _other_width(sql, i, planner)
            if found:
                return found, sql.tokens[i + 1].start
    return None


def _call_before(sql: Sql, over: int) -> int:
    """Where the call begins that an OVER stands behind."""
    opens = sql.tokens[over - 1].mate
    return sql.tokens[opens - 1 if opens > 0 else over].start


def _other_width(sql: Sql, word: int, planner: Planner) -> str:
    """What is wrong with the subquery behind IN or a quantifier; "" for nothing, and for what is no subquery."""
    opens = word + 1
    if not sql.tokens[opens + 1].is_word("select", "with"):
        return ""
    last = word - 1 - sql.tokens[word].is_word(*_QUANTIFIERS) - sql.is_at(word - 1, "not")
    start = left_side(sql, last)
    width = _width(sql, opens, planner)
    if start < 0 or width == 0:
        return ""
    wanted = len(row_of(sql.between(start, last + 1)))
    if wanted == width:
        return ""
    return f"the subquery has {width} column{'s' * (width > 1)}: {wanted} {'were' if wanted > 1 else 'was'} expected"


def _width(sql: Sql, opens: int, planner: Planner) -> int:
    """The number of a subquery's columns; 0 where it is not told."""
    body = next((s for s in sql.selects if s.start > opens and s.depth == sql.tokens[opens].depth + 1), None)
    if body is None or body.start > sql.tokens[opens].mate:
        return 0
    shown = _shown(sql, body)
    if shown:
        return shown
    try:
        text = sql.between(opens + 1, sql.tokens[opens].mate)
        return len(planner.schema(with_named(named_before(sql, opens), text)).names)
    except SqlError:  # names of the query around it, or an error that is told elsewhere
        return 0


def _shown(sql: Sql, select: Select) -> int:
    """How many values a SELECT shows; 0 where a star is among them."""
    start, end = select.start + 1, min(select.clauses.values(), default=select.end)
    if sql.is_at(start, "distinct", "on") and sql.is_at(start + 2, "("):
        start = sql.tokens[start + 2].mate + 1
    parts = [part for part in sql.parts(range(start, end)) if part]
    return 0 if any(sql.tokens[i].is_mark("*") and i in (p.start, p.stop - 1) for p in parts for i in p) else len(parts)
