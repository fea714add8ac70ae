"""Texts of any length that repeat one piece of SQL, and how long reading one takes."""

from __future__ import annotations

import random
import time
from typing import Final

from drawloom.errors import Error
from drawloom.sql.repeated import with_other_names
from drawloom.sql.text import names_table, read, same_query

SMALL: Final = 1_000
LARGE: Final = 4_000
#: How much longer a text that is ``LARGE / SMALL`` times as long may take, and what a clock may be wrong by.
MOST: Final = 4 * LARGE // SMALL
_CLOCK: Final = 0.02


class Family:
    """Texts of ``before``, then ``unit`` as often as it fits, then ``behind``."""

    def __init__(self, unit: str, before: str = "select ", behind: str = " 1") -> None:
        self.unit = unit
        self.before = before
        self.behind = behind

    def text(self, length: int) -> str:
        return self.before + self.unit * (length // len(self.unit)) + self.behind


FAMILIES: Final = [
    *[Family(unit, "", "select 1") for unit in (" ", "\n", "-- a b\n", "--\n", "/* */", "/* a /* b */ */", "/*", "-",
                                                         ";")],
    *[Family(unit) for unit in ("1", "1, ", "1_", "a", "a.", "'a', ", "''", '"', "(", ")", "[", "[1:2], ", "not ",
                                "- ")],
    Family("'", "select '", ""), Family("a ", "select '", "'"), Family("x''", "select '", "'"),
    Family("$a$ ", "select ", ""),
    *[Family(unit, "select * from t where ", " true") for unit in (
        "a = 1 and ", "a or ", "i in (1, 2) or ", "a between 1 and 2 and ", "'a' similar to 'b' and ",
        "a is distinct from 2 and ", "exists (select 1) and ",
    )],
    *[Family(unit) for unit in (
        "cast('1' as double), ", "1.5::int, ", "timestamp '2020-01-01', ", "year(a), ", "substr('a', -1), ",
        "sum(x) over (order by a rows 1 preceding), ", "count(*) filter (where a), ", "case when a then b end, ",
        "(select 1), ", "range(1000), ", "(select ", "case when a then ", "a::int, ",
    )],
    Family("::int", "select 1", ""), Family("::decimal(4, 2)", "select a", ""),
    Family("union all select 1 ", "select 1 ", ""), Family(", t", "select 1 from t", ""),
    Family(" join u using (a)", "select 1 from t", ""),
]  # fmt: skip
_PIECES: Final = [
    *" \n\t\n'\"`()[],;:1a.-~", "--", "/*", "*/", "$$", "::", "x'", "e1", "select ", "from ", "explain ", "analyze ",
    "format ", "cast(", " as double", "timestamp ", "similar to ", "fetch ", "first ", "and ", "or ", "in (",
    "is distinct from ", "over (", "rows ", "preceding ", "filter ",
]  # fmt: skip


def random_family(rng: random.Random) -> Family:
    """Return a family of a few pieces of SQL, which may be malformed."""
    words = ["".join(rng.choices(_PIECES, k=rng.randint(0, most))) for most in (2, 4, 2)]
    return Family(words[1] or " ", words[0], words[2])


def seconds_to_read(text: str) -> float:
    """Return the processor time that reading a text takes before a planner sees it."""
    start = time.process_time()
    for work in (read, same_query, with_other_names):
        try:
            work(text)
        except (Error, RecursionError):
            pass
    names_table(text, "t")
    return time.process_time() - start


def superlinear(family: Family) -> str:
    """Return by how much a long text of the family takes longer than a short one; "" where that is linear."""
    short = max(seconds_to_read(family.text(SMALL)), _CLOCK)
    long = min([seconds_to_read(family.text(LARGE)) for _ in range(2)])
    if long < MOST * short:
        return ""
    pieces = f"{family.before!r} + {family.unit!r} ... + {family.behind!r}"
    return f"{LARGE} characters of {pieces} take {long:.2f} s, {SMALL} {short:.2f} s"
