"""Module to Module: variables that function bodies declare in ``.global`` and ``.const`` space, and those that device
functions declare in ``.shared``, become variables of the module. There is one of each, however often a function's
body is copied.
"""

from __future__ import annotations

from drawloom.ptx.ir import (
    Address,
    Arguments,
    Function,
    Instruction,
    Module,
    Operand,
    Pair,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from drawloom.ptx.template import copy_function


def hoist(module: Module, relocatable: bool = False) -> Module:
    """``module`` with such variables at its beginning, under new names; functions without any are shared with it.
    For a ``relocatable`` file, in which a linker places all of them, the ``.shared`` ones of kernels, too."""
    moved: list[Variable] = []
    changed: dict[str, Function] = {}
    for function in module.functions.values():
        if function.has_body and any(is_static(v, function, relocatable) for v in function.variables):
            changed[function.name] = without_statics(function, module, moved, relocatable)
    return module.with_functions(changed, moved) if changed else module


def is_static(variable: Variable, function: Function, relocatable: bool) -> bool:
    moves = relocatable or not function.is_entry
    return variable.space in ("global", "const") or (variable.space == "shared" and moves)


def without_statics(function: Function, module: Module, moved: list[Variable], relocatable: bool) -> Function:
    """The function without its static variables, which are added to ``moved`` under names of their own."""
    names: dict[str, str] = {}
    for variable in function.variables:
        if is_static(variable, function, relocatable):
            name = f"{function.name}${variable.name}"
            while name in module.variables or name in module.functions or any(m.name == name for m in moved):
                name += "$"
            names[variable.name] = name
    made = copy_function(function)
    made.variables = [v for v in function.variables if v.name not in names]
    moved += [renamed(v, names[v.name]) for v in function.variables if v.name in names]
    body: list[Statement] = []
    for statement in function.body:
        if isinstance(statement, Instruction):
            operands = [rename(o, names) for o in statement.operands]
            if any(new is not old for new, old in zip(operands, statement.operands, strict=True)):
                guard, negated = statement.guard, statement.guard_negated
                statement = Instruction(statement.opcode, operands, guard, negated, statement.pos)
        body.append(statement)
    made.body = body
    return made


def renamed(variable: Variable, name: str) -> Variable:
    copy = Variable(name, variable.space, variable.type, variable.shape, variable.align, variable.vector)
    # A dynamic array stays what it is; all else is nobody's business outside of this module.
    copy.linkage = variable.linkage if variable.linkage == ".extern" else ""
    copy.attributes = variable.attributes
    copy.pos = variable.pos
    copy.initializer = variable.initializer  # which can name variables of the module only
    return copy


def rename(operand: Operand, names: dict[str, str]) -> Operand:
    """The operand with the new names; itself if it has none of them."""
    if isinstance(operand, Symbol):
        return Symbol(names[operand.name], operand.offset) if operand.name in names else operand
    if isinstance(operand, Address):
        base = operand.base
        if isinstance(base, Symbol) and base.name in names:
            return Address(Symbol(names[base.name], base.offset), operand.offset)
        return operand
    if isinstance(operand, Pair):
        first, second = rename(operand.first, names), rename(operand.second, names)
        return operand if first is operand.first and second is operand.second else Pair(first, second)
    if isinstance(operand, (Vector, Arguments)):
        elements = [rename(e, names) for e in operand.elements]
        if all(new is old for new, old in zip(elements, operand.elements, strict=True)):
            return operand
        return Vector(elements) if isinstance(operand, Vector) else Arguments(elements)
    return operand
