"""The value of the builtins over dates (days) and timestamps (microseconds), both since 1970-01-01, in the proleptic
Gregorian calendar: parts, truncation, months added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.distinct import by_rows
from drawloom.horse.evaluate import exact, mul_exact
from drawloom.horse.types import CLOCK, DATE, DAY, F64, I64, INTERVAL, TIMESTAMP, VectorType
from drawloom.horse.values import Array, Value, Vector, as_vector, integers, only_text

SECOND: Final = 1_000_000
#: Units of @truncate that are a fixed number of microseconds, and those that are a number of months.
FIXED: Final[dict[str, int]] = {
    "microseconds": 1, "microsecond": 1, "milliseconds": 1000, "millisecond": 1000,
    "second": SECOND, "minute": 60 * SECOND, "hour": 3600 * SECOND, "day": DAY,
}  # fmt: skip
MONTHS: Final[dict[str, int]] = {
    "month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000,
}  # fmt: skip
#: Years in either direction that dates of 32 bits have.
_MOST_YEARS: Final = 5_870_000
#: What @truncate knows; a week begins on Monday.
UNITS: Final = frozenset([*FIXED, *MONTHS, "week"])


def _days(vector: Vector) -> Array:
    data = integers(vector)
    return data if vector.type == DATE else data // DAY


def _date_of(name: str, arguments: list[Value]) -> Value:
    return exact(DATE, _days(as_vector(arguments[0])), name)


def _timestamp_of(name: str, arguments: list[Value]) -> Value:
    return exact(TIMESTAMP, mul_exact(integers(as_vector(arguments[0])), np.array([DAY])), name)


def _part(name: str, arguments: list[Value]) -> Value:
    vector = as_vector(arguments[0])
    return Vector(I64, PARTS[name](_days(vector) if vector.type == DATE else integers(vector)).astype(np.int64))


def _month_number(days: Array) -> Array:
    """Months since January 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _first_day(months: Array) -> Array:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _day_of_year(days: Array) -> Array:
    months = _month_number(days)
    return days - _first_day(months - months % 12) + 1


def _week(days: Array) -> Array:
    """The number of the ISO week: that of the year in which its Thursday is."""
    return (_day_of_year(days - (days + 3) % 7 + 3) - 1) // 7 + 1


def _year(days: Array) -> Array:
    return np.asarray(days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970)


def _iso_year(days: Array) -> Array:
    """The year in which the week's Thursday is."""
    return _year(days - (days + 3) % 7 + 3)


def _periods(days: Array, years: int) -> Array:
    """The number of the period of so many years, which begins with year 1 (or 0 backwards)."""
    year = _year(days)
    return np.asarray(np.where(year > 0, (year - 1) // years + 1, -((-year) // years) - 1))


#: Parts of a date (days), and of a timestamp (microseconds). Sunday is day 0 of a week.
PARTS: Final[dict[str, Callable[[Array], Array]]] = {
    "date_quarter": lambda days: _month_number(days) % 12 // 3 + 1,
    "date_week": _week,
    "date_dow": lambda days: (days + 4) % 7,
    "date_doy": _day_of_year,
    "date_isodow": lambda days: (days + 3) % 7 + 1,
    "date_isoyear": _iso_year,
    "date_decade": lambda days: _year(days) // 10,
    "date_century": lambda days: _periods(days, 100),
    "date_millennium": lambda days: _periods(days, 1000),
    "date_era": lambda days: _year(days) > 0,
    "date_yearweek": lambda days: _iso_year(days) * 100 + np.where(_iso_year(days) > 0, _week(days), -_week(days)),
    "time_hour": lambda micros: micros % DAY // (3600 * SECOND),
    "time_minute": lambda micros: micros % (3600 * SECOND) // (60 * SECOND),
    "time_second": lambda micros: micros % (60 * SECOND) // SECOND,
    "time_millisecond": lambda micros: micros % (60 * SECOND) // 1000,
    "time_microsecond": lambda micros: micros % (60 * SECOND),
}


def _truncate(name: str, arguments: list[Value]) -> Value:
    """The beginning of the unit that each date or timestamp is in."""
    vector, unit = as_vector(arguments[0]), only_text(name, arguments[1])
    if unit not in UNITS:
        raise DataError(f"@truncate to '{unit}': one of {', '.join(sorted(UNITS))} was expected")
    if unit in FIXED:
        if vector.type == DATE:
            return vector
        data = integers(vector)
        return Vector(vector.type, data - data % FIXED[unit])
    days = _days(vector)
    if unit == "week":
        first = days - (days + 3) % 7
    else:
        months = _month_number(days)
        # Months are counted from 1970; decades, centuries and millennia begin with a year that is a multiple of theirs.
        first = _first_day(months - (months + 1970 * 12) % MONTHS[unit])
    if vector.type == DATE:
        return exact(DATE, first, name)
    return exact(TIMESTAMP, mul_exact(first, np.array([DAY])), name)


def _add_months(name: str, arguments: list[Value]) -> Value:
    """The same day of a month that is so many months later; the month's last day where it has no such day."""
    vector, months = as_vector(arguments[0]), integers(as_vector(arguments[1]))
    days = _days(vector)
    old = _month_number(days)
    new = old + months
    last = _first_day(new + 1) - 1
    moved = np.minimum(_first_day(new) + days - _first_day(old), last)
    if vector.type == DATE:
        return exact(DATE, moved, name)
    return exact(TIMESTAMP, mul_exact(moved, np.array([DAY])) + integers(vector) % DAY, name)


def _epoch(name: str, arguments: list[Value]) -> Value:
    """Seconds since 1970-01-01."""
    return Vector(F64, integers(as_vector(arguments[0])) / float(SECOND))


def _date_bin(name: str, arguments: list[Value]) -> Value:
    """The beginning of the bin of so many microseconds that each moment is in, counted from an origin."""
    width, moments, origin = [integers(as_vector(a)) for a in arguments]
    if int(width[0]) <= 0:
        raise DataError("@date_bin into bins that are not above zero")
    return exact(TIMESTAMP, moments - (moments - origin) % width[0], name)


def _clock_of(name: str, arguments: list[Value]) -> Value:
    return Vector(CLOCK, integers(as_vector(arguments[0])) % DAY)


def _make_date(name: str, arguments: list[Value]) -> Value:
    vectors = [as_vector(a) for a in arguments]

    def days(year: int, month: int, day: int) -> int:
        if not 1 <= month <= 12 or not 1 <= day <= 31:
            raise DataError(f"there is no date {year}-{month}-{day}")
        number = (year - 1970) * 12 + month - 1
        first, behind = [int(d) for d in _first_day(np.array([number, number + 1]))]
        if abs(year) > _MOST_YEARS or day > behind - first:
            raise DataError(f"there is no date {year}-{month}-{day}")
        return first + day - 1

    return by_rows(days, vectors[:3], DATE, vectors[3] if len(vectors) > 3 else None)


def _counted(type: VectorType) -> Callable[[str, list[Value]], Value]:
    """The same whole numbers as another type."""
    return lambda name, arguments: Vector(type, integers(as_vector(arguments[0])))


CALENDAR: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    "date_of": _date_of, "timestamp_of": _timestamp_of, "truncate": _truncate, "add_months": _add_months,
    **dict.fromkeys(PARTS, _part), "epoch": _epoch, "date_bin": _date_bin, "clock_of": _clock_of,
    "make_date": _make_date, "ticks": _counted(I64), "clock_ticks": _counted(I64),
    "micros": _counted(I64), "span": _counted(INTERVAL),
}  # fmt: skip
