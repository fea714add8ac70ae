"""Finds what DataFusion's Substrait leaves out of window functions, by the text of its plan: FILTER, DISTINCT, IGNORE
NULLS, and the offsets of frames that are no integers, which it writes as if they were unbounded.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from drawloom.sql import plan

_LINE: Final = re.compile(r"^ *WindowAggr: windowExpr=\[\[(.*)\]\]$", re.MULTILINE)
_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_BOUND: Final = r"(CURRENT ROW|.+? (?:PRECEDING|FOLLOWING))"
_FRAME: Final = re.compile(rf"\b(ROWS|RANGE) BETWEEN {_BOUND} AND {_BOUND}")
_LEFT_OUT: Final[dict[str, re.Pattern[str]]] = {
    "FILTER": re.compile(r" FILTER \(WHERE "),
    "DISTINCT": re.compile(r"\w\(DISTINCT "),
    "IGNORE NULLS": re.compile(r"\bIGNORE NULLS\b"),
}
_OFFSET: Final = "window functions: RANGE with an offset that is no integer"


def find_lost(root: plan.Relation, optimised: str, unsupported: list[str]) -> None:
    """Adds to ``unsupported`` what the window functions of the decoded plan lack that the plan's text has."""
    lines = [_TEXT.sub('""', line) for line in _LINE.findall(optimised)]
    words = [w for w, pattern in _LEFT_OUT.items() if any(pattern.search(x) for x in lines)]
    unsupported.extend([f"window functions: {w}" for w in words])
    told = Counter([frame for line in lines for frame in _frames(line)])
    if not unsupported and told != Counter([str(w.frame) for w in _windows(root)]):
        unsupported.append(_OFFSET)


def _windows(root: plan.Relation) -> list[plan.Window]:
    expressions = [e for relation in plan.relations(root) for e in relation.expressions()]
    return [part for e in expressions for part in plan.within(e) if isinstance(part, plan.Window)]


def _frames(line: str) -> list[str]:
    """The frames as ``WindowFrame`` prints them. An expression's name, after AS, repeats what was written."""
    made: list[str] = []
    is_name = False
    for match in _FRAME.finditer(line):
        if not is_name:
            made.append(f"{match[1].lower()} {_offset(match[2])} to {_offset(match[3])}")
        is_name = not is_name and line.startswith(" AS ", match.end())
    return made


def _offset(bound: str) -> str:
    if bound == "CURRENT ROW":
        return "0"
    amount, _, side = bound.rpartition(" ")
    if amount == "UNBOUNDED":
        return ".."
    return amount if side == "FOLLOWING" or amount == "0" else f"-{amount}"
