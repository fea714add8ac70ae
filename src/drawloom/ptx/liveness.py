"""Which registers are live where: sets of registers, as bit sets over register ids, at block borders.

A register is live at a point if some path from it reads the register before writing it. A guarded definition does
not end the life of the old value, which the threads with a false guard keep. ``ret`` reads the registers that a
device function returns its results in.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from drawloom.ptx.cfg import Block, Cfg
from drawloom.ptx.ir import Address, Immediate, Instruction, Register, collect_read

#: Bits that fit into a small integer, in which bit sets are put together.
WORD: Final = 60


class Liveness:
    """The result. ``live_in[b]`` and ``live_out[b]`` are bit sets of register ids, for unreachable blocks too.

    ``live_in[0]`` are the registers that may be read before they are written, and ``.reg`` parameters.

    Most registers are live inside of one block only. ``crossing`` lists the ids of those that are live at some border,
    ``place`` gives by id where a register stands there (-1: nowhere); ``into[b]``, ``out_of[b]`` and ``written[b]``
    (what block b writes, guarded or not) are the smaller bit sets of such places.
    """

    def __init__(self, cfg: Cfg, scan: _Scan, into: list[int], out_of: list[int], written: list[int]) -> None:
        self.cfg = cfg
        self.crossing = scan.crossing
        self.place = scan.place
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
    scan = _Scan(len(cfg.function.registers))
    returned: list[int] = []
    for variable in cfg.function.returns:
        if variable.register is not None:
            returned.append(scan.expose(variable.register.id))
    for block in blocks:
        scan.block(block)
    into = [bits(used) for used in scan.used]
    killed_in = [scan.places(killed) for killed in scan.killed]
    written = [killed_in[b] | scan.places(scan.guarded[b]) for b in range(count)]
    out_of = [0] * count
    if returned:
        results = bits(returned)
        for block in blocks:
            if block.returns:
                out_of[block.id] = results
                into[block.id] |= results & ~killed_in[block.id]
    order = [b for b in range(count) if cfg.rpo_index[b] < 0] + cfg.rpo
    order.reverse()
    pending = bytearray(b"\x01") * count
    again = True
    while again:
        again = False
        for block_id in order:
            if not pending[block_id]:
                continue
            pending[block_id] = 0
            block = blocks[block_id]
            out = out_of[block_id]
            for successor in block.succs:
                out |= into[successor]
            out_of[block_id] = out
            live = into[block_id] | (out ^ (out & killed_in[block_id]))  # `& ~killed` copies more in CPython
            if live != into[block_id]:
                into[block_id] = live
                for pred in block.preds:
                    pending[pred] = 1
                    again = True
    return Liveness(cfg, scan, into, out_of, written)


class _Scan:
    """What the blocks do with registers, by block: ``used`` the places of those that it reads before writing them,
    ``killed`` the ids of those that it writes, ``guarded`` of those that it may write."""

    def __init__(self, count: int) -> None:
        self.place = [-1] * count
        self.crossing: list[int] = []
        self.used: list[list[int]] = []
        self.killed: list[list[int]] = []
        self.guarded: list[list[int]] = []
        self.killed_in = [-1] * count
        self.used_in = [-1] * count

    def expose(self, id: int) -> int:
        """The place of a register that is live at a border."""
        place = self.place[id]
        if place < 0:
            place = self.place[id] = len(self.crossing)
            self.crossing.append(id)
        return place

    def places(self, ids: list[int]) -> int:
        """The places of those of the registers ``ids`` that are live at a border."""
        place = self.place
        return bits([place[id] for id in ids if place[id] >= 0])

    def block(self, block: Block) -> None:
        self.used.append([])
        self.killed.append([])
        self.guarded.append([])
        b = block.id
        killed_in = self.killed_in
        for instruction in block.instructions:
            is_destination = instruction.opcode.has_destination
            operands = instruction.operands
            for operand in operands:
                if is_destination:
                    is_destination = False
                elif isinstance(operand, Register):
                    if killed_in[operand.id] != b:
                        self.use(operand.id, b)
                elif isinstance(operand, Address):
                    base = operand.base
                    if isinstance(base, Register) and killed_in[base.id] != b:
                        self.use(base.id, b)
                elif not isinstance(operand, Immediate):
                    found: list[Register] = []
                    collect_read(operand, found)
                    for register in found:
                        if killed_in[register.id] != b:
                            self.use(register.id, b)
            guard = instruction.guard
            if guard is not None and killed_in[guard.id] != b:
                self.use(guard.id, b)
            if instruction.opcode.has_destination and operands:
                destination = operands[0]
                if isinstance(destination, Register) and guard is None:
                    if killed_in[destination.id] != b:
                        killed_in[destination.id] = b
                        self.killed[b].append(destination.id)
                else:
                    self.write(instruction, b)

    def use(self, id: int, b: int) -> None:
        """A block reads what it has not written."""
        if self.used_in[id] != b:
            self.used_in[id] = b
            self.used[b].append(self.expose(id))

    def write(self, instruction: Instruction, b: int) -> None:
        """A block writes several registers, or under a guard."""
        out = self.killed[b] if instruction.guard is None else self.guarded[b]
        for register in instruction.destinations():
            out.append(register.id)
            if instruction.guard is None:
                self.killed_in[register.id] = b


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
    """The bit set with exactly these members, in time nearly linear in the largest member."""
    low = 0
    words: list[int] = []
    for member in ids:
        if member < WORD:
            low |= 1 << member
        else:
            while len(words) <= member // WORD:
                words.append(0)
            set_bit(words, member)
    if not words:
        return low
    words[0] = low
    return joined(words)


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
