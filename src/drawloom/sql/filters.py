"""FILTER of window functions, which DataFusion's Substrait leaves out, as a CASE within the call:

sum(x) filter (where c) over w   =>   sum(case when c then x end) over w
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.aggregates import FOLDED, REDUCTIONS
from drawloom.sql.tokens import COMMENT, QUOTED_NAME, STRING, WORD, pattern_of

_TOKEN: Final = pattern_of(rf"{COMMENT} | {STRING} | {QUOTED_NAME} | (?P<word> {WORD} ) | (?P<mark> [(),] )")
#: Words that an argument cannot begin or go on with in a CASE.
_OWN: Final = frozenset(["distinct", "all", "order"])


class Token:
    def __init__(self, text: str, start: int, depth: int) -> None:
        self.text = text
        self.start = start
        self.depth = depth


def without_filters(text: str) -> str:
    """The text with the filters of window aggregates within their calls. Other filters, and those of functions that
    would take the CASE for a value, stay as they are."""
    while True:
        tokens = tokens_of(text)
        made = next((m for i in range(len(tokens)) if (m := _rewritten(text, tokens, i))), "")
        if not made:
            return text
        text = made


def tokens_of(text: str) -> list[Token]:
    """Words, in lower case, brackets and commas; a bracket has the depth that is outside of it."""
    made: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        if match["word"] or match["mark"]:
            depth -= match["mark"] == ")"
            made.append(Token((match["word"] or match["mark"]).lower(), match.start(), depth))
            depth += match["mark"] == "("
    return made


def _rewritten(text: str, tokens: list[Token], at: int) -> str:
    """The text with the filter that token ``at`` begins moved into its call; "" where there is none to move."""
    if [t.text for t in tokens[at - 1 : at + 3]] != [")", "filter", "(", "where"] or at < 3:
        return ""
    depth = tokens[at].depth
    opens = next(i for i in range(at - 2, -1, -1) if tokens[i].text == "(" and tokens[i].depth == depth)
    closes = next((i for i in range(at + 2, len(tokens)) if tokens[i].text == ")" and tokens[i].depth == depth), -1)
    inside = [t for t in tokens[opens + 1 : at - 1] if t.depth == depth + 1]
    is_window = 0 < closes < len(tokens) - 1 and tokens[closes + 1].text == "over"
    name = tokens[opens - 1].text if opens else ""
    if not is_window or name not in (*REDUCTIONS, *FOLDED, *_SPELT) or any(t.text in _OWN for t in inside):
        return ""
    start, end = tokens[opens].start + 1, tokens[at - 1].start
    comma = next((t.start for t in inside if t.text == ","), end)
    condition = text[tokens[at + 2].start + len("where") : tokens[closes].start]
    argument = "1" if text[start:end].strip() == "*" else text[start:comma]
    call = f"case when {condition} then {argument} end{text[comma:end]})"
    return text[:start] + call + text[tokens[closes].start + 1 :]


#: Other names that DataFusion has for them.
_SPELT: Final = frozenset(["mean", "quantile_cont", "stddev_samp", "var_samp", "var_population", "any_value"])
