"""What makes tables in SQL text and has no Substrait form, to names of tables that stand for it, beside what they are:

    with recursive r as (select 1 as n union all select n + 1 from r where n < 9) select n from r
    =>  with r as (select * from drawloom_table_0) select n from r
        select 1 as n
        with r as (select * from drawloom_step_0) select n + 1 from r where n < 9

    from generate_series(1, 9) as s(n)              =>  from (select value as n from drawloom_table_0) s

    select t.a, x.v from t cross join unnest(t.l) as x(v)       select a, unnest(l) as v from t
    =>  select t.a, x.v from t cross join (select "drawloom_oid", value as v from drawloom_table_0) x
        where (drawloom_list_0(t.l) = x."drawloom_oid")

The elements of all lists are a table, by the numbers of the lists; an equality finds those of a row's list, wherever
the planner moves it. What is not understood stays as it is, and is refused.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

import pyarrow as pa

from drawloom.sql.clauses import Select, Sql, replaced
from drawloom.sql.lateral import VALUE
from drawloom.sql.planner import Planner, SqlError
from drawloom.sql.subqueries import named_before, with_named

#: What the names of tables begin with, of those that the step of a recursive query reads, and of functions that give
#: the numbers of lists.
TABLE: Final = "drawloom_table_"
STEP: Final = "drawloom_step_"
SEEN: Final = "drawloom_seen_"
LIST: Final = "drawloom_list_"
_NUMBER: Final = f"{VALUE}id"
_ELEMENT: Final = f"{VALUE}element"
_MONTHS: Final = re.compile(r"\b(?:mons?|months?|years?|quarters?|decades?|century|centuries)\b", re.IGNORECASE)
_EPOCH: Final = "timestamp '1970-01-01'"
_JOINS: Final = frozenset(["join", "left", "right", "full", "inner", "cross", "natural", "outer", "lateral"])
_SERIES: Final = frozenset(["generate_series", "range"])
_WORDS: Final = frozenset(["recursive", "unnest", *_SERIES])


class Table:
    """A table that was taken out: its name and its columns."""

    def __init__(self, number: int, names: list[str]) -> None:
        self.number = number
        self.name = f"{TABLE}{number}"
        self.names = names


class RecursiveTable(Table):
    """``start`` and ``step`` are texts of queries; the second reads the table STEP of its number."""

    def __init__(self, number: int, names: list[str], start: str, step: str, is_distinct: bool) -> None:
        super().__init__(number, names)
        self.start = start
        self.step = step
        self.is_distinct = is_distinct


class SeriesTable(Table):
    """``sql`` gives the arguments of ``function``, all constants; for one that is months the moments that so much and
    twice as much after 1970 began."""

    def __init__(self, number: int, function: str, sql: str, is_of_months: bool) -> None:
        super().__init__(number, ["value"])
        self.function = function
        self.sql = sql
        self.is_of_months = is_of_months


class ElementsTable(Table):
    """``sql`` gives the one list, "" where the function LIST of its number is asked for the number of each row's."""

    def __init__(self, number: int, sql: str) -> None:
        super().__init__(number, [_NUMBER, "value"])
        self.sql = sql


def makes_tables(text: str) -> bool:
    """Whether a text may have something that this file knows."""
    folded = text.lower()
    return any(word in folded for word in _WORDS)


def take_out_tables(text: str, planner: Planner, first: int, taken: list[Table]) -> str:
    """The text with names in the place of tables that are made, which are added to ``taken`` and which the planner
    knows then, numbered from ``first`` on."""
    skipped = 0
    while True:
        sql = Sql(text)
        places = [i for i, token in enumerate(sql.tokens) if token.is_word(*_WORDS)]
        if skipped == len(places):
            return text
        made = _taken(sql, places[skipped], planner, first + len(taken))
        if made is None:
            skipped += 1
            continue
        table, changes = made
        if table is not None:
            taken.append(table)
        text = replaced(text, changes)


_Change = tuple[int, int, str]
_Changes = list[_Change]


def _taken(sql: Sql, at: int, planner: Planner, number: int) -> tuple[Table | None, _Changes] | None:
    with suppress(SqlError):
        if sql.tokens[at].is_word("recursive"):
            return _recursive(sql, at, planner, number)
        if sql.is_at(at + 1, "("):
            source = _source(sql, at)
            if sql.tokens[at].is_word("unnest"):
                return _Unnest(sql, at, planner, number).taken(source)
            if source is not None:
                return _series(sql, source, planner, number)
    return None


# WITH RECURSIVE


def _recursive(sql: Sql, at: int, planner: Planner, number: int) -> tuple[Table | None, _Changes] | None:
    """The first query of the WITH that names itself; without one the word goes."""
    tokens = sql.tokens
    if not sql.is_at(at - 1, "with"):
        return None
    end = tokens[at - 2].mate if at > 1 and tokens[at - 2].mate > at else len(tokens)
    main = next((s.start for s in sql.selects if s.start > at and s.depth == tokens[at].depth), end)
    named = named_before(sql, at)
    for part in sql.parts(range(at + 1, main)):
        whole, name = sql.between(part.start, part.stop), sql.between(part.start, part.start + 1)
        open = part.stop - 1
        open = tokens[open].mate
        union = _union(sql, range(open + 1, part.stop - 1), tokens[part.start].text) if open >= 0 else -1
        if union == -2:
            return None
        if union >= 0:
            schema = planner.schema(f"with recursive {', '.join([*named, whole])} select * from {name}")
            is_all = sql.is_at(union + 1, "all")
            start = with_named(named, sql.between(open + 1, union))
            step = sql.between(union + 1 + (is_all or sql.is_at(union + 1, "distinct")), part.stop - 1)
            step = with_named([*named, f"{name} as (select * from {STEP}{number})"], step)
            made = RecursiveTable(number, list(schema.names), start, step, not is_all)
            for table in (made.name, f"{STEP}{number}"):
                planner.register_columns(table, made.names, schema.types)
            place = (tokens[part.start].start, tokens[part.stop - 1].end)
            return made, [(*place, f"{name} as (select * from {made.name})")]
        named.append(whole)
    return None, [(tokens[at].start, tokens[at].end, "")]


def _union(sql: Sql, body: range, name: str) -> int:
    """The UNION before what names the query that it is in; -1 for a query that does not name itself, -2 for one that
    is not understood."""
    tokens = sql.tokens
    uses = [i for i in body if tokens[i].is_identifier and tokens[i].text == name and _is_table(sql, i)]
    if not uses:
        return -1
    depth = tokens[body.start].depth
    sets = [i for i in body if tokens[i].depth == depth and tokens[i].is_word("union", "intersect", "except")]
    if not sets or not tokens[sets[-1]].is_word("union") or uses[0] < sets[-1]:
        return -2
    last = [s for s in sql.selects if s.start > sets[-1] and s.depth == depth and s.start in body]
    is_cut = any(word in s.clauses for s in last for word in ("order", "limit", "offset", "fetch"))
    return -2 if is_cut else sets[-1]


def _is_table(sql: Sql, token: int) -> bool:
    """Whether a name is that of a table in a FROM."""
    if sql.is_at(token - 1, ","):
        select = sql.within(token)
        return select is not None and select.clause_at(token) == "from"
    return sql.tokens[token - 1].is_word("from", "join")


# Tables in FROM


class _Source:
    """A call that is a table, token ``at``, in the FROM of ``select``: its words of JOIN, or its comma, begin at
    ``start``, it ends with token ``end``, its other name included; its condition is of tokens ``on``."""

    def __init__(
        self, select: Select, at: int, start: int, end: int, alias: str, columns: list[str], on: range
    ) -> None:
        self.select = select
        self.at = at
        self.start = start
        self.end = end
        self.alias = alias
        self.columns = columns
        self.on = on


def _source(sql: Sql, at: int) -> _Source | None:
    """None where the call is no table."""
    tokens, select = sql.tokens, sql.within(at)
    if select is None or at not in select.clause("from") or tokens[at].depth != select.depth:
        return None
    source, start = select.clause("from"), at
    while start > source.start and tokens[start - 1].is_word(*_JOINS):
        start -= 1
    if start == at and start > source.start and not tokens[start - 1].is_mark(","):
        return None
    end, name, columns = tokens[at + 1].mate, at + 2, list[str]()
    name = end + 2 if sql.is_at(end + 1, "as") else end + 1
    alias = tokens[at].text
    if name in source and tokens[name].is_identifier and not tokens[name].is_word("on", *_JOINS):
        alias, end = sql.between(name, name + 1), name
        if sql.is_at(name + 1, "("):
            end = tokens[name + 1].mate
            columns = [sql.between(p.start, p.stop) for p in sql.parts(range(name + 2, end))]
    on = range(0)
    if sql.is_at(end + 1, "on") and end + 1 in source:
        stops = [i for i in source if i > end + 1 and tokens[i].depth == select.depth
                 and (tokens[i].is_mark(",") or tokens[i].is_word(*_JOINS))]  # fmt: skip
        on = range(end + 2, min(stops, default=source.stop))
    return _Source(select, at, start, end, alias, columns, on)


def _series(sql: Sql, source: _Source, planner: Planner, number: int) -> tuple[Table | None, _Changes] | None:
    tokens = sql.tokens
    call = tokens[source.at].text + sql.between(source.at + 1, tokens[source.at + 1].mate + 1)
    arguments = sql.parts(range(source.at + 2, tokens[source.at + 1].mate))
    texts = [sql.between(a.start, a.stop) for a in arguments]
    is_of_months = len(texts) == 3 and _MONTHS.search(texts[2]) is not None
    if is_of_months:
        texts[2:] = [f"{_EPOCH} + ({texts[2]})", f"{_EPOCH} + ({texts[2]}) + ({texts[2]})"]
    given = ", ".join([f"{text} as c{i}" for i, text in enumerate(texts)])
    made = SeriesTable(number, tokens[source.at].text, f"select {given}", is_of_months)
    planner.schema(made.sql)
    planner.register_columns(made.name, made.names, planner.schema(f"select * from {call}").types)
    shown = source.columns[0] if source.columns else "value"
    text = f"(select value as {shown} from {made.name}) {source.alias}"
    return made, [(tokens[source.at].start, tokens[source.end].end, text)]


# UNNEST


class _Unnest:
    def __init__(self, sql: Sql, at: int, planner: Planner, number: int) -> None:
        self.sql = sql
        self.at = at
        self.planner = planner
        self.close = sql.tokens[at + 1].mate
        self.argument = sql.between(at + 2, self.close)
        self.named = named_before(sql, at)
        self.number = number

    def taken(self, source: _Source | None) -> tuple[Table | None, _Changes] | None:
        if self.close < 0 or len(self.sql.parts(range(self.at + 2, self.close))) != 1:
            return None
        select = self.sql.within(self.at)
        if select is None or (source is None and select.clause_at(self.at) != "select"):
            return None
        type = self.type()
        if type is None:
            return None
        others = [i for i in range(select.start, select.end) if i != self.at and self.sql.is_at(i, "unnest", "(")
                  and self.sql.within(i) is select and select.clause_at(i) == "select"]  # fmt: skip
        if source is None and others:
            return None, self.side_by_side(select, [self.at, *others])
        is_alone = self.asked(f"select {self.argument} as c0") is not None
        made = ElementsTable(self.number, f"select {self.argument} as c0" if is_alone else "")
        self.planner.register_columns(made.name, made.names, [pa.int64(), type.value_type])
        self.planner.register_function(f"{LIST}{self.number}", [type], pa.int64())
        changes = self.shown(select, made) if source is None else self.joined(source, made)
        return None if changes is None else (made, changes)

    def asked(self, text: str) -> pa.Schema | None:
        with suppress(SqlError):
            return self.planner.schema(with_named(self.named, text))
        return None

    def type(self) -> pa.DataType | None:
        """The type of the argument over the rows of the SELECT, or of one around it; None for what is no list."""
        select = self.sql.within(self.at)
        sources = [""]
        while select is not None:
            for word in ("from", "group"):
                tokens = select.clause(word)
                stop = self.before(select) if self.at in tokens else tokens.stop
                if word == "from" and stop > tokens.start:
                    sources.append(f" from {self.sql.between(tokens.start, stop)}")
            select = self.around(select)
        for source in sources:
            schema = self.asked(f"select {self.argument} as c0{source}")
            if schema is not None:
                type = schema.types[0]
                return type if pa.types.is_list(type) or pa.types.is_large_list(type) else None
        return None

    def around(self, select: Select) -> Select | None:
        opens = [i for i in range(select.start) if self.sql.tokens[i].is_mark("(")
                 and self.sql.tokens[i].mate >= select.end]  # fmt: skip
        return self.sql.within(opens[-1]) if opens else None

    def before(self, select: Select) -> int:
        """Where what is before the call in its FROM ends: at its words of JOIN, or its comma."""
        source = _source(self.sql, self.at)
        if source is None:
            return select.clause("from").start
        return source.start - (source.start > select.clause("from").start and source.start == source.at)

    def table(self, made: ElementsTable, column: str, alias: str) -> str:
        return f'(select "{_NUMBER}", value as {column} from {made.name}) {alias}'

    def condition(self, alias: str, made: ElementsTable) -> str:
        return "" if made.sql else f'({LIST}{self.number}({self.argument}) = {alias}."{_NUMBER}")'

    def joined(self, source: _Source, made: ElementsTable) -> _Changes | None:
        """The table in the place of one in FROM. What tells its rows is a condition of its join, or of WHERE."""
        tokens, words = self.sql.tokens, {self.sql.tokens[i].text for i in range(source.start, source.at)}
        if not words.isdisjoint(["right", "full", "natural"]) or len(source.columns) > 1:
            return None
        column = source.columns[0] if source.columns else "unnest"
        text, condition = self.table(made, column, source.alias), self.condition(source.alias, made)
        lateral = [i for i in range(source.start, source.at) if tokens[i].is_word("lateral")]
        start = tokens[lateral[0] if lateral else source.at].start
        if source.on and condition:
            rest = self.sql.between(source.on.start, source.on.stop)
            return [(start, tokens[source.on.stop - 1].end, f"{text} on {condition} and ({rest})")]
        return [(start, tokens[source.end].end, text), *self.kept(source.select, condition)]

    def shown(self, select: Select, made: ElementsTable) -> _Changes | None:
        """The table behind those of the FROM, for a call among what a SELECT shows."""
        tokens, alias, source = self.sql.tokens, f"drawloom_unnest_{self.number}", select.clause("from")
        if not (made.sql or self.is_of_rows(source)):
            return None
        is_item = tokens[self.at - 1].is_word("select") or tokens[self.at - 1].is_mark(",")
        behind = self.close + 1
        is_named = behind < len(tokens) and tokens[behind].is_identifier and behind not in select.clauses.values()
        is_last = behind >= select.end or behind in select.clauses.values() or tokens[behind].is_mark(",", ")")
        name = ' as "unnest"' if is_item and is_last and not is_named else ""
        table = self.table(made, _ELEMENT, alias)
        changes = [(tokens[self.at].start, tokens[self.close].end, f"{alias}.{_ELEMENT}{name}")]
        if source:
            return [*changes, *self.kept(select, self.condition(alias, made), f", {table}")]
        end = tokens[min([*select.clauses.values(), select.end]) - 1].end
        changes[0] = (*changes[0][:2], changes[0][2] + (f" from {table}" if end == changes[0][1] else ""))
        return changes if end == tokens[self.close].end else [*changes, (end, end, f" from {table}")]

    def side_by_side(self, select: Select, calls: list[int]) -> _Changes:
        """Several calls among what a SELECT shows: elements at the places that the longest of the lists has."""
        tokens, alias, changes, lengths = (
            self.sql.tokens,
            f"drawloom_places_{self.number}",
            list[_Change](),
            list[str](),
        )
        for call in calls:
            close = tokens[call + 1].mate
            given = self.sql.between(call + 2, close)
            changes.append((tokens[call].start, tokens[close].end, f"(({given})[{alias}.place])"))
            lengths.append(f"array_length({given})")
        source = select.clause("from")
        end = tokens[
            min([at for at in [*select.clauses.values(), select.end] if at != select.clauses.get("from")]) - 1
        ].end
        series = f"unnest(generate_series(1, cast(greatest({', '.join(lengths)}) as bigint))) as {alias}(place)"
        if not source and end == changes[-1][1]:
            changes[-1] = (*changes[-1][:2], f"{changes[-1][2]} from {series}")
            return changes
        return [*changes, (end, end, f"{',' if source else ' from'} {series}")]

    def is_of_rows(self, source: range) -> bool:
        """Whether the argument is of a SELECT's rows, not of its groups: WHERE has no aggregates."""
        rows = self.sql.between(source.start, source.stop)
        return self.asked(f"select 1 from {rows} where ({self.argument}) is not null") is not None

    def kept(self, select: Select, condition: str, table: str = "") -> _Changes:
        """One more table in a SELECT's FROM, and a condition in its WHERE."""
        where, tokens = select.clause("where"), self.sql.tokens
        end = tokens[select.clause("from").stop - 1].end
        if not where or not condition:
            return [(end, end, table + (f" where {condition}" if condition else ""))]
        begin, last = tokens[where.start].start, tokens[where.stop - 1].end
        return [(end, end, table), (begin, begin, f"{condition} and ("), (last, last, ")")]
