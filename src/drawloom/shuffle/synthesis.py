"""Candidates to code: the loads of a function become shuffles with their corner cases (seed 003, section 5.2).

    before                                  after
    ld.global.nc.f32 %f4, [%rd31+12];       ld.global.nc.f32 %f4, [%rd31+12];
    ...                                     ...
    ld.global.nc.f32 %f7, [%rd31+4];        activemask.b32 %m;
                                            setp.ne.s32 %incomplete, %m, -1;              // once in a block
                                            setp.lt.or.u32 %corner, %lane, 2, %incomplete;
                                            shfl.sync.up.b32 %f7, %f4, 2, 0, %m;
                                            @%corner ld.global.nc.f32 %f7, [%rd31+4];

What the value rests on and cannot be proved is tested at run time, and a lane for which a test fails does the original
load: a lane without a source in the warp; all lanes of a warp that is not whole there; all lanes of a block whose lanes
do not count along ``%tid.x``, for which the lane number is replaced by one at the edge; a lane whose index may wrap.
With all 32 lanes at the shuffle, all of them that take a value from the source or give one have passed it.

Where lanes may be in different iterations of a loop, they compare iteration counters at a meeting before the load and
vote beside it (``meetings.py``); where a store may hit what was loaded, the entry compares the pointers
(``overlaps.py``), and lanes are replaced by one at the edge, too.

A value has words of 32 bits: two for elements of 64 bits and narrower signed ones in registers of 64, else one.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Operand,
    Register,
    SpecialRegister,
    Statement,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import BARRIER, BRANCH, CALL, EXIT, RETURN, WARP, decode
from drawloom.ptx.types import B16, B32, B64, PRED, Type
from drawloom.shuffle.facts import LANES_ALONG_X, LOCKSTEP, NO_WRAP, Assumption, Candidate
from drawloom.shuffle.meetings import Meeting
from drawloom.shuffle.overlaps import Leaf, Overlap

#: What is made: the sound code, or the two versions of seed 003, section 6, that show where time goes and compute wrong
#: results: without the covered loads, and without their corner cases.
SOUND: Final = ""
NO_LOAD: Final = "no-load"
NO_CORNER: Final = "no-corner"
VARIANTS: Final = (SOUND, NO_LOAD, NO_CORNER)

LAST_LANE: Final = 31
#: Lanes along x, and pointers far enough apart.
Need = tuple[bool, tuple[str, ...]]
#: Behind these a warp has to be asked again who takes part.
_PARTING: Final = frozenset((BARRIER, WARP, BRANCH, CALL, RETURN, EXIT))


def synthesize(
    function: Function, chosen: list[Candidate], variant: str = SOUND, assume_no_wrap: bool = False
) -> Function:
    """The function with the loads of ``chosen`` (one candidate each) replaced; ``function`` is left as it is.

    ``assume_no_wrap`` leaves out the tests of ``NO_WRAP`` for indices of 32 bits.
    """
    if not chosen:
        return function
    return _Synthesis(function, chosen, variant, assume_no_wrap).run()


def unsupported(function: Function, candidate: Candidate) -> str:
    """Why no code can be made for a candidate; empty if it can."""
    load, source = _instruction(function, candidate.load), _instruction(function, candidate.source)
    type = load.opcode.types[-1]
    if type.bits > 64:
        return f"values of {type.bits} bits"
    wanted, given = _elements(load), _elements(source)
    if candidate.element < 0 or candidate.element + len(wanted) > len(given):
        return "an element that the source does not load"
    for k, register in enumerate(wanted):
        if isinstance(register, Register) and not isinstance(given[candidate.element + k], Register):
            return "an element that the source throws away"
    return ""


def _parts(instruction: Instruction) -> bool:
    """Whether lanes may part at an instruction, or have met others."""
    return instruction.opcode.effect in _PARTING


def _instruction(function: Function, at: int) -> Instruction:
    statement = function.body[at]
    assert isinstance(statement, Instruction)
    return statement


def _elements(load: Instruction) -> list[Operand]:
    """The destinations of a load, one for each element."""
    first = load.operands[0]
    return first.elements if isinstance(first, Vector) else [first]


class _Synthesis:
    def __init__(self, function: Function, chosen: list[Candidate], variant: str, assume_no_wrap: bool) -> None:
        self.before = function
        self.after = copied(function)
        self.out: list[Statement] = []
        self.chosen = {candidate.load: candidate for candidate in chosen}
        self.variant = variant
        self.assume_no_wrap = assume_no_wrap
        #: How often each register is written.
        self.writes = [0] * len(function.registers)
        #: The registers that keep what sources loaded, by the index of the source and the element.
        self.kept: dict[tuple[int, int], Register] = {}
        #: By the index of an instruction: the tests to do before it; by test, the predicate that says it failed.
        self.tests: dict[int, list[Assumption]] = {}
        self.failed: dict[tuple[object, ...], Register] = {}
        #: The lane as shuffles with this need see it: what has to hold at the entry, up or down.
        self.lanes: dict[tuple[Need, bool], Register] = {}
        #: By what has to hold at the entry, whether it does not.
        self.unfit: dict[Need, Register] = {}
        self.overlapping: dict[str, Register] = {}
        #: By meeting, whether not all lanes were there in one iteration. By place, what is set to 0 or incremented
        #: before an instruction, and the meetings there.
        self.missed: dict[Meeting, Register] = {}
        self.starts: dict[int, list[Register]] = {}
        self.counts: dict[int, list[Register]] = {}
        self.counters: dict[tuple[int, int], Register] = {}
        #: The active lanes and whether some are missing, since the last place where lanes may have parted.
        self.mask: Register | None = None
        self.incomplete: Register | None = None

    def run(self) -> Function:
        for instruction in self.before.instructions():
            for register in instruction.destinations():
                self.writes[register.id] += 1
        self.prepare()
        self.prologue()
        for at, statement in enumerate(self.before.body):
            self.meet(at)
            for assumption in self.tests.get(at, []):
                self.test(assumption)
            candidate = self.chosen.get(at)
            if candidate is not None:
                self.replace(_instruction(self.before, at), candidate)
            else:
                self.out.append(statement)
            if isinstance(statement, Label) or (isinstance(statement, Instruction) and _parts(statement)):
                self.mask = None
            self.keep(at)
        self.after.body = self.out
        return self.after

    # -- before the first instruction ----------------------------------------------------------------------

    def prepare(self) -> None:
        """Find out what is to be kept of which source, and to be tested where."""
        passed_by = {candidate.source for candidate in self.chosen.values() if not candidate.dominated}
        for at in sorted(self.chosen):
            candidate = self.chosen[at]
            wanted = _elements(_instruction(self.before, at))
            source = _instruction(self.before, candidate.source)
            given = _elements(source)
            for k in range(len(wanted)):
                register = given[candidate.element + k]
                place = (candidate.source, candidate.element + k)
                if isinstance(register, Register) and place not in self.kept:
                    is_always = source.guard is None and candidate.source not in passed_by
                    is_only = self.writes[register.id] == 1 and is_always
                    self.kept[place] = register if is_only else self.after.new_register(register.type)
                    if not is_always:
                        self.start(self.kept[place])
            for assumption in candidate.assumptions:
                if self.is_tested(assumption) and assumption.key() not in self.failed:
                    self.failed[assumption.key()] = self.after.new_register(PRED)
                    self.tests.setdefault(assumption.at, []).append(assumption)
            meeting = meeting_of(candidate)
            if meeting is not None and meeting not in self.missed and self.variant == SOUND:
                self.prepare_meeting(meeting)

    def prepare_meeting(self, meeting: Meeting) -> None:
        """Make the registers of a meeting, and note where the iterations around it are counted."""
        self.missed[meeting] = self.after.new_register(PRED)
        for place in meeting.counters:
            if place not in self.counters:
                counter = self.counters[place] = self.after.new_register(B32)
                self.starts.setdefault(place[0], []).append(counter)
                self.counts.setdefault(place[1], []).append(counter)

    def is_tested(self, assumption: Assumption) -> bool:
        """Whether there is a test of an index of its own for it."""
        is_promised = self.assume_no_wrap and not assumption.is_narrow
        return assumption.kind == NO_WRAP and self.variant == SOUND and not is_promised

    def start(self, kept: Register) -> None:
        """Something in a register that is read, although not used, where the source was not run."""
        self.emit(f"mov.b{kept.type.bits}", [kept, Immediate(0)])

    def prologue(self) -> None:
        """Put the lane into a register, or one without a source where lanes do not count along ``%tid.x``."""
        if self.variant != SOUND:
            return
        for at in sorted(self.chosen):
            self.prepare_need(self.chosen[at])
        lane: Register | None = None
        for at in sorted(self.chosen):
            candidate = self.chosen[at]
            need, is_up = need_of(candidate), candidate.delta < 0
            if not candidate.delta or (need, is_up) in self.lanes:
                continue
            if lane is None:
                lane = self.after.new_register(B32)
                self.emit("mov.u32", [lane, SpecialRegister("%laneid")])
            self.lanes[need, is_up] = lane
            unfit = self.unfit.get(need)
            if unfit is not None:
                register = self.lanes[need, is_up] = self.after.new_register(B32)
                self.emit("selp.b32", [register, Immediate(0 if is_up else LAST_LANE), lane, unfit])

    def prepare_need(self, candidate: Candidate) -> None:
        """Find out whether what a candidate rests on at the entry does not hold."""
        need = need_of(candidate)
        if need in self.unfit:
            return
        found: Register | None = None
        if need[0]:
            across = (True, ())
            if across not in self.unfit:
                self.unfit[across] = self.lanes_across()
            found = self.unfit[across]
        for overlap in overlaps_of(candidate):
            name = repr(overlap)
            if name not in self.overlapping:
                self.overlapping[name] = self.overlap(overlap)
            one = self.overlapping[name]
            found = one if found is None else self.combined("or.pred", found, one)
        if found is not None:
            self.unfit[need] = found

    def overlap(self, test: Overlap) -> Register:
        """Compute a predicate: a store through one pointer may hit what was loaded through another."""
        difference, total = self.after.new_register(B64), self.after.new_register(B64)
        for k, (leaf, sign) in enumerate(test.pointers):
            pointer = self.after.new_register(B64)
            self.read(leaf, pointer, "u64")
            if not k:
                self.emit("mov.b64" if sign > 0 else "neg.s64", [difference, pointer])
            else:
                self.emit("add.s64" if sign > 0 else "sub.s64", [difference, difference, pointer])
        self.emit("mov.b64", [total, Immediate(0)])
        for factors, coefficient in sorted(test.products.items()):
            product = self.after.new_register(B32)
            self.read(factors[0], product, "u32")
            for factor in factors[1:]:
                other = self.after.new_register(B32)
                self.read(factor, other, "u32")
                self.emit("mul.lo.s32", [product, product, other])
            self.emit("abs.s32", [product, product])
            self.emit("mad.wide.u32", [total, product, Immediate(coefficient), total])
        self.emit("add.s64", [difference, difference, total])
        self.emit("add.s64", [difference, difference, Immediate(-test.low)])
        if test.bits < 64:
            self.emit("and.b64", [difference, difference, Immediate((1 << test.bits) - 1)])
        self.emit("shl.b64", [total, total, Immediate(1)])
        self.emit("add.s64", [total, total, Immediate(test.high - test.low)])
        overlapping = self.after.new_register(PRED)
        self.emit("setp.le.u64", [overlapping, difference, total])
        return overlapping

    def read(self, leaf: Leaf, into: Register, type: str) -> None:
        """Read a parameter or a special register at the entry."""
        kind, name = leaf
        if kind == "special":
            self.emit(f"mov.{type}", [into, SpecialRegister(name)])
            return
        parameter, _, offset = name.partition("+")
        self.emit(f"ld.param.{type}", [into, Address(Symbol(parameter), int(offset or "0"))])

    def lanes_across(self) -> Register:
        """A predicate: the lanes of a warp may stand in several rows of the block."""
        x, y, z = [self.after.new_register(B32) for _ in range(3)]
        across, deep = self.after.new_register(PRED), self.after.new_register(PRED)
        for register, name in ((x, "%ntid.x"), (y, "%ntid.y"), (z, "%ntid.z")):
            self.emit("mov.u32", [register, SpecialRegister(name)])
        self.emit("and.b32", [x, x, Immediate(LAST_LANE)])
        self.emit("mul.lo.s32", [y, y, z])
        self.emit("setp.ne.s32", [deep, y, Immediate(1)])
        self.emit("setp.ne.and.s32", [across, x, Immediate(0), deep])
        return across

    # -- at instructions -----------------------------------------------------------------------------------

    def meet(self, at: int) -> None:
        """Count iterations, and find out who comes to a meeting, before an instruction."""
        for counter in self.counts.get(at, []):
            self.emit("add.s32", [counter, counter, Immediate(1)])
        for counter in self.starts.get(at, []):
            self.emit("mov.b32", [counter, Immediate(0)])
        for meeting, missed in self.missed.items():
            if meeting.at != at:
                continue
            mask = self.after.new_register(B32)
            self.emit("activemask.b32", [mask])
            self.emit("setp.ne.s32", [missed, mask, Immediate(-1)])
            for place in meeting.counters:
                first = self.after.new_register(B32)
                operands: list[Operand] = [first, self.counters[place], Immediate(0), Immediate(LAST_LANE), mask]
                self.emit("shfl.sync.idx.b32", operands)
                # Without all lanes there is no value of lane 0 to compute with.
                compare = Instruction(decode("setp.ne.s32"), [missed, first, self.counters[place]], missed, True)
                self.out.append(compare)

    def test(self, assumption: Assumption) -> None:
        """Find out whether a value is out of its range."""
        register, failed = assumption.register, self.failed[assumption.key()]
        assert register is not None
        if assumption.second is not None:
            difference = self.after.new_register(register.type)
            self.emit(f"sub.s{assumption.bits}", [difference, register, assumption.second])
            self.emit(f"setp.ne.s{assumption.bits}", [failed, difference, Immediate(assumption.low)])
            return
        type = f"{'s' if assumption.is_signed else 'u'}{assumption.bits}"
        least = -(1 << assumption.bits - 1) if assumption.is_signed else 0
        most = least + (1 << assumption.bits) - 1
        if assumption.low > least:
            self.emit(f"setp.lt.{type}", [failed, register, Immediate(assumption.low)])
            if assumption.high < most:
                self.emit(f"setp.gt.or.{type}", [failed, register, Immediate(assumption.high), failed])
        else:
            self.emit(f"setp.gt.{type}", [failed, register, Immediate(assumption.high)])

    def keep(self, at: int) -> None:
        """Copy what a source has loaded, where its register is written by others too."""
        statement = self.before.body[at]
        if not isinstance(statement, Instruction):
            return
        if statement.opcode.name != "ld":
            return
        for k, register in enumerate(_elements(statement)):
            kept = self.kept.get((at, k))
            if kept is not None and kept is not register:
                self.guarded(statement, f"mov.b{kept.type.bits}", [kept, register])

    def replace(self, load: Instruction, candidate: Candidate) -> None:
        """The value from the other lane, and the original load for the lanes that cannot have it."""
        corner = self.corner(candidate)
        address = load.operands[1]
        assert isinstance(address, Address)
        wanted = _elements(load)
        if corner is not None and isinstance(address.base, Register) and address.base in wanted:
            base = self.after.new_register(address.base.type)
            self.emit(f"mov.b{base.type.bits}", [base, address.base])
            address = Address(base, address.offset)
        for k, register in enumerate(wanted):
            if isinstance(register, Register):
                source = self.kept[candidate.source, candidate.element + k]
                self.move(load, register, source, candidate.delta)
        if corner is not None:
            original = Instruction(load.opcode, [load.operands[0], address, *load.operands[2:]], corner, pos=load.pos)
            self.out.append(original)

    def corner(self, candidate: Candidate) -> Register | None:
        """A predicate: the lane has to do the original load. None if no lane ever has to."""
        if self.variant == NO_LOAD:
            return None
        if candidate.delta and self.mask is None:
            self.mask = self.after.new_register(B32)
            self.emit("activemask.b32", [self.mask])
            if self.variant == SOUND:
                self.incomplete = self.after.new_register(PRED)
                self.ask(candidate, self.mask, self.incomplete)
        if self.variant == NO_CORNER:
            return None
        corner: Register | None = None
        if candidate.delta:
            assert self.incomplete is not None
            corner = self.after.new_register(PRED)
            lane = self.lanes[need_of(candidate), candidate.delta < 0]
            if candidate.delta < 0:
                self.emit("setp.lt.or.u32", [corner, lane, Immediate(-candidate.delta), self.incomplete])
            else:
                self.emit("setp.gt.or.u32", [corner, lane, Immediate(LAST_LANE - candidate.delta), self.incomplete])
        else:
            corner = self.unfit.get(need_of(candidate))
        for assumption in candidate.assumptions:
            failed = self.failed.get(assumption.key())
            if failed is not None:
                corner = failed if corner is None else self.combined("or.pred", corner, failed)
        load = _instruction(self.before, candidate.load)
        if corner is not None and load.guard is not None:
            guard = load.guard
            if load.guard_negated:
                guard = self.after.new_register(PRED)
                self.emit("not.pred", [guard, load.guard])
            corner = self.combined("and.pred", corner, guard)
        return corner

    def ask(self, candidate: Candidate, mask: Register, incomplete: Register) -> None:
        """Find out whether some lanes are missing, or in another iteration; candidates of a block have one meeting."""
        meeting = meeting_of(candidate)
        if meeting is None:
            self.emit("setp.ne.s32", [incomplete, mask, Immediate(-1)])
            return
        missed = self.missed[meeting]
        if meeting.counters:
            voted = self.after.new_register(PRED)
            self.emit("vote.sync.any.pred", [voted, missed, mask])
            missed = voted
        self.emit("setp.ne.or.s32", [incomplete, mask, Immediate(-1), missed])

    def combined(self, opcode: str, first: Register, second: Register) -> Register:
        out = self.after.new_register(PRED)
        self.emit(opcode, [out, first, second])
        return out

    def move(self, load: Instruction, to: Register, source: Register, delta: int) -> None:
        """The value of ``source`` at lane + ``delta`` into ``to``."""
        element = load.opcode.types[-1]
        if not delta or self.variant == NO_LOAD:
            if to.type.bits == source.type.bits:
                self.guarded(load, f"mov.b{to.type.bits}", [to, source])
                return
            delta = 0
        words = self.split(source, element, to)
        moved = words
        if delta:
            # Lanes whose guard is false give their values all the same.
            is_direct = to.type.bits == 32 and load.guard is None
            moved = [to if is_direct else self.after.new_register(B32) for _ in words]
            way, clamp = ("up", 0) if delta < 0 else ("down", LAST_LANE)
            assert self.mask is not None
            for word, result in zip(words, moved, strict=True):
                operands: list[Operand] = [result, word, Immediate(abs(delta)), Immediate(clamp), self.mask]
                self.emit(f"shfl.sync.{way}.b32", operands)
        self.join(load, to, moved)

    def split(self, source: Register, element: Type, to: Register) -> list[Register]:
        """The words of a value, as many as ``to`` needs to get them by moves alone: what comes from a lane that does
        not take part is undefined, and not to be computed with."""
        low, high = source, source
        if source.type.bits == 64:
            low, high = self.after.new_register(B32), self.after.new_register(B32)
            self.emit("mov.b64", [Vector([low, high]), source])
        elif source.type.bits == 16:
            low = self.after.new_register(B32)
            if source.type.is_float:
                self.emit("mov.b32", [low, Vector([source, source])])
            else:
                self.emit("cvt.s32.s16" if element.is_signed else "cvt.u32.u16", [low, source])
        if to.type.bits < 64 or (element.bits < 64 and not element.is_signed):
            return [low]
        if source.type.bits < 64:
            high = self.after.new_register(B32)
            self.emit("shr.s32", [high, low, Immediate(31)])
        return [low, high]

    def join(self, load: Instruction, to: Register, words: list[Register]) -> None:
        """The value of some words, into its register."""
        if to.type.bits == 64:
            high = words[-1]
            if len(words) == 1:
                high = self.after.new_register(B32)
                self.emit("mov.b32", [high, Immediate(0)])
            self.guarded(load, "mov.b64", [to, Vector([words[0], high])])
        elif to.type.bits == 16:
            self.guarded(load, "mov.b32", [Vector([to, self.after.new_register(B16)]), words[0]])
        elif to is not words[0]:
            self.guarded(load, "mov.b32", [to, words[0]])

    # -- out -----------------------------------------------------------------------------------------------

    def emit(self, opcode: str, operands: list[Operand]) -> None:
        self.out.append(Instruction(decode(opcode), operands))

    def guarded(self, load: Instruction, opcode: str, operands: list[Operand]) -> None:
        """An instruction under the guard of a load."""
        self.out.append(Instruction(decode(opcode), operands, load.guard, load.guard_negated))


def need_of(candidate: Candidate) -> Need:
    """Return what a candidate rests on at the entry of the kernel."""
    along_x = any(assumption.kind == LANES_ALONG_X for assumption in candidate.assumptions)
    return along_x, tuple([repr(overlap) for overlap in overlaps_of(candidate)])


def overlaps_of(candidate: Candidate) -> tuple[Overlap, ...]:
    """Return the tests of pointers that a candidate rests on."""
    for assumption in candidate.assumptions:
        if assumption.overlaps:
            return assumption.overlaps
    return ()


def meeting_of(candidate: Candidate) -> Meeting | None:
    """Return where the lanes of a candidate have to meet, None if it needs no meeting."""
    for assumption in candidate.assumptions:
        if assumption.kind == LOCKSTEP:
            return assumption.meeting
    return None


def copied(function: Function) -> Function:
    """A function of its own, with the same declarations and an empty body."""
    out = Function(function.name, function.is_entry)
    out.linkage, out.has_body, out.noreturn = function.linkage, function.has_body, function.noreturn
    out.attributes, out.pos = function.attributes, function.pos
    out.returns, out.params, out.directives = function.returns, function.params, function.directives
    out.registers, out.variables = list(function.registers), function.variables
    return out
