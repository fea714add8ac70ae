"""Joins with USING, and natural ones, to joins with ON: DataFusion's Substrait has no word for outer ones, and of two
columns that USING makes one it takes the left side's, be it NULL, or that of the table whose name comes first.

    select id, n, * from t full join u using (id)

    =>  select coalesce("t"."id", "u"."id") as "id", n, coalesce("t"."id", "u"."id") as "id", "t"."a", "u"."n"
        from t full join u on ("t"."id" = "u"."id")

What is not rewritten, a name within another SELECT for one, is ambiguous then: the planner refuses it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from drawloom.sql.clauses import Select, Sql, replaced
from drawloom.sql.planner import Planner, SqlError, quoted
from drawloom.sql.subqueries import named_before, with_named

_KINDS: Final = frozenset(["inner", "left", "right", "full", "cross", "natural"])
#: Words that an expression may follow: a name behind another word is a new name for what stands before it.
_BEFORE_VALUES: Final = frozenset([
    "select", "distinct", "all", "where", "and", "or", "not", "by", "on", "having", "when", "then", "else", "case",
    "between", "in", "like", "ilike", "qualify", "to", "from", "is", "order", "any",
])  # fmt: skip


def without_using(text: str, planner: Planner) -> str:
    """The text with ON in the place of USING and NATURAL. A SELECT that is not understood stays as it is, for the
    planner to refuse."""
    sql = Sql(text)
    if not any(t.is_word("using", "natural") for t in sql.tokens):
        return text
    changes: list[tuple[int, int, str]] = []
    for select in sql.selects:
        chain = _Chain(sql, select, planner)
        if chain.is_wanted():
            with suppress(_NoColumns):  # which is told elsewhere
                changes.extend(chain.changes() or [])
    return replaced(text, changes)


def lacks_columns(sql: Sql, planner: Planner) -> int:
    """The token of the NATURAL between two tables without a column of one name; -1 for none."""
    for select in sql.selects:
        chain = _Chain(sql, select, planner)
        if chain.is_wanted():
            try:
                chain.changes()
            except _NoColumns as problem:
                return problem.token
    return -1


class _NotUnderstood(Exception):
    pass


class _NoColumns(Exception):
    """The word NATURAL of a join without a column of one name."""

    def __init__(self, token: int) -> None:
        super().__init__()
        self.token = token


class _Column:
    """A column of the joined rows: what it is called, and what it is."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.value = value


class _Chain:
    """The joins of one SELECT's FROM."""

    def __init__(self, sql: Sql, select: Select, planner: Planner) -> None:
        self.sql = sql
        self.select = select
        self.planner = planner
        self.source = select.clause("from")
        self.columns: list[_Column] = []
        #: What the columns that USING names stand for.
        self.merged: dict[str, str] = {}

    def words(self, token: int) -> bool:
        return self.sql.tokens[token].depth == self.select.depth

    def is_wanted(self) -> bool:
        tokens = self.sql.tokens
        return any(self.words(i) and tokens[i].is_word("using", "natural") for i in self.source)

    def changes(self) -> list[tuple[int, int, str]] | None:
        """What to change in the text; None where something is not understood."""
        try:
            made = [change for part in self.sql.parts(self.source) for change in self.part(part)]
            return [*made, *self.names()]
        except (_NotUnderstood, SqlError):
            return None

    def part(self, part: range) -> list[tuple[int, int, str]]:
        """The joins of what stands between two commas."""
        joins = [i for i in part if self.words(i) and self.sql.tokens[i].is_word("join")]
        starts = [self.first_word(i, part.start) for i in joins]
        ends = [*starts[1:], part.stop]
        self.columns.extend(self.table(range(part.start, starts[0] if starts else part.stop)))
        made: list[tuple[int, int, str]] = []
        for join, start, end in zip(joins, starts, ends):
            made.extend(self.join(join, start, end))
        return made

    def first_word(self, join: int, low: int) -> int:
        """Where the words begin that end with JOIN."""
        start = join
        while start > low and self.sql.tokens[start - 1].is_word("outer", *_KINDS):
            start -= 1
        return start

    def join(self, join: int, start: int, end: int) -> list[tuple[int, int, str]]:
        tokens = self.sql.tokens
        kind = {tokens[i].text for i in range(start, join)}
        on = next((i for i in range(join, end) if self.words(i) and tokens[i].is_word("on", "using")), end)
        found = self.table(range(join + 1, on))
        names = {c.name for c in found}
        if "natural" in kind:
            keys = [c.name for c in self.columns if c.name in names]
            if not keys:
                raise _NoColumns(next(i for i in range(start, join) if tokens[i].is_word("natural")))
        elif on < end and tokens[on].is_word("using"):
            keys = [tokens[i].text for i in range(on + 2, tokens[on + 1].mate) if tokens[i].is_identifier]
        else:
            self.columns.extend(found)
            return []
        if not keys or not names.issuperset(keys):
            raise _NotUnderstood
        pairs = [(self.only(key), next(c for c in found if c.name == key)) for key in keys]
        condition = " and ".join([f"{left.value} = {right.value}" for left, right in pairs])
        for left, right in pairs:
            if "full" in kind:
                left.value = f"coalesce({left.value}, {right.value})"
            elif "right" in kind:
                left.value = right.value
            self.merged[left.name] = left.value
        self.columns.extend([c for c in found if c.name not in keys])
        made = [(tokens[i].start, tokens[i].end, "") for i in range(start, join) if tokens[i].is_word("natural")]
        at = tokens[on - 1].end
        return [*made, (at, tokens[end - 1].end, f" on ({condition})")]

    def only(self, name: str) -> _Column:
        found = [c for c in self.columns if c.name == name]
        if len(found) != 1:
            raise _NotUnderstood
        return found[0]

    def table(self, part: range) -> list[_Column]:
        """The columns of a table, a subquery or a named query, by the name that it has here."""
        tokens = self.sql.tokens
        text = self.sql.between(part.start, part.stop)
        last = tokens[part.stop - 1] if part else None
        if last is not None and last.is_mark(")") and last.mate > part.start:
            last = tokens[last.mate - 1]  # (select ...) v(a, b)
        if last is None or not last.is_identifier or any(tokens[i].is_word("lateral") for i in part):
            raise _NotUnderstood
        named = named_before(self.sql, self.select.start)
        schema = self.planner.schema(with_named(named, f"select * from {text}"))
        return [_Column(name, f"{quoted(last.text)}.{quoted(name)}") for name in schema.names]

    def names(self) -> list[tuple[int, int, str]]:
        """The names of columns that are one now, wherever the SELECT has them, and its ``*``."""
        sql, tokens = self.sql, self.sql.tokens
        shown = range(self.select.start + 1, min([*self.select.clauses.values(), self.select.end]))
        if shown and tokens[shown.start].is_word("distinct", "all"):
            shown = range(shown.start + 1, shown.stop)
        items = sql.parts(shown)
        alone = {item.start for item in items if len(item) == 1}
        made: list[tuple[int, int, str]] = []
        for item in items:
            token = tokens[item.start]
            if token.is_mark("*"):
                if len(item) > 1:
                    raise _NotUnderstood
                everything = ", ".join([f"{c.value} as {quoted(c.name)}" for c in self.columns])
                made.append((token.start, token.end, everything))
        is_shown = any(tokens[i].is_mark("*") or tokens[i].text in self.merged for i in alone)
        for i in range(self.select.start + 1, self.select.end):
            token = tokens[i]
            value = self.merged.get(token.text) if token.is_identifier and i not in self.source else None
            if value is None or sql.within(i) is not self.select or not self.is_value(i):
                continue
            if self.select.clause_at(i) == "order" and is_shown:
                continue
            made.append((token.start, token.end, f"{value} as {quoted(token.text)}" if i in alone else value))
        return made

    def is_value(self, i: int) -> bool:
        """Whether a name stands for a column, not for a table, a function or something that gets this name."""
        tokens = self.sql.tokens
        before = tokens[i - 1]
        if before.is_mark(".") or self.sql.is_at(i + 1, ".") or self.sql.is_at(i + 1, "("):
            return False
        if before.is_identifier:
            return before.is_word(*_BEFORE_VALUES)
        return before.kind == "mark" and not before.is_mark(")", "]")
