"""Types and literals of a Substrait plan to HorseIR's types and the constants of ``plan.py``.

What has no place there is collected in ``unsupported``, each thing once.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any, Final

from drawloom.horse.types import (
    BOOL,
    CLOCK,
    DATE,
    DAY,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INTERVAL,
    MAX_DIGITS,
    STR,
    TIMESTAMP,
    TIMESTAMP_MS,
    TIMESTAMP_NS,
    TIMESTAMP_S,
    TIMESTAMP_UTC,
    U8,
    U16,
    U32,
    U64,
    DecimalType,
    VectorType,
    exact_bounds,
)
from drawloom.horse.values import INT64_MAX
from drawloom.sql.plan import Constant

OVERFLOW: Final = f"decimal constants whose result needs more than {MAX_DIGITS} digits"
#: Stands for what was refused.
ANYTHING: Final = Constant(None, BOOL)
_PLAIN: Final[dict[str, VectorType]] = {
    "bool": BOOL, "i8": I8, "i16": I16, "i32": I32, "i64": I64, "fp32": F32, "fp64": F64, "date": DATE,
    "string": STR, "varchar": STR, "fixed_char": STR,
}  # fmt: skip
#: DataFusion's unsigned integers are Substrait's integers in variation 1.
UNSIGNED: Final[dict[str, VectorType]] = {"i8": U8, "i16": U16, "i32": U32, "i64": U64}
#: Columns of moments by the digits of a second that they count.
_MOMENTS: Final[dict[int, VectorType]] = {0: TIMESTAMP_S, 3: TIMESTAMP_MS, 6: TIMESTAMP, 9: TIMESTAMP_NS}
_NAMES: Final[dict[str, str]] = {"interval_compound": "interval", "interval_day": "interval"}


class Literals:
    """Reads types and literals; ``user_types`` are the plan's own types by anchor."""

    def __init__(self, unsupported: list[str]) -> None:
        self.unsupported = unsupported
        self.user_types: dict[int, str] = {}

    def refuse(self, what: str) -> None:
        if what not in self.unsupported:
            self.unsupported.append(what)

    def type(self, body: Any, where: str = "") -> VectorType | None:
        """The type; None for one that is not supported, which is named with ``where`` it stands, "" for a cast."""
        kind = body.WhichOneof("kind")
        if kind == "decimal":
            precision, scale = body.decimal.precision, body.decimal.scale
            if 1 <= precision <= MAX_DIGITS and 0 <= scale <= precision:
                return DecimalType(precision, scale)
            self.refuse(f"type: decimal({precision},{scale}){where}")
            return None
        if kind == "user_defined":
            name = self.user_types.get(body.user_defined.type_reference, kind)
            if name == "null":
                return I32  # as DuckDB types a bare NULL
            self.refuse(f"type: {name}{where}")
            return None
        if kind == "precision_timestamp":
            # SQL's TIMESTAMP is of nanoseconds in DataFusion, of microseconds in DuckDB.
            precision = body.precision_timestamp.precision
            return TIMESTAMP if precision == 9 and not where else _MOMENTS[precision]
        if kind == "precision_timestamp_tz":
            return TIMESTAMP_UTC
        if kind == "precision_time":
            return CLOCK
        if kind in _NAMES and not where:
            return INTERVAL
        if kind in UNSIGNED and getattr(body, kind).type_variation_reference:
            return UNSIGNED[kind]
        if kind not in _PLAIN:
            self.refuse(f"type: {_NAMES.get(kind, kind)}{where}")
            return None
        return _PLAIN[kind]

    def literal(self, body: Any) -> Constant:
        kind = body.WhichOneof("literal_type")
        if kind == "null" and body.null.WhichOneof("kind") in ("list", "struct"):
            return Constant(None, I32)
        if kind == "null":
            null_type = self.type(body.null)
            return ANYTHING if null_type is None else Constant(None, null_type)
        if kind == "decimal":
            value = int.from_bytes(body.decimal.value, "little", signed=True)
            if abs(value) >= 10**MAX_DIGITS:
                self.refuse(OVERFLOW)
                return ANYTHING
            return Constant(value, DecimalType(max(body.decimal.precision, 1), body.decimal.scale))
        if kind in UNSIGNED and body.type_variation_reference:
            value = getattr(body, kind) % (1 << int(kind[1:]))
            return Constant(value, I64 if value <= exact_bounds(I64)[1] else U64)  # beside what counts rows
        if kind == "precision_timestamp":
            return self.moment(body.precision_timestamp, TIMESTAMP)
        if kind == "precision_timestamp_tz":
            return self.moment(body.precision_timestamp_tz, TIMESTAMP_UTC)
        if kind == "precision_time":
            return self.moment(body.precision_time, CLOCK)
        if kind == "interval_compound":
            return self.interval_of(*interval_parts(body.interval_compound))
        if kind == "boolean":
            return Constant(int(body.boolean), BOOL)
        if kind == "fp32":
            return Constant(struct.unpack("f", struct.pack("f", body.fp32))[0], F32)
        if kind == "var_char":
            return Constant(body.var_char.value, STR)
        if kind == "fixed_char":
            return Constant(body.fixed_char, STR)
        if kind not in _PLAIN:
            self.refuse(f"literal: {_NAMES.get(kind, kind)}")
            return ANYTHING
        return Constant(getattr(body, kind), _PLAIN[kind])

    def interval_of(self, months: int, days: int, micros: int) -> Constant:
        """An amount of time, which months are not: they differ in length."""
        if months:
            self.refuse("an interval of months that is not added to a date or a moment")
        return Constant(days * DAY + micros, INTERVAL)

    def moment(self, body: Any, type: VectorType) -> Constant:
        """The microseconds that a moment is; one between two of them is a moment of nanoseconds. Times of day and
        moments with a zone are cut off there."""
        micros = Fraction(body.value * 10**6, 10**body.precision)
        if abs(micros) > INT64_MAX:
            self.refuse("a moment that 64 bits of microseconds do not hold")
            return Constant(0, type)
        if micros.denominator == 1 or type != TIMESTAMP:
            return Constant(math.floor(micros), type)
        return Constant(int(micros * 1000), TIMESTAMP_NS)


def interval_parts(compound: Any) -> tuple[int, int, int]:
    """The months, days and microseconds of an interval literal."""
    months, time = compound.interval_year_to_month, compound.interval_day_to_second
    micros = time.seconds * 1_000_000 + int(Fraction(time.subseconds * 1_000_000, 10**time.precision))
    return months.years * 12 + months.months, time.days, micros
