"""What a function's loads have to do with ``%tid`` and ``%laneid``: from a CFG to the registers that depend on a
special register, and to the instructions that are done or not, or done elsewhere, by it.

``%tid.x`` is 32 * warp + lane only where lanes count along x (``LANES_ALONG_X``). What has been decided on the way to a
load rests on that if ``%tid`` has a part in it: by the load's address, its guard, or what came before.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Address, Instruction, Register, SpecialRegister
from drawloom.ptx.specials import canonical


class Dependence:
    """What depends on the special registers whose names begin in one way."""

    def __init__(self, cfg: Cfg, name: str) -> None:
        self.cfg = cfg
        self.registers = dependent_registers(cfg, name)
        #: The first place in a block of what is done or not by it, or with an address that depends on it; and these
        #: blocks as a bit set.
        self.first: dict[int, int] = {}
        self.blocks = 0
        for block_id in cfg.rpo:
            block = cfg.blocks[block_id]
            for at in range(block.first, block.last + 1):
                if self.decides(at):
                    self.first[block_id] = at
                    self.blocks |= 1 << block_id
                    break

    def decides(self, at: int) -> bool:
        """Whether a guard, an address or the target of a branch depends on it."""
        instruction = self.cfg.function.body[at]
        if not isinstance(instruction, Instruction):
            return False
        used: list[Register] = [] if instruction.guard is None else [instruction.guard]
        for operand in instruction.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Register):
                used.append(operand.base)
        if instruction.opcode.name == "brx.idx":
            used.extend(instruction.sources())
        return any(self.registers[register.id] for register in used)

    def leads_to(self, at: int, block_id: int, leading: int) -> bool:
        """Whether it has decided anything before ``function.body[at]`` of a block; ``leading`` are the blocks from
        which control can come to that block's predecessors, as a bit set."""
        return leading & self.blocks != 0 or self.first.get(block_id, at) < at

    def reaches(self, at: int) -> bool:
        """Whether the address or the guard of an access depends on it."""
        access = self.cfg.function.body[at]
        return isinstance(access, Instruction) and any(self.registers[r.id] for r in access.sources())


class Threads:
    """Whether a load rests on how lanes count along x, in a block of unknown shape."""

    def __init__(self, cfg: Cfg) -> None:
        self.cfg = cfg
        self._by_thread: Dependence | None = None
        self._by_lane: Dependence | None = None

    @property
    def by_thread(self) -> Dependence:
        """What depends on ``%tid``, looked for when it is asked for."""
        if self._by_thread is None:
            self._by_thread = Dependence(self.cfg, "%tid")
        return self._by_thread

    @property
    def by_lane(self) -> Dependence:
        """The same of ``%laneid``."""
        if self._by_lane is None:
            self._by_lane = Dependence(self.cfg, "%laneid")
        return self._by_lane

    def may_decide(self, by: Dependence, at: int) -> bool:
        """Whether a special register has a part in the address of an access, its guard, or what came before."""
        block_id = self.cfg.block_at(at)
        return by.reaches(at) or by.leads_to(at, block_id, self.cfg.before(block_id))

    def rests_on_shape(self, load: int, source: int, delta: int) -> bool:
        """Whether it rests on how lanes count along x that a load has the value of a source: another lane's, if
        ``%tid`` has a part in it; this lane's, if ``%laneid`` has one, too, because ``%tid.x`` alone is as good as
        any number made of two parts."""
        if not (self.may_decide(self.by_thread, load) or self.by_thread.reaches(source)):
            return False
        return delta != 0 or self.may_decide(self.by_lane, load) or self.by_lane.reaches(source)


def dependent_registers(cfg: Cfg, name: str) -> list[bool]:
    """By register id (the carry flag behind the last), whether its value may depend on special registers whose names
    begin so."""
    readers: dict[int, list[Instruction]] = {}
    carry = len(cfg.function.registers)
    depends = [False] * (carry + 1)
    stack: list[Instruction] = []
    for block_id in cfg.rpo:
        for instruction in cfg.blocks[block_id].instructions:
            for register in instruction.sources():
                readers.setdefault(register.id, []).append(instruction)
            if instruction.opcode.reads_carry:
                readers.setdefault(carry, []).append(instruction)
            for operand in instruction.operands:
                if isinstance(operand, SpecialRegister) and canonical(operand.name).startswith(name):
                    stack.append(instruction)
    while stack:
        instruction = stack.pop()
        written = [register.id for register in instruction.destinations()]
        for number in [*written, carry] if instruction.opcode.writes_carry else written:
            if not depends[number]:
                depends[number] = True
                stack.extend(readers.get(number, []))
    return depends
