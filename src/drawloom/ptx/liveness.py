"""Which registers are live where: sets of registers, as bit sets over register ids, at block borders.

A register is live at a point if some path from it reads the register before writing it. A guarded definition does
not end the life of the old value, which the threads with a false guard keep. ``ret`` reads the registers that a
device function returns its results in.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from drawloom.ptx.cfg import Block, Cfg
from drawloom.ptx.ir import Address, Immediate, Instruction, Operand, Register, collect_read, collect_written
from drawloom.ptx.isa import BARRIER, CALL, WARP

#: Bits that fit into a small integer, in which bit sets are put together.
WORD: Final = 60
#: The last of them, to be shifted down: mypyc shifts a 1 up in 32 bits.
_LAST: Final = 1 << WORD - 1
#: Members of sets from which on most words before them are empty, as a rule.
_FAR: Final = 32 * WORD


class Uses:
    """What the reachable instructions do with registers, by id: `reads` counts how often one is read, `reader` is what
    reads it last, `definition` what writes it first (one behind the last register: the carry flag), `others` has what
    else does; `unsettled` are the registers (with repeats) that are written more than once or under a guard."""

    def __init__(self, count: int) -> None:
        self.reads = vec[i64]([0] * count)
        self.reader: list[Instruction | None] = [None] * count
        self.definition: list[Instruction | None] = [None] * (count + 1)
        self.others: dict[int, list[Instruction]] = {}
        self.unsettled: list[int] = []

    def define(self, id: int, instruction: Instruction) -> None:
        """An instruction writes a register."""
        if self.definition[id] is None:
            self.definition[id] = instruction
            if instruction.guard is not None:
                self.unsettled.append(id)
        else:
            self.others.setdefault(id, []).append(instruction)
            self.unsettled.append(id)


class Liveness:
    """The result. ``live_in[b]`` and ``live_out[b]`` are bit sets of register ids, for unreachable blocks too.

    ``live_in[0]`` are the registers that may be read before they are written, and ``.reg`` parameters.

    Most registers are live inside of one block only. ``crossing`` lists the ids of those that are live at some border,
    ``place`` gives by id where a register stands there (-1: nowhere); ``into[b]``, ``out_of[b]`` and ``written[b]``
    (what block b writes, guarded or not) are the smaller bit sets of such places. ``uses`` was found on the way.
    """

    def __init__(self, cfg: Cfg, scan: _Scan, into: list[int], out_of: list[int], written: list[int]) -> None:
        self.cfg = cfg
        self.crossing = scan.crossing
        self.place = scan.place
        self.uses = scan.uses
        self.into = into
        self.out_of = out_of
        self.written = written
        self._live_in: list[int] | None = None
        self._live_out: list[int] | None = None

    @property
    def live_in(self) -> list[int]:
        if self._live_in is None:
            self._live_in = [bits(self.ids(places)) for places in self.into]
        return self._live_in

    @property
    def live_out(self) -> list[int]:
        if self._live_out is None:
            self._live_out = [bits(self.ids(places)) for places in self.out_of]
        return self._live_out

    def ids(self, places: int) -> list[int]:
        """The ids of the registers at these places."""
        crossing = self.crossing
        return [crossing[place] for place in members(places)]

    def live_after(self, block_id: int) -> list[int]:
        """For every instruction of a block, in order, the bit set of the registers live behind it."""
        instructions = self.cfg.blocks[block_id].instructions
        live = self.live_out[block_id]
        out = [0] * len(instructions)
        for index in range(len(instructions) - 1, -1, -1):
            out[index] = live
            live = before(instructions[index], live)
        return out


class Pressure:
    """The most that is live at once: ``words`` counts 32-bit registers (narrower ones as one, 64-bit ones as two,
    128-bit ones as four), ``predicates`` predicate registers. The two maxima may stand at different points."""

    def __init__(self, words: int, predicates: int) -> None:
        self.words = words
        self.predicates = predicates


def liveness(cfg: Cfg) -> Liveness:
    """Live registers at the borders of every block, by backward iteration in postorder."""
    blocks = cfg.blocks
    count = len(blocks)
    scan = _Scan(len(cfg.function.registers), count)
    returned: list[int] = []
    for variable in cfg.function.returns:
        if variable.register is not None:
            returned.append(scan.expose(variable.register.id))
    unreachable = [b for b in range(count) if cfg.rpo_index[b] < 0]
    for b in unreachable:
        scan.block(blocks[b])
    if unreachable:
        scan.uses = Uses(len(cfg.function.registers))
    for b in cfg.rpo:
        scan.block(blocks[b])
    into = scan.used
    killed_in = [0] * count
    written = [0] * count
    for b in range(count):
        killed_in[b] = scan.places(scan.killed, scan.killed_from[b], scan.killed_to[b])
        written[b] = killed_in[b] | scan.places(scan.guarded, scan.guarded_from[b], scan.guarded_to[b])
    out_of = [0] * count
    if returned:
        results = bits(returned)
        for block in blocks:
            if block.returns:
                out_of[block.id] = results
                into[block.id] |= results & ~killed_in[block.id]
    order = unreachable + cfg.rpo
    order.reverse()
    pending = [True] * count
    again = True
    while again:
        again = False
        for block_id in order:
            if not pending[block_id]:
                continue
            pending[block_id] = False
            block = blocks[block_id]
            out = out_of[block_id]
            for successor in block.succs:
                out |= into[successor]
            out_of[block_id] = out
            live = into[block_id] | (out ^ (out & killed_in[block_id]))  # `& ~killed` copies more in CPython
            if live != into[block_id]:
                into[block_id] = live
                for pred in block.preds:
                    pending[pred] = True
                    again = True
    return Liveness(cfg, scan, into, out_of, written)


class _Scan:
    """What the blocks do with registers, by block: ``used`` the places of those that it reads before writing them; from
    ``killed_from`` to ``killed_to`` in ``killed`` stand the ids of those that it writes, in ``guarded`` of those that
    it may write."""

    def __init__(self, registers: int, blocks: int) -> None:
        self.uses = Uses(registers)
        self.place = vec[i64]([-1] * registers)
        self.crossing: list[int] = []
        self.used = [0] * blocks
        self.killed = vec[i64]()
        self.killed_from = vec[i64]([0] * blocks)
        self.killed_to = vec[i64]([0] * blocks)
        self.guarded = vec[i64]()
        self.guarded_from = vec[i64]([0] * blocks)
        self.guarded_to = vec[i64]([0] * blocks)
        #: The block that wrote a register last, and that read it last.
        self.killed_in = vec[i64]([-1] * registers)
        self.used_in = vec[i64]([-1] * registers)
        #: What the block at hand reads: places below WORD, and others.
        self.low: i64 = 0
        self.high: list[int] = []

    def expose(self, id: i64) -> i64:
        """The place of a register that is live at a border."""
        place: i64 = self.place[id]
        if place < 0:
            place = self.place[id] = len(self.crossing)
            self.crossing.append(int(id))
        return place

    def places(self, ids: vec[i64], first: i64, last: i64) -> int:
        """The places of those of some registers that are live at a border."""
        place = self.place
        low: i64 = 0
        high: list[int] = []
        while first < last:
            at: i64 = place[ids[first]]
            if at >= WORD:
                high.append(int(at))
            elif at >= 0:
                low |= _LAST >> WORD - 1 - at
            first += 1
        return int(low) | bits(high) if high else int(low)

    def block(self, block: Block) -> None:
        b: i64 = block.id
        uses = self.uses
        self.killed_from[b] = len(self.killed)
        self.guarded_from[b] = len(self.guarded)
        for instruction in block.instructions:
            is_destination = instruction.opcode.has_destination
            for operand in instruction.operands:
                if is_destination:
                    is_destination = False
                elif isinstance(operand, Register):
                    self.read(operand.id, b, instruction, uses)
                elif isinstance(operand, Address):
                    base = operand.base
                    if isinstance(base, Register):
                        self.read(base.id, b, instruction, uses)
                elif not isinstance(operand, Immediate):
                    found: list[Register] = []
                    collect_read(operand, found)
                    for register in found:
                        self.read(register.id, b, instruction, uses)
            guard = instruction.guard
            if guard is not None:
                self.read(guard.id, b, instruction, uses)
            if instruction.opcode.has_destination and instruction.operands:
                destination = instruction.operands[0]
                if isinstance(destination, Register) and guard is None:
                    self.kill(destination.id, b)
                    uses.define(destination.id, instruction)
                else:
                    self.write(destination, b, instruction, uses)
            if instruction.opcode.writes_carry:
                uses.define(len(uses.reads), instruction)
        self.killed_to[b] = len(self.killed)
        self.guarded_to[b] = len(self.guarded)
        self.used[b] = int(self.low) | bits(self.high) if self.high else int(self.low)
        self.low = 0
        self.high = []

    def read(self, id: i64, b: i64, instruction: Instruction, uses: Uses) -> None:
        """An instruction of block ``b`` reads a register."""
        uses.reads[id] += 1
        uses.reader[id] = instruction
        if self.killed_in[id] != b and self.used_in[id] != b:
            self.used_in[id] = b
            place = self.expose(id)
            if place < WORD:
                self.low |= _LAST >> WORD - 1 - place
            else:
                self.high.append(int(place))

    def kill(self, id: i64, b: i64) -> None:
        """Block ``b`` writes a register whatever was in it."""
        if self.killed_in[id] != b:
            self.killed_in[id] = b
            self.killed = append(self.killed, id)

    def write(self, destination: Operand, b: i64, instruction: Instruction, uses: Uses) -> None:
        """An instruction of block ``b`` writes several registers, or under a guard."""
        found: list[Register] = []
        collect_written(destination, found)
        for register in found:
            id = register.id
            if instruction.guard is None:
                self.kill(id, b)
            else:
                self.guarded = append(self.guarded, id)
            uses.define(id, instruction)


def before(instruction: Instruction, live: int) -> int:
    """The bit set of registers live before ``instruction`` when ``live`` are live behind it."""
    if instruction.guard is None:
        for register in instruction.destinations():
            live &= ~(1 << register.id)
    for register in instruction.sources():
        live |= 1 << register.id
    return live


def pressure(cfg: Cfg, live: Liveness) -> Pressure:
    """The register pressure over all points between instructions, by walking every block backwards."""
    registers = cfg.function.registers
    weights = [0 if r.type.kind == "p" else max(1, r.type.bits // 32) for r in registers]
    most_words = 0
    most_predicates = 0
    for block in cfg.blocks:
        alive = set(members(live.live_out[block.id]))
        words = sum([weights[r] for r in alive])
        predicates = len([r for r in alive if weights[r] == 0])
        most_words = max(most_words, words)
        most_predicates = max(most_predicates, predicates)
        for index in range(len(block.instructions) - 1, -1, -1):
            instruction = block.instructions[index]
            for register in instruction.destinations():
                # A result that nobody reads still needs a place for a moment.
                if register.id not in alive:
                    alive.add(register.id)
                    words += weights[register.id]
                    predicates += 1 if weights[register.id] == 0 else 0
            most_words = max(most_words, words)
            most_predicates = max(most_predicates, predicates)
            if instruction.guard is None:
                for register in instruction.destinations():
                    if register.id in alive:
                        alive.discard(register.id)
                        words -= weights[register.id]
                        predicates -= 1 if weights[register.id] == 0 else 0
            for register in instruction.sources():
                if register.id not in alive:
                    alive.add(register.id)
                    words += weights[register.id]
                    predicates += 1 if weights[register.id] == 0 else 0
            most_words = max(most_words, words)
            most_predicates = max(most_predicates, predicates)
    return Pressure(most_words, most_predicates)


def bits(ids: list[int]) -> int:
    """The bit set with exactly these members, in time nearly linear in their number."""
    low = 0
    words: list[int] = []
    for member in ids:
        if member < WORD:
            low |= 1 << member
        elif member < _FAR:
            while len(words) <= member // WORD:
                words.append(0)
            set_bit(words, member)
        else:
            return _far_bits(ids)
    if not words:
        return low
    words[0] = low
    return joined(words)


def _far_bits(ids: list[int]) -> int:
    """The same where words would be many and empty: from bytes, which are cleared at once."""
    octets = bytearray((max(ids) >> 3) + 1)
    for member in ids:
        octets[member >> 3] |= 1 << (member & 7)
    return int.from_bytes(octets, "little")


def set_bit(words: list[int], member: i64) -> None:
    """Set a bit of a number that is in words of WORD bits."""
    words[member // WORD] |= 1 << int(member % WORD)


def joined(words: list[int]) -> int:
    """The number that has these words of WORD bits each, the lowest first."""
    if len(words) > 8:
        half = len(words) >> 1
        return joined(words[half:]) << WORD * half | joined(words[:half])
    out = 0
    for word in reversed(words):
        out = out << WORD | word
    return out


def members(bit_set: int) -> list[int]:
    """The members of a bit set, ascending."""
    out: list[int] = []
    base = 0
    for byte in bit_set.to_bytes((bit_set.bit_length() + 7) >> 3, "little"):
        bit = base
        while byte:
            if byte & 1:
                out.append(bit)
            byte >>= 1
            bit += 1
        base += 8
    return out


def carry_lasts(cfg: Cfg) -> bool:
    """Whether some instruction reads a carry flag that was not written in its block, under its guard or none, with no
    place between at which threads may stop: then the flag is one more register."""
    for b in cfg.rpo:
        written: set[tuple[int, bool]] = set()
        for instruction in cfg.blocks[b].instructions:
            opcode = instruction.opcode
            guard = instruction.guard
            under = (guard.id, instruction.guard_negated) if guard is not None else (-1, False)
            if opcode.reads_carry and under not in written and (-1, False) not in written:
                return True
            if opcode.effect in (BARRIER, CALL, WARP):
                written.clear()
            if written:
                for register in instruction.destinations():
                    written -= {(register.id, False), (register.id, True)}
            if opcode.writes_carry:
                written.add(under)
    return False
