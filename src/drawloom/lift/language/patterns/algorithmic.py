"""The patterns that compute: id, map, reductions, iterate, scans, filter and mapAtomic (thesis 2.4.2.1)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from drawloom.lift.arithmetic import (
    ArithmeticRefusal,
    Constant,
    Nat,
    Variable,
    ceil_div,
    constant,
    exact_div,
    free_variables,
    solve,
    substitute,
)
from drawloom.lift.language.ir import Lambda
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
    none_of,
    part,
    reshape_axes,
    spread,
    stack_values,
    take,
    two_leaves,
)
from drawloom.lift.language.patterns.operators import operator_properties
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, Type, int32

#: Iterations that type inference unrolls to find the length of the result.
MOST_ITERATIONS = 4096


class Id(DefinedPattern):
    """``id : T → T`` copies a value: what a program writes to memory without computing."""

    keyword: ClassVar[str] = "id"

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        return arguments[0]

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return arguments[0]


class AnyMap(DefinedPattern):
    """``map : ((T → U), [T]n) → [U]n``: the type and meaning that all maps share.

    Over a ragged array, the function gets a chunk whose length is a size of its own, at most the chunk's; if it
    returns as many elements as it gets, the result is ragged again, and otherwise an array of its results.
    """

    slots: ClassVar[tuple[str, ...]] = ("function",)
    function_takes: ClassVar[tuple[int, ...]] = (1,)

    @property
    def function(self) -> Lambda:
        return self.functions[0]

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array_or_ragged(arguments[0], "its argument")
        if isinstance(array, ArrayType):
            return ArrayType(rules.call(self.function, [array.element]), array.length)
        length = rules.fresh_size("rest", 1, array.chunk + 1)
        result = rules.resolve(rules.call(self.function, [ArrayType(array.element, length)]))
        if isinstance(result, ArrayType) and result.length == length:
            result = RaggedType(result.element, array.chunk, array.total)
            found: list[Nat] = []
            collect_sizes(result.element, found)
        else:
            found = []
            collect_sizes(result, found)
            result = ArrayType(result, ceil_div(array.total, array.chunk))
        if length in found:
            raise rules.refuse(
                f"the function returns {result.element} for a chunk of {length} elements of a guarded split",
                "an array of as many elements, or a type in which the length of the chunk does not occur",
            )
        return result

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        value, batch = arguments[0], machine.batch
        if isinstance(machine.argument_types[0], RaggedType):
            return self.map_chunks(value, machine)
        length = length_of(value, batch)
        return spread(machine.call(self.function, [value], extra=1), length, batch)

    def map_chunks(self, value: Value, machine: Machine) -> Value:
        """Apply the function to all full chunks at once, and then to the rest."""
        ragged, batch = machine.argument_types[0], machine.batch
        keeps_length = isinstance(machine.result_type, RaggedType)
        parameter = self.function.parameters[0].typed
        assert isinstance(ragged, RaggedType) and isinstance(parameter, ArrayType)
        chunk = machine.size(ragged.chunk)
        total = length_of(value, batch)
        whole = total // chunk * chunk
        results: list[Value] = []
        for start, stop, size in ((0, whole, chunk), (whole, total, total - whole)):
            if start == stop and (total or results):
                continue
            machine.bind(parameter.length, size)
            count = (stop - start) // size  # none at all of an empty array
            chunks = reshape_axes(part(value, start, stop, batch), batch, 1, (count, size))
            result = spread(machine.call(self.function, [chunks], extra=1), count, batch)
            results.append(reshape_axes(result, batch, 2, (count * size,)) if keeps_length else result)
        return join_values(results, batch)


def collect_sizes(type: Type, found: list[Nat]) -> None:
    """Add the variables in a type's lengths to a list."""
    if isinstance(type, ArrayType):
        found.extend(free_variables(type.length))
        collect_sizes(type.element, found)
    elif isinstance(type, RaggedType):
        found.extend(free_variables(type.chunk))
        found.extend(free_variables(type.total))
        collect_sizes(type.element, found)
    elif isinstance(type, TupleType):
        for element in type.elements:
            collect_sizes(element, found)


class Map(AnyMap):
    """``map`` applies a function to every element, in no particular order."""

    keyword: ClassVar[str] = "map"


class Fold(DefinedPattern):
    """What reductions share: ``(U, (U, T) → U, [T]n) → [U]1``; the first argument is the accumulator's start."""

    slots: ClassVar[tuple[str, ...]] = ("argument", "function")
    takes: ClassVar[int] = 2
    function_takes: ClassVar[tuple[int, ...]] = (2,)
    #: Whether the function must be declared associative, commutative and with a neutral element.
    needs_properties: ClassVar[bool] = False

    @property
    def function(self) -> Lambda:
        return self.functions[0]

    def type_step(self, start: Type, element: Type, rules: Rules) -> Type:
        """Type the function, whose result is the accumulator again, and check its properties."""
        if self.needs_properties:
            rules.same(start, element, f"the initial value of {self.keyword} and the elements")
        result = rules.call(self.function, [start, element])
        rules.same(start, result, f"the initial value of {self.keyword} and the result of its function")
        if self.needs_properties:
            properties = operator_properties(self.function)
            missing = [
                name
                for name, holds in (
                    ("associative", properties.associative),
                    ("commutative", properties.commutative),
                    ("with a neutral element", properties.has_neutral),
                )
                if not holds
            ]
            if missing:
                raise rules.refuse(
                    f"its function is not declared {', '.join(missing)}",
                    "a user function with these properties, or reduceSeq, which keeps the order",
                )
        return start

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[1], "its argument")
        return ArrayType(self.type_step(arguments[0], array.element, rules), constant(1))

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        total, array = arguments
        for at in range(length_of(array, machine.batch)):
            total = machine.call(self.function, [total, take(array, at, machine.batch)])
        return each_leaf(total, lambda leaf: np.expand_dims(leaf, machine.batch))


class ReduceSeq(Fold):
    """``reduceSeq`` folds from the left: ``(((z ⊕ x1) ⊕ x2) ... ⊕ xn)``; the accumulator may have another type.

    Of a ragged array it folds the chunks, whose length is a size of its own.
    """

    keyword: ClassVar[str] = "reduceSeq"

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        ragged = rules.resolve(arguments[1])
        if not isinstance(ragged, RaggedType):
            return super().type_rule(arguments, rules)
        chunk = ArrayType(ragged.element, rules.fresh_size("rest", 1, ragged.chunk + 1))
        return ArrayType(self.type_step(arguments[0], chunk, rules), constant(1))

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        ragged = machine.argument_types[1]
        if not isinstance(ragged, RaggedType):
            return super().meaning(arguments, machine)
        total, array = arguments
        batch, chunk = machine.batch, machine.size(ragged.chunk)
        parameter = self.function.parameters[1].typed
        assert isinstance(parameter, ArrayType)
        length = length_of(array, batch)
        for start in range(0, length, chunk):
            stop = min(start + chunk, length)
            machine.bind(parameter.length, stop - start)
            total = machine.call(self.function, [total, part(array, start, stop, batch)])
        return each_leaf(total, lambda leaf: np.expand_dims(leaf, batch))


class Reduce(Fold):
    """``reduce`` folds in any order, so its function must be associative and commutative with a neutral element."""

    keyword: ClassVar[str] = "reduce"
    needs_properties: ClassVar[bool] = True


class PartialReduce(Fold):
    """``partialReduce(m, z, f) : [T]n → [T]m`` reduces ``n`` elements to ``m`` whose reduction is that of all.

    Every result is the reduction of ``n / m`` consecutive elements, each beginning with ``z``.
    """

    keyword: ClassVar[str] = "partialReduce"
    slots: ClassVar[tuple[str, ...]] = ("nat", "argument", "function")
    needs_properties: ClassVar[bool] = True

    @property
    def results(self) -> Nat:
        results = self.statics[0]
        assert isinstance(results, Nat)
        return results

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[1], "its argument")
        rules.divide(array.length, self.results, "the results of partialReduce")
        return ArrayType(self.type_step(arguments[0], array.element, rules), self.results)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        batch, results = machine.batch, machine.size(self.results)
        length = length_of(arguments[1], batch)
        total = each_leaf(arguments[0], lambda leaf: np.expand_dims(leaf, batch))
        parts = reshape_axes(arguments[1], batch, 1, (results, length // results))
        for at in range(length // results):
            total = machine.call(self.function, [total, take(parts, at, batch + 1)], extra=1)
        return spread(total, results, batch)

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        results = size(self.results)
        if results >= 1 and lengths[1] % results == 0:
            return ""
        return f"{lengths[1]} elements cannot be reduced to {results} in equal parts"


class Iterate(DefinedPattern):
    """``iterate(m, f)`` applies ``f : [T]k → [T]g(k)`` to an array ``m`` times, each time to the last result."""

    keyword: ClassVar[str] = "iterate"
    slots: ClassVar[tuple[str, ...]] = ("nat", "function")
    function_takes: ClassVar[tuple[int, ...]] = (1,)

    @property
    def times(self) -> Nat:
        times = self.statics[0]
        assert isinstance(times, Nat)
        return times

    @property
    def function(self) -> Lambda:
        return self.functions[0]

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        size = rules.fresh_size("size", 1, None)
        result = rules.array(
            rules.call(self.function, [ArrayType(array.element, size)]), "the result of the iterated function"
        )
        rules.same(array.element, result.element, "the elements before and after an iteration")
        return ArrayType(array.element, self.final_length(array.length, size, result.length, rules))

    def final_length(self, length: Nat, size: Variable, step: Nat, rules: Rules) -> Nat:
        """Return h(m, n, g): the length after all iterations, given that of one as an expression over `size`."""
        if step == size:
            return length
        times = self.times
        if isinstance(times, Constant):
            if times.value > MOST_ITERATIONS:
                raise rules.refuse(f"{times.value} iterations that change the length", f"at most {MOST_ITERATIONS}")
            for _ in range(times.value):
                length = substitute(step, {size: length})
            return length
        factor = ratio(step, size)
        if factor is not None:
            return length * factor**times
        after = rules.fresh_size("size", 1, None)
        before = solve(step, after, size)
        quotient = None if before is None else ratio(before, after)
        if quotient is not None:
            return exact_div(length, quotient**times)
        raise rules.refuse(
            f"{times} iterations, each of which makes {step} elements of {size}",
            "a constant number of iterations, or a function that keeps, multiplies or divides the length",
        )

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        value = arguments[0]
        parameter = self.function.parameters[0].typed
        assert isinstance(parameter, ArrayType)
        for _ in range(machine.size(self.times)):
            machine.bind(parameter.length, length_of(value, machine.batch))
            value = machine.call(self.function, [value])
        return value


def ratio(dividend: Nat, divisor: Nat) -> Nat | None:
    """Return the quotient of two lengths in which no variable of the divisor remains, None if there is none."""
    try:
        quotient = exact_div(dividend, divisor)
    except ArithmeticRefusal:
        return None
    variables = free_variables(quotient)
    return None if any(variable in variables for variable in free_variables(divisor)) else quotient


class AnyScan(Fold):
    """What scans share: ``(U, (U, T) → U, [T]n) → [U]n``, all intermediate results of a reduction.

    An inclusive scan ends with the whole reduction; an exclusive one begins with the initial value.
    """

    exclusive: ClassVar[bool] = False

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[1], "its argument")
        return ArrayType(self.type_step(arguments[0], array.element, rules), array.length)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        total, array = arguments
        results: list[Value] = []
        for at in range(length_of(array, machine.batch)):
            before = total
            total = machine.call(self.function, [total, take(array, at, machine.batch)])
            results.append(before if self.exclusive else total)
        if not results:
            return none_of(total, machine.batch)
        return stack_values(results, machine.batch)


class ScanSeq(AnyScan):
    """``scanSeq`` is the inclusive scan in order: ``[z ⊕ x1, (z ⊕ x1) ⊕ x2, ...]``."""

    keyword: ClassVar[str] = "scanSeq"


class ScanExclusiveSeq(AnyScan):
    """``scanExclusiveSeq`` is the exclusive scan in order: ``[z, z ⊕ x1, ...]``."""

    keyword: ClassVar[str] = "scanExclusiveSeq"
    exclusive: ClassVar[bool] = True


class Scan(AnyScan):
    """``scan`` is the inclusive scan in any order of evaluation, so its function must be associative."""

    keyword: ClassVar[str] = "scan"
    needs_properties: ClassVar[bool] = True


class ScanExclusive(Scan):
    """``scanExclusive`` is the exclusive scan in any order of evaluation."""

    keyword: ClassVar[str] = "scanExclusive"
    exclusive: ClassVar[bool] = True


class AnyFilter(DefinedPattern):
    """What filters share: ``(p, rest) : [T]n → ([T]n, int)`` moves the elements that fulfil ``p`` to the front.

    They stay in their order. The array's length is known before the data is, so it stays: what follows the kept
    elements is ``rest``. The second component is how many were kept.
    """

    slots: ClassVar[tuple[str, ...]] = ("function", "argument")
    takes: ClassVar[int] = 2
    function_takes: ClassVar[tuple[int, ...]] = (1,)

    @property
    def function(self) -> Lambda:
        return self.functions[0]

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[1], "its argument")
        rules.same(arguments[0], array.element, "the elements of filter and what follows the kept ones")
        result = rules.resolve(rules.call(self.function, [array.element]))
        if not (isinstance(result, ScalarType) and not result.is_float):
            raise rules.refuse(f"its predicate returns {result}", "bool or an integer")
        return TupleType((array, int32))

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        rest, array = arguments
        batch, length = machine.batch, length_of(arguments[1], machine.batch)
        keep: Array = first_leaf(spread(machine.call(self.function, [array], extra=1), length, batch)) != 0
        order = np.argsort(~keep, axis=batch, kind="stable")
        count = keep.sum(axis=batch, dtype=np.int32)
        is_kept = np.arange(length) < np.expand_dims(count, batch)

        def choose(leaf: Array, other: Array) -> Array:
            own = leaf.ndim - batch - 1
            shape = np.broadcast_shapes(leaf.shape[:batch], order.shape[:batch])
            leaf = np.broadcast_to(leaf, (*shape, *leaf.shape[batch:]))
            at = np.broadcast_to(order, (*shape, length)).reshape(*shape, length, *(1,) * own)
            mask = is_kept.reshape(*is_kept.shape, *(1,) * own)
            return np.where(mask, np.take_along_axis(leaf, at, axis=batch), np.expand_dims(other, batch))

        return (two_leaves(array, rest, choose), count)


class Filter(AnyFilter):
    """``filter`` does not say how the elements are moved."""

    keyword: ClassVar[str] = "filter"


class FilterSeq(AnyFilter):
    """``filterSeq`` moves the elements one after the other, in one work-item."""

    keyword: ClassVar[str] = "filterSeq"


class MapAtomic(DefinedPattern):
    """``mapAtomic(g, f) : ([T]m, [X]n) → [T]m`` sets ``y[i] = f(y[i], u)`` with ``(i, u) = g(x)`` for every ``x``.

    ``g : X → (int, U)`` says which element of ``y`` is combined with what by ``f : (T, U) → T``. The elements come in
    any order, so ``f(f(y, u), v)`` must equal ``f(f(y, v), u)``: ``f`` must be declared associative and commutative.
    An index outside the array is refused by the interpreter, and must not occur in a kernel.
    """

    keyword: ClassVar[str] = "mapAtomic"
    slots: ClassVar[tuple[str, ...]] = ("function", "function")
    takes: ClassVar[int] = 2
    function_takes: ClassVar[tuple[int, ...]] = (1, 2)

    @property
    def update(self) -> Lambda:
        return self.functions[0]

    @property
    def combine(self) -> Lambda:
        return self.functions[1]

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], f"the array that {self.keyword} combines into")
        elements = rules.array(arguments[1], f"the elements of {self.keyword}")
        value = rules.fresh_type()
        update = rules.call(self.update, [elements.element])
        rules.same(update, TupleType((int32, value)), f"an update of {self.keyword} and a pair with an index")
        result = rules.call(self.combine, [array.element, value])
        rules.same(array.element, result, f"an element of {self.keyword} and the result of its function")
        properties = operator_properties(self.combine)
        if not (properties.associative and properties.commutative):
            raise rules.refuse(
                "its second function is not declared associative and commutative",
                "a user function with these properties",
            )
        return array

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        batch = machine.batch
        length, count = length_of(arguments[0], batch), length_of(arguments[1], batch)
        updates = spread(machine.call(self.update, [arguments[1]], extra=1), count, batch)
        index: Array = updates[0]
        outside = (index < 0) | (index >= length)
        if outside.any():
            raise machine.refuse(f"index {index[outside].flat[0]} is outside the array of {length} elements")
        shape = np.broadcast_shapes(*[shape_of_batch(value, batch) for value in (*arguments, index)])
        result = each_leaf(arguments[0], lambda leaf: np.broadcast_to(leaf, (*shape, *leaf.shape[batch:])).copy())
        for at in range(count):
            place = np.broadcast_to(take(index, at, batch), shape)
            where = (*np.indices(shape), place)
            old = pick(result, where)
            store(result, where, machine.call(self.combine, [old, take(updates[1], at, batch)]))
        return result


def shape_of_batch(value: Value, batch: int) -> tuple[int, ...]:
    """Return the batch axes that all arrays of a value broadcast to."""
    if isinstance(value, tuple):
        return np.broadcast_shapes(*[shape_of_batch(inner, batch) for inner in value])
    return tuple(value.shape[:batch])


def pick(value: Value, where: tuple[Array, ...]) -> Value:
    """Return the elements of an array value at an index of the array for each element of the batch."""
    return each_leaf(value, lambda leaf: leaf[where])


def store(value: Value, where: tuple[Array, ...], elements: Value) -> None:
    """Overwrite the elements of an array value at an index of the array for each element of the batch."""
    if isinstance(value, tuple):
        for inner, element in zip(value, elements):
            store(inner, where, element)
    else:
        value[where] = elements


PATTERNS: list[type[DefinedPattern]] = [
    Id, Map, Reduce, ReduceSeq, PartialReduce, Iterate, Scan, ScanExclusive, ScanSeq, ScanExclusiveSeq, Filter,
    FilterSeq, MapAtomic,
]  # fmt: skip
