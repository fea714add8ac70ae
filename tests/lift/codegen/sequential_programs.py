"""Random programs that code is generated for: every work-item computes one row in private memory, and stores it."""

from typing import Any

from drawloom import lift
from drawloom.lift.arithmetic import as_nat
from drawloom.lift.language.ir import Lambda
from drawloom.lift.language.types import ArrayType, TupleType, Type, VectorType
from tests.lift import random_programs
from tests.lift.random_programs import Found, Generator

LENGTHS = (1, 2, 3, 4, 6)


def step_reduce(self: Generator, value: Any, type: ArrayType, depth: int) -> Found:
    if isinstance(type.element, ArrayType | TupleType | VectorType):
        return None
    kind = self.random.randrange(3)
    if kind == 0:
        return lift.reduce_seq(1, lambda a, x: a + x * 2)(value), ArrayType(type.element, as_nat(1))
    scan = lift.scan_seq if kind == 1 else lift.scan_exclusive_seq
    return scan(0, lift.add)(value), type


def copy(type: Type) -> Any:
    """Return a function that copies a value element by element."""
    return lift.map_seq(copy(type.element)) if isinstance(type, ArrayType) else lift.id


#: The steps of the generator that have code: no filter and no atomic map, and sequential reductions.
EXCLUDED = (random_programs.step_reduce, random_programs.step_filter, random_programs.step_atomic)
STEPS = [step for step in random_programs.ARRAY_STEPS if step not in EXCLUDED] + [step_reduce]


class RowGenerator(Generator):
    """Draws programs of the form ``mapGlb(toGlobal(copy) ∘ toPrivate(row))`` over rows of constant lengths."""

    steps = STEPS
    plain_map = staticmethod(lift.map_seq)

    def mapper(self) -> Any:
        return lift.map_seq

    def rows(self) -> tuple[Lambda, list[Any]]:
        """Return a program, and arguments for it."""
        element = self.choose(random_programs.ELEMENTS)
        row: Type = lift.array(element, *[self.choose(LENGTHS) for _ in range(self.random.randint(1, 2))])
        whole = lift.array(row, self.sizes[0])
        result: list[Type] = []

        def compute(x: Any) -> Any:
            value, type = x, row
            for _ in range(self.random.randint(1, 4)):
                value, type = self.step(value, type, 2)
            result.append(type)
            return value

        function = lift.fun(row, compute)
        stored = lift.to_global(copy(result[0]))
        program = lift.fun(
            whole, lambda xs: lift.map_glb(lambda x: stored(lift.to_private(function)(x)), xs), name="rows"
        )
        return program, [self.argument(whole)]
