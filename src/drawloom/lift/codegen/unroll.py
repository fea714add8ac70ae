"""Unrolls loops over private arrays and over the components of vectors (thesis 4.3.5, listings 4.7 and 4.8).

Registers have no index: a private array whose indices are all constant becomes one variable for each element. Where
work-item 0 alone does something, its number is a constant, too.
"""

from __future__ import annotations

from drawloom.lift.arithmetic import (
    ONE,
    ZERO,
    Constant,
    Nat,
    Variable,
    ceil_div,
    free_variables,
    is_less,
    less,
    simplify,
    substitute,
    substitute_condition,
)
from drawloom.lift.codegen.syntax import (
    FOR,
    ONCE,
    Access,
    Apply,
    Assign,
    AtomicUpdate,
    Choose,
    DeclareIndex,
    If,
    Index,
    Loop,
    Member,
    SetIndex,
    SetPointer,
    Statement,
    Value,
    loads_of,
)
from drawloom.lift.memory.buffers import PRIVATE

#: Copies of a loop's body.
MOST_COPIES = 1024


def unroll(statements: list[Statement]) -> list[Statement]:
    """Return statements in which no loop indexes registers."""
    done: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Loop):
            statement.body = unroll(statement.body)
            if statement.form == FOR and indexes_registers(statement.body, statement.variable):
                done.extend(copies(statement))
                continue
            if statement.form != FOR and simplify(statement.stop) is ONE:
                statement.body = [substitute_statement(inner, {statement.variable: ZERO}) for inner in statement.body]
        elif isinstance(statement, If):
            statement.body = unroll(statement.body)
        done.append(statement)
    return done


def indexes_registers(statements: list[Statement], counter: Variable) -> bool:
    """Return True when a loop's variable says which register is meant."""
    for statement in statements:
        accesses = list(loads_of(statement))
        if isinstance(statement, Assign):
            accesses.append(statement.place)
        for access in accesses:
            if access.buffer.space != PRIVATE:
                continue
            if counter in free_variables(access.index):
                return True
            if access.component is not None and counter in free_variables(access.component):
                return True
        if isinstance(statement, Loop | If) and indexes_registers(statement.body, counter):
            return True
    return False


def copies(loop: Loop) -> list[Statement]:
    """Return a loop's body once for each iteration; the loop itself where their number is unknown or large."""
    count = simplify(ceil_div(loop.stop - loop.start, loop.step)) if loop.kind in ("seq", "reduce") else None
    if count is None:
        count = simplify(ceil_div(loop.stop, loop.step))
    if not isinstance(count, Constant) or count.value > MOST_COPIES:
        return [loop]
    done: list[Statement] = []
    for at in range(count.value):
        value = simplify(loop.start + loop.step * at)
        body = [substitute_statement(statement, {loop.variable: value}) for statement in loop.body]
        if any(is_declaration(statement) for statement in body):
            # Each copy is a block, so that the names that it declares are its own.
            body = [Loop(loop.variable, value, loop.stop, loop.step, body, ONCE, loop.kind)]
        if is_less(value, loop.stop):
            done.extend(body)
        else:
            done.append(If(less(value, loop.stop), body))
    return done


def is_declaration(statement: Statement) -> bool:
    return isinstance(statement, DeclareIndex) or (isinstance(statement, SetPointer) and statement.is_declaration)


Mapping = dict[Variable, Nat | int]


def substitute_statement(statement: Statement, values: Mapping) -> Statement:
    if isinstance(statement, Assign):
        place = substitute_value(statement.place, values)
        assert isinstance(place, Access)
        if isinstance(statement, AtomicUpdate):
            return AtomicUpdate(place, substitute_value(statement.value, values), statement.builtin, statement.word)
        return Assign(place, substitute_value(statement.value, values))
    if isinstance(statement, Loop):
        body = [substitute_statement(inner, values) for inner in statement.body]
        return Loop(
            statement.variable,
            substitute(statement.start, values),
            substitute(statement.stop, values),
            substitute(statement.step, values),
            body,
            statement.form,
            statement.kind,
            statement.dimension,
            statement.position,
            statement.keyword,
        )
    if isinstance(statement, If):
        condition = substitute_condition(statement.condition, values)
        return If(condition, [substitute_statement(inner, values) for inner in statement.body])
    if isinstance(statement, DeclareIndex):
        return DeclareIndex(statement.variable, substitute_value(statement.value, values))
    if isinstance(statement, SetIndex):
        return SetIndex(statement.variable, substitute(statement.value, values))
    return statement


def substitute_value(value: Value, values: Mapping) -> Value:
    if isinstance(value, Access):
        component = None if value.component is None else substitute(value.component, values)
        return Access(value.buffer, substitute(value.index, values), value.width, component, value.tag, value.path)
    if isinstance(value, Index):
        return Index(substitute(value.nat, values))
    if isinstance(value, Apply):
        return Apply(value.name, [substitute_value(one, values) for one in value.arguments], value.closing)
    if isinstance(value, Member):
        return Member(substitute_value(value.operand, values), value.name)
    if isinstance(value, Choose):
        return Choose(
            substitute_condition(value.condition, values),
            substitute_value(value.then, values),
            substitute_value(value.otherwise, values),
        )
    return value


def find_registers(statements: list[Statement]) -> None:
    """Mark the private arrays all of whose indices are constant: each element becomes a variable."""
    indexed: set[int] = set()
    found: dict[int, Access] = {}
    collect(statements, indexed, found)
    for key, access in found.items():
        access.buffer.is_scalarised = key not in indexed


def collect(statements: list[Statement], indexed: set[int], found: dict[int, Access]) -> None:
    for statement in statements:
        accesses = list(loads_of(statement))
        if isinstance(statement, Assign):
            accesses.append(statement.place)
        for access in accesses:
            if access.buffer.space == PRIVATE:
                found[id(access.buffer)] = access
                if not isinstance(access.index, Constant):
                    indexed.add(id(access.buffer))
        if isinstance(statement, Loop | If):
            collect(statement.body, indexed, found)
