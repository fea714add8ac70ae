"""One instruction along one flow: from a state to the next, with the accesses that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.ptx.ir import Address, Instruction, Operand, Pair, Register, Symbol, Vector
from drawloom.ptx.isa import ATOMIC, CALL, LOAD, PURE, STORE, Opcode
from drawloom.ptx.types import PRED, Type
from drawloom.ptx.uniformity import Uniformity
from drawloom.shuffle import facts
from drawloom.shuffle.expressions import OPAQUE, Expressions, signed
from drawloom.shuffle.facts import Access
from drawloom.shuffle.frame import Frame, operand_types
from drawloom.shuffle.semantics import computed, predicates, result_type, with_carry, with_predicate
from drawloom.shuffle.state import State, decided
from drawloom.shuffle.visibility import asks_all, brings_together, is_met_apart, is_ordered, shows_writes

if TYPE_CHECKING:
    from drawloom.shuffle.trail import Trail


#: The leaves that are what an instruction tells all lanes of a warp.
TOLD: Final = "told"


class Executor:
    """Runs instructions. ``relevant`` says which registers are worth computing, ``uniform`` which ones are the same in
    lanes that run together, ``waits_apart`` that lanes of a warp may wait for each other at different places."""

    def __init__(self, x: Expressions, frame: Frame, relevant: list[bool], trail: Trail, uniform: Uniformity) -> None:
        self.x = x
        self.frame = frame
        self.relevant = relevant
        self.trail = trail
        self.uniform = uniform
        self.waits_apart = False

    def run(self, state: State, at: int, instruction: Instruction, block: int) -> None:
        """One instruction that does not end a block."""
        opcode = instruction.opcode
        effect = opcode.effect
        self.frame.at = at
        if effect == PURE:
            if opcode.writes_carry or opcode.reads_carry or self.matters(instruction):
                self.pure(state, at, instruction)
            return
        guard = self.guard(state, instruction)
        if guard == self.x.false:
            if effect == LOAD:
                self.trail.pass_by(state, self.access(state, facts.LOAD, at, instruction, self.x.true, block))
            return
        if effect == LOAD:
            self.load(state, at, instruction, guard, block)
        elif effect == STORE:
            self.trail.write(state, self.access(state, facts.STORE, at, instruction, guard, block))
        elif effect == ATOMIC:
            if opcode.name != "mbarrier":
                self.trail.write(state, self.access(state, facts.ATOMIC, at, instruction, guard, block))
            self.show(state, at, instruction, guard)
            self.unknown(state, at, instruction, guard)
        else:
            if shows_writes(opcode):
                self.show(state, at, instruction, guard)
            self.unknown(state, at, instruction, guard)
            if effect == CALL:
                state.env[-1] = self.x.leaf("opaque", 1, f"{at}.carry", varies=OPAQUE)

    def show(self, state: State, at: int, instruction: Instruction, guard: int) -> None:
        """What others have written becomes visible, for all lanes at once or for each as it comes."""
        self.trail.forget(state, at)
        if is_met_apart(instruction) or (self.waits_apart and instruction.opcode.name == "bar.warp"):
            state.apart = True
        elif guard == self.x.true and brings_together(instruction):
            state.apart = False

    def matters(self, instruction: Instruction) -> bool:
        operands = instruction.operands
        if not operands or not instruction.opcode.has_destination:
            return False
        first = operands[0]
        if isinstance(first, Register):
            return self.relevant[first.id]
        return any(self.relevant[register.id] for register in instruction.destinations())

    def guard(self, state: State, instruction: Instruction) -> int:
        """The predicate under which it is run, a constant where the flow decides it."""
        x = self.x
        if instruction.guard is None:
            return x.true
        found = self.frame.source(state, instruction.guard, PRED)
        if instruction.guard_negated:
            found = x.negate(found)
        known = decided(x, state.conditions, found)
        return found if known < 0 else x.true if known else x.false

    # -- values ------------------------------------------------------------------------------------------

    def write(self, state: State, register: Register, value: int, guard: int, is_signed: bool = False) -> None:
        """Put a value into a register, which keeps its old one where the guard does not hold."""
        x = self.x
        bits = register.type.bits
        value = x.extend(value, bits, is_signed)
        if guard != x.true:
            value = x.select(guard, value, self.frame.source(state, register, register.type))
        state.env[register.id] = value

    def unknown(self, state: State, at: int, instruction: Instruction, guard: int) -> None:
        """Results that are something else in each lane, or the same in those of which all have been asked."""
        is_told = guard == self.x.true and asks_all(instruction, self.waits_apart)
        for place, register in enumerate(instruction.destinations()):
            if self.relevant[register.id]:
                bits, payload = register.type.bits, f"{at}.{place}"
                if is_told and self.uniform.is_uniform(register.id):
                    value = self.x.leaf(TOLD, bits, payload)
                else:
                    value = self.x.leaf("opaque", bits, payload, varies=OPAQUE)
                self.write(state, register, value, guard)

    def pure(self, state: State, at: int, instruction: Instruction) -> None:
        x = self.x
        opcode = instruction.opcode
        guard = self.guard(state, instruction)
        if not instruction.operands:
            return
        operands = instruction.operands
        types = operand_types(opcode, len(operands))
        if opcode.half == "wide" or opcode.name == "cvt":
            self.note_widening(state, opcode, at, operands, types)
        if guard == x.false:
            return
        target = operands[0]
        if opcode.name == "mov" and (isinstance(target, Vector) or isinstance(operands[1], Vector)):
            self.pack(state, at, instruction, guard)
            return
        if opcode.name in ("cvta", "isspacep", "alloca") or opcode.name.startswith("createpolicy"):
            self.address_of_space(state, at, instruction, guard)
            return
        sources = [self.frame.source(state, operands[k], types[k]) for k in range(1, len(operands))]
        if opcode.writes_carry or opcode.reads_carry:
            self.carry(state, opcode, target, sources, guard)
            return
        if isinstance(target, Pair):
            self.pair(state, opcode, target, sources, guard)
            return
        if not isinstance(target, Register):
            return
        type = result_type(opcode)
        width = 2 * type.bits if opcode.half == "wide" else type.bits
        if types[0].bits != width and opcode.name not in ("setp", "testp"):
            width = max(types[0].bits, 1)  # results of a type of their own, as of popc
        value = computed(x, opcode, sources, width)
        self.write(state, target, value, guard, opcode.name == "cvt" and type.is_signed)

    def note_widening(self, state: State, opcode: Opcode, at: int, operands: list[Operand], types: list[Type]) -> None:
        """Remember where an index that may wrap is widened. A test of it stands there without the guard that the
        instruction may have, so it is of what the register holds on every flow that comes by."""
        type = opcode.types[-1]
        if type.is_float or opcode.types[0].is_float:
            return
        width = types[0].bits
        for k in range(1, min(3, len(operands))):
            operand = operands[k]
            if not isinstance(operand, Register) or operand.type.bits != type.bits:
                continue
            source = self.frame.source(state, operand, types[k])
            if self.x.widths[source] < width:
                self.trail.widened(self.x.extend(source, width, type.is_signed), at, operand)

    def carry(self, state: State, opcode: Opcode, target: Operand, sources: list[int], guard: int) -> None:
        """Extended precision; the carry flag stands behind the last register."""
        x = self.x
        before = state.env[-1] if state.env[-1] >= 0 else x.leaf("undefined", 1, "carry", varies=OPAQUE)
        result, after = with_carry(x, opcode, sources, before)
        if opcode.writes_carry:
            state.env[-1] = x.select(guard, after, before)
        if isinstance(target, Register):
            self.write(state, target, result, guard)

    def pair(self, state: State, opcode: Opcode, target: Pair, sources: list[int], guard: int) -> None:
        x = self.x
        # The other instruction with two results is lop3 with a predicate.
        values = (predicates if opcode.name == "setp" else with_predicate)(x, opcode, sources)
        for operand, value in ((target.first, values[0]), (target.second, values[1])):
            if isinstance(operand, Register):
                self.write(state, operand, value, guard)

    def pack(self, state: State, at: int, instruction: Instruction, guard: int) -> None:
        """``mov`` between a register and the parts of it, or between vectors."""
        x = self.x
        target, source = instruction.operands
        type = result_type(instruction.opcode)
        if isinstance(target, Register):
            self.write(state, target, self.frame.source(state, source, type), guard)
            return
        if not isinstance(target, Vector) or isinstance(source, Vector) or instruction.opcode.vector > 1:
            self.unknown(state, at, instruction, guard)
            return
        whole = self.frame.source(state, source, type)
        bits = type.bits // len(target.elements)
        for k, element in enumerate(target.elements):
            if isinstance(element, Register):
                self.write(state, element, x.extracted(whole, k * bits, bits), guard)

    def address_of_space(self, state: State, at: int, instruction: Instruction, guard: int) -> None:
        """``cvta``: a generic address is that of the space plus where its window begins, in global memory itself."""
        x = self.x
        opcode = instruction.opcode
        target = instruction.operands[0]
        if opcode.name != "cvta" or not isinstance(target, Register):
            self.unknown(state, at, instruction, guard)
            return
        type = result_type(opcode)
        value = self.frame.source(state, instruction.operands[1], type)
        if opcode.space not in ("global", ""):
            space = "shared" if opcode.space.startswith("shared") else opcode.space
            window = self.frame.window(space, type.bits)
            value = x.sub(value, window) if opcode.has("to") else x.add(value, window)
        self.write(state, target, value, guard)

    # -- memory ------------------------------------------------------------------------------------------

    def access(self, state: State, kind: str, at: int, instruction: Instruction, guard: int, block: int) -> Access:
        """The access that an instruction makes."""
        x = self.x
        opcode = instruction.opcode
        operand = instruction.operands[0]
        for candidate in instruction.operands[:2]:
            if isinstance(candidate, Address):
                operand = candidate
                break
        if isinstance(operand, Address):
            address = self.frame.address(state, operand)
        else:
            address = x.leaf("opaque", self.frame.address_bits, f"{at}", varies=OPAQUE)
        size = 1 if opcode.type is None else opcode.type.bytes
        space = self.trail.aliases.space(opcode.space, address)
        if not opcode.space and isinstance(operand, Address) and isinstance(operand.base, Symbol):
            space = self.trail.symbol_space(operand.base.name)
        read_only = kind == facts.LOAD and (opcode.nc or space in ("const", "param"))
        return Access(
            kind, at, instruction, space, size * opcode.vector, size, address, -1 if guard == x.true else guard, 0,
            0 if read_only else state.version, block, self.trail.depth(block), read_only,
        )  # fmt: skip

    def load(self, state: State, at: int, instruction: Instruction, guard: int, block: int) -> None:
        x = self.x
        opcode = instruction.opcode
        type = opcode.type
        assert type is not None
        access = self.access(state, facts.LOAD, at, instruction, guard, block)
        if access.space == "param":
            self.parameter(state, at, instruction, access, guard)
            return
        ordered = is_ordered(opcode)
        self.trail.read(state, access, ordered)
        if ordered or access.space == "local" or (not access.space and not self.is_shared(access)):
            if ordered:
                self.show(state, at, instruction, guard)
            self.unknown(state, at, instruction, guard)
            return
        for register, place in elements(instruction):
            if self.relevant[register.id]:
                address = x.scale(access.address, 1, place * type.bytes)
                value = self.loaded(state, access, address, type.bits)
                self.write(state, register, value, guard, type.is_signed)

    def is_shared(self, access: Access) -> bool:
        """Whether lanes that read one generic address read one place: in local memory each has its own."""
        registers = access.instruction.destinations()
        is_one = not self.x.varies[access.address] and all(self.uniform.is_uniform(r.id) for r in registers)
        return access.read_only or is_one

    def loaded(self, state: State, access: Access, address: int, bits: int) -> int:
        """What is at an address: where lanes see the memory at different times, something else in each."""
        payload = f"{access.space} {access.version}"
        if state.apart and not access.read_only:
            return self.x.leaf("read", bits, f"{payload} {address}", varies=OPAQUE)
        return self.x.atom("load", bits, (address,), payload)

    def parameter(self, state: State, at: int, instruction: Instruction, access: Access, guard: int) -> None:
        """A kernel's parameter, which is the same in all lanes; of a function or a call nothing is known."""
        x = self.x
        type = instruction.opcode.type
        assert type is not None
        name, start = self.parameter_place(access.address)
        if name not in self.frame.parameters:
            self.unknown(state, at, instruction, guard)
            return
        for register, place in elements(instruction):
            offset = start + place * type.bytes
            value = x.leaf("param", type.bits, f"{name}+{offset}" if offset else name)
            self.write(state, register, value, guard, type.is_signed)

    def parameter_place(self, address: int) -> tuple[str, int]:
        """Find the kernel parameter at an address, and how many bytes lie between them; an empty name for no one."""
        x = self.x
        constant, terms = x.terms(address)
        for m, factor in terms.items():
            atom = x.monomials[m][0]
            if len(terms) == 1 and len(x.monomials[m]) == 1 and factor == 1 and x.names[atom] == "symbol":
                return x.payloads[atom], signed(constant, x.widths[address])
        return "", 0


def version_of(x: Expressions, load: int) -> int:
    """Which version of the memory a load is from (``Executor.loaded``)."""
    return int(x.payloads[load].rpartition(" ")[2])


def told_at(x: Expressions, leaf: int) -> int:
    """The place of the instruction that has told it."""
    return int(x.payloads[leaf].partition(".")[0])


def elements(instruction: Instruction) -> list[tuple[Register, int]]:
    """The registers that a load writes, each with its place in the vector."""
    target = instruction.operands[0]
    if isinstance(target, Register):
        return [(target, 0)]
    if isinstance(target, Vector):
        return [(e, k) for k, e in enumerate(target.elements) if isinstance(e, Register)]
    return []
