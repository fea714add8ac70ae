"""pycparser's assignments and increments to the typed tree, as statements and as values within expressions.

    before: a[i++] = x = 3        after: x = 3; a[{ old = i; i = old + 1; old }] = 3
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from drawloom.batch.frontend.calls import CallParser
from drawloom.batch.frontend.constants import constant_value
from drawloom.batch.frontend.expressions import INCREMENTS
from drawloom.batch.frontend.objects import Array, Place, Pointer, PointerVariable, Struct
from drawloom.batch.frontend.places import Value
from drawloom.batch.frontend.syntax import (
    Assign,
    Constant,
    Declare,
    Effect,
    Element,
    Evaluate,
    Expression,
    Invoke,
    Load,
    Parameter,
    Read,
    Statement,
)
from drawloom.batch.frontend.tree import is_object, type_name
from drawloom.batch.frontend.walk import expressions_in, runs_statements
from drawloom.batch.types import INT, LONG


class AssignmentParser(CallParser):
    """Assignments; those of pointers change what `bindings` says."""

    def assignment(
        self, left: Any, op: str, right: Any, node: Any, *, is_statement: bool = True
    ) -> Iterator[Statement]:
        """Yield `left op= right`; without `op`, `left = right`, without `right`, `left op= 1`. The last one assigns."""
        entry = self.look_up(left.name) if type_name(left) == "ID" else None
        if isinstance(entry, PointerVariable):
            yield from self.pointer_assignment(entry, op, right, node)
            return
        if not is_object(left):
            self.operand(left)
        place = self.place(left)
        if isinstance(place.type, Array):
            raise self.type_error(f"{place.storage.name} is an array", left, f"{place.storage.name}[index]")
        if place.is_constant:
            is_memory = isinstance(place.storage, Parameter) and place.storage.is_constant
            why = "points to constants" if is_memory else "is constant here"
            raise self.type_error(f"{place.storage.name} {why}", left)
        if isinstance(place.type, Struct):
            if not is_statement:
                message = f"an assignment of a {place.type} within an expression is not part of the language"
                raise self.type_error(message, node, "a statement of its own")
            yield from self.struct_assignment(place, op, right, left, node)
        elif op:
            yield from self.update(place, op, right, left, node)
        else:
            yield from self.plain_assignment(place, right, left, node)

    def update(self, place: Place, op: str, right: Any, left: Any, node: Any) -> Iterator[Statement]:
        """Yield `left op= right`, whose index is evaluated once, before the value."""
        value = Constant(INT, self.at(node), np.int32(1)) if right is None else self.expression(right)
        if place.index is not None and constant_value(place.index) is None and (
            runs_statements(place.index) or runs_statements(value)
        ):
            begin, place = self.hold_index(place, left)
            yield begin
        target = self.scalar_at(place, left)
        yield Assign(self.at(node), target, self.convert(self.binary(op, target, value, node), target.type))

    def plain_assignment(self, place: Place, right: Any, left: Any, node: Any) -> Iterator[Statement]:
        """Yield `left = right`, whose index is evaluated after the value."""
        before = dict(self.bindings)
        value = self.expression(right)
        if any(self.bindings[pointer].storage is not known.storage for pointer, known in before.items()):
            # The value sends a pointer elsewhere, and the target is evaluated after the value.
            place = self.place(left)
        target = self.scalar_at(place, left)
        value = self.convert(value, target.type)
        if isinstance(target, Read) and place.index is not None and runs_statements(place.index):
            held = self.new_variable("value", value.type, 0, False, self.at(node))
            yield Declare(self.at(node), held, value)
            yield Evaluate(self.at(left), place.index)  # a pointer to one variable: its index only has effects
            value = Read(value.type, self.at(node), held)
        yield Assign(self.at(node), target, value)

    def hold_index(self, place: Place, node: Any) -> tuple[Declare, Place]:
        """Return a declaration that evaluates a place's index once, and the place at that index."""
        assert place.index is not None
        index = self.new_variable("index", LONG, 0, False, self.at(node))
        return Declare(self.at(node), index, self.convert(place.index, LONG)), self.at_index(place, index, node)

    def assigned_value(self, node: Any) -> Value:
        """Return the value of an assignment or an increment; what it assigns is in a variable of its own."""
        is_increment = type_name(node) == "UnaryOp"
        left, op, right = (node.expr, INCREMENTS[node.op], None) if is_increment else (
            node.lvalue, node.op[:-1], node.rvalue
        )  # fmt: skip
        *before, assign = self.assignment(left, op, right, node, is_statement=False)
        assert isinstance(assign, Assign)
        position, target = self.at(node), assign.target
        statements: tuple[Statement, ...]
        held = self.new_variable("assigned", target.type, 0, False, position)
        value = Read(target.type, position, held)
        if is_increment and node.op.startswith("p"):
            statements = (*before, Declare(position, held, target), assign)
        else:
            statements = (*before, Declare(position, held, assign.value), replace(assign, value=value))
        effect = Effect(target.type, position, statements, value)
        pointer = self.look_up(left.name) if type_name(left) == "ID" else None
        if isinstance(pointer, PointerVariable):
            return Pointer(replace(self.bindings[pointer], index=effect))
        return effect

    def struct_assignment(self, place: Place, op: str, right: Any, left: Any, node: Any) -> Iterator[Statement]:
        struct = place.type
        assert isinstance(struct, Struct)
        if op:
            raise self.type_error(f"{op} of a {struct}", node, "one of its fields")
        values = [value for _, value in self.initial_values(struct, right, 0)]
        if place.index is not None and (
            any(isinstance(part, Element | Load | Invoke | Effect) for part in expressions_in(place.index))
            or any(runs_statements(value) for value in values)
        ):
            begin, place = self.hold_index(place, left)
            yield begin
        if not is_object(right) and type_name(right) != "FuncCall":
            # A scalar of the target that was assigned may be part of a value that follows.
            for number, value in enumerate(values):
                held = self.new_variable("value", value.type, 0, False, self.at(right))
                yield Declare(self.at(right), held, value)
                values[number] = Read(value.type, self.at(right), held)
        for scalar, value in zip(self.scalars_of(place), values):
            yield Assign(self.at(node), self.scalar_at(scalar, left), value)

    def pointer_assignment(self, pointer: PointerVariable, op: str, right: Any, node: Any) -> Iterator[Statement]:
        index = pointer.index
        assert index is not None
        known = self.bindings.get(pointer)
        if op:
            if op not in "+-":
                raise self.type_error(f"{op} of a pointer", node, "+ or -")
            if known is None:
                raise self.type_error(f"{pointer.name} points nowhere yet", node)
            amount: Expression = Constant(INT, self.at(node), np.int32(1))
            if right is not None:
                amount = self.integer(self.expression(right), right, "what a pointer moves by")
            place = self.moved(known, op, amount)
        else:
            value = self.operand(right)
            if not isinstance(value, Pointer):
                raise self.type_error(f"{pointer.name} is a pointer, and this is a value", right, "a pointer")
            place = value.place
            self.check_pointed(place, pointer.pointed, pointer.is_constant, right)
        self.bindings[pointer] = self.at_index(replace(place, is_constant=pointer.is_constant), index, node)
        target = Read(LONG, self.at(node), index)
        yield Assign(self.at(node), target, self.convert(self.index_of(place), LONG))
