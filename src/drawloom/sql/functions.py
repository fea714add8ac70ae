"""Scalar functions of the relational tree to HorseIR: text, dates and timestamps, real functions, greatest and least.

``SCALARS`` has what each Substrait name becomes; arguments after the first that must be constants are checked where
the plan is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal, Operand
from drawloom.horse.types import BOOL, DATE, F32, F64, I64, STR, SYM, TIMESTAMP, DecimalType
from drawloom.sql import plan
from drawloom.sql.coercion import drop_in_comparison, unified
from drawloom.sql.frames import Frame, Result

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

#: Functions of one text, whose other arguments are constant texts, by their builtins.
OF_TEXT: Final[dict[str, str]] = {
    "upper": "upper", "lower": "lower", "btrim": "trim", "ltrim": "trim_start", "rtrim": "trim_end",
    "replace": "replace", "regexp_replace": "regexp_replace", "character_length": "length",
    "octet_length": "octet_length", "strpos": "position",
}  # fmt: skip
#: The parts of a date, and those of a timestamp alone.
DATE_PARTS: Final = frozenset(["year", "month", "day", "quarter", "week", "dow", "doy"])
TIME_PARTS: Final = frozenset(["hour", "minute", "second"])
_REAL: Final = ("sqrt", "ln", "exp", "power")
_ROUNDED: Final = ("floor", "ceil", "round")
_TRUE: Final = Literal([1], BOOL)


def _of_text(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    text = t.expression(call.arguments[0], frame)
    options: list[Operand] = [Literal([str(a.value)], STR) for a in call.arguments[1:] if isinstance(a, plan.Constant)]
    return t.of_words(OF_TEXT[call.function], text, options)


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


def _date_part(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    below = t.expression(call.arguments[0], frame)
    if call.function.startswith("date_"):
        below = t.cast(below, DATE)
    return t.result(call.function, [below.value], below.valid)


def _truncated(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    unit, time = call.arguments
    assert isinstance(unit, plan.Constant)
    below = t.cast(t.expression(time, frame), TIMESTAMP)
    return t.result("truncate", [below.value, Literal([str(unit.value)], SYM)], below.valid)


def _later(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """A date or timestamp, and months and microseconds after it."""
    below = t.expression(call.arguments[0], frame)
    months, micros = [int(a.value) for a in call.arguments[1:] if isinstance(a, plan.Constant) and a.value is not None]
    made = below
    if months:
        made = t.result("add_months", [made.value, Literal([months], I64)], below.valid)
    if micros:
        amount = micros // plan.DAY if below.type == DATE else micros
        made = t.result("plus", [made.value, Literal([amount], I64)], below.valid)
    return made


def _real(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """A function of doubles; where it is NULL it is taken of 1, which all of them have a value for."""
    sides = [t.cast(t.uncast(a, frame, _to_double), F64) for a in call.arguments]
    valid = t.both([s.valid for s in sides])
    values = [s.value for s in sides]
    if valid is not None:
        values = [t.emit("if_else", [valid, v, Literal([1.0], F64)]) for v in values]
    return t.result(call.function, values, valid)


def _to_double(given: object, cast: object) -> bool:
    return cast == F64


def _rounded(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """floor, ceil and round of a float, or round of a decimal to some digits behind the point."""
    below = t.expression(call.arguments[0], frame)
    if isinstance(below.type, DecimalType):
        digits = (
            call.arguments[1].value if len(call.arguments) > 1 and isinstance(call.arguments[1], plan.Constant) else 0
        )
        assert isinstance(digits, int)
        return t.cast(below, DecimalType(below.type.precision, min(digits, below.type.scale)))
    if below.type.is_integer:
        return below if call.function == "round" else t.cast(below, F64)
    made = t.result(call.function, [below.value], below.valid)
    return t.cast(made, F32) if below.type == F32 else made


def _extreme(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """The greatest or least of the arguments that are not NULL."""
    sides = [t.uncast(a, frame, drop_in_comparison) for a in call.arguments]
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
    **dict.fromkeys(OF_TEXT, _of_text), **dict.fromkeys(_REAL, _real), **dict.fromkeys(_ROUNDED, _rounded),
    **{f"date_{part}": _date_part for part in DATE_PARTS}, **{f"time_{part}": _date_part for part in TIME_PARTS},
    "str_concat": _joined_text, "concat": _joined_text, "date_trunc": _truncated, "later": _later,
    "greatest": _extreme, "least": _extreme,
}  # fmt: skip
#: The kinds of what they give; that of the first argument for the others.
KINDS: Final[dict[str, str]] = {
    **dict.fromkeys(OF_TEXT, "text"), **dict.fromkeys(["character_length", "octet_length", "strpos"], "int"),
    **dict.fromkeys(_REAL, "float"), "str_concat": "text", "concat": "text", "date_trunc": "timestamp",
    **{f"date_{part}": "int" for part in DATE_PARTS}, **{f"time_{part}": "int" for part in TIME_PARTS},
}  # fmt: skip
