"""Memory allocation (thesis 4.3.2, algorithm 1): a buffer for what is computed, none for what is only rearranged.

A buffer has the dimensions of the value, and before them those of the parallel maps around it that its address space
needs: in global memory every work-item, in local memory every work-item of a group has a part of its own. Private
memory belongs to one work-item, so a dimension that parallel maps share holds only the work-item's own elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.lift.arithmetic import (
    ONE,
    ZERO,
    Constant,
    Nat,
    as_nat,
    ceil_div,
    free_variables,
    is_at_most,
    simplify,
    upper_bound,
)
from drawloom.lift.arithmetic.expression import Minimum
from drawloom.lift.codegen.launch import GLB, GROUP_KINDS, LANE, LCL, WARP, WRG
from drawloom.lift.codegen.scope import Scope, Thunk
from drawloom.lift.codegen.syntax import FOR, Loop
from drawloom.lift.language.infer import name_function
from drawloom.lift.language.ir import Call, Expression, Lambda, Parameter
from drawloom.lift.language.patterns.algorithmic import AnyMap, Fold, Iterate
from drawloom.lift.language.patterns.layout import Scatter
from drawloom.lift.language.patterns.opencl import MapGlb, MapLane, MapLcl, MapWarp, ParallelMap, Wrapper
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, Type, VectorType, boolean, uint8
from drawloom.lift.memory.buffers import GLOBAL, LOCAL, PRIVATE, Buffer, Distribution
from drawloom.lift.views.views import Forest, MemoryView, UnsupportedView

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator

#: Elements of a private array: more would not fit registers.
MOST_PRIVATE = 4096
#: The maps whose elements work-items share, each in registers of its own.
SHARING: Final = {MapGlb: GLB, MapLcl: LCL, MapWarp: WARP, MapLane: LANE}


class Allocator:
    """Makes the buffers of a kernel."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.buffers: list[Buffer] = []

    def allocate(
        self, type: Type, space: str, shared: list[Distribution | None], base: str = "", role: str = "temporary"
    ) -> MemoryView:
        """Return the view of new memory for a value.

        Args:
            type: Of the value, with the lengths of the scope.
            space: The address space.
            shared: How work-items share the value's dimensions; used for private memory.
            base: The buffers' names begin with it.
            role: As of `Buffer`.
        """
        name = base or {GLOBAL: "buffer", LOCAL: "tile", PRIVATE: "p"}[space]
        prefix, path = self.own_parts(space) if role == "temporary" else ([], ())
        before = len(self.buffers)
        forest = self.forest(type, space, prefix, shared, name, role)
        for buffer in self.buffers[before:]:
            buffer.parts = tuple(self.own_loops(space)) if role == "temporary" else ()
        return MemoryView(forest, path, self.convert)

    def own_parts(self, space: str) -> tuple[list[Nat], tuple[Nat, ...]]:
        """Return the dimensions and indices of the parallel loops around, as far as the address space needs them."""
        loops = self.own_loops(space)
        return [loop.stop for loop in loops], tuple([loop.variable for loop in loops])

    def own_loops(self, space: str) -> list[Loop]:
        kinds = {GLOBAL: (GLB, WRG, *GROUP_KINDS), LOCAL: GROUP_KINDS, PRIVATE: ()}[space]
        return [loop for loop in self.generator.loops if loop.kind in kinds]

    def variable(self, name: str, type: Type) -> Buffer:
        """Return a new variable of a work-item."""
        return self.add(Buffer(self.generator.fresh(name), PRIVATE, type, []))

    def add(self, buffer: Buffer) -> Buffer:
        buffer.loops = tuple(self.generator.loops)
        call = self.generator.current
        if call is not None:
            buffer.origin = f"{call.position}: {name_function(call.function)}"
        self.buffers.append(buffer)
        return buffer

    def forest(
        self, type: Type, space: str, lengths: list[Nat], shared: list[Distribution | None], name: str, role: str
    ) -> Forest:
        if isinstance(type, ArrayType):
            return self.forest(type.element, space, [*lengths, type.length], shared, name, role)
        if isinstance(type, RaggedType):
            raise UnsupportedView("it accumulates the chunks of a guarded split, which are joined first")
        if isinstance(type, TupleType):
            parts = [
                self.forest(element, space, lengths, shared, f"{name}_{at}", role)
                for at, element in enumerate(type.elements)
            ]
            return Forest(None, parts)
        assert isinstance(type, ScalarType | VectorType)
        return Forest(self.buffer(type, space, lengths, shared, name, role), [])

    def buffer(
        self,
        type: ScalarType | VectorType,
        space: str,
        lengths: list[Nat],
        shared: list[Distribution | None],
        name: str,
        role: str,
    ) -> Buffer:
        element: Type = uint8 if type == boolean and space != PRIVATE else type
        own = list(lengths)
        width = 0
        if isinstance(type, VectorType) and space != PRIVATE:
            element, width = type.element, type.width
            own.append(as_nat(width))
        own = [self.whole(length) if space == GLOBAL else self.bounded(length, space) for length in own]
        marks: list[Distribution | None] = [None] * len(own)
        if space == PRIVATE:
            for at, mark in enumerate(shared[: len(own)]):
                if mark is not None:
                    own[at] = self.rounds(own[at], mark)
                    marks[at] = mark
        unique = name if role != "temporary" else self.generator.functions.fresh_array_name(name)
        made = Buffer(unique, space, element, own, marks, role, None, width)
        if space == PRIVATE:
            self.check_private(made)
        return self.add(made)

    def bounded(self, length: Nat, space: str) -> Nat:
        """Return the length, or the greatest that it can be."""
        length = simplify(length)
        if isinstance(length, Constant):
            return length
        bound = constant_bound(length)
        if bound is not None:
            return bound
        unknown = ", ".join([f'"{size}": ...' for size in free_variables(length)])
        raise self.generator.refuse(
            f"an array of {length} elements in {space} memory, whose size is not known when the kernel is compiled",
            f"known sizes: compile(..., sizes={{{unknown}}}), or a constant split before",
        )

    def whole(self, length: Nat) -> Nat:
        """Return a length that the host can compute: for one that changes inside the kernel, the greatest."""
        changing = [*[loop.variable for loop in self.generator.loops], *self.generator.counted]
        if not any(variable in changing for variable in free_variables(length)):
            return length
        bound = upper_bound(simplify(length))
        if bound is None:
            raise self.generator.refuse(
                f"an array of {length} elements in global memory, a length that changes inside the kernel",
                "known sizes: compile(..., sizes={...})",
            )
        return bound

    def rounds(self, length: Nat, mark: Distribution) -> Nat:
        """Return how many elements of a shared dimension one work-item holds."""
        step = self.generator.threads.count(mark.kind, mark.dimension)
        if self.generator.switches.control_flow and is_at_most(length, step):
            return ONE
        return simplify(ceil_div(length, step))

    def check_private(self, buffer: Buffer) -> None:
        count = buffer.constant_count
        if count is None:
            raise self.generator.refuse(
                f"{buffer.count} elements in private memory for each work-item",
                "a known number of work-items: compile(..., local_size=...)",
            )
        if count > MOST_PRIVATE:
            raise self.generator.refuse(f"{count} elements in private memory", f"at most {MOST_PRIVATE}, or toLocal")

    def convert(self, buffer: Buffer, path: list[Nat]) -> Nat:
        """Return the index of an element, given that of each dimension."""
        total: Nat = ZERO
        for at, length in enumerate(buffer.lengths):
            mark = buffer.shared[at]
            own = path[at] if mark is None else self.own_index(buffer, path[at], mark)
            total = total * length + own
        return simplify(total) if self.generator.switches.array_access else total

    def own_index(self, buffer: Buffer, at: Nat, mark: Distribution) -> Nat:
        """Return which of a work-item's own elements an iteration of a parallel map means."""
        loop = self.generator.parallel.get(at)
        if loop is None or (loop.kind, loop.dimension) != (mark.kind, mark.dimension):
            raise UnsupportedView(
                f"{buffer.name} is private, and an element of it is read by another work-item than wrote it: toLocal"
            )
        if loop.form != FOR:
            return ZERO
        return (at - loop.start) // loop.step


def constant_bound(length: Nat) -> Constant | None:
    """Return a number that a length never exceeds, if one is known."""
    if isinstance(length, Minimum):
        found = [bound for bound in map(constant_bound, length.operands) if bound is not None]
        return min(found, key=lambda bound: bound.value) if found else None
    bound = upper_bound(length)
    return bound if isinstance(bound, Constant) else None


def find_distribution(generator: Generator, expression: Expression, scope: Scope) -> list[Distribution | None]:
    """Return how work-items share the dimensions of a computed value, outermost first, as far as that is known."""
    if isinstance(expression, Parameter):
        bound = scope.values.get(expression)
        return find_distribution(generator, bound.expression, bound.scope) if isinstance(bound, Thunk) else []
    if not isinstance(expression, Call):
        return []
    function = expression.function
    if isinstance(function, Lambda):
        inner = scope
        for parameter, argument in zip(function.parameters, expression.arguments):
            inner = inner.bind(parameter, Thunk(argument, scope))
        return find_distribution(generator, function.body, inner)
    if isinstance(function, Wrapper):
        return find_distribution(generator, function.function.body, scope)
    if isinstance(function, AnyMap):
        mark: Distribution | None = None
        if isinstance(function, ParallelMap) and type(function) in SHARING:
            mark = Distribution(SHARING[type(function)], function.dimension)
        return [mark, *find_distribution(generator, function.function.body, scope)]
    if isinstance(function, Iterate):
        return find_distribution(generator, function.function.body, scope)
    if isinstance(function, Fold):
        return [None, *find_distribution(generator, function.function.body, scope)]
    if isinstance(function, Scatter):
        return find_distribution(generator, expression.arguments[0], scope)
    if function.__class__.__name__ == "Head":
        return find_distribution(generator, expression.arguments[0], scope)[1:]
    return []
