"""PTX templates of the functions of dates (days since 1970-01-01) and timestamps (microseconds): parts, the beginning
of a unit, months later. ``calendar.py`` has their values.

Days become the civil calendar by eras of 400 years that begin in March, so that a leap day is the last of its year;
every quotient is rounded down, also of what was before the first era.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.calendar import FIXED, MONTHS, SECOND
from drawloom.horse.emit import Emitter
from drawloom.horse.held import Held, integer_kind
from drawloom.horse.ranges import LONGEST_UNIT, year_of
from drawloom.horse.types import DATE, DAY, I64, TIMESTAMP, VectorType
from drawloom.ptx.ir import Register

#: Days before 1970 that eras are counted from: 1 March of year 0.
_BEFORE: Final = 719468
_ERA: Final = 146097
#: More than what any step adds to a number of days.
_MARGIN: Final = 1 << 21
#: By part of a timestamp: the unit that it is a part of, its own, and its greatest value.
TIME_PARTS: Final[dict[str, tuple[int, int, int]]] = {
    "time_hour": (DAY, 3600 * SECOND, 23), "time_minute": (3600 * SECOND, 60 * SECOND, 59),
    "time_second": (60 * SECOND, SECOND, 59),
}  # fmt: skip
#: Parts of a date, with the least and the greatest value (None: a year's).
DATE_PARTS: Final[dict[str, tuple[int, int] | None]] = {
    "date_year": None, "date_quarter": (1, 4), "date_month": (1, 12), "date_week": (1, 53), "date_day": (1, 31),
    "date_dow": (0, 6), "date_doy": (1, 366),
}  # fmt: skip


class Whole:
    """Integer arithmetic in registers of one kind ("s32" or "s64")."""

    def __init__(self, emitter: Emitter, kind: str) -> None:
        self.emitter = emitter
        self.kind = kind

    def add(self, a: Register, b: Register | int) -> Register:
        return self.emitter.calc(f"add.{self.kind}", a, b)

    def sub(self, a: Register, b: Register | int) -> Register:
        return self.emitter.calc(f"sub.{self.kind}", a, b)

    def mul(self, a: Register, b: int) -> Register:
        return self.emitter.calc(f"mul.lo.{self.kind}", a, b)

    def div(self, a: Register, b: int) -> Register:
        """The quotient of what is not below zero, or has no rest."""
        return self.emitter.calc(f"div.{self.kind}", a, b)

    def pick(self, chosen: Register, a: Register | int, b: Register | int) -> Register:
        return self.emitter.calc(f"selp.{self.kind}", a, b, chosen)

    def compare(self, word: str, a: Register, b: Register | int) -> Register:
        return self.emitter.calc(f"setp.{word}.{self.kind}", a, b)

    def rest(self, a: Register, b: int, low: int) -> Register:
        """``a`` modulo ``b``, 0 to b - 1; ``low`` is a bound of ``a``."""
        made = self.emitter.calc(f"rem.{self.kind}", a, b)
        return made if low >= 0 else self.pick(self.compare("lt", made, 0), self.add(made, b), made)

    def split(self, a: Register, b: int, low: int) -> tuple[Register, Register]:
        """The quotient of ``a`` and ``b``, rounded down, and the rest."""
        rest = self.rest(a, b, low)
        return self.div(self.sub(a, rest), b), rest


class Civil:
    """A day of the civil calendar: ``era`` and the year in it, the day of that year and its month, counted from 0 and
    from March."""

    def __init__(self, whole: Whole, days: Register, low: int) -> None:
        self.whole = w = whole
        self.era, of_era = w.split(w.add(days, _BEFORE), _ERA, low + _BEFORE)
        leaps = w.sub(w.add(w.sub(of_era, w.div(of_era, 1460)), w.div(of_era, 36524)), w.div(of_era, _ERA - 1))
        self.year_of_era = w.div(leaps, 365)
        before = w.sub(w.add(w.mul(self.year_of_era, 365), w.div(self.year_of_era, 4)), w.div(self.year_of_era, 100))
        self.day_of_year = w.sub(of_era, before)
        self.month_from_march = w.div(w.add(w.mul(self.day_of_year, 5), 2), 153)
        #: March to December, which are months of the year that the era's year has its number from.
        self.is_early = w.compare("lt", self.month_from_march, 10)

    def year(self) -> Register:
        w = self.whole
        return w.add(w.add(self.year_of_era, w.mul(self.era, 400)), w.pick(self.is_early, 0, 1))

    def month(self) -> Register:
        return self.whole.add(self.month_from_march, self.whole.pick(self.is_early, 3, -9))

    def day(self) -> Register:
        w = self.whole
        return w.add(w.sub(self.day_of_year, w.div(w.add(w.mul(self.month_from_march, 153), 2), 5)), 1)

    def day_from_january(self) -> Register:
        """The day of the year, from 1."""
        w, emitter = self.whole, self.whole.emitter
        fourth = w.compare("eq", emitter.calc(f"rem.{w.kind}", self.year_of_era, 4), 0)
        hundredth = w.compare("eq", emitter.calc(f"rem.{w.kind}", self.year_of_era, 100), 0)
        first = w.compare("eq", self.year_of_era, 0)
        is_leap = emitter.both(fourth, emitter.either(emitter.negated(hundredth), first))
        return w.add(self.day_of_year, w.pick(self.is_early, w.pick(is_leap, 61, 60), -305))

    def months_since_1970(self) -> Register:
        w = self.whole
        return w.add(w.mul(w.sub(self.year(), 1970), 12), w.sub(self.month(), 1))


def first_day(w: Whole, months: Register) -> Register:
    """The first day of a month that is so many after January 1970."""
    years, month = w.split(months, 12, -1)
    is_early = w.compare("lt", month, 2)
    year = w.add(years, w.pick(is_early, 1969, 1970))
    era, of_era = w.split(year, 400, -1)
    month_from_march = w.add(month, w.pick(is_early, 10, -2))
    day = w.div(w.add(w.mul(month_from_march, 153), 2), 5)
    days = w.sub(w.add(w.mul(of_era, 365), w.div(of_era, 4)), w.div(of_era, 100))
    return w.sub(w.add(w.add(w.mul(era, _ERA), days), day), _BEFORE)


class Moments:
    """The templates. A value comes in a register of the kind that ``Held`` says, and goes out as another ``Held``, of
    which the caller checks that it fits its type."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter

    def register(self, held: Held, kind: str) -> Register:
        operand = held.operand
        if not isinstance(operand, Register):
            return self.emitter.calc(f"mov.{kind}", operand)
        return operand if held.kind == kind else self.emitter.calc(f"cvt.{kind}.{held.kind}", operand)

    def days(self, held: Held, least: int = 0, most: int = 0) -> tuple[Whole, Register, int, int]:
        """A date's days, or a timestamp's, where so many days less and more are computed with as well."""
        low, high = held.low, held.high
        if held.type == TIMESTAMP:
            low, high = low // DAY, high // DAY
        kind = integer_kind(low + least - _MARGIN, high + most + _MARGIN)
        if held.type == TIMESTAMP:
            days = Whole(self.emitter, "s64").split(self.register(held, "s64"), DAY, held.low)[0]
            held = Held("s64", DATE, days)
        return Whole(self.emitter, kind), self.register(held, kind), low, high

    def part(self, name: str, held: Held) -> Held:
        if name in TIME_PARTS:
            whole, part, most = TIME_PARTS[name]
            w = Whole(self.emitter, "s64")
            rest = w.rest(self.register(held, "s64"), whole, held.low)
            return Held("s32", I64, self.emitter.calc("cvt.u32.u64", w.div(rest, part)), 0, most)
        w, days, low, high = self.days(held)
        made = self.date_part(name, w, days, low)
        least, most = DATE_PARTS[name] or (year_of(low), year_of(high))
        return Held(w.kind, I64, made, least, most)

    def date_part(self, name: str, w: Whole, days: Register, low: int) -> Register:
        if name == "date_dow":
            return w.rest(w.add(days, 4), 7, low + 4)
        if name == "date_week":
            thursday = w.add(w.sub(days, w.rest(w.add(days, 3), 7, low + 3)), 3)
            return w.add(w.div(w.sub(Civil(w, thursday, low - 3).day_from_january(), 1), 7), 1)
        civil = Civil(w, days, low)
        if name == "date_quarter":
            return w.div(w.add(civil.month(), 2), 3)
        made = {"date_year": civil.year, "date_month": civil.month, "date_day": civil.day}
        return made[name]() if name in made else civil.day_from_january()

    def converted(self, name: str, type: VectorType, held: Held) -> Held:
        """A timestamp's date, or the timestamp of a date."""
        if name == "date_of":
            w, days, low, high = self.days(held)
            return Held(w.kind, type, days, low, high)
        made = Whole(self.emitter, "s64").mul(self.register(held, "s64"), DAY)
        return Held("s64", type, made, held.low * DAY, held.high * DAY)

    def truncated(self, type: VectorType, held: Held, unit: str) -> Held:
        """The beginning of the unit that a date or timestamp is in."""
        if unit in FIXED:
            if type == DATE:
                return held
            wide = Whole(self.emitter, "s64")
            micros = self.register(held, "s64")
            made = wide.sub(micros, wide.rest(micros, FIXED[unit], held.low))
            return Held("s64", type, made, held.low - FIXED[unit], held.high)
        w, days, low, high = self.days(held)
        if unit == "week":
            first = w.sub(days, w.rest(w.add(days, 3), 7, low + 3))
        else:
            months = Civil(w, days, low).months_since_1970()
            # Months are counted from 1970; longer units begin with a year that is a multiple of theirs.
            first = first_day(w, w.sub(months, w.rest(w.add(months, 1970 * 12), MONTHS[unit], -1)))
        return self.of_days(w, type, first, low - LONGEST_UNIT, high, None)

    def later(self, type: VectorType, held: Held, months: Held) -> Held:
        """The same day so many months later, or the last of a month that has no such day."""
        least, most = min(months.low, 0) * 31 - 31, max(months.high, 0) * 31 + 31
        w, days, low, high = self.days(held, least, most)
        old = Civil(w, days, low).months_since_1970()
        new = w.add(old, self.register(months, w.kind))
        last = w.sub(first_day(w, w.add(new, 1)), 1)
        day = w.add(first_day(w, new), w.sub(days, first_day(w, old)))
        moved = self.emitter.calc(f"min.{w.kind}", day, last)
        return self.of_days(w, type, moved, low + least, high + most, held)

    def of_days(self, w: Whole, type: VectorType, days: Register, low: int, high: int, time: Held | None) -> Held:
        """Days as a date or timestamp, the latter at the time of day of another."""
        if type == DATE:
            return Held(w.kind, type, days, low, high)
        wide = Whole(self.emitter, "s64")
        made = wide.mul(self.register(Held(w.kind, DATE, days), "s64"), DAY)
        if time is not None:
            made = wide.add(made, wide.rest(self.register(time, "s64"), DAY, time.low))
        return Held("s64", type, made, low * DAY, high * DAY + DAY - 1)
