"""Tells the joins that stand for IN and NOT IN from those that stand for EXISTS, which Substrait writes alike.

The comparison of an IN may be unknown: ``x not in (1, null)`` is never true. DataFusion's own plans say so of an anti
join, as ``null_aware``; of a mark join only the plan before optimisation tells where it came from.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.plan import Cast, Expression, Field, Join

_ANTI: Final = re.compile(r"^ *(?:Left|Right)Anti Join:(.*)$", re.MULTILINE)
_IN: Final = re.compile(r"\bIN \(<subquery>\)")
_OTHER: Final = re.compile(r"\b(?:EXISTS|ANY|ALL|SOME) \(<subquery>\)")
#: DataFusion folds these to a constant, as if an IN were never unknown.
_NULL_TEST: Final = re.compile(r"\(<subquery>\)\)* IS (?:NOT )?(?:NULL|UNKNOWN)")


def mark_counts(joins: list[Join], bags: int, only_bags: bool, unsupported: list[str]) -> None:
    """Sets ``counts`` of the joins that INTERSECT ALL and EXCEPT ALL, of which the text has ``bags``, are planned as:
    those by all columns for which NULLs are equal. INTERSECT and EXCEPT are such joins too."""
    found = [j for j in joins if j.kind.endswith(("semi", "anti")) and _is_by_rows(j)]
    if not only_bags or len(found) != bags:
        unsupported.append("INTERSECT ALL or EXCEPT ALL beside INTERSECT, EXCEPT or EXISTS")
    for join in found:
        join.counts = True


def _is_by_rows(join: Join) -> bool:
    keys = [(_column(k.left), _column(k.right)) for k in join.keys if k.nulls_match]
    width = join.left.width
    return join.condition is None and sorted(keys) == [(i, i) for i in range(width)] and join.right.width == width


def _column(key: Expression) -> int:
    """The column that a key is, without its casts; -1 for any other expression."""
    while isinstance(key, Cast):
        key = key.input
    return key.index if isinstance(key, Field) else -1


def mark_unknowns(joins: list[Join], bound: str, optimised: str, unsupported: list[str]) -> None:
    """Sets ``null_aware`` of ``joins``, which are in the order of the optimised plan's text. ``bound`` is the text of
    the plan before optimisation. What cannot be told is named in ``unsupported``."""
    antis = [j for j in joins if j.kind.endswith("anti")]
    told = [line.endswith("null_aware") for line in _ANTI.findall(optimised)]
    if len(told) != len(antis):
        unsupported.append("anti joins that the plan's text does not show")
    for join, is_null_aware in zip(antis, told):
        join.null_aware = is_null_aware
    if _NULL_TEST.search(bound):
        unsupported.append("IS NULL of an IN with a subquery")
    marks = [j for j in joins if j.kind == "mark"]
    if marks and _IN.search(bound) and _OTHER.search(bound):
        unsupported.append("IN with a subquery beside EXISTS, ANY or ALL under OR")
    for join in marks:
        join.null_aware = _IN.search(bound) is not None
