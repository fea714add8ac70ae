"""The selector of sm_61: the handlers of the other targets speak its language, too.

What they emit is spelled as sm_61 has it, by a table with an entry for each base mnemonic that sm_61 lacks or takes
other operands of: `IADD3` of two operands is `IADD`, a carry is the flag CC, `LOP3` of two operands is `LOP`, `SHF` of
one word is `SHL` or `SHR`, `IMAD` is a sequence of XMAD. A value too large for the 20 bits of an immediate takes the
instruction with 32 bits where there is one, else a register.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.ir import Function, Instruction, Module, Operand
from drawloom.sass.effects import CONDITION, effects
from drawloom.sass.form import IsaError, Slot
from drawloom.sass.machine import GENERAL, RZ, Machine
from drawloom.sass.select.operands import IMMEDIATE, OTHER, TRUE, Src, imm, neg, reg
from drawloom.sass.select.selector import Handler, Plan, Selector
from drawloom.sass.variables import Variables

Speller = Callable[["PascalSelector", str, list[Src]], None]
#: How sm_61 spells what the common handlers emit, by the base mnemonic; filled by the files beside this one.
SPELLINGS: Final[dict[str, Speller]] = {}
#: What selects a PTX opcode on sm_61; filled when all files are loaded.
PASCAL_HANDLERS: Final[dict[str, Handler]] = {}
#: Instructions with an immediate of 32 bits in place of the 20 of another.
WIDE: Final[dict[str, str]] = {"FADD": "FADD32I", "FMUL": "FMUL32I"}


class PascalSelector(Selector):
    """Selects one function for sm_61."""

    def __init__(self, module: Module, function: Function, number: int, variables: Variables | None = None) -> None:
        super().__init__(module, function, number, variables)
        self.handlers = PASCAL_HANDLERS
        self._spellers: dict[str, Speller | None] = {}
        #: By the plan's text: which operands are immediates, and the slots that must hold them.
        self._limits: dict[Plan, list[tuple[int, Slot]]] = {}
        #: Which instruction of the block left PTX's carry flag in CC (-1: none), and whether a register has it, too.
        self._carry_at = -1
        self._carry_kept = False
        self._crosses: bool | None = None

    def bring_together(self, mask: Operand | None) -> None:
        """The divergence stack has the lanes of a warp together wherever they can be."""

    def emit(self, mnemonic: str, operands: list[Src]) -> Machine:
        """`Selector.emit` of what sm_61 calls otherwise; the last instruction that it takes."""
        if mnemonic in self._spellers:
            speller = self._spellers[mnemonic]
        else:
            speller = self._spellers[mnemonic] = SPELLINGS.get(mnemonic.partition(".")[0])
        if speller is None:
            return self.native(mnemonic, operands)
        speller(self, mnemonic, operands)
        return self.at.instructions[-1]

    def compare_wide(
        self, relation: str, signed: bool, outs: list[Src], a: list[Src], b: list[Src], combine: str = "AND",
        other: Src = TRUE,
    ) -> None:  # fmt: skip
        """The upper words are compared with the difference of the lower ones in CC."""
        low = self.in_register(b[0]) if b[0].kind == IMMEDIATE else b[0]
        self.native("IADD", [Src("R.CC", [RZ], OTHER), self.in_register(a[0]), neg(low)])
        kind = "" if signed else ".U32"
        self.native(f"ISETP.{relation}{kind}.X.{combine}", [*outs, self.in_register(a[1]), b[1], other])

    def native(self, mnemonic: str, operands: list[Src]) -> Machine:
        """Add an instruction of sm_61; immediates that have no room in it take a wider one or a register."""
        plan = self.planned(mnemonic, operands)
        limits = self._limits.get(plan)
        if limits is None:
            limits = self._limits[plan] = limits_of(plan, operands)
        for place, slot in limits:
            found = fitted(slot, operands[place])
            if found is not None:
                operands[place] = found
                continue
            base, _, rest = mnemonic.partition(".")
            if base in WIDE:
                try:
                    return super().emit(WIDE[base] + ("." + rest if rest else ""), operands)
                except IsaError:
                    pass  # 32 bits leave no room for this modifier
            operands[place] = self.in_register(operands[place])
            return self.native(mnemonic, operands)
        return super().emit(mnemonic, operands)

    def add_wide(self, out: int, a: list[Src], b: list[Src]) -> None:
        """The sum of two pairs of words, the first ones in registers."""
        for part, destination in enumerate((Src("R.CC", [out], OTHER), reg(out + 1))):
            mnemonic = ("IADD32I" if b[part].kind == IMMEDIATE else "IADD") + (".X" if part else "")
            self.native(mnemonic, [destination, a[part], b[part]])

    # -- the carry flag of PTX -------------------------------------------------------------------------------

    def select_block(self, b: int) -> None:
        self._carry_at = -1
        super().select_block(b)
        if self._carry_at >= 0 and self._carry_crosses_blocks():
            self._keep_carry()

    def note_carry(self) -> None:
        """The last instruction has left PTX's carry flag in CC."""
        self._carry_at = len(self.at.instructions) - 1
        self._carry_kept = False

    def take_carry(self) -> None:
        """Bring PTX's carry flag into CC, if something else is there by now."""
        if self._carry_at >= 0:
            since = self.at.instructions[self._carry_at + 1 :]
            if not any(writes_flag(machine) for machine in since):
                return
            self._keep_carry()
        self.native("IADD32I", [Src("R.CC", [RZ], OTHER), reg(self._carry_word()), imm(-1)])
        self.note_carry()
        self._carry_kept = True

    def _keep_carry(self) -> None:
        """Put the flag into a register, 0 or 1, where it was made."""
        if not self._carry_kept:
            opcode = self.target.opcode("IADD.X", "R,R,R")
            keep = Machine(opcode, [self._carry_word(), RZ, RZ], pos=self.pos)
            self.at.instructions.insert(self._carry_at + 1, keep)
            self._carry_kept = True

    def _carry_word(self) -> int:
        if self.carry_predicate < 0:
            self.carry_predicate = self.out.register(GENERAL)
        return self.carry_predicate

    def _carry_crosses_blocks(self) -> bool:
        """Whether a block reads the flag before it writes it."""
        if self._crosses is None:
            self._crosses = any(reads_first(self.cfg.blocks[b].instructions) for b in self.cfg.rpo)
        return self._crosses


def writes_flag(machine: Machine) -> bool:
    """Whether an instruction writes CC."""
    return any(file == CONDITION for file, _, _ in effects(machine.opcode).fixed_writes)


def reads_first(instructions: list[Instruction]) -> bool:
    """Whether the first instruction that has to do with the carry flag reads it."""
    for instruction in instructions:
        if instruction.opcode.reads_carry:
            return True
        if instruction.opcode.writes_carry:
            return False
    return False


def limits_of(plan: Plan, operands: list[Src]) -> list[tuple[int, Slot]]:
    """The immediates among the operands of a plan that stay such, and the slots of their values."""
    out: list[tuple[int, Slot]] = []
    slot = 0
    for place, operand in enumerate(operands):
        if operand.kind == IMMEDIATE and place not in plan.moved:
            out.append((place, plan.opcode.slots[slot]))
        slot += 1 if place in plan.moved else len(operand.values)
    return out


def fitted(slot: Slot, operand: Src) -> Src | None:
    """An immediate as its slot takes it: the same 32 bits with the slot's sign; None where it has no room for them."""
    value = operand.values[0]
    if slot.kind == "I" and slot.bits in (20, 32):
        value &= 0xFFFFFFFF
        if value >> 31 and (slot.signed or slot.bits == 20):
            value -= 1 << 32
        if slot.bits == 20 and not -(1 << 19) <= value < 1 << 19:
            return None
        if slot.bits == 20 and not slot.signed:
            value &= (1 << 20) - 1  # printed so, but the machine extends its sign all the same
    elif not slot.fits(value):
        return None
    return operand if value == operand.values[0] else Src(operand.text, [value], operand.kind)
