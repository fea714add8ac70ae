"""From typed Lift expressions to the tree of OpenCL C (thesis 4.3.5): statements for what computes, views for the rest.

An expression is compiled in one of three ways: `value` returns the view of its value, storing it first if it computes;
`into` writes it to where a view says; `scalar` returns it as an expression of C. Layout patterns only make views
(`views/`), in either direction. What computes an array is stored where the dual views of its consumers say, so no
layout pattern has a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from drawloom.lift.arithmetic import (
    ONE,
    ZERO,
    ArithmeticRefusal,
    Nat,
    index,
    is_at_most,
    simplify,
    variable,
)
from drawloom.lift.codegen.errors import LiftCompileError, not_compiled
from drawloom.lift.codegen.launch import GLB, LANE, LCL, SEQ, WARP, WRG, Threads
from drawloom.lift.codegen.scope import Scope, Thunk
from drawloom.lift.codegen.syntax import (
    FOR,
    IF,
    ONCE,
    Access,
    Apply,
    Assign,
    If,
    Loop,
    Member,
    Statement,
    Text,
    Value,
)
from drawloom.lift.codegen.user_functions import FunctionTable
from drawloom.lift.language.errors import LiftTypeError
from drawloom.lift.language.infer import name_function
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Parameter, Pattern
from drawloom.lift.language.patterns.algorithmic import AnyMap, AnyScan, FilterSeq, Fold, Id, Iterate, MapAtomic
from drawloom.lift.language.patterns.layout import Get, Head, MakeTuple, Scatter
from drawloom.lift.language.patterns.opencl import (
    Dot,
    ParallelMap,
    ToGlobal,
    ToLocal,
    ToPrivate,
    Vectorize,
    Wrapper,
)
from drawloom.lift.language.types import (
    ArrayType,
    RaggedType,
    ScalarType,
    TupleType,
    Type,
    VectorType,
    boolean,
    holds_arrays,
    uint8,
)
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.printer import print_number
from drawloom.lift.memory.address_spaces import infer_space
from drawloom.lift.memory.allocation import Allocator, find_distribution
from drawloom.lift.memory.buffers import GLOBAL, LOCAL, PRIVATE, Distribution
from drawloom.lift.memory.ragged import chunk_view, stored_distribution, stored_type
from drawloom.lift.views.views import (
    ConstantView,
    GuardedView,
    JoinView,
    MemoryView,
    UnsupportedView,
    ValueView,
    View,
)

Made = TypeVar("Made")

#: The kind of loop that each map becomes.
KINDS = {"mapGlb": GLB, "mapWrg": WRG, "mapLcl": LCL, "mapWarp": WARP, "mapLane": LANE, "mapSeq": SEQ, "map": SEQ}
#: The names of the iteration variables of parallel maps begin with these.
ITERATION_NAMES = {GLB: "g", WRG: "wg", LCL: "l", WARP: "warp", LANE: "lane"}


class Switches:
    """The optimisations of thesis figure 4.13, each of which can be off.

    Args:
        array_access: Simplify the indices of accesses.
        barriers: Leave out barriers that order nothing.
        control_flow: Make ``if`` or straight-line code of loops with at most one iteration.
    """

    def __init__(self, array_access: bool = True, barriers: bool = True, control_flow: bool = True) -> None:
        self.array_access = array_access
        self.barriers = barriers
        self.control_flow = control_flow


class Generator:
    """The compilation of one kernel."""

    def __init__(self, threads: Threads, switches: Switches, functions: FunctionTable) -> None:
        self.threads = threads
        self.switches = switches
        self.functions = functions
        self.statements: list[Statement] = []
        self.loops: list[Loop] = []  # around the current statement
        self.parallel: dict[Nat, Loop] = {}  # by iteration variable
        self.counted: set[Nat] = set()  # sizes that iterations change
        self.memory = Allocator(self)
        self.current: Call | None = None
        self.tags = 0
        self.views: list[str] = []  # of loads and stores, in the order in which they are made
        self.fault = ""  # the argument to which checked accesses report; "" where none is checked
        self.accesses: list[str] = []  # the checked accesses, by their numbers from 1

    # Names, errors, statements

    def fresh(self, base: str) -> str:
        """Return a name for a variable that nothing else has."""
        return self.functions.fresh_name(base)

    def refuse(self, message: str, expected: str = "") -> LiftCompileError:
        assert self.current is not None
        name = name_function(self.current.function)
        return not_compiled(f"{name}: {message}", self.current.position, expected)

    def number_access(self, call: Call) -> int:
        """Return the number of a checked access of a call."""
        self.accesses.append(f"{call.position}: {name_function(call.function)}")
        return len(self.accesses)

    def at_call(self, call: Call, compile_call: Callable[[], Made]) -> Made:
        """Compile a call, whose place errors have meanwhile."""
        outer, self.current = self.current, call
        try:
            result = compile_call()
        except (UnsupportedView, ArithmeticRefusal) as refusal:
            raise self.refuse(str(refusal)) from None
        self.current = outer
        return result

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """Collect the statements that are made inside."""
        outer, self.statements = self.statements, []
        yield self.statements
        self.statements = outer

    @property
    def is_distributed(self) -> bool:
        """Return True where not all work-items do the same."""
        return any(loop.kind in (GLB, LCL, LANE) for loop in self.loops)

    # Loops

    def loop(self, length: Nat, kind: str, dimension: int, call: Call, body: Callable[[Nat], None]) -> None:
        """Emit `body` for every iteration of a pattern."""
        length = simplify(length)
        if length is ZERO:
            return
        if kind in ITERATION_NAMES:
            made = self.parallel_loop(length, kind, dimension, call)
        else:
            if length is ONE and self.switches.control_flow:
                body(ZERO)
                return
            counter = index(self.fresh("i"), length)
            made = Loop(counter, ZERO, length, ONE, [], FOR, kind, 0, call.position, name_function(call.function))
        self.loops.append(made)
        self.parallel[made.variable] = made
        with self.block() as statements:
            body(made.variable)
        made.body = statements
        self.loops.pop()
        self.statements.append(made)

    def parallel_loop(self, length: Nat, kind: str, dimension: int, call: Call) -> Loop:
        start, step = self.threads.id(kind, dimension), self.threads.count(kind, dimension)
        keyword = name_function(call.function)
        form, counter = FOR, start
        if self.switches.control_flow and self.threads.covers(kind, dimension, length):
            form = ONCE if is_at_most(step, length) else IF
            counter = self.threads.bounded_id(kind, dimension, length)
        else:
            counter = variable(self.fresh(f"{ITERATION_NAMES[kind]}_{dimension}"), start, length, step)
        return Loop(counter, start, length, step, [], form, kind, dimension, call.position, keyword)

    # What an expression does

    def computes(self, expression: Expression, scope: Scope) -> bool:
        """Return True for expressions whose value has to be computed; layout patterns of stored values do not."""
        if isinstance(expression, Parameter):
            bound = scope.values.get(expression)
            return isinstance(bound, Thunk) and self.computes(bound.expression, bound.scope)
        if isinstance(expression, Literal):
            return False
        assert isinstance(expression, Call)
        function = expression.function
        if isinstance(function, Lambda | Wrapper):
            inner = function if isinstance(function, Lambda) else function.function
            return self.computes(inner.body, scope) or any(
                self.computes(argument, scope) for argument in expression.arguments
            )
        if isinstance(function, UserFunction | Id | Fold | Iterate | Vectorize | Dot | MapAtomic | FilterSeq):
            return True
        if isinstance(function, AnyMap) and self.computes(function.function.body, scope):
            return True
        return any(self.computes(argument, scope) for argument in expression.arguments)

    def enter(self, function: Lambda, arguments: tuple[Expression, ...], scope: Scope) -> Scope:
        """Return the scope of a function's body. What computes is stored first, or is compiled where it is used."""
        inner = scope
        for parameter, argument in zip(function.parameters, arguments):
            if self.computes(argument, scope):
                uses = count_uses(parameter, function.body)
                if uses == 0:
                    continue
                if uses == 1 and is_direct(parameter, function.body):
                    inner = inner.bind(parameter, Thunk(argument, scope.within(None)))
                    continue
            inner = inner.bind(parameter, self.value(argument, scope.within(None)))
        return inner

    def enter_wrapper(self, call: Call, scope: Scope) -> tuple[Expression, Scope]:
        wrapper = call.function
        assert isinstance(wrapper, Wrapper)
        space = {ToGlobal: GLOBAL, ToLocal: LOCAL, ToPrivate: PRIVATE}.get(type(wrapper))
        if space is None:
            raise self.refuse("a kernel inside a kernel is not compiled")
        inner = self.enter(wrapper.function, call.arguments, scope)
        return wrapper.function.body, inner.within(space)

    # Values

    def value(self, expression: Expression, scope: Scope) -> View:
        """Return the view of an expression's value, after emitting what computes it."""
        if isinstance(expression, Parameter):
            bound = scope.values[expression]
            return self.value(bound.expression, bound.scope) if isinstance(bound, Thunk) else bound
        if isinstance(expression, Literal):
            return ConstantView(self.literal(expression))
        assert isinstance(expression, Call)
        return self.at_call(expression, lambda: self.value_of_call(expression, scope))

    def value_of_call(self, call: Call, scope: Scope) -> View:
        from drawloom.lift.codegen import iterations, reductions
        from drawloom.lift.views import read

        function = call.function
        if isinstance(function, Lambda):
            return self.value(function.body, self.enter(function, call.arguments, scope).within(scope.space))
        if isinstance(function, Wrapper):
            body, inner = self.enter_wrapper(call, scope)
            return self.value(body, inner)
        if isinstance(function, Fold) and not isinstance(function, AnyScan):
            return reductions.reduce_value(self, call, function, scope)
        if isinstance(function, Iterate):
            return iterations.iterate_value(self, call, function, scope)
        if self.is_computation(call, scope):
            return self.store(call, scope)
        return read.read_view(self, call, scope)

    def is_computation(self, call: Call, scope: Scope) -> bool:
        """Return True for a call that needs memory for its result, False where a view of its arguments does."""
        function = call.function
        if isinstance(function, UserFunction | Id | Vectorize | Dot | AnyScan | MapAtomic | FilterSeq):
            return True
        if isinstance(function, AnyMap):
            return self.computes(function.function.body, scope)
        return isinstance(function, Scatter) and self.computes(call.arguments[0], scope)

    def store(self, call: Call, scope: Scope) -> View:
        """Compute a value into memory of its own."""
        type = scope.type(call.typed)
        if not holds_arrays(type):
            value = self.scalar(call, scope)
            return self.keep(value, type)
        space = infer_space(self, call, scope)
        shared = stored_distribution(type, find_distribution(self, call, scope), space or PRIVATE)
        target = chunk_view(self.memory.allocate(stored_type(type), space or PRIVATE, shared), type)
        self.into(call, target, scope)
        return target

    def keep(self, value: Value, type: Type) -> View:
        """Put a scalar, vector or struct into a variable."""
        if isinstance(value, Access) and value.buffer.space == PRIVATE and not value.tag and not value.buffer.lengths:
            return ValueView(value)
        place = Access(self.memory.variable("v", type), ZERO)
        self.statements.append(Assign(place, value))
        return ValueView(place)

    # Scalars

    def literal(self, literal: Literal) -> Value:
        type = literal.typed
        if isinstance(type, VectorType):
            parts = literal.value if isinstance(literal.value, tuple) else (literal.value,) * type.width
            return Apply(f"({type})(", [Text(print_number(part, type.element)) for part in parts])
        assert isinstance(type, ScalarType) and not isinstance(literal.value, tuple)
        return Text(print_number(literal.value, type))

    def scalar(self, expression: Expression, scope: Scope) -> Value:
        """Return a scalar, vector or tuple of them as an expression of C."""
        if isinstance(expression, Parameter):
            bound = scope.values[expression]
            if isinstance(bound, Thunk):
                return self.scalar(bound.expression, bound.scope)
            return self.load(bound, expression.typed)
        if isinstance(expression, Literal):
            return self.literal(expression)
        assert isinstance(expression, Call)
        return self.at_call(expression, lambda: self.scalar_of_call(expression, scope))

    def scalar_of_call(self, call: Call, scope: Scope) -> Value:
        function = call.function
        if isinstance(function, Lambda):
            return self.scalar(function.body, self.enter(function, call.arguments, scope).within(scope.space))
        if isinstance(function, Wrapper):
            body, inner = self.enter_wrapper(call, scope)
            return self.scalar(body, inner)
        if isinstance(function, UserFunction):
            types = tuple([argument.typed for argument in call.arguments])
            arguments = [self.scalar(argument, scope.within(None)) for argument in call.arguments]
            return Apply(self.functions.name_of(function, types) + "(", arguments)
        if isinstance(function, Id):
            return self.scalar(call.arguments[0], scope)
        if isinstance(function, Dot):
            return Apply("dot(", [self.scalar(argument, scope.within(None)) for argument in call.arguments])
        if isinstance(function, Vectorize):
            return self.vectorized(call, function, scope)
        if isinstance(function, MakeTuple):
            assert isinstance(call.typed, TupleType)
            parts = [self.scalar(argument, scope) for argument in call.arguments]
            return Apply(f"({self.functions.struct_of(call.typed).name}){{", parts, "}")
        if isinstance(function, Get) and not holds_arrays(call.arguments[0].typed):
            return self.load(self.value(call.arguments[0], scope).component(function.index), call.typed)
        return self.load(self.value_of_call(call, scope), call.typed)

    def load(self, view: View, type: Type) -> Value:
        """Return what a view holds, a tuple as a struct."""
        if isinstance(type, TupleType) and not isinstance(view, ValueView):
            parts = [self.load(view.component(at), element) for at, element in enumerate(type.elements)]
            return Apply(f"({self.functions.struct_of(type).name}){{", parts, "}")
        self.note("read", view)
        return view.load()

    def note(self, what: str, view: View) -> None:
        """Keep the text of a view that is read or written, for those who ask for it."""
        if view.space in (GLOBAL, LOCAL):
            assert self.current is not None
            self.views.append(f"{what} by {name_function(self.current.function)}: {view.show()}")

    def vectorized(self, call: Call, function: Vectorize, scope: Scope) -> Value:
        """Apply a function to vectors: as it is where it is a generic user function, and otherwise by components."""
        types = [argument.typed for argument in call.arguments]
        views = [
            self.keep(self.scalar(argument, scope.within(None)), type) for argument, type in zip(call.arguments, types)
        ]
        inner = function.function.body
        if isinstance(inner, Call) and isinstance(inner.function, UserFunction):
            called = inner.function
            direct = len(inner.arguments) == len(types) and all(
                one is other for one, other in zip(inner.arguments, function.function.parameters)
            )
            if direct and called.is_generic and all(isinstance(type, VectorType) for type in types):
                try:
                    name = self.functions.name_of(called, tuple(types))
                    return Apply(name + "(", [view.load() for view in views])
                except LiftTypeError:
                    pass
        parts: list[Value] = []
        for at in range(function.width):
            inside = scope
            for parameter, view, type in zip(function.function.parameters, views, types):
                value = Member(view.load(), f"s{at:x}") if isinstance(type, VectorType) else view.load()
                inside = inside.bind(parameter, ConstantView(value))
            parts.append(self.scalar(function.function.body, inside))
        return Apply(f"({call.typed})(", parts)

    def assign(self, target: View, type: Type, value: Value) -> None:
        """Store a scalar, vector or struct where a view says."""
        if isinstance(target, GuardedView):
            with self.block() as statements:
                self.assign(target.base, type, value)
            self.statements.append(If(target.condition, statements))
            return
        if isinstance(type, TupleType) and not isinstance(target, ValueView):
            whole = value
            if not (isinstance(value, Apply) and value.closing == "}"):
                whole = self.keep(value, type).load()
            held = ValueView(whole)
            parts = [held.component(at).load() for at in range(len(type.elements))]
            if isinstance(whole, Apply):
                parts = [
                    self.keep(part, element).load() if len(parts) > 1 and not isinstance(part, Text) else part
                    for part, element in zip(parts, type.elements)
                ]
            for at, (part, element) in enumerate(zip(parts, type.elements)):
                self.assign(target.component(at), element, part)
            return
        self.note("write", target)
        places = target.place()
        if len(places) == 1 and isinstance(places[0], Access):
            self.statements.append(Assign(places[0], value))
            return
        held_value = self.keep(value, type).load()
        for at, place in enumerate(places):
            self.statements.append(Assign(place, Member(held_value, f"s{at:x}")))

    # Writing

    def into(self, expression: Expression, target: View, scope: Scope) -> None:
        """Write an expression's value where a view says."""
        if isinstance(expression, Parameter):
            bound = scope.values[expression]
            if isinstance(bound, Thunk):
                self.into(bound.expression, target, bound.scope)
            else:
                self.copy(bound, target, scope.type(expression.typed), [])
            return
        if not holds_arrays(expression.typed) and not self.writes_through(expression, scope):
            if target.space in (GLOBAL, LOCAL) and not self.is_distributed:
                raise self.refuse(
                    f"all work-items would write its result, a {expression.typed}", "a parallel map around it"
                )
            self.assign(target, expression.typed, self.scalar(expression, scope))
            return
        assert isinstance(expression, Call)
        self.at_call(expression, lambda: self.call_into(expression, target, scope))

    def writes_through(self, expression: Expression, scope: Scope) -> bool:
        """Return True for a scalar that is the only element of an array which is computed."""
        if not isinstance(expression, Call):
            return False
        function = expression.function
        if isinstance(function, Lambda):
            return self.writes_through(function.body, scope)
        if isinstance(function, Wrapper):
            return self.writes_through(function.function.body, scope)
        if not isinstance(function, Head):
            return False
        array = expression.arguments[0].typed
        return isinstance(array, ArrayType) and simplify(scope.nat(array.length)) is ONE

    def call_into(self, call: Call, target: View, scope: Scope) -> None:
        from drawloom.lift.codegen import atomics, filters, iterations, reductions
        from drawloom.lift.views import write

        function = call.function
        if isinstance(function, Lambda):
            self.into(function.body, target, self.enter(function, call.arguments, scope).within(scope.space))
        elif isinstance(function, Wrapper):
            body, inner = self.enter_wrapper(call, scope)
            self.into(body, target, inner)
        elif isinstance(function, AnyScan):
            reductions.scan_into(self, call, function, target, scope)
        elif isinstance(function, Fold):
            reductions.reduce_into(self, call, function, target, scope)
        elif isinstance(function, Iterate):
            result = iterations.iterate_value(self, call, function, scope)
            self.copy(result, target, scope.type(call.typed), find_distribution(self, call, scope))
        elif isinstance(function, Id):
            self.copy(self.value(call.arguments[0], scope.within(None)), target, scope.type(call.typed), [])
        elif isinstance(function, MapAtomic):
            atomics.update_into(self, call, function, target, scope)
        elif isinstance(function, FilterSeq):
            filters.filter_into(self, call, function, target, scope)
        elif isinstance(function, AnyMap) and self.writes_elements(call, function, scope):
            self.map_into(call, function, target, scope)
        elif self.computes(call, scope) and not isinstance(function, Get):
            write.write_arguments(self, call, target, scope)
        else:
            self.copy(self.value_of_call(call, scope), target, scope.type(call.typed), [])

    def writes_elements(self, call: Call, function: AnyMap, scope: Scope) -> bool:
        """Return True for a map that computes, or that says which work-items copy what its function only rearranges."""
        if self.computes(function.function.body, scope):
            return True
        return isinstance(function, ParallelMap) and not self.computes(call.arguments[0], scope)

    def map_into(self, call: Call, function: AnyMap, target: View, scope: Scope) -> None:
        """Emit the loop of a map."""
        argument = call.arguments[0]
        array = self.value(argument, scope.within(None))
        type = scope.type(argument.typed)
        dimension = function.dimension if isinstance(function, ParallelMap) else 0
        kind = KINDS[function.keyword]
        body = function.function
        if isinstance(type, RaggedType):
            self.ragged_map(call, body, type, (kind, dimension), (array, target), scope)
            return
        assert isinstance(type, ArrayType)

        def iteration(at: Nat) -> None:
            self.into(body.body, target.at(at), scope.bind(body.parameters[0], array.at(at)))

        self.loop(type.length, kind, dimension, call, iteration)

    def ragged_map(
        self,
        call: Call,
        body: Lambda,
        type: RaggedType,
        how: tuple[str, int],
        views: tuple[View, View],
        scope: Scope,
    ) -> None:
        """Emit the loop of a map over the chunks of a guarded split: the last chunk may be shorter."""
        from drawloom.lift.views.read import chunk_count, chunk_length

        array, target = views

        def iteration(at: Nat) -> None:
            inner = scope.bind(body.parameters[0], array.at(at))
            parameter = body.parameters[0].typed
            assert isinstance(parameter, ArrayType)
            inner = inner.with_size(parameter.length, chunk_length(type, at))
            self.into(body.body, target.at(at), inner)

        self.loop(chunk_count(type), how[0], how[1], call, iteration)

    def copy(self, source: View, target: View, type: Type, shared: list[Distribution | None]) -> None:
        """Copy a value, each work-item what is its own."""
        if isinstance(target, MemoryView) and target.same_place(source):
            return
        if isinstance(type, RaggedType):
            self.copy_chunks(source, target, type, shared)
            return
        if isinstance(type, TupleType) and holds_arrays(type):
            for at, element in enumerate(type.elements):
                self.copy(source.component(at), target.component(at), element, [])
            return
        if not isinstance(type, ArrayType):
            self.assign(target, type, self.load(source, type))
            return
        own = shared[0] if shared else None
        if target.space != PRIVATE and own is None and not self.is_distributed:
            raise self.refuse(
                "its result is data that this kernel does not compute, which all work-items would copy",
                "a parallel map of id over it",
            )
        assert self.current is not None
        kind, dimension = (own.kind, own.dimension) if own is not None else (SEQ, 0)
        self.loop(
            type.length,
            kind,
            dimension,
            self.current,
            lambda at: self.copy(source.at(at), target.at(at), type.element, shared[1:]),
        )

    def copy_chunks(self, source: View, target: View, type: RaggedType, shared: list[Distribution | None]) -> None:
        """Copy the chunks of a guarded split as the array that they are chunks of."""
        whole = ArrayType(type.element, type.total)
        views = [JoinView(view, type.chunk) for view in (source, target)]
        self.copy(
            views[0], views[1], whole, [next((mark for mark in shared[:2] if mark is not None), None), *shared[2:]]
        )


def memory_type(type: ScalarType) -> ScalarType:
    """Return how a scalar is stored: truth values have no size that OpenCL fixes."""
    return uint8 if type == boolean else type


def count_uses(parameter: Parameter, expression: Expression | Function) -> int:
    """Return how often a parameter occurs."""
    if isinstance(expression, Parameter):
        return 1 if expression is parameter else 0
    if isinstance(expression, Call):
        return count_uses(parameter, expression.function) + sum(
            [count_uses(parameter, argument) for argument in expression.arguments]
        )
    if isinstance(expression, Lambda):
        return count_uses(parameter, expression.body)
    if isinstance(expression, Pattern):
        return sum([count_uses(parameter, inner) for inner in expression.functions])
    return 0


def is_direct(parameter: Parameter, expression: Expression) -> bool:
    """Return True where a parameter's only use is not inside a pattern's function, which may run many times."""
    if isinstance(expression, Parameter):
        return expression is parameter
    if not isinstance(expression, Call):
        return False
    if any(is_direct(parameter, argument) for argument in expression.arguments):
        return True
    function = expression.function
    if isinstance(function, Lambda):
        return is_direct(parameter, function.body)
    return isinstance(function, Wrapper) and is_direct(parameter, function.function.body)
