"""pycparser's expressions to the typed tree: conversions written out, pointers and structs resolved to variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from drawloom.batch.frontend.builtins import BUILTINS, CONSTANTS, IDENTITIES, SHUFFLE, SIZE
from drawloom.batch.frontend.constants import constant_value, parse_literal
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
    memory_scalar,
)
from drawloom.batch.frontend.scope import MOST_CALLS, Definition, FileText, Names, Unit
from drawloom.batch.frontend.source import BatchParseError, BatchTypeError, Position
from drawloom.batch.frontend.syntax import (
    Binary,
    Call,
    Cast,
    Conditional,
    Constant,
    Element,
    Expression,
    Function,
    Identity,
    Invoke,
    Load,
    Logical,
    Parameter,
    Read,
    ScalarParameter,
    Shuffle,
    Unary,
    Variable,
)
from drawloom.batch.frontend.walk import expressions_in
from drawloom.batch.numbers import convert
from drawloom.batch.types import (
    BOOL,
    C_SPELLINGS,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    ULONG,
    ScalarType,
    common_type,
    promote,
)

LARGEST_EXTENT: Final = 4096
COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
SHIFTS: Final = ("<<", ">>")
INTEGER_ONLY: Final = ("%", "&", "|", "^", *SHIFTS)

Value = Expression | Pointer | StructValue


class Target(NamedTuple):
    """Where a pointer that a function is called with points; its index is known at compile time if it is `fixed`."""

    place: Place
    is_fixed: bool


class ExpressionParser:
    """The names in scope, and pycparser's expressions to ours.

    `bindings` says where each pointer variable points at this place of the text; `weight` counts calls.
    """

    def __init__(self, file: FileText, unit: Unit, names: Names) -> None:
        self.file = file
        self.unit = unit
        self.names = names
        self.scopes: list[dict[str, Place | Parameter | PointerVariable]] = [{}]
        self.bindings: dict[PointerVariable, Place] = {}
        self.weight = 0

    def instantiate(self, definition: Definition, pointers: dict[str, Target]) -> Function:
        """Return a function for the places that its pointers have."""
        raise NotImplementedError

    # Places in the text and refusals.

    def at(self, node: Any) -> Position:
        return self.file.at(node)

    def parse_error(self, message: str, node: Any, expected: str = "") -> BatchParseError:
        return self.file.parse_error(message, node, expected)

    def type_error(self, message: str, node: Any, expected: str = "") -> BatchTypeError:
        return self.file.type_error(message, node, expected)

    # Names and types.

    def declare(self, name: str, entry: Place | Parameter | PointerVariable, node: Any) -> None:
        if name in self.scopes[-1]:
            raise self.type_error(f"{name} is declared twice in one block", node)
        if is_reserved(name):
            raise self.type_error(f"{name} is the name of a function", node)
        self.scopes[-1][name] = entry

    def look_up(self, name: str) -> Place | Parameter | PointerVariable | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

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

    # Values of all kinds.

    def operand(self, node: Any) -> Value:
        """Return the value of an expression; arrays become pointers to their first elements."""
        value = self.any_value(node)
        if isinstance(value, Invoke) and value.result is None:
            raise self.type_error(f"{value.function.name} returns no value", node)
        return value

    def any_value(self, node: Any) -> Value:
        match type(node).__name__:
            case "Constant":
                return self.literal(node)
            case "ID":
                return self.name(node)
            case "ArrayRef":
                return self.read(self.place(node), node)
            case "StructRef":
                return self.member(node)
            case "UnaryOp":
                return self.unary(node)
            case "BinaryOp" if node.op in ("&&", "||"):
                left, right = self.condition(node.left), self.condition(node.right)
                return Logical(BOOL, self.at(node), node.op, left, right)
            case "BinaryOp":
                return self.binary_values(node.op, self.operand(node.left), self.operand(node.right), node)
            case "TernaryOp":
                return self.conditional(node)
            case "FuncCall":
                return self.call(node)
            case "Cast":
                return self.cast(node)
            case "CompoundLiteral":
                return self.compound_literal(node)
            case _:
                raise self.file.outside_error(node)

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

    # Objects and pointers.

    def place(self, node: Any) -> Place:
        """Return the object that an expression names."""
        match type(node).__name__:
            case "ID":
                entry = self.find(node)
                if isinstance(entry, Place):
                    return entry
                if isinstance(entry, Parameter):
                    raise self.type_error(f"{node.name} is a parameter, which a kernel cannot assign to", node)
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
            return self.scalar_at(place, node)
        leaves = list(self.scalars_of(place))
        if place.index is not None and len(leaves) > 1:
            self.refuse_calls(place.index, node)
        return StructValue(
            place.type, 0,
            lambda first, count: tuple(self.scalar_at(leaf, node) for leaf in leaves[first : first + count]),
        )  # fmt: skip

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
        """Refuse a call in what each scalar of a struct evaluates again."""
        if contains_call(expression):
            raise self.type_error("this struct depends on a call within it", node, "the call's value in a variable")

    # Names and operators.

    def literal(self, node: Any) -> Constant:
        if node.type in ("char", "string") or node.type.startswith(("u8", "u16", "u32", "wchar", "U")):
            raise self.parse_error(f"{node.value} is not a number", node)
        constant = parse_literal(node.value, node.type, self.at(node))
        if constant is None:
            raise self.type_error(f"{node.value} is too large for every integer type", node)
        return constant

    def name(self, node: Any) -> Value:
        if node.name in CONSTANTS and self.look_up(node.name) is None:
            return Constant(FLOAT, self.at(node), np.float32(CONSTANTS[node.name]))
        entry = self.find(node)
        if isinstance(entry, Parameter):
            return ScalarParameter(entry.type, self.at(node), entry)
        if isinstance(entry, Place):
            return self.read(entry, node)
        place = self.bindings.get(entry)
        if place is None:
            raise self.type_error(f"{entry.name} points nowhere yet", node, "a pointer that was assigned before")
        return Pointer(place)

    def member(self, node: Any) -> Value:
        if node.type == "->" or is_object(node.name):
            return self.read(self.place(node), node)
        value = self.operand(node.name)
        if not isinstance(value, StructValue):
            raise self.type_error(f"this has no field {node.field.name}", node, "a struct")
        field = self.field_type(value.type, node)
        first = value.first + field_offset(value.type, node.field.name)
        if isinstance(field, Struct):
            return StructValue(field, first, value.make)
        if isinstance(field, Array):
            raise self.type_error("this array is not in a variable", node, "the struct in a variable")
        return value.make(first, 1)[0]

    def unary(self, node: Any) -> Value:
        if node.op == "*":
            return self.read(self.place(node), node)
        if node.op == "&":
            return self.address(node.expr)
        if node.op == "!":
            return Unary(BOOL, self.at(node), "!", self.condition(node.expr))
        if node.op not in ("+", "-", "~"):
            raise self.parse_error(f"{node.op.strip('p')} is not part of the language within an expression", node)
        operand = self.expression(node.expr)
        operand = self.convert(operand, promote(operand.type))
        if node.op == "~" and operand.type.is_float:
            raise self.type_error(f"~ of a {operand.type}", node, "an integer")
        if node.op == "+":
            return operand
        return Unary(operand.type, self.at(node), node.op, operand)

    def binary_values(self, op: str, left: Value, right: Value, node: Any) -> Value:
        if isinstance(left, Pointer) and isinstance(right, Pointer):
            return self.compare_pointers(op, left.place, right.place, node)
        if op == "+" and isinstance(right, Pointer):
            left, right = right, left
        if isinstance(left, Pointer) and op in "+-" and isinstance(right, Expression):
            return Pointer(self.moved(left.place, op, self.integer(right, node, "what a pointer moves by")))
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            raise self.type_error(f"{op} of a pointer and something else", node, "a pointer and an integer for + and -")
        return self.binary(op, self.number(left, node.left), self.number(right, node.right), node)

    def compare_pointers(self, op: str, left: Place, right: Place, node: Any) -> Expression:
        if op not in COMPARISONS and op != "-":
            raise self.type_error(f"{op} of two pointers", node, "a comparison or -")
        if left.storage is not right.storage or left.type != right.type:
            raise self.type_error(f"{left.storage.name} and {right.storage.name} are different arrays", node)
        begin, end = self.convert(self.index_of(right), LONG), self.convert(self.index_of(left), LONG)
        if op != "-":
            return Binary(BOOL, self.at(node), op, end, begin)
        difference = Binary(LONG, self.at(node), "-", end, begin)
        size = count_scalars(left.type) if isinstance(left.storage, Parameter) else 1
        if size == 1:
            return difference
        return Binary(LONG, self.at(node), "/", difference, Constant(LONG, self.at(node), np.int64(size)))

    def binary(self, op: str, left: Expression, right: Expression, node: Any) -> Expression:
        if op in INTEGER_ONLY and (left.type.is_float or right.type.is_float):
            raise self.type_error(f"{op} of {left.type} and {right.type}", node, "integers")
        if op in SHIFTS:
            left = self.convert(left, promote(left.type))
            return Binary(left.type, self.at(node), op, left, self.convert(right, promote(right.type)))
        scalar = common_type(left.type, right.type)
        left, right = self.convert(left, scalar), self.convert(right, scalar)
        return Binary(BOOL if op in COMPARISONS else scalar, self.at(node), op, left, right)

    def conditional(self, node: Any) -> Value:
        condition = self.condition(node.cond)
        then, otherwise = self.operand(node.iftrue), self.operand(node.iffalse)
        if isinstance(then, Pointer) and isinstance(otherwise, Pointer):
            return self.choose_pointer(condition, then.place, otherwise.place, node)
        if isinstance(then, StructValue) and isinstance(otherwise, StructValue):
            return self.choose_struct(condition, then, otherwise, node)
        one, other = self.number(then, node.iftrue), self.number(otherwise, node.iffalse)
        return self.choose(condition, one, other, node)

    def choose(self, condition: Expression, then: Expression, otherwise: Expression, node: Any) -> Expression:
        scalar = common_type(then.type, otherwise.type)
        return Conditional(
            scalar, self.at(node), condition, self.convert(then, scalar), self.convert(otherwise, scalar)
        )

    def choose_pointer(self, condition: Expression, then: Place, otherwise: Place, node: Any) -> Pointer:
        if then.storage is not otherwise.storage:
            names = f"{then.storage.name} or {otherwise.storage.name}"
            raise self.type_error(f"this points into {names}, which is not known at compile time", node, "one array")
        self.check_pointed(otherwise, then.type, True, node)
        index = self.choose(
            condition, self.convert(self.index_of(then), LONG), self.convert(self.index_of(otherwise), LONG), node
        )
        return Pointer(replace(then, index=index, is_constant=then.is_constant or otherwise.is_constant, extent=0))

    def choose_struct(
        self, condition: Expression, then: StructValue, otherwise: StructValue, node: Any
    ) -> StructValue:
        if then.type is not otherwise.type:
            raise self.type_error(f"these are a {then.type} and a {otherwise.type}", node, "one type")

        def make(first: int, count: int) -> tuple[Expression, ...]:
            if count > 1:
                self.refuse_calls(condition, node)
            pairs = zip(then.make(then.first + first, count), otherwise.make(otherwise.first + first, count))
            return tuple(Conditional(one.type, self.at(node), condition, one, other) for one, other in pairs)

        return StructValue(then.type, 0, make)

    def cast(self, node: Any) -> Expression:
        declared = node.to_type.type
        if type(declared).__name__ != "TypeDecl":
            raise self.parse_error("only values are cast", node)
        scalar = self.named_type(declared)
        if isinstance(scalar, Struct):
            raise self.type_error(f"a cast to {scalar}", node, "a type of numbers")
        return self.convert(self.expression(node.expr), scalar)

    def compound_literal(self, node: Any) -> StructValue:
        struct = self.named_type(node.type.type) if type(node.type.type).__name__ == "TypeDecl" else None
        if not isinstance(struct, Struct):
            raise self.type_error("only structs are written as (type){...}", node)
        values: list[Expression | None] = [None] * count_scalars(struct)
        for number, value in self.initial_values(struct, node.init, 0):
            values[number] = value
        whole = tuple(
            Constant(scalar, self.at(node), scalar.dtype.type(0)) if value is None else value
            for scalar, value in zip(self.flat_types(struct), values)
        )
        return StructValue(struct, 0, lambda first, count: whole[first : first + count])

    def flat_types(self, type: Type) -> Iterator[ScalarType]:
        if isinstance(type, Array):
            for _ in range(type.extent):
                yield from self.flat_types(type.element)
        elif isinstance(type, Struct):
            for field in type.fields.values():
                yield from self.flat_types(field)
        else:
            yield type

    def initial_values(self, type: Type, node: Any, first: int) -> Iterator[tuple[int, Expression]]:
        """Yield the number of each scalar that an initial value names, and its value.

        Args:
            type: The type of the object.
            node: A list in braces, or an expression.
            first: The number of the object's first scalar.
        """
        if isinstance(type, ScalarType):
            yield first, self.convert(self.expression(node), type)
            return
        if is_list(node):
            yield from self.listed_values(type, node, first)
            return
        if isinstance(type, Array):
            raise self.type_error("an array begins with a list of values", node, "{...}")
        value = self.operand(node)
        self.check_struct(value, type, node)
        assert isinstance(value, StructValue)
        yield from enumerate(value.scalars(), first)

    def listed_values(self, type: Struct | Array, node: Any, first: int) -> Iterator[tuple[int, Expression]]:
        position = 0
        for child in node.exprs:
            inner: Type = type
            offset = 0
            designators: list[Any] = [None]
            value = child
            if is_designated(child):
                designators, value = child.name, child.expr
            for number, designator in enumerate(designators):
                if designator is not None and not number:
                    position = self.designated(type, designator)
                step = position if not number else self.designated(inner, designator)
                inner, more = self.part(inner, step, node, child)
                offset += more
            yield from self.initial_values(inner, value, first + offset)
            position += 1

    def part(self, type: Type, number: int, node: Any, child: Any) -> tuple[Type, int]:
        """Return the type of an element or field by its number, and how many scalars are before it."""
        if isinstance(type, Array):
            if not 0 <= number < type.extent:
                found = max(number + 1, len(node.exprs))
                raise self.type_error(f"an array of {type.extent} elements, found {found}", child)
            return type.element, number * count_scalars(type.element)
        assert isinstance(type, Struct)
        if number >= len(type.fields):
            raise self.type_error(f"{type} has {len(type.fields)} fields, found {len(node.exprs)}", child)
        name = list(type.fields)[number]
        return type.fields[name], field_offset(type, name)

    def designated(self, type: Type, designator: Any) -> int:
        if isinstance(type, Struct) and type_name(designator) == "ID":
            if designator.name not in type.fields:
                raise self.type_error(f"{type} has no field {designator.name}", designator, ", ".join(type.fields))
            return list(type.fields).index(designator.name)
        node = getattr(designator, "expr", designator)
        value = constant_value(self.expression(node)) if isinstance(type, Array) and type_name(node) != "ID" else None
        if value is None:
            raise self.type_error("this names no part of the object", designator, ".field or [constant]")
        return int(value)

    def check_struct(self, value: Value, struct: Struct, node: Any) -> None:
        if not isinstance(value, StructValue) or value.type is not struct:
            found = f"a {value.type}" if isinstance(value, StructValue) else "no struct"
            raise self.type_error(f"this is {found}", node, f"a {struct}")

    def check_pointed(self, place: Place, pointed: Type, is_constant: bool, node: Any) -> None:
        """Refuse a pointer to another type than `pointed`, or to constants that could be written through it."""
        if place.type != pointed:
            raise self.type_error(f"this points to {place.type}", node, f"a pointer to {pointed}")
        if place.is_constant and not is_constant:
            raise self.type_error(f"{place.storage.name} points to constants", node, "const")

    # Calls.

    def call(self, node: Any) -> Value:
        if type(node.name).__name__ != "ID":
            raise self.parse_error("only functions are called by name", node)
        name: str = node.name.name
        arguments = [] if node.args is None else list(node.args.exprs)
        if self.look_up(name) is not None:
            raise self.type_error(f"{name} is not a function", node)
        place = self.at(node)
        if name in IDENTITIES or name == SIZE:
            self.check_dimension(name, arguments, node)
            if name == SIZE:
                return Constant(ULONG, place, np.uint64(self.file.wg_size))
            return Identity(ULONG, place, name)
        if name == SHUFFLE:
            return self.shuffle(arguments, node)
        if name in BUILTINS:
            return self.builtin(name, arguments, node)
        if name in self.names.functions:
            return self.invoke(self.names.functions[name], arguments, node)
        if name in self.file.kernels:
            raise self.type_error(f"{name} is a kernel, which no function calls", node)
        known = ", ".join(sorted((*BUILTINS, *self.names.functions)))
        raise self.type_error(f"{name} is not a function of the language", node, known)

    def check_dimension(self, name: str, arguments: list[Any], node: Any) -> None:
        if len(arguments) > 1:
            raise self.type_error(f"{name} takes at most one argument, found {len(arguments)}", node)
        if arguments:
            value = constant_value(self.expression(arguments[0]))
            if value is None or int(value) != 0:
                raise self.type_error(f"{name} of a dimension other than 0", node, "0: groups have one dimension")

    def count_arguments(self, name: str, arguments: list[Any], number: int, node: Any) -> None:
        if len(arguments) != number:
            raise self.type_error(f"{name} takes {number} arguments, found {len(arguments)}", node)

    def shuffle(self, arguments: list[Any], node: Any) -> Value:
        self.count_arguments(SHUFFLE, arguments, 2, node)
        shuffled = self.operand(arguments[0])
        lane = self.integer(self.expression(arguments[1]), arguments[1], "a lane")
        value, size = constant_value(lane), self.file.wg_size
        if value is not None and not 0 <= int(value) < size:
            raise self.type_error(f"lane {int(value)} is out of range for {size} work-items", arguments[1])
        place = self.at(node)
        if not isinstance(shuffled, StructValue):
            number = self.number(shuffled, arguments[0])
            return Shuffle(number.type, place, number, lane)
        whole = shuffled

        def make(first: int, count: int) -> tuple[Expression, ...]:
            if count > 1:
                self.refuse_calls(lane, arguments[1])
            return tuple(Shuffle(part.type, place, part, lane) for part in whole.make(whole.first + first, count))

        return StructValue(whole.type, 0, make)

    def builtin(self, name: str, arguments: list[Any], node: Any) -> Expression:
        function = BUILTINS[name]
        self.count_arguments(name, arguments, function.arguments, node)
        values = [self.expression(argument) for argument in arguments]
        scalar = promote(values[0].type)
        for value in values[1:]:
            scalar = common_type(scalar, value.type)
        if function.domain != "numbers" and not scalar.is_float:
            scalar = DOUBLE
        converted = tuple(self.convert(value, scalar) for value in values)
        return Call(BOOL if function.domain == "predicate" else scalar, self.at(node), name, converted)

    def invoke(self, definition: Definition, arguments: list[Any], node: Any) -> Value:
        name = definition.name
        if definition.node is None:
            raise self.type_error(f"{name} is declared, but not defined", node)
        if name in self.unit.active:
            chain = [*self.unit.active[self.unit.active.index(name) :], name]
            raise self.type_error(f"{' calls '.join(chain)}: recursion is not part of the language", node)
        self.count_arguments(name, arguments, len(definition.parameters), node)
        values: list[Expression] = []
        pointers: dict[str, Target] = {}
        for parameter, argument in zip(definition.parameters, arguments):
            if parameter.is_pointer:
                place = self.pointer(argument)
                self.check_pointed(place, parameter.type, parameter.is_constant, argument)
                fixed = None if parameter.name in definition.moved else self.fix_index(place)
                if fixed is None:
                    values.append(self.convert(self.index_of(place), LONG))
                target = fixed or place
                target = replace(target, is_constant=parameter.is_constant, extent=0)
                pointers[parameter.name] = Target(target, fixed is not None)
            else:
                values += [value for _, value in self.initial_values(parameter.type, argument, 0)]
        function = self.instantiate(definition, pointers)
        self.weight += function.weight
        if self.weight > MOST_CALLS:
            raise self.type_error(f"more than {MOST_CALLS:,} calls, those within functions included", node)
        return self.result_of(function, definition.result, tuple(values), node)

    def fix_index(self, place: Place) -> Place | None:
        """Return a place whose index is a constant, None where it is not known."""
        if isinstance(place.storage, Variable) and not place.storage.extent:
            return replace(place, index=None)
        if place.index is None:
            return place
        value = constant_value(place.index)
        if value is None:
            return None
        return replace(place, index=Constant(LONG, place.index.position, np.int64(value)) if value else None)

    def result_of(
        self, function: Function, result: ScalarType | Struct | None, arguments: tuple[Expression, ...], node: Any
    ) -> Value:
        place = self.at(node)
        if result is None:
            return Invoke(INT, place, function, arguments, None)
        if isinstance(result, ScalarType):
            return Invoke(result, place, function, arguments, function.results[0])

        def make(first: int, count: int) -> tuple[Expression, ...]:
            # The first scalar calls the function, the others read what it left.
            chosen = function.results[first : first + count]
            return (Invoke(chosen[0].type, place, function, arguments, chosen[0]), *chosen[1:])

        return StructValue(result, 0, make)



def read_type(declared: Any, file: FileText, names: Names) -> ScalarType | Struct:
    """Return the type that a declaration names."""
    named = declared.type
    if type_name(named) == "Struct" and named.decls is None:
        struct = names.structs.get(named.name)
        if struct is None:
            raise file.type_error(f"struct {named.name} is not defined", declared)
        return struct
    if type_name(named) != "IdentifierType":
        raise file.outside_error(named)
    if len(named.names) == 1 and named.names[0] in names.types:
        return names.types[named.names[0]]
    scalar = C_SPELLINGS.get(tuple(sorted(named.names)))
    if scalar is None:
        raise file.type_error(f"the type {' '.join(named.names)} is not part of the language", declared)
    return scalar


def check_memory(type: ScalarType | Struct, name: str, file: FileText, node: Any) -> ScalarType:
    """Return the type of the scalars that a kernel's pointer points to.

    Raises:
        BatchTypeError: Memory of the type is not a NumPy array of numbers.
    """
    scalar = memory_scalar(type)
    if scalar is None:
        raise file.type_error(
            f"{name} points to {type}, whose fields have several types: a NumPy array has one", node,
            "a struct with fields of one type, or an array for each field",
        )  # fmt: skip
    if scalar is BOOL:
        raise file.type_error(f"{name} points to bool", node, "uchar, or another type with a size")
    return scalar


def is_reserved(name: str) -> bool:
    return name in BUILTINS or name in IDENTITIES or name in (SHUFFLE, SIZE)


def contains_call(expression: Expression) -> bool:
    return any(isinstance(part, Invoke) for part in expressions_in(expression))


def type_name(node: Any) -> str:
    """Return the kind of a node of pycparser's."""
    return type(node).__name__


def is_object(node: Any) -> bool:
    """Return whether a node names an object, not only a value."""
    kind = type_name(node)
    return kind in ("ID", "ArrayRef") or (kind == "UnaryOp" and node.op == "*") or (
        kind == "StructRef" and (node.type == "->" or is_object(node.name))
    )


def is_list(node: Any) -> bool:
    return type_name(node) == "InitList"


def is_designated(node: Any) -> bool:
    return type_name(node) == "NamedInitializer"
