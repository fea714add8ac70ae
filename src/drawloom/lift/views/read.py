"""The read views of layout patterns (thesis table 4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawloom.lift.arithmetic import (
    Nat,
    as_nat,
    ceil_div,
    index,
    is_at_most,
    is_less,
    is_nonnegative,
    less,
    minimum,
    select,
    simplify,
    variable,
)
from drawloom.lift.codegen.data_indices import declare_data_index
from drawloom.lift.codegen.scope import Scope
from drawloom.lift.codegen.syntax import Index
from drawloom.lift.language.index_functions import BoundaryFunction, IndexFunction
from drawloom.lift.language.ir import Call, Lambda
from drawloom.lift.language.patterns import layout, opencl
from drawloom.lift.language.patterns.algorithmic import AnyMap
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, VectorType
from drawloom.lift.views.inverses import invert
from drawloom.lift.views.views import (
    AsScalarView,
    AsVectorView,
    Branches,
    ConstantView,
    FunctionView,
    JoinView,
    ReorderView,
    ReplicateView,
    SlideView,
    SplitView,
    TransposeView,
    UnsupportedView,
    UnzipView,
    View,
    ZipView,
    concat_view,
    pad_value_view,
    pad_view,
    shift_view,
    tidy,
)

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator


def chunk_count(type: RaggedType) -> Nat:
    return ceil_div(type.total, type.chunk)


def chunk_length(type: RaggedType, at: Nat) -> Nat:
    """Return the number of elements of chunk `at` of a guarded split."""
    return simplify(minimum(type.chunk, type.total - at * type.chunk))


def array_type(call: Call, scope: Scope, argument: int = 0) -> ArrayType:
    type = scope.type(call.arguments[argument].typed)
    assert isinstance(type, ArrayType)
    return type


def inner_length(type: ArrayType | RaggedType) -> Nat:
    """Return the length of the rows of an array of arrays, or of the chunks of a guarded split."""
    if isinstance(type, RaggedType):
        return type.chunk
    assert isinstance(type.element, ArrayType)
    return type.element.length


def read_view(generator: Generator, call: Call, scope: Scope) -> View:
    """Return the view of a layout pattern's result, after computing what its arguments compute."""
    function = call.function
    views = [generator.value(argument, scope.within(None)) for argument in call.arguments]
    if isinstance(function, AnyMap):
        return map_view(generator, call, function.function, views[0], scope)
    if isinstance(function, layout.Split | layout.SplitGuarded):
        return SplitView(views[0], scope.nat(function.chunk))
    if isinstance(function, layout.Join):
        type = scope.type(call.arguments[0].typed)
        assert isinstance(type, ArrayType | RaggedType)
        return JoinView(views[0], inner_length(type))
    if isinstance(function, layout.Gather):
        length = array_type(call, scope).length
        order = IndexFunction(scope.nat(function.index.body))
        return ReorderView(views[0], lambda at: order.at(at, length), str(order.body))
    if isinstance(function, layout.Scatter):
        length = array_type(call, scope).length
        return ReorderView(views[0], invert(IndexFunction(scope.nat(function.index.body)), length), "inverse")
    if isinstance(function, layout.Transpose):
        return TransposeView(views[0])
    if isinstance(function, layout.Zip | layout.MakeTuple):
        return ZipView(views)
    if isinstance(function, layout.Unzip):
        assert isinstance(call.typed, TupleType)
        return ZipView([UnzipView(views[0], at) for at in range(len(call.typed.elements))])
    if isinstance(function, layout.Get):
        return views[0].component(function.index)
    if isinstance(function, layout.Head):
        return views[0].at(as_nat(0))
    if isinstance(function, layout.Slide):
        return SlideView(views[0], scope.nat(function.step))
    if isinstance(function, layout.Pad):
        return pad_view(views[0], scope.nat(function.left), array_type(call, scope).length, function.boundary)
    if isinstance(function, layout.PadIndex):
        boundary = BoundaryFunction(scope.nat(function.boundary.body))
        ends = scope.nat(function.left), scope.nat(function.right)
        return boundary_view(views[0], boundary, array_type(call, scope).length, ends)
    if isinstance(function, layout.PadValue):
        return pad_value_view(views[1], scope.nat(function.left), array_type(call, scope, 1).length, views[0])
    if isinstance(function, layout.Take):
        return views[0]
    if isinstance(function, layout.Drop):
        return shift_view(views[0], scope.nat(function.count))
    if isinstance(function, layout.Concat):
        return concat_view(views, [array_type(call, scope, at).length for at in range(len(views))])
    if isinstance(function, layout.Replicate):
        return ReplicateView(views[0])
    if isinstance(function, layout.ArrayOf):
        return concat_view([ReplicateView(view) for view in views], [as_nat(1)] * len(views))
    if isinstance(function, layout.Iota):
        return FunctionView(lambda at: ConstantView(Index(at)), "iota")
    if isinstance(function, layout.Lookup):
        return lookup_view(generator, call, views, scope)
    if isinstance(function, opencl.AsVector):
        element = array_type(call, scope).element
        assert isinstance(element, ScalarType)
        return AsVectorView(views[0], function.width, element)
    if isinstance(function, opencl.AsScalar):
        vector = array_type(call, scope).element
        assert isinstance(vector, VectorType)
        return AsScalarView(views[0], vector.width)
    raise generator.refuse("the code generator does not compile this pattern yet")


def map_view(generator: Generator, call: Call, function: Lambda, array: View, scope: Scope) -> View:
    """Return the view of a map whose function only rearranges data."""
    type = scope.type(call.arguments[0].typed)

    def element(at: Nat) -> View:
        inner = scope.bind(function.parameters[0], array.at(at))
        if isinstance(type, RaggedType):
            parameter = function.parameters[0].typed
            assert isinstance(parameter, ArrayType)
            inner = inner.with_size(parameter.length, chunk_length(type, at))
        return generator.value(function.body, inner)

    return FunctionView(element, "MapView", array.space)


def boundary_view(base: View, boundary: BoundaryFunction, length: Nat, ends: tuple[Nat, Nat]) -> View:
    """Return the view of an array with elements of its own before and after it, chosen by a function.

    Raises:
        UnsupportedView: The function is not proved to return an index of the array.
    """
    left, right = ends
    for start, stop in ((simplify(-left), as_nat(0)), (length, simplify(length + right))):
        if is_at_most(stop, start):
            continue
        at = simplify(boundary.at(variable("outside", start, stop), length))
        if not (is_nonnegative(at) and is_less(at, length)):
            raise UnsupportedView(
                f"its index function i → {boundary.body} is not proved to return an index of the array's {length} "
                "elements; max(..., 0), min(..., n - 1) and (...) mod n are"
            )
    inside = index("inside", length)
    keeps = simplify(boundary.at(inside, length)) is inside

    def place(at: Nat) -> Nat:
        own = tidy(at - left)
        if keeps:
            return boundary.at(own, length)
        below = select(less(own, length), own, boundary.at(own, length))
        return select(less(own, 0), boundary.at(own, length), below)

    return ReorderView(base, place, f"pad i → {boundary.body}")


def lookup_view(generator: Generator, call: Call, views: list[View], scope: Scope) -> View:
    """Return the view of elements whose indices are data."""
    length = array_type(call, scope).length

    def element(at: Nat) -> View:
        if Branches.depth:
            raise UnsupportedView("its index would be read where only one of two arrays is")
        return views[0].at(declare_data_index(generator, call, views[1].at(at).load(), length))

    return FunctionView(element, "LookupView", views[0].space)
