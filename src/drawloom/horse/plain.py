"""The builtins whose types are fixed: functions of text, numbers, dates and moments, with no template, as one table.

A row is

    name | what it takes | what it gives

with a type that ends in ``?`` for an argument that may be left out. Vectors of one element go with any length. A
``bool?`` at the end is where there is something to compute: the other rows, which stand for NULL, are not looked at.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.types import NAMED, VectorType

_TABLE: Final = """
# Text: phrases.py
reverse         | str                      | str
pad_start       | str i64 str bool?        | str
pad_end         | str i64 str bool?        | str
repeat          | str i64                  | str
capitalise      | str                      | str
split_part      | str str i64              | str
code_of         | str                      | i32
char_of         | i64 bool?                | str
digest          | str str                  | str
contains_text   | str str                  | bool
begins_with     | str str                  | bool
ends_with       | str str                  | bool
leftmost        | str i64                  | str
rightmost       | str i64                  | str
slice           | str i64 i64?             | str
replace_each    | str str str              | str
trim_each       | str str                  | str
trim_start_each | str str                  | str
trim_end_each   | str str                  | str
translate       | str str str              | str
overlay         | str str i64 i64?         | str
levenshtein     | str str                  | i64
find_in_set     | str str                  | i32
before_nth      | str str i64              | str
hex             | i64                      | str
matches         | str str str?             | bool
match_count     | str str                  | i64
match_place     | str str                  | i64
locate          | str str                  | i64
# Texts of lists: listtexts.py
count_list_items | str str bool?           | i64
is_list_text    | str                      | bool
quote_list_item | str                      | str
# Numbers: reals.py
sin             | f64                      | f64
cos             | f64                      | f64
tan             | f64                      | f64
cot             | f64                      | f64
asin            | f64                      | f64
acos            | f64                      | f64
atan            | f64                      | f64
sinh            | f64                      | f64
cosh            | f64                      | f64
tanh            | f64                      | f64
asinh           | f64                      | f64
acosh           | f64                      | f64
atanh           | f64                      | f64
atan2           | f64 f64                  | f64
cbrt            | f64                      | f64
log2            | f64                      | f64
log10           | f64                      | f64
log_of          | f64 f64                  | f64
degrees         | f64                      | f64
radians         | f64                      | f64
trunc           | f64                      | f64
round_to        | f64 i64                  | f64
trunc_to        | f64 i64                  | f64
sign            | f64                      | i8
is_nan          | f64                      | bool
sortable        | f64                      | i64
remainder       | f64 f64                  | f64
gcd             | i64 i64 bool?            | i64
lcm             | i64 i64 bool?            | i64
factorial       | i64 bool?                | i128
# Dates and moments: calendar.py, zones.py
epoch           | timestamp                | f64
date_isodow     | date                     | i64
date_isoyear    | date                     | i64
date_decade     | date                     | i64
date_century    | date                     | i64
date_millennium | date                     | i64
date_era        | date                     | i64
date_yearweek   | date                     | i64
time_millisecond | timestamp               | i64
time_microsecond | timestamp               | i64
date_bin        | i64 timestamp timestamp  | timestamp
make_date       | i64 i64 i64 bool?        | date
ticks           | timestamp                | i64
clock_ticks     | clock                    | i64
clock_of        | timestamp                | clock
local_moment    | timestamp str            | timestamp
universal_moment | timestamp str           | timestamp
micros          | interval                 | i64
span            | i64                      | interval
"""


class Plain:
    """A row: the types of the arguments, how many of them must be there, and the result's type."""

    def __init__(self, takes: list[VectorType], least: int, gives: VectorType) -> None:
        self.takes = takes
        self.least = least
        self.gives = gives

    @property
    def is_partial(self) -> bool:
        """Whether the last argument may say where there is something to compute."""
        return len(self.takes) > self.least and self.takes[-1].kind == "bool"


def _type(text: str) -> VectorType:
    found = NAMED[text]
    assert isinstance(found, VectorType)
    return found


def _load() -> dict[str, Plain]:
    table: dict[str, Plain] = {}
    for line in _TABLE.splitlines():
        if line and not line.startswith("#"):
            name, takes, gives = [cell.strip() for cell in line.split("|")]
            words = takes.split()
            least = len([w for w in words if not w.endswith("?")])
            table[name] = Plain([_type(w.rstrip("?")) for w in words], least, _type(gives))
    return table


PLAIN: Final[dict[str, Plain]] = _load()


class Fold:
    """An aggregate of cells that @fold computes: over ``lists`` lists of cells, of the type ``gives`` ("same" for that
    of the first list's cells); of fewer rows than ``least`` it has no meaning."""

    def __init__(self, lists: int, gives: str, least: int) -> None:
        self.lists = lists
        self.gives = gives
        self.least = least


#: The folds by name. ``quantile`` counts from the least value, ``quantile_down`` from the greatest; they give what is
#: between two values, ``quantile_disc`` one of them.
FOLDS: Final[dict[str, Fold]] = {
    "quantile": Fold(1, "same", 1), "quantile_down": Fold(1, "same", 1),
    "quantile_disc": Fold(1, "same", 1), "quantile_disc_down": Fold(1, "same", 1),
    "bit_and": Fold(1, "same", 1), "bit_or": Fold(1, "same", 1), "bit_xor": Fold(1, "same", 1),
    "first": Fold(1, "i64", 1), "last": Fold(1, "i64", 1), "nth": Fold(1, "i64", 1), "only": Fold(1, "i64", 1),
    "join": Fold(1, "str", 1),
    "stddev": Fold(1, "f64", 2), "stddev_pop": Fold(1, "f64", 1),
    "var": Fold(1, "f64", 2), "var_pop": Fold(1, "f64", 1),
    "covar": Fold(2, "f64", 2), "covar_pop": Fold(2, "f64", 1), "corr": Fold(2, "f64", 1),
    "regr_avgx": Fold(2, "f64", 1), "regr_avgy": Fold(2, "f64", 1), "regr_count": Fold(2, "u32", 0),
    "regr_intercept": Fold(2, "f64", 1), "regr_r2": Fold(2, "f64", 1), "regr_slope": Fold(2, "f64", 1),
    "regr_sxx": Fold(2, "f64", 1), "regr_sxy": Fold(2, "f64", 1), "regr_syy": Fold(2, "f64", 1),
}  # fmt: skip
#: Those that give what is between two values, and all.
INTERPOLATED: Final = frozenset(["quantile", "quantile_down"])
QUANTILES: Final = INTERPOLATED | {"quantile_disc", "quantile_disc_down"}
