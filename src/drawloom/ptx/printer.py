"""``Module`` to text that parses back to the same module.

Registers print as ``.reg`` ranges where consecutive ones have one stem, one type and numbers from 0.
"""

from __future__ import annotations

from drawloom.ptx.ir import (
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Function,
    InitializerItem,
    Instruction,
    Label,
    Module,
    Register,
    Statement,
    Variable,
)
from drawloom.ptx.unread import Unknown, Unread


def print_module(module: Module) -> str:
    """The text of ``module``; ``parse(print_module(m)) == m``."""
    out = [
        f".version {module.version[0]}.{module.version[1]}",
        f".target {', '.join(module.target)}",
        f".address_size {module.address_size}",
        "",
    ]
    for item in module.items:
        if isinstance(item, Variable):
            out.append(declaration(item) + ";")
        elif isinstance(item, Function):
            _function(item, out)
        else:
            out.append(_directive(item))
    return "\n".join(out) + "\n"


def print_function(function: Function) -> str:
    """The text of one function."""
    out: list[str] = []
    _function(function, out)
    return "\n".join(out) + "\n"


def print_instruction(instruction: Instruction) -> str:
    """The text of one instruction, with its ``;``."""
    guard = ""
    if instruction.guard is not None:
        guard = f"@{'!' if instruction.guard_negated else ''}{instruction.guard.name} "
    operands = instruction.operands
    if isinstance(instruction, Unknown):
        return f"{guard}{instruction.text};"
    if instruction.opcode.name == "call":
        parts = [repr(o) for o in operands]
        if parts[0] == "()":
            parts = parts[1:]
        return f"{guard}{instruction.opcode.text} {', '.join(parts)};"
    if not operands:
        return f"{guard}{instruction.opcode.text};"
    return f"{guard}{instruction.opcode.text} {', '.join(instruction.operand_texts())};"


def declaration(variable: Variable) -> str:
    """A variable or parameter declaration without its ``;``."""
    parts: list[str] = []
    if variable.linkage:
        parts.append(variable.linkage)
    parts.append("." + variable.space)
    if variable.attributes:
        parts.append(".attribute" + variable.attributes)
    if variable.align:
        parts.append(f".align {variable.align}")
    if variable.vector > 1:
        parts.append(f".v{variable.vector}")
    parts.append("." + variable.type.name)
    if variable.is_pointer:
        parts.append(".ptr")
        if variable.pointer_space:
            parts.append("." + variable.pointer_space)
        if variable.pointer_align:
            parts.append(f".align {variable.pointer_align}")
    unsized = bool(variable.shape) and variable.shape[0] == 0
    dimensions = [("[]" if unsized and i == 0 else f"[{n}]") for i, n in enumerate(variable.shape)]
    parts.append(variable.name + "".join(dimensions))
    text = " ".join(parts)
    if variable.initializer is None:
        return text
    items = [_item(i) for i in variable.initializer]
    if not variable.shape and variable.vector == 1:
        return f"{text} = {items[0]}"
    return f"{text} = {_nested(items, variable.shape)}"


def _nested(items: list[str], shape: list[int]) -> str:
    """Braces row by row; the items fill the array from its start."""
    if len(shape) <= 1:
        return "{" + ", ".join(items) + "}"
    row = 1
    for extent in shape[1:]:
        row *= extent
    rows = [items[i : i + row] for i in range(0, len(items), row)] if row else []
    return "{" + ", ".join([_nested(r, shape[1:]) for r in rows]) + "}"


def _item(item: InitializerItem) -> str:
    text = repr(item.value)
    if item.generic:
        name, plus, offset = text.partition("+")
        text = f"generic({name}){plus}{offset}"
    return f"{item.mask:#x}({text})" if item.mask else text


def _directive(directive: Directive) -> str:
    if isinstance(directive, Unread):
        return directive.text
    if directive.name in (".pragma", ".alias"):
        return f"{directive.name} {directive.text};"
    return f"{directive.name} {directive.text}"


def _function(function: Function, out: list[str]) -> None:
    if function.unread is not None:
        out.append(function.unread.text)
        return
    header = f"{function.linkage} " if function.linkage else ""
    header += ".entry " if function.is_entry else ".func "
    if function.attributes:
        header += f".attribute{function.attributes} "
    if function.returns:
        header += "(" + ", ".join([declaration(v) for v in function.returns]) + ") "
    header += function.name
    if function.params:
        header += "(\n    " + ",\n    ".join([declaration(v) for v in function.params]) + "\n)"
    else:
        header += "()"
    out.append(header)
    if function.noreturn:
        out.append(".noreturn")
    for directive in function.directives:
        out.append(_directive(directive))
    if not function.has_body:
        out.append(";")
        return
    out.append("{")
    _registers(function, out)
    for variable in function.variables:
        out.append("    " + declaration(variable) + ";")
    for statement in function.body:
        out.append(_statement(statement))
    out.append("}")
    out.append("")


def _registers(function: Function, out: list[str]) -> None:
    skip = {v.register.id for v in function.params + function.returns if v.register is not None}
    registers = [r for r in function.registers if r.id not in skip]
    at = 0
    while at < len(registers):
        first = registers[at]
        count = _range_length(registers, at)
        if count > 1:
            out.append(f"    .reg .{first.type.name} {first.name[:-1]}<{count}>;")
            at += count
        else:
            out.append(f"    .reg .{first.type.name} {first.name};")
            at += 1


def _range_length(registers: list[Register], at: int) -> int:
    """How many registers from ``at`` on are ``stem0 stem1 ...`` of one type; 0 when the first is no ``stem0``."""
    first = registers[at]
    if not first.name.endswith("0") or len(first.name) < 2 or first.name == "%0":
        return 0
    if first.name[-2].isdigit():  # ptxas 12.9 knows no register of a range whose stem ends in a digit
        return 0
    stem = first.name[:-1]
    count = 1
    while (
        at + count < len(registers)
        and registers[at + count].type is first.type
        and registers[at + count].name == f"{stem}{count}"
    ):
        count += 1
    return count


def _statement(statement: Statement) -> str:
    if isinstance(statement, Instruction):
        return "    " + print_instruction(statement)
    if isinstance(statement, Label):
        return f"{statement.name}:"
    if isinstance(statement, Directive):
        return "    " + _directive(statement)
    if isinstance(statement, BranchTargets):
        return f"{statement.name}: .branchtargets {', '.join(statement.labels)};"
    if isinstance(statement, CallTargets):
        return f"{statement.name}: .calltargets {', '.join(statement.functions)};"
    if isinstance(statement, CallPrototype):
        returns = "(" + ", ".join([declaration(v) for v in statement.returns]) + ") " if statement.returns else ""
        params = "(" + ", ".join([declaration(v) for v in statement.params]) + ")"
        tail = f" {statement.directives}" if statement.directives else ""
        return f"{statement.name}: .callprototype {returns}_ {params}{tail};"
    raise TypeError(f"unknown statement {statement!r}")
