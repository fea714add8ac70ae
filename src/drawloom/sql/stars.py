"""Stars with a choice of columns to these columns, which DataFusion finds by other names than DuckDB, or not at all:

    select * replace (i + 1 as "J") from t   =>   select "i", (i + 1) as "J", "s" from t
    select * not like 's%' from t            =>   select "i", "j" from t

A star whose EXCLUDE and REPLACE name columns as the table does stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.evaluate import like_pattern
from drawloom.sql.clauses import Select, Sql
from drawloom.sql.places import line_and_column
from drawloom.sql.planner import Planner, SqlError, quoted
from drawloom.sql.subqueries import named_before, with_named
from drawloom.sql.text import SqlText

_LIKE: Final = ("like", "ilike")
_CHOICES: Final = ("exclude", "replace", "not", *_LIKE)
_UNKNOWN: Final = (
    "* with LIKE, EXCLUDE or REPLACE where the planner does not tell the columns, or several have one name"
)
_BEHIND: Final = "* with LIKE and a name, or ESCAPE"


class _Star:
    """The star at token ``at`` of a SELECT, whose table's name and dot begin at token ``start``. Names in EXCLUDE, and
    in REPLACE with their expressions, are tokens; ``keeps`` tells the names that LIKE leaves; the choice ends before
    token ``end``."""

    def __init__(self, select: Select, at: int, start: int) -> None:
        self.select = select
        self.at = at
        self.start = start
        self.end = at + 1
        self.excluded: list[int] = []
        self.replaced: list[tuple[int, range]] = []
        self.keeps: Callable[[str], bool] | None = None


def with_chosen_columns(text: SqlText, planner: Planner) -> None:
    """Put columns in the place of stars, those of inner SELECTs first. What is not understood is unsupported. Raises
    SqlError for a choice of no column, and for a name that no column has."""
    lower = text.sql.lower()
    if "*" not in lower or not any(word in lower for word in _CHOICES):
        return
    sql = Sql(text.sql)
    at = len(sql.tokens)
    while (at := next((i for i in range(at - 1, -1, -1) if _is_chosen(sql, i)), -1)) >= 0:
        star = _star(sql, at)
        if star is None:
            text.unsupported.append(_UNKNOWN)
            continue
        if star.keeps is not None and not _ends(sql, star):
            text.unsupported.append(_BEHIND)
            continue
        names = _names(sql, star, planner)
        if not names and star.keeps is None and not star.replaced:
            continue  # DataFusion refuses the names that it does not find
        if not names:
            text.unsupported.append(_UNKNOWN)
            continue
        columns = _columns(text, sql, star, names)
        if columns is None:
            continue
        if len({name.lower() for name in names}) < len(names):
            text.unsupported.append(_UNKNOWN)
            continue
        text.change([(sql.tokens[star.start].start, sql.tokens[star.end - 1].end, ", ".join(columns))])
        sql = Sql(text.sql)


def _is_chosen(sql: Sql, at: int) -> bool:
    """Whether a token is a star, not a product, with a choice behind it."""
    if not sql.tokens[at].is_mark("*") or at == 0 or at + 1 == len(sql.tokens):
        return False
    if sql.tokens[at + 1].is_word(*_LIKE) or sql.is_at(at + 1, "not", "like") or sql.is_at(at + 1, "not", "ilike"):
        return True
    before = sql.tokens[at - 1]
    opens = before.mate if before.is_mark(")") else -1
    is_star = before.is_word("select", "distinct", "all") or before.is_mark(",", ".")
    return sql.tokens[at + 1].is_word("exclude", "replace") and (is_star or sql.is_at(opens - 2, "distinct", "on"))


def _star(sql: Sql, at: int) -> _Star | None:
    """The star with its choice; None for one that is not what a SELECT shows."""
    select = sql.within(at)
    if select is None or sql.tokens[at].depth != select.depth or select.clause_at(at) != "select":
        return None
    start = at
    while sql.is_at(start - 1, ".") and sql.tokens[start - 2].is_identifier:
        start -= 2
    made = _Star(select, at, start)
    if sql.is_at(made.end, "exclude"):
        opens = sql.tokens[made.end + 1]
        names = range(made.end + 2, opens.mate) if opens.is_mark("(") else range(made.end + 1, made.end + 2)
        parts = sql.parts(names)
        if any(len(part) != 1 for part in parts):
            return None
        made.excluded = [part.start for part in parts]
        made.end = names.stop + opens.is_mark("(")
    if sql.is_at(made.end, "replace"):
        opens = sql.tokens[made.end + 1]
        parts = sql.parts(range(made.end + 2, opens.mate)) if opens.is_mark("(") else []
        if not parts or any(len(part) < 3 or not sql.is_at(part.stop - 2, "as") for part in parts):
            return None
        made.replaced = [(part.stop - 1, range(part.start, part.stop - 2)) for part in parts]
        made.end = opens.mate + 1
    is_not = sql.is_at(made.end, "not")
    word = made.end + is_not
    if word + 1 < len(sql.tokens) and sql.tokens[word].is_word(*_LIKE):
        pattern = sql.tokens[word + 1]
        if pattern.kind != "string" or not pattern.text.startswith("'"):
            return None
        made.keeps = _kept(pattern.text[1:-1].replace("''", "'"), sql.tokens[word].text == "ilike", is_not)
        made.end = word + 2
    return made


def _kept(pattern: str, folds: bool, is_not: bool) -> Callable[[str], bool]:
    expression = like_pattern(pattern.lower() if folds else pattern)
    return lambda name: (expression.fullmatch(name.lower() if folds else name) is None) == is_not


def _ends(sql: Sql, star: _Star) -> bool:
    """Whether nothing of a star stands behind its choice."""
    return star.end in (len(sql.tokens), star.select.end, *star.select.clauses.values()) or sql.tokens[
        star.end
    ].is_mark(",", ")", ";")


def _names(sql: Sql, star: _Star, planner: Planner) -> list[str]:
    """The names of all columns that the star stands for; none where the planner does not tell them."""
    source = star.select.clause("from")
    given = f"select {sql.between(star.start, star.at + 1)} from {sql.between(source.start, source.stop)}"
    try:
        return list(planner.schema(with_named(named_before(sql, star.at), given)).names)
    except SqlError:
        return []


def _columns(text: SqlText, sql: Sql, star: _Star, names: list[str]) -> list[str] | None:
    """What the SELECT shows in place of the star; None where the star says the same to DataFusion. Raises SqlError."""
    places = [*star.excluded, *[name for name, _ in star.replaced]]
    written = [sql.text[sql.tokens[i].start : sql.tokens[i].end] for i in places]  # DataFusion folds no case here
    if star.keeps is None and all(word in names or word[1:-1] in names for word in written):
        return None
    known = {name.lower() for name in names}
    for i, word in [*[(i, "EXCLUDE") for i in star.excluded], *[(i, "REPLACE") for i, _ in star.replaced]]:
        if sql.tokens[i].text.lower() not in known:
            raise _error(text, sql, i, f'Column "{sql.tokens[i].text}" in {word} list not found in FROM clause')
    excluded = {sql.tokens[i].text.lower() for i in star.excluded}
    given = {sql.tokens[i].text.lower(): (sql.tokens[i].text, value) for i, value in star.replaced}
    if len(given) < len(star.replaced) or not excluded.isdisjoint(given):
        raise _error(text, sql, star.at, "a column stands twice in EXCLUDE and REPLACE")
    table = sql.between(star.start, star.at)
    made: list[str] = []
    for name in names:
        if name.lower() in excluded or (star.keeps is not None and not star.keeps(name)):
            continue
        if name.lower() in given:
            shown, value = given[name.lower()]
            made.append(f"({sql.between(value.start, value.stop)}) as {quoted(shown)}")
        else:
            made.append(f"{table}{quoted(name)}")
    if not made:
        raise _error(text, sql, star.at, "the star has no column left: no column's name is one that is asked for")
    return made


def _error(text: SqlText, sql: Sql, token: int, message: str) -> SqlError:
    return SqlError(message, *line_and_column(text.given, text.offset(sql.tokens[token].start)))
