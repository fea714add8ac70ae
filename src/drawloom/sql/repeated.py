"""Columns of one name in one SELECT, which DataFusion does not plan, to columns of names of their own.

    select a, a, count(*) as n from t    =>  select a, a as "drawloom_again_0__a", count(*) as n from t
    select * from (select a, a from t)   =>  select * from (select a, a as "a_1" from t)

What the query shows is called as it was once it is planned; what a subquery has is called as in DuckDB.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.clauses import Select, Sql, replaced
from drawloom.sql.planner import quoted

#: The name of a repeated column: a number, that of the column whose name it has where the planner makes one up, and
#: the name that was asked for.
_PREFIX: Final = "drawloom_again_"
_AGAIN: Final = re.compile(rf"{_PREFIX}\d+_(?P<first>\d*)_(?P<name>.*)", re.DOTALL)
#: What DataFusion says of such columns, with the name where it has one alone.
_PROBLEM: Final = re.compile(
    r"Projections require unique expression names but .*? position (?P<first>\d+) and .*? position (?P<second>\d+)"
    r'|Schema contains (?:duplicate |qualified ).*?\b(?P<name>"[^"]+"|\w+)(?: which would be ambiguous)?\.?$',
    re.DOTALL,
)
#: Words that are no name behind an expression.
_NO_NAMES: Final = frozenset(["end", "null", "true", "false", "day", "month", "year", "hour", "minute", "second"])


def told_apart(text: str, problem: str) -> str:
    """The text with a name of its own for each column of a SELECT; as it was where the problem is another one."""
    found = _PROBLEM.search(problem)
    if found is None:
        return text
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    known = text.count(_PREFIX)
    for select in sql.selects:
        changes.extend(_changes(_Items(sql, select), found, known + len(changes)))
    return replaced(text, changes)


def with_other_names(text: str) -> str:
    """The text in which what a subquery shows has names of its own where the same column of two tables is shown, which
    DataFusion plans, and calls a and a:1."""
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    for select in sql.selects:
        items = _Items(sql, select) if select.depth else None
        names = [] if items is None or items.has_star else [item.name for item in items.items if item.name]
        if items is not None and len(set(names)) < len(names):
            changes.extend(_changes(items, None, len(changes)))
    return replaced(text, changes)


def shown_again(names: list[str]) -> list[str]:
    """The names that columns were asked for by."""
    made: list[str] = []
    for name in names:
        found = _AGAIN.fullmatch(name)
        if found is not None and found["first"]:
            name = made[int(found["first"])]
        made.append(name if found is None or found["first"] else found["name"])
    return made


def unlike(names: list[str]) -> list[str]:
    """The names with a number behind those that stood before, in any case: a, a_1, a_2."""
    made: list[str] = []
    seen = {name.lower() for name in names}
    known: set[str] = set()
    for name in names:
        if name.lower() in known:
            name = _free(name, seen)
            seen.add(name.lower())
        known.add(name.lower())
        made.append(name)
    return made


class _Item:
    """What a SELECT shows: the tokens of its value, and its name ("" where the planner makes one up)."""

    def __init__(self, start: int, end: int, value: str, name: str) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.name = name


class _Items:
    def __init__(self, sql: Sql, select: Select) -> None:
        self.sql = sql
        self.is_nested = select.depth > 0
        start, end = select.start + 1, min(select.clauses.values(), default=select.end)
        if start < end and sql.tokens[start].is_word("distinct", "all") and not sql.is_at(start + 1, "on"):
            start += 1
        parts = sql.parts(range(start, end))
        self.has_star = any(sql.tokens[p.stop - 1].is_mark("*") for p in parts if p)
        self.items = [self.item(p) for p in parts if p and not sql.tokens[p.stop - 1].is_mark("*")]

    def item(self, tokens: range) -> _Item:
        sql = self.sql
        last, before = sql.tokens[tokens.stop - 1], sql.tokens[tokens.stop - 2]
        behind = last.end
        if len(tokens) > 2 and before.is_word("as"):
            return self.made(tokens, tokens.stop - 2, last.text)
        is_alone = len(tokens) == 1 or (before.is_mark(".") and len(tokens) > 2)
        if last.is_identifier and not is_alone and self.is_value(tokens.stop - 2) and last.text not in _NO_NAMES:
            return self.made(tokens, tokens.stop - 1, last.text)
        is_column = last.is_identifier and is_alone and last.text not in _NO_NAMES
        return _Item(behind, behind, self.text(range(tokens.start, tokens.stop)), last.text if is_column else "")

    def is_value(self, token: int) -> bool:
        """Whether an expression may end with a token, so that an identifier behind it is a name."""
        found = self.sql.tokens[token]
        return found.kind in ("word", "name", "string", "number") or found.is_mark(")", "]")

    def made(self, tokens: range, behind: int, name: str) -> _Item:
        start, end = self.sql.tokens[behind - 1].end, self.sql.tokens[tokens.stop - 1].end
        return _Item(start, end, self.text(range(tokens.start, behind)), name)

    def text(self, tokens: range) -> str:
        return " ".join([self.sql.tokens[i].text for i in tokens])


def _changes(items: _Items, problem: re.Match[str] | None, count: int) -> list[tuple[int, int, str]]:
    """New names for the items whose name or value stood before, or which the problem names; without one for those of
    names that stood before."""
    made: list[tuple[int, int, str]] = []
    seen = {item.name for item in items.items if item.name} if items.is_nested else set[str]()
    firsts: dict[str, int] = {}
    said = {} if problem is None else problem.groupdict()
    places = {int(said["second"])} if said.get("second") and not items.has_star else set[int]()
    wanted = (said.get("name") or "").strip('"')
    names: set[str] = set()
    for number, item in enumerate(items.items):
        known = item.name in names if item.name else problem is not None and item.value in firsts
        by_star = items.has_star and item.name and (item.start == item.end or item.name == wanted)
        named = item.name == wanted and item.start != item.end
        if known or by_star or named or (number in places and not item.name):
            name = item.name or item.value
            if items.is_nested and item.name:
                name = _free(name, seen)
                seen.add(name)
            else:
                first = "" if item.name or items.has_star else firsts.get(item.value, said.get("first"))
                name = f"{_PREFIX}{count + len(made)}_{first}_{name}"
            made.append((item.start, item.end, f" as {quoted(name)}"))
        names.add(item.name)
        firsts.setdefault(item.value, number)
    return made


def _free(name: str, seen: set[str]) -> str:
    number = 1
    while f"{name}_{number}".lower() in seen:
        number += 1
    return f"{name}_{number}"
