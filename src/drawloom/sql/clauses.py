"""SQL text to tokens with their brackets, and to the SELECTs in it with the places of their clauses.

What changes a query's text before it is planned works on these: what is within quotes or comments is no token, and what
is not understood is left as it is, for the planner to judge.
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.tokens import COMMENT, NUMBER, QUOTED_NAME, STRING, WORD, pattern_of

_TOKEN: Final = pattern_of(
    rf"""(?P<skip> {COMMENT} | \s+ ) | (?P<string> {STRING} ) | (?P<name> {QUOTED_NAME} ) | (?P<word> {WORD} )
      | (?P<number> {NUMBER} ) | (?P<mark> <> | <= | >= | != | \|\| | :: | . )"""
)
_OPENS: Final = {"(": ")", "[": "]", "{": "}"}
#: The words that clauses of a SELECT begin with.
CLAUSES: Final = frozenset(
    ["from", "where", "group", "having", "window", "qualify", "order", "limit", "offset", "fetch"]
)
#: What stands between two SELECTs.
SETS: Final = frozenset(["union", "intersect", "except"])
#: Words that an expression stands behind: what the left side of a comparison cannot reach beyond.
BEFORE: Final = frozenset([
    "and", "or", "not", "where", "having", "on", "select", "distinct", "when", "then", "else", "by", "case", "qualify",
])  # fmt: skip
#: Words of operators, next to which it is not told what the left side is.
OPERATORS: Final = frozenset(["is", "between", "like", "ilike", "similar", "in", "escape", "collate", "from"])
COMPARISONS: Final = ("=", "<>", "!=", "<", "<=", ">", ">=")


class Token:
    """``text`` is in lower case for a word, without its quotes for a name. ``depth`` counts the brackets around it,
    ``mate`` is the number of the bracket that goes with this one, -1 for none."""

    def __init__(self, kind: str, text: str, start: int, end: int, depth: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end
        self.depth = depth
        self.mate = -1

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text in words

    def is_mark(self, *marks: str) -> bool:
        return self.kind == "mark" and self.text in marks

    @property
    def is_identifier(self) -> bool:
        return self.kind in ("word", "name")


class Select:
    """One SELECT: tokens ``start`` to ``end``, which is behind the last; ``clauses`` has where each begins."""

    def __init__(self, start: int, end: int, depth: int, clauses: dict[str, int]) -> None:
        self.start = start
        self.end = end
        self.depth = depth
        self.clauses = clauses

    def clause(self, word: str) -> range:
        """The tokens of a clause behind the word that begins it; none where the SELECT has no such clause."""
        if word not in self.clauses:
            return range(0)
        begin = self.clauses[word]
        return range(begin + 1, min([at for at in self.clauses.values() if at > begin], default=self.end))

    def clause_at(self, token: int) -> str:
        """The word of the clause that a token is in; "select" for what is shown."""
        return max(((at, word) for word, at in self.clauses.items() if at < token), default=(0, "select"))[1]


class Sql:
    """A text taken apart."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.selects = _selects(self)

    def between(self, first: int, behind: int) -> str:
        """The text of tokens ``first`` up to before ``behind``."""
        return self.text[self.tokens[first].start : self.tokens[behind - 1].end] if behind > first else ""

    def within(self, token: int) -> Select | None:
        """The innermost SELECT that a token is in."""
        found = [s for s in self.selects if s.start < token < s.end]
        return max(found, key=lambda s: s.start, default=None)

    def parts(self, tokens: range) -> list[range]:
        """What commas outside of brackets divide."""
        made: list[range] = []
        start = tokens.start
        for i in tokens:
            if self.tokens[i].is_mark(",") and self.tokens[i].depth == self.tokens[tokens.start].depth:
                made.append(range(start, i))
                start = i + 1
        return [*made, range(start, tokens.stop)] if tokens else []

    def is_at(self, token: int, *words: str) -> bool:
        """Whether the tokens from this one on are these words or marks."""
        found = self.tokens[token : token + len(words)] if token >= 0 else []
        return [t.text for t in found if t.kind in ("word", "mark")] == list(words)


def _selects(sql: Sql) -> list[Select]:
    """Return every SELECT of a text by where it begins, in one pass over the tokens."""
    made: list[Select] = []
    open: list[Select] = []  # the innermost last
    for i, token in enumerate(sql.tokens):
        depth = token.depth if token.is_word("select", *SETS) else token.depth + 1  # which it ends SELECTs from
        while open and (open[-1].depth >= depth or token.is_mark(";")):
            open.pop().end = i
        if token.is_word("select"):
            open.append(Select(i, len(sql.tokens), token.depth, {}))
            made.append(open[-1])
        elif open and open[-1].depth == token.depth and token.is_word(*CLAUSES):
            found = open[-1]
            is_comparison = token.text == "from" and sql.is_at(i - 1, "distinct") and i > found.start + 2
            is_name = sql.tokens[i - 1].is_mark(".") or sql.tokens[i - 1].is_word("as", "within")
            if token.text not in found.clauses and not (is_comparison or is_name):
                found.clauses[token.text] = i
    return made


def left_side(sql: Sql, last: int) -> int:
    """Where the left side of a comparison begins whose last token is ``last``; -1 where that is not told."""
    tokens = sql.tokens
    start = last + 1
    while start > 0:
        token = tokens[start - 1]
        if token.mate >= 0 and token.mate < start - 1:
            start = token.mate
            continue
        if token.is_word("end"):
            opens = [i for i in range(start) if tokens[i].is_word("case") and tokens[i].depth == token.depth]
            if not opens:
                return -1
            start = opens[-1]
            continue
        if token.mate >= 0 or token.is_mark(",", ";") or token.is_word(*BEFORE):
            break
        if token.is_word(*OPERATORS) or token.is_mark(*COMPARISONS):
            return -1
        start -= 1
    if start > last or (start and tokens[start - 1].is_word("and") and _is_between(tokens, start - 1)):
        return -1
    return start


def _is_between(tokens: list[Token], at: int) -> bool:
    """Whether the AND may be that of a BETWEEN."""
    depth = tokens[at].depth
    for i in range(at - 1, -1, -1):
        token = tokens[i]
        if token.depth < depth or (token.depth == depth and token.is_word("and", "or", "where", "on", "select")):
            return False
        if token.depth == depth and token.is_word("between"):
            return True
    return False


def replaced(text: str, changes: list[tuple[int, int, str]]) -> str:
    """The text with each ``(start, end, by)`` changed, which do not overlap."""
    made: list[str] = []
    place = 0
    for start, end, by in sorted(changes):
        made.extend([text[place:start], by])
        place = end
    return "".join([*made, text[place:]])


def place_before(changes: list[tuple[int, int, str]], offset: int) -> int:
    """Where an offset in a text was before each ``(start, end, by)`` was changed; in what was put in, where that
    begins."""
    grown = 0
    for start, end, by in sorted(changes):
        if offset < start + grown:
            break
        if offset < start + grown + len(by):
            return start
        grown += len(by) - (end - start)
    return offset - grown


def _tokens(text: str) -> list[Token]:
    made: list[Token] = []
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        kind = "string" if kind == "tag" else kind
        if kind == "skip":
            continue
        found = match.group()
        if kind == "word":
            found = found.lower()
        elif kind == "name":
            found = found[1:-1].replace('""', '"')
        closes = kind == "mark" and found in _OPENS.values()
        token = Token(kind, found, match.start(), match.end(), len(opened) - (closes and bool(opened)))
        if closes and opened:
            mate = opened.pop()
            token.mate, made[mate].mate = mate, len(made)
        elif kind == "mark" and found in _OPENS:
            opened.append(len(made))
        made.append(token)
    return made
