"""pycparser's calls to the typed tree: builtin functions, shuffles, and functions of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from drawloom.batch.frontend.builtins import BUILTINS, IDENTITIES, SHUFFLE, SIZE, library_function
from drawloom.batch.frontend.constants import constant_value
from drawloom.batch.frontend.expressions import ExpressionParser
from drawloom.batch.frontend.objects import Place, Struct, StructValue
from drawloom.batch.frontend.places import Value
from drawloom.batch.frontend.scope import MOST_CALLS, Definition
from drawloom.batch.frontend.syntax import Call, Constant, Expression, Function, Identity, Invoke, Shuffle, Variable
from drawloom.batch.types import BITS_AS, BOOL, DOUBLE, INT, LONG, ULONG, ScalarType, common_type, promote


class Target(NamedTuple):
    """Where a pointer that a function is called with points; its index is known at compile time if it is `fixed`."""

    place: Place
    is_fixed: bool


class CallParser(ExpressionParser):
    """Calls. Which function a call means depends on where its pointers point."""

    def instantiate(self, definition: Definition, pointers: dict[str, Target]) -> Function:
        """Return a function for the places that its pointers have."""
        raise NotImplementedError

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
        if function.domain == "bits":
            return self.bits_as(name, values[0], arguments[0])
        scalar = promote(values[0].type)
        for value in values[1:]:
            scalar = common_type(scalar, value.type)
        if function.domain != "numbers" and not scalar.is_float:
            scalar = DOUBLE
        converted = tuple(self.convert(value, scalar) for value in values)
        if function.library:
            definition = self.file.library[library_function(name, scalar)]
            called = self.count_calls(self.instantiate(definition, {}), node)
            return Invoke(scalar, self.at(node), called, converted, called.results[0])
        return Call(BOOL if function.domain == "predicate" else scalar, self.at(node), name, converted)

    def bits_as(self, name: str, value: Expression, node: Any) -> Expression:
        type = BITS_AS[name]
        if value.type.bits != type.bits:
            found = f"{name} of {value.type}, which has {value.type.bits} bits"
            raise self.type_error(found, node, f"{type.bits} bits")
        return Call(type, self.at(node), name, (value,))

    def invoke(self, definition: Definition, arguments: list[Any], node: Any) -> Value:
        name = definition.name
        if definition.node is None:
            raise self.type_error(f"{name} is declared, but not defined", node)
        if definition in self.unit.active:
            chain = [one.name for one in self.unit.active[self.unit.active.index(definition) :]] + [name]
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
        function = self.count_calls(self.instantiate(definition, pointers), node)
        return self.result_of(function, definition.result, tuple(values), node)

    def count_calls(self, function: Function, node: Any) -> Function:
        """Return a function that is called, all calls within it counted."""
        self.weight += function.weight
        if self.weight > MOST_CALLS:
            raise self.type_error(f"more than {MOST_CALLS:,} calls, those within functions included", node)
        return function

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
