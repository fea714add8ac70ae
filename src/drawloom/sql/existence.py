"""EXISTS of a correlated subquery outside of WHERE, which DataFusion leaves in its plan, as a count, which it makes a
join:

    exists (select ... from ... where ...)   =>   ((select count(*) from ... where ...) > 0)
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.filters import Token, tokens_of

#: What makes a subquery's rows others than those that it selects from.
_OTHER_ROWS: Final = frozenset([
    "group", "having", "limit", "offset", "fetch", "distinct", "union", "intersect", "except", "order", "qualify",
])  # fmt: skip


def counted_existence(text: str) -> str:
    """The text with each EXISTS that has plain rows as a count; the same text where there is none."""
    tokens = tokens_of(text)
    for at in range(len(tokens) - 3):
        if [t.text for t in tokens[at : at + 3]] == ["exists", "(", "select"]:
            made = _counted(text, tokens, at)
            if made:
                return counted_existence(made)
    return text


def _counted(text: str, tokens: list[Token], at: int) -> str:
    depth = tokens[at + 1].depth
    end = next((i for i in range(at + 2, len(tokens)) if tokens[i].text == ")" and tokens[i].depth == depth), -1)
    inside = [t for t in tokens[at + 2 : end] if t.depth == depth + 1]
    start = next((t for t in inside if t.text == "from"), None)
    if end < 0 or start is None or any(t.text in _OTHER_ROWS for t in inside):
        return ""
    subquery = f"(select count(*) {text[start.start : tokens[end].start]})"
    return f"{text[: tokens[at].start]}({subquery} > 0){text[tokens[end].start + 1 :]}"
