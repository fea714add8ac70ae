"""An error of the planner, which names no place, to the line and column of the text that it is about.

DataFusion tells a place only of text that it cannot parse. Of names, it is where they stand; where a name stands more
than once, and for types that do not go together, it is the first column or constant without which, NULL standing for
it, the planner does not say the same any more.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

from drawloom.sql.clauses import BEFORE, CLAUSES, OPERATORS, SETS, Sql
from drawloom.sql.clauses import Token as SqlToken
from drawloom.sql.tokens import COMMENT, NUMBER, QUOTED_NAME, STRING, WORD, pattern_of

#: Seconds that looking for a place may take, in which a query of usual length is planned some hundred times.
_PATIENCE: Final = 0.5

_PARSED: Final = re.compile(r" at Line: (\d+), Column: (\d+)")
_END: Final = re.compile(r"found: EOF\b")
#: What the planner says of NULL where no expression may stand.
_NO_EXPRESSION: Final = re.compile(r" at Line: \d+, Column: \d+|^Expected|table 'null'", re.IGNORECASE)
#: What messages name, and the words that a name stands behind where it must; "" is a column.
_NAMED: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"No field named ((?:\"[^\"]+\"|\w+)(?:\.(?:\"[^\"]+\"|\w+))*)"), ""),
    (re.compile(r"Ambiguous reference to unqualified field (\w+)"), ""),
    (re.compile(r"there is no table '([^']*)'"), "from join into ,"),
    (re.compile(r"column \"([^\"]+)\" must (?:appear|be)"), ""),
    (re.compile(r"non-boolean predicate '([\w.]+)'"), ""),
    (re.compile(r"Invalid function '(\w+)'"), "("),
    (re.compile(r"[Ff]unction '(\w+)'|name and argument types '(\w+)\("), "("),
    (re.compile(r"Unsupported SQL type (\w+)"), "as"),
    (re.compile(r"string '([^']*)' to value|for type interval: \"([^\"]*)\""), "'"),
)
#: What messages are about that is one of the query's words: the first of them; "" is the text's first word.
_WORDS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (re.compile(r"^(?:DDL|DML|Statement) not supported"), ("",)),
    (re.compile(r"FETCH clause"), ("fetch",)),
)
_MORE_STATEMENTS: Final = re.compile(r"only supports a single SQL statement")
_WIDTHS: Final = re.compile(r"(?:UNION|INTERSECT|EXCEPT) queries have different number of columns")
_ALIASES: Final = re.compile(r"contains \d+ columns? but only (\d+) names? given as column alias")
_ROW: Final = re.compile(r"Inconsistent data length across values list: .* in row (\d+)")
#: What two tables of one name have, of which neither has another name in the query.
_SAME_TABLE: Final = re.compile(r"duplicate qualified field name (?:\w+\.)*?(\"[^\"]+\"|\w+)\.(?:\"[^\"]+\"|\w+)$")
_BEHIND_TABLES: Final = (
    "join", "inner", "left", "right", "full", "cross", "natural", "semi", "anti", "on", "using", "lateral",
    "tablesample",
)  # fmt: skip
_UNARY: Final = re.compile(r"Unsupported SQL unary operator BitwiseNot")
_NAME: Final = rf"(?: {QUOTED_NAME} | {WORD} )"
_TOKEN: Final = pattern_of(
    rf"{COMMENT} | (?P<constant> {STRING} | {NUMBER} ) | (?P<name> {_NAME} (?: \s*\.\s* {_NAME} )* ) | \S"
)


class Token:
    """A name or constant of the text, what stands before it, and whether a parenthesis opens behind it."""

    def __init__(self, text: str, start: int, before: str, opens: bool) -> None:
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.before = before
        self.opens = opens

    def is_named(self, name: str) -> bool:
        """Whether this is the name that a message has, whole or without the table before it."""
        mine, theirs = _parts(self.text), _parts(name)
        return mine == theirs or mine == theirs[-1:]


def _parts(name: str) -> list[str]:
    return [p.strip().strip('"').lower() for p in name.split(".")]


def find(sql: str, message: str, plan: Callable[[str], str]) -> int:
    """The offset in ``sql`` that ``message`` is about, -1 where that cannot be told. ``plan`` gives the message for
    another text, "" for one that can be planned."""
    parsed = _PARSED.search(message)
    if parsed is not None:
        return offset_of(sql, int(parsed.group(1)), int(parsed.group(2)))
    if _END.search(message):
        return len(sql.rstrip())
    tokens = tokens_of(sql)
    for pattern, words in _WORDS:
        if pattern.search(message):
            return next((t.start for t in tokens if words == ("",) or t.text.lower() in words), -1)
    structural = _structural(Sql(sql), message, plan)
    if structural >= 0:
        return structural
    for pattern, behind in _NAMED:
        named = pattern.search(message)
        if named is None:
            continue
        name = next(group for group in named.groups() if group is not None)
        if behind == "'":
            fitting = [t for t in tokens if t.text == f"'{name}'"]
        else:
            fitting = [t for t in tokens if t.is_named(name)]
            if behind == "(":
                fitting = [t for t in fitting if t.opens]
            elif behind:
                fitting = [t for t in fitting if t.before in behind.split()]
        if len(fitting) > 1 and behind == "(":
            return _culprit(sql, message, plan, fitting, calls=True)
        if len(fitting) == 1 or (fitting and behind):
            return fitting[0].start
        return _culprit(sql, message, plan, fitting or tokens)
    found = _culprit(sql, message, plan, tokens)
    return found if found >= 0 else _culprit(sql, message, plan, tokens, calls=True)


def _structural(sql: Sql, message: str, plan: Callable[[str], str]) -> int:
    """The offset of a part of the query that a message counts but does not name; -1 for another message."""
    tokens = sql.tokens
    if _MORE_STATEMENTS.search(message):
        ends = [i for i, t in enumerate(tokens[:-1]) if t.is_mark(";") and t.depth == 0]
        return tokens[ends[0] + 1].start if ends else -1
    if _WIDTHS.search(message):
        return _other_width(sql, message, plan)
    same = _SAME_TABLE.search(message)
    if same is not None:
        return _again(sql, [i for i, t in enumerate(tokens) if t.text == same[1].strip('"') and _is_table(sql, i)])
    if _UNARY.search(message):
        return next((t.start for i, t in enumerate(tokens) if t.is_mark("~") and _is_prefix(sql, i)), -1)
    aliases, row = _ALIASES.search(message), _ROW.search(message)
    if aliases is not None:
        wanted = int(aliases[1])
        lists = [i for i, t in enumerate(tokens) if t.is_mark("(") and i and tokens[i - 1].is_identifier and t.mate > i]
        return next((tokens[i].start for i in lists if len(sql.parts(range(i + 1, tokens[i].mate))) == wanted), -1)
    if row is not None:
        values = next((i for i, t in enumerate(tokens) if t.is_word("values")), len(tokens))
        depth = tokens[values].depth if values < len(tokens) else 0
        rows = [t.start for t in tokens[values:] if t.is_mark("(") and t.depth == depth]
        return rows[int(row[1])] if int(row[1]) < len(rows) else -1
    return -1


def _again(sql: Sql, tables: list[int]) -> int:
    """The offset of the first of the tables before which another is in the same SELECT; -1 for none."""
    seen: set[int] = set()
    for table in tables:
        select = sql.within(table)
        assert select is not None
        if select.start in seen:
            return sql.tokens[table].start
        seen.add(select.start)
    return -1


def _is_table(sql: Sql, token: int) -> bool:
    """Whether a token is the name of a table that gets no other name."""
    behind = sql.tokens[token + 1] if token + 1 < len(sql.tokens) else None
    if not sql.tokens[token].is_identifier or (behind is not None and behind.is_identifier and not _goes_on(behind)):
        return False
    select = sql.within(token)
    if select is None or select.clause_at(token) != "from":
        return False
    is_first = sql.tokens[token].depth == select.depth and (sql.is_at(token - 1, "from") or sql.is_at(token - 1, ","))
    return is_first or sql.is_at(token - 1, "join")


def _goes_on(token: SqlToken) -> bool:
    """Whether a word behind a table is not its other name."""
    return token.is_word(*CLAUSES, *SETS, *_BEHIND_TABLES)


def _is_prefix(sql: Sql, token: int) -> bool:
    """Whether an operator has nothing on its left."""
    before = sql.tokens[token - 1] if token else None
    if before is None or before.is_word(*BEFORE, *OPERATORS):
        return True
    return before.kind == "mark" and not before.is_mark(")", "]")


def _other_width(sql: Sql, message: str, plan: Callable[[str], str]) -> int:
    """The UNION, INTERSECT or EXCEPT whose sides have different numbers of columns: up to there the planner says so."""
    operators = [i for i, t in enumerate(sql.tokens) if t.is_word(*SETS)]
    for i in operators:
        depth = sql.tokens[i].depth
        begin = next((j + 1 for j in range(i, -1, -1) if sql.tokens[j].depth < depth), 0)
        end = next((j for j in range(i + 1, len(sql.tokens)) if sql.tokens[j].depth < depth
                    or (j in operators and sql.tokens[j].depth == depth)), len(sql.tokens))  # fmt: skip
        if len(operators) == 1 or plan(sql.between(begin, end)) == message:
            return sql.tokens[i].start
    return -1


def _culprit(sql: str, message: str, plan: Callable[[str], str], tokens: list[Token], calls: bool = False) -> int:
    """The first of the tokens, or of the ``calls`` that begin with them, without which there is no message, else the
    first without which there is another. Where all are one name and it is always the same, each of them is wrong: the
    first."""
    until = time.monotonic() + _PATIENCE
    other = -1
    for token in tokens:
        if token.opens != calls or time.monotonic() > until:
            continue
        end = _closing(sql, token.end) if calls else token.end
        said = plan(sql[: token.start] + "NULL" + sql[end:])
        if not said:
            return token.start
        if other < 0 and said != message and not _NO_EXPRESSION.search(said):
            other = token.start
    if other >= 0:
        return other
    return tokens[0].start if tokens and all(_same_name(t, tokens[0]) for t in tokens) else -1


def _closing(sql: str, offset: int) -> int:
    """The offset behind the parenthesis that closes the first one from ``offset`` on."""
    depth = 0
    for match in _TOKEN.finditer(sql, offset):
        depth += (match.group() == "(") - (match.group() == ")")
        if depth == 0:
            return match.end()
    return len(sql)


def _same_name(one: Token, other: Token) -> bool:
    return _parts(one.text)[-1] == _parts(other.text)[-1]


def tokens_of(sql: str) -> list[Token]:
    """The names and constants of a text, in order."""
    found: list[Token] = []
    before = ""
    for match in _TOKEN.finditer(sql):
        text = match.group()
        if text.startswith(("--", "/*")):
            continue
        if match.group("name") or match.group("constant"):
            found.append(Token(text, match.start(), before, sql[match.end() :].lstrip().startswith("(")))
        before = text.lower()
    return found


def offset_of(sql: str, line: int, column: int) -> int:
    """The offset of a line and column, both from 1."""
    lines = sql.split("\n")
    if line > len(lines):
        return len(sql)
    return min(sum([len(text) + 1 for text in lines[: line - 1]]) + column - 1, len(sql))


def line_and_column(sql: str, offset: int) -> tuple[int, int, str]:
    """The line and column of an offset, both from 1, and the text of that line."""
    start = sql.rfind("\n", 0, offset) + 1
    stop = sql.find("\n", offset)
    return sql.count("\n", 0, offset) + 1, offset - start + 1, sql[start : stop if stop >= 0 else len(sql)]
