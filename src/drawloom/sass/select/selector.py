"""Instruction selection: a PTX function to machine instructions on virtual registers (thesis section 5.3).

Blocks are taken in reverse postorder. Constants, kernel parameters and copies cost nothing where they are written:
each reader puts them into its own operand, or into a register if the machine has no such form. What a PTX opcode
becomes stands in the files beside this one, a function for each family, found once for each opcode in `HANDLERS`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.cfg import Cfg, build_cfg
from drawloom.ptx.ir import FLOAT32, FLOAT64, Function, Immediate, Instruction, Module, Not, Operand, Register, Symbol
from drawloom.ptx.layout import align_up, has_dynamic_stack, local_layout, param_layout, shared_layout
from drawloom.ptx.liveness import liveness
from drawloom.ptx.uniformity import Branches, branches
from drawloom.sass.convergence import parted
from drawloom.sass.effects import effects
from drawloom.sass.form import IsaError, Opcode
from drawloom.sass.isa import Target, load_target
from drawloom.sass.machine import (
    FRAME_POINTER,
    GENERAL,
    PREDICATE,
    PT,
    VIRTUAL,
    Machine,
    MachineBlock,
    MachineFunction,
    virtual_id,
)
from drawloom.sass.parameters import stack_arguments
from drawloom.sass.predication import predicate
from drawloom.sass.select.operands import (
    CODE_BITS,
    CONSTANT,
    IMMEDIATE,
    OTHER,
    REGISTER,
    TRUE,
    ZERO,
    Src,
    bank,
    imm,
    pred,
    reg,
)
from drawloom.sass.select.values import Definitions
from drawloom.sass.syntax import NO_GUARD
from drawloom.sass.variables import Variables

#: Where parameters begin in constant bank 0.
PARAMETERS: Final[dict[int, int]] = {61: 0x140, 75: 0x160, 80: 0x160, 86: 0x160, 89: 0x160, 90: 0x210}
#: Where the stack pointer's first value, and (sm_80 on) the descriptor of global memory stand in it.
STACK_TOP: Final[dict[int, int]] = {61: 0x20, 75: 0x28, 80: 0x28, 86: 0x28, 89: 0x28, 90: 0x28}
DESCRIPTOR: Final[dict[int, int]] = {80: 0x118, 86: 0x118, 89: 0x118, 90: 0x208}
#: How instructions name a 64-bit address: sm_80 to sm_89 have the descriptor in UR4, too, but do not print it.
LONG_ADDRESS: Final[dict[int, str]] = {
    61: "[R+I]", 75: "[R+I]", 80: "[R.64+I]", 86: "[R.64+I]", 89: "[R.64+I]", 90: "desc[UR][R.64+I]",
}  # fmt: skip
#: Shared memory that the system keeps for itself below a kernel's own.
SHARED_BEGIN: Final[dict[int, int]] = {61: 0, 75: 0, 80: 0, 86: 0, 89: 0, 90: 0x400}

Handler = Callable[["Selector", Instruction], None]
#: What selects a PTX opcode, by its name; filled by the families' files.
HANDLERS: Final[dict[str, Handler]] = {}


class Plan:
    """How an instruction with operands of some kinds is emitted: the opcode, which operands must be in registers
    first, and whether each has one number then. `key` is the row of the operands' codes."""

    def __init__(self, key: int, opcode: Opcode, moved: list[int], is_flat: bool) -> None:
        self.key = key
        self.opcode = opcode
        self.moved = moved
        self.is_flat = is_flat


class Selector:
    """Selects one function. `out` is the result; `at` the block that instructions are added to."""

    def __init__(
        self, module: Module, function: Function, number: int, variables: Variables | None = None,
        kernel: Function | None = None, leaves_file: bool = False,
    ) -> None:  # fmt: skip
        """``kernel`` is the one that the function is a part of, itself by default; ``leaves_file`` says that code
        of other files may run in between."""
        self.module = module
        predicated = predicate(function, number)
        self.function = function = predicated.function
        self.number = number
        self.leaves_file = leaves_file
        self.target: Target = load_target(number)
        self.cfg: Cfg = build_cfg(function, module)
        self.live = liveness(self.cfg)
        self.definitions = Definitions(self.cfg, self.live)
        self.out = MachineFunction(function.name, number, function.is_entry)
        self.at: MachineBlock = self.out.block()
        self.plans = plans_of(number)
        #: The table of handlers; sm_61 has its own.
        self.handlers = HANDLERS
        count = len(function.registers)
        self.homes = [-1] * count
        #: Settled registers that are no more than an integer, words of the parameters' bank, or another register.
        self.numbers: list[int | None] = [None] * count
        self.banks = [-1] * count
        self.copies: list[Register | None] = [None] * count
        #: Settled registers that their one reader computes for itself.
        self.absorbed = [False] * count
        #: Moves of this block that put a constant into a register: they serve later readers, too.
        self.moved: dict[tuple[object, ...], int] = {}
        self.guard = NO_GUARD
        self.pos = -1
        #: The PTX block that is being selected.
        self.block = 0
        #: Registers that live inside of one PTX instruction, and the words of them that have been written.
        self.temporary: set[int] = set()
        self.begun: set[int] = set()
        for id in predicated.begun:
            self.temporary.add(virtual_id(self.home(function.registers[id])))
        #: The predicate of the carry flag, once a chain has set it.
        self.carry_predicate = -1
        #: Whether global memory is reached through the descriptor in UR4, and whether it is known to be there.
        self.uses_descriptor = False
        self.has_descriptor = not leaves_file
        self.variables = Variables(module) if variables is None else variables
        #: Named barriers used, by number; 16 if a register says which.
        self.barriers = 0
        self.parameters: dict[str, int] = {}
        #: Where parameters stand in constant bank 0, and how long they are.
        self.parameters_at = PARAMETERS[number]
        self.parameter_bytes = 0
        if function.is_entry:
            places, self.parameter_bytes = param_layout(function)
            begin = self.parameters_at
            self.parameters = {v.name: begin + p[0] for v, p in zip(function.params, places, strict=True)}
        # A relocatable file leaves their places to a linker.
        shared = {} if self.variables.relocatable else shared_layout(module, kernel or function)[0]
        self.shared = {name: SHARED_BEGIN[number] + at for name, at in shared.items()}
        #: Local variables by their distance from the stack pointer: above what calls pass on the stack.
        self.locals, self.out.frame = local_layout(function)
        #: Whether it calls others.
        self.has_calls, self.out.outgoing = stack_arguments(function)
        if has_dynamic_stack(function):
            self.out.frame_pointer = FRAME_POINTER
        for variable in function.variables:
            if variable.space == "local":
                self.out.alignment = max(self.out.alignment, variable.alignment)
        if self.out.outgoing:
            begin = align_up(self.out.outgoing, self.out.alignment)
            self.locals = {name: at + begin for name, at in self.locals.items()}
            self.out.frame += begin
        self._uniform: Branches | None = None
        # Lanes may call a function one after the other, and come back from one so.
        together = function.is_entry and not self.has_calls
        self._parted: list[bool] | None = None if together else [True] * len(self.cfg.blocks)

    # -- the whole ---------------------------------------------------------------------------------------

    def run(self) -> MachineFunction:
        """Select every block; machine block i is PTX block i."""
        for _ in self.cfg.blocks[1:]:
            self.out.block()
        self.out.ptx_blocks = len(self.cfg.blocks)
        for b in self.cfg.rpo:
            self.select_block(b)
        return self.out

    def select_block(self, b: int) -> None:
        self.at = self.out.blocks[b]
        self.block = b
        self.at.successors = list(self.cfg.blocks[b].succs)
        self.moved = {}
        self.has_descriptor = not self.leaves_file
        for instruction in self.cfg.blocks[b].instructions:
            self.select(instruction)

    def select(self, instruction: Instruction) -> None:
        """One PTX instruction. Raises UnsupportedError, with its place, for what the target lacks."""
        handler = self.handlers.get(instruction.opcode.name)
        self.pos = instruction.pos
        if handler is None:
            raise self.refusal(instruction, f"'{instruction.opcode.text}' is not supported by the assembler yet")
        self.guard = NO_GUARD
        if instruction.guard is not None:
            self.guard = self.home(instruction.guard) + instruction.guard_negated
        try:
            handler(self, instruction)
        except IsaError as error:
            raise self.refusal(instruction, f"'{instruction.opcode.text}': {error}") from None
        except UnsupportedError as lack:  # of another type than `error`, as mypyc has it
            raise self.refusal(instruction, str(lack)) from None

    def refusal(self, instruction: Instruction, message: str) -> UnsupportedError:
        pos = instruction.pos if instruction.pos >= 0 else self.function.pos
        place = self.module.error(SourceError, pos, f"sm_{self.number}: {message}")
        return UnsupportedError(str(place))

    # -- registers ---------------------------------------------------------------------------------------

    def home(self, register: Register) -> int:
        """The virtual register that holds a PTX register, as the value of its first word."""
        value = self.homes[register.id]
        if value < 0:
            if register.type.kind == "p":
                value = self.out.register(PREDICATE)
            else:
                value = self.out.register(GENERAL, max(1, register.type.bits // 32))
            self.homes[register.id] = value
        return value

    def fresh(self, width: int = 1) -> int:
        """A new general register of so many words, for use inside of one PTX instruction."""
        value = self.out.register(GENERAL, width)
        self.temporary.add(virtual_id(value))
        return value

    def fresh_predicate(self) -> int:
        value = self.out.register(PREDICATE)
        self.temporary.add(virtual_id(value))
        return value

    def settled(self) -> list[bool]:
        """Of every virtual register of the function whether it is written before all its readers."""
        out = [False] * len(self.out.files)
        for register in self.temporary:
            out[register] = True
        for id, home in enumerate(self.homes):
            if home >= VIRTUAL and self.definitions.instruction[id] is not None:
                out[virtual_id(home)] = True
        return out

    def origin(self, register: Register) -> Register:
        """The register that this one is a copy of, or itself."""
        copied = self.copies[register.id]
        while copied is not None:
            register = copied
            copied = self.copies[register.id]
        return register

    def number_of(self, operand: Operand) -> int | None:
        """The integer (or the bits) that an operand is known to be, in the width it was written with."""
        if isinstance(operand, Register):
            return self.numbers[self.origin(operand).id]
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, Symbol):
            return self.symbol_number(operand)
        return None

    def symbol_number(self, symbol: Symbol) -> int | None:
        """The address of a shared, constant or parameter variable in its space; None where only the machine knows."""
        name = symbol.name
        at = self.shared.get(name)
        if at is None and name in self.parameters:
            at = self.parameters[name] - self.parameters_at
        if at is None and name not in self.locals:
            at = self.variables.numbers.get(name)
        return None if at is None else at + symbol.offset

    def defining(self, operand: Operand, name: str) -> Instruction | None:
        """The definition of an absorbed operand if it is an instruction of this name."""
        if isinstance(operand, Register) and self.absorbed[operand.id]:
            found = self.definitions.instruction[operand.id]
            if found is not None and found.opcode.name == name:
                return found
        return None

    def is_held(self, register: Register) -> bool:
        """Whether a value stands in its register: it is no number and no word of a bank."""
        origin = self.origin(register)
        return self.numbers[origin.id] is None and self.banks[origin.id] < 0

    # -- global memory -----------------------------------------------------------------------------------

    def need_descriptor(self) -> None:
        """The descriptor of global memory is in UR4 from here on; code of other files may have left something else."""
        if self.number not in DESCRIPTOR:
            return
        self.uses_descriptor = True
        if not self.has_descriptor:
            self.has_descriptor = True
            self.unguarded("ULDC.64", [Src("UR", [4], OTHER), bank(DESCRIPTOR[self.number])])

    def forget_descriptor(self) -> None:
        """Code of another file has run."""
        self.has_descriptor = False

    # -- lanes -------------------------------------------------------------------------------------------

    @property
    def uniform(self) -> Branches:
        """Which branches lanes may part at."""
        if self._uniform is None:
            self._uniform = branches(self.cfg, self.live)
        return self._uniform

    def bring_together(self, mask: Operand | None) -> None:
        """Wait for the lanes of ``mask`` (None: of the warp) where they may have parted."""
        if self._parted is None:
            self._parted = parted(self.cfg, self.uniform)
        if not self._parted[self.block]:
            return
        number = -1 if mask is None else self.number_of(mask)
        if number is None:
            assert mask is not None
            self.emit("WARPSYNC", [self.register_word(mask)])
        elif number & 0xFFFFFFFF == 0xFFFFFFFF and self.number >= 90:
            self.emit("WARPSYNC.ALL", [])
        else:
            self.emit("WARPSYNC", [imm(number)])

    # -- operands ----------------------------------------------------------------------------------------

    def word(self, operand: Operand, part: int = 0) -> Src:
        """One 32-bit word of an operand, as what is cheapest to read."""
        if isinstance(operand, Register):
            register = self.origin(operand)
            number = self.numbers[register.id]
        else:
            register = None
            number = self.number_of(operand)
        if number is not None:
            value = number >> 32 * part & 0xFFFFFFFF
            return ZERO if value == 0 else imm(value)
        if register is not None:
            if self.banks[register.id] >= 0:
                return bank(self.banks[register.id] + 4 * part)
            if part and register.type.bits <= 32:
                return ZERO
            return reg(self.home(register) + part)
        raise UnsupportedError(f"operand {operand!r}")

    def register_word(self, operand: Operand, part: int = 0) -> Src:
        """One word of an operand in a register."""
        return self.in_register(self.word(operand, part))

    def wide(self, operand: Operand) -> Src:
        """A 64-bit operand where an instruction takes a pair: a register pair, or two words of a bank."""
        if isinstance(operand, Register):
            register = self.origin(operand)
            if self.numbers[register.id] is None:
                if self.banks[register.id] >= 0:
                    return bank(self.banks[register.id])
                return reg(self.home(register))
        number = self.number_of(operand)
        if number == 0:
            return ZERO
        return reg(self.pair(operand))

    def pair(self, operand: Operand) -> int:
        """A 64-bit operand in a pair of registers; a narrower one is extended with zeros."""
        held = isinstance(operand, Register) and self.is_held(operand)
        if held:
            assert isinstance(operand, Register)
            register = self.origin(operand)
            if register.type.bits >= 64:
                return self.home(register)
        low, high = self.word(operand, 0), self.word(operand, 1)
        key = (low.text, *low.values, high.text, *high.values)
        known = None if held else self.moved.get(key)  # what a register holds may have changed since
        if known is None:
            known = self.fresh(2)
            self.unguarded("MOV", [reg(known), low])
            self.unguarded("MOV", [reg(known + 1), high])
            self.moved[key] = known
        return known

    def in_register(self, source: Src) -> Src:
        """An operand in a register, with its sign as it was; constants are moved there once in a block."""
        if source.kind == REGISTER:
            return source
        plain = source.text.lstrip("-|").rstrip("|")
        key = (plain, *source.values)
        known = self.moved.get(key)
        if known is None:
            known = self.fresh()
            text = "I" if source.kind == IMMEDIATE else plain
            self.unguarded("MOV", [reg(known), Src(text, source.values, source.kind)])
            self.moved[key] = known
        return Src(source.text.replace(plain, "R"), [known], REGISTER)

    def predicate(self, operand: Operand) -> Src:
        """A predicate operand: a register, its complement, or a literal."""
        if isinstance(operand, Not):
            return pred(self.home(operand.register), True)
        if isinstance(operand, Register):
            return pred(self.home(operand))
        number = self.number_of(operand)
        return pred(7, not number)

    def compare_wide(
        self, relation: str, signed: bool, outs: list[Src], a: list[Src], b: list[Src], combine: str = "AND",
        other: Src = TRUE,
    ) -> None:  # fmt: skip
        """A comparison of 64 bits, by words, into two predicates, combined with a third."""
        low, neither = pred(self.fresh_predicate()), pred(PT)
        kind = "" if signed else ".U32"
        self.emit(f"ISETP.{relation}.U32.AND", [low, neither, self.in_register(a[0]), b[0], TRUE])
        self.emit(f"ISETP.{relation}{kind}.{combine}.EX", [*outs, self.in_register(a[1]), b[1], other, low])

    def carry(self) -> Src:
        """The carry flag: it lives between neighbouring instructions, so one predicate does for all."""
        if self.carry_predicate < 0:
            self.carry_predicate = self.out.register(PREDICATE)
        return pred(self.carry_predicate)

    # -- emitting ----------------------------------------------------------------------------------------

    def emit(self, mnemonic: str, operands: list[Src]) -> Machine:
        """Add an instruction under the PTX instruction's guard; operands that have no form are moved to registers."""
        plan = self.planned(mnemonic, operands)
        for place in plan.moved:
            operands[place] = self.in_register(operands[place])
        if plan.is_flat:
            values = [operand.values[0] for operand in operands]
        else:
            values = []
            for operand in operands:
                values += operand.values
        made = Machine(plan.opcode, values, self.guard, pos=self.pos)
        if self.guard != NO_GUARD:
            if effects(made.opcode).is_copy and virtual_id(values[0]) in self.temporary:
                made.guard = NO_GUARD  # nobody minds what it holds in other lanes
            self.begin_lives(made)
        self.at.instructions.append(made)
        return made

    def begin_lives(self, made: Machine) -> None:
        """Note the temporary registers that an instruction is the first to write, whatever its guard says."""
        for place, words in effects(made.opcode).writes:
            value = made.values[place]
            if value >= VIRTUAL and virtual_id(value) in self.temporary:
                written = range(value, value + words)
                if not any(word in self.begun for word in written):
                    made.begins |= 1 << place
                self.begun.update(written)

    def unguarded(self, mnemonic: str, operands: list[Src]) -> Machine:
        """`emit` for all threads."""
        guard = self.guard
        self.guard = NO_GUARD
        made = self.emit(mnemonic, operands)
        self.guard = guard
        if guard != NO_GUARD:
            self.begin_lives(made)
        return made

    def planned(self, mnemonic: str, operands: list[Src]) -> Plan:
        """`plan`, found once for operands of these kinds."""
        plans = self.plans.get(mnemonic)
        if plans is None:
            plans = self.plans[mnemonic] = []
        key = 0
        for operand in operands:
            key = key << CODE_BITS | operand.code
        for plan in plans:  # one or two as a rule
            if plan.key == key:
                return plan
        made = self.plan(key, mnemonic, operands)
        plans.append(made)
        return made

    def plan(self, key: int, mnemonic: str, operands: list[Src]) -> Plan:
        """The opcode for operands of these kinds; the fewest constants are moved to registers that it takes.

        Raises IsaError if there is none even with all of them in registers.
        """
        movable = [i for i, o in enumerate(operands) if o.kind in (IMMEDIATE, CONSTANT)]
        first: IsaError | None = None
        for bits in sorted(range(1 << len(movable)), key=lambda b: (b.bit_count(), b)):
            moved = [place for i, place in enumerate(movable) if bits >> i & 1]
            texts = [
                o.text.replace("c[I][I]", "R").replace("I", "R").replace("F", "R") if i in moved else o.text
                for i, o in enumerate(operands)
            ]
            try:
                is_flat = all(len(o.values) == 1 for i, o in enumerate(operands) if i not in moved)
                return Plan(key, self.target.opcode(mnemonic, ",".join(texts)), moved, is_flat)
            except IsaError as error:
                first = first or error
        raise first or IsaError(f"no form of {mnemonic}")


_plans: dict[int, dict[str, list[Plan]]] = {}


def plans_of(number: int) -> dict[str, list[Plan]]:
    """The plans that were made for a target, for all functions, by mnemonic."""
    return _plans.setdefault(number, {})


def float_bits(immediate: Immediate, bits: int) -> int:
    """A literal as the bits of a float type."""
    if immediate.kind == FLOAT32 and bits == 64:
        value: float = struct.unpack("<f", struct.pack("<I", immediate.value))[0]
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if immediate.kind == FLOAT64 and bits == 32:
        value = struct.unpack("<d", struct.pack("<Q", immediate.value))[0]
        try:
            return int(struct.unpack("<I", struct.pack("<f", value))[0])
        except OverflowError:
            return 0xFF800000 if value < 0 else 0x7F800000
    return immediate.value
