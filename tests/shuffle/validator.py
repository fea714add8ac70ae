"""Two PTX kernels on terms of a bit-vector solver, for one lane and its neighbours: do they store the same?

A term is a function of the lane, so what another lane has in a register is the term with its lane put in: that is what
``shfl`` computes here. Nothing is shared with the emulator that finds the shuffles, not even its idea of an address:

- ``%tid`` is what the number of the thread in the block makes it, by division, for every shape of the block;
- ``activemask`` is a number nobody knows, but if it is all ones every lane has come here, with its own numbers; what
  lanes are told by votes and the like is another number in each;
- loads are functions of the address and of what is known of the memory; stores lie over it, byte by byte;
- registers that a loop writes are unknown in every iteration and lane, but for those that a number which is the same
  for all lanes is added to; lanes that go around a loop together are in the same iteration (the assumption LOCKSTEP);
- floating point, and what else there is no term for, is an unknown function of the operands.

Where the second kernel merges a shuffle with a guarded load, the solver is asked at once whether that is the load. Then
the stores of both are compared, and what atomics, calls and other effects take.

Two things are taken for granted, which ``test_apart.py`` has tests of: lanes see one memory at one place, so what one
reads behind a barrier is not told from what another one reads there at another time; and LOCKSTEP, as above.
"""

from __future__ import annotations

from dataclasses import dataclass

from bitwuzla import Kind

from drawloom.opt.facts import literal_pattern, operand_type
from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.ir import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import ATOMIC, BARRIER, BRANCH, CALL, EXIT, FENCE, RETURN, SIDE, WARP
from drawloom.ptx.loops import Loop, find_loops
from drawloom.ptx.types import Type
from tests.shuffle.proofs import Equalities
from tests.shuffle.terms import Term, Terms, Unknown

ALL_LANES = 0xFFFFFFFF
#: What the carry flag is called among the registers.
CARRY = "carry flag"
#: Side effects behind which memory is what it was.
_QUIET = ("nanosleep", "prefetch", "prefetchu", "pmevent", "brkpt")
_SIMPLE = {
    "add": Kind.BV_ADD, "sub": Kind.BV_SUB, "and": Kind.BV_AND, "or": Kind.BV_OR, "xor": Kind.BV_XOR,
    "not": Kind.BV_NOT, "neg": Kind.BV_NEG,
}  # fmt: skip
_BY_SIGN = {
    "div": (Kind.BV_UDIV, Kind.BV_SDIV), "rem": (Kind.BV_UREM, Kind.BV_SREM), "shr": (Kind.BV_SHR, Kind.BV_ASHR),
}  # fmt: skip
_LESS = {
    "lt": (Kind.BV_ULT, Kind.BV_SLT), "le": (Kind.BV_ULE, Kind.BV_SLE), "gt": (Kind.BV_UGT, Kind.BV_SGT),
    "ge": (Kind.BV_UGE, Kind.BV_SGE), "lo": (Kind.BV_ULT,) * 2, "ls": (Kind.BV_ULE,) * 2, "hi": (Kind.BV_UGT,) * 2,
    "hs": (Kind.BV_UGE,) * 2,
}  # fmt: skip


@dataclass
class Verdict:
    """``counterexample`` is an assignment with which the kernels differ, None if there is none; ``merged`` counts the
    shuffles that were proved one by one."""

    counterexample: dict[str, int] | None = None
    merged: int = 0


def validate(module: Module, before: Function, after: Function, steps: int = 100_000) -> Verdict:
    """Whether two functions of a module store the same, for all lanes, blocks and parameters. Raises ``Unknown``."""
    terms = Terms(steps, required_shape(before))
    added = _steps(terms, module, before)
    first = _Run(terms, module, before, added, None)
    first.run()
    verdict = Verdict()
    second = _Run(terms, module, after, added, verdict)
    second.known = {register.name for register in before.registers}
    second.run()
    if len(first.stores) != len(second.stores):
        raise Unknown("the kernels have different numbers of stores")
    if any(a.sort() != b.sort() for a, b in zip(first.stores, second.stores, strict=True)):
        verdict.counterexample = {"another order of effects": 1}
        return verdict
    known = Equalities(terms, [])
    pairs = [(a, b) for a, b in zip(first.stores, second.stores, strict=True) if not known.equal(a, b)]
    if pairs:
        verdict.counterexample = terms.counterexample([terms.equal(a, b) for a, b in pairs], second.facts())
    return verdict


def required_shape(function: Function) -> list[int]:
    """What ``.reqntid`` says, empty without one."""
    for directive in function.directives:
        if directive.name == ".reqntid":
            given = [int(word) for word in directive.text.split(",")]
            return [*given, 1, 1][:3]
    return []


def shows(instruction: Instruction) -> bool:
    """Whether others' writes may be seen from an instruction on."""
    opcode = instruction.opcode
    if opcode.effect == SIDE:
        return opcode.name not in _QUIET
    ordered = any(opcode.has(word) for word in ("volatile", "relaxed", "acquire", "mmio", "cv"))
    is_ordered = opcode.name == "ld" and ordered
    return is_ordered or opcode.name == "bar.warp" or opcode.effect in (ATOMIC, BARRIER, CALL, FENCE)


@dataclass
class _Way:
    """An edge between blocks: when it is taken, and what the registers and the memory are then."""

    condition: Term
    registers: dict[str, Term]
    version: Term
    writes: list[tuple[Term, str, Term, Term]]


#: What a loop adds to a register in each iteration, by header and name of the register.
_Steps = dict[tuple[int, str], Term]


def _steps(terms: Terms, module: Module, function: Function) -> _Steps:
    """The registers of loops to which a term is added that is the same for all lanes and in all iterations."""
    run = _Run(terms, module, function, {}, None)
    run.run()
    found: _Steps = {}
    for loop in run.forest.loops:
        for name, havoc in run.havocs[loop.header].items():
            ends = [run.ways[latch, loop.header].registers[name] for latch in loop.latches]
            zero = terms.number(0, havoc.sort().bv_size())
            steps = [terms.manager.substitute_term(end, {havoc: zero}) for end in ends]
            if any(step != steps[0] for step in steps) or not terms.is_same_for_lanes(steps[0]):
                continue
            known = Equalities(terms, [])
            if all(known.equal(end, terms.make(Kind.BV_ADD, [havoc, steps[0]])) for end in ends):
                found[loop.header, name] = steps[0]
    return found


class _Run:
    """One kernel; with a verdict it is the one with shuffles."""

    def __init__(
        self, terms: Terms, module: Module, function: Function, steps: _Steps, verdict: Verdict | None
    ) -> None:
        self.terms = terms
        #: The variables of which each lane has its own.
        self.own = {v.name for v in [*module.variables.values(), *function.variables] if v.space == "local"}
        self.cfg = build_cfg(function, module)
        self.forest = find_loops(self.cfg)
        self.steps = steps
        self.verdict = verdict
        #: The registers of the kernel without shuffles: what they guard is no merge.
        self.known: set[str] = set()
        self.registers: dict[str, Term] = {}
        self.condition: Term = terms.manager.mk_true()
        self.ways: dict[tuple[int, int], _Way] = {}
        self.havocs: dict[int, dict[str, Term]] = {}
        #: Each ``activemask``: that it is all ones, and when a lane comes to it.
        self.masks: list[tuple[Term, Term]] = []
        #: How far lanes have asked others, and the last of them.
        self.deltas: list[int] = []
        self.delta = 0
        #: The memory: a number for what is there, and the writes of this lane over it, each with when it is done.
        self.version = terms.number(0, 64)
        self.writes: list[tuple[Term, str, Term, Term]] = []
        self.stores: list[Term] = []
        #: How many atomics, barriers and calls came before: as many in both kernels.
        self.effects = 0
        #: The same of the instructions that tell lanes something of each other.
        self.told = 0
        self.place = ""

    def run(self) -> None:
        if self.forest.irreducible_regions:
            raise Unknown("a cycle that is no loop")
        headers = {loop.header: loop for loop in self.forest.loops}
        for block_id in self.cfg.rpo:
            block = self.cfg.blocks[block_id]
            if block_id != self.cfg.rpo[0]:
                self.enter(block_id, [self.ways[p, block_id] for p in block.preds if (p, block_id) in self.ways])
            if block_id in headers:
                self.havoc(headers[block_id])
            for number, instruction in enumerate(block.instructions):
                self.place = f"{block_id}.{number}"
                if instruction.opcode.name == "trap":
                    self.take(instruction)
                elif instruction.opcode.effect not in (BRANCH, RETURN, EXIT):
                    self.instruction(instruction)
            self.leave(block_id)

    # -- flow ----------------------------------------------------------------------------------------------

    def leave(self, block_id: int) -> None:
        block = self.cfg.blocks[block_id]
        taken = self.terms.manager.mk_true()
        if block.terminator is not None:
            if block.terminator.opcode.name == "brx.idx":
                raise Unknown("a table of branches")
            taken = self.guard(block.terminator)
        for successor in block.succs:
            way = taken if successor == block.taken else self.terms.make(Kind.NOT, [taken])
            if block.taken == block.fallthrough or block.terminator is None or block.terminator.guard is None:
                way = self.terms.manager.mk_true()
            condition = self.terms.all([self.condition, way])
            registers = dict(self.registers)
            for loop in self.forest.loops:
                if loop.contains(block_id) and not loop.contains(successor):
                    condition, registers = self.gone(loop, condition, registers)
            self.ways[block_id, successor] = _Way(condition, registers, self.version, list(self.writes))

    def gone(self, loop: Loop, condition: Term, registers: dict[str, Term]) -> tuple[Term, dict[str, Term]]:
        """Lanes may have left a loop in different iterations."""
        inside = self.terms.constant(f"iteration {loop.header}", 64)
        outside = self.terms.constant(f"iterations {loop.header}", 64, of_lane=True)
        put = {inside: outside}
        substitute = self.terms.manager.substitute_term
        return substitute(condition, put), {name: substitute(term, put) for name, term in registers.items()}

    def enter(self, block_id: int, ways: list[_Way]) -> None:
        self.version, self.writes = ways[0].version, list(ways[0].writes)
        if any(way.version != self.version for way in ways):
            self.version, self.writes = self.terms.constant(f"memory at {block_id}", 64), []
        else:
            # Each write is under its own condition, so those of all ways are what was written on any.
            self.writes += [write for way in ways[1:] for write in way.writes if write not in self.writes]
        self.registers = dict(ways[0].registers)
        for other in ways[1:]:
            for name, term in other.registers.items():
                mine = self.registers.get(name, term)
                self.registers[name] = (
                    term if mine == term else self.terms.make(Kind.ITE, [other.condition, term, mine])
                )
        self.condition = self.terms.any([way.condition for way in ways])

    def havoc(self, loop: Loop) -> None:
        """In some iteration: nothing is known of what the loop writes, but for what it adds the same to each time."""
        written = {r.name: r for b in loop.blocks for i in self.cfg.blocks[b].instructions for r in i.destinations()}
        self.havocs[loop.header] = {}
        for name, register in sorted(written.items()):
            bits = register.type.bits
            start, step = self.registers.get(name), self.steps.get((loop.header, name))
            fresh = self.terms.constant(f"{name} in {loop.header}", bits, of_lane=True)
            self.havocs[loop.header][name] = fresh
            if start is None or step is None:
                self.registers[name] = fresh
                continue
            iteration = self.terms.extended(self.terms.constant(f"iteration {loop.header}", 64), bits, False)
            self.registers[name] = self.terms.make(
                Kind.BV_ADD, [start, self.terms.make(Kind.BV_MUL, [iteration, step])]
            )
        inside = [i for b in loop.blocks for i in self.cfg.blocks[b].instructions]
        if any(i.opcode.writes_carry for i in inside):
            self.registers[CARRY] = self.terms.constant(f"carry in {loop.header}", 1, of_lane=True)
        if any(i.opcode.name == "st" or shows(i) for i in inside):
            self.version = self.terms.constant(f"memory in {loop.header}", 64, of_lane=True)
            self.writes = []

    # -- instructions --------------------------------------------------------------------------------------

    def instruction(self, instruction: Instruction) -> None:
        opcode, operands = instruction.opcode, instruction.operands
        name = opcode.name
        if name == "st":
            self.store(instruction)
        elif name == "ld":
            if shows(instruction):
                self.others_write()
            self.load(instruction)
            if shows(instruction):
                self.others_write()
        elif name == "activemask":
            assert isinstance(operands[0], Register)
            mask = self.mask(operands[0])
            self.masks.append((self.terms.equal(mask, self.terms.number(ALL_LANES, 32)), self.condition))
            self.write(instruction, operands[0], mask)
        elif name == "shfl":
            self.shuffle(instruction)
        elif opcode.effect == WARP and opcode.has_destination:
            self.told += 1
            is_own = not self.asks_all(instruction)
            for register in instruction.destinations():
                fresh = self.terms.constant(f"{register.name} told {self.told}", register.type.bits, of_lane=is_own)
                self.write(instruction, register, fresh)
        elif shows(instruction):
            self.take(instruction)
            self.others_write()
            for register in instruction.destinations():
                fresh = self.terms.constant(f"{register.name} {self.effects}", register.type.bits, of_lane=True)
                self.write(instruction, register, fresh)
        else:
            self.compute(instruction)

    def mask(self, register: Register) -> Term:
        """What ``activemask`` says: in both kernels the same of what was there before."""
        is_new = self.verdict is not None and register.name not in self.known
        self.told += 0 if is_new else 1
        return self.terms.constant(f"mask {self.place if is_new else f'told {self.told}'}", 32, of_lane=True)

    def asks_all(self, instruction: Instruction) -> bool:
        """Whether all lanes come to an instruction, and are told the same."""
        mask, opcode = instruction.operands[-1], instruction.opcode
        is_full = isinstance(mask, Immediate) and mask.value & ALL_LANES == ALL_LANES
        is_one = opcode.name in ("vote", "redux") and instruction.guard is None
        return is_full and is_one and self.terms.is_same_for_lanes(self.condition)

    def take(self, instruction: Instruction) -> None:
        """What an effect takes counts as what is stored does."""
        condition = self.terms.all([self.condition, self.guard(instruction)])
        self.stores.append(self.bit(condition))
        for register in instruction.sources():
            value = self.before(register)
            no_value = self.terms.number(0, value.sort().bv_size())
            self.stores.append(self.terms.make(Kind.ITE, [condition, value, no_value]))

    def others_write(self) -> None:
        """Of the memory nothing is known any more."""
        self.effects += 1
        self.version = self.terms.constant(f"memory {self.effects}", 64)
        self.writes = []

    def compute(self, instruction: Instruction) -> None:
        opcode, operands = instruction.opcode, instruction.operands
        if not opcode.has_destination:
            return
        sources = [self.value(o, operand_type(opcode, k + 1)) for k, o in enumerate(operands[1:])]
        first = operands[0]
        if opcode.writes_carry or opcode.reads_carry:
            self.extended_precision(instruction, sources)
            return
        if opcode.name == "mov" and isinstance(first, Vector):
            whole, low = sources[0], 0
            for element in first.elements:
                bits = element.type.bits if isinstance(element, Register) else whole.sort().bv_size() - low
                if isinstance(element, Register):
                    part = self.terms.make(Kind.BV_EXTRACT, [whole], [low + bits - 1, low])
                    self.write(instruction, element, part)
                low += bits
            return
        if opcode.name == "setp":
            holds = self.compared(opcode.compare, opcode.types[-1], sources[:2])
            combine = {"and": Kind.AND, "or": Kind.OR, "xor": Kind.XOR}.get(opcode.operation)
            parts = [first.first, first.second] if isinstance(first, Pair) else [first]
            for part, term in zip(parts, [holds, self.terms.make(Kind.NOT, [holds])], strict=False):
                if combine is not None:
                    term = self.terms.make(combine, [term, self.is_one(sources[2])])
                if not isinstance(part, Sink):
                    self.write(instruction, part, self.bit(term))
            return
        if isinstance(first, Register):
            self.write(instruction, first, self.computed(instruction, sources, first.type.bits))
            return
        for number, register in enumerate(instruction.destinations()):
            term = self.terms.unknown(f"{opcode.spelling} {number}", sources, register.type.bits)
            self.write(instruction, register, term)

    def extended_precision(self, instruction: Instruction, sources: list[Term]) -> None:
        """Sums of so many bits and one, the carry."""
        make, extended, opcode = self.terms.make, self.terms.extended, instruction.opcode
        type = opcode.types[-1]
        if CARRY not in self.registers:
            self.registers[CARRY] = self.terms.constant("carry unset", 1, of_lane=True)
        flag = self.registers[CARRY]
        if opcode.name in ("mad", "madc"):
            product = make(Kind.BV_MUL, [extended(s, 2 * type.bits, type.is_signed) for s in sources[:2]])
            low = type.bits if opcode.half == "hi" else 0
            sources = [make(Kind.BV_EXTRACT, [product], [low + type.bits - 1, low]), sources[2]]
        wide = [extended(s, type.bits + 1, False) for s in sources]
        total = make(Kind.BV_SUB if opcode.name in ("sub", "subc") else Kind.BV_ADD, wide)
        if opcode.reads_carry:
            taken = make(Kind.BV_NOT, [flag]) if opcode.name == "subc" else flag
            total = make(
                Kind.BV_SUB if opcode.name == "subc" else Kind.BV_ADD, [total, extended(taken, type.bits + 1, False)]
            )
        if opcode.writes_carry:
            after = make(Kind.BV_EXTRACT, [total], [type.bits, type.bits])
            if opcode.name in ("sub", "subc"):  # the complement of the borrow
                after = make(Kind.BV_NOT, [after])
            self.registers[CARRY] = make(Kind.ITE, [self.guard(instruction), after, flag])
        self.write(instruction, instruction.operands[0], extended(total, type.bits, False))

    def store(self, instruction: Instruction) -> None:
        address, value = instruction.operands[0], instruction.operands[1]
        assert isinstance(address, Address)
        type = instruction.opcode.types[-1]
        space = instruction.opcode.space
        condition = self.terms.all([self.condition, self.guard(instruction)])
        elements = value.elements if isinstance(value, Vector) else [value]
        for k, element in enumerate(elements):
            at = self.address(address, k * type.bytes)
            term = self.terms.extended(self.value(element, type), type.bits, False)
            self.writes.append((condition, space, at, term))
            zero = self.terms.number(0, 64)
            no_value = self.terms.number(0, type.bits)
            self.stores.append(self.terms.make(Kind.ITE, [condition, at, zero]))
            self.stores.append(self.terms.make(Kind.ITE, [condition, term, no_value]))

    def load(self, instruction: Instruction) -> None:
        first, address = instruction.operands[0], instruction.operands[1]
        assert isinstance(address, Address)
        type = instruction.opcode.types[-1]
        for k, register in enumerate(first.elements if isinstance(first, Vector) else [first]):
            if isinstance(register, Sink):
                continue
            assert isinstance(register, Register)
            loaded = self.loaded(instruction, address, k * type.bytes, type)
            term = self.terms.extended(loaded, register.type.bits, type.is_signed)
            if not self.is_merged(instruction, register, term):
                self.write(instruction, register, term)

    def is_merged(self, instruction: Instruction, register: Register, loaded: Term) -> bool:
        """Whether a guarded load after a shuffle leaves what the load alone would have; then that is what it leaves."""
        old = self.registers.get(register.name)
        if self.verdict is None or instruction.guard is None or old is None or instruction.guard.name in self.known:
            return False
        leaves_it = self.terms.make(Kind.NOT, [self.guard(instruction)])
        near = [*self.met(self.masks[-1:], self.delta), leaves_it, self.condition]
        if not self.terms.are_equal(old, loaded, near, self.delta):
            facts = [*self.facts(), leaves_it, self.condition]
            if self.terms.counterexample([self.terms.equal(old, loaded)], facts) is not None:
                return False
        self.registers[register.name] = loaded
        self.verdict.merged += 1
        return True

    def loaded(self, instruction: Instruction, address: Address, offset: int, type: Type) -> Term:
        space = instruction.opcode.space
        if isinstance(address.base, Symbol) and space == "param":
            return self.terms.constant(f"{address.base.name}+{address.offset + offset}", type.bits)
        at = self.address(address, offset)
        where = "memory" if space in ("", "global") else space
        if instruction.opcode.nc or space == "const":
            return self.terms.unknown(where, [self.terms.number(0, 64), at], type.bits)
        term = self.terms.unknown(where, [self.version, at], type.bits)
        for condition, over, start, value in self.writes:
            if over == space or "" in (over, space):
                term = self.overlaid(term, at, condition, start, value)
        return term

    def overlaid(self, term: Term, at: Term, condition: Term, start: Term, value: Term) -> Term:
        """A loaded term after a write that may overlap it."""
        make, terms = self.terms.make, self.terms
        size = term.sort().bv_size() // 8
        wide = 8 * max(size, value.sort().bv_size() // 8)
        parts: list[Term] = []
        for byte in range(size):
            old = make(Kind.BV_EXTRACT, [term], [8 * byte + 7, 8 * byte])
            within = make(Kind.BV_SUB, [make(Kind.BV_ADD, [at, terms.number(byte, 64)]), start])
            hit = make(Kind.BV_ULT, [within, terms.number(value.sort().bv_size() // 8, 64)])
            shift = make(Kind.BV_MUL, [terms.extended(within, 64, False), terms.number(8, 64)])
            shifted = make(
                Kind.BV_SHR, [terms.extended(value, max(64, wide), False), terms.extended(shift, max(64, wide), False)]
            )
            new = terms.extended(shifted, 8, False)
            parts.insert(0, make(Kind.ITE, [terms.all([condition, hit]), new, old]))
        return parts[0] if len(parts) == 1 else make(Kind.BV_CONCAT, parts)

    def shuffle(self, instruction: Instruction) -> None:
        """``shfl.sync`` by a constant, with the whole warp or the part of it that is active."""
        opcode, operands = instruction.opcode, instruction.operands
        amount = operands[2]
        if opcode.operation not in ("up", "down") or not isinstance(amount, Immediate):
            raise Unknown(f"{opcode.spelling} of this kind")
        delta = -amount.value if opcode.operation == "up" else amount.value
        terms, make = self.terms, self.terms.make
        mine, mask = self.value(operands[1], None), self.value(operands[4], None)
        has_source = self.in_segment(delta, operands[3])
        whole = terms.equal(mask, terms.number(ALL_LANES, 32))
        if isinstance(operands[4], Immediate) and not terms.is_same_for_lanes(self.condition):
            whole = terms.manager.mk_false()  # lanes that the mask names need not come
        self.delta = delta
        if delta not in self.deltas:
            self.deltas.append(delta)
        anything = terms.constant(f"shuffled {self.place}", 32, of_lane=True)
        other = make(Kind.ITE, [has_source, terms.at(mine, delta), mine])
        result = make(Kind.ITE, [whole, other, anything])
        first = operands[0].first if isinstance(operands[0], Pair) else operands[0]
        self.write(instruction, first, result)

    def in_segment(self, delta: int, clamp: Operand) -> Term:
        """Whether the lane that is asked is in the segment that the operand ``c`` of ``shfl`` makes."""
        if not isinstance(clamp, Immediate):
            raise Unknown("segments that are not known")
        terms, make = self.terms, self.terms.make
        segments, most = terms.number(clamp.value >> 8 & 31, 5), clamp.value & 31 & ~(clamp.value >> 8)
        border = make(Kind.BV_OR, [make(Kind.BV_AND, [terms.lane, segments]), terms.number(most, 5)])
        border = terms.extended(border, 8, False)
        return (
            make(Kind.BV_SGE, [terms.far(delta), border])
            if delta < 0
            else make(Kind.BV_SLE, [terms.far(delta), border])
        )

    def facts(self) -> list[Term]:
        """What all masks say of all lanes that were asked."""
        return [fact for delta in self.deltas for fact in self.met(self.masks, delta)]

    def met(self, masks: list[tuple[Term, Term]], delta: int) -> list[Term]:
        """If a mask is all ones, the lane ``delta`` further on, where there is one, came there, as this one did."""
        terms, make = self.terms, self.terms.make
        far = terms.far(delta)
        is_lane = terms.all(
            [make(Kind.BV_SLE, [terms.number(0, 8), far]), make(Kind.BV_SLT, [far, terms.number(32, 8)])]
        )
        out: list[Term] = []
        for full, condition in masks:
            neither = make(Kind.NOT, [terms.all([full, is_lane])])
            out += [terms.any([neither, terms.at(there, delta)]) for there in [*terms.always, condition]]
            out.append(terms.any([make(Kind.NOT, [full]), condition]))
        return out

    # -- terms ---------------------------------------------------------------------------------------------

    def write(self, instruction: Instruction, to: Operand, term: Term) -> None:
        assert isinstance(to, Register)
        if instruction.guard is not None:
            term = self.terms.make(Kind.ITE, [self.guard(instruction), term, self.before(to)])
        self.registers[to.name] = term

    def before(self, register: Register) -> Term:
        """What is in a register; if it was never written, that is unknown."""
        if register.name not in self.registers:
            unset = self.terms.constant(f"{register.name} unset", register.type.bits, of_lane=True)
            self.registers[register.name] = unset
        return self.registers[register.name]

    def guard(self, instruction: Instruction) -> Term:
        if instruction.guard is None:
            return self.terms.manager.mk_true()
        holds = self.is_one(self.value(instruction.guard, None))
        return self.terms.make(Kind.NOT, [holds]) if instruction.guard_negated else holds

    def is_one(self, term: Term) -> Term:
        return self.terms.equal(term, self.terms.number(1, 1))

    def bit(self, condition: Term) -> Term:
        return self.terms.make(Kind.ITE, [condition, self.terms.number(1, 1), self.terms.number(0, 1)])

    def address(self, address: Address, offset: int) -> Term:
        base = address.base
        start = self.terms.number(0, 64)
        if isinstance(base, Register):
            start = self.terms.extended(self.value(base, None), 64, False)
        elif base is not None:
            start = self.address_of(base.name)
        return self.terms.make(Kind.BV_ADD, [start, self.terms.number(address.offset + offset, 64)])

    def address_of(self, name: str) -> Term:
        return self.terms.constant(f"&{name}", 64, of_lane=name in self.own)

    def value(self, operand: Operand, type: Type | None) -> Term:
        if isinstance(operand, Register):
            return self.before(operand)
        if isinstance(operand, Not):
            return self.terms.make(Kind.BV_NOT, [self.value(operand.register, None)])
        if isinstance(operand, SpecialRegister):
            return self.terms.special(operand.name)
        if isinstance(operand, Symbol):
            at = self.address_of(operand.name)
            return self.terms.make(Kind.BV_ADD, [at, self.terms.number(operand.offset, 64)])
        if isinstance(operand, Vector):
            parts = [self.value(element, None) for element in operand.elements]
            return self.terms.make(Kind.BV_CONCAT, parts[::-1])
        if isinstance(operand, Immediate):
            return self.terms.number(literal_pattern(operand, type), 32 if type is None else type.bits)
        raise Unknown(f"the operand {operand!r}")

    def computed(self, instruction: Instruction, sources: list[Term], bits: int) -> Term:
        make, extended = self.terms.make, self.terms.extended
        opcode = instruction.opcode
        name, type = opcode.name, opcode.types[-1] if opcode.types else None
        if type is None or type.is_float or opcode.sat or type.lanes > 1:
            return self.terms.unknown(opcode.spelling, sources, bits)
        is_signed = type.is_signed
        if name in _SIMPLE:
            return make(_SIMPLE[name], sources)
        if name in ("mov", "cvta"):
            return extended(sources[0], bits, False)
        if name in _BY_SIGN and name != "shr":
            return make(_BY_SIGN[name][is_signed], sources)
        if name in ("shl", "shr"):
            wide = max(32, type.bits)
            value, amount = extended(sources[0], wide, is_signed), extended(sources[1], wide, False)
            return extended(
                make(Kind.BV_SHL if name == "shl" else _BY_SIGN["shr"][is_signed], [value, amount]), bits, False
            )
        if name in ("mul", "mad"):
            wide = 2 * type.bits if opcode.half in ("wide", "hi") else type.bits
            product = make(Kind.BV_MUL, [extended(s, wide, is_signed) for s in sources[:2]])
            if opcode.half == "hi":
                product = make(Kind.BV_EXTRACT, [product], [wide - 1, type.bits])
            return make(Kind.BV_ADD, [product, sources[2]]) if name == "mad" else product
        if name in ("min", "max"):
            less = make(_LESS["lt"][is_signed], sources)
            return make(Kind.ITE, [less, *(sources if name == "min" else sources[::-1])])
        if name == "selp":
            return make(Kind.ITE, [self.is_one(sources[2]), sources[0], sources[1]])
        if name == "cvt" and not any(t.is_float for t in opcode.types):
            to, source = opcode.types
            low = extended(sources[0], source.bits, False)
            return extended(extended(low, to.bits, source.is_signed), bits, to.is_signed)
        return self.terms.unknown(opcode.spelling, sources, bits)

    def compared(self, compare: str, type: Type, sources: list[Term]) -> Term:
        if type.is_float:
            return self.is_one(self.terms.unknown(f"setp.{compare}.{type.name}", sources, 1))
        if compare in ("eq", "ne"):
            equal = self.terms.equal(sources[0], sources[1])
            return equal if compare == "eq" else self.terms.make(Kind.NOT, [equal])
        return self.terms.make(_LESS[compare][type.is_signed], sources)
