"""Long chains of AND or OR with brackets, so that they are as deep as they need to be, and no deeper.

    a or b or c or d or e   =>   a or ((b or c) or d) or e

A chain is nested to the left, a level for each part, and DataFusion takes time by the square of the depth and more for
what it does with it: 300 parts took 5 s, and as many levels of the stack are more than there are for 1,000.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from drawloom.sql.clauses import Sql

#: Chains of fewer parts stay as they are.
_LONG: Final = 16
#: Words and marks that a part of a chain does not have outside of its own brackets; AND binds closer than OR.
_ENDS: Final = frozenset([
    "select", "from", "where", "group", "having", "window", "qualify", "order", "limit", "offset", "fetch", "union",
    "intersect", "except", "on", "using", "join", "as", "case", "when", "then", "else", "end", "values", "with", "by",
    ",", ";", "or",
])  # fmt: skip
_WORDS: Final = ("or", "and")


def balanced(text: str) -> dict[int, str]:
    """The brackets to put in, by the offset that they stand at."""
    made: dict[int, str] = {}
    if sum([text.lower().count(w) for w in _WORDS]) < _LONG:
        return made
    sql = Sql(text)
    for word in _WORDS:
        for chain in _chains(sql, word):
            parts = [(sql.tokens[a + 1].start, sql.tokens[b - 1].end) for a, b in pairwise(chain)]
            if len(parts) >= _LONG:
                _halve(parts, made)
    return made


def _chains(sql: Sql, word: str) -> list[list[int]]:
    """The places of ``word`` between which there is one part of a chain each. The AND of a BETWEEN is none; where a
    CASE may hide which one that is, there are no more chains within those brackets."""
    made: list[list[int]] = []
    open: dict[int, list[int]] = {}
    betweens: set[int] = set()
    untold: set[int] = set()
    for i, token in enumerate(sql.tokens):
        depth = token.depth
        for deeper in [d for d in open if d > depth]:
            made.append(open.pop(deeper))
        betweens, untold = {d for d in betweens if d <= depth}, {d for d in untold if d <= depth}
        if token.is_word(word) and depth in betweens and word == "and":
            betweens.remove(depth)
        elif token.is_word(word) and depth not in untold:
            open.setdefault(depth, []).append(i)
        elif token.is_word("between"):
            betweens.add(depth)
        elif token.is_word(*_ENDS) or token.is_mark(*_ENDS):
            made.append(open.pop(depth, []))
            untold |= betweens & {depth}
    return [*made, *open.values()]


def _halve(parts: list[tuple[int, int]], made: dict[int, str]) -> None:
    """Brackets around the parts from the first to the last, and around each half of them."""
    start, end = parts[0][0], parts[-1][1]
    made[start] = made.get(start, "") + "("
    made[end] = made.get(end, "") + ")"
    if len(parts) > 2:
        _halve(parts[: len(parts) // 2], made)
        _halve(parts[len(parts) // 2 :], made)
