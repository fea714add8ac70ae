"""LATERAL subqueries that DataFusion makes no join of, to joins with a table that stands for them:

    from t join lateral (select n from u where u.id < t.id order by n limit 2) x on true

    =>  from t join drawloom_lateral_0 x on (t.id is not distinct from x."drawloom_o0") and (true)
        select n from drawloom_outer_0 cross join u where u.id < drawloom_outer_0.c0 order by n limit 2
        select distinct t.id from t

The second text is the subquery, over its outer table, as ``subqueries.py`` has them; the third gives the outer values.
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.clauses import Select, Sql, replaced
from drawloom.sql.planner import Planner, SqlError, quoted
from drawloom.sql.subqueries import OUTER, Body, named_before, with_named
from drawloom.sql.text import SqlText

#: What the names of the tables, and of their columns of outer values, begin with.
TABLE: Final = "drawloom_lateral_"
VALUE: Final = "drawloom_o"
_JOINS: Final = frozenset(["join", "left", "right", "full", "inner", "cross", "natural", "outer"])


class Lateral:
    """One that was taken out: ``table`` has the columns that ``sql`` gives, then the outer values; ``outer`` is the
    table by which ``sql`` reads these, with ``columns``, and ``domain`` the query for all of them."""

    def __init__(self, number: int, sql: str, names: list[str], columns: list[str], domain: str) -> None:
        self.table = f"{TABLE}{number}"
        self.outer = f"{OUTER}{number}"
        self.sql = sql
        self.columns = columns
        self.domain = domain
        #: What the outer values are called before the subquery.
        self.values: list[str] = []
        self.names = [*names, *[f"{VALUE}{i}" for i in range(len(columns))]]


def take_out_laterals(text: str, planner: Planner, first: int, taken: list[Lateral]) -> str:
    """The text with tables in the place of LATERAL subqueries that name columns before them. These are added to
    ``taken``, numbered from ``first`` on; those that are not understood stay."""
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    for select in sql.selects:
        conditions: list[str] = []
        for i in select.clause("from"):
            place = _place(sql, select, i)
            made = None if place is None else _taken(sql, place, planner, first + len(taken))
            if place is not None and made is not None:
                taken.append(made)
                changes.extend(_joined(sql, place, made, conditions))
        changes.extend(_kept(sql, select, conditions))
    return replaced(text, changes)


def with_selected_values(text: SqlText) -> None:
    """Make SELECTs of the rows of LATERAL VALUES, which the planner joins with the rows before them.

    from t, lateral (values (t.i), (t.j)) v(z)   =>   from t, lateral (select t.i as col0 union all select t.j) v(z)
    """
    if "lateral" not in text.sql.lower():
        return
    sql = Sql(text.sql)
    changes: list[tuple[int, int, str]] = []
    for i in range(len(sql.tokens)):
        if not sql.is_at(i, "lateral", "(", "values", "(") or sql.tokens[i + 1].mate < 0:
            continue
        rows = sql.parts(range(i + 3, sql.tokens[i + 1].mate))
        if any(sql.tokens[row.start].mate != row.stop - 1 for row in rows):
            continue
        made: list[str] = []
        for row in rows:
            values = [sql.between(v.start, v.stop) for v in sql.parts(range(row.start + 1, row.stop - 1))]
            names = [f" as col{number}" if not made else "" for number in range(len(values))]
            made.append(f"select {', '.join([f'{value}{name}' for value, name in zip(values, names)])}")
        changes.append((sql.tokens[i + 2].start, sql.tokens[rows[-1].stop - 1].end, " union all ".join(made)))
        text.selects += len(rows)
    if changes:
        text.change(changes)


class _Place:
    """LATERAL, token ``at``; its words of JOIN begin at ``start``, or with its comma. Its new name is token ``alias``,
    that of its columns end with token ``end``; its condition is of tokens ``on``, which are none without one."""

    def __init__(self, select: Select, at: int, start: int, alias: int, end: int, on: range) -> None:
        self.select = select
        self.at = at
        self.start = start
        self.alias = alias
        self.end = end
        self.on = on


def _place(sql: Sql, select: Select, at: int) -> _Place | None:
    """None for any other token, and for what is not understood."""
    tokens, source = sql.tokens, select.clause("from")
    if not sql.is_at(at, "lateral", "(") or tokens[at].depth != select.depth:
        return None
    close = tokens[at + 1].mate
    if not tokens[at + 2].is_word("select", "with"):
        return None
    alias = close + 2 if sql.is_at(close + 1, "as") else close + 1
    if alias not in source or not tokens[alias].is_identifier or tokens[alias].is_word("on", *_JOINS):
        return None
    end = tokens[alias + 1].mate if sql.is_at(alias + 1, "(") else alias
    start = at
    while start > source.start and tokens[start - 1].is_word(*_JOINS):
        start -= 1
    words = {tokens[i].text for i in range(start, at)}
    if not words:
        return _Place(select, at, at - 1, alias, end, range(0)) if tokens[at - 1].is_mark(",") else None
    if "cross" in words:
        return _Place(select, at, start, alias, end, range(0))
    if not words.isdisjoint(["right", "full", "natural"]) or not sql.is_at(end + 1, "on"):
        return None
    stops = [i for i in source if i > end + 1 and tokens[i].depth == select.depth
             and (tokens[i].is_mark(",") or tokens[i].is_word(*_JOINS))]  # fmt: skip
    return _Place(select, at, start, alias, end, range(end + 2, min(stops, default=source.stop)))


def _taken(sql: Sql, place: _Place, planner: Planner, number: int) -> Lateral | None:
    named = named_before(sql, place.at)
    body = Body(sql.between(place.at + 2, sql.tokens[place.at + 1].mate), named, f"{OUTER}{number}")
    if not body.find_names(planner) or not body.names:
        return None
    columns = [column for _, column in body.names]
    before = sql.between(place.select.clause("from").start, place.start)
    values = ", ".join([f"{value} as c{i}" for i, (value, _) in enumerate(body.names)])
    domain = with_named(named, f"select distinct {values} from {before}")
    text = with_named(named, body.sql())
    try:
        types = planner.schema(domain).types
        planner.register_columns(f"{OUTER}{number}", columns, types)
        schema = planner.schema(with_named(named, body.sql()))
    except SqlError:
        return None
    given = [t.text for t in sql.tokens[place.alias + 2 : place.end] if t.is_identifier]
    made = Lateral(number, text, given or list(schema.names), columns, domain)
    made.values = [value for value, _ in body.names]
    planner.register_columns(made.table, made.names, [*schema.types, *types])
    return made


def _joined(sql: Sql, place: _Place, made: Lateral, conditions: list[str]) -> list[tuple[int, int, str]]:
    """The table in the place of the subquery, with the condition that its rows are those of the row before; without an
    ON that is one of ``conditions``."""
    tokens = sql.tokens
    alias = sql.text[tokens[place.alias].start : tokens[place.alias].end]
    same = [f"({v} is not distinct from {alias}.{quoted(f'{VALUE}{i}')})" for i, v in enumerate(made.values)]
    condition, table = " and ".join(same), f"{made.table} {alias}"
    if place.on:
        rest = sql.between(place.on.start, place.on.stop)
        return [(tokens[place.at].start, tokens[place.on.stop - 1].end, f"{table} on ({condition}) and ({rest})")]
    conditions.append(condition)
    changes = [(tokens[place.at].start, tokens[place.end].end, table)]
    if tokens[place.start].is_mark(","):
        changes.append((tokens[place.start].start, tokens[place.start].end, " cross join"))
    return changes


def _kept(sql: Sql, select: Select, conditions: list[str]) -> list[tuple[int, int, str]]:
    """The conditions in a SELECT's WHERE."""
    if not conditions:
        return []
    condition, where = " and ".join(conditions), select.clause("where")
    if not where:
        end = sql.tokens[select.clause("from").stop - 1].end
        return [(end, end, f" where {condition}")]
    begin, end = sql.tokens[where.start].start, sql.tokens[where.stop - 1].end
    return [(begin, begin, f"({condition}) and ("), (end, end, ")")]
