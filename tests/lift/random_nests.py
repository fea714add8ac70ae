"""Random nests of patterns: well-typed, but only by chance well-formed.

Where `random_programs.py` draws programs that have code by their construction, this generator puts every pattern
wherever it has a type: layout patterns between parallel maps, address spaces around any of them, sequential patterns
in any depth. Well-formedness, the code generator and the barrier insertion have to refuse or to compile what comes.
"""

from collections.abc import Callable
from typing import Any

from drawloom import Error, lift
from drawloom.lift import fun, infer_types, is_low_level
from drawloom.lift.arithmetic import as_nat
from drawloom.lift.language.ir import Function, Lambda
from drawloom.lift.language.types import (
    ArrayType,
    RaggedType,
    ScalarType,
    TupleType,
    Type,
    VectorType,
    float32,
    int32,
)
from tests.lift.random_programs import UNARY, Generator, copier

LENGTHS = (1, 2, 3, 4, 6, 8, 12)
MOST_ELEMENTS = 2000

MAPS = ("map_glb", "map_wrg", "map_lcl", "map_warp", "map_lane", "map_seq")
#: The maps that make sense inside another one: None outside all of them.
MAPS_INSIDE: dict[str | None, tuple[str, ...]] = {
    None: ("map_glb", "map_wrg", "map_wrg", "map_wrg"),
    "map_glb": ("map_seq",),
    "map_wrg": ("map_lcl", "map_lcl", "map_lcl", "map_lcl", "map_warp"),
    "map_warp": ("map_lane",),
    "map_lane": ("map_seq",),
    "map_lcl": ("map_seq",),
    "map_seq": ("map_seq",),
}
#: The address spaces of the results of a map.
SPACES: dict[str, tuple[Any, ...]] = {
    "map_glb": (None,),
    "map_wrg": (None,),
    "map_lcl": (None, lift.to_local, lift.to_local, lift.to_global),
    "map_warp": (None, lift.to_local),
    "map_lane": (None, lift.to_local),
    "map_seq": (None, None, lift.to_private, lift.to_global),
}
#: What copies the results of a map to global memory.
COPIES = {"map_wrg": "map_lcl", "map_glb": "map_seq"}
#: How often a map may stand anywhere.
WILD = 0.03
#: Layout patterns that results can be written through.
WRITE_LAYOUT = (lift.split(1), lift.split(2), lift.join, lift.transpose, lift.gather(lift.reverse), lift.as_scalar)


class NestGenerator(Generator):
    """Draws one program of a seed by `nest`."""

    def nest(self) -> tuple[Lambda, list[Any]]:
        """Return a program, and arguments for it."""
        lengths = [self.choose([*self.sizes, as_nat(self.choose(LENGTHS))]) for _ in range(self.random.randint(2, 3))]
        type = lift.array(self.choose((float32, int32)), *lengths)
        function, _ = self.pipeline(type, None, 4)
        return fun(type, lambda x: function(x), name="nest"), [self.argument(type)]

    def pipeline(self, type: Type, around: str | None, depth: int) -> tuple[Function, Type]:
        """Return a function of an argument of a type, as a sequence of patterns, and the type of its result."""
        function: Function | None = None
        is_mapped = False
        for _ in range(self.random.randint(1, 3 if depth else 1) + (around is None)):
            is_wild = self.random.random() < WILD
            if around is None and is_mapped and not is_wild:
                step = self.choose(WRITE_LAYOUT)
                result = type_of_result(step, type)
                if result is None:
                    continue
            else:
                step, result = self.one_step(type, around, depth)
            is_mapped = is_mapped or is_low_level(step)
            function = step if function is None else function >> step
            type = result
        assert function is not None
        return function, type

    def one_step(self, type: Type, around: str | None, depth: int) -> tuple[Function, Type]:
        for _ in range(10):
            step = self.any_step(type, around, depth)
            result = None if step is None else type_of_result(step, type)
            if step is not None and result is not None and self.count(result) <= MOST_ELEMENTS:
                return step, result
        return lift.fun(None, lambda x: lift.id(x)), type

    def count(self, type: Type) -> int:
        """Return how many scalars a type has; chunks of any length count as whole ones."""
        try:
            if isinstance(type, RaggedType):
                return (self.value(type.total) + self.value(type.chunk)) * self.count(type.element)
            if isinstance(type, ArrayType):
                return self.value(type.length) * self.count(type.element)
        except Error:
            return 12  # a length that is bound by a pattern
        if isinstance(type, TupleType):
            return sum(map(self.count, type.elements))
        return type.width if isinstance(type, VectorType) else 1

    def any_step(self, type: Type, around: str | None, depth: int) -> Function | None:
        if isinstance(type, ArrayType | RaggedType):
            kind = self.random.random()
            if depth and kind < (0.8 if around in (None, "map_wrg", "map_warp") else 0.4):
                return self.mapped(type.element, around, depth)
            if depth and kind < (0.83 if around in (None, "map_wrg", "map_warp") else 0.7):
                return self.sequential_step(type, around, depth)
            return self.layout_step()
        if isinstance(type, TupleType):
            return self.choose((lift.get(0), lift.get(1), lift.fun(None, lambda pair: lift.add(pair[0], pair[1]))))
        if isinstance(type, VectorType):
            return lift.vectorize(type.width, self.choose(UNARY))
        return self.choose((*UNARY, lift.id, lift.fun(None, lambda x: x + 1), lift.to_private(self.choose(UNARY))))

    def mapped(self, element: Type, around: str | None, depth: int) -> Function:
        """Return a map, in an address space of its own now and then."""
        name = self.choose(MAPS if self.random.random() < WILD else MAPS_INSIDE[around])
        inner, result = self.pipeline(element, name, depth - 1)
        if name in COPIES and isinstance(result, ArrayType) and self.random.random() < 0.9:
            copy: Any = getattr(lift, COPIES[name])(copier(result.element))
            inner = inner >> lift.to_global(copy)
        builder: Callable[..., Any] = getattr(lift, name)
        made = builder(inner) if name == "map_seq" else builder(inner, dim=int(self.random.random() < 0.05))
        space = self.choose(SPACES[name])
        return made if space is None else space(made)

    def sequential_step(self, type: ArrayType | RaggedType, around: str | None, depth: int) -> Function | None:
        kind = self.random.randrange(4)
        if kind == 3:
            inner, result = self.pipeline(type, around, depth - 1)
            times = self.random.randint(0, 3) if result == type else self.random.randint(1, 2)
            return lift.iterate(times, inner)
        if not isinstance(type.element, ScalarType):
            return None
        if kind == 2:
            return lift.scan_seq(0, lift.add)
        step = lift.add if kind == 0 else (lambda sum, x: sum + x * 2)
        return lift.reduce_seq(0, step)

    def layout_step(self) -> Function:
        by = self.random.randint(1, 4)
        return self.choose(
            (
                lift.split(by),
                lift.split_guarded(by),
                lift.join,
                lift.join,
                lift.transpose,
                lift.gather(lift.reverse),
                lift.scatter(lift.reverse),
                lift.gather(lambda i, n: (i + by) % n),
                lift.slide(min(by, 3), 1),
                lift.pad(1, by % 2, self.choose(("clamp", "mirror", "wrap"))),
                lift.pad_value(by % 2, 1, 0),
                lift.take(by),
                lift.drop(by),
                lift.at(by - 1),
                lift.as_vector(self.choose((2, 4))),
                lift.as_scalar,
                lift.fun(None, lambda x: lift.zip(x, lift.gather(lift.reverse, x))),
                lift.fun(None, lambda x: lift.concat(x, lift.gather(lift.reverse, x))),
                lift.fun(None, lambda x: lift.unzip(x)[0]),
            )
        )


def type_of_result(function: Function, type: Type) -> Type | None:
    """Return the type of a function's result for an argument of a type; None if it is ill-typed."""
    try:
        return infer_types(fun(type, lambda x: function(x))).body.typed
    except Error:
        return None
