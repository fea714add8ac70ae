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
    Vector,
)
from drawloom.ptx.isa import BARRIER, BRANCH, CALL, EXIT, RETURN, WARP, decode
from drawloom.ptx.types import B16, B32, PRED, Type
from drawloom.shuffle.facts import LANES_ALONG_X, NO_WRAP, Assumption, Candidate

#: What is made: the sound code, or the two versions of seed 003, section 6, that show where time goes and compute wrong
#: results: without the covered loads, and without their corner cases.
SOUND: Final = ""
NO_LOAD: Final = "no-load"
NO_CORNER: Final = "no-corner"
VARIANTS: Final = (SOUND, NO_LOAD, NO_CORNER)

LAST_LANE: Final = 31
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
        #: The lane as shuffles with this need see it: lanes along x or not, up or down.
        self.lanes: dict[tuple[bool, bool], Register] = {}
        #: Whether lanes do not count along x, where something rests on it.
        self.across: Register | None = None
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
        if any(self.need(candidate)[0] for candidate in self.chosen.values()):
            self.across = self.lanes_across()
        for at in sorted(self.chosen):
            candidate = self.chosen[at]
            if candidate.delta:
                self.lanes[self.need(candidate)] = self.after.new_register(B32)
        if not self.lanes:
            return
        lane = self.after.new_register(B32)
        self.emit("mov.u32", [lane, SpecialRegister("%laneid")])
        for (along_x, is_up), register in sorted(self.lanes.items()):
            if not along_x:
                self.lanes[along_x, is_up] = lane
                continue
            assert self.across is not None
            self.emit("selp.b32", [register, Immediate(0 if is_up else LAST_LANE), lane, self.across])

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

    def need(self, candidate: Candidate) -> tuple[bool, bool]:
        """Whether a candidate needs lanes along x, and takes its value from a lower lane."""
        return any(a.kind == LANES_ALONG_X for a in candidate.assumptions), candidate.delta < 0

    # -- at instructions -----------------------------------------------------------------------------------

    def test(self, assumption: Assumption) -> None:
        """Find out whether a value is out of its range."""
        register, failed = assumption.register, self.failed[assumption.key()]
        assert register is not None
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
                self.emit("setp.ne.s32", [self.incomplete, self.mask, Immediate(-1)])
        if self.variant == NO_CORNER:
            return None
        corner: Register | None = None
        if candidate.delta:
            assert self.incomplete is not None
            corner = self.after.new_register(PRED)
            lane = self.lanes[self.need(candidate)]
            if candidate.delta < 0:
                self.emit("setp.lt.or.u32", [corner, lane, Immediate(-candidate.delta), self.incomplete])
            else:
                self.emit("setp.gt.or.u32", [corner, lane, Immediate(LAST_LANE - candidate.delta), self.incomplete])
        elif self.need(candidate)[0]:
            corner = self.across
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


def copied(function: Function) -> Function:
    """A function of its own, with the same declarations and an empty body."""
    out = Function(function.name, function.is_entry)
    out.linkage, out.has_body, out.noreturn = function.linkage, function.has_body, function.noreturn
    out.attributes, out.pos = function.attributes, function.pos
    out.returns, out.params, out.directives = function.returns, function.params, function.directives
    out.registers, out.variables = list(function.registers), function.variables
    return out
