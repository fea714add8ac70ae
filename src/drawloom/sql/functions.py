"""Scalar functions of the relational tree to HorseIR that have rules of their own: dates and moments, rounding,
remainders and bits, text that is put together, greatest and least.

``SCALARS`` has what each name of the plan becomes, and for those of ``scalars.py`` too; arguments that must be
constants are checked where the plan is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal, Operand
from drawloom.horse.types import (
    BOOL,
    CLOCK,
    DATE,
    DAY,
    F32,
    F64,
    I64,
    I128,
    INTERVAL,
    MAX_DIGITS,
    STR,
    SYM,
    TIMESTAMP,
    TIMESTAMP_UTC,
    U64,
    DecimalType,
    scale_of,
)
from drawloom.sql import plan, spans
from drawloom.sql.coercion import drop_in_arithmetic, drop_in_choice, drop_nothing, drop_to_double, unified
from drawloom.sql.frames import Frame, Result
from drawloom.sql.scalars import TABLE, kind_of, scalar

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

#: Functions of one text, whose other arguments are constant texts, by their builtins.
OF_TEXT: Final[dict[str, str]] = {
    "upper": "upper", "lower": "lower", "btrim": "trim", "ltrim": "trim_start", "rtrim": "trim_end",
    "replace": "replace", "regexp_replace": "regexp_replace", "character_length": "length",
    "octet_length": "octet_length", "strpos": "position",
}  # fmt: skip
#: The parts of a date, and those of a timestamp alone.
DATE_PARTS: Final = frozenset([
    "year", "month", "day", "quarter", "week", "dow", "doy", "isodow", "isoyear", "decade", "century", "millennium",
    "era", "yearweek",
])  # fmt: skip
TIME_PARTS: Final = frozenset(["hour", "minute", "second", "millisecond", "microsecond", "epoch"])
_REAL: Final = ("sqrt", "ln", "exp", "power")
_ROUNDED: Final = ("floor", "ceil", "round", "trunc")
_BITS: Final[dict[str, str]] = {
    "bitwise_and": "bit_and", "bitwise_or": "bit_or", "bitwise_xor": "bit_xor", "bitwise_shift_left": "shift_left",
    "bitwise_shift_right": "shift_right",
}  # fmt: skip
#: Moments from numbers of these many to a second.
FROM_NUMBERS: Final[dict[str, int]] = {
    "to_timestamp": 1, "to_timestamp_seconds": 1, "from_unixtime": 1, "to_timestamp_millis": 10**3,
    "to_timestamp_micros": 10**6, "to_timestamp_nanos": 10**9,
}  # fmt: skip
_TRUE: Final = Literal([1], BOOL)


def _of_text(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """A function of one text and constants; with anything else in their place it is one of several vectors."""
    if not all(isinstance(a, plan.Constant) and isinstance(a.value, str) for a in call.arguments[1:]):
        return scalar(t, call, frame)
    text = t.expression(call.arguments[0], frame)
    options: list[Operand] = [Literal([str(a.value)], STR) for a in call.arguments[1:] if isinstance(a, plan.Constant)]
    return t.of_words(OF_TEXT[call.function], text, options)


def _front(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """substring from a constant start of a constant count."""
    text = t.expression(call.arguments[0], frame)
    return t.of_words("substring", text, [t.cast(t.expression(a, frame), I64).value for a in call.arguments[1:]])


def _joined_text(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """``||``, which is NULL where a side is, or concat, which leaves NULLs out."""
    made: Result | None = None
    for argument in call.arguments:
        part = t.expression(argument, frame)
        if call.function == "concat" and part.valid is not None:
            part = Result(t.emit("if_else", [part.valid, part.value, Literal([""], STR)]), STR)
        if made is None:
            made = part
        else:
            made = t.result("join_text", [made.value, part.value], t.both([made.valid, part.valid]))
    assert made is not None
    return made


def _joined_with(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """concat_ws: the texts that are not NULL with a separator between them."""
    by, *parts = [t.expression(a, frame) for a in call.arguments]
    empty = Literal([""], STR)
    made: Operand = empty
    begun: Operand = Literal([0], BOOL)
    for part in parts:
        before = t.emit("if_else", [begun, by.value, empty])
        longer = t.emit("join_text", [t.emit("join_text", [made, before]), part.value])
        made = longer if part.valid is None else t.emit("if_else", [part.valid, longer, made])
        begun = t.either(begun, _TRUE if part.valid is None else part.valid)
    return Result(made, STR, by.valid)


def _date_part(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    below = t.expression(call.arguments[0], frame)
    if below.type == INTERVAL:
        return spans.part(t, call.function, below)
    name = "epoch" if call.function == "time_epoch" else call.function
    below = t.cast(below, DATE if name.startswith("date_") else TIMESTAMP)
    return t.result(name, [below.value], below.valid)


def _truncated(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    unit, time = call.arguments
    assert isinstance(unit, plan.Constant)
    given = t.expression(time, frame)
    below = t.cast(given, TIMESTAMP)
    made = t.result("truncate", [below.value, Literal([str(unit.value)], SYM)], below.valid)
    return t.cast(made, TIMESTAMP_UTC) if given.type == TIMESTAMP_UTC else made


def _later(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """A moment, and months, days and microseconds after it. A date is its midnight then; a date and a number of days,
    which the planner writes as so many hours, stays a date; a time of day goes around."""
    given = t.expression(call.arguments[0], frame)
    amounts = [int(a.value) for a in call.arguments[1:] if isinstance(a, plan.Constant) and a.value is not None]
    months, days, micros = amounts
    if given.type == INTERVAL:
        return spans.later(t, given, days * DAY + micros)
    if given.type == DATE and not (months or days) and micros % DAY == 0:
        return t.result("plus", [given.value, Literal([micros // DAY], I64)], given.valid)
    made = t.cast(given, TIMESTAMP)
    if months:
        made = t.result("add_months", [made.value, Literal([months], I64)], made.valid)
    if days or micros:
        made = t.result("plus", [made.value, Literal([days * DAY + micros], I64)], made.valid)
    return t.cast(made, given.type) if given.type in (TIMESTAMP_UTC, CLOCK) else made


def _binned(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """date_bin, whose first argument is an interval that was decoded to microseconds."""
    sides = [t.cast(t.expression(a, frame), TIMESTAMP) for a in call.arguments[1:]]
    width = t.expression(call.arguments[0], frame)
    origin = sides[1].value if len(sides) > 1 else Literal([0], TIMESTAMP)
    return t.result("date_bin", [width.value, sides[0].value, origin], t.both([s.valid for s in sides]))


def _from_number(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """A moment from a number of seconds or parts of them, or from text."""
    given = t.uncast(call.arguments[0], frame, drop_to_double)
    if given.type.is_float or isinstance(given.type, DecimalType):
        scaled = t.result("mul", [t.cast(given, F64).value, Literal([1e6], F64)], given.valid)
        count = t.cast(scaled, I64).value
        return t.cast(t.result("plus", [Literal([0], TIMESTAMP), count], given.valid), TIMESTAMP_UTC)
    if given.type.kind == "text":  # by its offset
        return t.cast(t.cast(given, TIMESTAMP_UTC), TIMESTAMP)
    if not given.type.is_integer:
        return t.cast(given, TIMESTAMP)
    per_second = FROM_NUMBERS[call.function]
    number = t.cast(given, I64)
    if per_second > 10**6:
        whole = t.emit("minus", [number.value, t.emit("mod", [number.value, Literal([1000], I64)])])
        number = t.cast(Result(t.emit("div", [whole, Literal([1000], I64)]), F64, given.valid), I64)
        per_second = 10**6
    micros = t.emit("mul", [number.value, Literal([10**6 // per_second], I64)])
    made = t.result("plus", [Literal([0], TIMESTAMP), micros], given.valid)
    return t.cast(made, TIMESTAMP_UTC) if call.function == "to_timestamp" else made


def _in_zone(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """What a zone's clocks show at a moment of universal time, or the moment at which they show one."""
    zone, moment = call.arguments
    assert isinstance(zone, plan.Constant)
    below = t.cast(t.expression(moment, frame), TIMESTAMP)
    made = t.result(call.function, [below.value, Literal([str(zone.value)], STR)], below.valid)
    return made if call.function == "local_moment" else t.cast(made, TIMESTAMP_UTC)


def _to_unixtime(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    moment = t.cast(t.expression(call.arguments[0], frame), TIMESTAMP)
    seconds = t.result("epoch", [moment.value], moment.valid)
    return t.cast(t.result("floor", [seconds.value], seconds.valid), I64)


def _bits(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    sides = [t.expression(a, frame) for a in call.arguments]
    return t.result(_BITS[call.function], [s.value for s in sides], t.both([s.valid for s in sides]))


def _remainder(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """``%``, of floats as of doubles."""
    sides = [t.uncast(a, frame, drop_in_arithmetic) for a in call.arguments]
    valid = t.both([s.valid for s in sides])
    if any(s.type.is_float for s in sides):
        values = [t.cast(s, F64).value for s in sides]
        made = t.result("remainder", values, valid)
        return made if any(s.type == F64 for s in sides) or not all(s.type == F32 for s in sides) else t.cast(made, F32)
    if any(isinstance(s.type, DecimalType) for s in sides):
        type = unified([s.type for s in sides])
        sides = [t.cast(s, type) for s in sides]
    return t.result("mod", [s.value for s in sides], valid)


def _real(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """A function of doubles; where it is NULL it is taken of 1, which all of them have a value for."""
    sides = [t.cast(t.uncast(a, frame, drop_to_double), F64) for a in call.arguments]
    valid = t.both([s.valid for s in sides])
    values = [s.value for s in sides]
    if valid is not None:
        values = [t.emit("if_else", [valid, v, Literal([1.0], F64)]) for v in values]
    return t.result(call.function, values, valid)


def _rounded(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """floor, ceil, trunc and round: a decimal keeps its digits before the point, an integer stays one."""
    below = t.uncast(call.arguments[0], frame, drop_nothing if t.casts_are_asked_for else drop_to_double)
    name = call.function
    asked = call.arguments[1].value if len(call.arguments) > 1 and isinstance(call.arguments[1], plan.Constant) else 0
    assert isinstance(asked, int)
    if below.type.is_float:
        if len(call.arguments) > 1:
            wide = t.cast(below, F64)
            made = t.result(f"{name}_to", [wide.value, Literal([asked], I64)], below.valid)
        else:
            made = t.result(name, [below.value if below.type == F64 else t.cast(below, F64).value], below.valid)
        return t.cast(made, F32) if below.type == F32 else made
    scale = below.type.scale if isinstance(below.type, DecimalType) else 0
    if name == "round" and asked < 0 and below.type.is_unsigned:
        below = t.cast(below, I128 if below.type == U64 else I64)
    if asked >= scale:
        return below if name in ("round", "trunc") or isinstance(below.type, DecimalType) else t.cast(below, F64)
    return _cut(t, below, scale, asked, name)


def _cut(t: Translator, below: Result, scale: int, digits: int, name: str) -> Result:
    """An exact number without its digits behind the given one, rounded as ``name`` says."""
    type = below.type
    unit = 10 ** (scale - digits)
    zero = Literal([0], type)
    divisor = Literal([unit], type if isinstance(type, DecimalType) else I64)
    rest = t.emit("mod", [below.value, divisor])
    whole = t.result("minus", [below.value, rest])
    up, down = t.emit("gt", [rest, zero]), t.emit("lt", [rest, zero])
    if name == "round":
        half = Literal([unit // 2], type)
        up, down = t.emit("geq", [rest, half]), t.emit("leq", [rest, t.emit("neg", [half])])
    shown = DecimalType(type.precision, max(digits, 0)) if isinstance(type, DecimalType) else type
    if isinstance(type, DecimalType) and type.precision == MAX_DIGITS:  # one digit more has room behind the cut only
        whole, unit, zero = t.cast(whole, shown), unit // 10 ** (scale - scale_of(shown)), Literal([0], shown)
    step = Literal([unit], zero.type)
    if name in ("round", "ceil"):
        whole = t.result("plus", [whole.value, t.emit("if_else", [up, step, zero])])
    if name in ("round", "floor"):
        whole = t.result("minus", [whole.value, t.emit("if_else", [down, step, zero])])
    return t.cast(Result(whole.value, whole.type, below.valid), shown)


def _extreme(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """The greatest or least of the arguments that are not NULL."""
    sides = [t.uncast(a, frame, drop_in_choice) for a in call.arguments]
    type = unified([s.type for s in sides])
    made = t.cast(sides[0], type)
    for side in sides[1:]:
        other = t.cast(side, type)
        chosen: Operand = t.emit("geq" if call.function == "greatest" else "leq", [made.value, other.value])
        if other.valid is not None:
            chosen = t.either(chosen, t.negated(other.valid))
        if made.valid is not None:
            chosen = t.emit("and", [chosen, made.valid])
        valid: Operand | None = None
        if made.valid is not None and other.valid is not None:
            valid = t.either(made.valid, other.valid)
        made = t.result("if_else", [chosen, made.value, other.value], valid)
    return made


SCALARS: Final[dict[str, Callable[[Translator, plan.Apply, Frame], Result]]] = {
    **dict.fromkeys(TABLE, scalar), **dict.fromkeys(OF_TEXT, _of_text), **dict.fromkeys(_REAL, _real),
    **dict.fromkeys(_ROUNDED, _rounded), **dict.fromkeys(_BITS, _bits), **dict.fromkeys(FROM_NUMBERS, _from_number),
    **{f"date_{part}": _date_part for part in DATE_PARTS}, **{f"time_{part}": _date_part for part in TIME_PARTS},
    "str_concat": _joined_text, "concat": _joined_text, "concat_ws": _joined_with, "date_trunc": _truncated,
    "later": _later, "date_bin": _binned, "to_unixtime": _to_unixtime, "modulus": _remainder, "front": _front,
    "greatest": _extreme, "least": _extreme, "local_moment": _in_zone, "universal_moment": _in_zone,
}  # fmt: skip
#: The kinds of what they give; that of the first argument for the others.
KINDS: Final[dict[str, str]] = {
    **{name: kind_of(name) for name in TABLE},
    **dict.fromkeys(OF_TEXT, "text"), **dict.fromkeys(["character_length", "octet_length", "strpos"], "int"),
    **dict.fromkeys(_REAL, "float"), **dict.fromkeys(_BITS, "int"), **dict.fromkeys(FROM_NUMBERS, "timestamp"),
    "str_concat": "text", "concat": "text", "concat_ws": "text", "front": "text", "date_trunc": "timestamp",
    "date_bin": "timestamp", "to_unixtime": "int", "local_moment": "timestamp", "universal_moment": "timestamp",
    **{f"date_{part}": "int" for part in DATE_PARTS}, **{f"time_{part}": "int" for part in TIME_PARTS},
    "time_epoch": "float",
}  # fmt: skip
