"""pycparser's statements to the typed tree: declarations, assignments, loops, and the bodies of functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from drawloom.batch.frontend.assignments import AssignmentParser
from drawloom.batch.frontend.calls import Target
from drawloom.batch.frontend.constants import constant_value
from drawloom.batch.frontend.endings import always_returns
from drawloom.batch.frontend.expressions import INCREMENTS
from drawloom.batch.frontend.objects import (
    LARGEST_EXTENT,
    Array,
    Members,
    Place,
    PointerVariable,
    Storage,
    Struct,
    StructValue,
    Type,
)
from drawloom.batch.frontend.scope import Definition, FileText, Names, Unit
from drawloom.batch.frontend.syntax import (
    Assign,
    Binary,
    Block,
    Break,
    Conditional,
    Constant,
    Continue,
    Declare,
    Effect,
    Element,
    Evaluate,
    Expression,
    Function,
    If,
    Invoke,
    Load,
    Loop,
    Read,
    Return,
    Statement,
    Switch,
    Variable,
)
from drawloom.batch.frontend.tree import is_list, type_name
from drawloom.batch.frontend.walk import (
    calls_in,
    expressions_in,
    expressions_of,
    statements_run_by,
)
from drawloom.batch.types import BOOL, INT, LONG, ScalarType

VALUES: Final = ("BinaryOp", "TernaryOp", "ID", "Constant", "ArrayRef", "StructRef", "UnaryOp", "Cast")


class Jumps(NamedTuple):
    """A loop or a switch around a statement: where pointers point at each `break` and `continue` so far."""

    is_loop: bool
    bindings: list[dict[PointerVariable, Place]]


class BodyParser(AssignmentParser):
    """The body of a kernel or a function.

    `moved` are the names that the body assigns to, `results` where a function leaves what it returns; both are the
    function's. `is_kernel` bodies have `__local` variables.
    """

    def __init__(self, file: FileText, unit: Unit, names: Names, moved: frozenset[str]) -> None:
        super().__init__(file, unit, names)
        self.moved_names = moved
        self.is_kernel = True
        self.result: ScalarType | Struct | None = None
        self.results: tuple[Place, ...] = ()
        self.jumps: list[Jumps] = []

    # Functions.

    def instantiate(self, definition: Definition, pointers: dict[str, Target]) -> Function:
        """Return a function for what its pointers point to, the same one for the same storage."""
        known = [(id(target.place.storage), self.key_of(target)) for target in pointers.values()]
        key = (definition, *known)
        function = self.unit.functions.get(key)
        if function is None:
            assert definition.names is not None and definition.file is not None
            body = BodyParser(definition.file, self.unit, definition.names, definition.moved)
            self.unit.active.append(definition)
            function = self.unit.functions[key] = body.function(definition, pointers)
            self.unit.active.pop()
        return function

    def key_of(self, target: Target) -> int | None:
        """Return a pointer's index where the function is made for that index."""
        if not target.is_fixed:
            return None
        index = target.place.index
        return int(index.value) if isinstance(index, Constant) else 0

    def function(self, definition: Definition, pointers: dict[str, Target]) -> Function:
        definition.is_used = True
        self.is_kernel = False
        self.result = definition.result
        node = definition.node
        parameters: list[Read | Element] = []
        for parameter in definition.parameters:
            if parameter.is_pointer:
                target = pointers[parameter.name]
                variable = self.point(parameter.name, target.place, node, target.is_fixed)
                parameters += [] if variable is None else [Read(LONG, self.at(node), variable)]
                continue
            place = self.object(parameter.name, parameter.type, False, parameter.is_constant, node)
            parameters += [self.variable_at(scalar, node) for scalar in self.scalars_of(place)]
        if self.result is not None:
            storage = self.build(f"{definition.name}()", self.result, 0, False, node)
            self.results = tuple(self.scalars_of(Place(storage, None, self.result, False)))
        body = self.block(node.body)
        if self.result is not None and not always_returns(body):
            message = f"{definition.name} may end without returning a value"
            raise self.type_error(message, node, "a return statement on every path")
        results = tuple(self.variable_at(place, node) for place in self.results)
        own = {target.variable for target in (*parameters, *results)}
        return Function(definition.name, tuple(parameters), results, body, 1 + self.weight, writes(body, own))

    def variable_at(self, place: Place, node: Any) -> Read | Element:
        scalar = self.scalar_at(place, node)
        assert not isinstance(scalar, Load)
        return scalar

    # Objects.

    def object(self, name: str, type: Type, is_local: bool, is_constant: bool, node: Any) -> Place:
        """Make the variables of an object and declare its name."""
        place = Place(self.build(name, type, 0, is_local, node), None, type, is_constant)
        self.declare(name, place, node)
        return place

    def build(self, name: str, type: Type, extent: int, is_local: bool, node: Any) -> Storage:
        if isinstance(type, Array):
            extent = max(extent, 1) * type.extent
            if extent > LARGEST_EXTENT:
                raise self.type_error(f"{name} has {extent} elements", node, f"1 to {LARGEST_EXTENT}")
            return self.build(name, type.element, extent, is_local, node)
        if isinstance(type, Struct):
            fields = {
                field: self.build(f"{name}.{field}", inner, extent, is_local, node)
                for field, inner in type.fields.items()
            }
            return Members(name, fields)
        return self.new_variable(name, type, extent, is_local, self.at(node))

    def point(self, name: str, place: Place, node: Any, is_fixed: bool) -> Variable | None:
        """Declare a pointer; returns the variable that holds its index where it has one."""
        pointed = place.type
        assert isinstance(pointed, ScalarType | Struct)
        index = None if is_fixed else self.new_variable(f"{name}'s index", LONG, 0, False, self.at(node))
        pointer = PointerVariable(name, pointed, place.is_constant, index)
        self.declare(name, pointer, node)
        self.bindings[pointer] = place if index is None else self.at_index(place, index, node)
        return index

    # Statements.

    def block(self, node: Any) -> Block:
        self.scopes.append({})
        statements = tuple(part for child in node.block_items or [] for part in self.statement(child))
        self.scopes.pop()
        return Block(self.at(node), statements)

    def statement(self, node: Any) -> Iterator[Statement]:
        match type_name(node):
            case "Compound":
                yield self.block(node)
            case "EmptyStatement":
                return
            case "Decl":
                yield from self.declaration(node)
            case "DeclList":
                for child in node.decls:
                    yield from self.declaration(child)
            case "Assignment":
                yield from self.assignment(node.lvalue, node.op[:-1], node.rvalue, node)
            case "UnaryOp" if node.op in INCREMENTS:
                yield from self.assignment(node.expr, INCREMENTS[node.op], None, node)
            case "If":
                yield self.conditional_statement(node)
            case "While" | "DoWhile":
                yield self.while_loop(node)
            case "For":
                yield self.for_loop(node)
            case "Return":
                yield from self.return_statement(node)
            case "Switch":
                yield from self.switch(node)
            case "Break" | "Continue":
                yield self.jump(node)
            case "ExprList":
                for child in node.exprs:
                    yield from self.statement(child)
            case "FuncCall":
                yield self.evaluation(self.call(node), node)
            case kind if kind in VALUES:
                yield self.evaluation(self.operand(node), node)
            case _:
                raise self.file.outside_error(node)

    def evaluation(self, value: Any, node: Any) -> Statement:
        """Return the statement of an expression that nobody takes the value of."""
        if isinstance(value, StructValue):
            value = value.make(value.first, 1)[0]
        return Evaluate(self.at(node), self.number(value, node))

    def single(self, node: Any) -> Block:
        """Return the statement of a branch or a loop, in a scope of its own."""
        if type_name(node) == "Compound":
            return self.block(node)
        self.scopes.append({})
        statements = tuple(self.statement(node))
        self.scopes.pop()
        return Block(self.at(node), statements)

    def return_statement(self, node: Any) -> Iterator[Statement]:
        if node.expr is not None and self.result is None:
            raise self.type_error("this returns a value", node, "no value: the function is void")
        if node.expr is None and self.result is not None:
            raise self.type_error("this returns no value", node, f"a value of type {self.result}")
        if node.expr is not None:
            assert self.result is not None
            for number, value in self.initial_values(self.result, node.expr, 0):
                yield Assign(self.at(node), self.scalar_at(self.results[number], node), value)
        yield Return(self.at(node))

    def jump(self, node: Any) -> Statement:
        is_break = type_name(node) == "Break"
        around = next((jumps for jumps in reversed(self.jumps) if is_break or jumps.is_loop), None)
        if around is None:
            word, what = ("break", "loop or switch") if is_break else ("continue", "loop")
            raise self.parse_error(f"{word} stands outside of a {what}", node, f"a {what} around this")
        around.bindings.append(dict(self.bindings))
        return Break(self.at(node)) if is_break else Continue(self.at(node))

    # Declarations.

    def declaration(self, node: Any) -> Iterator[Statement]:
        if node.name is None or type_name(node) != "Decl":
            raise self.file.outside_error(node.type)
        if node.funcspec or "static" in node.storage:
            raise self.parse_error("static and __kernel are for functions", node)
        if type_name(node.type) == "PtrDecl":
            yield from self.pointer_declaration(node)
            return
        is_local = "register" in node.storage
        if is_local and not self.is_kernel:
            raise self.parse_error("__local variables are a kernel's, not a function's", node)
        if is_local and node.init is not None:
            raise self.type_error("a __local variable has no initial value", node)
        type, is_constant = self.declared_type(node.type, node, node.init)
        if is_list(node.init) and isinstance(type, ScalarType):
            raise self.file.outside_error(node.init)
        place = self.object(node.name, type, is_local, is_constant, node)
        if isinstance(place.storage, Variable) and not place.storage.extent:
            yield self.begin(place, node)
        else:
            yield from self.begin_parts(place, node)

    def begin(self, place: Place, node: Any) -> Declare:
        assert isinstance(place.storage, Variable)
        initial = None if node.init is None else self.convert(self.expression(node.init), place.storage.type)
        return Declare(self.at(node), place.storage, initial)

    def begin_parts(self, place: Place, node: Any) -> Iterator[Statement]:
        """Yield the declarations of an array or a struct. What has no element numbers has its value at once."""
        initials = {} if node.init is None else dict(self.initial_values(place.type, node.init, 0))
        scalars = list(self.scalars_of(place)) if initials else []
        begun = {scalars[number].storage for number in initials}
        for variable in variables_of(place.storage):
            if variable.extent or variable not in begun:
                yield Declare(self.at(node), variable, None)
        for number, value in initials.items():
            target = self.scalar_at(scalars[number], node)
            if isinstance(target, Read):
                yield Declare(self.at(node), target.variable, value)
            else:
                yield Assign(self.at(node), target, value)

    def pointer_declaration(self, node: Any) -> Iterator[Statement]:
        declared = node.type.type
        if type_name(declared) != "TypeDecl":
            raise self.parse_error(f"{node.name} is not a pointer to a value or a struct", node, "type *NAME")
        pointed, is_constant = self.named_type(declared), "const" in declared.quals
        if node.init is None:
            index = self.new_variable(f"{node.name}'s index", LONG, 0, False, self.at(node))
            self.declare(node.name, PointerVariable(node.name, pointed, is_constant, index), node)
            yield Declare(self.at(node), index, None)
            return
        place = self.pointer(node.init)
        self.check_pointed(place, pointed, is_constant, node.init)
        fixed = None if node.name in self.moved_names else self.fix_index(place)
        begin = self.convert(self.index_of(place), LONG)
        target = replace(fixed or place, is_constant=is_constant, extent=0)
        moving = self.point(node.name, target, node, fixed is not None)
        if moving is not None:
            yield Declare(self.at(node), moving, begin)

    # Branches and loops. What a pointer points into may not depend on which items run them.

    def conditional_statement(self, node: Any) -> If:
        condition = self.condition(node.cond)
        before = dict(self.bindings)
        then = Block(self.at(node), ()) if node.iftrue is None else self.single(node.iftrue)
        after = self.bindings
        self.bindings = dict(before)
        otherwise = None if node.iffalse is None else self.single(node.iffalse)
        self.merge(after, node)
        return If(self.at(node), condition, then, otherwise)

    def switch(self, node: Any) -> Iterator[Statement]:
        """Yield a number for the label at which each item enters, and the statements of all labels."""
        labels = [] if type_name(node.stmt) != "Compound" else list(node.stmt.block_items or [])
        wrong = next((child for child in labels if type_name(child) not in ("Case", "Default")), None)
        if wrong is not None or type_name(node.stmt) != "Compound":
            raise self.parse_error("this stands before a switch's labels", wrong or node.stmt, "{ case constant: ... }")
        place = self.at(node)
        value = self.integer(self.expression(node.cond), node.cond, "what a switch takes")
        held = self.new_variable("switch", value.type, 0, False, place)
        entry = self.new_variable("entry", INT, 0, False, place)
        yield Declare(place, held, value)
        yield Declare(place, entry, self.entry_of(labels, Read(value.type, place, held), node))
        self.jumps.append(Jumps(False, []))
        parts = [self.labelled(child, number, Read(INT, place, entry)) for number, child in enumerate(labels)]
        for bindings in self.jumps.pop().bindings:
            self.merge(bindings, node)
        has_default = any(type_name(child) == "Default" for child in labels)
        yield Switch(place, Block(place, tuple(parts)), has_default)

    def entry_of(self, labels: list[Any], value: Read, node: Any) -> Expression:
        """Return the number of the label at which an item enters a switch."""
        entry = self.number_at(len(labels), node)
        cases: dict[int, Expression] = {}
        numbers: dict[int, int] = {}
        for number, child in enumerate(labels):
            if type_name(child) == "Default":
                if any(type_name(other) == "Default" for other in labels[:number]):
                    raise self.type_error("this switch has two default labels", child)
                entry = self.number_at(number, child)
                continue
            label = self.convert(self.integer(self.expression(child.expr), child.expr, "a case"), value.type)
            self.refuse_zero_division(label, "this case")
            constant = constant_value(label)
            if constant is None:
                raise self.type_error("this case is not known at compile time", child.expr)
            if int(constant) in cases:
                raise self.type_error(f"this switch has two labels of {int(constant)}", child.expr)
            known = Constant(value.type, self.at(child), constant)
            cases[int(constant)] = Binary(BOOL, self.at(child), "==", value, known)
            numbers[int(constant)] = number
        for code, holds in reversed(cases.items()):
            entry = Conditional(INT, holds.position, holds, self.number_at(numbers[code], node), entry)
        return entry

    def number_at(self, number: int, node: Any) -> Expression:
        return Constant(INT, self.at(node), np.int32(number))

    def labelled(self, node: Any, number: int, entry: Read) -> If:
        """Return the statements of a label, for the items that entered at it or before."""
        place = self.at(node)
        before = dict(self.bindings)
        self.scopes.append({})
        statements = tuple(part for child in node.stmts or [] for part in self.statement(child))
        self.scopes.pop()
        self.merge(before, node)
        condition = Binary(BOOL, place, "<=", entry, self.number_at(number, node))
        return If(place, condition, Block(place, statements), None)

    def loop_body(self, node: Any) -> Block:
        self.jumps.append(Jumps(True, []))
        body = self.single(node)
        for bindings in self.jumps.pop().bindings:
            self.merge(bindings, node)
        return body

    def while_loop(self, node: Any) -> Loop:
        before = dict(self.bindings)
        tests_first = type_name(node) == "While"
        if tests_first:
            condition, body = self.condition(node.cond), self.loop_body(node.stmt)
        else:
            body, condition = self.loop_body(node.stmt), self.condition(node.cond)
        self.merge(before, node)
        return Loop(self.at(node), None, condition, None, body, tests_first, False)

    def for_loop(self, node: Any) -> Block:
        self.scopes.append({})
        first = () if node.init is None else tuple(self.statement(node.init))
        before = dict(self.bindings)
        condition: Expression = Constant(BOOL, self.at(node), np.bool_(True))
        if node.cond is not None:
            condition = self.condition(node.cond)
        body = self.loop_body(node.stmt)
        step = () if node.next is None else tuple(self.statement(node.next))
        self.merge(before, node)
        self.scopes.pop()
        place = self.at(node)
        declared = {part.variable for part in first if isinstance(part, Declare)}
        counts_for_all = len(step) > 0 and all(
            isinstance(part, Assign) and isinstance(part.target, Read) and part.target.variable in declared
            and not needs_mask(part.value)
            for part in step
        )  # fmt: skip
        loop = Loop(place, Block(place, first), condition, Block(place, step), body, True, counts_for_all)
        return Block(place, (loop,))


def writes(body: Block, own: set[Variable]) -> bool:
    """Return whether a function's body assigns to what is neither its own nor declared in it."""
    parts = list(statements_run_by(body))
    own = own | {part.variable for part in parts if isinstance(part, Declare)}
    return any(
        isinstance(part, Assign) and (isinstance(part.target, Load) or part.target.variable not in own)
        for part in parts
    ) or any(call.function.writes for part in parts for call in calls_in(expressions_of(part)))


def needs_mask(expression: Expression) -> bool:
    """Return whether an expression may fault or have effects in items that do not run it."""
    return any(isinstance(part, Load | Element | Invoke | Effect) for part in expressions_in(expression))


def variables_of(storage: Storage) -> Iterator[Variable]:
    if isinstance(storage, Members):
        for field in storage.fields.values():
            yield from variables_of(field)
    else:
        assert isinstance(storage, Variable)
        yield storage
