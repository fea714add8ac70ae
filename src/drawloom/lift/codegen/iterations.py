"""Code of ``iterate``: a loop over two buffers whose pointers are exchanged after every iteration (listing 4.6).

The pointers never lose a buffer: the data of the next iteration is what this one has written, and the buffer that is
free is written next. In private memory, which has no pointers, the iterations are written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from drawloom.lift.arithmetic import (
    ZERO,
    Constant,
    Nat,
    Variable,
    constant,
    is_at_most,
    maximum,
    simplify,
    substitute,
    variable,
)
from drawloom.lift.codegen.launch import SEQ
from drawloom.lift.codegen.scope import Scope
from drawloom.lift.codegen.syntax import DeclareIndex, Index, SetIndex, SetPointer, SwapPointers
from drawloom.lift.language.ir import Call
from drawloom.lift.language.patterns.algorithmic import Iterate
from drawloom.lift.language.types import ArrayType
from drawloom.lift.memory.address_spaces import infer_space
from drawloom.lift.memory.buffers import PRIVATE, Buffer
from drawloom.lift.views.views import Forest, MemoryView, View

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator

#: Iterations in private memory, which are written out.
MOST_WRITTEN_OUT = 64


def iterate_value(generator: Generator, call: Call, function: Iterate, scope: Scope) -> View:
    """Emit the iterations, and return the view of the last one's result."""
    array = scope.type(call.arguments[0].typed)
    assert isinstance(array, ArrayType)
    parameter = function.function.parameters[0]
    declared, result = parameter.typed, function.function.body.typed
    assert isinstance(declared, ArrayType) and isinstance(result, ArrayType)
    times = simplify(scope.nat(function.times))
    size = declared.length
    space = infer_space(generator, call, scope) or PRIVATE
    if times is ZERO:
        return generator.value(call.arguments[0], scope)
    assert isinstance(size, Variable)
    step = scope.nat(result.length)
    if space == PRIVATE:
        source = generator.value(call.arguments[0], scope)
        return written_out(generator, function, source, times, (size, array.length), scope)
    lengths = possible_lengths(array.length, step, size, times)
    if not generator.computes(call.arguments[0], scope):
        # The first iteration reads data that must stay, so it stands before the loop.
        if not isinstance(times, Constant):
            raise generator.refuse(f"{times} iterations over data that must stay", "a map of id over it before")
        source = generator.value(call.arguments[0], scope)
        begin = generator.memory.allocate(ArrayType(array.element, longest_of(lengths[1:])), space, [])
        inner = scope.within(None).bind(parameter, source).with_size(size, array.length)
        generator.into(function.function.body, begin, inner)
        if times.value == 1:
            return begin
        times, lengths = constant(times.value - 1), lengths[1:]
    else:
        begin = generator.memory.allocate(ArrayType(array.element, longest_of(lengths)), space, [])
        generator.into(call.arguments[0], begin, scope)
    # Where each work-item has a part of its own, the parts begin at the same elements of both buffers.
    has_parts = bool(generator.memory.own_parts(space)[0])
    written = lengths if has_parts else lengths[1:]
    target = generator.memory.allocate(ArrayType(array.element, longest_of(written)), space, [])
    shape = Shape(size, lengths[0], longest_of(lengths), step)
    return pointers(generator, call, function, (begin, target), shape, times, scope)


class Shape:
    """How long an iterated array is.

    Args:
        size: The length inside the iterated function.
        first: The length before the first iteration.
        longest: The greatest length before or after any iteration.
        step: The length after an iteration, over `size`.
    """

    def __init__(self, size: Variable, first: Nat, longest: Nat, step: Nat) -> None:
        self.size = size
        self.first = first
        self.longest = longest
        self.step = step


def longest_of(lengths: list[Nat]) -> Nat:
    longest = lengths[0]
    for length in lengths[1:]:
        longest = longest if is_at_most(length, longest) else simplify(maximum(longest, length))
    return longest


def possible_lengths(length: Nat, step: Nat, size: Variable, times: Nat) -> list[Nat]:
    """Return the array's length before and after each iteration."""
    if step is size:
        return [length, length, length]  # of which the first iteration may take one away
    assert isinstance(times, Constant)
    lengths = [length]
    for _ in range(times.value):
        lengths.append(simplify(substitute(step, {size: lengths[-1]})))
    return lengths


def written_out(
    generator: Generator, function: Iterate, source: View, times: Nat, shape: tuple[Variable, Nat], scope: Scope
) -> View:
    if not isinstance(times, Constant) or times.value > MOST_WRITTEN_OUT:
        raise generator.refuse(f"{times} iterations in private memory", f"at most {MOST_WRITTEN_OUT}, or toLocal")
    size, length = shape
    result = function.function.body.typed
    assert isinstance(result, ArrayType)
    for _ in range(times.value):
        inner = scope.within(PRIVATE).bind(function.function.parameters[0], source).with_size(size, length)
        source = generator.value(function.function.body, inner)
        length = simplify(inner.nat(result.length))
    return source


def pointers(
    generator: Generator,
    call: Call,
    function: Iterate,
    views: tuple[MemoryView, MemoryView],
    shape: Shape,
    times: Nat,
    scope: Scope,
) -> View:
    """Emit the loop over two pointers: ``in`` is read, ``out`` is written, and then they are exchanged."""
    source, target = views
    size, step = shape.size, shape.step
    changes = step is not size
    current: Nat = shape.first
    if changes:
        counted = variable(generator.fresh("size"), 1, simplify(shape.longest + 1))
        generator.counted.add(counted)
        generator.statements.append(DeclareIndex(counted, Index(shape.first)))
        current = counted
    pairs = list(zip(source.forest.buffers(), target.forest.buffers()))
    read = [pointer(generator, "in", pair[0], pair) for pair in pairs]
    written = [pointer(generator, "out", pair[1], pair) for pair in pairs]
    for one, other, pair in zip(read, written, pairs):
        generator.statements += [SetPointer(one, pair[0], True), SetPointer(other, pair[1], True)]
    convert = generator.memory.convert
    from_view = MemoryView(with_buffers(source.forest, iter(read)), source.path, convert)
    to_view = MemoryView(with_buffers(source.forest, iter(written)), source.path, convert)

    def iteration(at: Nat) -> None:
        inner = scope.bind(function.function.parameters[0], from_view).with_size(size, current)
        generator.into(function.function.body, to_view, inner)
        if changes:
            assert isinstance(current, Variable)
            generator.statements.append(SetIndex(current, simplify(substitute(step, {size: current}))))
        for one, other, (home, spare) in zip(read, written, pairs):
            generator.statements.append(SwapPointers(one, other, spare, home))

    generator.loop(times, SEQ, 0, call, iteration)
    return from_view


def with_buffers(forest: Forest, buffers: Iterator[Buffer]) -> Forest:
    """Return a forest of the same shape with other buffers."""
    if forest.buffer is not None:
        return Forest(next(buffers), [])
    return Forest(None, [with_buffers(part, buffers) for part in forest.parts])


def pointer(generator: Generator, name: str, buffer: Buffer, pair: tuple[Buffer, Buffer]) -> Buffer:
    """Return a pointer to one of two buffers, whose parts of work-items begin at the same elements."""
    made = Buffer(
        generator.fresh(name),
        buffer.space,
        buffer.element,
        list(buffer.lengths),
        None,
        "pointer",
        list(pair),
        buffer.vector_width,
    )
    return generator.memory.add(made)
