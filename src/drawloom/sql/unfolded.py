"""Functions that make something long of constants, which the planner would make while it plans, of any length and
without a limit of memory: the numbers in them become calls of a function that it knows by name and cannot fold.

    select range(0, 1000000000)   =>   select range(0, drawloom_number('1000000000'))
"""

from __future__ import annotations

import math
import re
from typing import Final

from drawloom.sql.clauses import Sql

#: The function that numbers are.
NUMBER: Final = "drawloom_number"
#: Elements of a list, or characters, from which on the planner does not make what these functions give: elements are
#: statements of the program each where a plan has them.
_LONG: Final[dict[str, int]] = {
    **dict.fromkeys(["range", "generate_series", "array_repeat", "list_repeat"], 64),
    **dict.fromkeys(["repeat", "lpad", "rpad"], 1 << 16),
}
#: Those whose texts are numbers, too, and what makes much of few digits.
_OF_NUMBERS: Final = ("range", "generate_series")
_GROWING: Final = ("power", "pow", "exp", "factorial", "cosh", "sinh", "<")
_WANTED: Final = re.compile(rf"\b(?:{'|'.join(_LONG)})\s*\(", re.IGNORECASE)


def long_numbers(text: str) -> frozenset[int]:
    """The offsets of numbers that are not to be folded."""
    if not _WANTED.search(text):
        return frozenset()
    sql = Sql(text)
    found: set[int] = set()
    for i, token in enumerate(sql.tokens[:-1]):
        if not token.is_word(*_LONG) or not sql.is_at(i + 1, "(") or sql.tokens[i + 1].mate < 0:
            continue
        around = sql.within(i)
        if around is not None and around.clause_at(i) == "from":
            continue  # tables.py makes it
        arguments = sql.parts(range(i + 2, sql.tokens[i + 1].mate))[:2]  # a step is to be a constant
        inside = [sql.tokens[j] for part in arguments for j in part]
        kinds = ("number", "string") if token.is_word(*_OF_NUMBERS) else ("number",)
        digits = [(t.start, t.text.replace("_", "").strip("' ")) for t in inside if t.kind in kinds]
        numbers = {start: int(text) for start, text in digits if text.isdigit()}
        is_long = math.prod([max(n, 1) for n in numbers.values()]) >= _LONG[token.text]
        if is_long or any(t.is_word(*_GROWING) or t.is_mark(*_GROWING) for t in inside):
            found.update(numbers)
    return frozenset(found)


def shown(name: str) -> str:
    """A column's name with the numbers that the query has."""
    return re.sub(rf"{NUMBER}\(Utf8\(\"(\d+)\"\)\)", r"Int64(\1)", name)
