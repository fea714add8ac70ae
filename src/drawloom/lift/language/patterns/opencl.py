"""The patterns that say how a GPU is used: parallel maps, address spaces, vectors and kernels (thesis 2.4.2.2)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from drawloom.lift.arithmetic import as_nat
from drawloom.lift.language.ir import Lambda
from drawloom.lift.language.patterns.algorithmic import AnyMap, MapAtomic
from drawloom.lift.language.patterns.base import (
    Array,
    DefinedPattern,
    Machine,
    Rules,
    Sizes,
    Value,
    first_leaf,
    reshape_axes,
    spread,
)
from drawloom.lift.language.types import ArrayType, ScalarType, Type, TypeVariable, VectorType, boolean
from drawloom.lift.language.user_functions.builtins import dot

DIMENSIONS = (0, 1, 2)


class ParallelMap(AnyMap):
    """A map whose elements are distributed over work-items of one dimension: 0, 1 or 2."""

    slots: ClassVar[tuple[str, ...]] = ("dimension", "function")

    @property
    def dimension(self) -> int:
        dimension = self.statics[0]
        assert isinstance(dimension, int)
        return dimension


class MapGlb(ParallelMap):
    """``mapGlb(d)(f)`` distributes the elements over all work-items of dimension ``d``."""

    keyword: ClassVar[str] = "mapGlb"


class MapWrg(ParallelMap):
    """``mapWrg(d)(f)`` distributes the elements over the work-groups of dimension ``d``."""

    keyword: ClassVar[str] = "mapWrg"


class MapLcl(ParallelMap):
    """``mapLcl(d)(f)`` distributes the elements over the work-items of a work-group in dimension ``d``."""

    keyword: ClassVar[str] = "mapLcl"


class MapWarp(ParallelMap):
    """``mapWarp(d)(f)`` distributes the elements over the sub-groups (warps) of a work-group in dimension ``d``."""

    keyword: ClassVar[str] = "mapWarp"


class MapLane(ParallelMap):
    """``mapLane(d)(f)`` distributes the elements over the work-items of a sub-group (the lanes of a warp)."""

    keyword: ClassVar[str] = "mapLane"


class MapSeq(AnyMap):
    """``mapSeq(f)`` applies a function to every element in order, in one work-item."""

    keyword: ClassVar[str] = "mapSeq"


class MapAtomicGlb(MapAtomic):
    """``mapAtomicGlb(d)(g, f)`` is mapAtomic with its elements distributed over all work-items of dimension ``d``."""

    keyword: ClassVar[str] = "mapAtomicGlb"
    slots: ClassVar[tuple[str, ...]] = ("dimension", "function", "function")

    @property
    def dimension(self) -> int:
        dimension = self.statics[0]
        assert isinstance(dimension, int)
        return dimension


class MapAtomicLcl(MapAtomicGlb):
    """``mapAtomicLcl(d)(g, f)`` is mapAtomic with its elements distributed over the work-items of a work-group."""

    keyword: ClassVar[str] = "mapAtomicLcl"


class Wrapper(DefinedPattern):
    """A pattern that takes a function and is one of the same type."""

    slots: ClassVar[tuple[str, ...]] = ("function",)

    @property
    def function(self) -> Lambda:
        return self.functions[0]

    def count_arguments(self, functions: tuple[Lambda, ...]) -> int:
        return functions[0].arity

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        return rules.call(self.function, arguments)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return machine.call(self.function, arguments)


class ToGlobal(Wrapper):
    """``toGlobal(f)`` stores the result of ``f`` in global memory, which all work-items share."""

    keyword: ClassVar[str] = "toGlobal"


class ToLocal(Wrapper):
    """``toLocal(f)`` stores the result of ``f`` in local memory, which a work-group shares."""

    keyword: ClassVar[str] = "toLocal"


class ToPrivate(Wrapper):
    """``toPrivate(f)`` stores the result of ``f`` in private memory, the registers of one work-item."""

    keyword: ClassVar[str] = "toPrivate"


class KernelCall(Wrapper):
    """``kernel(f)`` runs ``f`` as a kernel of its own; a program may be a composition of several kernels."""

    keyword: ClassVar[str] = "kernel"


class AsVector(DefinedPattern):
    """``asVector(w) : [T]n → [Tw](n/w)`` reads ``w`` scalars as one vector; ``w`` must divide ``n``."""

    keyword: ClassVar[str] = "asVector"
    slots: ClassVar[tuple[str, ...]] = ("int",)

    @property
    def width(self) -> int:
        width = self.statics[0]
        assert isinstance(width, int)
        return width

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        element = rules.resolve(array.element)
        if not isinstance(element, ScalarType) or element == boolean:
            raise rules.refuse(f"it is applied to {rules.resolve(array)}", "an array of numbers")
        vectors = rules.divide(array.length, as_nat(self.width), "the vectors of asVector")
        return ArrayType(VectorType(element, self.width), vectors)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        length = first_leaf(arguments[0]).shape[machine.batch]
        return reshape_axes(arguments[0], machine.batch, 1, (length // self.width, self.width))

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        return f"{lengths[0]} elements cannot be read as vectors of {self.width}" if lengths[0] % self.width else ""


class AsScalar(DefinedPattern):
    """``asScalar : [Tw]n → [T](w × n)`` reads vectors as their components."""

    keyword: ClassVar[str] = "asScalar"

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        array = rules.array(arguments[0], "its argument")
        vector = rules.resolve(array.element)
        if not isinstance(vector, VectorType):
            raise rules.refuse(f"it is applied to {rules.resolve(array)}", "an array of vectors")
        return ArrayType(vector.element, array.length * vector.width)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        shape = first_leaf(arguments[0]).shape
        return reshape_axes(arguments[0], machine.batch, 2, (shape[-1] * shape[-2],))


class Vectorize(DefinedPattern):
    """``vectorize(w, f) : (T1w, ...) → Uw`` applies ``f : (T1, ...) → U`` to the components of vectors.

    A scalar argument is used for every component.
    """

    keyword: ClassVar[str] = "vectorize"
    slots: ClassVar[tuple[str, ...]] = ("int", "function")

    @property
    def width(self) -> int:
        width = self.statics[0]
        assert isinstance(width, int)
        return width

    @property
    def function(self) -> Lambda:
        return self.functions[0]

    def count_arguments(self, functions: tuple[Lambda, ...]) -> int:
        return functions[0].arity

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        scalars: list[Type] = []
        vectors = 0
        for type in map(rules.resolve, arguments):
            if isinstance(type, VectorType) and type.width == self.width:
                scalars.append(type.element)
                vectors += 1
            elif not isinstance(type, ScalarType | TypeVariable):
                raise rules.refuse(f"an argument is {type}", f"a vector of {self.width} components, or a scalar")
            else:
                scalars.append(type)
        if vectors == 0:
            raise rules.refuse("no argument is a vector", f"a vector of {self.width} components")
        result = rules.resolve(rules.call(self.function, scalars))
        if not isinstance(result, ScalarType) or result == boolean:
            raise rules.refuse(f"its function returns {result}", "a number")
        return VectorType(result, self.width)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        batch = machine.batch
        taken: list[Array] = []
        for value, type in zip(arguments, machine.argument_types):
            taken.append(value if isinstance(type, VectorType) else np.expand_dims(value, batch))
        return spread(machine.call(self.function, taken, extra=1), self.width, batch)


class Dot(DefinedPattern):
    """``dot : (Tw, Tw) → T`` is OpenCL's built-in dot product of two floating-point vectors."""

    keyword: ClassVar[str] = "dot"
    takes: ClassVar[int] = 2

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        rules.same(arguments[0], arguments[1], "the arguments of dot")
        vector = rules.resolve(arguments[0])
        if not (isinstance(vector, VectorType) and vector.element.is_float and vector.width <= 4):
            raise rules.refuse(f"it is applied to {vector}", "vectors of at most 4 floating-point numbers")
        return vector.element

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        return dot(arguments[0], arguments[1])


PATTERNS: list[type[DefinedPattern]] = [
    MapGlb, MapWrg, MapLcl, MapWarp, MapLane, MapSeq, MapAtomicGlb, MapAtomicLcl, ToGlobal, ToLocal, ToPrivate,
    KernelCall, AsVector, AsScalar, Vectorize, Dot,
]  # fmt: skip
