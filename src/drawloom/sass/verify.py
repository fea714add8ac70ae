"""Machine code to the list of its timing faults: proves that on every path each register is read, written and written
again only after stall counts or scoreboards say that it may be.

    verify(target, instructions)  ->  [Problem(address, text, why), ...]; empty where all is covered

A forward dataflow over the branches that the code itself shows. It stands on effects.py and latencies.py alone, not on
the scheduler. The state before an instruction is, per register, the results under way:

    fixed    producer class and issue time: ready when the table's cycles have gone by
    pending  unit and the scoreboards any of which, waited for, proves that the write (or the read) is over

and where paths join, the worse of both. An access that can only meet its writer under the opposite guard is left out.
Calls of code that is not in the section change nothing of what is under way.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from drawloom.sass.control import NO_BARRIER, read_barrier, stall, switches, wait_mask, write_barrier
from drawloom.sass.effects import (
    BARRIER,
    GENERAL,
    PREDICATE,
    UNIFORM_PREDICATE,
    effects,
)
from drawloom.sass.encoding import address_of
from drawloom.sass.flow import Flow, control_flow
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target
from drawloom.sass.latencies import CONSUMERS, PRODUCERS, Timing, register_reads, register_writes, timing
from drawloom.sass.latency_table import (
    BARRIER_DELAY,
    COUNT_DELAY,
    COUNTED_IN_ORDER,
    LONG_STALL,
    PAIR_FIRST,
    PAIR_SECOND,
    READS_IN_ORDER,
    READS_SOME,
    RESULTS_IN_ORDER,
    SETS_ANY,
    SETS_NO_READ,
    SETS_NO_RESULT,
)
from drawloom.sass.verify_reuse import reuse_faults

#: Names of the register files in messages.
_LETTERS: Final = ("R", "P", "UR", "UP", "B", "CC")
_FILE: Final = 256  # a register's key is file * _FILE + number
_COUNT_BITS: Final = 5  # of the counters of later sets, one for each scoreboard
_COUNT_MOST: Final = 31
_UNGUARDED: Final = 7
# What an access is: the low bits of its name.
_RESULT: Final = 0
_PREDICATE: Final = 1
_SOURCES: Final = 2
_ALL: Final = 1 << 30


class Problem:
    """A fault: the byte address of the instruction that comes too early, its text, and what it does not wait for."""

    def __init__(self, address: int, text: str, why: str) -> None:
        self.address = address
        self.text = text
        self.why = why

    def __str__(self) -> str:
        return f"/*{self.address:04x}*/ {self.text}: {self.why}"

    def __repr__(self) -> str:
        return str(self)


#: A result of fixed latency under way: (index of the instruction, producer class, guard, issue time).
Fixed = tuple[int, int, int, int]
#: An access that a scoreboard ends: (guard, scoreboards as a bit set, for each of them the number of instructions that
#: set it later and cannot be over sooner, in fields of _COUNT_BITS).
Access = tuple[int, int, int]


class State:
    """What is under way at one place. `clock` counts from 0 at the start of a block.

    `accesses` are those of variable latency, by 4 * index of the instruction + what: `_RESULT`, `_PREDICATE` (results
    that are predicates) or `_SOURCES`; `writes` and `reads` give, for a register, the accesses to it.
    """

    def __init__(self) -> None:
        self.clock = 0
        self.fixed: dict[int, list[Fixed]] = {}
        self.accesses: dict[int, Access] = {}
        self.writes: dict[int, list[int]] = {}
        self.reads: dict[int, list[int]] = {}
        self.set_at = [-BARRIER_DELAY] * 6
        self.held = 0  # until here only what computes may issue

    def normal(self, longest: int) -> State:
        """This state with its clock at 0, without what is over."""
        made = State()
        clock = self.clock
        for key, entries in self.fixed.items():
            kept = [(i, p, g, then - clock) for i, p, g, then in entries if clock - then < longest]
            if kept:
                made.fixed[key] = kept
        for mine, others in ((made.writes, self.writes), (made.reads, self.reads)):
            for key, names in others.items():
                alive = [name for name in names if name in self.accesses]
                if alive:
                    mine[key] = alive
                    for name in alive:
                        made.accesses[name] = self.accesses[name]
        made.set_at = [max(then - clock, -BARRIER_DELAY) for then in self.set_at]
        made.held = max(self.held - clock, 0)
        return made

    def copy(self) -> State:
        made = State()
        made.clock = self.clock
        made.fixed = dict(self.fixed)
        made.accesses = dict(self.accesses)
        made.writes = dict(self.writes)
        made.reads = dict(self.reads)
        made.set_at = list(self.set_at)
        made.held = self.held
        return made

    def same(self, other: State) -> bool:
        return (
            self.fixed == other.fixed
            and self.accesses == other.accesses
            and self.writes == other.writes
            and self.reads == other.reads
            and self.set_at == other.set_at
            and self.held == other.held
        )


def join(left: State, right: State) -> State:
    """The worse of two normal states: everything that is under way in either, by the weaker proof."""
    made = left.copy()
    for key, entries in right.fixed.items():
        mine = made.fixed.get(key)
        made.fixed[key] = entries if mine is None else _join_fixed(mine, entries)
    for name, access in right.accesses.items():
        old = made.accesses.get(name)
        if old is not None and old != access:
            guard = old[0] if old[0] == access[0] else _UNGUARDED
            access = guard, old[1] & access[1], _fewest(old[2], access[2])
        made.accesses[name] = access
    for mine_of, others in ((made.writes, right.writes), (made.reads, right.reads)):
        for key, names in others.items():
            known = mine_of.get(key)
            mine_of[key] = names if known is None or known == names else sorted({*known, *names})
    made.set_at = [max(a, b) for a, b in zip(left.set_at, right.set_at)]
    made.held = max(left.held, right.held)
    return made


def _join_fixed(left: list[Fixed], right: list[Fixed]) -> list[Fixed]:
    if left == right:
        return left
    latest: dict[tuple[int, int, int], int] = {}
    for index, producer, guard, then in left + right:
        key = index, producer, guard
        latest[key] = max(latest.get(key, then), then)
    return sorted((index, producer, guard, then) for (index, producer, guard), then in latest.items())


def _fewest(left: int, right: int) -> int:
    """The smaller of every counter."""
    made = 0
    for board in range(6):
        shift = board * _COUNT_BITS
        made |= min(left >> shift & _COUNT_MOST, right >> shift & _COUNT_MOST) << shift
    return made


def verify(
    target: Target, instructions: list[Instruction], indirect: dict[int, list[int]] | None = None
) -> list[Problem]:
    """The timing faults of one code section, by address; empty where there are none.

    `indirect` gives, for the index of an indirect branch, the indices that it can go to; without it such a branch is
    taken to reach every place that nothing else goes to.
    """
    flow = control_flow(target, instructions, indirect or {})
    checker = _Checker(target, instructions)
    states: dict[int, State] = {start: State() for start in flow.entries}
    ended: dict[int, State] = {}
    work = sorted(states)
    while work:
        start = heappop(work)
        state = states[start].copy()
        checker.run(state, start, flow.ends[start])
        ended[start] = state = state.normal(checker.longest)
        arrivals = [(following, state) for following in flow.edges[start]]
        if start in flow.calls:
            callee, behind = flow.calls[start]
            arrivals.append((callee, state))
            for back in flow.returns:
                if back in ended and start in flow.callers(back):
                    arrivals.append((behind, _returned(ended[back], state, checker.touched(flow, callee))))
        for caller in flow.callers(start):
            if caller in ended:
                callee, behind = flow.calls[caller]
                arrivals.append((behind, _returned(state, ended[caller], checker.touched(flow, callee))))
        for following, arriving in arrivals:
            old = states.get(following)
            new = arriving if old is None else join(old, arriving)
            if old is None or not new.same(old):
                states[following] = new
                if following not in work:
                    heappush(work, following)
    checker.report = True
    for start in sorted(states):
        checker.run(states[start].copy(), start, flow.ends[start])
    for index, why in reuse_faults(instructions, flow):
        checker.problem(index, why)
    return checker.problems


def _returned(state: State, at_call: State, touched: frozenset[int]) -> State:
    """The state behind a call: that of the callee's return, less what only other callers have under way."""
    made = state.copy()
    made.fixed = {k: v for k, v in made.fixed.items() if k in touched or k in at_call.fixed}
    made.writes = {k: v for k, v in made.writes.items() if k in touched or k in at_call.writes}
    made.reads = {k: v for k, v in made.reads.items() if k in touched or k in at_call.reads}
    return made.normal(_ALL)


class Step:
    """What the checker needs of one instruction, worked out once."""

    def __init__(self, times: Timing, instruction: Instruction) -> None:
        found = effects(instruction.opcode)
        self.found = found
        self.reads = register_reads(times, instruction)
        self.writes = register_writes(times, instruction)
        self.variable = times.variable(instruction.opcode)
        self.settles = times.settles(instruction.opcode)
        self.holds = times.holds(instruction.opcode)
        self.computes = times.computes(instruction.opcode)
        name = "reduction" if found.base == "REDUX" else f"{found.unit} {found.space}".strip()
        self.unit = UNITS.index(name) if name in UNITS else 0
        guard = instruction.guard
        self.guard = guard + 16 if guard & 7 != 7 and found.guard_file == UNIFORM_PREDICATE else guard
        self.stall = stall(instruction.control)
        self.boards = wait_mask(instruction.control)
        self.write_board = write_barrier(instruction.control)
        self.read_board = read_barrier(instruction.control)
        self.most = [0] * 6  # what is waited for: at most so many accesses still to come
        self.depends = self.boards
        self.refused = self.refused_boards(times)
        # A barrier of the block queues behind the memory instructions: after it their operands have been read.
        self.drains = found.base == "BAR" and "ARV" not in found.modifiers and guard == _UNGUARDED
        if found.base == "DEPBAR":
            for slot, value in zip(instruction.opcode.slots, instruction.values):
                if slot.kind == "M":
                    self.depends |= value
                elif slot.kind == "SB":
                    self.depends |= 1 << value
                    self.most[value] = instruction.values[-1]

    def refused_boards(self, times: Timing) -> str:
        """Which of the scoreboards that it sets an instruction cannot set; "" where there is none."""
        result, read = self.write_board != NO_BARRIER, self.read_board != NO_BARRIER
        base = self.found.base
        if not result and not read:
            return ""
        if times.family == 61:
            refused = not self.variable and base not in SETS_ANY
            return "a scoreboard" if refused else ""
        result = result and (base in SETS_NO_RESULT or (base == "BMOV" and self.writes_no_general()))
        read = read and (base in SETS_NO_READ or (base in READS_SOME and self.reads_no_general()))
        return "a scoreboard for a result" if result else "a scoreboard for operands" if read else ""

    def writes_no_general(self) -> bool:
        return all(file != GENERAL for file, _, _ in self.writes)

    def reads_no_general(self) -> bool:
        return all(file != GENERAL for file, _, _ in self.reads)


class _Checker:
    """Steps through blocks. Problems are kept only once `report` is set."""

    def __init__(self, target: Target, instructions: list[Instruction]) -> None:
        self.target = target
        self.instructions = instructions
        self.times = timing(target.number)
        self.steps = [Step(self.times, instruction) for instruction in instructions]
        self.longest = self.times.longest
        self.report = False
        self.problems: list[Problem] = []
        self._said: set[tuple[int, str]] = set()
        self._touched: dict[int, frozenset[int]] = {}
        self._results = _groups(RESULTS_IN_ORDER[self.times.family])
        self._reads = _groups(READS_IN_ORDER[self.times.family])
        self._counted = _groups(COUNTED_IN_ORDER[self.times.family])

    def touched(self, flow: Flow, callee: int) -> frozenset[int]:
        """The keys of the registers that a function reads or writes, functions that it calls included."""
        found = self._touched.get(callee)
        if found is None:
            keys: set[int] = set()
            self._touched[callee] = frozenset()
            for start in flow.bodies[callee]:
                for index in range(start, flow.ends[start]):
                    step = self.steps[index]
                    keys.update(file * _FILE + number for file, number, _ in step.reads + step.writes)
                if start in flow.calls:
                    keys.update(self.touched(flow, flow.calls[start][0]))
            found = self._touched[callee] = frozenset(keys)
        return found

    def run(self, state: State, start: int, end: int) -> None:
        for index in range(start, end):
            step = self.steps[index]
            if self.report:
                self.check_rules(state, index, step)
            if step.depends:
                self.wait(state, step)
            if self.report:
                for file, number, consumer in step.reads:
                    self.check_read(state, index, step, file * _FILE + number, consumer)
                for file, number, producer in step.writes:
                    self.check_write(state, index, step, file * _FILE + number, producer)
            self.issue(state, index, step)
            state.clock += step.stall if not self.target.wide else max(step.stall, 1)

    def check_rules(self, state: State, index: int, step: Step) -> None:
        """What control bits must look like whatever the registers."""
        control = self.instructions[index].control
        if self.target.wide and step.stall >= LONG_STALL and not switches(control):
            self.problem(index, f"stall of {step.stall} without the yield bit at 0")
        if step.refused:
            self.problem(index, f"sets {step.refused}, which it cannot")
        if any(step.most) and step.stall < COUNT_DELAY:
            self.problem(index, f"waits for some with a stall of {step.stall}")
        if not self.target.wide and step.stall == 0 and index + 1 < len(self.steps) and step.found.base != "NOP":
            self.check_pair(index, step)
        if step.stall < step.settles > 1 and not self.ends_here(index, step):
            self.problem(index, f"{step.found.base} with a stall of {step.stall}, which takes {step.settles}")
        if state.clock < state.held and not step.computes:
            self.problem(index, f"comes {state.held - state.clock} cycles too soon behind a barrier of the block")
        if step.holds:
            state.held = state.clock + step.holds
        for board in range(6):
            if step.boards >> board & 1 and state.clock - state.set_at[board] < BARRIER_DELAY:
                self.problem(index, f"waits for scoreboard {board} before it is set")

    def check_pair(self, index: int, step: Step) -> None:
        """sm_61: whether an instruction and the one behind can issue in one cycle."""
        first, second = step.found.base, self.steps[index + 1].found.base
        if first not in PAIR_FIRST or second not in PAIR_SECOND:
            self.problem(index, f"issues together with {second}")
        elif all("c[" in self.instructions[n].opcode.signature for n in (index, index + 1)):
            self.problem(index, f"issues together with {second}, which reads constants as well")
        elif index and self.steps[index - 1].stall == 0 and self.steps[index - 1].found.base != "NOP":
            self.problem(index, f"issues together with {second} and with the one before")

    def ends_here(self, index: int, step: Step) -> bool:
        """A branch to itself, as stands behind the last EXIT."""
        place = step.found.label
        here = -self.target.word_bytes
        return step.found.flow == "jump" and place >= 0 and self.instructions[index].values[place] == here

    def wait(self, state: State, step: Step) -> None:
        """Takes away what the scoreboards that an instruction waits for prove to be over."""
        for name, (_, proof, later) in list(state.accesses.items()):
            for board in range(6):
                if (
                    step.depends & proof & 1 << board
                    and (later >> board * _COUNT_BITS & _COUNT_MOST) >= step.most[board]
                ):
                    del state.accesses[name]
                    break

    def check_read(self, state: State, index: int, step: Step, key: int, consumer: int) -> None:
        for writer, producer, written_under, then in state.fixed.get(key, ()):
            needed = self.times.cycles[producer][consumer]
            if state.clock - then < needed and not _opposite(step.guard, written_under):
                found = f"{state.clock - then} cycles after {self.name(writer)}, needs {needed}"
                self.problem(index, f"reads {_name(key)} {found} ({PRODUCERS[producer]} to {CONSUMERS[consumer]})")
        for name in state.writes.get(key, ()):
            access = state.accesses.get(name)
            if access is not None and not _opposite(step.guard, access[0]):
                self.problem(index, f"reads {_name(key)} before the scoreboard of {self.name(name >> 2)}")

    def check_write(self, state: State, index: int, step: Step, key: int, producer: int) -> None:
        for writer, before, written_under, then in state.fixed.get(key, ()):
            needed = 0 if step.variable else self.times.rewrite(before, producer)
            if state.clock - then < needed and not _opposite(step.guard, written_under):
                found = f"{state.clock - then} cycles after {self.name(writer)}, needs {needed}"
                self.problem(index, f"rewrites {_name(key)} {found} ({PRODUCERS[before]}, {PRODUCERS[producer]})")
        results, reads = (self._results[step.unit], self._reads[step.unit]) if step.variable else (0, 0)
        for names, in_order, what in (
            (state.writes.get(key, ()), results, "rewrites {} before the scoreboard of {}"),
            (state.reads.get(key, ()), reads, "writes {} before the scoreboard of its read by {}"),
        ):
            for name in names:
                access = state.accesses.get(name)
                if access is None or _opposite(step.guard, access[0]) or in_order >> self.steps[name >> 2].unit & 1:
                    continue
                self.problem(index, what.format(_name(key), self.name(name >> 2)))

    def issue(self, state: State, index: int, step: Step) -> None:
        """Puts the instruction's own results and reads under way."""
        guard = step.guard
        written = 1 << step.write_board if step.write_board != NO_BARRIER else 0
        read = written | (1 << step.read_board if step.read_board != NO_BARRIER else 0)
        if read:
            self.set_boards(state, step, written, read)
        for file, number, _ in step.writes:
            if file in (PREDICATE, UNIFORM_PREDICATE):
                _forget_guard(state, number + (16 if file == UNIFORM_PREDICATE else 0))
        if step.drains:
            memory = self._reads[UNITS.index("store global")]
            for name in list(state.accesses):
                if name & 3 == _SOURCES and memory >> self.steps[name >> 2].unit & 1:
                    del state.accesses[name]
        if step.variable:
            name = 4 * index
            # The predicate of an atomic operation is known once its operands are read.
            early = read if step.found.memory == "atomic" else written
            for what, proof in ((_RESULT, written), (_PREDICATE, early), (_SOURCES, read)):
                state.accesses[name + what] = guard, proof, 0
            for file, number, _ in step.reads:
                if file == GENERAL:
                    key = file * _FILE + number
                    state.reads[key] = _with(state.reads.get(key), name + _SOURCES)
        for file, number, producer in step.writes:
            key = file * _FILE + number
            if guard == _UNGUARDED:
                state.fixed.pop(key, None)
                state.writes.pop(key, None)
                state.reads.pop(key, None)
            if step.variable and file != BARRIER:
                what = _PREDICATE if file == PREDICATE else _RESULT
                state.writes[key] = _with(state.writes.get(key), 4 * index + what)
            else:
                old = state.fixed.get(key)
                made = [(index, producer, guard, state.clock)]
                state.fixed[key] = made if old is None else _join_fixed(old, made)

    def set_boards(self, state: State, step: Step, written: int, read: int) -> None:
        """Notes that scoreboards are set once more; where units work in order, what they began before is over no later
        than this instruction."""
        for board in range(6):
            if read >> board & 1:
                state.set_at[board] = state.clock
        results, reads, counted = self._results[step.unit], self._reads[step.unit], self._counted[step.unit]
        for name, (guard, boards, later) in state.accesses.items():
            unit = self.steps[name >> 2].unit
            if name & 3 == _SOURCES:
                proof = counts = read if reads >> unit & 1 else 0
            else:
                proof = written if results >> unit & 1 else 0
                counts = written if counted >> unit & 1 else 0
            state.accesses[name] = guard, boards | proof, _count(later, counts)

    def name(self, index: int) -> str:
        return f"{self.instructions[index].opcode.mnemonic} at {address_of(self.target, index):04x}"

    def problem(self, index: int, why: str) -> None:
        if self.report and (index, why) not in self._said:
            self._said.add((index, why))
            address = address_of(self.target, index)
            self.problems.append(Problem(address, self.instructions[index].text(address), why))


#: Units by name: `effects_table.CLASSES`, and the space of memory accesses.
UNITS: Final = (
    "other", "special", "double", "fma", "alu", "read special", "uniform variable", "reduction", "shuffle",
    "barrier", "control",
    "load", "load generic", "load global", "load shared", "load local", "load constant",
    "store generic", "store global", "store shared", "store local", "atomic generic", "atomic global", "atomic shared",
)  # fmt: skip


def _groups(text: str) -> list[int]:
    """For each unit the bit set of the units that it is in order with, from `a, b; c`."""
    made = [0] * len(UNITS)
    for group in text.split(";") if text else ():
        members = [UNITS.index(name.strip()) for name in group.split(",")]
        for member in members:
            for other in members:
                made[member] |= 1 << other
    return made


def _opposite(guard: int, other: int) -> bool:
    """Whether only one of two instructions with these guards can execute."""
    return guard != _UNGUARDED and other != _UNGUARDED and guard ^ other == 8


def _with(names: list[int] | None, name: int) -> list[int]:
    """Sorted, with one name more; `names` stays as it is, since states share it."""
    return [name] if names is None else names if name in names else sorted([*names, name])


def _count(later: int, boards: int) -> int:
    for board in range(6):
        shift = board * _COUNT_BITS
        if boards >> board & 1 and later >> shift & _COUNT_MOST < _COUNT_MOST:
            later += 1 << shift
    return later


def _forget_guard(state: State, predicate: int) -> None:
    """A predicate has a new value: accesses under its old one can no longer be told apart."""
    for key, fixed in state.fixed.items():
        if any(_tests(entry[2], predicate) for entry in fixed):
            state.fixed[key] = [(i, p, _UNGUARDED if _tests(g, predicate) else g, then) for i, p, g, then in fixed]
    for name, (guard, boards, later) in state.accesses.items():
        if _tests(guard, predicate):
            state.accesses[name] = _UNGUARDED, boards, later


def _tests(guard: int, predicate: int) -> bool:
    return guard & ~8 == predicate and guard != _UNGUARDED


def _name(key: int) -> str:
    return f"{_LETTERS[key // _FILE]}{key % _FILE}"
