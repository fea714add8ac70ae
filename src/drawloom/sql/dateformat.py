"""to_char(moment, '%Y-%m') to parts of the moment as texts, one behind the other:

lpad(cast(date_part('year', moment) as text), 4, '0') || '-' || lpad(cast(date_part('month', moment) as text), 2, '0')
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.horse.types import I64, STR
from drawloom.sql.plan import Apply, Case, Cast, Constant, Expression

_CODE: Final = re.compile(r"%(.|$)|[^%]+", re.DOTALL)
_LONG_CODE: Final = re.compile("%.", re.DOTALL)
#: What stands for several codes.
_LONG: Final[dict[str, str]] = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y"}
#: Numbers: the part, and how many digits it has at least.
_NUMBERS: Final[dict[str, tuple[str, int]]] = {
    "Y": ("date_year", 4), "m": ("date_month", 2), "d": ("date_day", 2), "H": ("time_hour", 2), "M": ("time_minute", 2),
    "S": ("time_second", 2), "j": ("date_doy", 3), "u": ("date_isodow", 1), "w": ("date_dow", 1),
    "G": ("date_isoyear", 4), "V": ("date_week", 2),
}  # fmt: skip
_MONTHS: Final = "January,February,March,April,May,June,July,August,September,October,November,December"
_DAYS: Final = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"
#: Names: the part that counts them, the names, and how much of them is shown.
_NAMES: Final[dict[str, tuple[str, str, int]]] = {
    "B": ("date_month", _MONTHS, 9), "b": ("date_month", _MONTHS, 3),
    "A": ("date_isodow", _DAYS, 9), "a": ("date_isodow", _DAYS, 3),
}  # fmt: skip


def formatted(moment: Expression, format: str) -> Expression | None:
    """The moment as text; None for a format with codes that are not known."""
    parts: list[Expression] = []
    for found in _CODE.finditer(_LONG_CODE.sub(lambda m: _LONG.get(m.group(), m.group()), format)):
        made = Constant(found.group(), STR) if found.group(1) is None else _part(moment, found.group(1))
        if made is None:
            return None
        parts.append(made)
    if not any(not isinstance(part, Constant) for part in parts):
        return None
    text = parts[0]
    for part in parts[1:]:
        text = Apply("str_concat", [text, part])
    return text


def _part(moment: Expression, code: str) -> Expression | None:
    if code == "%":
        return Constant("%", STR)
    if code in _NUMBERS:
        part, digits = _NUMBERS[code]
        return _padded(Apply(part, [moment]), digits)
    if code in _NAMES:
        part, names, length = _NAMES[code]
        name = Apply("split_part", [Constant(names, STR), Constant(",", STR), Apply(part, [moment])])
        return Apply("left", [name, Constant(length, I64)])
    if code == "y":
        return _padded(Apply("modulus", [Apply("date_year", [moment]), Constant(100, I64)]), 2)
    if code in ("I", "p"):
        hour = Apply("time_hour", [moment])
        if code == "p":
            is_late = Apply("gte", [hour, Constant(12, I64)])
            is_known = Apply("is_not_null", [hour])
            return Case([(is_late, Constant("PM", STR)), (is_known, Constant("AM", STR))], None)
        late = Apply("modulus", [Apply("add", [hour, Constant(11, I64)]), Constant(12, I64)])
        return _padded(Apply("add", [late, Constant(1, I64)]), 2)
    return None


def _padded(number: Expression, digits: int) -> Expression:
    return Apply("lpad", [Cast(number, STR), Constant(digits, I64), Constant("0", STR)])
