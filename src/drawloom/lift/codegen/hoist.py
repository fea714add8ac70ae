"""Hoists what a sequential loop reads again and again from the kernel's inputs: it is read once, before the loop.

Device compilers do so themselves where the read is unconditional. Where the loop is inside an ``if``, compilers that
vectorise over work-items may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from drawloom.lift.arithmetic import ZERO, Nat, Variable, free_variables, is_less
from drawloom.lift.codegen.launch import REDUCE, SEQ
from drawloom.lift.codegen.syntax import (
    FOR,
    ONCE,
    Access,
    Apply,
    Assign,
    Choose,
    DeclareIndex,
    If,
    Loop,
    Member,
    SetIndex,
    Statement,
    Value,
    body_of,
)
from drawloom.lift.language.types import ScalarType, Type, VectorType
from drawloom.lift.memory.buffers import Buffer

#: Registers that a loop may take so.
MOST_HOISTED = 8

Key = tuple[Buffer, Nat, int]
#: Makes a variable with a name like the given one for a value of a type.
NewVariable = Callable[[str, Type], Buffer]


def hoist_loads(statements: list[Statement], new_variable: NewVariable) -> list[Statement]:
    """Return statements with loads of inputs before the loops that do not change them."""
    done: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Loop) and runs(statement):
            done.extend(hoist_from(statement, new_variable))
        if isinstance(statement, Loop | If):
            statement.body = hoist_loads(statement.body, new_variable)
        done.append(statement)
    return done


def runs(loop: Loop) -> bool:
    """Return True for a sequential loop that runs at least once."""
    return loop.form == FOR and loop.kind in (SEQ, REDUCE) and is_less(loop.start, loop.stop)


def hoist_from(loop: Loop, new_variable: NewVariable) -> list[Statement]:
    """Replace the invariant loads in a loop by registers, and return what loads these."""
    changing: set[Variable] = {loop.variable}
    note_changes(loop.body, changing)
    found: dict[Key, Access] = {}
    for access in certain_loads(loop.body):
        is_input = access.buffer.role == "input" and isinstance(access.buffer.element, ScalarType)
        if is_input and len(found) < MOST_HOISTED and not changing.intersection(free_variables(access.index)):
            found.setdefault((access.buffer, access.index, access.width), access)
    registers: dict[Key, Access] = {}
    loads: list[Statement] = []
    for key, access in found.items():
        element = access.buffer.element
        assert isinstance(element, ScalarType)
        register = Access(new_variable("held", VectorType(element, access.width) if access.width else element), ZERO)
        registers[key] = register
        loads.append(Assign(register, access))
    if registers:
        replace_loads(loop.body, registers)
    return loads


def note_changes(statements: list[Statement], changing: set[Variable]) -> None:
    """Collect the index variables that statements set."""
    for statement in statements:
        if isinstance(statement, Loop | DeclareIndex | SetIndex):
            changing.add(statement.variable)
        body = body_of(statement)
        if body is not None:
            note_changes(body, changing)


def certain_loads(statements: list[Statement]) -> Iterator[Access]:
    """Yield the loads of statements that no condition guards."""
    for statement in statements:
        if isinstance(statement, Assign | DeclareIndex):
            yield from certain_parts(statement.value)
        elif isinstance(statement, Loop) and (statement.form == ONCE or runs(statement)):
            yield from certain_loads(statement.body)


def certain_parts(value: Value) -> Iterator[Access]:
    if isinstance(value, Access):
        yield value
    elif isinstance(value, Apply):
        for argument in value.arguments:
            yield from certain_parts(argument)
    elif isinstance(value, Member):
        yield from certain_parts(value.operand)


def replace_loads(statements: list[Statement], registers: dict[Key, Access]) -> None:
    """Let statements read registers where they read what these hold."""
    for statement in statements:
        if isinstance(statement, Assign | DeclareIndex):
            statement.value = replaced(statement.value, registers)
        body = body_of(statement)
        if body is not None:
            replace_loads(body, registers)


def replaced(value: Value, registers: dict[Key, Access]) -> Value:
    if isinstance(value, Access):
        return registers.get((value.buffer, value.index, value.width), value)
    if isinstance(value, Apply):
        return Apply(value.name, [replaced(argument, registers) for argument in value.arguments], value.closing)
    if isinstance(value, Member):
        return Member(replaced(value.operand, registers), value.name)
    if isinstance(value, Choose):
        return Choose(value.condition, replaced(value.then, registers), replaced(value.otherwise, registers))
    return value
