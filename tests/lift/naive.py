"""A second meaning of Lift, one element at a time over Python lists: what the batched interpreter is compared with.

It is written from the definitions in the thesis, section 2.4.2, and shares nothing with the patterns' own meanings but
the user functions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from drawloom.lift import infer_types
from drawloom.lift.arithmetic import Variable, evaluate
from drawloom.lift.language.index_functions import LENGTH, PADDED_INDEX
from drawloom.lift.language.ir import Call, Expression, Lambda, Literal, Parameter, Pattern
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, Type, VectorType
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.meaning import run_function


def run(program: Lambda, arguments: list[Any], sizes: dict[Variable, int]) -> Any:
    """Return the value of a program: nested lists, tuples, NumPy scalars, and NumPy arrays for vectors."""
    program = infer_types(program)
    values = [to_lists(value, one.typed) for value, one in zip(arguments, program.parameters, strict=True)]
    return Naive(dict(sizes)).apply(program, values)


def to_lists(value: Any, type: Type) -> Any:
    """Convert an argument: an array of tuples is given as a tuple of arrays."""
    if isinstance(type, ArrayType):
        length = first(value).shape[0]
        return [to_lists(pick(value, at), type.element) for at in range(length)]
    if isinstance(type, TupleType):
        return tuple(to_lists(one, element) for one, element in zip(value, type.elements, strict=True))
    return np.asarray(value)


def first(value: Any) -> Any:
    while isinstance(value, tuple):
        value = value[0]
    return value


def pick(value: Any, at: int) -> Any:
    return tuple(pick(one, at) for one in value) if isinstance(value, tuple) else value[at]


def to_arrays(value: Any, type: Type) -> Any:
    """Convert a result to the form that `interpret` returns."""
    if isinstance(type, ArrayType | RaggedType):
        elements = [to_arrays(one, type.element) for one in value]
        return gather(elements)
    if isinstance(type, TupleType):
        return tuple(to_arrays(one, element) for one, element in zip(value, type.elements, strict=True))
    return np.asarray(value)


def gather(elements: list[Any]) -> Any:
    if elements and isinstance(elements[0], tuple):
        return tuple(gather([one[at] for one in elements]) for at in range(len(elements[0])))
    return np.array(elements)


class Naive:
    def __init__(self, sizes: dict[Variable, int]) -> None:
        self.sizes = sizes
        self.values: dict[Parameter, Any] = {}

    def apply(self, function: Lambda, arguments: list[Any]) -> Any:
        for parameter, value in zip(function.parameters, arguments, strict=True):
            self.values[parameter] = value
        return self.expression(function.body)

    def expression(self, expression: Expression) -> Any:
        if isinstance(expression, Parameter):
            return self.values[expression]
        if isinstance(expression, Literal):
            type = expression.typed
            if isinstance(type, VectorType):
                return np.broadcast_to(np.array(expression.value, type.element.dtype), (type.width,))
            assert isinstance(type, ScalarType)
            return np.array(expression.value, type.dtype)
        assert isinstance(expression, Call)
        arguments = [self.expression(argument) for argument in expression.arguments]
        function = expression.function
        if isinstance(function, Lambda):
            return self.apply(function, arguments)
        if isinstance(function, UserFunction):
            types = tuple(argument.typed for argument in expression.arguments)
            return run_function(function.instantiate(types), arguments, 0)
        assert isinstance(function, Pattern)
        return self.pattern(expression, function, arguments)

    def size(self, length: Any) -> int:
        return evaluate(length, self.sizes)

    def pattern(self, call: Call, pattern: Pattern, arguments: list[Any]) -> Any:
        keyword = pattern.keyword
        f: Callable[..., Any] = lambda *values: self.apply(pattern.functions[0], list(values))  # noqa: E731
        if keyword in ("map", "mapSeq", "mapGlb", "mapWrg", "mapLcl", "mapWarp", "mapLane"):
            return self.map(call, pattern, arguments[0])
        if keyword in ("toGlobal", "toLocal", "toPrivate", "kernel"):
            return f(*arguments)
        found = getattr(self, "do_" + keyword)
        return found(pattern, f, *arguments)

    def map(self, call: Call, pattern: Pattern, xs: list[Any]) -> list[Any]:
        function = pattern.functions[0]
        type = function.parameters[0].typed
        if isinstance(call.arguments[0].typed, RaggedType) and isinstance(type, ArrayType):
            results = []
            for x in xs:
                assert isinstance(type.length, Variable)
                self.sizes[type.length] = len(x)
                results.append(self.apply(function, [x]))
            return results
        return [self.apply(function, [x]) for x in xs]

    def do_id(self, pattern: Any, f: Any, x: Any) -> Any:
        return x

    def do_reduce(self, pattern: Any, f: Any, z: Any, xs: list[Any]) -> list[Any]:
        for x in xs:
            z = f(z, x)
        return [z]

    def do_reduceSeq(self, pattern: Any, f: Any, z: Any, xs: list[Any]) -> list[Any]:
        type = pattern.functions[0].parameters[1].typed
        for x in xs:
            if isinstance(type, ArrayType) and isinstance(type.length, Variable):
                self.sizes[type.length] = len(x)
            z = f(z, x)
        return [z]

    def do_partialReduce(self, pattern: Any, f: Any, z: Any, xs: list[Any]) -> list[Any]:
        length = len(xs) // self.size(pattern.statics[0])
        return [self.do_reduce(pattern, f, z, xs[at : at + length])[0] for at in range(0, len(xs), length)]

    def do_scan(self, pattern: Any, f: Any, z: Any, xs: list[Any]) -> list[Any]:
        return [self.do_reduce(pattern, f, z, xs[: at + 1])[0] for at in range(len(xs))]

    do_scanSeq = do_scan

    def do_scanExclusive(self, pattern: Any, f: Any, z: Any, xs: list[Any]) -> list[Any]:
        return [self.do_reduce(pattern, f, z, xs[:at])[0] for at in range(len(xs))]

    do_scanExclusiveSeq = do_scanExclusive

    def do_iterate(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        type = pattern.functions[0].parameters[0].typed
        for _ in range(self.size(pattern.statics[0])):
            self.sizes[type.length] = len(xs)
            xs = f(xs)
        return xs

    def do_filter(self, pattern: Any, f: Any, rest: Any, xs: list[Any]) -> Any:
        kept = [x for x in xs if f(x)]
        return (kept + [rest] * (len(xs) - len(kept)), np.int32(len(kept)))

    do_filterSeq = do_filter

    def do_mapAtomic(self, pattern: Any, f: Any, ys: list[Any], updates: list[Any]) -> list[Any]:
        result = list(ys)
        for element in updates:
            index, value = f(element)
            result[int(index)] = self.apply(pattern.functions[1], [result[int(index)], value])
        return result

    do_mapAtomicGlb = do_mapAtomic
    do_mapAtomicLcl = do_mapAtomic

    def do_split(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        chunk = self.size(pattern.statics[0])
        return [xs[at : at + chunk] for at in range(0, len(xs), chunk)]

    do_splitGuarded = do_split

    def do_join(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        return [x for chunk in xs for x in chunk]

    def do_gather(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        return [xs[at] for at in self.order(pattern, len(xs))]

    def do_scatter(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        result = list(xs)
        for at, to in enumerate(self.order(pattern, len(xs))):
            result[to] = xs[at]
        return result

    def order(self, pattern: Any, length: int) -> list[int]:
        from drawloom.lift.arithmetic import as_nat

        return [self.size(pattern.statics[0].at(as_nat(at), as_nat(length))) for at in range(length)]

    def do_transpose(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        return [list(column) for column in zip(*xs, strict=True)]

    def do_lookup(self, pattern: Any, f: Any, xs: list[Any], indices: list[Any]) -> list[Any]:
        return [xs[int(index)] for index in indices]

    def do_zip(self, pattern: Any, f: Any, *arrays: list[Any]) -> list[Any]:
        return list(zip(*arrays, strict=True))

    def do_unzip(self, pattern: Any, f: Any, xs: list[Any]) -> Any:
        return tuple(list(component) for component in zip(*xs, strict=True))

    def do_get(self, pattern: Any, f: Any, x: Any) -> Any:
        return x[pattern.statics[0]]

    def do_tuple(self, pattern: Any, f: Any, *parts: Any) -> Any:
        return parts

    def do_slide(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        size, step = map(self.size, pattern.statics)
        return [xs[at : at + size] for at in range(0, len(xs) - size + 1, step)]

    def do_pad(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        left, right = self.size(pattern.statics[0]), self.size(pattern.statics[1])
        before = {"clamp": xs[:1] * left, "wrap": xs[len(xs) - left :], "mirror": xs[:left][::-1]}
        after = {"clamp": xs[-1:] * right, "wrap": xs[:right], "mirror": xs[len(xs) - right :][::-1]}
        return before[pattern.statics[2]] + xs + after[pattern.statics[2]]

    def do_padIndex(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        left, right = self.size(pattern.statics[0]), self.size(pattern.statics[1])
        body, values = pattern.boundary.body, {**self.sizes, LENGTH: len(xs)}
        outside = {at: evaluate(body, {**values, PADDED_INDEX: at}) for at in range(-left, len(xs) + right)}
        return [xs[at if 0 <= at < len(xs) else outside[at]] for at in range(-left, len(xs) + right)]

    def do_padValue(self, pattern: Any, f: Any, value: Any, xs: list[Any]) -> list[Any]:
        left, right = map(self.size, pattern.statics)
        return [value] * left + xs + [value] * right

    def do_head(self, pattern: Any, f: Any, xs: list[Any]) -> Any:
        return xs[0]

    def do_take(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        return xs[: self.size(pattern.statics[0])]

    def do_drop(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        return xs[self.size(pattern.statics[0]) :]

    def do_concat(self, pattern: Any, f: Any, *arrays: list[Any]) -> list[Any]:
        return [x for array in arrays for x in array]

    def do_replicate(self, pattern: Any, f: Any, x: Any) -> list[Any]:
        return [x] * self.size(pattern.statics[0])

    def do_array(self, pattern: Any, f: Any, *elements: Any) -> list[Any]:
        return list(elements)

    def do_iota(self, pattern: Any, f: Any) -> list[Any]:
        return [np.int32(at) for at in range(self.size(pattern.statics[0]))]

    def do_asVector(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        width = pattern.statics[0]
        return [np.array(xs[at : at + width]) for at in range(0, len(xs), width)]

    def do_asScalar(self, pattern: Any, f: Any, xs: list[Any]) -> list[Any]:
        return [x for vector in xs for x in vector]

    def do_vectorize(self, pattern: Any, f: Any, *vectors: Any) -> Any:
        width = pattern.statics[0]
        return np.array([f(*[np.asarray(v)[at] if np.ndim(v) else v for v in vectors]) for at in range(width)])

    def do_dot(self, pattern: Any, f: Any, x: Any, y: Any) -> Any:
        total = x[0] * y[0]
        for at in range(1, len(x)):
            total = total + x[at] * y[at]
        return total
