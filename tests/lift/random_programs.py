"""Random well-typed Lift programs, with arguments for them.

A program grows from its inputs outwards: every step applies a pattern that fits the type so far. The lengths of the
inputs are sizes whose values are small numbers with many divisors, so that splits fit.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from drawloom import lift
from drawloom.lift.arithmetic import Nat, as_nat, evaluate, exact_div
from drawloom.lift.language.ir import Expression, Function, Lambda
from drawloom.lift.language.types import (
    ArrayType,
    ScalarType,
    TupleType,
    Type,
    VectorType,
    float32,
    float64,
    int32,
)

LENGTHS = (1, 2, 3, 4, 6, 8, 12)
ELEMENTS = (float32, int32, float64)
MOST_ELEMENTS = 4000

#: Functions of one scalar, for every scalar type.
UNARY = [
    lift.user_function("T square(T x) { return x * x; }"),
    lift.user_function("T twice(T x) { return x + x; }"),
    lift.user_function("T positive(T x) { return x > (T)0 ? x : (T)0; }"),
    lift.user_function("T fold(T x) { T r = x; if (r > (T)3) { r = r - (T)6; } else { r += (T)1; } return r; }"),
    lift.user_function(
        "T count(T x) { T r = (T)0; for (int i = 0; i < 3; i++) { if (r > x) break; r += (T)1; } return r; }"
    ),
]
TO_PAIR = lift.user_function("(T, T) both(T x) { return tuple(x, -x); }")
IS_EVEN = lift.user_function("bool isSmall(T x) { return x < (T)2; }")


class Generator:
    """Draws one program: `program` a high-level one, `low_level_program` one that is well-formed as a kernel."""

    #: What `step` chooses from; None for all.
    steps: Any = None
    #: The map of steps that do not draw one.
    plain_map: Any = staticmethod(lift.map)

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.values: dict[Any, int] = {}
        self.sizes = [lift.size(name) for name in ("N", "M", "K")]
        for size in self.sizes:
            self.values[size] = self.random.choice(LENGTHS)
        self.inputs: list[tuple[Expression, Type]] = []

    def program(self, steps: int = 5) -> tuple[Lambda, list[Any]]:
        """Return a program and arguments for it."""
        types = [self.input_type() for _ in range(self.random.randint(1, 3))]

        def body(*parameters: Expression) -> Any:
            self.inputs = list(zip(parameters, types, strict=True))
            expression, type = self.choose(self.inputs)
            for _ in range(self.random.randint(1, steps)):
                expression, type = self.step(expression, type, 2)
            return expression

        return self.build(types, body)

    def low_level_program(self) -> tuple[Lambda, list[Any]]:
        """Return a program of one kernel and arguments for it: layout, a nest of parallel maps, layout again."""
        types: list[Type] = [self.plain_input_type() for _ in range(self.random.randint(1, 2))]

        def body(*parameters: Expression) -> Any:
            self.inputs = list(zip(parameters, types, strict=True))
            expression, type = self.choose(self.inputs)
            expression, type = self.layout(expression, type, READ_STEPS, 2)
            expression, type = self.parallel(expression, type)
            return self.layout(expression, type, WRITE_STEPS, 1)[0]

        return self.build(types, body)

    def build(self, types: list[Type], body: Callable[..., Any]) -> tuple[Lambda, list[Any]]:
        """Return a program whose parameters are called x, y and z, and arguments for it."""
        names = ", ".join(["x", "y", "z"][: len(types)])
        function = eval(f"lambda {names}: body({names})", {"body": body})
        return lift.fun(*types, function, name="generated"), [self.argument(type) for type in types]

    # Low-level programs

    def plain_input_type(self) -> Type:
        lengths = [self.choose([*self.sizes, as_nat(self.choose(LENGTHS))]) for _ in range(self.random.randint(1, 3))]
        return lift.array(self.choose((float32, int32)), *lengths)

    def layout(self, value: Any, type: Type, steps: Any, most: int) -> tuple[Any, Type]:
        """Apply patterns that only reorganise data."""
        for _ in range(self.random.randint(0, most)):
            assert isinstance(type, ArrayType)
            found: Found = self.choose(steps)(self, value, type, 0)
            if found is not None and self.elements(found[1]) <= MOST_ELEMENTS:
                value, type = found
        return value, type

    def parallel(self, value: Any, type: Type) -> tuple[Any, Type]:
        """Map over one or two dimensions with work-items."""
        assert isinstance(type, ArrayType)
        inner = type.element
        form = self.random.randrange(6 if isinstance(inner, ArrayType) else 4)
        if form >= 4:
            assert isinstance(inner, ArrayType)
            function, result = self.sequential(inner.element)
            if form == 4:
                nest = lift.map_glb(lift.map_glb(function, dim=0), dim=1)
            else:
                nest = lift.map_wrg(lift.map_lcl(function))
            return nest(value), ArrayType(ArrayType(result, inner.length), type.length)
        function, result = self.sequential(inner)
        mapped = ArrayType(result, type.length)
        if form == 0:
            return lift.map_glb(function, value), mapped
        if form == 1:
            chunk = self.random.randint(1, 5)
            return value >> lift.split_guarded(chunk) >> lift.map_wrg(lift.map_lcl(function)) >> lift.join, mapped
        length = self.value(type.length)
        chunk = self.choose([one for one in range(1, length + 1) if length % one == 0])
        if form == 2:
            return value >> lift.split(chunk) >> lift.map_wrg(lift.map_lcl(function)) >> lift.join, mapped
        copy = copier(inner)
        staged = lift.to_local(lift.map_lcl(copy)) >> lift.gather(lift.reverse) >> lift.map_lcl(function)
        return value >> lift.split(chunk) >> lift.map_wrg(staged) >> lift.join, mapped

    def sequential(self, type: Type) -> tuple[Any, Type]:
        """Return a function that one work-item runs, and the type of its result."""
        if isinstance(type, ScalarType):
            first, second = self.choose(UNARY), self.choose(UNARY)
            kind = self.random.randrange(3)
            if kind == 0:
                return first, type
            return (lift.to_private(first) >> second if kind == 1 else lift.to_global(first)), type
        if isinstance(type, TupleType):
            if all(element == type.elements[0] for element in type.elements) and isinstance(
                type.elements[0], ScalarType
            ):
                return lift.fun(None, lambda pair: lift.add(pair[0], pair[1])), type.elements[0]
            index = self.random.randrange(len(type.elements))
            function, result = self.sequential(type.elements[index])
            return lift.get(index) >> function, result
        assert isinstance(type, ArrayType)
        if isinstance(type.element, ScalarType) and self.random.random() < 0.5:
            reduced = lift.reduce_seq(0, lift.add) >> lift.to_global(lift.map_seq(lift.id))
            return reduced, ArrayType(type.element, as_nat(1))
        function, result = self.sequential(type.element)
        return lift.map_seq(function), ArrayType(result, type.length)

    def choose(self, options: Any) -> Any:
        return self.random.choice(options)

    def value(self, length: Nat) -> int:
        return evaluate(length, self.values)

    # Inputs

    def input_type(self) -> Type:
        element: Type = self.choose(ELEMENTS)
        if self.random.random() < 0.2:
            element = TupleType((element, self.choose(ELEMENTS)))
        elif self.random.random() < 0.15:
            element = VectorType(self.choose(ELEMENTS), self.choose((2, 3, 4)))
        lengths = [self.choose([*self.sizes, as_nat(self.choose(LENGTHS))]) for _ in range(self.random.randint(1, 3))]
        return lift.array(element, *lengths)

    def argument(self, type: Type, shape: tuple[int, ...] = ()) -> Any:
        if isinstance(type, ArrayType):
            return self.argument(type.element, (*shape, self.value(type.length)))
        if isinstance(type, TupleType):
            return tuple(self.argument(element, shape) for element in type.elements)
        if isinstance(type, VectorType):
            return self.argument(type.element, (*shape, type.width))
        assert isinstance(type, ScalarType)
        numbers = np.random.default_rng(self.random.randrange(1 << 30)).integers(-4, 5, shape)
        return numbers.astype(type.dtype)

    # Steps

    def step(self, value: Expression, type: Type, depth: int) -> tuple[Expression, Type]:
        """Apply one pattern that fits the value's type."""
        if isinstance(type, ArrayType):
            for _ in range(20):
                found: Found = self.choose(self.steps or ARRAY_STEPS)(self, value, type, depth)
                if found is not None and self.elements(found[1]) <= MOST_ELEMENTS:
                    return found
            return value, type
        return self.element_step(value, type)

    def elements(self, type: Type) -> int:
        if isinstance(type, ArrayType):
            return self.value(type.length) * self.elements(type.element)
        if isinstance(type, TupleType):
            return sum(self.elements(element) for element in type.elements)
        return type.width if isinstance(type, VectorType) else 1

    def element_step(self, value: Any, type: Type) -> tuple[Any, Type]:
        """Apply a user function to a scalar, vector or tuple."""
        if isinstance(type, ScalarType):
            kind = self.random.randrange(4)
            if kind == 0:
                return value + self.choose((1, 2)), type
            if kind == 1:
                return TO_PAIR(value), TupleType((type, type))
            return self.choose(UNARY)(value), type
        if isinstance(type, VectorType):
            if self.random.random() < 0.5:
                return lift.vectorize(type.width, self.choose(UNARY))(value), type
            return lift.mult(value, value), type
        if isinstance(type, TupleType):
            index = self.random.randrange(len(type.elements))
            scalars = all(isinstance(element, ScalarType) for element in type.elements)
            if scalars and type.elements[0] == type.elements[-1] and self.random.random() < 0.5:
                return lift.add(value[0], value[1]), type.elements[0]
            return value[index], type.elements[index]
        return value, type

    def function(self, type: Type, depth: int) -> tuple[Callable[[Any], Any] | Function, Type]:
        """Return a function of one argument of a type, and the type of its result."""
        result: list[Type] = []

        def body(x: Any) -> Any:
            value, found = x, type
            for _ in range(self.random.randint(1, 2)):
                value, found = self.step(value, found, depth - 1)
            result.append(found)
            return value if value is not x else lift.id(x)

        made = lift.map(body).functions[0]
        return made, result[0]

    def mapper(self) -> Callable[..., Any]:
        mapper: Callable[..., Any] = self.choose((lift.map, lift.map, lift.map_seq))
        return mapper


Found = tuple[Any, Type] | None


def step_map(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if depth == 0:
        return None
    function, result = self.function(type.element, depth)
    return self.mapper()(function)(value), ArrayType(result, type.length)


def step_split(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    length = self.value(type.length)
    chunk = self.choose([one for one in range(1, length + 1) if length % one == 0])
    return lift.split(chunk, value), ArrayType(ArrayType(type.element, as_nat(chunk)), exact_div(type.length, chunk))


def step_guarded(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    """Map over the chunks of a guarded split, by a function that keeps the length or reduces the chunk."""
    if depth == 0:
        return None
    chunk = self.random.randint(1, 5)
    if isinstance(type.element, ScalarType) and self.random.random() < 0.5:
        total = lift.reduce_seq(0, lift.add)
        chunks = -(-type.length // chunk)
        totals = self.plain_map(total, lift.split_guarded(chunk, value))
        return totals, ArrayType(ArrayType(type.element, as_nat(1)), chunks)
    function, result = self.function(type.element, 0)
    mapped = self.plain_map(self.plain_map(function), lift.split_guarded(chunk, value))
    return lift.join(mapped), ArrayType(result, type.length)


def step_join(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    inner = type.element
    if not isinstance(inner, ArrayType):
        return None
    return lift.join(value), ArrayType(inner.element, type.length * inner.length)


def step_transpose(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    inner = type.element
    if not isinstance(inner, ArrayType):
        return None
    made = lift.transpose if self.random.random() < 0.5 else lift.transpose_by_gather(type.length, inner.length)
    return made(value), ArrayType(ArrayType(inner.element, type.length), inner.length)


def step_reorder(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    by = self.random.randint(1, 3)
    function = self.choose((lift.reverse, lambda i, n: (i + by) % n))
    return self.choose((lift.gather, lift.scatter))(function, value), type


def step_zip(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if isinstance(type.element, TupleType) and self.random.random() < 0.5:
        at = self.random.randrange(len(type.element.elements))
        return lift.unzip(value)[at], ArrayType(type.element.elements[at], type.length)
    others = [
        (other, found) for other, found in self.inputs if isinstance(found, ArrayType) and found.length == type.length
    ]
    other, found = self.choose([*others, (lift.gather(lift.reverse, value), type)])
    return lift.zip(value, other), ArrayType(TupleType((type.element, found.element)), type.length)


def step_reduce(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if not isinstance(type.element, ScalarType):
        return None
    kind = self.random.randrange(4)
    if kind == 0:
        return lift.reduce(0, lift.add)(value), ArrayType(type.element, as_nat(1))
    if kind == 1:
        return lift.reduce_seq(1, lambda a, x: a + x * 2)(value), ArrayType(type.element, as_nat(1))
    if kind == 2:
        return lift.scan_seq(0, lift.add)(value), type
    return lift.scan_exclusive(0, lift.add)(value), type


def step_slide(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    length = self.value(type.length)
    size = self.random.randint(1, min(length, 3))
    windows = type.length - size + 1
    return lift.slide(size, 1, value), ArrayType(ArrayType(type.element, as_nat(size)), windows)


def step_pad(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    length = self.value(type.length)
    left, right = self.random.randint(0, min(2, length)), self.random.randint(0, min(2, length))
    padded = ArrayType(type.element, type.length + left + right)
    if isinstance(type.element, ScalarType) and self.random.random() < 0.4:
        return lift.pad_value(left, right, 1, value), padded
    boundary: Any = self.choose(("clamp", "mirror", "wrap", lambda i, n: (n - i) % n, lambda i, n: (i * 3) % n))
    return lift.pad(left, right, boundary, value), padded


def step_part(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    count = self.random.randint(0, self.value(type.length))
    if count > 0 and self.random.random() < 0.5:
        return lift.take(count, value), ArrayType(type.element, as_nat(count))
    if count < self.value(type.length):
        return lift.drop(count, value), ArrayType(type.element, type.length - count)
    return lift.concat(value, value), ArrayType(type.element, type.length * 2)


def step_vector(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if isinstance(type.element, VectorType):
        return lift.as_scalar(value), ArrayType(type.element.element, type.length * type.element.width)
    if not isinstance(type.element, ScalarType):
        return None
    widths = [width for width in (2, 3, 4) if self.value(type.length) % width == 0]
    if not widths:
        return None
    width = self.choose(widths)
    return lift.as_vector(width, value), ArrayType(VectorType(type.element, width), exact_div(type.length, width))


def step_iterate(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if not isinstance(type.element, ScalarType):
        return None
    return lift.iterate(self.random.randint(0, 3), self.plain_map(self.choose(UNARY)))(value), type


def step_filter(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if not isinstance(type.element, ScalarType):
        return None
    return lift.filter(IS_EVEN, 0)(value)[0], type


def step_atomic(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if not isinstance(type.element, ScalarType) or type.element == float64:
        return None
    update = lift.user_function("(int, T) update(T x) { return tuple((int)x & 3, (T)1); }")
    start = lift.replicate(4, lift.literal(0, type.element))
    return lift.map_atomic(update, lift.add)(start, value), ArrayType(type.element, as_nat(4))


def step_share(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    """Use one value twice, through the parameter of a lambda."""
    return value >> (lambda shared: lift.concat(shared, lift.gather(lift.reverse, shared))), ArrayType(
        type.element, type.length * 2
    )


def copier(type: Type) -> Any:
    """Return a function that copies a value in one work-item."""
    return lift.map_seq(copier(type.element)) if isinstance(type, ArrayType) else lift.id


#: Layout that a kernel may read through, and write through.
READ_STEPS = [step_split, step_join, step_transpose, step_reorder, step_zip, step_slide, step_pad, step_part]
WRITE_STEPS = [step_split, step_join, step_transpose, step_reorder]

ARRAY_STEPS = [
    step_map, step_map, step_map, step_split, step_guarded, step_join, step_transpose, step_reorder, step_zip,
    step_reduce, step_slide, step_pad, step_part, step_vector, step_iterate, step_filter, step_atomic, step_share,
]  # fmt: skip
