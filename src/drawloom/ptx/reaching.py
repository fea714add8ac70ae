"""Reaching definitions: which writes of a register may have made the value that a read sees, and back.

Definitions and uses are numbered densely, in body order of the reachable blocks. A guarded definition does not
hide the earlier ones. A register that may be read before any instruction wrote it has an entry definition (a
parameter, or an undefined value). Only registers that are live across a block border are followed across blocks.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Block, Cfg
from drawloom.ptx.ir import Instruction, Register
from drawloom.ptx.liveness import Liveness, liveness, members


class Definition:
    """A write of ``register`` by ``instruction``, the ``place``-th of its block; None and -1 for an entry
    definition, which belongs to block 0."""

    def __init__(self, id: int, register: Register, instruction: Instruction | None, block: int, place: int) -> None:
        self.id = id
        self.register = register
        self.instruction = instruction
        self.block = block
        self.place = place
        self.uses: list[int] = []

    @property
    def is_entry(self) -> bool:
        """Whether this is the value on entry instead of a write."""
        return self.instruction is None

    def __repr__(self) -> str:
        return f"<def {self.id}: {self.register!r} in {self.block}:{self.place}>"


class Use:
    """A read of ``register`` by ``instruction``; several reads by one instruction are one use.

    ``instruction`` is None, and ``place`` the number of instructions of the block, where the function returns and
    its caller reads the result. ``definitions`` are the ids of all definitions that may have written the value.
    """

    def __init__(self, id: int, register: Register, instruction: Instruction | None, block: int, place: int) -> None:
        self.id = id
        self.register = register
        self.instruction = instruction
        self.block = block
        self.place = place
        self.definitions: list[int] = []

    def __repr__(self) -> str:
        return f"<use {self.id}: {self.register!r} in {self.block}:{self.place}>"


class ReachingDefinitions:
    """The result: ``definitions[i].uses`` and ``uses[i].definitions`` are the chains, as ids, ascending.

    ``reach_in[b]`` is the bit set of definitions that reach the start of a block (0 for unreachable blocks), of
    registers that live across blocks. ``at`` finds the uses of an instruction by (block, place).
    """

    def __init__(self, cfg: Cfg) -> None:
        self.cfg = cfg
        self.definitions: list[Definition] = []
        self.uses: list[Use] = []
        self.reach_in = [0] * len(cfg.blocks)
        self._first_use: dict[tuple[int, int], int] = {}

    def at(self, block_id: int, place: int) -> list[Use]:
        """The uses of the ``place``-th instruction of a block, one per register that it reads."""
        index = self._first_use.get((block_id, place), len(self.uses))
        out: list[Use] = []
        while index < len(self.uses) and self.uses[index].block == block_id and self.uses[index].place == place:
            out.append(self.uses[index])
            index += 1
        return out

    def add_definition(self, register: Register, instruction: Instruction | None, block: int, place: int) -> int:
        definition = Definition(len(self.definitions), register, instruction, block, place)
        self.definitions.append(definition)
        return definition.id

    def add_use(self, register: Register, instruction: Instruction | None, block: int, place: int, reach: int) -> None:
        use = Use(len(self.uses), register, instruction, block, place)
        use.definitions = members(reach)
        for definition in use.definitions:
            self.definitions[definition].uses.append(use.id)
        self._first_use.setdefault((block, place), use.id)
        self.uses.append(use)


def reaching_definitions(cfg: Cfg, live: Liveness | None = None) -> ReachingDefinitions:
    """Reaching definitions and both chains. ``live`` is the liveness of ``cfg``, if it is at hand."""
    solver = _Solver(cfg, liveness(cfg) if live is None else live)
    solver.number()
    solver.flow()
    solver.link()
    return solver.result


class _Solver:
    def __init__(self, cfg: Cfg, live: Liveness) -> None:
        self.cfg = cfg
        self.live_in = live.live_in
        self.result = ReachingDefinitions(cfg)
        self.across = 0  # registers that are live across a block border
        for block_id in cfg.rpo:
            self.across |= live.live_in[block_id]
        self.reachable = [b for b in cfg.blocks if cfg.is_reachable(b.id)]
        self.of_register: list[int] = [0] * len(cfg.function.registers)
        self.made = [0] * len(cfg.blocks)
        self.hidden = [0] * len(cfg.blocks)

    def number(self) -> None:
        """Numbers the definitions, and finds what each block makes and hides."""
        result = self.result
        registers = self.cfg.function.registers
        for register_id in members(self.live_in[0]):
            definition = result.add_definition(registers[register_id], None, 0, -1)
            self.of_register[register_id] |= 1 << definition
        made: list[dict[int, int]] = []
        hiding: list[set[int]] = []
        for block in self.reachable:
            latest: dict[int, int] = {}
            hides: set[int] = set()
            for place, instruction in enumerate(block.instructions):
                for register in instruction.destinations():
                    definition = result.add_definition(register, instruction, block.id, place)
                    if not self.across >> register.id & 1:
                        continue
                    self.of_register[register.id] |= 1 << definition
                    if instruction.guard is None:
                        latest[register.id] = 1 << definition
                        hides.add(register.id)
                    else:
                        latest[register.id] = latest.get(register.id, 0) | 1 << definition
            made.append(latest)
            hiding.append(hides)
        for block, latest, hides in zip(self.reachable, made, hiding):
            for register_id in latest:
                self.made[block.id] |= latest[register_id]
            for register_id in hides:
                self.hidden[block.id] |= self.of_register[register_id]

    def flow(self) -> None:
        """Iterates reach_in over the blocks in reverse postorder until nothing changes."""
        reach_in = self.result.reach_in
        blocks = self.cfg.blocks
        reach_out = list(self.made)
        entry = 0
        for register_id in members(self.live_in[0]):
            entry |= self.of_register[register_id] & -self.of_register[register_id]
        changed = True
        while changed:
            changed = False
            for block_id in self.cfg.rpo:
                reach = entry if block_id == 0 else 0
                for pred in blocks[block_id].preds:
                    reach |= reach_out[pred]
                reach_in[block_id] = reach
                out = self.made[block_id] | (reach ^ (reach & self.hidden[block_id]))
                if out != reach_out[block_id]:
                    reach_out[block_id] = out
                    changed = True

    def link(self) -> None:
        """Makes the uses, with one walk through every block."""
        definition = len(members(self.live_in[0]))
        for block in self.reachable:
            definition = self.link_block(block, definition)

    def link_block(self, block: Block, definition: int) -> int:
        reach_in = self.result.reach_in[block.id]
        current: dict[int, int] = {}
        for place, instruction in enumerate(block.instructions):
            seen: set[int] = set()
            for register in instruction.sources():
                if register.id not in seen:
                    seen.add(register.id)
                    reach = self.reach(register.id, current, reach_in)
                    self.result.add_use(register, instruction, block.id, place, reach)
            for register in instruction.destinations():
                before = 0 if instruction.guard is None else self.reach(register.id, current, reach_in)
                current[register.id] = before | 1 << definition
                definition += 1
        if block.returns:
            for variable in self.cfg.function.returns:
                result = variable.register
                if result is not None:
                    reach = self.reach(result.id, current, reach_in)
                    self.result.add_use(result, None, block.id, len(block.instructions), reach)
        return definition

    def reach(self, register_id: int, current: dict[int, int], reach_in: int) -> int:
        found = current.get(register_id, -1)
        return found if found >= 0 else reach_in & self.of_register[register_id]
