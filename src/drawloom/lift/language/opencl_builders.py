"""A Python function for each pattern that says how a GPU is used; `pattern_builders.py` has the others."""

from __future__ import annotations

from typing import Any, Final

from drawloom.lift.language.apply import as_lambda
from drawloom.lift.language.builders import FunctionLike, as_lambda_or_function, call, require_int
from drawloom.lift.language.pattern_builders import atomic, mapped
from drawloom.lift.language.patterns import opencl
from drawloom.lift.language.patterns.base import DefinedPattern
from drawloom.lift.language.positions import caller
from drawloom.lift.language.types import VECTOR_WIDTHS

as_scalar: Final = opencl.AsScalar()
dot: Final = opencl.Dot()


def map_seq(function: FunctionLike, *arguments: Any) -> Any:
    """Apply a function to every element in order, in one work-item.

    Example:
        >>> from drawloom.lift import id
        >>> map_seq(id)
        mapSeq(id)
    """
    return mapped(opencl.MapSeq, (), function, arguments)


def map_glb(function: FunctionLike, *arguments: Any, dim: int = 0) -> Any:
    """Apply a function to every element, distributed over all work-items of a dimension.

    Args:
        function: A Lift function, or a Python function of one expression.
        arguments: The array, or nothing.
        dim: 0, 1 or 2.

    Example:
        >>> from drawloom.lift import id
        >>> map_glb(id, dim=1)
        mapGlb(1)(id)
    """
    return mapped(opencl.MapGlb, (require_int("mapGlb", dim, 0, opencl.DIMENSIONS),), function, arguments)


def map_wrg(function: FunctionLike, *arguments: Any, dim: int = 0) -> Any:
    """Apply a function to every element, distributed over the work-groups of a dimension.

    Example:
        >>> from drawloom.lift import id
        >>> map_wrg(map_lcl(id))
        mapWrg(0)(mapLcl(0)(id))
    """
    return mapped(opencl.MapWrg, (require_int("mapWrg", dim, 0, opencl.DIMENSIONS),), function, arguments)


def map_lcl(function: FunctionLike, *arguments: Any, dim: int = 0) -> Any:
    """Apply a function to every element, distributed over the work-items of a work-group in a dimension.

    Example:
        >>> from drawloom.lift import id
        >>> map_lcl(id)
        mapLcl(0)(id)
    """
    return mapped(opencl.MapLcl, (require_int("mapLcl", dim, 0, opencl.DIMENSIONS),), function, arguments)


def map_warp(function: FunctionLike, *arguments: Any, dim: int = 0) -> Any:
    """Apply a function to every element, distributed over the sub-groups (warps) of a work-group.

    Example:
        >>> from drawloom.lift import id
        >>> map_warp(map_lane(id))
        mapWarp(0)(mapLane(0)(id))
    """
    return mapped(opencl.MapWarp, (require_int("mapWarp", dim, 0, opencl.DIMENSIONS),), function, arguments)


def map_lane(function: FunctionLike, *arguments: Any, dim: int = 0) -> Any:
    """Apply a function to every element, distributed over the lanes of a sub-group (warp).

    Example:
        >>> from drawloom.lift import id
        >>> map_lane(id)
        mapLane(0)(id)
    """
    return mapped(opencl.MapLane, (require_int("mapLane", dim, 0, opencl.DIMENSIONS),), function, arguments)


def map_atomic_glb(update: FunctionLike, combine: FunctionLike, *arguments: Any, dim: int = 0) -> Any:
    """Combine atomically into an array, with the elements distributed over all work-items of a dimension.

    Example:
        >>> from drawloom.lift import add, id
        >>> map_atomic_glb(id, add)
        mapAtomicGlb(0)(id, add)
    """
    statics = (require_int("mapAtomicGlb", dim, 0, opencl.DIMENSIONS),)
    return atomic(opencl.MapAtomicGlb, statics, update, combine, arguments)


def map_atomic_lcl(update: FunctionLike, combine: FunctionLike, *arguments: Any, dim: int = 0) -> Any:
    """Combine atomically into an array, with the elements distributed over the work-items of a work-group.

    Example:
        >>> from drawloom.lift import add, id
        >>> map_atomic_lcl(id, add)
        mapAtomicLcl(0)(id, add)
    """
    statics = (require_int("mapAtomicLcl", dim, 0, opencl.DIMENSIONS),)
    return atomic(opencl.MapAtomicLcl, statics, update, combine, arguments)


def wrapped(pattern: type[DefinedPattern], function: FunctionLike) -> Any:
    position = caller()
    made = as_lambda(as_lambda_or_function(function, position), position)
    return call(pattern, (), (made,), ())


def to_global(function: FunctionLike) -> Any:
    """Store the result of a function in global memory.

    Example:
        >>> from drawloom.lift import id
        >>> to_global(map_seq(id))
        toGlobal(mapSeq(id))
    """
    return wrapped(opencl.ToGlobal, function)


def to_local(function: FunctionLike) -> Any:
    """Store the result of a function in local memory.

    Example:
        >>> from drawloom.lift import id
        >>> to_local(map_lcl(id))
        toLocal(mapLcl(0)(id))
    """
    return wrapped(opencl.ToLocal, function)


def to_private(function: FunctionLike) -> Any:
    """Store the result of a function in private memory.

    Example:
        >>> from drawloom.lift import id
        >>> to_private(map_seq(id))
        toPrivate(mapSeq(id))
    """
    return wrapped(opencl.ToPrivate, function)


def kernel(function: FunctionLike) -> Any:
    """Run a function as a kernel of its own, so that a program can be a sequence of kernels.

    Example:
        >>> from drawloom.lift import id
        >>> kernel(map_glb(id)) >> kernel(map_glb(id))
        kernel(mapGlb(0)(id)) ∘ kernel(mapGlb(0)(id))
    """
    return wrapped(opencl.KernelCall, function)


def as_vector(width: int, *arguments: Any) -> Any:
    """Read ``width`` scalars as one vector: ``asVector(w) : [T]n → [Tw](n/w)``.

    Example:
        >>> as_vector(4)
        asVector(4)
    """
    return call(opencl.AsVector, (require_int("asVector", width, 2, VECTOR_WIDTHS),), (), arguments)


def vectorize(width: int, function: FunctionLike) -> Any:
    """Apply a scalar function to the components of vectors: ``vectorize(w, f) : (T1w, ...) → Uw``.

    Example:
        >>> from drawloom.lift import mult
        >>> vectorize(4, mult)
        vectorize(4, mult)
    """
    position = caller()
    made = as_lambda(as_lambda_or_function(function, position), position)
    return call(opencl.Vectorize, (require_int("vectorize", width, 2, VECTOR_WIDTHS),), (made,), ())
