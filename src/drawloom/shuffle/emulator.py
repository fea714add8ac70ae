"""The symbolic emulator: from a function to its memory trace and the loads that another lane has done already
(Matsumura and others, "A Symbolic Emulator for Shuffle Synthesis on the NVIDIA PTX Code", CC 2023, section 4).

Blocks are run once per flow, in reverse postorder. Flows fork at branches that their conditions do not decide; those
that meet with equal registers are one again, and where more than ``Options.flows`` meet, they are merged: what differs
is an uninterpreted value. Loops are entered once, in any iteration; a first run finds which registers count it.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Final

from drawloom.errors import SourceError
from drawloom.ptx.cfg import Block, Cfg, build_cfg
from drawloom.ptx.dominators import controlled
from drawloom.ptx.ir import Function, Instruction, Module
from drawloom.ptx.isa import BRANCH, CALL
from drawloom.ptx.liveness import bits, liveness, members
from drawloom.ptx.types import U32
from drawloom.ptx.uniformity import BlockShape, uniformity
from drawloom.ptx.unread import Unknown
from drawloom.shuffle.candidates import Finder
from drawloom.shuffle.corners import Corners
from drawloom.shuffle.decide import Decider
from drawloom.shuffle.execute import TOLD, Executor, told_at, version_of
from drawloom.shuffle.expressions import DEEP, OPAQUE, Expressions
from drawloom.shuffle.facts import ALONG_X, Options, Refusal, Report
from drawloom.shuffle.frame import Frame, relevant_registers
from drawloom.shuffle.lanes import replaced
from drawloom.shuffle.loops import Round, Rounds, step
from drawloom.shuffle.solve import Prover
from drawloom.shuffle.state import JOINED, Ending, State, assume, common_conditions, exclusive, same_but_conditions
from drawloom.shuffle.threads import Threads
from drawloom.shuffle.trail import Trail
from drawloom.shuffle.visibility import waits_apart

__all__ = ["Options", "analyse"]

#: Flows that are compared with each other, and targets of a branch that are told apart by all numbers that do not lead
#: there.
_MOST_APART: Final = 64
#: Conditions that are kept behind a loop that lanes leave apart, the last ones.
_MOST_KEPT: Final = 128


def analyse(module: Module, function: Function, options: Options | None = None) -> Report:
    """What the emulation of one function finds out that is defined. What cannot be analysed is among ``refusals``;
    nothing is raised for it."""
    begin = perf_counter()
    options = Options() if options is None else options
    x = Expressions()
    report = Report(function, x)
    if function.unread is not None:
        report.refusals.append(Refusal(-1, _said(function.unread.refusal)))
        return report
    try:
        cfg = build_cfg(function, module)
        emulation = _Emulation(module, cfg, x, options, report)
        emulation.run()
        finder = Finder(emulation.trail, emulation.frame, cfg, emulation.threads)
        report.find, report.why = finder.find, finder.why
        if emulation.decider.prover is not None:
            report.shortfall = emulation.decider.prover.shortfall
    except (SourceError, RecursionError) as failure:
        report.refusals.append(Refusal(-1, _said(failure)))
    report.seconds = perf_counter() - begin
    return report


def _said(failure: SourceError | RecursionError) -> str:
    """Why a function was not analysed, in a line."""
    what = f"{failure.place()}: {failure.message}" if isinstance(failure, SourceError) else str(failure)
    return f"the function was not analysed: {what}"


class _Emulation:
    """The walk over the blocks of one function."""

    def __init__(self, module: Module, cfg: Cfg, x: Expressions, options: Options, report: Report) -> None:
        self.cfg = cfg
        self.x = x
        self.options = options
        self.report = report
        self.live = liveness(cfg)
        # Where the shape of the block is not known, what rests on it holds if lanes count along x (``LANES_ALONG_X``).
        self.frame = Frame(x, cfg, module)
        extents = self.frame.extents
        is_known = self.frame.is_shape_known
        shape = BlockShape(extents[0], extents[1], extents[2]) if is_known else BlockShape(x_is_warps=True)
        self.uniform = uniformity(cfg, shape, self.live)
        self.rounds = Rounds(cfg, self.uniform, module)
        prover = Prover(x, options.solver_steps) if options.solver_steps > 0 else None
        self.decider = Decider(x, prover)
        self.trail = Trail(x, module, cfg.function, options, self.decider, self.rounds, Corners(cfg))
        self.relevant = relevant_registers(cfg)
        self.asked = bits([r for r, matters in enumerate(self.relevant) if matters])
        self.executor = Executor(x, self.frame, self.relevant, self.trail, self.uniform)
        self.executor.waits_apart = waits_apart(cfg, self.uniform, module, False)
        self.incoming: list[list[State]] = []
        self.read: list[list[int] | None] = [None] * len(cfg.blocks)
        self.final = True
        self.threads = Threads(cfg)
        report.threads = self.threads
        #: Whether something was found by which the walk would have gone another way before.
        self.stale = False
        #: The blocks that make leaves; by header of a loop, what expressions are behind it.
        self.made_in: dict[int, int] = {}
        self.behind: dict[int, dict[int, int]] = {}

    def run(self) -> None:
        """Run everything, twice where there are loops, and again while lanes turn out to be apart in more places."""
        if self.rounds.by_header:
            self.final = False
            self.walk()
            self.final = True
            self.trail.start_again()
        self.stale = False
        self.walk()
        while self.stale:
            self.stale = False
            self.trail.start_again()
            self.walk()
        report, trail = self.report, self.trail
        report.trace = trail.accesses
        divergent = controlled(self.cfg, [b for b in self.cfg.rpo if self.uniform.is_divergent(b)])
        report.divergent.update([access.at for access in trail.accesses if access.block in divergent])
        for block_id in self.cfg.rpo:
            for at, instruction in self.statements(self.cfg.blocks[block_id]):
                if isinstance(instruction, Unknown):
                    trail.refused[at] = instruction.refusal.message
                    if instruction.is_load:
                        report.loads.append(at)
                elif instruction.opcode.name == "ld" and instruction.opcode.space != "param":
                    report.loads.append(at)
        report.loads.sort()
        for at in sorted(trail.refused):
            report.refusals.append(Refusal(at, trail.refused[at]))
        for at in report.loads:
            if at not in trail.instances and at not in trail.refused:
                report.refusals.append(Refusal(at, "no flow comes to it" + self.if_along_x(at)))

    def if_along_x(self, at: int) -> str:
        """What a branch not taken rests on, where ``%tid`` and ``%laneid`` have a part in it."""
        if self.frame.is_shape_known:
            return ""
        threads = self.threads
        is_mixed = threads.may_decide(threads.by_thread, at) and threads.may_decide(threads.by_lane, at)
        return f", if {ALONG_X}" if is_mixed else ""

    def walk(self) -> None:
        cfg = self.cfg
        self.report.flows = self.report.merged = 0
        self.incoming = [[] for _ in cfg.blocks]
        count = len(cfg.function.registers)
        self.incoming[0].append(State([-1] * (count + 1), {}, {}, 0, []))
        for block_id in cfg.rpo:
            states = self.incoming[block_id]
            self.incoming[block_id] = []
            cycle = self.rounds.by_header.get(block_id)
            if cycle is not None:
                for state in states:
                    self.enter(state, cycle)
            for state in self.joined(block_id, states):
                self.block(cfg.blocks[block_id], state)

    # -- blocks ------------------------------------------------------------------------------------------

    def statements(self, block: Block) -> list[tuple[int, Instruction]]:
        """The instructions of a block with their places in the body."""
        body = self.cfg.function.body
        out: list[tuple[int, Instruction]] = []
        for at in range(block.first, block.last + 1):
            statement = body[at]
            if isinstance(statement, Instruction):
                out.append((at, statement))
        return out

    def block(self, block: Block, state: State) -> None:
        """Run a block and hand the state to where it goes on."""
        executor = self.executor
        for at, instruction in self.statements(block):
            if instruction is block.terminator and instruction.opcode.effect != CALL:
                break
            executor.run(state, at, instruction, block.id)
        terminator = block.terminator
        if terminator is None:
            self.go_on(state, block, block.fallthrough)
            return
        guard = executor.guard(state, terminator)
        if not self.uniform.is_divergent(block.id):
            self.doubt(guard)
            if terminator.opcode.name == "brx.idx":
                self.doubt(self.frame.source(state, terminator.operands[0], U32))
        if terminator.opcode.effect != BRANCH:
            if guard != self.x.false:
                self.report.flows += 1
            if guard != self.x.true:
                assume(self.x, state.conditions, guard, False)
                self.go_on(state, block, block.fallthrough)
            return
        targets = [block.taken] if terminator.opcode.name == "bra" else sorted(set(block.targets))
        if guard == self.x.true and len(targets) == 1:
            self.go_on(state, block, targets[0])
            return
        if guard != self.x.false:
            for target in targets:
                taken = state.copy()
                assume(self.x, taken.conditions, guard, True)
                if terminator.opcode.name != "bra":
                    self.choose(taken, block, target)
                self.go_on(taken, block, target)
        if guard != self.x.true:
            assume(self.x, state.conditions, guard, False)
            self.go_on(state, block, block.fallthrough)

    def choose(self, state: State, block: Block, target: int) -> None:
        """Note which numbers lead a ``brx.idx`` to a target."""
        x = self.x
        assert block.terminator is not None
        index = self.frame.source(state, block.terminator.operands[0], U32)
        places = [k for k, found in enumerate(block.targets) if found == target]
        others = range(len(block.targets)) if len(block.targets) <= _MOST_APART else places
        for k in others:
            if k not in places or len(places) == 1:
                assume(x, state.conditions, x.equal(index, x.constant(k, 32)), k in places)

    def go_on(self, state: State, block: Block, target: int) -> None:
        """Hand a state to the next block; -1 is the end of the function."""
        if target < 0:
            self.report.flows += 1
            return
        index = self.cfg.rpo_index
        if index[target] <= index[block.id]:
            self.report.flows += 1
            cycle = self.rounds.by_header.get(target)
            if cycle is not None:
                self.go_round(state, cycle)
            return
        for cycle in self.rounds.around(block.id):
            if target not in cycle.blocks:
                self.trail.leave(state, cycle.blocks)
                if cycle.parts or self.rounds.doubtful:
                    self.part(state, cycle, target)
        self.incoming[target].append(state)

    def registers(self, block_id: int) -> list[int]:
        """The registers that matter and are read from a block on."""
        known = self.read[block_id]
        if known is None:
            known = self.read[block_id] = members(self.live.live_in[block_id] & self.asked)
        return known

    def joined(self, block_id: int, states: list[State]) -> list[State]:
        """The flows that go on from here: equal ones are one, and too many are merged."""
        registers = self.registers(block_id)
        out: list[State] = []
        for state in states:
            for other in out[:_MOST_APART]:
                if same_but_conditions(other, state, registers):
                    other.conditions = common_conditions(other.conditions, state.conditions)
                    self.join_carry(block_id, other, state)
                    break
            else:
                out.append(state)
        if len(out) <= self.options.flows:
            return out
        self.report.merged += len(out) - 1
        return [self.merged(block_id, out, registers)]

    def merged(self, block_id: int, states: list[State], registers: list[int]) -> State:
        """One flow for many: what differs between them is an uninterpreted value. Where the lanes of a warp are all on
        one of the flows, and a value differs by what they share, only that difference is."""
        x = self.x
        first = states[0]
        shared = apart_together(x, states)
        for other in states[1:]:
            first.conditions = common_conditions(first.conditions, other.conditions)
            for place, found in list(first.available.items()):
                theirs = other.available.get(place, ())
                left = tuple([one for one in found if one in theirs])
                for number, element in found:
                    if (number, element) not in left:
                        first.end(Ending(place, number, element, JOINED))
                if left:
                    first.available[place] = left
                else:
                    del first.available[place]
            first.apart = first.apart or other.apart
            first.add_tests(other)
            self.join_carry(block_id, first, other)
            if first.version != other.version:
                first.version = -1 - block_id
        for r in registers:
            values = {state.env[r] for state in states}
            if len(values) == 1:
                continue
            self.doubt_register(r, values)
            own = first.env[r]
            if shared and min(values) >= 0 and not any(x.varies[x.sub(value, own)] for value in values):
                register = self.cfg.function.registers[r]
                name = f"{self.label(block_id)}:{register.name} of the warp"
                leaf = self.made(x.leaf("phi", register.type.bits, name), block_id)
                first.env[r] = x.add(own, leaf)
                self.hide(leaf, [x.sub(value, own) for value in values])
            else:
                first.env[r] = self.unknown("phi", block_id, r)
                self.hide(first.env[r], values)
        return first

    def unknown(self, name: str, block_id: int, register_id: int) -> int:
        """An uninterpreted value of a register at a block's entry."""
        register = self.cfg.function.registers[register_id]
        payload = f"{self.label(block_id)}:{register.name}"
        if self.rounds.doubtful:
            return self.x.leaf(name, register.type.bits, f"{payload} of each lane", varies=OPAQUE)
        varies = 0 if self.uniform.is_uniform(register_id) else OPAQUE
        return self.made(self.x.leaf(name, register.type.bits, payload, varies=varies), block_id)

    def carry(self, name: str, block_id: int) -> int:
        """An uninterpreted carry flag at a block's entry."""
        return self.made(self.x.leaf(name, 1, f"{self.label(block_id)}:carry", varies=OPAQUE), block_id)

    def join_carry(self, block_id: int, into: State, other: State) -> None:
        """The carry flag, which is no register, where two flows become one."""
        if into.env[-1] != other.env[-1]:
            into.env[-1] = self.carry("phi", block_id)

    def made(self, leaf: int, block_id: int) -> int:
        """Remember which block makes a leaf."""
        self.made_in[leaf] = block_id
        return leaf

    def doubt(self, e: int) -> None:
        """What ``uniformity`` takes to be the same in all lanes that run it together may not be in all of a warp, which
        may have read or asked for it at different times: where an expression does not show it, it is not believed."""
        if self.x.varies[e] and not self.rounds.doubtful:
            self.rounds.doubtful = self.stale = True
            self.executor.waits_apart = waits_apart(self.cfg, self.uniform, self.rounds.module, True)

    def doubt_register(self, register_id: int, values: Iterable[int]) -> None:
        """``doubt`` what comes into a register."""
        if self.uniform.is_uniform(register_id):
            for value in values:
                if value >= 0:
                    self.doubt(value)

    def hide(self, leaf: int, values: Iterable[int]) -> None:
        """Note what a leaf stands for: a pointer that is hidden in one leads from one variable to another."""
        if self.trail.aliases.hides(leaf, values):
            self.stale = True

    def label(self, block_id: int) -> str:
        """What a block is called: by its first label, else by its number."""
        labels = self.cfg.blocks[block_id].labels
        return labels[0] if labels else str(block_id)

    # -- loops -------------------------------------------------------------------------------------------

    def enter(self, state: State, cycle: Round) -> None:
        """Let a state be that of any iteration."""
        x = self.x
        iteration = self.made(x.leaf("iteration", 64, self.label(cycle.header)), cycle.header)
        state.apart = state.apart or cycle.sees_apart
        for r in self.registers(cycle.header):
            if not cycle.written >> r & 1:
                continue
            self.doubt_register(r, [state.env[r]])
            added = cycle.steps.get(r, -1)
            if self.final and added >= 0 and cycle.index >= 0 and state.env[r] >= 0:
                times = x.truncate(iteration, x.widths[added])
                state.env[r] = x.add(state.env[r], x.mul(times, added))
            else:
                before = state.env[r]
                state.env[r] = self.unknown("iter", cycle.header, r)
                self.hide(state.env[r], [before])
        state.env[-1] = self.carry("iter", cycle.header)
        if cycle.index < 0 or cycle.writes_memory:
            self.trail.enter(state, cycle.index >= 0)
        if cycle.writes_memory:
            state.version = -1 - cycle.header

    def go_round(self, state: State, cycle: Round) -> None:
        """The next iteration begins as this one ends."""
        if state.apart and not cycle.sees_apart:
            cycle.sees_apart = self.stale = True
        for r in self.registers(cycle.header):
            if cycle.written >> r & 1:
                self.doubt_register(r, [state.env[r]])
                self.hide(self.unknown("iter", cycle.header, r), [state.env[r]])
        if not self.final:
            self.compare(state, cycle)

    def compare(self, state: State, cycle: Round) -> None:
        """See at the end of an iteration what it has added to each register."""
        for r in self.registers(cycle.header):
            if cycle.written >> r & 1 and cycle.steps.get(r, 0) >= 0:
                found = step(self.x, self.unknown("iter", cycle.header, r), state.env[r]) if state.env[r] >= 0 else -1
                known = cycle.steps.get(r)
                cycle.steps[r] = found if known is None or known == found else -1

    def part(self, state: State, cycle: Round, target: int) -> None:
        """A loop is left that lanes may leave in different iterations: what an iteration has made or read, and what was
        decided by it, is that of another one in each."""
        x = self.x
        done = self.behind.setdefault(cycle.header, {})
        for r in [*self.registers(target), -1]:
            if state.env[r] >= 0:
                state.env[r] = replaced(x, state.env[r], done, lambda e: self.own(e, cycle))
        conditions = state.conditions
        state.conditions = {}
        for atom in list(conditions)[-_MOST_KEPT:]:
            changed = replaced(x, atom, done, lambda e: self.own(e, cycle))
            assume(x, state.conditions, changed, conditions[atom])
        if cycle.writes_memory:
            state.apart = True

    def own(self, e: int, cycle: Round) -> int:
        """What a leaf or a load becomes behind a loop: each lane's own, where it may be another in each iteration."""
        x = self.x
        is_load = x.names[e] == "load" and bool(x.args[e])
        made_in = self.made_in.get(e, -1)
        if is_load:
            made_in = self.block_of_version(version_of(x, e))
        elif x.names[e] == TOLD:
            made_in = self.cfg.block_at(told_at(x, e))
        if x.names[e] != DEEP and made_in not in cycle.blocks:
            return e
        which = str(e) if is_load else x.payloads[e]
        return x.leaf(x.names[e], x.widths[e], f"{which} of each lane", x.low[e], x.high[e], OPAQUE)

    def block_of_version(self, version: int) -> int:
        """The block that has made a version of the memory; -1 for what was there before."""
        if version <= 0:
            return -1 - version
        return self.cfg.block_at(version - 1)


def apart_together(x: Expressions, states: list[State]) -> bool:
    """Whether a warp's lanes are all on the same one of some flows: each two differ in a condition that lanes share."""
    if len(states) > _MOST_APART:
        return False
    for k, state in enumerate(states):
        for other in states[:k]:
            if not exclusive(x, state.conditions, other.conditions):
                return False
    return True
