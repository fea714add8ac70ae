"""``||`` of lists, which DataFusion plans as ``array_concat``, ``array_append`` and ``array_prepend``, to a function of
its own: of a list that is NULL it is NULL, where those functions have nothing to add.

    l || m   =>  array_joined(l, m)            l || null   =>  array_joined(l, NULL)
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.clauses import Sql, replaced
from drawloom.sql.plan import Apply, Constant, Relation, relations, within
from drawloom.sql.planner import Planner, SqlError

JOINED: Final = "array_joined"
#: The functions by all names that a query may call them by.
_CALLS: Final[dict[str, str]] = {
    f"{kind}_{name}": planned
    for kind in ("array", "list")
    for name, planned in (("concat", "array_concat"), ("cat", "array_concat"), ("append", "array_append"),
                          ("push_back", "array_append"), ("prepend", "array_prepend"), ("push_front", "array_prepend"))
}  # fmt: skip
#: What gives and takes the same types as a call.
_ALIKE: Final = {"array_concat": "coalesce", "array_append": "array_remove"}
_PLANNED: Final = frozenset(["array_concat", "array_append", "array_prepend"])
_ARGUMENT: Final = r"(?:[^(),]|\((?:[^()]|\([^()]*\))*\))*"
#: What adds a NULL to a list; what has one for a side.
_ADDS_NULL: Final = re.compile(
    rf"array_prepend\((?:NULL|CAST\(NULL AS \w+\)), |array_append\({_ARGUMENT}, (?:NULL|CAST\(NULL AS \w+\))\)"
)
_HAS_NULL: Final = re.compile(r"array_(?:concat|append|prepend)\([^\n]*\bNULL\b")
_REFUSED: Final = "operator: || of lists"
_OF_ELEMENTS: Final = "operator: || of a list and what is none, which array_append adds to it"


def mark_joined_lists(root: Relation, sql: str, planner: Planner, unsupported: list[str]) -> None:
    """Gives calls that ``||`` became their own name. Refuses a text that calls the same function, too, since a plan
    does not tell them apart, NULL and a constant list side by side, which DataFusion has computed already, and a list
    and an element, as DuckDB does."""
    if "||" not in sql:
        return
    text = Sql(sql)
    if not any(token.is_mark("||") for token in text.tokens):
        return
    parts = [p for relation in relations(root) for e in relation.expressions() for p in within(e)]
    calls = [p for p in parts if isinstance(p, Apply) and p.function in _PLANNED and _is_of_lists(p)]
    named = {_CALLS[t.text] for i, t in enumerate(text.tokens) if t.text in _CALLS and text.is_at(i + 1, "(")}
    if any(call.function in named for call in calls) and not _are_all_called(text, planner):
        unsupported.append(f"{_REFUSED} beside calls of {', '.join(sorted(named))}")
    for call in calls:
        if call.function not in named:
            call.function = JOINED
    try:
        bound = planner.bound(sql)
    except SqlError:  # of a text that has other names for columns to be planned
        return
    adding = bound.count("array_append(") + bound.count("array_prepend(")
    if not named and adding != len(_ADDS_NULL.findall(bound)):
        unsupported.append(_OF_ELEMENTS)
    elif adding + bound.count("array_concat(") > len(calls) and _HAS_NULL.search(bound):
        unsupported.append(f"{_REFUSED} and NULL, all of them constants")


def _is_of_lists(call: Apply) -> bool:
    """Whether a call may be one that ``||`` became where a NULL matters: that appends a value adds it to NULL, too."""
    place = {"array_append": 1, "array_prepend": 0}.get(call.function)
    if place is None:
        return len(call.arguments) == 2
    given = call.arguments[place]
    return isinstance(given, Constant) and given.value is None


def _are_all_called(text: Sql, planner: Planner) -> bool:
    """Whether a plan has none of the functions where the text calls others in their place."""
    calls = [(t, _ALIKE.get(_CALLS.get(t.text, ""))) for i, t in enumerate(text.tokens) if text.is_at(i + 1, "(")]
    others = replaced(text.text, [(t.start, t.end, other) for t, other in calls if other])
    try:
        bound = planner.bound(others)
    except SqlError:
        return False
    return not any(f"{name}(" in bound for name in _PLANNED)
