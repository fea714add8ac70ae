"""IS [NOT] DISTINCT FROM with brackets around it: DataFusion's parser takes the AND or OR behind it for a part of its
right side.

    a is distinct from b or c   =>   (a is distinct from b) or c
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.clauses import COMPARISONS, OPERATORS, Sql, left_side, replaced

_ARITHMETIC: Final = ("+", "-", "*", "/", "%", "||", "&", "|", "^", "#")
#: Behind the right side FROM begins the clause.
_OPERATORS: Final = OPERATORS - {"from"}


def with_brackets(text: str, unsupported: list[str]) -> str:
    """The text with brackets where AND or OR may follow. One whose sides are not told is named in ``unsupported``."""
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(sql.tokens):
        words = ("is", "not", "distinct", "from") if sql.is_at(i + 1, "not") else ("is", "distinct", "from")
        if not token.is_word("is") or not sql.is_at(i, *words):
            continue
        start, end = left_side(sql, i - 1), _right_side(sql, i + len(words))
        behind = sql.tokens[end] if end < len(sql.tokens) else None
        if start < 0 or (behind is not None and (behind.is_mark(*COMPARISONS) or behind.is_word(*_OPERATORS))):
            unsupported.append("IS DISTINCT FROM beside another comparison, without brackets")
        elif behind is not None and behind.is_word("and", "or"):
            begin, last = sql.tokens[start].start, sql.tokens[end - 1].end
            changes.extend([(begin, begin, "("), (last, last, ")")])
    return replaced(text, changes)


def _right_side(sql: Sql, i: int) -> int:
    """Behind the last token of the right side, whose first is token ``i``."""
    tokens = sql.tokens
    while i < len(tokens):
        while i < len(tokens) and tokens[i].is_mark("+", "-"):
            i += 1
        if i == len(tokens):
            break
        depth = tokens[i].depth
        if tokens[i].is_word("case"):
            i = next((j for j in range(i, len(tokens)) if tokens[j].depth == depth and tokens[j].is_word("end")), i)
        i = tokens[i].mate + 1 if tokens[i].mate > i else i + 1
        while i < len(tokens):
            if tokens[i].is_mark(".", "::"):
                i += 2
            elif tokens[i].is_mark("(", "["):
                i = tokens[i].mate + 1
            elif tokens[i].kind == "string" and tokens[i - 1].is_identifier:
                i += 1
            else:
                break
        if i == len(tokens) or not tokens[i].is_mark(*_ARITHMETIC):
            break
        i += 1
    return i
