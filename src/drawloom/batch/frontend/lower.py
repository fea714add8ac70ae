"""A typed kernel to InfReg-IR: statements in program order, every variable's register renewed by each assignment.

    before: if (get_local_id() > s) t[s] = t[s] / p[s];
    after:  %7 = fdiv %t, %p                        -- in the format of t, the lanes of column s count
            %8 = select <wi > s and ix == s>, %7, %t

Conditions of compile-time numbers become constant masks (`static_resolve` of the paper). Loops whose condition is known
at compile time are unrolled; an innermost one runs many turns at once (`schedule.py`). Other loops run at run time,
masked, until every item of the group has left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.frontend.contexts import ONCE, Context, Turns
from drawloom.batch.frontend.inline import inline_calls
from drawloom.batch.frontend.jumps import guard_body, guard_condition
from drawloom.batch.frontend.lower_expressions import INDEX, ExpressionLowering
from drawloom.batch.frontend.normalise import Body, Guarded, normalise_body
from drawloom.batch.frontend.schedule import Step, Touch, split_turns
from drawloom.batch.frontend.source import BatchTypeError
from drawloom.batch.frontend.syntax import (
    Assign,
    Binary,
    Block,
    Cast,
    Constant,
    Declare,
    Element,
    Evaluate,
    Expression,
    If,
    Kernel,
    Load,
    Loop,
    Parameter,
    Read,
    ScalarParameter,
    Statement,
    Unary,
    Variable,
)
from drawloom.batch.frontend.walk import assigned_variables, expressions_in, statements_in
from drawloom.batch.ir import ir
from drawloom.batch.ir.builder import MOST_VALUES, TooManyValues
from drawloom.batch.ir.dead import remove_dead_values
from drawloom.batch.ir.ir import MASK, Format, Value

#: Loops with more turns than this run at run time, though their number is known.
MOST_TURNS: Final = 4096
#: Statements and turns of counted loops that one kernel is unrolled to; the ready kernels have some thousand.
MOST_STEPS: Final = 400_000


def lower(kernel: Kernel, *, contract: bool = True) -> ir.Kernel:
    """Lower a kernel to InfReg-IR.

    Args:
        kernel: What `parse_file` returned.
        contract: Make a product and the sum that takes it one fused operation.

    Raises:
        BatchTypeError: An index is out of range, or unrolling makes too many instructions.
    """
    try:
        kernel = inline_calls(kernel)
        lowering = Lowering(kernel, contract)
        lowering.run()
    except RecursionError:
        raise kernel.source.type_error(f"{kernel.name} is nested too deeply", kernel.body.position) from None
    except TooManyValues:
        raise kernel.source.type_error(
            f"{kernel.name} has more than {MOST_VALUES:,} operations after unrolling", kernel.body.position
        ) from None
    stored = {part.target.pointer for part in statements_in(kernel.body)
              if isinstance(part, Assign) and isinstance(part.target, Load)}  # fmt: skip
    parameters = [
        ir.Parameter(parameter.name, parameter.type.llvm, parameter.is_pointer, parameter in stored)
        for parameter in kernel.parameters
    ]
    result = ir.Kernel(
        kernel.name, kernel.wg_size, parameters, lowering.builder.block, lowering.addresses.most_groups
    )
    remove_dead_values(result)
    return result


class Counted(NamedTuple):
    """A counted loop: how many turns it has, its variables' values in them, and their registers after the last."""

    number: int
    values: tuple[tuple[Variable, NDArray[Any]], ...]
    after: dict[Variable, Value]


class Lowering(ExpressionLowering):
    """Statements. `mask` is the items that run, as a register with one lane per item; None stands for all."""

    def __init__(self, kernel: Kernel, contract: bool) -> None:
        super().__init__(kernel, contract)
        self.steps = 0
        self.mask: Value | None = None
        #: Of the loop whose turns are being distributed: statements whose target is one column in every turn, pointers
        #: that are stored through, variables that are assigned, and the run-time part of each pointer's indices.
        self.has_columns: dict[int, bool] = {}
        self.stored: set[Parameter] = set()
        self.written: set[Variable] = set()
        self.bases: dict[object, Any] = {}
        self.scalars = Context(Format(kernel.wg_size, 1), ONCE, np.zeros(1, np.int64))

    def run(self) -> None:
        for part in statements_in(self.kernel.body):
            if isinstance(part, Declare) and part.variable.is_local:
                self.reset(part.variable)
        self.execute(self.kernel.body)

    def reset(self, variable: Variable) -> None:
        if variable.values is not None:
            self.registers[variable] = self.builder.constant(variable.type.llvm, variable.values[None, :])
            return
        self.registers[variable] = self.builder.number_of(variable.type.llvm, self.format_of(variable), 0)

    def count_steps(self, statement: Statement, steps: int) -> None:
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise self.kernel.source.type_error(
                f"{self.kernel.name} has more than {MOST_STEPS:,} statements after unrolling", statement.position
            )

    def execute(self, statement: Statement) -> None:
        self.count_steps(statement, 1)
        match statement:
            case Block(_, statements):
                for child in statements:
                    self.execute(child)
            case Declare(_, variable, initial):
                if not variable.is_local:
                    self.reset(variable)
                if initial is not None:
                    self.registers[variable] = self.evaluate(initial, self.scalars, self.mask)
            case Assign(_, target, value):
                self.assign(Guarded(target, value, ()), ONCE)
            case Evaluate():
                return
            case If():
                self.branch(statement)
            case Loop():
                self.loop(statement)
            case _:
                raise AssertionError(statement)

    def branch(self, statement: If) -> None:
        holds = self.evaluate(statement.condition, self.scalars, self.mask)
        outer = self.mask
        for branch, chosen in ((statement.then, holds), (statement.otherwise, self.invert(holds))):
            if branch is None:
                continue
            self.mask = self.both(outer, chosen)
            if statement.is_arm or not is_false(self.mask):
                self.execute(branch)
        self.mask = outer

    # Assignments.

    def assign(self, statement: Guarded, turns: Turns) -> None:
        """Run an assignment for turns that do not depend on each other."""
        target = statement.target
        if isinstance(target, Load):
            self.store(statement, target, turns)
        elif isinstance(target, Read) and not target.variable.is_local:
            assert turns.number == 1
            self.assign_lanes(statement, target.variable, np.zeros(1, np.int64), turns)
        elif target.variable.is_local:
            self.assign_local(statement, target)
        else:
            assert isinstance(target, Element)
            positions = self.columns_of(target, statement.guards, turns)
            if positions is not None:
                self.assign_lanes(statement, target.variable, positions, turns)
            else:
                self.assign_varying(statement, target, turns)

    def assign_lanes(
        self, statement: Guarded, variable: Variable, positions: NDArray[Any], turns: Turns
    ) -> None:
        """Assign to the columns `positions` of a private variable, one for each turn."""
        builder = self.builder
        context = Context(self.format_of(variable), turns, positions)
        mask = self.mask_in(context, statement.guards)
        if is_false(mask) and not statement.is_initial:
            return
        value = self.evaluate(statement.value, context, mask)
        old = self.registers[variable]
        lanes = context.lanes
        if statement.is_initial:
            mask = None
        if mask is not None and mask.is_constant:
            lanes, mask = lanes & mask.detail, None
        if mask is not None:
            value = builder.operate("select", mask, value, old)
        self.registers[variable] = builder.operate("select", builder.constant(MASK, lanes), value, old)

    def assign_varying(self, statement: Guarded, target: Element, turns: Turns) -> None:
        """Assign to an element that differs between items or is known at run time only: where ix is the index."""
        builder = self.builder
        assert turns.number == 1
        context = Context(self.scalars.format, turns, np.zeros(1, np.int64))
        mask = self.mask_in(context, statement.guards)
        value = self.evaluate(statement.value, context, mask)
        index = self.element_index(target, context, mask)
        whole = Context(self.format_of(target.variable), ONCE, np.arange(target.variable.extent))
        chosen = builder.operate(
            "icmp eq", builder.permute(index, whole.items), builder.constant(INDEX, whole.columns)
        )
        if mask is not None:
            chosen = builder.operate("and", chosen, builder.permute(mask, whole.items))
        old = self.registers[target.variable]
        self.registers[target.variable] = builder.operate(
            "select", chosen, builder.permute(value, whole.items), old
        )

    def assign_local(self, statement: Guarded, target: Read | Element) -> None:
        """Assign to a group's variable, item by item: of several that assign to one element the highest one wins."""
        builder = self.builder
        context = self.scalars
        mask = self.mask_in(context, statement.guards)
        value = self.evaluate(statement.value, context, mask)
        variable = target.variable
        if isinstance(target, Element):
            index = self.element_index(target, context, mask)
        else:
            index = builder.number_of(INDEX, context.format, 0)
        format = self.format_of(variable)
        columns = builder.constant(INDEX, np.arange(format.extent, dtype=np.int64)[None, :])
        rounds = rounds_of(index.detail.reshape(-1)) if index.is_constant else [
            np.full(format.extent, item) for item in range(self.kernel.wg_size)
        ]  # fmt: skip
        register = self.registers[variable]
        for items in rounds:
            writers = np.full(format, -1, np.int64)
            writers[0, : len(items)] = items
            written = builder.constant(MASK, writers >= 0)
            writers = writers.clip(0)
            chosen = builder.operate("icmp eq", builder.permute(index, writers), columns)
            chosen = builder.operate("and", written, chosen)
            if mask is not None:
                chosen = builder.operate("and", chosen, builder.permute(mask, writers))
            register = builder.operate("select", chosen, builder.permute(value, writers), register)
        self.registers[variable] = register

    def store(self, statement: Guarded, target: Load, turns: Turns) -> None:
        context = self.store_context(statement, turns)
        mask = self.mask_in(context, statement.guards)
        if is_false(mask):
            return
        value = self.evaluate(statement.value, context, mask)
        access, index, condition = self.access(target, context, mask)
        self.builder.store(access, value, index, condition)

    def store_context(self, statement: Guarded, turns: Turns) -> Context:
        """Return a context in which the stored array's elements stay in their lanes."""
        if turns.number > 1:
            for part in expressions_in(statement.value):
                if isinstance(part, Element) and not part.variable.is_local:
                    positions = self.positions_if_known(part, turns)
                    if positions is not None and len(np.unique(positions)) == turns.number:
                        return Context(self.format_of(part.variable), turns, positions)
        return Context(Format(self.kernel.wg_size, turns.number), turns, np.arange(turns.number))

    def mask_in(self, context: Context, guards: tuple[Expression, ...]) -> Value | None:
        """Return the current mask and the guards in a context; None where all items run."""
        mask = None if self.mask is None else self.spread(self.mask, context)
        for guard in guards:
            mask = self.both(mask, self.evaluate(guard, context, mask))
        if mask is not None and mask.is_constant and mask.detail[context.lanes].all():
            return None
        return mask

    def columns_of(self, element: Element, guards: tuple[Expression, ...], turns: Turns) -> NDArray[Any] | None:
        """Return the index of an element in each turn; None where it varies between items or is not known."""
        with self.scratch():
            context = self.turn_context(turns)
            index = self.element_index(element, context, self.mask_in(context, guards))
        if not index.is_constant or not (index.detail == index.detail[:1]).all():
            return None
        return np.asarray(index.detail[0])

    def turn_context(self, turns: Turns) -> Context:
        """Return a context with a column for each turn, which answers questions about all of them."""
        return Context(Format(self.kernel.wg_size, turns.number), turns, np.arange(turns.number))

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Throw away what is emitted: only constants are wanted."""
        outer = self.builder.enter(ir.Block())
        yield
        self.builder.leave(outer)

    # Loops.

    def loop(self, loop: Loop) -> None:
        if loop.first is not None:
            self.execute(loop.first)
        outer = self.mask
        # Under a mask, a variable that outlives the loop differs between items.
        counted = self.count_turns(loop) if loop.counts_for_all or outer is None else None
        if counted is not None:
            self.count_steps(loop, counted.number)
            self.unroll(guard_body(loop), counted)
        else:
            self.unroll_while_known(guard_condition(loop))
        self.mask = outer

    def count_turns(self, loop: Loop) -> Counted | None:
        """Return the values of a loop's variables in its turns; None where it is not a counted loop."""
        steps = [] if not isinstance(loop.step, Block) else [*loop.step.statements]
        followings: list[tuple[Variable, Expression]] = []
        body_changes = assigned_variables(loop.body)
        for step in steps:
            if not isinstance(step, Assign) or not isinstance(step.target, Read):
                return None
            variable = step.target.variable
            if variable.is_local or not variable.type.is_integer or variable in body_changes:
                return None
            followings.append((variable, step.value))
        for expression in (loop.condition, *(value for _, value in followings)):
            for part in expressions_in(expression):
                if isinstance(part, Load) or (isinstance(part, Read | Element) and part.variable in body_changes):
                    return None
        return self.enumerate_turns(loop.condition, followings) if followings else None

    def enumerate_turns(
        self, condition: Expression, followings: list[tuple[Variable, Expression]]
    ) -> Counted | None:
        begin = {variable: self.registers[variable] for variable, _ in followings}
        values: dict[Variable, list[Any]] = {variable: [] for variable in begin}
        turns = 0
        try:
            with self.scratch():
                while True:
                    current = {variable: self.registers[variable] for variable in begin}
                    holds = self.evaluate(condition, self.scalars, None)
                    if not is_uniform(holds) or not all(is_uniform(value) for value in current.values()):
                        return None
                    if not holds.detail.flat[0]:
                        rows = {v: np.array(row, v.type.dtype) for v, row in values.items()}
                        return Counted(turns, tuple(rows.items()), current)
                    for variable, value in current.items():
                        values[variable].append(value.detail.flat[0].astype(variable.type.dtype))
                    turns += 1
                    if turns > MOST_TURNS:
                        return None
                    for variable, following in followings:
                        self.registers[variable] = self.evaluate(following, self.scalars, None)
        finally:
            self.registers.update(begin)

    def unroll(self, loop: Loop, counted: Counted) -> None:
        """Run a counted loop: its turns at once where its body allows it, else one after the other."""
        body = self.normalise(loop, counted)
        if body is None:
            for turn in range(counted.number):
                for variable, values in counted.values:
                    register = self.builder.number_of(variable.type.llvm, self.scalars.format, values[turn])
                    self.registers[variable] = register
                self.execute(loop.body)
        else:
            self.run_index_sets(*body)
        self.registers.update(counted.after)

    def step(self, loop: Loop) -> None:
        if loop.step is None:
            return
        mask = self.mask
        if loop.counts_for_all:
            self.mask = None
        self.execute(loop.step)
        self.mask = mask

    def normalise(self, loop: Loop, counted: Counted) -> tuple[Body, Turns] | None:
        if counted.number < 2:
            return None
        turns = Turns(counted.number, counted.values)
        extent, positions = self.choose_home(loop.body, turns)
        body = normalise_body(loop.body, extent)
        if body is None:
            return None
        for shadow in body.shadows:
            self.reset(shadow)
        return body, Turns(turns.number, (*turns.values, (body.home, positions)))

    def choose_home(self, body: Statement, turns: Turns) -> tuple[int, NDArray[Any]]:
        """Return the extent of the arrays that stand for temporaries, and each turn's place in them.

        Both are as in an array that the body assigns to, so that temporaries need not move.
        """
        own = {part.variable for part in statements_in(body) if isinstance(part, Declare)}
        for part in statements_in(body):
            target = part.target if isinstance(part, Assign) else None
            if not isinstance(target, Element) or target.variable.is_local or target.variable in own:
                continue
            parts = expressions_in(target.index)
            if any(isinstance(part, Read | Element) and part.variable in own for part in parts):
                continue
            # Where an index is out of range in some turn, a guard that is not known here masks it.
            positions = self.positions_if_known(target, turns)
            if positions is not None and len(np.unique(positions)) == turns.number:
                return target.variable.extent, positions
        return turns.number, np.arange(turns.number)

    def positions_if_known(self, target: Element, turns: Turns) -> NDArray[Any] | None:
        with self.scratch():
            index = self.index_if_sound(target, self.turn_context(turns))
        if index is None or not index.is_constant or not (index.detail == index.detail[:1]).all():
            return None
        row = np.asarray(index.detail[0])
        return row if ((row >= 0) & (row < target.variable.extent)).all() else None

    def index_if_sound(self, part: Element | Load, context: Context) -> Value | None:
        """Return an index without the mask that it will have; None where it needs one to be in range."""
        try:
            return self.wide_index(part.index, context, None)
        except BatchTypeError:
            return None

    def run_index_sets(self, body: Body, turns: Turns) -> None:
        self.bases = {}
        self.written = {part.target.variable for part in body.statements if not isinstance(part.target, Load)}
        self.stored = {part.target.pointer for part in body.statements if isinstance(part.target, Load)}
        steps = [self.touches(statement, turns) for statement in body.statements]
        for number, chosen in split_turns(steps, turns.number):
            statement = body.statements[number]
            if self.runs_at_once(statement):
                self.assign(statement, turns.select(chosen))
            else:
                for turn in chosen:
                    self.assign(statement, turns.select([turn]))

    def runs_at_once(self, statement: Guarded) -> bool:
        """Return whether several turns may be one assignment; `touches` found the columns of such a target."""
        target = statement.target
        if isinstance(target, Load):
            return True
        return isinstance(target, Element) and self.has_columns.get(id(statement), False)

    def touches(self, statement: Guarded, turns: Turns) -> Step:
        """Return what a statement reads and writes in every turn in which its guards can hold."""
        with self.scratch():
            context = self.turn_context(turns)
            # What the loop assigns has other values when the statement runs than it has now.
            known = tuple(guard for guard in statement.guards if not self.is_changed(guard))
            mask = self.mask_in(context, known)
            live: list[int] | range = range(turns.number)
            if mask is not None and mask.is_constant:
                live = [turn for turn in live if mask.detail[:, turn].any()]
            write = self.touch(statement.target, context, mask)
            expressions = [statement.value, *statement.guards]
            if not isinstance(statement.target, Read):
                expressions.append(statement.target.index)
            reads = tuple(
                self.touch(part, context, mask)
                for expression in expressions
                for part in expressions_in(expression)
                if self.may_conflict(part, context)
            )
        self.has_columns[id(statement)] = isinstance(statement.target, Element) and write.elements is not None and all(
            len(row) == 1 and 0 <= min(row) < statement.target.variable.extent
            for row in (write.elements[turn] for turn in live)
        )
        return Step(tuple(live), write, reads)

    def is_changed(self, expression: Expression) -> bool:
        """Return whether an expression reads what the loop assigns."""
        return any(
            part.variable in self.written if isinstance(part, Read | Element) else
            isinstance(part, Load) and part.pointer in self.stored
            for part in expressions_in(expression)
        )

    def may_conflict(self, part: Expression, context: Context) -> bool:
        """Return whether a part of a statement reads what the loop may write."""
        if isinstance(part, Load):
            return part.pointer in self.stored
        return isinstance(part, Element) or (isinstance(part, Read) and part.variable not in context.bound)

    def touch(self, part: Expression, context: Context, mask: Value | None) -> Touch:
        turns = context.format.extent
        if isinstance(part, Read):
            return Touch(part.variable, (frozenset([0]),) * turns)
        assert isinstance(part, Element | Load)
        index = None if self.is_changed(part.index) else self.index_if_sound(part, context)
        subject = part.variable if isinstance(part, Element) else part.pointer
        polynomial = None if index is None else self.addresses.polynomial(index)
        if polynomial is None or any(not (lanes == lanes.flat[0]).all() for lanes in polynomial.terms.values()):
            return Touch(subject, None)
        if polynomial.terms and self.differs(subject, polynomial.sorted_terms()):
            return Touch(subject, None)
        offsets = polynomial.offsets
        return Touch(subject, tuple(frozenset(offsets[:, turn].tolist()) for turn in range(turns)))

    def differs(self, subject: object, terms: Any) -> bool:
        """Return whether accesses to a pointer have different run-time parts, so that offsets do not compare."""
        key = tuple((term.factors, int(term.coefficients.flat[0])) for term in terms)
        return bool(self.bases.setdefault(subject, key) != key)

    # Loops at run time.

    def unroll_while_known(self, loop: Loop) -> None:
        """Run turns as long as the condition is known at compile time; the rest of the loop runs at run time."""
        turns = 0
        while turns < MOST_TURNS:
            if loop.tests_first or turns:
                with self.scratch():
                    holds = self.evaluate(loop.condition, self.scalars, self.mask)
                    active = self.both(self.mask, holds)
                if not active.is_constant:
                    break
                if is_false(active):
                    return
                self.mask = None if active.detail.all() else active
            self.execute(loop.body)
            self.step(loop)
            turns += 1
        self.run_time_loop(loop)

    def run_time_loop(self, loop: Loop) -> None:
        builder = self.builder
        changed = assigned_variables(loop.body) | (set() if loop.step is None else assigned_variables(loop.step))
        own = {p.variable for p in statements_in(loop.body) if isinstance(p, Declare) and not p.variable.is_local}
        variables = sorted((v for v in changed - own if v in self.registers), key=lambda v: v.number)
        outer_mask = self.mask
        active = outer_mask or builder.number_of(MASK, self.scalars.format, True)
        initial = [*[self.registers[variable] for variable in variables], active]
        carried = [builder.carried(value) for value in initial]
        made = ir.Loop(carried)
        self.forget_stored(loop)

        outer = builder.enter(made.header)
        self.registers.update(zip(variables, carried))
        holds = self.evaluate(loop.condition, self.scalars, carried[-1])
        if is_uniform(holds) and holds.detail.flat[0]:
            raise self.kernel.source.type_error("this loop never ends", loop.position)
        made.condition = self.both(carried[-1], holds)
        builder.enter(made.body)
        self.mask = outer_mask if counts_uniformly(loop) else made.condition
        self.execute(loop.body)
        self.step(loop)
        made.next_values = [*[self.registers[variable] for variable in variables], made.condition]
        builder.leave(outer, scopes=2)

        self.forget_stored(loop)
        results = builder.close_loop(made, initial)
        self.registers.update(zip(variables, results))

    def forget_stored(self, loop: Loop) -> None:
        for part in statements_in(loop):
            if isinstance(part, Assign) and isinstance(part.target, Load):
                self.builder.forget_memory(part.target.pointer.name)


def counts_uniformly(loop: Loop) -> bool:
    """Return whether only numbers and parameters decide how often a loop runs: then no item leaves before another."""
    if not loop.counts_for_all or not isinstance(loop.step, Block):
        return False
    declared = [part for part in statements_in(loop.first) if isinstance(part, Declare)] if loop.first else []
    if len(declared) != 1 or declared[0].initial is None or declared[0].variable in assigned_variables(loop.body):
        return False
    steps = [part.value for part in loop.step.statements if isinstance(part, Assign)]
    return all(
        isinstance(part, Constant | ScalarParameter | Cast | Unary | Binary)
        or (isinstance(part, Read) and part.variable is declared[0].variable)
        for expression in (declared[0].initial, loop.condition, *steps)
        for part in expressions_in(expression)
    )


def rounds_of(index: NDArray[Any]) -> list[NDArray[Any]]:
    """Split the items that write to elements into rounds in which each element has one writer; -1 stands for none."""
    rounds: list[NDArray[Any]] = []
    filled: dict[int, int] = {}
    for item, element in enumerate(index.tolist()):
        number = filled.get(element, 0)
        filled[element] = number + 1
        if number == len(rounds):
            rounds.append(np.full(int(index.max()) + 1, -1, np.int64))
        rounds[number][element] = item
    return rounds


def is_false(mask: Value | None) -> bool:
    return mask is not None and mask.is_constant and not mask.detail.any()


def is_uniform(value: Value) -> bool:
    return value.is_constant and bool((value.detail == value.detail.flat[0]).all())
