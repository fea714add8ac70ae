"""The write views of layout patterns: a result that is written is handed on to what computes the arguments.

Each write view is the read view of the pattern's dual (thesis 4.3.3): what is written through ``join`` is split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.lift.arithmetic import Constant, Nat, as_nat, simplify
from drawloom.lift.codegen.scope import Scope
from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.language.ir import Call, Expression, Lambda, Parameter
from drawloom.lift.language.patterns import layout, opencl
from drawloom.lift.language.patterns.algorithmic import AnyMap
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, VectorType
from drawloom.lift.views.inverses import invert
from drawloom.lift.views.read import array_type, chunk_length, inner_length
from drawloom.lift.views.views import (
    AsScalarView,
    AsVectorView,
    FunctionView,
    HeadView,
    JoinView,
    ReorderView,
    SplitView,
    TransposeView,
    UnzipView,
    View,
    ZipView,
    part_target,
    shift_view,
)

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator


#: Patterns in whose results an element of the argument has no single place.
REPEATING: Final = (
    layout.Slide, layout.Pad, layout.PadIndex, layout.PadValue, layout.Replicate, layout.Lookup
)  # fmt: skip


def write_arguments(generator: Generator, call: Call, target: View, scope: Scope) -> None:
    """Compute the arguments of a layout pattern into where its result belongs."""
    for argument, view in zip(call.arguments, write_views(generator, call, target, scope)):
        generator.into(argument, view, scope.within(None))


def write_views(generator: Generator, call: Call, target: View, scope: Scope) -> list[View]:
    """Return where each argument of a layout pattern is written."""
    function = call.function
    if isinstance(function, layout.Join):
        type = scope.type(call.arguments[0].typed)
        assert isinstance(type, ArrayType | RaggedType)
        return [SplitView(target, inner_length(type))]
    if isinstance(function, layout.Split | layout.SplitGuarded):
        return [JoinView(target, scope.nat(function.chunk))]
    if isinstance(function, layout.Scatter):
        length = array_type(call, scope).length
        order = IndexFunction(scope.nat(function.index.body))
        return [ReorderView(target, lambda at: order.at(at, length), str(order.body))]
    if isinstance(function, layout.Gather):
        length = array_type(call, scope).length
        return [ReorderView(target, invert(IndexFunction(scope.nat(function.index.body)), length), "inverse")]
    if isinstance(function, layout.Transpose):
        return [TransposeView(target)]
    if isinstance(function, layout.Zip):
        return [UnzipView(target, at) for at in range(len(call.arguments))]
    if isinstance(function, layout.MakeTuple):
        return [target.component(at) for at in range(len(call.arguments))]
    if isinstance(function, layout.Unzip):
        assert isinstance(call.typed, TupleType)
        parts = [target.component(at) for at in range(len(call.typed.elements))]
        return [FunctionView(lambda at: ZipView([part.at(at) for part in parts]), "ZipView", target.space)]
    if isinstance(function, layout.Concat):
        views: list[View] = []
        offset = as_nat(0)
        for at in range(len(call.arguments)):
            views.append(shift_view(target, offset))
            offset = simplify(offset + array_type(call, scope, at).length)
        return views
    if isinstance(function, layout.Take):
        return [part_target(target, as_nat(0), scope.nat(function.count))]
    if isinstance(function, layout.Drop):
        return [part_target(target, scope.nat(function.count), None)]
    if isinstance(function, layout.ArrayOf):
        return [target.at(as_nat(at)) for at in range(len(call.arguments))]
    if isinstance(function, layout.Head):
        length = simplify(array_type(call, scope).length)
        if isinstance(length, Constant) and length.value == 1:
            return [HeadView(target)]
        raise generator.refuse(f"{length} elements are computed, of which one is written", "head before the map")
    if isinstance(function, opencl.AsVector):
        return [AsScalarView(target, function.width)]
    if isinstance(function, opencl.AsScalar):
        vector = array_type(call, scope).element
        assert isinstance(vector, VectorType) and isinstance(vector.element, ScalarType)
        return [AsVectorView(target, vector.width, vector.element)]
    if isinstance(function, AnyMap):
        return [map_target(generator, call, function.function, target, scope)]
    if isinstance(function, REPEATING):
        raise generator.refuse(
            "its result is written to memory, where it may have an element of its argument several times or not at all",
            "a map of id over it, in a kernel after that of its argument; or the pattern before what computes",
        )
    raise generator.refuse(
        "its result is written to memory, but it is not a rearrangement of what its argument computes",
        "a map of id over it, or it before what computes",
    )


def map_target(generator: Generator, call: Call, function: Lambda, target: View, scope: Scope) -> View:
    """Return where the elements are written that a map only rearranges."""
    type = scope.type(call.arguments[0].typed)
    parameter = function.parameters[0]

    def element(at: Nat) -> View:
        inner = scope
        if isinstance(type, RaggedType):
            assert isinstance(parameter.typed, ArrayType)
            inner = scope.with_size(parameter.typed.length, chunk_length(type, at))
        return push(generator, function.body, parameter, target.at(at), inner)

    return FunctionView(element, "MapView", target.space)


def push(generator: Generator, body: Expression, parameter: Parameter, target: View, scope: Scope) -> View:
    """Return where a parameter is written, given where the body that rearranges it is."""
    while body is not parameter:
        if not isinstance(body, Call) or len(body.arguments) != 1 or isinstance(body.function, Lambda):
            raise generator.refuse("its function is too complex to be written through", "a map of id over its result")
        target = write_views(generator, body, target, scope)[0]
        body = body.arguments[0]
    return target
