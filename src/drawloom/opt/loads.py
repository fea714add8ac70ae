"""Loads of what a thread has loaded or stored on every way to them take the value from there (Wu and others, "gpucc",
CGO 2016, section 3.3: memory spaces tell what does not alias).

    st.shared.u32 [%rd1], %r1;      st.shared.u32 [%rd1], %r1;
    st.global.u32 [%rd2], %r2;      st.global.u32 [%rd2], %r2;      -- global is not shared
    @%p1 bra L;                     @%p1 bra L;
    ld.shared.u32 %r3, [%rd1];      (nothing)
    add.u32 %r4, %r3, 1;            add.u32 %r4, %r1, 1;

Available places are found by iteration over the blocks, as sets of bits, for a bounded number of places at a time and
over the blocks between their loads and what is known alone.
Where ways meet with different values, a phi joins them. Phis stand at the iterated dominance frontier of the blocks
that know the value; a block between takes it from the nearest that dominates it. Only weak accesses of one value take
part. Barriers, fences, warp operations, atomics, calls and volatile accesses end everything that was known: other
threads may have written. An address that a loop computes anew each round is never known where the round begins, as it
is not on the way that enters the loop.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heapify, heappop, heappush

from drawloom.opt.facts import literal_pattern
from drawloom.opt.fold import load_constant
from drawloom.opt.memory import Memory, Part, Place, memory_of
from drawloom.opt.work import Replacements, Work, can_replace, move_of
from drawloom.ptx.ir import Immediate, Instruction, Register, Statement
from drawloom.ptx.isa import LOAD, PURE, STORE
from drawloom.ptx.ssa import Phi, SsaBlock
from drawloom.ptx.types import B32, B64, Type


def reuse_loads(work: Work) -> None:
    """Find what is available, then walk over every block in reverse postorder."""
    memory = memory_of(work)
    places = [place for place in memory.places if place.loads and place.loads + place.stores > 1]
    if places:
        _Reuse(work, memory).run(places)


class _Values:
    """Where the value of a place stands: ``nodes`` are the blocks that know it at their end or join it in a phi, in
    preorder of the dominator tree, and ``above`` has the place of the nearest that dominates each."""

    def __init__(self, nodes: list[int], orders: list[int], above: list[int], joins: set[int]) -> None:
        self.nodes = nodes
        self.orders = orders
        self.above = above
        self.joins = joins


class _Reuse:
    """``taken`` is what stands for loads, by their id(). Of the part at hand: ``entering[b]`` are the places that are
    known where block ``b`` begins, as far as loads ask for them; ``defined[p]`` has the registers of place ``p`` by the
    blocks that load or store it themselves, as they are at their ends."""

    def __init__(self, work: Work, memory: Memory) -> None:
        self.work = work
        self.memory = memory
        self.part = Part(memory, [])
        self.replacements = Replacements(work.ssa)
        self.taken: dict[int, Register] = {}
        blocks = work.ssa.blocks
        self.effects = [
            [s for s in block.statements if isinstance(s, Instruction) and s.opcode.effect != PURE] for block in blocks
        ]
        self.position = {block_id: index for index, block_id in enumerate(work.tree.order)}
        self.accessed: dict[int, set[int]] = {}  # by place: the blocks that do
        self.entering: dict[int, int] = {}
        self.summaries: dict[int, tuple[int, int]] = {}
        self.defined: dict[int, dict[int, Register]] = {}
        self.values: dict[int, _Values] = {}
        self.frontier: list[list[int]] = []
        self.order: list[int] = []
        self.joined: dict[tuple[int, int], Register] = {}
        self.phis: list[tuple[SsaBlock, Phi, Place]] = []
        self.unfilled = 0  # the first phi without arguments
        #: By the id() of a store of a literal, the value that has it for loads: computed there if any takes it.
        self.literals: dict[int, Register] = {}

    def run(self, places: list[Place]) -> None:
        blocks = self.work.ssa.blocks
        for block in blocks:
            for effect in self.effects[block.id]:
                place = self.memory.place(effect)
                if place is not None:
                    self.accessed.setdefault(place.index, set()).add(block.id)
        for part in self.memory.parts(places):
            starts = sorted(set().union(*[self.accessed.get(place.index, ()) for place in part.places]))
            self.solve(part, starts)
            for block_id in starts:
                self.find_known(part, block_id, self.effects[block_id])
            self.fill_phis()
        if not self.taken:
            return
        for block_id in self.work.tree.order:
            self.rewrite(blocks[block_id])
        self.work.memory = None  # addresses are computed from other registers now
        self.finish_phis()
        for block in blocks:
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    self.replacements.rewrite(statement)
        self.replacements.finish()
        if self.literals:
            self.compute_literals()

    # -- what is known where -----------------------------------------------------------------------------

    def solve(self, part: Part, starts: list[int]) -> None:
        """Follow the ways back from loads to what is known of their places, or ends it; what is so on all ways is
        known: it falls until nothing changes."""
        blocks = self.work.ssa.blocks
        self.part, self.defined, self.values, self.summaries = part, {}, {}, {}
        entering = self.entering = {}
        order = self.work.tree.order
        todo: list[int] = []  # by their places in reverse postorder, the last first, so that few come twice
        for block_id in starts:
            asked = self.asked(part, self.effects[block_id])
            if asked:
                entering[block_id] = asked
                todo.append(-self.position[block_id])
        heapify(todo)
        while todo:
            first = heappop(todo)
            if todo and todo[0] == first:
                continue
            block_id = order[-first]
            for pred in blocks[block_id].preds:
                ended, own = self.summary(part, pred)
                before = entering.get(pred, 0)
                asked = before | (entering[block_id] & ~ended & ~own)
                if asked != before:
                    entering[pred] = asked
                    heappush(todo, -self.position[pred])
        entering[0] = 0
        visited = sorted(entering, key=self.position.__getitem__)
        changed = True
        while changed:
            changed = False
            for block_id in visited:
                found = entering[block_id]
                for pred in blocks[block_id].preds:
                    ended, own = self.summaries[pred]
                    found &= own | (entering.get(pred, 0) & ~ended)
                if found != entering[block_id]:
                    entering[block_id] = found
                    changed = True

    def asked(self, part: Part, effects: list[Instruction]) -> int:
        """The places that a block loads from before anything ends or makes known what is there."""
        asked = over = 0
        for instruction in effects:
            over |= part.written(instruction)
            place, register = self.known(part, instruction)
            if place is not None and register is not None:
                bit = part.bit(place)
                if instruction.opcode.effect == LOAD:
                    asked |= bit & ~over
                over |= bit
        return asked

    def summary(self, part: Part, block_id: int) -> tuple[int, int]:
        """What a block makes unknown, and what is known at its end by its own accesses."""
        found = self.summaries.get(block_id)
        if found is not None:
            return found
        ended = alive = 0
        defined: dict[int, tuple[int, Register]] = {}
        for instruction in self.effects[block_id]:
            lost = part.written(instruction)
            ended |= lost
            alive &= ~lost
            place, register = self.known(part, instruction)
            if place is not None and register is not None:
                bit = part.bit(place)
                alive |= bit
                defined[place.index] = bit, register
        for index, (bit, register) in defined.items():
            if alive & bit:
                self.defined.setdefault(index, {})[block_id] = register
        self.summaries[block_id] = ended, alive
        return ended, alive

    def known(self, part: Part, instruction: Instruction) -> tuple[Place | None, Register | None]:
        """The register that holds what is at a place of the part, once an instruction has run."""
        place = self.memory.place(instruction)
        if place is None or not part.bit(place) or instruction.guard is not None:
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

    def find_known(self, part: Part, block_id: int, effects: list[Instruction]) -> None:
        """Note for each load of a block what is known of its place."""
        available = self.entering.get(block_id, 0)
        known: dict[int, Register] = {}  # of what is available, where it was met in this block
        for instruction in effects:
            available &= ~part.written(instruction)
            place, register = self.known(part, instruction)
            if place is None or register is None:
                continue
            bit = part.bit(place)
            if available & bit and instruction.opcode.effect == LOAD:
                if place.index not in known:
                    known[place.index] = self.at_entry(block_id, place, register.type)
                self.taken[id(instruction)] = known[place.index]
            else:
                available |= bit
                known[place.index] = register

    # -- where values stand ------------------------------------------------------------------------------

    def at_end(self, block_id: int, place: Place, like: Type) -> Register:
        """What holds the value of a place that is known at the end of a block."""
        found = self.defined[place.index].get(block_id)
        return self.at_entry(block_id, place, like) if found is None else found

    def at_entry(self, block_id: int, place: Place, like: Type) -> Register:
        """What holds it where the block begins: a phi, of type ``like``, where ways meet."""
        values = self.values.get(place.index)
        if values is None:
            values = self.values[place.index] = self.find_values(place)
        if block_id not in values.joins:
            at = bisect_left(values.orders, self.order[block_id]) - 1
            while not self.work.tree.dominates(values.nodes[at], block_id):
                at = values.above[at]
                assert at >= 0, "a value that is known on every way is known, or joined, in a block that dominates"
            block_id = values.nodes[at]
            found = self.defined[place.index].get(block_id)
            if found is not None:
                return found
        known = self.joined.get((block_id, place.index))
        if known is None:
            block = self.work.ssa.blocks[block_id]
            known = self.joined[block_id, place.index] = self.work.ssa.new_value(like)
            phi = Phi(known, [])
            block.phis.append(phi)
            self.phis.append((block, phi, place))  # ``fill_phis`` goes on from there
        return known

    def find_values(self, place: Place) -> _Values:
        """The blocks that know the value themselves, and those where it may be one of several."""
        tree = self.work.tree
        if not self.frontier:
            self.frontier = tree.frontier()
            self.order = [0] * len(self.frontier)
            for number, block in enumerate(self.work.preorder()):
                self.order[block.id] = number
        bit = self.part.bit(place)
        joins: set[int] = set()
        todo = list(self.defined[place.index])
        while todo:
            for join in self.frontier[todo.pop()]:
                if join not in joins and self.entering.get(join, 0) & bit:
                    joins.add(join)
                    todo.append(join)
        nodes = sorted(joins.union(self.defined[place.index]), key=self.order.__getitem__)
        above: list[int] = []
        open: list[int] = []
        for at, node in enumerate(nodes):
            while open and not tree.dominates(nodes[open[-1]], node):
                open.pop()
            above.append(open[-1] if open else -1)
            open.append(at)
        return _Values(nodes, [self.order[node] for node in nodes], above, joins)

    # -- rewriting ---------------------------------------------------------------------------------------

    def rewrite(self, block: SsaBlock) -> None:
        """Let what is known stand for loads."""
        left: list[Statement] = []
        for statement in block.statements:
            earlier = self.taken.get(id(statement))
            if earlier is not None and isinstance(statement, Instruction):
                register = statement.operands[0]
                assert isinstance(register, Register)
                self.take(statement, register, earlier, left)
            else:
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
        """Find the arguments of the phis of this part, which may need more of them."""
        while self.unfilled < len(self.phis):
            block, phi, place = self.phis[self.unfilled]
            phi.arguments = [self.at_end(pred, place, phi.destination.type) for pred in block.preds]
            self.unfilled += 1

    def finish_phis(self) -> None:
        """Phis of one value are that value; arguments of other types are copied at the ends of their blocks."""
        values = self.replacements.values
        users: dict[int, list[Phi]] = {}
        for _, phi, _ in self.phis:
            for argument in phi.arguments:
                users.setdefault(resolved(argument, values).id, []).append(phi)
        todo = [phi for _, phi, _ in reversed(self.phis)]
        while todo:
            phi = todo.pop()
            if phi.destination.id not in values and self.is_copy(phi, values):
                using = users.pop(phi.destination.id, [])
                users.setdefault(resolved(phi.destination, values).id, []).extend(using)
                todo.extend(using)
        self.phis = [entry for entry in self.phis if entry[1].destination.id not in values]
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
