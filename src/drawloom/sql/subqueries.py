"""Subqueries that DataFusion cannot serialise, or plans wrongly, to calls of functions that stand for them, beside the
subqueries' own texts:

    select a, exists (select 1 from u where u.x > t.x) from t

    =>  select a, drawloom_subquery_0(t.x) from t
        select 1 from drawloom_outer_0 cross join u where u.x > drawloom_outer_0.c0

What a subquery names of the query around it is found by asking the planner for the subquery alone: it names what it
does not know. ``dependent.py`` puts the plans of both together.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

import pyarrow as pa

from drawloom.sql.clauses import Select, Sql, replaced
from drawloom.sql.planner import Planner, SqlError, quoted
from drawloom.sql.subqueryplaces import Place, has_rows, place_at, row_of
from drawloom.sql.unknowns import is_planned_wrongly, may_be_wrong

#: What the names of the functions, and of the outer tables, begin with.
FUNCTION: Final = "drawloom_subquery_"
OUTER: Final = "drawloom_outer_"
_UNKNOWN: Final = re.compile(r"No field named ((?:\"[^\"]+\"|\w+)(?:\.(?:\"[^\"]+\"|\w+))?)(?=[.\s]|$)")
#: Words behind a table that are no other name of it.
_BEHIND_TABLES: Final = frozenset([
    "where", "on", "using", "join", "left", "right", "full", "inner", "cross", "natural", "group", "order", "having",
    "limit", "offset", "window", "qualify", "fetch", "tablesample", "union", "intersect", "except", "lateral", "outer",
])  # fmt: skip
#: The most names that a subquery may have of the query around it.
_MOST_NAMES: Final = 64


class Subquery:
    """One that was taken out. ``kind`` is "exists", "any", "all" or "scalar"; for "any" and "all" the first arguments
    of its function are compared by ``comparison`` with its columns. The other arguments are the columns of its outer
    table, in their order, by ``columns``."""

    def __init__(self, number: int, kind: str, comparison: str, sql: str, columns: list[str]) -> None:
        self.function = f"{FUNCTION}{number}"
        self.table = f"{OUTER}{number}"
        self.kind = kind
        self.comparison = comparison
        self.sql = sql
        self.columns = columns


def take_out(text: str, planner: Planner, first: int, taken: list[Subquery]) -> str:
    """The text with calls in the place of subqueries, which are added to ``taken`` and whose functions and outer
    tables the planner knows then, numbered from ``first`` on. Those that DataFusion can plan for itself, and those that
    are not understood, stay."""
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    for place in _places(sql):
        made = _taken(sql, place, planner, first + len(taken))
        if made is None:
            continue
        subquery, call = made
        taken.append(subquery)
        changes.append((sql.tokens[place.start].start, sql.tokens[place.close].end, call))
    return replaced(text, changes)


def _places(sql: Sql) -> list[Place]:
    """The outermost subqueries of expressions."""
    made: list[Place] = []
    end = -1
    for i, token in enumerate(sql.tokens):
        if i > end and token.is_mark("(") and token.mate > i and sql.tokens[i + 1].is_word("select", "with"):
            place = place_at(sql, i)
            if place is not None:
                made.append(place)
                end = place.close
    return made


def _taken(sql: Sql, place: Place, planner: Planner, number: int) -> tuple[Subquery, str] | None:
    around = sql.within(place.open)
    assert around is not None
    named = named_before(sql, place.open)
    body = Body(sql.between(place.open + 1, place.close), named, f"{OUTER}{number}")
    if not body.find_names(planner):
        return None
    if place.kind in ("exists", "scalar") and not (body.names or _is_wrong(with_named(named, body.text), planner)):
        return None
    compared = row_of(place.value)
    if len(compared) > 1 and (place.kind, place.comparison) != ("any", "equal"):
        return None
    arguments = [*compared, *[name for name, _ in body.names]]
    given = ", ".join([f"{argument} as c{i}" for i, argument in enumerate(arguments)]) or "1 as c0"
    columns = [column for _, column in body.names]
    try:
        types = types_of(sql, around, planner, named, given)[: len(arguments)]
        planner.register_columns(f"{OUTER}{number}", columns, types[len(compared) :])
        schema = planner.schema(with_named(named, body.sql()))
    except SqlError:
        return None
    output = schema.types[0] if place.kind == "scalar" else pa.bool_()
    planner.register_function(f"{FUNCTION}{number}", types, output)
    call = f"{FUNCTION}{number}({', '.join(arguments)})"
    made = Subquery(number, place.kind, place.comparison, with_named(named, body.sql()), columns)
    return made, f"(not {call})" if place.is_negated else call


def _is_wrong(text: str, planner: Planner) -> bool:
    """Whether DataFusion plans a subquery wrongly, or not at all, which does not depend on the query around it."""
    return has_rows(text) or (may_be_wrong(text) and is_planned_wrongly(planner.bound(text)))


def types_of(sql: Sql, around: Select, planner: Planner, named: list[str], given: str) -> list[pa.DataType]:
    """The types of expressions over the rows of a SELECT, or over its groups."""
    source = f"select {given} {_clause(sql, around, 'from')}"
    with suppress(SqlError):
        return list(planner.schema(with_named(named, source)).types)
    return list(planner.schema(with_named(named, f"{source} {_clause(sql, around, 'group')}")).types)


def _clause(sql: Sql, select: Select, word: str) -> str:
    tokens = select.clause(word)
    return f"{word} {sql.between(tokens.start, tokens.stop)}" if tokens else ""


class Body:
    """A subquery's text, and the names in it of the query around it, each with its column of the outer table."""

    def __init__(self, text: str, named: list[str], table: str) -> None:
        self.text = text
        self.named = named
        self.table = table
        self.names: list[tuple[str, str]] = []

    def find_names(self, planner: Planner) -> bool:
        """Asks the planner until it knows all names; False where that cannot be had."""
        for _ in range(_MOST_NAMES):
            planner.register_columns(self.table, [c for _, c in self.names], [pa.null()] * len(self.names))
            try:
                planner.schema(with_named(self.named, self.sql()))
            except SqlError as problem:
                unknown = _UNKNOWN.match(problem.message)
                if unknown is not None:
                    if not self.add(unknown[1]):
                        return False
                    continue
            return True
        return False

    def add(self, name: str) -> bool:
        """Makes a column of the outer table for the name; False where it has one, or might be another's."""
        qualifier, _, column = name.rpartition(".")
        if name in [known for known, _ in self.names]:
            return False
        if qualifier and _is_defined(qualifier.strip('"'), Sql(self.text)):
            return False
        self.names.append((name, f"c{len(self.names)}" if qualifier else column.strip('"')))
        return True

    def sql(self) -> str:
        """The text over the outer table too, wherever a FROM must have it for the names to be seen."""
        if not self.names:
            return self.text
        sql = Sql(self.text)
        changes: list[tuple[int, int, str]] = []
        scopes = [s for s in sql.selects if s.depth == 0]
        for i, token in enumerate(sql.tokens):
            for name, column in self.names:
                end = _end_of(sql, i, name)
                if end >= 0:
                    scopes.append(_scope(sql, i))
                    if "." in name:
                        changes.append((token.start, end, f"{self.table}.{quoted(column)}"))
        changes.extend([self.source(sql, s) for s in {s.start: s for s in scopes}.values()])
        return replaced(self.text, changes)

    def source(self, sql: Sql, select: Select) -> tuple[int, int, str]:
        """The change that gives a SELECT the outer table: as the first, for conditions of joins to see it, or the last
        where it would be among what has no match, or among all columns."""
        source = select.clause("from")
        if not source:
            end = sql.tokens[min([*select.clauses.values(), select.end]) - 1].end
            return end, end, f" from {self.table}"
        is_last = any(sql.tokens[i].is_word("right", "full") for i in source)
        if is_last or sql.tokens[select.start + 1].is_mark("*"):
            end = sql.tokens[source.stop - 1].end
            return end, end, f", {self.table}"
        start = sql.tokens[source.start].start
        return start, start, f"{self.table} cross join "


def _end_of(sql: Sql, token: int, name: str) -> int:
    """Where in the text a name that begins with the token ends; -1 where it does not begin there."""
    qualifier, _, column = name.rpartition(".")
    places = (
        [(token, qualifier.strip('"')), (token + 2, column.strip('"'))] if qualifier else [(token, column.strip('"'))]
    )
    if any(i >= len(sql.tokens) or not sql.tokens[i].is_identifier or sql.tokens[i].text != t for i, t in places):
        return -1
    last = places[-1][0]
    if (token and sql.tokens[token - 1].is_mark(".")) or sql.is_at(last + 1, ".") or sql.is_at(last + 1, "("):
        return -1
    return sql.tokens[last].end if not qualifier or sql.is_at(token + 1, ".") else -1


def _scope(sql: Sql, token: int) -> Select:
    """The SELECT whose FROM a token sees: that around all subqueries of expressions that it is in."""
    for i, open in enumerate(sql.tokens[:token]):
        if open.mate > token and sql.tokens[i + 1].is_word("select", "with") and place_at(sql, i) is not None:
            token = i
            break
    select = sql.within(token)
    assert select is not None
    return select


def _is_defined(name: str, sql: Sql) -> bool:
    """Whether a text may have a table of this name: where it does not stand before a column, nor has another name."""
    for i, token in enumerate(sql.tokens):
        if token.is_identifier and token.text == name and not sql.is_at(i + 1, "."):
            behind = sql.tokens[i + 1] if i + 1 < len(sql.tokens) else None
            has_alias = behind is not None and behind.is_identifier and not behind.is_word(*_BEHIND_TABLES)
            if not has_alias or sql.tokens[i - 1].is_word("as") or not sql.tokens[i - 1].is_word("from", "join"):
                return True
    return False


def named_before(sql: Sql, token: int) -> list[str]:
    """The named queries of all WITHs that a token can use, each whole."""
    made: list[str] = []
    for i, word in enumerate(sql.tokens):
        if i >= token or not word.is_word("with") or (i and not sql.tokens[i - 1].is_mark("(")):
            continue
        end = sql.tokens[i - 1].mate if i else len(sql.tokens)
        if end < token or sql.is_at(i + 1, "recursive"):
            continue
        main = next((s.start for s in sql.selects if s.start > i and s.depth == word.depth), end)
        made.extend([sql.between(p.start, p.stop) for p in sql.parts(range(i + 1, main)) if p.stop <= token])
    return made


def with_named(named: list[str], text: str) -> str:
    """The text of a query that may use other named queries."""
    if not named:
        return text
    sql = Sql(text)
    if sql.tokens and sql.tokens[0].is_word("with"):
        return f"with {', '.join(named)}, {text[sql.tokens[0].end :]}"
    return f"with {', '.join(named)} {text}"
