"""Loads of what a thread has loaded or stored on every way to them take the value from there (Wu and others, "gpucc",
CGO 2016, section 3.3: memory spaces tell what does not alias).

    st.shared.u32 [%rd1], %r1;      st.shared.u32 [%rd1], %r1;
    st.global.u32 [%rd2], %r2;      st.global.u32 [%rd2], %r2;      -- global is not shared
    @%p1 bra L;                     @%p1 bra L;
    ld.shared.u32 %r3, [%rd1];      (nothing)
    add.u32 %r4, %r3, 1;            add.u32 %r4, %r1, 1;

Available places are found by iteration over the blocks, as sets of bits. Where ways meet with different values, a phi
joins them. Only weak accesses of one value take part. Barriers, fences, warp operations, atomics, calls and volatile
accesses end everything that was known: other threads may have written. An address that a loop computes anew each round
is never known where the round begins, as it is not on the way that enters the loop.
"""

from __future__ import annotations

from drawloom.opt.facts import literal_pattern
from drawloom.opt.fold import load_constant
from drawloom.opt.memory import Memory, Place, memory_of
from drawloom.opt.work import Replacements, Work, can_replace, move_of
from drawloom.ptx.ir import Immediate, Instruction, Register, Statement
from drawloom.ptx.isa import LOAD, PURE, STORE
from drawloom.ptx.ssa import Phi, SsaBlock
from drawloom.ptx.types import B32, B64, Type


def reuse_loads(work: Work) -> None:
    """Find what is available, then walk over every block in reverse postorder."""
    memory = memory_of(work)
    if not any(place.loads and place.loads + place.stores > 1 for place in memory.places):
        return
    _Reuse(work, memory).run()


class _Reuse:
    """``entering[b]`` are the places that are known where block ``b`` begins; ``defined[b]`` has the registers of those
    that it loads or stores itself, as they are at its end, and ``ended[b]`` is what it makes unknown."""

    def __init__(self, work: Work, memory: Memory) -> None:
        self.work = work
        self.memory = memory
        self.replacements = Replacements(work.ssa)
        count = len(work.ssa.blocks)
        self.entering = [memory.all] * count
        self.defined: list[dict[int, Register]] = [{} for _ in range(count)]
        self.ended = [0] * count
        self.joined: dict[tuple[int, int], Register] = {}
        self.phis: list[tuple[SsaBlock, Phi, Place]] = []
        #: By the id() of a store of a literal, the value that has it for loads: computed there if any takes it.
        self.literals: dict[int, Register] = {}

    def run(self) -> None:
        blocks = self.work.ssa.blocks
        for block in blocks:
            self.summarise(block)
        self.solve()
        for block_id in self.work.tree.order:
            self.rewrite(blocks[block_id])
        if not self.work.changes:
            return
        self.work.memory = None  # addresses are computed from other registers now
        self.fill_phis()
        self.finish_phis()
        for block in blocks:
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    self.replacements.rewrite(statement)
        self.replacements.finish()
        if self.literals:
            self.compute_literals()

    # -- what is known where -----------------------------------------------------------------------------

    def summarise(self, block: SsaBlock) -> None:
        memory = self.memory
        ended = alive = 0
        defined: dict[int, Register] = {}
        for statement in block.statements:
            if isinstance(statement, Instruction) and statement.opcode.effect != PURE:
                lost = memory.written(statement)
                ended |= lost
                alive &= ~lost
                place, register = self.known(statement)
                if place is not None and register is not None:
                    alive |= place.bit
                    defined[place.index] = register
        self.ended[block.id] = ended
        self.defined[block.id] = {index: register for index, register in defined.items() if alive >> index & 1}

    def known(self, instruction: Instruction) -> tuple[Place | None, Register | None]:
        """The register that holds what is at a place, once an instruction has run."""
        place = self.memory.place(instruction)
        if place is None or instruction.guard is not None:
            return None, None
        value = instruction.operands[0 if instruction.opcode.effect == LOAD else 1]
        if isinstance(value, Immediate) and place.whole and place.loads:
            return place, self.literal(instruction)
        if not isinstance(value, Register) or (instruction.opcode.effect == STORE and not place.whole):
            return None, None
        return place, value

    def literal(self, store: Instruction) -> Register:
        """A value for what a store writes."""
        known = self.literals.get(id(store))
        if known is None:
            type = store.opcode.type
            known = self.work.ssa.new_value(B64 if type is not None and type.bits == 64 else B32)
            self.literals[id(store)] = known
        return known

    def solve(self) -> None:
        """Known is what is so on all ways; it falls until nothing changes."""
        blocks = self.work.ssa.blocks
        entering = self.entering
        own = [sum([1 << index for index in defined]) for defined in self.defined]
        entering[0] = 0
        changed = True
        while changed:
            changed = False
            for block_id in self.work.tree.order:
                found = entering[block_id]
                for pred in blocks[block_id].preds:
                    found &= own[pred] | (entering[pred] & ~self.ended[pred])
                if found != entering[block_id]:
                    entering[block_id] = found
                    changed = True

    def at_end(self, block_id: int, place: Place, like: Type) -> Register:
        """What holds the value of a place that is known at the end of a block."""
        found = self.defined[block_id].get(place.index)
        return self.at_entry(block_id, place, like) if found is None else found

    def at_entry(self, block_id: int, place: Place, like: Type) -> Register:
        """What holds it where the block begins: in a block where ways meet a phi, of type ``like``."""
        block = self.work.ssa.blocks[block_id]
        while len(block.preds) == 1:
            found = self.defined[block.preds[0]].get(place.index)
            if found is not None:
                return found
            block = self.work.ssa.blocks[block.preds[0]]
        known = self.joined.get((block.id, place.index))
        if known is None:
            known = self.joined[block.id, place.index] = self.work.ssa.new_value(like)
            phi = Phi(known, [])
            block.phis.append(phi)
            self.phis.append((block, phi, place))  # ``fill_phis`` goes on from there
        return known

    # -- rewriting ---------------------------------------------------------------------------------------

    def rewrite(self, block: SsaBlock) -> None:
        memory = self.memory
        available = self.entering[block.id]
        known: dict[int, Register] = {}  # of what is available, where it was met in this block
        left: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Instruction) and statement.opcode.effect != PURE:
                available &= ~memory.written(statement)
                place, register = self.known(statement)
                if place is not None and register is not None:
                    if available & place.bit and statement.opcode.effect == LOAD:
                        earlier = known.get(place.index)
                        if earlier is None:
                            earlier = known[place.index] = self.at_entry(block.id, place, register.type)
                        self.take(statement, register, earlier, left)
                        continue
                    available |= place.bit
                    known[place.index] = register
            left.append(statement)
        block.statements = left

    def take(self, load: Instruction, register: Register, earlier: Register, left: list[Statement]) -> None:
        """Let an earlier value stand for a load."""
        self.work.changed(load, f"is {earlier!r}, which was loaded or stored there")
        if can_replace(register, earlier):
            self.replacements.replace(register, earlier)
        else:
            left.append(Instruction(move_of(register.type), [register, earlier], pos=load.pos))

    def fill_phis(self) -> None:
        """Find the arguments of phis, which may need more of them."""
        place = 0
        while place < len(self.phis):
            block, phi, known = self.phis[place]
            phi.arguments = [self.at_end(pred, known, phi.destination.type) for pred in block.preds]
            place += 1

    def finish_phis(self) -> None:
        """Phis of one value are that value; arguments of other types are copied at the ends of their blocks."""
        values = self.replacements.values
        size = -1
        while size != len(self.phis):
            size = len(self.phis)
            self.phis = [entry for entry in self.phis if not self.is_copy(entry[1], values)]
        for block in self.work.ssa.blocks:
            block.phis = [phi for phi in block.phis if phi.destination.id not in values]
        for old in list(values):
            values[old] = resolved(values[old], values)
        for block, phi, _ in self.phis:
            phi.arguments = [
                self.fitting(resolved(argument, values), phi.destination.type, self.work.ssa.blocks[pred])
                for argument, pred in zip(phi.arguments, block.preds, strict=True)
            ]

    def compute_literals(self) -> None:
        """Put literals that loads have taken before the stores that they were found at."""
        used: set[int] = set()
        for block in self.work.ssa.blocks:
            used.update([a.id for phi in block.phis for a in phi.arguments], [r.id for r in block.results])
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    used.update([r.id for r in statement.sources()])
        used.update([old.id for old in self.work.ssa.kept.values()])
        for block in self.work.ssa.blocks:
            left: list[Statement] = []
            for statement in block.statements:
                value = self.literals.get(id(statement))
                if value is not None and value.id in used and isinstance(statement, Instruction):
                    literal = statement.operands[1]
                    assert isinstance(literal, Immediate)
                    made = load_constant(value, literal_pattern(literal, statement.opcode.type), statement.pos)
                    left.extend([] if made is None else [made])
                left.append(statement)
            block.statements = left

    def is_copy(self, phi: Phi, values: dict[int, Register]) -> bool:
        """Whether a phi has one value, which is noted to stand for it then."""
        others = {resolved(a, values).id for a in phi.arguments} - {phi.destination.id}
        if len(others) != 1:
            return False
        source = self.work.ssa.registers[others.pop()]
        if can_replace(phi.destination, source):
            values[phi.destination.id] = source
        return phi.destination.id in values

    def fitting(self, argument: Register, type: Type, block: SsaBlock) -> Register:
        if argument.type is type:
            return argument
        copy = self.work.ssa.new_value(type)
        made = Instruction(move_of(type), [copy, argument])
        block.statements.insert(len(block.statements) - (1 if block.terminator is not None else 0), made)
        return copy


def resolved(register: Register, values: dict[int, Register]) -> Register:
    """What stands for a register in the end; those on the way to it are led there at once."""
    end = register
    while end.id in values:
        end = values[end.id]
    while register is not end:
        following = values[register.id]
        values[register.id] = end
        register = following
    return end
