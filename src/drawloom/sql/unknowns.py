"""Tells the joins that stand for IN and NOT IN from those that stand for EXISTS, which Substrait writes alike.

The comparison of an IN may be unknown: ``x not in (1, null)`` is never true. DataFusion's own plans say so of an anti
join, as ``null_aware``. Its mark joins never are: an IN that is more than a condition is taken out of the text before
it is planned (``subqueries.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from drawloom.sql.plan import Cast, Expression, Field, Join

#: What a query is refused for that DataFusion plans wrongly, where its subqueries cannot be planned apart.
MIXED_UP: Final = "a subquery in a condition of a join, the value of IN with a subquery, or one behind ANY or ALL"
_WORDS: Final = re.compile(r"\b(?:in|on|any|some|all|exists)\b", re.IGNORECASE)
_ANTI: Final = re.compile(r"^ *(?:Left|Right)Anti Join:(.*)$", re.MULTILINE)
_IN: Final = re.compile(r"\bIN \(<subquery>\)")
_QUANTIFIED: Final = re.compile(r"\b(?:ANY|ALL) \(<subquery>\)")
_EXISTS: Final = re.compile(r"\bEXISTS \(<subquery>\)")
_SUBQUERY: Final = re.compile(r"(?P<word>\b\w+ )?\(<subquery>\)")
#: What a correlated subquery of EXISTS or IN may be made of for its conditions to be those of a join as well.
_OPERATORS: Final = (
    "Projection:", "Filter:", "SubqueryAlias:", "TableScan:", "Inner Join:", "Cross Join:", "Distinct:",
)  # fmt: skip
_INDENT: Final = 2
_MARK: Final = re.compile(r"^ *(?:Left|Right)Mark Join:", re.MULTILINE)
#: An IN whose left side is a column, or a call or sum of such: constants begin with the name of their type.
_PLAIN: Final = re.compile(
    r"(?:NOT )?(?!NULL )(?:[\w.\"]+|[a-z]\w*\([\w., ]*\)|[\w.]+(?: [-+*%] [\w.()]+)+) (?:NOT )?IN \(<subquery>\)"
)


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


def mark_unknowns(joins: list[Join], optimised: str, unsupported: list[str]) -> None:
    """Sets ``null_aware`` of ``joins``, which are in the order of the optimised plan's text. What cannot be told is
    named in ``unsupported``."""
    antis = [j for j in joins if j.kind.endswith("anti")]
    told = [line.endswith("null_aware") for line in _ANTI.findall(optimised)]
    if len(told) != len(antis):
        unsupported.append("anti joins that the plan's text does not show")
    for join, is_null_aware in zip(antis, told):
        join.null_aware = is_null_aware


def may_be_wrong(sql: str) -> bool:
    """Whether a text has words without which no plan of it is wrong."""
    return _WORDS.search(sql) is not None


def has_marks(bound: str, optimised: str) -> bool:
    """Whether a plan, by its texts before and after optimisation, has a mark that stands for an IN: it is taken for one
    that is never unknown."""
    return _IN.search(bound) is not None and _MARK.search(optimised) is not None


def is_planned_wrongly(bound: str) -> bool:
    """Whether a plan before optimisation, by its text, has what DataFusion's optimiser gets wrong: an IN of a subquery
    other than to keep the rows for which it is true, as the mark that it becomes is taken for one that is never
    unknown, or of a constant, which is no key; correlated subqueries in conditions of joins, where names of both sides
    are mixed up, and EXISTS as values, where they are once a condition is moved to them; ANY and ALL, where a column
    that both sides have by one name is compared with itself; and correlated aggregates and window functions in EXISTS
    and IN, which lose rows and see others when their conditions are a join's."""
    lines = [line.strip() for line in bound.splitlines() if "(<subquery>)" in line]
    if "outer_ref(" in bound and any(" Join: " in line.partition("(")[0] for line in lines):
        return True
    if any(_QUANTIFIED.search(line) for line in lines):
        return True
    if "outer_ref(" in bound and any(_EXISTS.search(line) and not line.startswith("Filter: ") for line in lines):
        return True
    if "outer_ref(" in bound and any(map(_is_more_than_rows, _asked(bound.splitlines()))):
        return True
    lines = [line for line in lines if _IN.search(line)]
    return not all(line.startswith("Filter: ") and all(map(_is_kept, _conjuncts(line[8:]))) for line in lines)


def _asked(lines: list[str]) -> Iterator[list[str]]:
    """The lines of each subquery of an EXISTS or IN in a plan."""
    open: list[tuple[int, list[str]]] = []
    for i, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        while open and depth <= open[-1][0]:
            open.pop()
        if line.strip() == "Subquery:":  # that of LATERAL is no expression's
            is_asked = open and open[-1][0] + _INDENT == depth and open[-1][1]
            if is_asked and open[-1][1].pop(0) in ("EXISTS ", "IN "):
                yield _below(lines, i)
        elif "(<subquery>)" in line:
            open.append((depth, [found["word"] or "" for found in _SUBQUERY.finditer(line)]))


def _below(lines: list[str], at: int) -> list[str]:
    """The lines below one, which are further in."""
    depth = len(lines[at]) - len(lines[at].lstrip())
    behind = (i for i in range(at + 1, len(lines)) if len(lines[i]) - len(lines[i].lstrip()) <= depth)
    return lines[at + 1 : next(behind, len(lines))]


def _is_more_than_rows(lines: list[str]) -> bool:
    """Whether a subquery names columns around it and has more than rows that a condition holds for; subqueries in it
    are not looked into."""
    if not any("outer_ref(" in line for line in lines):
        return False
    skipped = len(lines[0])
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if depth > skipped:
            continue
        skipped = depth if line.strip() == "Subquery:" else len(line)
        if skipped != depth and not line.strip().startswith(_OPERATORS):
            return True
    return False


def _is_kept(condition: str) -> bool:
    """Whether a condition has no IN of a subquery, or is one whose left side is a column or a call."""
    return _IN.search(condition) is None or _PLAIN.fullmatch(condition) is not None


def _conjuncts(condition: str) -> list[str]:
    made = [""]
    depth = 0
    for word in re.split(r"( AND |[()])", condition):
        depth += (word == "(") - (word == ")")
        if word == " AND " and depth == 0:
            made.append("")
        else:
            made[-1] += word
    return made
