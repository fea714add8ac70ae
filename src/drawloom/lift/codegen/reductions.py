"""Code of reductions and scans: a loop with an accumulator.

A scalar accumulator is a variable. An array accumulator is updated in place where no step reads an element that the
same step has overwritten (`memory/updates.py` proves it), and otherwise through a second array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from drawloom.lift.arithmetic import ZERO, Nat
from drawloom.lift.codegen.launch import REDUCE
from drawloom.lift.codegen.scope import Scope
from drawloom.lift.codegen.syntax import Access
from drawloom.lift.language.ir import Call, Expression
from drawloom.lift.language.patterns.algorithmic import AnyScan, Fold, ReduceSeq
from drawloom.lift.language.types import ArrayType, RaggedType, TupleType, Type, holds_arrays
from drawloom.lift.memory.address_spaces import infer_space
from drawloom.lift.memory.allocation import find_distribution
from drawloom.lift.memory.buffers import PRIVATE, Buffer, Distribution
from drawloom.lift.memory.updates import is_in_place_update
from drawloom.lift.views.read import chunk_count, chunk_length
from drawloom.lift.views.views import HeadView, MemoryView, ReplicateView, ValueView, View, ZipView

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator

#: Where an array accumulator is, and how work-items share its dimensions.
Place = tuple[MemoryView, list[Distribution | None]]


def reduce_value(generator: Generator, call: Call, function: Fold, scope: Scope) -> View:
    """Emit a reduction, and return the view of its result: an array of one element, in the accumulator."""
    type = accumulator_type(call, scope)
    if not holds_arrays(type):
        return ReplicateView(reduce_scalar(generator, call, function, type, scope))
    space = infer_space(generator, call, scope) or PRIVATE
    shared = find_distribution(generator, call, scope)[1:]
    accumulator = generator.memory.allocate(type, space, shared, base="acc")
    reduce_array(generator, call, function, type, (accumulator, shared), scope)
    return HeadView(accumulator)


def reduce_into(generator: Generator, call: Call, function: Fold, target: View, scope: Scope) -> None:
    """Emit a reduction whose result is written where a view says."""
    type = accumulator_type(call, scope)
    if not holds_arrays(type):
        result = reduce_scalar(generator, call, function, type, scope)
        generator.assign(target.at(ZERO), type, generator.load(result, type))
        return
    place = target.at(ZERO)
    if isinstance(place, MemoryView) and place.space == PRIVATE:
        reduce_array(generator, call, function, type, (place, []), scope)
        return
    view = reduce_value(generator, call, function, scope)
    generator.copy(view.at(ZERO), place, type, find_distribution(generator, call, scope)[1:])


def accumulator_type(call: Call, scope: Scope) -> Type:
    result = scope.type(call.typed)
    assert isinstance(result, ArrayType)
    return result.element


def reduce_scalar(generator: Generator, call: Call, function: Fold, type: Type, scope: Scope) -> View:
    """Emit a reduction to a scalar, vector or tuple, and return its accumulator."""
    if not isinstance(function, ReduceSeq):
        raise generator.refuse("its order is open, so it has no code", "reduceSeq")
    array = generator.value(call.arguments[1], scope.within(None))
    start = generator.scalar(call.arguments[0], scope.within(None))
    accumulator = variables(generator, type)
    generator.assign(accumulator, type, start)
    first, second = function.function.parameters

    def iteration(element: View, inner: Scope) -> None:
        bound = inner.bind(first, accumulator).bind(second, element)
        generator.assign(accumulator, type, generator.scalar(function.function.body, bound))

    steps(generator, call, array, scope.within(None), iteration)
    return accumulator


def variables(generator: Generator, type: Type) -> View:
    """Return an accumulator: a variable, or one for each component of a tuple."""
    if isinstance(type, TupleType):
        return ZipView([variables(generator, element) for element in type.elements])
    return Variable(generator.memory.variable("acc", type))


class Variable(ValueView):
    """A variable that is read and written."""

    def __init__(self, buffer: Buffer) -> None:
        self.access = Access(buffer, ZERO)
        super().__init__(self.access)

    def place(self) -> list[Access]:
        return [self.access]


def steps(
    generator: Generator, call: Call, array: View, scope: Scope, iteration: Callable[[View, Scope], None]
) -> None:
    """Emit the loop of a reduction over an array, or over the chunks of a guarded split."""
    assert isinstance(call.function, Fold)
    type = scope.type(call.arguments[1].typed)
    if isinstance(type, RaggedType):
        ragged = type
        parameter = call.function.function.parameters[1].typed
        assert isinstance(parameter, ArrayType)
        length = parameter.length
        generator.loop(
            chunk_count(type),
            REDUCE,
            0,
            call,
            lambda at: iteration(array.at(at), scope.with_size(length, chunk_length(ragged, at))),
        )
        return
    assert isinstance(type, ArrayType)
    generator.loop(type.length, REDUCE, 0, call, lambda at: iteration(array.at(at), scope))


def reduce_array(
    generator: Generator,
    call: Call,
    function: Fold,
    type: Type,
    place: Place,
    scope: Scope,
) -> None:
    """Emit a reduction whose accumulator is an array in memory."""
    if not isinstance(function, ReduceSeq):
        raise generator.refuse("its order is open, so it has no code", "reduceSeq")
    inner = scope.within(None)
    array = generator.value(call.arguments[1], inner)
    begin(generator, call.arguments[0], type, place, inner)

    def iteration(element: View, scope: Scope) -> None:
        accumulate(generator, function, type, place, element, scope)

    steps(generator, call, array, inner, iteration)


def begin(generator: Generator, start: Expression, type: Type, place: Place, scope: Scope) -> None:
    """Put the initial value into an array accumulator."""
    accumulator, shared = place
    if generator.computes(start, scope):
        generator.into(start, accumulator, scope)
    else:
        generator.copy(generator.value(start, scope), accumulator, type, shared)


def accumulate(generator: Generator, function: Fold, type: Type, place: Place, element: View, scope: Scope) -> None:
    """Emit one step of an array accumulator."""
    accumulator, shared = place
    first, second = function.function.parameters
    generator.tags += 1
    tag = generator.tags
    bound = scope.bind(first, accumulator.tagged(tag)).bind(second, element)
    with generator.block() as statements:
        generator.into(function.function.body, accumulator, bound)
    if is_in_place_update(statements, tag):
        generator.statements.extend(statements)
        return
    following = generator.memory.allocate(type, accumulator.space or PRIVATE, shared, base="next")
    generator.into(function.function.body, following, bound)
    generator.copy(following, accumulator, type, shared)


def scan_into(generator: Generator, call: Call, function: AnyScan, target: View, scope: Scope) -> None:
    """Emit a scan: every intermediate result of a reduction is written."""
    if function.needs_properties:
        raise generator.refuse("its order is open, so it has no code", "scanSeq")
    type = scope.type(call.arguments[0].typed)
    inner = scope.within(None)
    array = generator.value(call.arguments[1], inner)
    elements = scope.type(call.arguments[1].typed)
    assert isinstance(elements, ArrayType)
    make = scan_arrays if holds_arrays(type) else scan_scalars
    generator.loop(elements.length, REDUCE, 0, call, make(generator, call, function, type, (array, target), inner))


def scan_scalars(
    generator: Generator, call: Call, function: AnyScan, type: Type, views: tuple[View, View], scope: Scope
) -> Callable[[Nat], None]:
    """Return what emits a step of a scan of scalars, vectors or tuples of them, after emitting the initial value."""
    array, target = views
    accumulator = variables(generator, type)
    generator.assign(accumulator, type, generator.scalar(call.arguments[0], scope))
    first, second = function.function.parameters

    def iteration(at: Nat) -> None:
        bound = scope.bind(first, accumulator).bind(second, array.at(at))
        value = generator.scalar(function.function.body, bound)
        if not function.exclusive:
            generator.assign(accumulator, type, value)
            generator.assign(target.at(at), type, generator.load(accumulator, type))
            return
        # The element is read first: it may be stored where the result is.
        following = generator.keep(value, type)
        generator.assign(target.at(at), type, generator.load(accumulator, type))
        generator.assign(accumulator, type, following.load())

    return iteration


def scan_arrays(
    generator: Generator, call: Call, function: AnyScan, type: Type, views: tuple[View, View], scope: Scope
) -> Callable[[Nat], None]:
    """Return what emits a step of a scan of arrays, after emitting the initial value."""
    array, target = views
    start = call.arguments[0]
    space = infer_space(generator, start, scope) if generator.computes(start, scope) else PRIVATE
    shared = find_distribution(generator, call, scope)[1:]
    accumulator = generator.memory.allocate(type, space or PRIVATE, shared, base="acc")
    place = (accumulator, shared)
    begin(generator, start, type, place, scope)

    def iteration(at: Nat) -> None:
        if not function.exclusive:
            accumulate(generator, function, type, place, array.at(at), scope)
            generator.copy(accumulator, target.at(at), type, shared)
            return
        # The element is read first: it may be stored where the result is.
        first, second = function.function.parameters
        following = generator.memory.allocate(type, accumulator.space or PRIVATE, shared, base="next")
        generator.into(function.function.body, following, scope.bind(first, accumulator).bind(second, array.at(at)))
        generator.copy(accumulator, target.at(at), type, shared)
        generator.copy(following, accumulator, type, shared)

    return iteration
