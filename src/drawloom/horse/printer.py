"""HorseIR to text that ``parse`` reads back as the same module."""

from __future__ import annotations

import datetime
import math
import re
from typing import Final

from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Evaluate,
    Expression,
    Function,
    FunctionRef,
    If,
    Import,
    Jump,
    Literal,
    Loop,
    Module,
    Name,
    Operand,
    Return,
    Statement,
    Target,
    Use,
    Value,
)
from drawloom.horse.types import DATE, EPOCH, MONTH, SYM, TIME, DecimalType, Type, VectorType

INDENT: Final = "    "
_PLAIN_SYMBOL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPES: Final[dict[str, str]] = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def print_module(module: Module) -> str:
    """The text of a whole module, ending in a newline."""
    lines = [f"module {module.name} {{"]
    lines.extend([INDENT + print_import(i) for i in module.imports])
    for function in module.functions:
        if len(lines) > 1:
            lines.append("")
        lines.extend([INDENT + line for line in print_function(function)])
    lines.append("}")
    return "\n".join(lines) + "\n"


def print_import(item: Import) -> str:
    if item.names is None:
        return f"import {item.module}.*;"
    if len(item.names) == 1:
        return f"import {item.module}.{item.names[0]};"
    return f"import {item.module}.{{{', '.join(item.names)}}};"


def print_function(function: Function) -> list[str]:
    word = "kernel" if function.is_kernel else "def"
    params = ", ".join([f"{p.name}:{p.type}" for p in function.params])
    returns = ", ".join([str(t) for t in function.returns])
    lines = [f"{word} {function.name}({params}){' : ' + returns if returns else ''} {{"]
    lines.extend([INDENT + line for line in print_body(function.body)])
    lines.append("}")
    return lines


def print_body(body: list[Statement]) -> list[str]:
    lines: list[str] = []
    for statement in body:
        lines.extend(print_statement(statement))
    return lines


def print_statement(statement: Statement) -> list[str]:
    if isinstance(statement, Assign):
        targets = ", ".join([print_target(t) for t in statement.targets])
        return [f"{targets} = {print_expression(statement.value)};"]
    if isinstance(statement, Evaluate):
        return [print_expression(statement.value) + ";"]
    if isinstance(statement, Return):
        values = ", ".join([print_operand(v) for v in statement.values])
        return [f"return {values};" if values else "return;"]
    if isinstance(statement, Jump):
        return [statement.kind + ";"]
    if isinstance(statement, Loop):
        head = f"{statement.kind} ({print_operand(statement.condition)}) {{"
        return [head, *[INDENT + line for line in print_body(statement.body)], "}"]
    assert isinstance(statement, If)
    lines = [f"if ({print_operand(statement.condition)}) {{"]
    lines.extend([INDENT + line for line in print_body(statement.then)])
    if statement.otherwise:
        lines.append("} else {")
        lines.extend([INDENT + line for line in print_body(statement.otherwise)])
    lines.append("}")
    return lines


def print_target(target: Target) -> str:
    return target.name if target.type is None else f"var {target.name}:{target.type}"


def print_expression(expression: Expression) -> str:
    if isinstance(expression, CheckCast):
        return f"check_cast({print_expression(expression.value)}, {expression.type})"
    if isinstance(expression, Call):
        arguments = ", ".join([print_operand(a) for a in expression.arguments])
        return f"{print_operand(expression.function)}({arguments})"
    assert isinstance(expression, Use)
    return print_operand(expression.operand)


def print_operand(operand: Operand) -> str:
    if isinstance(operand, Name):
        return operand.name
    if isinstance(operand, FunctionRef):
        return f"@{operand.module}.{operand.name}" if operand.module else "@" + operand.name
    assert isinstance(operand, Literal)
    return print_literal(operand.values, operand.type)


def print_literal(values: list[Value], type: Type) -> str:
    """A vector of Python values with its type; one value stands alone."""
    words = [print_value(v, type) for v in values]
    return f"{words[0]}:{type}" if len(words) == 1 else f"({', '.join(words)}):{type}"


def print_value(value: Value, type: Type) -> str:
    """One literal value without its type."""
    if isinstance(value, str):
        quoted = '"' + "".join([_ESCAPES.get(c, c) for c in value]) + '"'
        if type != SYM:
            return quoted
        return "`" + (value if _PLAIN_SYMBOL.match(value) else quoted)
    if isinstance(value, float):
        return print_float(value)
    if isinstance(type, DecimalType):
        return print_decimal(value, type.scale)
    if type == DATE:
        return print_date(value)
    if type == MONTH:
        return f"{1970 + value // 12:04d}.{value % 12 + 1:02d}"
    if type == TIME:
        return print_time(value)
    if isinstance(type, VectorType) and type.kind == "char":
        return repr(chr(value)) if 32 <= value < 127 and value not in (39, 92) else f"'\\x{value:02x}'"
    return str(int(value))


def print_float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text if any(c in text for c in ".en") else text + ".0"


def print_decimal(unscaled: int, scale: int) -> str:
    """``-12345, 2`` gives ``-123.45``."""
    sign = "-" if unscaled < 0 else ""
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return sign + (digits[:-scale] + "." + digits[-scale:] if scale else digits)


def print_date(days: int) -> str:
    """``1994.01.01``; days that the calendar of Python cannot name print as ``@days``."""
    ordinal = days + EPOCH
    if not 1 <= ordinal <= datetime.date.max.toordinal():
        return f"@{days}"
    date = datetime.date.fromordinal(ordinal)
    return f"{date.year:04d}.{date.month:02d}.{date.day:02d}"


def print_time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:03d}"
