"""Which well-typed programs can be kernels: every computation belongs to certain work-items, and no work-item needs
what another work-group computes (thesis 2.4.2.2 and 4.3.4).

The rules, each with its error:

- ``mapLcl`` and ``mapWarp`` stand inside ``mapWrg``, ``mapLane`` inside ``mapWarp``, ``toLocal`` inside ``mapWrg``.
- ``mapLane`` is of the dimension of the ``mapWarp`` around it: a warp's lanes are work-items of that dimension. For the
  same reason ``mapWarp`` stands neither inside another one, nor inside or around ``mapLcl``.
- ``mapGlb`` and ``mapWrg`` are not nested in each other, and neither is a parallel map in one of the same kind and
  dimension, nor ``mapGlb`` or ``mapWrg`` in a sequential pattern.
- A user function or ``id`` stands inside ``mapGlb``, ``mapLcl`` or ``mapLane``, or its result is private: otherwise
  all work-items would write to the same place.
- ``map``, ``reduce`` and their kin say nothing of work-items, so they may not compute; a ``map`` of patterns that only
  reorganise data may stay.
- What ``mapGlb`` or ``mapWrg`` has computed is not read in the same kernel: work-groups cannot wait for each other.
  ``kernel`` cuts a program into kernels.
- What ``mapGlb`` or ``mapWrg`` returns is not stored by ``toLocal`` or ``toPrivate``, whose memory ends with the
  work-group or work-item.
- ``kernel`` stands outside all other patterns, and takes what it reads as arguments.
"""

from __future__ import annotations

from typing import Final

from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.errors import WellFormednessError, not_well_formed
from drawloom.lift.language.infer import name_function
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Node, Parameter, Pattern
from drawloom.lift.language.patterns.algorithmic import (
    AnyMap,
    AnyScan,
    Filter,
    FilterSeq,
    Id,
    Iterate,
    Map,
    MapAtomic,
    PartialReduce,
    Reduce,
    ReduceSeq,
    Scan,
)
from drawloom.lift.language.patterns.opencl import (
    KernelCall,
    MapAtomicGlb,
    MapAtomicLcl,
    MapGlb,
    MapLane,
    MapLcl,
    MapSeq,
    MapWarp,
    MapWrg,
    ParallelMap,
    ToGlobal,
    ToLocal,
    ToPrivate,
)
from drawloom.lift.language.user_functions.function import UserFunction

#: Patterns that repeat their function in one work-item.
SEQUENTIAL: Final = (MapSeq, ReduceSeq, AnyScan, FilterSeq, Iterate)
HIGH_LEVEL: Final = (Map, Reduce, PartialReduce, Scan, Filter, MapAtomic)

LOWERING: Final = {
    "map": "mapGlb, mapWrg, mapLcl or mapSeq",
    "reduce": "reduceSeq",
    "partialReduce": "a parallel map over reduceSeq",
    "scan": "scanSeq",
    "scanExclusive": "scanExclusiveSeq",
    "filter": "filterSeq",
    "mapAtomic": "mapAtomicGlb or mapAtomicLcl",
}


def is_low_level(program: Node) -> bool:
    """Return True when a program says how it uses work-items: it has a parallel map, an address space or a kernel.

    Example:
        >>> from drawloom.lift import add, array, float32, fun, map_glb, reduce, size
        >>> n = size("N")
        >>> is_low_level(fun(array(float32, n), lambda x: reduce(0, add)(x)))
        False
    """
    if isinstance(program, Call):
        return is_low_level(program.function) or any(is_low_level(argument) for argument in program.arguments)
    if isinstance(program, Lambda):
        return is_low_level(program.body)
    return isinstance(program, Pattern) and (
        isinstance(program, ParallelMap | MapAtomicGlb | ToGlobal | ToLocal | ToPrivate | KernelCall)
        or any(is_low_level(inner) for inner in program.functions)
    )


@room_for_depth()
def check_well_formed(program: Lambda) -> None:
    """Refuse a low-level program that no kernel can run as it stands.

    Args:
        program: A well-typed lambda.

    Raises:
        WellFormednessError: A rule of this file is broken; the error names the pattern and the Python line.

    Example:
        >>> from drawloom.lift import array, float32, fun, id, map_lcl, size
        >>> check_well_formed(fun(array(float32, size("N")), lambda x: map_lcl(id, x)))
        Traceback (most recent call last):
            ...
        drawloom.lift.language.errors.WellFormednessError: ...
    """
    Checker(has_kernels(program)).program(program)


def has_kernels(node: Node) -> bool:
    if isinstance(node, Call):
        return has_kernels(node.function) or any(has_kernels(argument) for argument in node.arguments)
    if isinstance(node, Lambda):
        return has_kernels(node.body)
    return isinstance(node, Pattern) and (
        isinstance(node, KernelCall) or any(has_kernels(inner) for inner in node.functions)
    )


class Place:
    """Which patterns an expression stands in: the maps that distribute it, and whether its results are private."""

    def __init__(self, outer: tuple[Pattern, ...] = (), private: bool = False) -> None:
        self.outer = outer
        self.private = private

    def inside(self, pattern: Pattern) -> Place:
        private = isinstance(pattern, ToPrivate) or (self.private and not isinstance(pattern, ToGlobal | ToLocal))
        return Place((*self.outer, pattern), private)

    def has(self, kind: type[Pattern]) -> bool:
        return any(isinstance(pattern, kind) for pattern in self.outer)

    @property
    def is_distributed(self) -> bool:
        return any(self.has(kind) for kind in (MapGlb, MapLcl, MapLane, MapAtomicGlb))


class Checker:
    """Walks a program; `written` says which parameters hold what a parallel map of this kernel has computed."""

    def __init__(self, has_kernels: bool) -> None:
        self.has_kernels = has_kernels
        self.written: dict[Parameter, bool] = {}

    def program(self, program: Lambda) -> None:
        for parameter in program.parameters:
            self.written[parameter] = False
        self.expression(program.body, Place())

    def refuse(self, node: Call, message: str, expected: str = "") -> WellFormednessError:
        return not_well_formed(f"{name_function(node.function)}: {message}", node.position, expected)

    def expression(self, expression: Expression, place: Place) -> bool:
        """Check an expression; return True when its value comes from a parallel map of this kernel."""
        if isinstance(expression, Literal):
            return False
        if isinstance(expression, Parameter):
            return self.written.get(expression, False)
        assert isinstance(expression, Call)
        written = [self.expression(argument, place) for argument in expression.arguments]
        function = expression.function
        if isinstance(function, Lambda):
            return self.body(function, written, place)
        if isinstance(function, UserFunction | Id):
            self.computation(expression, place)
            return any(written)
        assert isinstance(function, Pattern)
        self.position(expression, function, place)
        if isinstance(function, KernelCall):
            return self.kernel(expression, function)
        if isinstance(function, MapGlb | MapWrg) or type(function) is MapAtomicGlb:
            self.reads(expression, function, written)
            for one in function.functions:
                self.body(one, self.flags(function, one, written), place.inside(function))
            self.result(expression, function)
            return True
        inner = place.inside(function)
        results = [self.body(one, self.flags(function, one, written), inner) for one in function.functions]
        return any(written) or any(results)

    def flags(self, pattern: Pattern, function: Lambda, written: list[bool]) -> list[bool]:
        """Return for each parameter of a pattern's function whether it holds what a parallel map has computed."""
        return written if len(written) == function.arity else [any(written)] * function.arity

    def body(self, function: Lambda, written: list[bool], place: Place) -> bool:
        for parameter, flag in zip(function.parameters, written):
            self.written[parameter] = flag
        return self.expression(function.body, place)

    def computation(self, call: Call, place: Place) -> None:
        """Refuse a user function that all work-items would apply to write to one place."""
        if self.has_kernels and not place.has(KernelCall):
            raise self.refuse(call, "it computes outside the program's kernels", "kernel(...) around it")
        for pattern in reversed(place.outer):
            if isinstance(pattern, HIGH_LEVEL) and not isinstance(pattern, MapAtomicGlb):
                keyword = pattern.keyword
                raise self.refuse(
                    call,
                    f"it computes inside {keyword}, which does not say which work-items do",
                    LOWERING.get(keyword, "a low-level pattern"),
                )
        if not place.is_distributed and not place.private:
            inside, around = "outside all parallel maps", "mapGlb, or mapLcl inside mapWrg,"
            if place.has(MapWarp):
                inside, around = "inside mapWarp but outside mapLane", "mapLane"
            elif place.has(MapWrg):
                inside = "inside mapWrg but outside mapLcl"
            raise self.refuse(
                call,
                f"it writes {inside}, so all work-items would write to the same place",
                f"{around} around it; or toPrivate",
            )

    def position(self, call: Call, pattern: Pattern, place: Place) -> None:
        """Check where parallel maps, address spaces and kernels stand."""
        if isinstance(pattern, MapLcl | MapWarp | MapAtomicLcl) and not place.has(MapWrg):
            raise self.refuse(call, "it stands outside mapWrg", "mapWrg around it")
        if isinstance(pattern, MapLane) and not place.has(MapWarp):
            raise self.refuse(call, "it stands outside mapWarp", "mapWarp around it")
        self.warps(call, pattern, place)
        if isinstance(pattern, ToLocal) and not place.has(MapWrg):
            raise self.refuse(
                call, "it stands outside mapWrg, and only a work-group has local memory", "mapWrg around it"
            )
        if isinstance(pattern, KernelCall) and place.outer:
            raise self.refuse(call, f"it stands inside {place.outer[-1].keyword}", "kernels one after the other")
        if isinstance(pattern, MapAtomicGlb) and place.is_distributed:
            raise self.refuse(call, "it stands inside a parallel map", "it alone")
        if isinstance(pattern, MapAtomicGlb) and not isinstance(pattern, MapAtomicLcl) and place.has(MapWrg):
            raise self.refuse(call, "it stands inside mapWrg", "mapAtomicLcl")
        if isinstance(pattern, ParallelMap):
            self.nesting(call, pattern, place)

    def warps(self, call: Call, pattern: Pattern, place: Place) -> None:
        """Check that a warp's work-items belong to one map each: the lanes of the mapWarp around."""
        if isinstance(pattern, MapWarp):
            for outer in place.outer:
                if isinstance(outer, MapLcl):
                    raise self.refuse(call, "it stands inside mapLcl", "one of the two")
                if isinstance(outer, MapWarp):
                    raise self.refuse(call, "it stands inside another mapWarp", "mapLane or mapSeq")
        if isinstance(pattern, MapLcl | MapAtomicLcl) and place.has(MapWarp):
            raise self.refuse(call, f"it stands inside mapWarp, and {pattern.keyword} is for whole groups", "mapLane")
        if isinstance(pattern, MapLane):
            for outer in place.outer:
                if isinstance(outer, MapWarp) and outer.dimension != pattern.dimension:
                    raise self.refuse(
                        call,
                        f"it is of dimension {pattern.dimension} and stands inside mapWarp of dimension "
                        f"{outer.dimension}",
                        "one dimension: a warp's lanes are consecutive work-items",
                    )

    def nesting(self, call: Call, pattern: ParallelMap, place: Place) -> None:
        if isinstance(pattern, MapGlb | MapWrg):
            if isinstance(pattern, MapGlb) and place.has(MapWrg):
                raise self.refuse(call, "it stands inside mapWrg", "mapLcl inside mapWrg, or mapGlb alone")
            for outer in place.outer:
                if isinstance(outer, (*SEQUENTIAL, MapLcl, MapLane, MapWarp)) or (
                    isinstance(outer, MapGlb) and isinstance(pattern, MapWrg)
                ):
                    raise self.refuse(call, f"it stands inside {outer.keyword}", "it outside, and the other inside")
        for outer in place.outer:
            if type(outer) is type(pattern) and outer.statics == pattern.statics:
                raise self.refuse(
                    call,
                    f"it stands inside another {pattern.keyword} of dimension {pattern.dimension}",
                    "another dimension, or mapSeq",
                )

    def reads(self, call: Call, pattern: Pattern, written: list[bool]) -> None:
        """Refuse a parallel map that reads what another one of the same kernel computes."""
        captured = [
            parameter.name
            for function in pattern.functions
            for parameter in captured_parameters(function)
            if self.written.get(parameter, False)
        ]
        if any(written) or captured:
            what = f"{captured[0]}, which" if captured else "an array that"
            raise self.refuse(
                call,
                f"it reads {what} mapGlb or mapWrg has computed in the same kernel, and work-groups cannot wait for "
                "each other",
                "two kernels: kernel(...) around each",
            )

    def result(self, call: Call, pattern: Pattern) -> None:
        """Refuse a parallel map whose results end with the work-group or work-item that computes them."""
        found = storage(pattern.functions[-1].body)
        if isinstance(found, ToLocal | ToPrivate):
            memory = "local memory" if isinstance(found, ToLocal) else "private memory"
            raise self.refuse(
                call,
                f"its results are in {memory}, by {found.keyword}, and end with the "
                f"{'work-group' if isinstance(found, ToLocal) else 'work-item'}",
                "toGlobal around what computes them last",
            )

    def kernel(self, call: Call, pattern: KernelCall) -> bool:
        """Check a kernel by itself: what other kernels have computed is at hand when it starts."""
        captured = captured_parameters(pattern.function)
        if captured:
            raise self.refuse(
                call, f"its function uses {captured[0].name}, which is not its parameter", "an argument of the kernel"
            )
        self.body(pattern.function, [False] * pattern.function.arity, Place((pattern,)))
        return False


def storage(expression: Expression) -> Pattern | None:
    """Return the address space pattern that decides where a value is stored; None if it is inferred."""
    if not isinstance(expression, Call):
        return None
    function = expression.function
    if isinstance(function, Lambda):
        return storage(function.body)
    if isinstance(function, ToGlobal | ToLocal | ToPrivate):
        return function
    if isinstance(function, AnyMap):
        return storage(function.function.body)
    if isinstance(function, Pattern) and not function.functions and not isinstance(function, Id):
        stores = [storage(argument) for argument in expression.arguments]
        return next((store for store in stores if store is not None), None)
    return None


def captured_parameters(function: Function) -> list[Parameter]:
    """Return the parameters that a function uses but does not bind, in the order of their use."""
    found: dict[Parameter, None] = {}
    collect_free(function, frozenset(), found)
    return list(found)


def collect_free(node: Node, bound: frozenset[Parameter], found: dict[Parameter, None]) -> None:
    if isinstance(node, Parameter):
        if node not in bound:
            found[node] = None
    elif isinstance(node, Call):
        collect_free(node.function, bound, found)
        for argument in node.arguments:
            collect_free(argument, bound, found)
    elif isinstance(node, Lambda):
        collect_free(node.body, bound | set(node.parameters), found)
    elif isinstance(node, Pattern):
        for inner in node.functions:
            collect_free(inner, bound, found)
