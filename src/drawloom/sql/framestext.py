"""Windows in SQL text that DataFusion reads in another way or cannot serialise, as others that mean the same to it:

    over (w order by b) ... window w as (partition by a)   =>  over (partition by a order by b)
    over (order by a groups between 1 preceding and current row)
        =>  over (order by a rows between 1099511627777 preceding and 1099511627776 following)

DataFusion passes over the window that another builds on. Its Substrait has no frames of GROUPS; as those of ROWS, with
2**40 added to every offset, they come through, and ``offset_in_groups`` tells them.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.clauses import Sql, Token, replaced

#: What offsets of GROUPS are written beyond: more than there are rows.
FAR: Final = 1 << 40
_BOUND: Final = re.compile(r"ROWS BETWEEN (\w+(?: ROW)?)(?: (\w+))? AND (\w+(?: ROW)?)(?: (\w+))?")
_SPECIFIES: Final = frozenset(["partition", "order", "rows", "range", "groups"])


def plain_windows(text: str, unsupported: list[str]) -> str:
    """The text without windows that build on others and without GROUPS; what cannot be told is named in
    ``unsupported``."""
    sql = Sql(text)
    if not any(t.is_word("over") for t in sql.tokens):
        return text
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(sql.tokens):
        if not token.is_mark("(") or token.mate < i or not is_window(sql, i):
            continue
        if i + 1 < token.mate and sql.tokens[i + 1].is_identifier and not sql.tokens[i + 1].is_word(*_SPECIFIES):
            name = sql.tokens[i + 1]
            built = _specified(sql, i, name.text)
            if not built:
                unsupported.append(f"a window that builds on '{name.text}', which is none")
            changes.append((name.start, name.end, built))
        inside = range(i + 1, token.mate)
        excluded = next((j for j in inside if sql.tokens[j].depth == token.depth + 1 and _is_exclusion(sql, j)), -1)
        if excluded >= 0:
            if not sql.is_at(excluded + 1, "no", "others"):
                unsupported.append("window functions: frames with EXCLUDE")
            changes.append((sql.tokens[excluded].start, sql.tokens[token.mate].start, ""))
            inside = range(i + 1, excluded)
        changes.extend(_frame(sql, inside, unsupported))
    text = replaced(text, changes)
    # A window may build on one that builds on another.
    return plain_windows(text, unsupported) if any(by for _, _, by in changes) and not unsupported else text


def _is_exclusion(sql: Sql, token: int) -> bool:
    ways = (("current", "row"), ("group",), ("ties",), ("no", "others"))
    return any(sql.is_at(token, "exclude", *way) and sql.is_at(token + 1 + len(way), ")") for way in ways)


def offset_in_groups(offset: int | None) -> int | None:
    """The offset of a bound of GROUPS that was written as one of ROWS; None for one that was not."""
    if offset is None or abs(offset) < FAR:
        return None
    return offset - FAR if offset > 0 else offset + FAR


def has_groups(text: str) -> bool:
    """Whether a text may have ROWS that stands for GROUPS, which only the translation from Substrait knows."""
    return f"{_MARKED} between " in text


def shown_frame(name: str) -> str:
    """A column's name with the frames that its text had."""

    def shown(match: re.Match[str]) -> str:
        bounds = [_shown_bound(match[1], match[2]), _shown_bound(match[3], match[4])]
        if bounds == [_bound(match[1], match[2]), _bound(match[3], match[4])]:
            return match[0]
        return f"GROUPS BETWEEN {bounds[0]} AND {bounds[1]}"

    return _BOUND.sub(shown, name)


def _bound(amount: str, side: str | None) -> str:
    return f"{amount} {side}" if side else amount


def _shown_bound(amount: str, side: str | None) -> str:
    if not amount.isdigit() or int(amount) < FAR:
        return _bound(amount, side)
    return _bound(str(int(amount) - FAR), side) if int(amount) > FAR else "CURRENT ROW"


def is_window(sql: Sql, open: int) -> bool:
    """Whether a bracket holds the words of a window: that of OVER, or that of a name in a WINDOW clause."""
    if sql.tokens[open - 1].is_word("over"):
        return True
    select = sql.within(open)
    return (
        sql.tokens[open - 1].is_word("as") and select is not None and open in select.clause("window")
        and sql.tokens[open].depth == select.depth
    )  # fmt: skip


def _specified(sql: Sql, open: int, name: str) -> str:
    """What the WINDOW clause around a bracket says of a window; "" for none of that name."""
    select = sql.within(open)
    for i in range(0) if select is None else select.clause("window"):
        if sql.tokens[i].is_identifier and sql.tokens[i].text == name and sql.is_at(i + 1, "as", "("):
            return sql.between(i + 3, sql.tokens[i + 2].mate)
    return ""


def _frame(sql: Sql, inside: range, unsupported: list[str]) -> list[tuple[int, int, str]]:
    tokens = sql.tokens
    depth = tokens[inside.start - 1].depth + 1
    at = next((i for i in inside if tokens[i].depth == depth and tokens[i].is_word("rows", "groups")), -1)
    if at < 0 or sql.is_at(at + 1, ".") or tokens[at - 1].is_mark(".", ","):
        return []
    if any(t.kind == "number" and t.text.isdigit() and int(t.text) >= FAR for t in tokens[at : inside.stop]):
        if sql.text[tokens[at].start : tokens[at].end] != _MARKED:
            unsupported.append("a frame of 2**40 rows or more")
        return []
    if tokens[at].text == "rows":
        return []
    bounds = _bounds(tokens[at + 1 : inside.stop])
    if bounds is None:
        return []  # the planner refuses it
    return [(tokens[at].start, tokens[inside.stop - 1].end, f"{_MARKED} between {bounds[0]} and {bounds[1]}")]


#: How ROWS is spelt where it stands for GROUPS.
_MARKED: Final = "rOWS"


def _bounds(tokens: list[Token]) -> tuple[str, str] | None:
    """Both bounds of a frame; None for others than the words and numbers there are."""
    words = [t.text for t in tokens]
    if words[:1] == ["between"] and "and" in words:
        cut = words.index("and")
        sides = [words[1:cut], words[cut + 1 :]]
    else:
        sides = [words, ["current", "row"]]
    low, high = _far(sides[0], "preceding"), _far(sides[1], "following")
    return (low, high) if low and high else None


def _far(words: list[str], side: str) -> str:
    if words == ["current", "row"]:
        return f"{FAR} {side}"
    if len(words) != 2 or words[1] not in ("preceding", "following"):
        return ""
    if words[0] == "unbounded":
        return " ".join(words)
    return f"{FAR + int(words[0])} {words[1]}" if words[0].isdigit() else ""
