"""Kernels that leave lists: what has a value for each element of a list's cells is a kernel over rows.

The elements of a list lie behind one another in one vector, so what is computed of each of them needs no cells:

    cells = @each_right(@index, x, rows)    ->    cells = @index(x, rows)
"""

from __future__ import annotations

from drawloom.horse.ir import Assign, Call, Function, FunctionRef, Param, Target
from drawloom.horse.placement import REDUCTIONS
from drawloom.horse.shapes import Dynamic, Shape, VectorShape
from drawloom.horse.types import ListType, Type


def is_flat(kernel: Function) -> bool:
    """Whether a kernel takes and leaves lists, element by element."""
    calls = [s.value for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, Call)]
    inner = [c.arguments[0] for c in calls if c.function.name != "raze"]
    has_lists = any(isinstance(p.type, ListType) for p in kernel.params)
    elements = all(isinstance(f, FunctionRef) and f.name not in REDUCTIONS for f in inner)
    return has_lists and elements


def flattened(kernel: Function) -> Function:
    """The kernel over the elements of its lists."""
    params = [Param(p.name, element_type(p.type)) for p in kernel.params]
    body = [_flattened(s) if isinstance(s, Assign) else s for s in kernel.body]
    return Function(kernel.name, params, [element_type(r) for r in kernel.returns], body, True, kernel.pos)


def _flattened(statement: Assign) -> Assign:
    call, (target,) = statement.value, statement.targets
    assert isinstance(call, Call) and isinstance(call.arguments[0], FunctionRef) and target.type is not None
    value = Call(call.arguments[0], call.arguments[1:])
    return Assign([Target(target.name, element_type(target.type))], value, statement.pos)


def element_type(type: Type) -> Type:
    return type.element if isinstance(type, ListType) else type


def flat_types(
    kernel: Function, types: dict[str, Type], shapes: dict[str, Shape]
) -> tuple[dict[str, Type], dict[str, Shape]]:
    """The types and shapes of a flattened kernel's variables: its lists have as many rows as one of them."""
    lists = [p.name for p in kernel.params if isinstance(p.type, ListType)]
    computed = [t.name for s in kernel.body if isinstance(s, Assign) for t in s.targets]
    names = [*lists, *computed]
    rows = VectorShape(Dynamic(lists[0]))
    return {**types, **{n: element_type(types[n]) for n in names}}, {**shapes, **dict.fromkeys(names, rows)}
