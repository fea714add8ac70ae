"""An error of a statement, which is HorseIR's, in the words of the query: the expression that it computes, and SQL's
names of types.

    overflow: a result of @mul does not fit i64   =>   overflow in a * 4: the result does not fit bigint
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from drawloom.errors import StatementError, quote_line
from drawloom.horse.casts import shown
from drawloom.horse.ir import Assign, Call, CheckCast, Expression, FunctionRef, Literal, Module, Name, Operand, walk
from drawloom.horse.types import DecimalType, Type, VectorType, named_type
from drawloom.sql.clauses import Sql
from drawloom.sql.places import line_and_column

#: An overflow, with the value that does not fit where it is told, and the type; others say what they are of.
_OVERFLOW: Final = re.compile(r"overflow(?:: a result of @\w+| in @\w+(?:: (?P<value>.+))?) does not fit (?P<type>\S+)")
_TEXT: Final = re.compile(r"cannot convert the text '(?P<text>.*)' to (?P<type>\S+)", re.DOTALL)
_BUILTIN: Final = re.compile(r"@\w+")
_NUMBER: Final = re.compile(r"-?\d+")
_TYPES: Final[dict[str, str]] = {
    "bool": "boolean", "i8": "tinyint", "i16": "smallint", "i32": "integer", "i64": "bigint", "i128": "hugeint",
    "u8": "utinyint", "u16": "usmallint", "u32": "uinteger", "u64": "ubigint", "f32": "float", "f64": "double",
    "str": "varchar", "clock": "time", "timestamp_utc": "timestamptz",
}  # fmt: skip
_LIST: Final = "list<"
_CAST: Final = "cast("
_SYNONYMS: Final[dict[str, str]] = {
    "int": "integer", "int4": "integer", "int2": "smallint", "int8": "bigint", "real": "float", "float4": "float",
    "float8": "double", "numeric": "decimal", "text": "varchar", "string": "varchar", "bool": "boolean",
}  # fmt: skip
_SIGNS: Final[dict[str, str]] = {
    "plus": "+", "minus": "-", "mul": "*", "div": "/", "mod": "%", "shift_left": "<<", "shift_right": ">>",
    "bit_and": "&", "bit_or": "|", "bit_xor": "^", "eq": "=", "neq": "<>", "lt": "<", "leq": "<=", "gt": ">",
    "geq": ">=", "and": "and", "or": "or", "join_text": "||",
}  # fmt: skip
#: What takes rows or cells of one argument, by its place: the value is what that is.
_ROWS: Final[dict[str, int]] = {
    "index": 0, "outer_index": 0, "compress": 1, "top": 0, "fill": 0, "raze": 0, "flat": 0, "each_right": 1,
    "each_item": 2, "timestamp_of": 0, "date_of": 0, "list_items": 0,
}  # fmt: skip
#: Those of two arguments, of which the second is a type's name.
_CASTS: Final = ("convert", "convert_moment", "parse")
#: Parts of an expression within each other, and characters, that are shown.
_DEEPEST: Final = 8
_LONGEST: Final = 160
_MORE: Final = "..."


def worded(problem: StatementError, module: Module, text: str) -> StatementError:
    """The error of a query's program in words of the query, at the place in its ``text`` where the expression is, if
    it stands there once."""
    body = [f.body for f in module.functions if f.name == "main"]
    assigned = [s for s in walk(body[0]) if isinstance(s, Assign)]
    values = {s.targets[0].name: s.value for s in assigned}
    types = {s.targets[0].name: s.targets[0].type for s in assigned}
    computed = Wording(values, types).computed(values.get(f"t{problem.line - 1}"))
    message = _said(problem.message, computed)
    offset = _place(text, computed)
    if offset < 0:
        return StatementError(message, message)
    line, column, quoted = line_and_column(text, offset)
    return StatementError(message, f"query:{line}:{column}: {message}\n{quote_line(quoted, column)}", line)


def _said(message: str, computed: str) -> str:
    overflow, text = _OVERFLOW.fullmatch(message), _TEXT.fullmatch(message)
    if overflow is not None:
        type = named_type(overflow["type"])
        value = "the result"
        if overflow["value"] and isinstance(type, VectorType) and type.kind in ("int", "decimal"):
            is_number = _NUMBER.fullmatch(overflow["value"]) is not None
            value = shown(type)(int(overflow["value"])) if is_number else overflow["value"]
        return f"overflow in {computed}: {value} does not fit {sql_type(overflow['type'])}"
    if text is not None:
        return f"cannot convert the text '{text['text']}' to {sql_type(text['type'])} in {computed}"
    if message == "@mod by zero":
        return f"division by zero in {computed}"
    said = _BUILTIN.sub(lambda _: computed, message, count=1)
    return said if said != message else f"{message} in {computed}"


def sql_type(name: str) -> str:
    """SQL's name of a type of HorseIR's."""
    if name.startswith(_LIST):
        return f"{sql_type(name.removeprefix(_LIST)[:-1])}[]"
    type = named_type(name)
    return f"decimal({type.precision},{type.scale})" if isinstance(type, DecimalType) else _TYPES.get(name, name)


def _place(text: str, computed: str) -> int:
    """Where an expression stands in a text, -1 where it does not, or more than once."""
    if _MORE in computed:
        return -1
    value, _, type = computed.removeprefix(_CAST)[:-1].rpartition(" as ")
    forms = [computed, f"{value}::{type}"] if computed.startswith(_CAST) else [computed]
    return max([_place_of(text, form) for form in forms])


def _place_of(text: str, computed: str) -> int:
    tokens, wanted = [[t for t in Sql(sql).tokens if not t.is_mark("(", ")")] for sql in (text, computed)]
    texts, words = [[_SYNONYMS.get(t.text, t.text) for t in found] for found in (tokens, wanted)]
    found = [i for i in range(len(texts) - len(words) + 1) if texts[i : i + len(words)] == words]
    return tokens[found[0]].start if len(found) == 1 else -1


class Wording:
    """Expressions of SQL for those that a program assigns to its variables."""

    def __init__(self, values: dict[str, Expression], types: dict[str, Type | None]) -> None:
        self.values = values
        self.types = types

    def computed(self, value: Expression | None) -> str:
        made = self.expression(value, 0)
        return made if len(made) <= _LONGEST else made[:_LONGEST] + _MORE

    def operand(self, operand: Operand, depth: int) -> str:
        if isinstance(operand, Name):
            return self.expression(self.values.get(operand.name), depth)
        if not isinstance(operand, Literal) or len(operand.values) != 1:
            return _MORE
        show: Callable[[object], str] = shown(operand.type) if isinstance(operand.type, VectorType) else str
        text = show(operand.values[0])
        return text if isinstance(operand.type, VectorType) and operand.type.is_numeric else f"'{text}'"

    def is_widened(self, operand: Operand, type: Operand) -> bool:
        """Whether integers become wider ones, as the planner makes them."""
        given = self.types.get(operand.name) if isinstance(operand, Name) else None
        made = named_type(str(type.values[0])) if isinstance(type, Literal) else None
        if not (isinstance(given, VectorType) and isinstance(made, VectorType)):
            return False
        return given.is_integer and made.is_integer and given.bits < made.bits

    def part(self, operand: Operand, depth: int) -> str:
        """An operand of an operator."""
        made = self.operand(operand, depth)
        return f"({made})" if " " in made and not made.endswith((")", "'")) else made

    def expression(self, value: Expression | None, depth: int) -> str:
        if isinstance(value, CheckCast):
            return self.expression(value.value, depth)
        if not isinstance(value, Call) or depth > _DEEPEST:
            return _MORE
        name, arguments, depth = value.function.name, value.arguments, depth + 1
        if name == "column_value" and isinstance(arguments[1], Literal):
            return str(arguments[1].values[0])
        if name in _ROWS or (name == "concat" and len(arguments) == 1):
            return self.operand(arguments[_ROWS.get(name, 0)], depth)
        if name == "if_else" and isinstance(arguments[2], Literal):  # of guards.py: the other rows do not count
            return self.operand(arguments[1], depth)
        if name == "each" and isinstance(arguments[0], FunctionRef):
            return f"{arguments[0].name}({self.operand(arguments[1], depth)})"
        if name in _SIGNS:
            return f"{self.part(arguments[0], depth)} {_SIGNS[name]} {self.part(arguments[1], depth)}"
        if name == "neg":
            return f"-{self.part(arguments[0], depth)}"
        if name == "convert" and self.is_widened(arguments[0], arguments[1]):
            return self.operand(arguments[0], depth)
        if name in _CASTS and isinstance(arguments[1], Literal):
            return f"cast({self.operand(arguments[0], depth)} as {sql_type(str(arguments[1].values[0]))})"
        if name == "count_list_items" and isinstance(arguments[1], Literal):
            return f"cast({self.operand(arguments[0], depth)} as {str(arguments[1].values[0]).lower()})"
        if name == "add_months":
            return f"{self.part(arguments[0], depth)} + interval '{self.operand(arguments[1], depth)} months'"
        return f"{name}({', '.join([self.operand(a, depth) for a in arguments])})"
