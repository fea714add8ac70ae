"""The value of casts between text and everything else, as DuckDB writes and reads values, and of bits of integers.

@show(x)                     each value as text
@parse(text, `type, where)   each text as a value; text that is none is an error, but where ``where`` is false
@can_convert(x, `type)       where a value of any type has one in the type
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any, Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.distinct import by_rows
from drawloom.horse.evaluate import ELEMENT_WISE, divide_rounding, exact, mul_exact
from drawloom.horse.scalar_rules import integer_type
from drawloom.horse.types import (
    BOOL,
    DATE,
    EPOCH,
    F32,
    F64,
    STR,
    SYM,
    TICKS,
    TIMESTAMP_UTC,
    VectorType,
    exact_bounds,
    named_type,
    scale_of,
)
from drawloom.horse.values import Array, Value, Vector, as_vector, integers, only_text

#: Days of the 400 years after which the calendar repeats.
_CYCLE: Final = 146_097
_DATE: Final = re.compile(r"\s*(\d{1,6})[-/](\d{1,2})[-/](\d{1,2})\s*(\(BC\)|BC)?\s*", re.IGNORECASE)
_TIME: Final = re.compile(r"\s*(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?\s*")
_MOMENT: Final = re.compile(
    r"\s*(\d{1,6}[-/]\d{1,2}[-/]\d{1,2})(?:(?:[ T]\s*)(\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d*)?)?))?"
    r"\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?\s*",
    re.IGNORECASE,
)
#: The word for when days and moments are counted from.
_EPOCH: Final = "epoch"
_TRUE: Final = frozenset(["true", "t", "1", "yes", "y", "on"])
_FALSE: Final = frozenset(["false", "f", "0", "no", "n", "off"])


# Values as text


def shown_date(days: int) -> str:
    cycles, rest = divmod(days + EPOCH - 1, _CYCLE)
    date = datetime.date.fromordinal(rest + 1)
    year = date.year + 400 * cycles
    return f"{year if year > 0 else 1 - year:04d}-{date.month:02d}-{date.day:02d}{'' if year > 0 else ' (BC)'}"


def _shown_clock(ticks: int, per_second: int) -> str:
    seconds, rest = divmod(ticks, per_second)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = len(str(per_second)) - 1
    return f"{text}.{rest:0{digits}d}".rstrip("0") if rest else text


def _shown_moment(ticks: int, type: VectorType) -> str:
    per_second = TICKS[type.text]
    days, rest = divmod(ticks, 86_400 * per_second)
    date, _, era = shown_date(days).partition(" ")
    text = f"{date}{' ' + era if era else ''} {_shown_clock(rest, per_second)}"
    return f"{text}+00" if type == TIMESTAMP_UTC else text


def _shown_interval(micros: int) -> str:
    """Whole days, and the rest unless that is nothing beside them: "-2 days -01:30:00"."""
    sign = "-" if micros < 0 else ""
    days, rest = divmod(abs(micros), 86_400 * TICKS["interval"])
    parts = [f"{sign}{days} day{'' if days == 1 else 's'}"] if days else []
    if rest or not days:
        parts.append(f"{sign}{_shown_clock(rest, TICKS['interval'])}")
    return " ".join(parts)


def _shown_decimal(value: int, scale: int) -> str:
    sign, digits = "-" if value < 0 else "", str(abs(value)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"


def _shown_float(value: float, type: VectorType) -> str:
    """The fewest digits that are this value in its type, with an exponent below 1e-4 and from 1e16 on."""
    if type == F64 or not np.isfinite(value):
        return repr(float(value))
    return repr(float(np.format_float_scientific(np.float32(value), unique=True)))


def shown(type: VectorType) -> Callable[[Any], str]:
    """How one value of the type is written."""
    if type == BOOL:
        return lambda value: "true" if value else "false"
    if type == DATE:
        return shown_date
    if type.kind == "clock":
        return lambda value: _shown_clock(value, TICKS[type.text])
    if type.kind == "interval":
        return _shown_interval
    if type.kind == "timestamp":
        return lambda value: _shown_moment(value, type)
    if type.is_float:
        return lambda value: _shown_float(value, type)
    scale = scale_of(type)
    return (lambda value: _shown_decimal(value, scale)) if scale else str


def _show(name: str, arguments: list[Value]) -> Value:
    vector = as_vector(arguments[0])
    if vector.type == SYM:
        return Vector(STR, vector.data, vector.dictionary, vector.valid)
    return vector if vector.type == STR else by_rows(shown(vector.type), [vector], STR)


# Text as values: a function raises ValueError for text that is none


def _number(text: str) -> Decimal:
    stripped = text.strip().replace("_", "") if re.search(r"\d_\d", text) else text.strip()
    try:
        made = Decimal(stripped)
    except InvalidOperation:
        raise ValueError from None
    if not made.is_finite():
        raise ValueError
    return made


def _scaled(text: str, type: VectorType) -> int:
    """The number in units of the type, halves away from zero."""
    with localcontext() as context:
        context.prec = 400
        number = _number(text)
        if abs(number.adjusted()) > 300:
            raise ValueError
        value = int(number.scaleb(scale_of(type)).to_integral_value(ROUND_HALF_UP))
    low, high = exact_bounds(type)
    if not low <= value <= high:
        raise ValueError
    return value


def _real(text: str, type: VectorType) -> float:
    word = text.strip()
    if "_" in word:
        raise ValueError
    made = float(word)
    if type == F32 and np.isfinite(made):
        with np.errstate(over="ignore"):
            made = float(np.float32(made))
    if np.isinf(made) and "inf" not in word.lower():
        raise ValueError
    return made


def _bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError
    return word in _TRUE


def parsed_date(text: str) -> int:
    """Days since 1970-01-01. Raises ValueError."""
    match = _DATE.fullmatch(text)
    if text.strip().lower() == _EPOCH:
        return 0
    if match is None:
        moment = _MOMENT.fullmatch(text)
        if moment is None:
            raise ValueError
        return parsed_date(moment[1])
    year, month, day = [int(match[i]) for i in (1, 2, 3)]
    if match[4]:
        year = 1 - year
    cycles, rest = divmod(year - 1, 400)
    return datetime.date(rest + 1, month, day).toordinal() - EPOCH + cycles * _CYCLE


def _parsed_clock(text: str, per_second: int) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError
    hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError
    digits = len(str(per_second)) - 1
    part = int((match[4] or "").ljust(digits, "0")[:digits] or 0)
    return (hours * 3600 + minutes * 60 + seconds) * per_second + part


def _parsed_moment(text: str, type: VectorType) -> int:
    per_second = TICKS[type.text]
    match = _MOMENT.fullmatch(text)
    if text.strip().lower() == _EPOCH:
        return 0
    if match is None:
        raise ValueError
    made = parsed_date(match[1]) * 86_400 * per_second + (_parsed_clock(match[2], per_second) if match[2] else 0)
    zone = (match[3] or "").upper() if type == TIMESTAMP_UTC else ""  # a moment without one has its clock's time
    if zone and zone not in ("Z", "UTC"):
        digits = zone[1:].replace(":", "").ljust(4, "0") if len(zone) > 3 else zone[1:].rjust(2, "0") + "00"
        offset = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        made -= (offset if zone[0] == "+" else -offset) * per_second
    return made


def parsed(type: VectorType) -> Callable[[str], Any]:
    """How one text is read as a value of the type."""
    if type == BOOL:
        return _bool
    if type == DATE:
        return parsed_date
    if type.kind == "clock":
        return lambda text: _parsed_clock(text, TICKS[type.text])
    if type.kind == "timestamp":
        return lambda text: _parsed_moment(text, type)
    if type.is_float:
        return lambda text: _real(text, type)
    return lambda text: _scaled(text, type)


def _target(name: str, arguments: list[Value]) -> VectorType:
    type = named_type(only_text(name, arguments[1]))
    assert type is not None
    return type


def _parse(name: str, arguments: list[Value]) -> Value:
    type = _target(name, arguments)
    read = parsed(type)

    def one(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, OverflowError):
            raise DataError(f"cannot convert the text '{text}' to {type}") from None

    return by_rows(one, [as_vector(arguments[0])], type, as_vector(arguments[2]) if len(arguments) > 2 else None)


def _can_convert(name: str, arguments: list[Value]) -> Value:
    type, vector = _target(name, arguments), as_vector(arguments[0])
    read = parsed(type)
    is_moment = type.kind == "timestamp"
    cast: Callable[[str, list[Value]], Value] = _convert_moment if is_moment else ELEMENT_WISE["convert"]

    def one(value: Any) -> bool:
        try:
            if vector.type.kind == "text":
                read(value)
            elif vector.type == DATE:
                exact(type, np.array([value * TICKS[type.text] * 86_400], dtype=object), name)
            else:
                given = np.array([value], dtype=vector.data.dtype if vector.type.is_float else object)
                cast("convert", [Vector(vector.type, given), arguments[1]])
        except (ValueError, OverflowError, DataError):
            return False
        return True

    return by_rows(one, [vector], BOOL)


def _convert_moment(name: str, arguments: list[Value]) -> Value:
    """Moments in other units: finer ones are exact, coarser ones rounded, halves away from 1970."""
    vector, type = as_vector(arguments[0]), _target(name, arguments)
    given, made = TICKS[vector.type.text], TICKS[type.text]
    if made >= given:
        return exact(type, mul_exact(integers(vector), np.array([made // given])), name)
    return Vector(type, divide_rounding(integers(vector), given // made).astype(np.int64))


# Bits


def _bits(name: str, arguments: list[Value]) -> Value:
    left, right = as_vector(arguments[0]), as_vector(arguments[1])
    type = left.type if name.startswith("shift") else integer_type(left.type, right.type)
    return exact(type, np.asarray(_BITS[name](integers(left), integers(right), type)), name)


def _shift_left(data: Array, by: Array, type: VectorType) -> Array:
    data, by = np.broadcast_arrays(data, by)
    if len(data) and (bool((data < 0).any()) or bool((by < 0).any())):
        raise DataError("overflow in @shift_left of a negative number, or by one")
    if len(data) and bool(((by >= type.bits) & (data != 0)).any()):
        raise DataError(f"overflow in @shift_left by more than the {type.bits} bits there are")
    return data.astype(object) << np.minimum(by, type.bits).astype(object) if len(data) else data


def _shift_right(data: Array, by: Array, type: VectorType) -> Array:
    inside = (by >= 0) & (by < type.bits)
    return np.where(inside, data >> np.where(inside, by, 0), 0)


_BITS: Final[dict[str, Callable[[Array, Array, VectorType], Array]]] = {
    "bit_and": lambda a, b, type: a & b, "bit_or": lambda a, b, type: a | b, "bit_xor": lambda a, b, type: a ^ b,
    "shift_left": _shift_left, "shift_right": _shift_right,
}  # fmt: skip

CASTS: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    "show": _show, "parse": _parse, "can_convert": _can_convert, "convert_moment": _convert_moment,
    **dict.fromkeys(_BITS, _bits),
}  # fmt: skip
