"""The patterns that only reorganise data and need no code of their own (thesis 2.4.2.1), or that make arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from drawloom.lift.arithmetic import ArithmeticRefusal, Nat, Variable, as_nat, evaluate, free_variables
from drawloom.lift.language.index_functions import INDEX, LENGTH, BoundaryFunction, IndexFunction
from drawloom.lift.language.patterns.base import (
    Array,
    DefinedPattern,
    Machine,
    Rules,
    Sizes,
    Value,
    each_leaf,
    first_leaf,
    join_values,
    length_of,
    part,
    reshape_axes,
    spread,
    stack_values,
    take,
)
from drawloom.lift.language.types import ArrayType, RaggedType, TupleType, Type, int32

#: Reorderings of arrays up to this length are checked when they are typed, and longer ones when they run.
LONGEST_CHECKED = 1 << 14
#: Values that sizes are given to check symbolic reorderings: numbers with many divisors, and two without.
TRIED_SIZES = (16, 24, 60, 7, 64, 13)

BOUNDARIES = ("clamp", "mirror", "wrap")


class LengthPattern(DefinedPattern):
    """A pattern whose first slot is a length."""

    slots: ClassVar[tuple[str, ...]] = ("nat",)

    def length_slot(self, slot: int) -> Nat:
        length = self.statics[slot]
        assert isinstance(length, Nat)
        return length


class Split(LengthPattern):
    """``split(m) : [T]n → [[T]m](n/m)`` cuts an array into chunks; ``m`` must divide ``n``."""

    keyword: ClassVar[str] = "split"

    @property
    def chunk(self) -> Nat:
        return self.length_slot(0)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        chunks = rules.divide(array.length, self.chunk, "the chunks of split")
        return ArrayType(ArrayType(array.element, self.chunk), chunks)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        chunk, length = machine.size(self.chunk), length_of(arguments[0], machine.batch)
        return reshape_axes(arguments[0], machine.batch, 1, (length // chunk, chunk))

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        chunk = size(self.chunk)
        if chunk >= 1 and lengths[0] % chunk == 0:
            return ""
        return (
            f"{lengths[0]} elements cannot be split into chunks of {chunk}; "
            "splitGuarded, splitPadded and an epilogue take any length"
        )


class SplitGuarded(LengthPattern):
    """``splitGuarded(m) : [T]n → [[T]≤m]n`` cuts an array of any length into chunks, of which the last may be shorter.

    Kernels guard the edge: a work-item whose element is beyond the array's end does nothing.
    """

    keyword: ClassVar[str] = "splitGuarded"

    @property
    def chunk(self) -> Nat:
        return self.length_slot(0)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        return RaggedType(array.element, self.chunk, array.length)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return arguments[0]

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        return "" if size(self.chunk) >= 1 else f"chunks of {size(self.chunk)} elements"


class Join(DefinedPattern):
    """``join : [[T]m]n → [T](m × n)`` removes a dimension; of a ragged array it makes the array that was split."""

    keyword: ClassVar[str] = "join"

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array_or_ragged(arguments[0], "its argument")
        if isinstance(array, RaggedType):
            return ArrayType(array.element, array.total)
        inner = rules.array(array.element, "an element of its argument")
        return ArrayType(inner.element, array.length * inner.length)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        if isinstance(machine.argument_types[0], RaggedType):
            return arguments[0]
        shape = first_leaf(arguments[0]).shape
        return reshape_axes(arguments[0], machine.batch, 2, (shape[machine.batch] * shape[machine.batch + 1],))


class Reorder(DefinedPattern):
    """What gather and scatter share: a permutation of the indices of an array."""

    slots: ClassVar[tuple[str, ...]] = ("index",)

    @property
    def index(self) -> IndexFunction:
        index = self.statics[0]
        assert isinstance(index, IndexFunction)
        return index

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        length = rules.known_length(array.length)
        fault = "" if length is None else never_permutes(self.index, length)
        if fault:
            raise rules.refuse(f"its index function is not a permutation {fault}")
        return array

    def permutation(self, length: int, machine: Machine) -> Array:
        order = machine.permutation(self.index, length)
        fault = find_fault(order)
        if fault:
            raise machine.refuse(f"its index function is not a permutation of {length} indices: {fault}")
        return order


@lru_cache(maxsize=256)
def never_permutes(index: IndexFunction, length: Nat) -> str:
    """Say why the index function is no permutation for a length, or for none of several sizes; "" if it may be.

    A function may need sizes with certain divisors, so a symbolic one is refused only where all tries fail.
    """
    sizes = {*free_variables(length), *index.sizes}
    fault = ""
    for turn in range(len(TRIED_SIZES) if sizes else 1):
        values: dict[Variable, int] = {}
        for at, size in enumerate(sorted(sizes, key=str)):
            values[size] = TRIED_SIZES[(turn + at) % len(TRIED_SIZES)]
        try:
            count = evaluate(length, values)
            if not 0 < count <= LONGEST_CHECKED:
                return ""
            found = find_fault(permute(index, count, values))
        except ArithmeticRefusal:
            continue
        if not found:
            return ""
        where = ", ".join([f"{size} = {value}" for size, value in values.items()])
        fault = f"of {count} indices{' for ' + where if where else ''}: {found}"
    return fault


def permute(index: IndexFunction, length: int, sizes: dict[Variable, int]) -> Array:
    """Return the values of an index function for all indices of an array."""
    environment = {**sizes, LENGTH: length}
    values: list[int] = []
    for at in range(length):
        environment[INDEX] = at
        values.append(evaluate(index.body, environment))
    return np.array(values, np.int64)


def find_fault(order: Array) -> str:
    """Say why an array of indices is not a permutation; "" if it is one."""
    length = len(order)
    outside = (order < 0) | (order >= length)
    if outside.any():
        at = int(np.argmax(outside))
        return f"index {at} becomes {order[at]}"
    counts = np.bincount(order, minlength=length)
    twice = counts > 1
    if twice.any():
        value = int(np.argmax(twice))
        first, second = np.flatnonzero(order == value)[:2].tolist()
        return f"indices {first} and {second} both become {value}"
    return ""


class Gather(Reorder):
    """``gather(f) : [T]n → [T]n`` reads element ``f(i)`` as element ``i``."""

    keyword: ClassVar[str] = "gather"

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        order = self.permutation(length_of(arguments[0], machine.batch), machine)
        return each_leaf(arguments[0], lambda leaf: np.take(leaf, order, axis=machine.batch))


class Scatter(Reorder):
    """``scatter(f) : [T]n → [T]n`` writes element ``i`` as element ``f(i)``."""

    keyword: ClassVar[str] = "scatter"

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        order = self.permutation(length_of(arguments[0], machine.batch), machine)
        inverse = np.argsort(order)
        return each_leaf(arguments[0], lambda leaf: np.take(leaf, inverse, axis=machine.batch))


class Lookup(DefinedPattern):
    """``lookup : ([T]n, [int]m) → [T]m`` reads element ``indices[i]`` as element ``i``; the indices are data.

    An index outside the array is refused by the interpreter, and must not occur in a kernel.
    """

    keyword: ClassVar[str] = "lookup"
    takes: ClassVar[int] = 2

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "the array of lookup")
        indices = rules.array(arguments[1], "the indices of lookup")
        rules.same(indices.element, int32, "an index of lookup and int")
        return ArrayType(array.element, indices.length)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        batch = machine.batch
        index: Array = arguments[1]
        length = length_of(arguments[0], batch)
        outside = (index < 0) | (index >= length)
        if outside.any():
            raise machine.refuse(f"index {index[outside].flat[0]} is outside the array of {length} elements")

        def pick(leaf: Array) -> Array:
            shape = np.broadcast_shapes(leaf.shape[:batch], index.shape[:batch])
            whole = np.broadcast_to(leaf, (*shape, *leaf.shape[batch:]))
            at = np.broadcast_to(index, (*shape, index.shape[batch]))
            return np.take_along_axis(whole, at.reshape(*at.shape, *(1,) * (leaf.ndim - batch - 1)), axis=batch)

        return each_leaf(arguments[0], pick)


class Transpose(DefinedPattern):
    """``transpose : [[T]m]n → [[T]n]m`` exchanges two dimensions.

    ``transpose_by_gather`` of the builders is the same as a composition of split, gather and join (listing 4.4).
    """

    keyword: ClassVar[str] = "transpose"

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        rows = rules.array(arguments[0], "its argument")
        row = rules.array(rows.element, "an element of its argument")
        return ArrayType(ArrayType(row.element, rows.length), row.length)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        batch = machine.batch
        return each_leaf(arguments[0], lambda leaf: np.swapaxes(leaf, batch, batch + 1))


class Zip(DefinedPattern):
    """``zip : ([T]n, [U]n, ...) → [(T, U, ...)]n`` pairs the elements of two or more arrays of one length."""

    keyword: ClassVar[str] = "zip"
    takes: ClassVar[int] = -1

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        arrays = [rules.array(type, f"argument {at + 1} of zip") for at, type in enumerate(arguments)]
        for at in range(1, len(arrays)):
            rules.same_length(arrays[0].length, arrays[at].length, f"the lengths of arguments 1 and {at + 1} of zip")
        return ArrayType(TupleType(tuple([array.element for array in arrays])), arrays[0].length)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return tuple(arguments)


class Unzip(DefinedPattern):
    """``unzip : [(T, U, ...)]n → ([T]n, [U]n, ...)`` undoes zip: one array for each component."""

    keyword: ClassVar[str] = "unzip"

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        element = rules.resolve(array.element)
        if not isinstance(element, TupleType):
            raise rules.refuse(f"it is applied to {array}", "an array of tuples")
        return TupleType(tuple([ArrayType(inner, array.length) for inner in element.elements]))

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return arguments[0]


class Get(DefinedPattern):
    """``get(i) : (T0, T1, ...) → Ti`` is component ``i`` of a tuple, counted from 0."""

    keyword: ClassVar[str] = "get"
    slots: ClassVar[tuple[str, ...]] = ("int",)

    @property
    def index(self) -> int:
        index = self.statics[0]
        assert isinstance(index, int)
        return index

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        found = rules.resolve(arguments[0])
        if not isinstance(found, TupleType):
            raise rules.refuse(f"it is applied to {found}", "a tuple")
        if self.index >= len(found.elements):
            raise rules.refuse(f"component {self.index} of {found}", f"0 to {len(found.elements) - 1}")
        return found.elements[self.index]

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return arguments[0][self.index]


class MakeTuple(DefinedPattern):
    """``(x, y, ...) : (T, U, ...)`` is the tuple of several values."""

    keyword: ClassVar[str] = "tuple"
    takes: ClassVar[int] = -1

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        return TupleType(tuple(arguments))

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return tuple(arguments)


class Slide(LengthPattern):
    """``slide(size, step) : [T]n → [[T]size]((n - size + step)/step)``: windows that begin every ``step`` elements."""

    keyword: ClassVar[str] = "slide"
    slots: ClassVar[tuple[str, ...]] = ("nat", "nat")

    @property
    def size(self) -> Nat:
        return self.length_slot(0)

    @property
    def step(self) -> Nat:
        return self.length_slot(1)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        windows = rules.divide(array.length - self.size + self.step, self.step, "the windows of slide")
        return ArrayType(ArrayType(array.element, self.size), windows)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        size, step = machine.size(self.size), machine.size(self.step)
        length = length_of(arguments[0], machine.batch)
        starts = np.arange(0, length - size + 1, step)
        order = starts[:, np.newaxis] + np.arange(size)
        return each_leaf(arguments[0], lambda leaf: np.take(leaf, order, axis=machine.batch))

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        window, step, length = size(self.size), size(self.step), lengths[0]
        if window >= 1 and step >= 1 and length >= window and (length - window) % step == 0:
            return ""
        return f"windows of {window} elements every {step} do not fit {length} elements"


class Padding(LengthPattern):
    """Base of the patterns that add elements before and after an array, whose numbers are the first two slots."""

    @property
    def left(self) -> Nat:
        return self.length_slot(0)

    @property
    def right(self) -> Nat:
        return self.length_slot(1)

    def padded(self, array: ArrayType) -> ArrayType:
        return ArrayType(array.element, self.left + array.length + self.right)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        return self.padded(rules.array(arguments[0], "its argument"))


class Pad(Padding):
    """``pad(left, right, h) : [T]n → [T](left + n + right)`` takes what is outside the array from inside.

    ``clamp`` repeats the first and the last element, ``mirror`` reflects the array at its ends (the end included),
    and ``wrap`` continues it at the other end.
    """

    keyword: ClassVar[str] = "pad"
    slots: ClassVar[tuple[str, ...]] = ("nat", "nat", "word")

    @property
    def boundary(self) -> str:
        boundary = self.statics[2]
        assert isinstance(boundary, str)
        return boundary

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        length = length_of(arguments[0], machine.batch)
        left, right = machine.size(self.left), machine.size(self.right)
        index = np.arange(-left, length + right)
        if self.boundary == "wrap":
            index = index % length
        elif self.boundary == "mirror":
            index = np.where(index < 0, -1 - index, np.where(index >= length, 2 * length - 1 - index, index))
        order = np.clip(index, 0, length - 1)
        return each_leaf(arguments[0], lambda leaf: np.take(leaf, order, axis=machine.batch))

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        left, right = size(self.left), size(self.right)
        if min(left, right) < 0:
            return f"{min(left, right)} elements before or after an array"
        if self.boundary == "clamp" or max(left, right) <= lengths[0]:
            return ""
        return f"{self.boundary} of {max(left, right)} elements beside an array of {lengths[0]}"


class PadIndex(Padding):
    """``pad(left, right, h) : [T]n → [T](left + n + right)`` has element ``h(i, n)`` where ``i`` is outside the array.

    ``i`` counts from ``-left`` to ``n + right - 1``; inside the array, the elements stay.
    """

    keyword: ClassVar[str] = "padIndex"
    slots: ClassVar[tuple[str, ...]] = ("nat", "nat", "boundary")

    @property
    def boundary(self) -> BoundaryFunction:
        boundary = self.statics[2]
        assert isinstance(boundary, BoundaryFunction)
        return boundary

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        length = length_of(arguments[0], machine.batch)
        left, right = machine.size(self.left), machine.size(self.right)
        before = [machine.index_of(self.boundary, at, length) for at in range(-left, 0)]
        after = [machine.index_of(self.boundary, at, length) for at in range(length, length + right)]
        order = np.array([*before, *range(length), *after], np.int64)
        outside = (order < 0) | (order >= length)
        if outside.any():
            at = int(np.argmax(outside))
            raise machine.refuse(f"index {at - left} becomes {order[at]}, outside the array of {length} elements")
        return each_leaf(arguments[0], lambda leaf: np.take(leaf, order, axis=machine.batch))


class PadValue(Padding):
    """``pad(left, right, x) : [T]n → [T](left + n + right)`` puts copies of a value before and after an array."""

    keyword: ClassVar[str] = "padValue"
    slots: ClassVar[tuple[str, ...]] = ("nat", "nat", "argument")
    takes: ClassVar[int] = 2

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[1], "its argument")
        rules.same(arguments[0], array.element, "the value of padValue and the elements")
        return self.padded(array)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        batch = machine.batch
        value = each_leaf(arguments[0], lambda leaf: np.expand_dims(leaf, batch))
        parts = [arguments[1]]
        left, right = machine.size(self.left), machine.size(self.right)
        if left:
            parts.insert(0, spread(value, left, batch))
        if right:
            parts.append(spread(value, right, batch))
        return join_values(parts, batch)


class Head(DefinedPattern):
    """``head : [T]n → T`` is the first element."""

    keyword: ClassVar[str] = "head"

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        return rules.array(arguments[0], "its argument").element

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return take(arguments[0], 0, machine.batch)

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        return "" if lengths[0] > 0 else "an array of 0 elements has no first one"


class Take(LengthPattern):
    """``take(m) : [T]n → [T]m`` is the first ``m`` elements."""

    keyword: ClassVar[str] = "take"

    @property
    def count(self) -> Nat:
        return self.length_slot(0)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        rules.at_most(self.count, array.length, "the elements that take keeps")
        return ArrayType(array.element, self.count)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return part(arguments[0], 0, machine.size(self.count), machine.batch)

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        count = size(self.count)
        return "" if 0 <= count <= lengths[0] else f"{count} elements cannot be taken of {lengths[0]}"


class Drop(LengthPattern):
    """``drop(m) : [T]n → [T](n - m)`` is all but the first ``m`` elements."""

    keyword: ClassVar[str] = "drop"

    @property
    def count(self) -> Nat:
        return self.length_slot(0)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        rules.at_most(self.count, array.length, "the elements that drop leaves out")
        return ArrayType(array.element, array.length - self.count)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        count, length = machine.size(self.count), length_of(arguments[0], machine.batch)
        return part(arguments[0], count, length, machine.batch)

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        count = size(self.count)
        return "" if 0 <= count <= lengths[0] else f"{count} elements cannot be dropped of {lengths[0]}"


class Concat(DefinedPattern):
    """``concat : ([T]m, [T]n, ...) → [T](m + n + ...)`` lays arrays end to end."""

    keyword: ClassVar[str] = "concat"
    takes: ClassVar[int] = -1

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        arrays = [rules.array(type, f"argument {at + 1} of concat") for at, type in enumerate(arguments)]
        length = as_nat(0)
        for at, array in enumerate(arrays):
            rules.same(arrays[0].element, array.element, f"the elements of arguments 1 and {at + 1} of concat")
            length = length + array.length
        return ArrayType(arrays[0].element, length)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return join_values(arguments, machine.batch)


class Replicate(LengthPattern):
    """``replicate(n) : T → [T]n`` is the replicated literal ``[x, x ... x]``, of any value."""

    keyword: ClassVar[str] = "replicate"

    @property
    def count(self) -> Nat:
        return self.length_slot(0)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        return ArrayType(arguments[0], self.count)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        value = each_leaf(arguments[0], lambda leaf: np.expand_dims(leaf, machine.batch))
        return spread(value, machine.size(self.count), machine.batch)


class ArrayOf(DefinedPattern):
    """``[x, y, ...] : [T]n`` is the array of the given elements."""

    keyword: ClassVar[str] = "array"
    takes: ClassVar[int] = -1
    fewest: ClassVar[int] = 1

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        for at, type in enumerate(arguments):
            rules.same(arguments[0], type, f"elements 1 and {at + 1} of an array")
        return ArrayType(arguments[0], as_nat(len(arguments)))

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return stack_values(arguments, machine.batch)


class Iota(LengthPattern):
    """``iota(n) : [int]n`` is the array ``[0, 1, ..., n - 1]``; it is not stored."""

    keyword: ClassVar[str] = "iota"
    takes: ClassVar[int] = 0

    @property
    def count(self) -> Nat:
        return self.length_slot(0)

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        return ArrayType(int32, self.count)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return np.arange(machine.size(self.count), dtype=np.int32).reshape((*(1,) * machine.batch, -1))


PATTERNS: list[type[DefinedPattern]] = [
    Split, SplitGuarded, Join, Gather, Scatter, Lookup, Transpose, Zip, Unzip, Get, MakeTuple, Slide, Pad, PadIndex,
    PadValue, Head, Take, Drop, Concat, Replicate, ArrayOf, Iota,
]  # fmt: skip
