"""Casts of the relational tree to HorseIR, by the kinds of what is given and what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal
from drawloom.horse.types import BOOL, CLOCK, DATE, SYM, TIMESTAMP, VectorType
from drawloom.sql.frames import Result

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_NUMBERS: Final = ("int", "float", "decimal")
#: The kinds that values of a kind may be cast to, besides their own and text.
CASTS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(_NUMBERS, (*_NUMBERS, "bool")), "bool": _NUMBERS, "time": ("timestamp",),
    "timestamp": ("time", "clock"), "text": (*_NUMBERS, "bool", "time", "timestamp", "clock"), "clock": (),
    "interval": (),
}  # fmt: skip


def can_cast(given: str, made: str) -> bool:
    return made in (given, "text") or made in CASTS.get(given, ())


def cast(t: Translator, below: Result, type: VectorType) -> Result:
    """The values in another type. What has no value there is an error."""
    given = below.type
    if given == type or given.kind == type.kind == "text":
        return below
    if type.kind == "text":
        return t.of_words("show", below, []) if given.kind == "text" else t.result("show", [below.value], below.valid)
    if given.kind == "text":
        return t.result("parse", [below.value, _named(type)], below.valid)
    if type == BOOL:
        zero = Literal([0.0 if given.is_float else 0], given)
        return t.result("neq", [below.value, zero], below.valid)
    if type == DATE:
        return t.result("date_of", [cast(t, below, TIMESTAMP).value], below.valid)
    if given == DATE:
        return cast(t, t.result("timestamp_of", [below.value], below.valid), type)
    if type == CLOCK:
        return t.result("clock_of", [cast(t, below, TIMESTAMP).value], below.valid)
    name = "convert_moment" if type.kind == "timestamp" else "convert"
    return t.result(name, [below.value, _named(type)], below.valid)


def tried(t: Translator, below: Result, type: VectorType) -> Result:
    """TRY_CAST: NULL for what has no value in the type."""
    given = below.type
    is_part = given.kind == "timestamp" and type in (DATE, CLOCK)
    if type.kind == "text" or is_part or (given.kind != "text" and BOOL in (given, type)):
        return cast(t, below, type)
    if given == DATE:
        can = t.emit("can_convert", [below.value, _named(TIMESTAMP)])
        below = Result(t.emit("if_else", [can, below.value, Literal([0], DATE)]), DATE, t.both([below.valid, can]))
        return tried(t, t.result("timestamp_of", [below.value], below.valid), type)
    can = t.emit("can_convert", [below.value, _named(type)])
    valid = t.both([below.valid, can])
    if given.kind == "text":
        return cast(t, Result(below.value, given, valid), type)
    zero = Literal([0.0 if given.is_float else 0], given)
    return cast(t, Result(t.emit("if_else", [can, below.value, zero]), given, valid), type)


def _named(type: VectorType) -> Literal:
    return Literal([type.text], SYM)
