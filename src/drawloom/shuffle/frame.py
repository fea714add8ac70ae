"""The operands of a function's instructions to expressions: registers, literals, special registers, symbols; and which
registers matter for addresses, guards and branches at all."""

from __future__ import annotations

from math import prod
from typing import Final

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import (
    INT,
    Address,
    Immediate,
    Instruction,
    Module,
    Not,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import ATOMIC, BRANCH, CALL, LOAD, SIDE, STORE, WARP, Opcode
from drawloom.ptx.launch_bounds import LaunchBounds
from drawloom.ptx.layout import literal_bytes
from drawloom.ptx.operands import word_type
from drawloom.ptx.specials import SPECIALS, canonical
from drawloom.ptx.types import PRED, U32, Type
from drawloom.ptx.uniformity import BlockShape
from drawloom.shuffle.expressions import OPAQUE, Expressions
from drawloom.shuffle.expressions import WARP as WARP_SIZE
from drawloom.shuffle.state import State

_COMPONENTS: Final = "xyz"


class Frame:
    """A function's leaves. ``extents`` are those of a block where the directives say them, else 0."""

    def __init__(self, x: Expressions, cfg: Cfg, module: Module) -> None:
        self.x = x
        self.function = cfg.function
        self.address_bits = module.address_size
        #: The variables of which each lane has its own, maybe at an address of its own.
        self.own = frozenset([v.name for v in cfg.function.variables if v.space in ("local", "param")])
        self.own |= frozenset([v.name for v in module.variables.values() if v.space == "local"])
        if not cfg.function.is_entry:
            self.own |= frozenset([p.name for p in cfg.function.params])
        self.parameters = frozenset([p.name for p in cfg.function.params]) if cfg.function.is_entry else frozenset()
        bounds = LaunchBounds(cfg.function)
        self.limits = bounds.specials()
        self.extents = bounds.required or (0, 0, 0)
        self.lanes_along_x = BlockShape(self.extents[0], self.extents[1], self.extents[2]).lanes_along_x
        self._specials: dict[str, int] = {}
        #: Where the instruction stands that reads: a volatile register is another number each time.
        self.at = -1

    @property
    def is_shape_known(self) -> bool:
        """Whether it is known where in the block the lanes of a warp stand."""
        return self.extents[0] > 0

    # -- operands ----------------------------------------------------------------------------------------

    def source(self, state: State, operand: Operand, type: Type) -> int:
        """The value of a source operand, as wide as its type."""
        x = self.x
        if isinstance(operand, Register):
            found = state.env[operand.id]
            if found < 0:
                found = x.leaf("undefined", operand.type.bits, operand.name, varies=OPAQUE)
                state.env[operand.id] = found
            return x.truncate(found, type.bits) if x.widths[found] > type.bits else found
        if isinstance(operand, Immediate):
            if operand.kind == INT and not type.is_float:
                return x.constant(operand.value, type.bits)
            if type.is_float and type.lanes == 1 and type.bits >= 16:
                return x.constant(int.from_bytes(literal_bytes(operand, type), "little"), type.bits)
            return x.constant(operand.value, type.bits)
        if isinstance(operand, Not):
            return x.negate(self.source(state, operand.register, PRED))
        if isinstance(operand, SpecialRegister):
            return x.extend(self.special(operand.name), type.bits, False)
        if isinstance(operand, Symbol):
            return x.scale(self.symbol(operand.name, type.bits), 1, operand.offset)
        if isinstance(operand, Vector):
            bits = type.bits // len(operand.elements)
            return x.concatenated([self.element(state, e, bits) for e in operand.elements])
        return x.leaf("operand", type.bits, repr(operand), varies=OPAQUE)

    def element(self, state: State, operand: Operand, bits: int) -> int:
        """An element of a vector that is packed."""
        if isinstance(operand, Register):
            return self.source(state, operand, operand.type)
        return self.x.constant(operand.value if isinstance(operand, Immediate) else 0, bits)

    def symbol(self, name: str, bits: int) -> int:
        """The address of a variable."""
        return self.x.leaf("symbol", bits, name, varies=OPAQUE if name in self.own else 0)

    def window(self, space: str, bits: int) -> int:
        """Where the window of a space begins in the generic one."""
        return self.x.leaf("window", bits, space, varies=OPAQUE if space == "local" else 0)

    def special(self, name: str) -> int:
        """A special register, as wide as it is; volatile ones are something else in each lane and at each read."""
        name = canonical(name)
        known = self._specials.get(name)
        if known is not None:
            return known
        x = self.x
        base, _, component = name.partition(".")
        special = SPECIALS[base]
        bits = special.type.bits
        if special.volatile:
            return x.leaf("volatile", bits, f"{name} {self.at}", varies=OPAQUE)
        limits = self.limits.get(name)
        if name == "%laneid":
            found = x.lane
        elif base == "%tid" and component in _COMPONENTS and self.is_shape_known and not self.lanes_along_x:
            found = self._divided(_COMPONENTS.index(component))
        elif name == "%tid.x":
            assert limits is not None
            warp = x.leaf("warp", 32, "", 0, limits[1] // 32) if limits[1] >= 32 else x.constant(0, 32)
            found = x.add(x.scale(warp, 32), x.lane)
        elif component == "w":
            found = x.constant(0, bits)
        else:
            varies = 0 if special.uniformity != "lane" or base == "%tid" else OPAQUE
            found = (
                x.leaf("special", bits, name, varies=varies)
                if limits is None
                else x.constant(limits[0], bits)
                if limits[0] == limits[1]
                else x.leaf("special", bits, name, limits[0], limits[1], varies)
            )
        self._specials[name] = found
        return found

    def _divided(self, k: int) -> int:
        """A component of ``%tid`` in a block of known extents: of the number of the thread, which is
        32 * warp + lane (PTX ISA 9.0, section 10.1)."""
        x = self.x
        last = (prod(self.extents) - 1) // WARP_SIZE
        warp = x.leaf("warp", 32, "block", 0, last) if last else x.constant(0, 32)
        number = x.add(x.scale(warp, WARP_SIZE), x.lane)
        number = x.divide("udiv", number, x.constant(prod(self.extents[:k]), 32))
        return number if k == 2 else x.divide("urem", number, x.constant(self.extents[k], 32))

    def address(self, state: State, address: Address) -> int:
        """The address of an access, in bytes."""
        x = self.x
        base = address.base
        if base is None:
            return x.constant(address.offset, self.address_bits)
        if isinstance(base, Symbol):
            return x.scale(self.symbol(base.name, self.address_bits), 1, base.offset + address.offset)
        return x.scale(self.source(state, base, base.type), 1, address.offset)


def operand_types(opcode: Opcode, count: int) -> list[Type]:
    """The types of the operands of an instruction with ``count`` of them."""
    for form in opcode.forms:
        if form.required <= count <= len(form.operands):
            found: list[Type] = []
            for word in form.operands[:count]:
                type = word_type(word, opcode)
                found.append(U32 if type is None else type)
            return found
    return [U32] * count


def relevant_registers(cfg: Cfg) -> list[bool]:
    """By register id, whether an address, a guard of an access or a branch depends on it."""
    writers: dict[int, list[Instruction]] = {}
    relevant = [False] * len(cfg.function.registers)
    stack: list[Register] = []
    for block_id in cfg.rpo:
        for instruction in cfg.blocks[block_id].instructions:
            effect = instruction.opcode.effect
            for written in instruction.destinations():
                writers.setdefault(written.id, []).append(instruction)
            if effect in (LOAD, STORE, ATOMIC, SIDE):
                for operand in instruction.operands:
                    if isinstance(operand, Address) and isinstance(operand.base, Register):
                        stack.append(operand.base)
            if effect == BRANCH:
                stack.extend(instruction.sources())
            elif instruction.guard is not None and effect:
                stack.append(instruction.guard)
            if instruction.opcode.reads_carry or instruction.opcode.writes_carry:
                stack.extend(instruction.sources())
    while stack:
        register = stack.pop()
        if relevant[register.id]:
            continue
        relevant[register.id] = True
        for writer in writers.get(register.id, []):
            if writer.opcode.effect in (ATOMIC, CALL, WARP):
                if writer.guard is not None:
                    stack.append(writer.guard)
                continue
            stack.extend(writer.sources())
    return relevant
