"""Code of filters: a work-item counts what it keeps, and writes each kept element where the count says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawloom.lift.arithmetic import ZERO, Nat, index, less, simplify, variable
from drawloom.lift.codegen.launch import REDUCE, SEQ
from drawloom.lift.codegen.scope import Scope
from drawloom.lift.codegen.syntax import Apply, DeclareIndex, If, Index, SetIndex
from drawloom.lift.language.ir import Call
from drawloom.lift.language.patterns.algorithmic import FilterSeq
from drawloom.lift.language.types import ArrayType, int32
from drawloom.lift.memory.buffers import PRIVATE
from drawloom.lift.views.views import View

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator


def filter_into(generator: Generator, call: Call, function: FilterSeq, target: View, scope: Scope) -> None:
    """Emit a filter whose result is written where a view says: the kept elements, the rest, and their number."""
    kept, number = target.component(0), target.component(1)
    if kept.space != PRIVATE and not generator.is_distributed:
        raise generator.refuse("all work-items would write to the same place", "a parallel map around it")
    type = scope.type(call.arguments[1].typed)
    assert isinstance(type, ArrayType)
    inner = scope.within(None)
    rest = generator.value(call.arguments[0], inner)
    array = generator.value(call.arguments[1], inner)
    count = variable(generator.fresh("count"), 0, simplify(type.length + 1))
    generator.statements.append(DeclareIndex(count, Index(ZERO)))
    predicate = function.function

    def iteration(at: Nat) -> None:
        bound = inner.bind(predicate.parameters[0], array.at(at))
        keeps = index(generator.fresh("keeps"), 2)
        decision = Apply("(", [generator.scalar(predicate.body, bound)], ") != 0")
        generator.statements.append(DeclareIndex(keeps, decision))
        with generator.block() as statements:
            generator.copy(array.at(at), kept.at(count), type.element, [])
            generator.statements.append(SetIndex(count, simplify(count + 1)))
        generator.statements.append(If(less(0, keeps), statements))

    generator.loop(type.length, REDUCE, 0, call, iteration)
    generator.loop(
        simplify(type.length - count),
        SEQ,
        0,
        call,
        lambda at: generator.copy(rest, kept.at(simplify(count + at)), type.element, []),
    )
    generator.assign(number, int32, Index(count))
