"""pycparser's expressions to the typed tree: conversions written out, pointers and structs resolved to variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from drawloom.batch.frontend.builtins import CONSTANTS
from drawloom.batch.frontend.constants import constant_value, find_zero_division, parse_character, parse_literal
from drawloom.batch.frontend.objects import (
    LARGEST_EXTENT,
    Array,
    Place,
    Pointer,
    Struct,
    StructValue,
    Type,
    count_scalars,
    field_offset,
    size_of,
)
from drawloom.batch.frontend.places import PlaceParser, Value
from drawloom.batch.frontend.syntax import (
    Binary,
    Call,
    Conditional,
    Constant,
    Expression,
    Invoke,
    Logical,
    Parameter,
    ScalarParameter,
    Unary,
)
from drawloom.batch.frontend.tree import is_designated, is_list, is_object, type_name
from drawloom.batch.types import BOOL, FLOAT, INT, LONG, ULONG, ScalarType, common_type, promote

COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
INCREMENTS: Final = {"++": "+", "p++": "+", "--": "-", "p--": "-"}
SHIFTS: Final = ("<<", ">>")
INTEGER_ONLY: Final = ("%", "&", "|", "^", *SHIFTS)


class ExpressionParser(PlaceParser):
    """pycparser's expressions to ours, but for calls."""

    def call(self, node: Any) -> Value:
        """Return the value of a call."""
        raise NotImplementedError

    def assigned_value(self, node: Any) -> Value:
        """Return the value of an assignment or an increment."""
        raise NotImplementedError

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
            case "Assignment":
                return self.assigned_value(node)
            case "UnaryOp" if node.op in INCREMENTS:
                return self.assigned_value(node)
            case "UnaryOp":
                return self.unary(node)
            case "BinaryOp" if node.op in ("&&", "||"):
                return self.logical(node)
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

    # Names and operators.

    def literal(self, node: Any) -> Constant:
        if node.value.startswith("'"):
            code = parse_character(node.value)
            if code is None:
                raise self.parse_error(f"{node.value} is not one character of ASCII", node)
            return Constant(INT, self.at(node), np.int32(code))
        if node.type in ("char", "string") or node.type.startswith(("u8", "u16", "u32", "wchar", "U")):
            raise self.parse_error(f"{node.value} is not a number", node)
        constant = parse_literal(node.value, node.type, self.at(node))
        if constant is None:
            is_integer = node.type not in ("float", "double", "long double")
            fitting = "every integer type" if is_integer else "float" if node.value[-1] in "fF" else "double"
            raise self.type_error(f"{node.value} is too large for {fitting}", node, "" if is_integer else "INFINITY")
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
        if node.op == "sizeof":
            return self.size(node)
        if node.op == "!":
            return Unary(BOOL, self.at(node), "!", self.condition(node.expr))
        if node.op not in ("+", "-", "~"):
            raise self.parse_error(f"{node.op} is not part of the language within an expression", node)
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

    def logical(self, node: Any) -> Expression:
        left = self.condition(node.left)
        before = dict(self.bindings)
        right = self.condition(node.right)
        self.merge(before, node)
        return Logical(BOOL, self.at(node), node.op, left, right)

    def conditional(self, node: Any) -> Value:
        condition = self.condition(node.cond)
        before = dict(self.bindings)
        then = self.operand(node.iftrue)
        after, self.bindings = self.bindings, before
        otherwise = self.operand(node.iffalse)
        self.merge(after, node)
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

    # Types and sizes.

    def declared_type(self, declared: Any, node: Any, initial: Any = None) -> tuple[Type, bool]:
        """Return the type of a declaration without pointers, and whether it is constant.

        Args:
            declared: What pycparser has for the type.
            node: The declaration.
            initial: The list of values that an array without a size has, else None.
        """
        if type_name(declared) == "ArrayDecl":
            extent = self.count_listed(initial, node) if is_list(initial) and declared.dim is None else (
                self.extent(declared.dim, node)
            )  # fmt: skip
            element, is_constant = self.declared_type(declared.type, node)
            return Array(element, extent), is_constant
        if type_name(declared) != "TypeDecl":
            kind = "an array of pointers" if type_name(declared) == "PtrDecl" else "not a value or an array of values"
            message = f"{node.name or 'this'} is {kind}"
            raise self.parse_error(message, node, "a value, an array of values or a pointer")
        return self.named_type(declared), "const" in declared.quals

    def extent(self, dimension: Any, node: Any) -> int:
        name = node.name or "this array"
        if dimension is None:
            raise self.type_error(
                f"{name} has no size", node, "a size that is known at compile time, or a list of initial values"
            )
        expression = self.expression(dimension)
        self.refuse_zero_division(expression, f"the size of {name}")
        size = constant_value(expression)
        if size is None or not isinstance(size, np.integer):
            raise self.type_error(f"the size of {name} is not known at compile time", dimension)
        if not 1 <= int(size) <= LARGEST_EXTENT:
            raise self.type_error(f"{name} has {int(size)} elements", dimension, f"1 to {LARGEST_EXTENT}")
        return int(size)

    def refuse_zero_division(self, value: Expression, subject: str) -> None:
        """Refuse an integer division by zero in an expression that is `subject`, which has to be constant."""
        division = find_zero_division(value)
        if division is not None:
            raise self.file.source.type_error(f"{subject} has a division by zero", division.position)

    def count_listed(self, initial: Any, node: Any) -> int:
        """Return the size of an array that a list of initial values fills."""
        position, extent = 0, 0
        for child in initial.exprs:
            if is_designated(child):
                position = self.designated(Array(INT, LARGEST_EXTENT), child.name[0])
            position += 1
            extent = max(extent, position)
        if not 1 <= extent <= LARGEST_EXTENT:
            raise self.type_error(f"{node.name} has {extent} elements", initial, f"1 to {LARGEST_EXTENT}")
        return extent

    def size(self, node: Any) -> Constant:
        """Return `sizeof`; its operand is not evaluated."""
        before, weight = dict(self.bindings), self.weight
        operand = node.expr
        size = self.size_of_type(operand) if type_name(operand) == "Typename" else self.size_of_value(operand)
        self.bindings, self.weight = before, weight
        return Constant(ULONG, self.at(node), np.uint64(size))

    def size_of_type(self, node: Any) -> int:
        if type_name(node.type) == "PtrDecl":
            return ULONG.dtype.itemsize
        return size_of(self.declared_type(node.type, node)[0])

    def size_of_value(self, node: Any) -> int:
        entry = self.look_up(node.name) if type_name(node) == "ID" else None
        if is_object(node) and (type_name(node) != "ID" or isinstance(entry, Place)):
            return size_of(self.place(node).type)
        value = self.operand(node)
        if isinstance(value, Pointer):
            return ULONG.dtype.itemsize
        if value.type is BOOL and isinstance(value, Binary | Logical | Unary | Call):
            return INT.dtype.itemsize
        return size_of(value.type)

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

        def make(first: int, count: int) -> tuple[Expression, ...]:
            for value in (*whole[:first], *whole[first + count :]):
                self.refuse_calls(value, node)
            return whole[first : first + count]

        return StructValue(struct, 0, make)

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
