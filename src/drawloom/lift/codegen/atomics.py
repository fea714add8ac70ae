"""Code of atomic maps: work-items combine values with elements that others combine with, too.

In local memory the work-items of a group first write the array's start. In global memory no work-item may begin before
all of the start is written, so the host puts it into the result's buffer before the launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.lift.arithmetic import Condition, Nat, all_of
from drawloom.lift.codegen.data_indices import declare_data_index
from drawloom.lift.codegen.launch import GLB, LCL
from drawloom.lift.codegen.scope import Scope
from drawloom.lift.codegen.syntax import AtomicUpdate, If, Text, Value
from drawloom.lift.language.ir import Call
from drawloom.lift.language.patterns.algorithmic import MapAtomic
from drawloom.lift.language.patterns.opencl import MapAtomicGlb, MapAtomicLcl
from drawloom.lift.language.patterns.operators import find_operator
from drawloom.lift.language.types import ArrayType, ScalarType, Type
from drawloom.lift.language.user_functions.library import add, maximum, minimum
from drawloom.lift.memory.buffers import LOCAL, Distribution
from drawloom.lift.views.views import ConstantView, GuardedView, ValueView, View

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator

#: OpenCL's atomic functions of integers for the user functions that they apply.
BUILTINS: Final = {add: "add", minimum: "min", maximum: "max"}
#: The prefix of their names by the bytes of an element (OpenCL C 1.2 section 6.12.11, OpenCL 1.2 extensions 9.3, 9.4).
PREFIXES: Final = {4: "atomic_", 8: "atom_"}


def update_into(generator: Generator, call: Call, function: MapAtomic, target: View, scope: Scope) -> None:
    """Emit an atomic map whose result is written where a view says."""
    if not isinstance(function, MapAtomicGlb):
        raise generator.refuse("it does not say which work-items update", "mapAtomicGlb or mapAtomicLcl")
    start, elements = call.arguments
    array, source = scope.type(start.typed), scope.type(elements.typed)
    if not isinstance(source, ArrayType):
        raise generator.refuse("the code generator does not compile atomic maps over the chunks of a guarded split")
    assert isinstance(array, ArrayType)
    element = array.element
    if not isinstance(element, ScalarType) or element.size_bytes not in PREFIXES:
        raise generator.refuse(
            f"elements of type {element} have no atomic update in OpenCL",
            "scalars of 4 or 8 bytes, such as int or long",
        )
    inner = scope.within(None)
    kind = LCL if isinstance(function, MapAtomicLcl) else GLB
    if kind == LCL and target.space != LOCAL:
        # Combined in local memory, then copied.
        local = generator.memory.allocate(array, LOCAL, [])
        emit(generator, call, function, local, inner)
        generator.copy(local, target, array, [Distribution(LCL, function.dimension)])
        return
    emit(generator, call, function, target, inner)


def emit(generator: Generator, call: Call, function: MapAtomicGlb, target: View, scope: Scope) -> None:
    start, elements = call.arguments
    array, source = scope.type(start.typed), scope.type(elements.typed)
    assert isinstance(array, ArrayType) and isinstance(source, ArrayType)
    is_local = isinstance(function, MapAtomicLcl)
    if is_local and generator.computes(start, scope):
        generator.into(start, target, scope)
    elif is_local:
        shared: list[Distribution | None] = [Distribution(LCL, function.dimension)]
        generator.copy(generator.value(start, scope), target, array, shared)
    elif generator.loops or generator.computes(start, scope):
        raise generator.refuse(
            "its start is computed by the kernel itself", "data that is there before: another kernel"
        )
    values = generator.value(elements, scope)

    def iteration(at: Nat) -> None:
        update(generator, call, target, array, scope.bind(function.update.parameters[0], values.at(at)))

    generator.loop(source.length, LCL if is_local else GLB, function.dimension, call, iteration)


def update(generator: Generator, call: Call, target: View, array: ArrayType, scope: Scope) -> None:
    """Emit the update that one element says."""
    function = call.function
    assert isinstance(function, MapAtomicGlb)
    type = function.update.body.typed
    pair = generator.keep(generator.scalar(function.update.body, scope), type)
    place = declare_data_index(generator, call, pair.component(0).load(), array.length)
    old, value = function.combine.parameters
    builtin = atomic_builtin(function, array.element)
    element = target.at(place)
    guards: list[Condition] = []
    while isinstance(element, GuardedView):
        guards.append(element.condition)
        element = element.base
    generator.note("update", element)
    places = element.place()
    assert isinstance(array.element, ScalarType)
    word = "int" if array.element.size_bytes == 4 else "long"
    if builtin:
        store(generator, AtomicUpdate(places[0], pair.component(1).load(), builtin, word), guards)
        return
    before: Value = Text("before" if str(array.element) == word else f"as_{array.element}(before)")
    bound = scope.bind(old, ConstantView(before)).bind(value, ValueView(pair.component(1).load()))
    with generator.block() as statements:
        new = generator.scalar(function.combine.body, bound)
    if statements:
        raise generator.refuse("its second function is more than an expression of user functions")
    store(generator, AtomicUpdate(places[0], new, "", word), guards)


def store(generator: Generator, update: AtomicUpdate, guards: list[Condition]) -> None:
    """Emit an update, where the conditions under which its element is kept hold."""
    generator.statements.append(If(all_of(*guards), [update]) if guards else update)


def atomic_builtin(function: MapAtomicGlb, element: Type) -> str:
    """Return the function of OpenCL that does the whole update, or ""."""
    operator = find_operator(function.combine)
    if operator not in BUILTINS or not isinstance(element, ScalarType) or not element.is_integer:
        return ""
    return PREFIXES[element.size_bytes] + BUILTINS[operator]
