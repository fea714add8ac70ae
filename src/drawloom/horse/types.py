"""The types of HorseIR: vectors named by their element, lists, enumerations, dictionaries and tables.

The language of rNdN (thesis section 2.2) plus exact types that SQL needs: ``decimal<p,s>``, an integer of at most
``p`` digits that counts units of ``10**-s``, ``i128``, what sums of integers are held in, unsigned integers, the time
of a day and an amount of time in microseconds (``clock``, ``interval``), and moments in other units than microseconds
or in universal time.

    type    ::= vector | 'list' '<' type '>' | 'enum' '<' type '>' | 'dict' '<' type ',' type '>' | 'table' | '?'
    vector  ::= 'bool' | 'char' | 'i8' | 'i16' | 'i32' | 'i64' | 'i128' | 'u8' | 'u16' | 'u32' | 'u64'
              | 'f32' | 'f64' | 'str' | 'sym' | 'date' | 'month' | 'time' | 'clock' | 'interval' | 'timestamp'
              | 'timestamp_s' | 'timestamp_ms' | 'timestamp_ns' | 'timestamp_utc' | 'decimal' '<' INT ',' INT '>'
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Type:
    """A HorseIR type; two types are equal when they print alike."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


@mypyc_attr(allow_interpreted_subclasses=True)
class VectorType(Type):
    """A vector of one element type; a scalar is a vector of length 1.

    ``bits`` is the width of one element as stored (0 for text), ``kind`` what it is: ``"bool"``, ``"char"``,
    ``"int"``, ``"float"``, ``"text"``, ``"time"``, ``"clock"``, ``"interval"``, ``"timestamp"`` or ``"decimal"``.
    """

    def __init__(self, text: str, kind: str, bits: int) -> None:
        super().__init__(text)
        self.kind = kind
        self.bits = bits

    @property
    def is_integer(self) -> bool:
        return self.kind == "int"

    @property
    def is_unsigned(self) -> bool:
        return self.kind == "int" and self.text.startswith("u")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("int", "float", "decimal")

    @property
    def is_exact(self) -> bool:
        """Held as an integer: everything but floats and text."""
        return self.kind in ("int", "decimal", "time", "clock", "interval", "timestamp", "bool", "char")


class DecimalType(VectorType):
    """``decimal<precision,scale>``: |unscaled value| < 10**precision, value = unscaled * 10**-scale."""

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(f"decimal<{precision},{scale}>", "decimal", 64 if precision <= MAX_DIGITS_64 else 128)
        self.precision = precision
        self.scale = scale


class ListType(Type):
    def __init__(self, element: Type) -> None:
        super().__init__(f"list<{element}>")
        self.element = element


class EnumType(Type):
    def __init__(self, element: Type) -> None:
        super().__init__(f"enum<{element}>")
        self.element = element


class DictType(Type):
    def __init__(self, key: Type, value: Type) -> None:
        super().__init__(f"dict<{key},{value}>")
        self.key = key
        self.value = value


#: Decimal digits that always fit a signed 64-bit (128-bit) integer.
MAX_DIGITS_64: Final = 18
MAX_DIGITS: Final = 38

BOOL: Final = VectorType("bool", "bool", 8)
CHAR: Final = VectorType("char", "char", 8)
I8: Final = VectorType("i8", "int", 8)
I16: Final = VectorType("i16", "int", 16)
I32: Final = VectorType("i32", "int", 32)
I64: Final = VectorType("i64", "int", 64)
I128: Final = VectorType("i128", "int", 128)
U8: Final = VectorType("u8", "int", 8)
U16: Final = VectorType("u16", "int", 16)
U32: Final = VectorType("u32", "int", 32)
U64: Final = VectorType("u64", "int", 64)
F32: Final = VectorType("f32", "float", 32)
F64: Final = VectorType("f64", "float", 64)
STR: Final = VectorType("str", "text", 0)
SYM: Final = VectorType("sym", "text", 0)
DATE: Final = VectorType("date", "time", 32)  # days since 1970-01-01
MONTH: Final = VectorType("month", "time", 32)  # months since 1970-01
TIME: Final = VectorType("time", "time", 32)  # milliseconds since midnight
CLOCK: Final = VectorType("clock", "clock", 64)  # microseconds since midnight
INTERVAL: Final = VectorType("interval", "interval", 64)  # microseconds
TIMESTAMP: Final = VectorType("timestamp", "timestamp", 64)  # microseconds since 1970-01-01
TIMESTAMP_S: Final = VectorType("timestamp_s", "timestamp", 64)  # seconds since then
TIMESTAMP_MS: Final = VectorType("timestamp_ms", "timestamp", 64)  # milliseconds
TIMESTAMP_NS: Final = VectorType("timestamp_ns", "timestamp", 64)  # nanoseconds
TIMESTAMP_UTC: Final = VectorType("timestamp_utc", "timestamp", 64)  # microseconds, in universal time
#: 1970-01-01 as a ``datetime.date``'s ordinal, and the microseconds of a day.
EPOCH: Final = 719_163
DAY: Final = 86_400_000_000
TABLE: Final = Type("table")
WILDCARD: Final = Type("?")

NAMED: Final[dict[str, Type]] = {
    t.text: t
    for t in (
        BOOL, CHAR, I8, I16, I32, I64, I128, U8, U16, U32, U64, F32, F64, STR, SYM, DATE, MONTH, TIME, CLOCK, INTERVAL,
        TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMP_UTC, TABLE, WILDCARD,
    )
}  # fmt: skip

#: Units of a second that each type of moments counts, a time of day, and an amount of time.
TICKS: Final[dict[str, int]] = {
    CLOCK.text: 10**6, INTERVAL.text: 10**6, TIMESTAMP.text: 10**6, TIMESTAMP_S.text: 1, TIMESTAMP_MS.text: 10**3,
    TIMESTAMP_NS.text: 10**9,
    TIMESTAMP_UTC.text: 10**6,
}  # fmt: skip


def named_type(text: str) -> VectorType | None:
    """The vector type that ``text`` names, such as ``f64`` or ``decimal<15,2>``; None when it names none."""
    found = NAMED.get(text)
    if isinstance(found, VectorType):
        return found
    if text.startswith("decimal<") and text.endswith(">"):
        parts = text[8:-1].split(",")
        if len(parts) == 2 and parts[0].isdigit() and parts[1].isdigit():
            precision, scale = int(parts[0]), int(parts[1])
            if 1 <= precision <= MAX_DIGITS and scale <= precision:
                return DecimalType(precision, scale)
    return None


def is_complete(type: Type) -> bool:
    """Whether no wildcard is left in the type."""
    return "?" not in type.text


def accepts(declared: Type, actual: Type) -> bool:
    """Whether a value of type ``actual`` may be bound to a variable declared as ``declared``."""
    if declared.text == "?" or declared == actual:
        return True
    if isinstance(declared, ListType) and isinstance(actual, ListType):
        return accepts(declared.element, actual.element)
    if isinstance(declared, EnumType) and isinstance(actual, EnumType):
        return accepts(declared.element, actual.element)
    if isinstance(declared, DictType) and isinstance(actual, DictType):
        return accepts(declared.key, actual.key) and accepts(declared.value, actual.value)
    return False


def scale_of(type: Type | None) -> int:
    """The scale of a decimal type, 0 of every other."""
    return type.scale if isinstance(type, DecimalType) else 0


def integer_digits(type: VectorType) -> int:
    """The decimal digits an integer type counts as beside a decimal: i8 3, i16 5, i32 10, i64 19, u64 20, i128 38.

    As DuckDB casts them. Raises KeyError for what is not an integer.
    """
    return 20 if type == U64 else _DIGITS[type.bits]


_DIGITS: Final[dict[int, int]] = {8: 3, 16: 5, 32: 10, 64: 19, 128: 38}


def exact_bounds(type: VectorType) -> tuple[int, int]:
    """The smallest and largest integer that an exact type can hold (unscaled, for decimals)."""
    if isinstance(type, DecimalType):
        largest = 10**type.precision - 1
        return (-largest, largest)
    if type.kind in ("bool", "char"):
        return (0, 1 if type.kind == "bool" else 255)
    if type == TIME:
        return (0, DAY // 1000 - 1)
    if type.is_unsigned:
        return (0, (1 << type.bits) - 1)
    half = 1 << (type.bits - 1)
    return (-half, half - 1)
