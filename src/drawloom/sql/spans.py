"""Amounts of time, which are intervals without months, to HorseIR: whole numbers of microseconds.

moment - moment        @span(@ticks - @ticks)           interval + interval     @span(@micros + @micros)
moment + interval      moment + @micros                 extract(day from x)     @micros without its rest, by a day
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal, Operand
from drawloom.horse.types import DAY, F64, I64, INTERVAL, SYM, TIMESTAMP, TIMESTAMP_UTC
from drawloom.sql.frames import Result

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_SECOND: Final = 1_000_000
#: The parts of an interval: what it is counted in, of the rest that some longer unit leaves (0 for the whole).
PARTS: Final[dict[str, tuple[int, int]]] = {
    "date_day": (DAY, 0), "time_hour": (3600 * _SECOND, DAY), "time_minute": (60 * _SECOND, 3600 * _SECOND),
    "time_second": (_SECOND, 60 * _SECOND), "time_millisecond": (1000, 60 * _SECOND),
    "time_microsecond": (1, 60 * _SECOND),
}  # fmt: skip


def arithmetic(t: Translator, name: str, sides: list[Result]) -> Result:
    """Sums and differences of moments and intervals, and an interval with the other sign."""
    valid = t.both([s.valid for s in sides])
    if not any(s.type == INTERVAL for s in sides):
        ticks: list[Operand] = [t.emit("ticks", [t.cast(s, TIMESTAMP).value]) for s in sides]
        return t.result("span", [t.emit(name, ticks)], valid)
    if all(s.type == INTERVAL for s in sides):
        return t.result("span", [t.emit(name, [t.emit("micros", [s.value]) for s in sides])], valid)
    moment, amount = sides if sides[1].type == INTERVAL else sides[::-1]
    micros: Operand = t.emit("micros", [amount.value])
    if name == "minus":
        micros = t.emit("neg", [micros])
    made = t.result("plus", [t.cast(moment, TIMESTAMP).value, micros], valid)
    return t.cast(made, TIMESTAMP_UTC) if moment.type == TIMESTAMP_UTC else made


def later(t: Translator, given: Result, micros: int) -> Result:
    """An interval and some microseconds more."""
    return t.result("span", [t.emit("plus", [t.emit("micros", [given.value]), Literal([micros], I64)])], given.valid)


def part(t: Translator, name: str, given: Result) -> Result:
    """A part of an interval, cut off towards zero; ``time_epoch`` is all of it in seconds."""
    micros = t.emit("micros", [given.value])
    if name == "time_epoch":
        return t.result("div", [micros, Literal([float(_SECOND)], F64)], given.valid)
    unit, longer = PARTS[name]
    rest = t.emit("mod", [micros, Literal([longer], I64)]) if longer else micros
    whole = t.emit("minus", [rest, t.emit("mod", [rest, Literal([unit], I64)])])
    return t.result("convert", [t.emit("div", [whole, Literal([unit], I64)]), Literal([I64.text], SYM)], given.valid)
