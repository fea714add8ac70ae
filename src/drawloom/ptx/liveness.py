"""Which registers are live where: sets of registers, as bit sets over register ids, at block borders.

A register is live at a point if some path from it reads the register before writing it. A guarded definition does
not end the life of the old value, which the threads with a false guard keep. ``ret`` reads the registers that a
device function returns its results in.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from drawloom.ptx.cfg import Block, Cfg
from drawloom.ptx.ir import Address, Function, Immediate, Instruction, Operand, Register

#: Bits that fit into a small integer, in which bit sets are put together.
WORD: Final = 60


class Liveness:
    """The result. ``live_in[b]`` and ``live_out[b]`` are bit sets of register ids, for unreachable blocks too.

    ``live_in[0]`` are the registers that may be read before they are written, and ``.reg`` parameters.
    """

    def __init__(self, cfg: Cfg, live_in: list[int], live_out: list[int]) -> None:
        self.cfg = cfg
        self.live_in = live_in
        self.live_out = live_out

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
    live_in = [0] * count
    live_out = [0] * count
    killed_in: list[int] = []
    returned = _returned(cfg.function)
    for block in blocks:
        used, killed = _block_effects(block)
        killed_bits = bits(killed)
        killed_in.append(killed_bits)
        upward = bits(used)
        if returned and block.returns:
            live_out[block.id] = returned
            upward |= returned & ~killed_bits
        live_in[block.id] = upward
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
            out = live_out[block_id]
            for successor in block.succs:
                out |= live_in[successor]
            live_out[block_id] = out
            live = live_in[block_id] | (out ^ (out & killed_in[block_id]))  # `& ~killed` copies more in CPython
            if live != live_in[block_id]:
                live_in[block_id] = live
                for pred in block.preds:
                    pending[pred] = 1
                    again = True
    return Liveness(cfg, live_in, live_out)


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


def bits(ids: set[int]) -> int:
    """The bit set with exactly these members, in time nearly linear in the largest member."""
    words: list[int] = []
    for member in ids:
        while len(words) <= member // WORD:
            words.append(0)
        set_bit(words, member)
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


def _returned(function: Function) -> int:
    """The registers that hold a device function's results when it returns."""
    out = 0
    for variable in function.returns:
        if variable.register is not None:
            out |= 1 << variable.register.id
    return out


def _block_effects(block: Block) -> tuple[set[int], set[int]]:
    """The registers that a block reads before writing them, and those that it writes without a guard."""
    used: set[int] = set()
    killed: set[int] = set()
    for instruction in block.instructions:
        guard = instruction.guard
        if guard is not None and guard.id not in killed:
            used.add(guard.id)
        destination: Operand | None = None
        is_destination = instruction.opcode.has_destination
        for operand in instruction.operands:
            if is_destination:
                is_destination = False
                destination = operand
            elif isinstance(operand, Register):
                if operand.id not in killed:
                    used.add(operand.id)
            elif isinstance(operand, Address):
                base = operand.base
                if isinstance(base, Register) and base.id not in killed:
                    used.add(base.id)
            elif not isinstance(operand, Immediate):
                for register in instruction.sources():
                    if register.id not in killed:
                        used.add(register.id)
                break
        if destination is None or guard is not None:
            continue
        if isinstance(destination, Register):
            killed.add(destination.id)
        else:
            for register in instruction.destinations():
                killed.add(register.id)
    return used, killed
