"""Names, objects and pointers of a body: what an expression names, and where that lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.frontend.constants import constant_value
from drawloom.batch.frontend.objects import (
    Array,
    Members,
    Place,
    Pointer,
    PointerVariable,
    Struct,
    StructValue,
    Type,
    count_scalars,
    field_offset,
)
from drawloom.batch.frontend.scope import FileText, Names, Unit, read_type
from drawloom.batch.frontend.source import BatchParseError, BatchTypeError, Position
from drawloom.batch.frontend.syntax import (
    Binary,
    Cast,
    Constant,
    Declare,
    Effect,
    Element,
    Evaluate,
    Expression,
    Load,
    Parameter,
    Read,
    Variable,
)
from drawloom.batch.frontend.tables import Table, build_table
from drawloom.batch.frontend.walk import expressions_in, runs_statements
from drawloom.batch.numbers import convert
from drawloom.batch.types import BOOL, INT, LONG, ScalarType, promote

Value = Expression | Pointer | StructValue


class PlaceParser:
    """The names in scope, and pycparser's nodes that name objects.

    `bindings` says where each pointer variable points at this place of the text; `weight` counts calls.
    """

    def __init__(self, file: FileText, unit: Unit, names: Names) -> None:
        self.file = file
        self.unit = unit
        self.names = names
        self.scopes: list[dict[str, Place | Parameter | PointerVariable]] = [{}]
        self.bindings: dict[PointerVariable, Place] = {}
        self.weight = 0

    # Places in the text and refusals.

    def at(self, node: Any) -> Position:
        return self.file.at(node)

    def parse_error(self, message: str, node: Any, expected: str = "") -> BatchParseError:
        return self.file.parse_error(message, node, expected)

    def type_error(self, message: str, node: Any, expected: str = "") -> BatchTypeError:
        return self.file.type_error(message, node, expected)

    def operand(self, node: Any) -> Value:
        """Return the value of an expression; arrays become pointers to their first elements."""
        raise NotImplementedError

    # Names and types.

    def declare(self, name: str, entry: Place | Parameter | PointerVariable, node: Any) -> None:
        if name in self.scopes[-1]:
            raise self.type_error(f"{name} is declared twice in one block", node)
        self.scopes[-1][name] = entry

    def look_up(self, name: str) -> Place | Parameter | PointerVariable | None:
        found = next((scope[name] for scope in reversed(self.scopes) if name in scope), None)
        table = self.names.tables.get(name) if found is None else None
        return found if table is None else self.table_place(table)

    def table_place(self, table: Table) -> Place:
        """Return where a constant of file scope lies in this kernel."""
        if table in self.unit.tables:
            return self.unit.tables[table]

        def make(name: str, scalar: ScalarType, extent: int, values: NDArray[Any]) -> Variable:
            variable = replace(self.new_variable(name, scalar, extent, True, table.position), values=values)
            self.unit.begin.append(Declare(table.position, variable, None))
            return variable

        place = self.unit.tables[table] = build_table(table, make)
        return place

    def find(self, node: Any) -> Place | Parameter | PointerVariable:
        entry = self.look_up(node.name)
        if entry is None:
            raise self.type_error(f"{node.name} is not declared", node)
        return entry

    def new_variable(self, name: str, scalar: ScalarType, extent: int, is_local: bool, position: Position) -> Variable:
        self.unit.variables += 1
        return Variable(name, scalar, extent, is_local, self.unit.variables, position)

    def named_type(self, declared: Any) -> ScalarType | Struct:
        """Return the type of a declaration that is neither a pointer nor an array."""
        return read_type(declared, self.file, self.names)

    # Numbers.

    def expression(self, node: Any) -> Expression:
        """Return an expression that has to be a number."""
        return self.number(self.operand(node), node)

    def number(self, value: Value, node: Any) -> Expression:
        if isinstance(value, Pointer):
            name = node.name if type(node).__name__ == "ID" else "this"
            kind = "an array" if value.place.extent else "a pointer"
            raise self.type_error(f"{name} is {kind}", node, f"{name}[index] or *{name}" if name != "this" else "")
        if isinstance(value, StructValue):
            raise self.type_error(f"this is a {value.type}", node, "one of its fields")
        return value

    def condition(self, node: Any) -> Expression:
        return self.truth(self.expression(node))

    def truth(self, value: Expression) -> Expression:
        """Compare a value with zero, unless it is a bool."""
        if value.type is BOOL:
            return value
        if isinstance(value, Cast) and value.operand.type is BOOL:
            return value.operand
        zero = Constant(value.type, value.position, value.type.dtype.type(0))
        return Binary(BOOL, value.position, "!=", value, zero)

    def convert(self, value: Expression, scalar: ScalarType) -> Expression:
        if value.type is scalar:
            return value
        if scalar is BOOL:
            return self.truth(value)
        if isinstance(value, Constant):
            number = convert(np.asarray(value.value), scalar)
            return Constant(scalar, value.position, scalar.dtype.type(number))
        return Cast(scalar, value.position, value)

    def integer(self, value: Expression, node: Any, subject: str) -> Expression:
        if value.type.is_float:
            raise self.type_error(f"{subject} has the type {value.type}", node, "an integer")
        return self.convert(value, promote(value.type))

    def merge(self, other: dict[PointerVariable, Place], node: Any) -> None:
        """Join the bindings after two roads.

        Raises:
            BatchTypeError: A pointer points into one array after the one road and into another after the other.
        """
        for pointer, place in other.items():
            mine = self.bindings.setdefault(pointer, place)
            if mine.storage is not place.storage:
                names = f"{mine.storage.name} or {place.storage.name}"
                raise self.type_error(
                    f"{pointer.name} points into {names} after this, which is not known at compile time", node,
                    "one array for each pointer",
                )  # fmt: skip

    # Objects and pointers.

    def place(self, node: Any) -> Place:
        """Return the object that an expression names."""
        match type(node).__name__:
            case "ID":
                entry = self.find(node)
                if isinstance(entry, Place):
                    return entry
                if isinstance(entry, Parameter):
                    raise self.type_error(f"{node.name} is a number, which has no parts", node)
                raise self.type_error(f"{node.name} is a pointer", node, f"{node.name}[index] or *{node.name}")
            case "ArrayRef":
                return self.element(node, is_checked=True)
            case "StructRef" if node.type == "->":
                return self.field(self.pointer(node.name), node)
            case "StructRef":
                return self.field(self.place(node.name), node)
            case "UnaryOp" if node.op == "*":
                return self.pointer(node.expr)
            case _:
                expected = "a variable, an array element or a dereferenced pointer"
                raise self.parse_error("this cannot be assigned to", node, expected)

    def element(self, node: Any, is_checked: bool) -> Place:
        base = self.operand(node.name)
        if not isinstance(base, Pointer):
            name = node.name.name if type(node.name).__name__ == "ID" else "this"
            raise self.type_error(f"{name} is not an array", node)
        index = self.integer(self.expression(node.subscript), node.subscript, "an index")
        value, place = constant_value(index), base.place
        if is_checked and place.extent and value is not None and not 0 <= int(value) < place.extent:
            name = f"{place.storage.name}[{place.extent}]"
            raise self.type_error(f"index {int(value)} is out of range for {name}", node)
        return self.moved(place, "+", index)

    def pointer(self, node: Any) -> Place:
        """Return where a pointer points."""
        value = self.operand(node)
        if not isinstance(value, Pointer):
            raise self.type_error("this is not a pointer", node, "a pointer or an array")
        return value.place

    def address(self, node: Any) -> Pointer:
        """Return &node. The place after an array's last element has an address, too."""
        if type(node).__name__ == "ID" and isinstance(self.find(node), PointerVariable):
            raise self.type_error(f"the address of the pointer {node.name} is not part of the language", node)
        place = self.element(node, False) if type(node).__name__ == "ArrayRef" else self.place(node)
        return self.decay(place) if isinstance(place.type, Array) else Pointer(replace(place, extent=0))

    def decay(self, place: Place) -> Pointer:
        """Return a pointer to the first element of an array."""
        array, index = place.type, place.index
        assert isinstance(array, Array)
        if index is not None and not isinstance(place.storage, Parameter):
            index = self.product(index, array.extent)
        return Pointer(replace(place, index=index, type=array.element, extent=array.extent))

    def moved(self, place: Place, op: str, amount: Expression) -> Place:
        if isinstance(place.storage, Parameter):
            amount = self.product(amount, count_scalars(place.type))
        if place.index is None and op == "+":
            return replace(place, index=amount, extent=0)
        return replace(place, index=self.long_binary(op, self.index_of(place), amount), extent=0)

    def index_of(self, place: Place) -> Expression:
        return place.index or Constant(LONG, Position(1, 1), np.int64(0))

    def product(self, index: Expression, factor: int) -> Expression:
        if factor == 1:
            return index
        return self.long_binary("*", index, Constant(LONG, index.position, np.int64(factor)))

    def long_binary(self, op: str, left: Expression, right: Expression) -> Expression:
        return Binary(LONG, right.position, op, self.convert(left, LONG), self.convert(right, LONG))

    def field(self, place: Place, node: Any) -> Place:
        struct, name = place.type, node.field.name
        if not isinstance(struct, Struct):
            kind = "an array" if isinstance(struct, Array) else f"of type {struct}"
            raise self.type_error(f"this is {kind}, which has no field {name}", node)
        self.field_type(struct, node)
        return self.step_to(place, name)

    def field_type(self, struct: Struct, node: Any) -> Type:
        name = node.field.name
        if name not in struct.fields:
            raise self.type_error(f"{struct} has no field {name}", node.field, ", ".join(struct.fields))
        return struct.fields[name]

    def read(self, place: Place, node: Any) -> Value:
        """Return what an object holds."""
        if isinstance(place.type, Array):
            return self.decay(place)
        if isinstance(place.type, ScalarType):
            scalar = self.scalar_at(place, node)
            if not isinstance(scalar, Load) and scalar.variable.values is not None:
                index = np.int64(0) if place.index is None else constant_value(place.index)
                if index is not None:
                    return Constant(scalar.type, scalar.position, scalar.variable.values[int(index)])
            if isinstance(scalar, Read) and place.index is not None and runs_statements(place.index):
                # A pointer to a single variable, of which the index counts for nothing but its assignments.
                return Effect(scalar.type, scalar.position, (Evaluate(self.at(node), place.index),), scalar)
            return scalar
        if place.index is not None and runs_statements(place.index):
            return self.read_once(place, node)
        leaves = list(self.scalars_of(place))
        return StructValue(
            place.type, 0,
            lambda first, count: tuple(self.scalar_at(leaf, node) for leaf in leaves[first : first + count]),
        )  # fmt: skip

    def read_once(self, place: Place, node: Any) -> StructValue:
        """Return a struct at an index that has effects. The first scalar that is taken evaluates the index."""
        struct, position = place.type, self.at(node)
        assert isinstance(struct, Struct) and place.index is not None
        index = self.new_variable("index", LONG, 0, False, position)
        begin = Declare(position, index, self.convert(place.index, LONG))
        leaves = list(self.scalars_of(self.at_index(place, index, node)))

        def make(first: int, count: int) -> tuple[Expression, ...]:
            scalars = [self.scalar_at(leaf, node) for leaf in leaves[first : first + count]]
            return (Effect(scalars[0].type, position, (begin,), scalars[0]), *scalars[1:])

        return StructValue(struct, 0, make)

    def at_index(self, place: Place, index: Variable, node: Any) -> Place:
        return replace(place, index=Read(LONG, self.at(node), index), extent=0)

    def scalar_at(self, place: Place, node: Any) -> Read | Element | Load:
        storage, index = place.storage, place.index
        assert isinstance(place.type, ScalarType)
        position = self.at(node)
        if isinstance(storage, Parameter):
            return Load(place.type, position, storage, index or Constant(INT, position, np.int32(0)))
        assert isinstance(storage, Variable)
        value = None if index is None else constant_value(index)
        if value is not None and not 0 <= int(value) < max(storage.extent, 1):
            name = f"{storage.name}[{storage.extent}]" if storage.extent else f"{storage.name}, a single variable"
            raise self.type_error(f"index {int(value)} is out of range for {name}", node)
        if not storage.extent:
            return Read(place.type, position, storage)
        return Element(place.type, position, storage, index or Constant(INT, position, np.int32(0)))

    def scalars_of(self, place: Place) -> Iterator[Place]:
        """Yield the scalars of an object in their order."""
        if isinstance(place.type, Array):
            first = self.decay(place).place
            for number in range(place.type.extent):
                position = Position(1, 1) if place.index is None else place.index.position
                yield from self.scalars_of(self.moved(first, "+", Constant(LONG, position, np.int64(number))))
        elif isinstance(place.type, Struct):
            for name in place.type.fields:
                yield from self.scalars_of(self.step_to(place, name))
        else:
            yield place

    def step_to(self, place: Place, name: str) -> Place:
        struct = place.type
        assert isinstance(struct, Struct)
        if isinstance(place.storage, Members):
            return replace(place, storage=place.storage.fields[name], type=struct.fields[name])
        offset = field_offset(struct, name)
        index = place.index
        if offset:
            position = Position(1, 1) if index is None else index.position
            constant = Constant(LONG, position, np.int64(offset))
            index = constant if index is None else self.long_binary("+", index, constant)
        return replace(place, index=index, type=struct.fields[name])

    def refuse_calls(self, expression: Expression, node: Any) -> None:
        """Refuse a call or an assignment in what each scalar of a struct evaluates again."""
        if runs_statements(expression):
            what = "an assignment" if any(isinstance(part, Effect) for part in expressions_in(expression)) else "a call"
            raise self.type_error(f"this struct depends on {what} within it", node, "its value in a variable")
