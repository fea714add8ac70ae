"""Generic loads, stores and atomics into those of the space that their address provably is in (Wu and others, "gpucc",
CGO 2016, section 3.2, algorithm 1).

    mov.u64 %rd1, tile;             mov.u64 %rd1, tile;
    cvta.shared.u64 %rd2, %rd1;     (dead)
    add.u64 %rd3, %rd2, %rd9;       add.u64 %rd4, %rd1, %rd9;
    ld.f32 %f1, [%rd3+4];           ld.shared.f32 %f1, [%rd4+4];

What an address is derived from is known from ``cvta``, and the addresses of global variables are global. Every value
starts out as anything, and falls as it must, so that a pointer that a loop advances keeps the space it came in with. A
pointer plus a number stays where it is. As a generic address of shared, local or constant memory is that of the space
plus a constant, what is computed from it is computed beside it in the space; a global one is the same.

A 64-bit kernel parameter may be an address in global or in constant memory, or a number: shared and local memory end
with the grid that has them, and the window of parameters lies in global memory (PTX ISA, 6.4.1.1). So stores and
atomics by it are global, as nobody writes constant memory; loads stay generic, unless ``.ptr .global`` stands at the
parameter or the caller promises "global-parameters", which is what the paper assumes.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from drawloom.opt.work import Work
from drawloom.ptx.ir import Address, Arguments, Immediate, Instruction, Operand, Register, Symbol, Variable
from drawloom.ptx.isa import ATOMIC, CALL, LOAD, STORE, Opcode, OpcodeError, decode
from drawloom.ptx.ssa import Phi

#: What a value can be: anything so far; a number; a number that an address of any space, or its upper half, may have
#: gone into; a number, or an address in global or constant memory; a generic address of a space; or nobody knows.
_OPEN: Final = ""
_NUMBER: Final = "number"
_MIXED: Final = "mixed"
_ARGUMENT: Final = "argument"
_UNKNOWN: Final = "unknown"
_SPACES: Final = ("global", "shared", "local", "const")
_ADDRESS_BITS: Final = 64


def infer_spaces(work: Work) -> None:
    """Give generic accesses their space. Modules with 32-bit addresses are left alone."""
    if work.address_bits != _ADDRESS_BITS:
        return
    accesses = [
        statement
        for block in work.ssa.blocks
        for statement in block.statements
        if isinstance(statement, Instruction) and _generic_address(statement) is not None
    ]
    if not accesses:
        return
    inference = _Inference(work)
    inference.run()
    twins = _Twins(work, inference)
    for access in accesses:
        address = _generic_address(access)
        assert address is not None and isinstance(address.base, Register)
        space = inference.state[address.base.id]
        if space == _ARGUMENT and access.opcode.effect != LOAD:
            space = "global"
        opcode = _in_space(access.opcode, space)
        if opcode is None:
            continue
        old = access.opcode.text
        base = address.base if space == "global" else twins.twin(address.base)
        place = access.operands.index(address)
        access.operands[place] = Address(base, address.offset)
        access.opcode = opcode
        work.changed(access, f"was {old}")
    work.insert_behind(twins.behind)


def is_generic(instruction: Instruction) -> bool:
    """Whether an instruction is an access that may get a space."""
    return _generic_address(instruction) is not None


def _generic_address(instruction: Instruction) -> Address | None:
    """The address of an access without a space, if it stands in a register."""
    opcode = instruction.opcode
    if opcode.effect not in (LOAD, STORE, ATOMIC) or opcode.space or opcode.name in ("ldu", "mbarrier"):
        return None
    for operand in instruction.operands[:2]:
        if isinstance(operand, Address):
            return operand if isinstance(operand.base, Register) else None
    return None


#: Modifiers that stand before the space.
_BEFORE_SPACE: Final = frozenset("weak volatile relaxed acquire release acq_rel mmio cta cluster gpu sys".split())
_in_spaces: dict[tuple[str, str], Opcode | None] = {}


def _in_space(opcode: Opcode, space: str) -> Opcode | None:
    """The opcode with a space; None where PTX has no such form."""
    if space not in _SPACES:
        return None
    key = (opcode.text, space)
    if key not in _in_spaces:
        words = opcode.text.split(".")
        place = 1
        while place < len(words) and words[place] in _BEFORE_SPACE:
            place += 1
        try:
            _in_spaces[key] = decode(".".join([*words[:place], space, *words[place:]]))
        except OpcodeError:
            _in_spaces[key] = None
    return _in_spaces[key]


class _Inference:
    """``state[v]`` is what value ``v`` is, once ``run`` has ended."""

    def __init__(self, work: Work) -> None:
        self.work = work
        ssa = work.ssa
        self.state = [_OPEN] * len(ssa.registers)
        self.maker: dict[int, Instruction | Phi] = {}
        self.users: list[list[Instruction | Phi]] = [[] for _ in ssa.registers]
        self.todo: list[Instruction | Phi] = []
        for register in ssa.registers:
            if register.type.bits != _ADDRESS_BITS or register.type.is_float:
                self.state[register.id] = _NUMBER
        for value in [*ssa.parameters, *[ssa.registers[v] for v in sorted(ssa.undefined)]]:
            if value is not None:
                self.state[value.id] = _UNKNOWN
        for block in ssa.blocks:
            for phi in block.phis:
                self.add(phi, [phi.destination], phi.arguments)
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    destinations = statement.destinations()
                    kept = [ssa.kept[d.id] for d in destinations if d.id in ssa.kept]
                    self.add(statement, destinations, statement.sources() + kept)
        self.todo.reverse()

    def add(self, maker: Instruction | Phi, destinations: list[Register], sources: list[Register]) -> None:
        if all(self.state[d.id] for d in destinations):
            return
        for destination in destinations:
            self.maker[destination.id] = maker
        for source in sources:
            self.users[source.id].append(maker)
        self.todo.append(maker)

    def run(self) -> None:
        """Let values fall until none has to."""
        while self.todo:
            maker = self.todo.pop()
            destinations = [maker.destination] if isinstance(maker, Phi) else maker.destinations()
            for destination in destinations:
                state = self.state[destination.id]
                found = _meet([state, self.found(maker, destination)])
                if found != state:
                    self.state[destination.id] = found
                    self.todo.extend(self.users[destination.id])

    def found(self, maker: Instruction | Phi, destination: Register) -> str:
        if isinstance(maker, Phi):
            return _meet([self.state[a.id] for a in maker.arguments])
        if len(maker.destinations()) > 1:
            return _UNKNOWN
        found = self.computed(maker)
        kept = self.work.ssa.kept.get(destination.id)
        return found if kept is None else _meet([found, self.state[kept.id]])

    def computed(self, instruction: Instruction) -> str:
        """What an instruction computes from what its sources are."""
        name = instruction.opcode.name
        operands = instruction.operands
        if name in ("add", "or"):
            found = _sum(self.of(operands[1]), self.of(operands[2]))
            return found if name == "add" or found not in _MOVED else _UNKNOWN
        if name == "sub":
            return _difference(self.of(operands[1]), self.of(operands[2]))
        if name == "mad":
            return _sum(self.scaled(operands[1:3]), self.of(operands[3]))
        if name == "mov":
            return self.of(operands[1])
        if name == "selp":
            return _meet([self.of(operands[1]), self.of(operands[2])])
        if name == "cvta" and not instruction.opcode.has("to"):
            space = instruction.opcode.space
            return space if space in _SPACES else _UNKNOWN
        if name == "ld":
            return self.loaded(instruction)
        if name == "and":
            mask = operands[2]
            return _NUMBER if isinstance(mask, Immediate) and 0 <= mask.value < 1 << 32 else _UNKNOWN
        if name == "cvt" and instruction.opcode.types[1].bits == _ADDRESS_BITS:
            return self.of(operands[1])
        if name == "shl" and _is_half(operands[2]):
            return _MIXED
        return self.scaled(operands[1:]) if name in _SCALING else _UNKNOWN

    def scaled(self, operands: list[Operand]) -> str:
        """What is left of values that were multiplied or shifted: no address, but perhaps one in disguise, which only
        counts where it is one of shared or local memory."""
        states = [self.of(operand) for operand in operands]
        if _OPEN in states:
            return _OPEN
        return _NUMBER if all(state in _HARMLESS for state in states) else _MIXED

    def of(self, operand: Operand) -> str:
        if isinstance(operand, Register):
            return self.state[operand.id]
        if isinstance(operand, Immediate):
            return _NUMBER
        if isinstance(operand, Symbol):
            variable = self.variable(operand.name)
            return "global" if variable is not None and variable.space == "global" else _UNKNOWN
        return _UNKNOWN

    def variable(self, name: str) -> Variable | None:
        for variable in self.work.ssa.source.variables:
            if variable.name == name:
                return variable
        return self.work.module.variables.get(name)

    def loaded(self, load: Instruction) -> str:
        """A parameter: of a kernel, or of a device function of which it is known what all callers give it."""
        address = load.operands[1]
        if load.opcode.space != "param" or not isinstance(address, Address) or not isinstance(address.base, Symbol):
            return _UNKNOWN
        if load.opcode.type is None or load.opcode.type.bits != _ADDRESS_BITS or load.opcode.type.is_float:
            return _UNKNOWN
        if not self.work.ssa.source.is_entry:
            given = self.work.arguments.get(address.base.name, _UNKNOWN)
            return _UNKNOWN if address.offset else given
        for variable in self.work.ssa.source.params:
            if variable.name == address.base.name:
                if variable.pointer_space == "global":
                    return "global"
                promised = "global-parameters" in self.work.promises
                return _UNKNOWN if variable.pointer_space else "global" if promised else _ARGUMENT
        return _UNKNOWN


def _is_half(amount: Operand) -> bool:
    """Whether what was shifted left by so much may be the upper half of an address, of whatever space."""
    return not isinstance(amount, Immediate) or amount.value >= _ADDRESS_BITS // 2


#: Instructions with a 64-bit result that is no address, as none is multiplied, shifted or widened.
_SCALING: Final = frozenset("mul shl shr cvt popc clz bfind div rem neg not".split())
#: What may be scaled without leaving an address of shared or local memory in disguise.
_HARMLESS: Final = frozenset([_NUMBER, _ARGUMENT, "global", "const"])
#: Spaces in which an address is another one than the generic address.
_MOVED: Final = ("shared", "local", "const")
#: What a value is that may be the one or the other; what is not here is unknown.
_EITHER: Final[dict[tuple[str, str], str]] = {
    (_NUMBER, _MIXED): _MIXED, (_NUMBER, _ARGUMENT): _ARGUMENT, (_NUMBER, "global"): _ARGUMENT,
    ("global", _ARGUMENT): _ARGUMENT,
}  # fmt: skip
#: What a sum is, beside those with a number; the rest is unknown.
_SUMS: Final[dict[tuple[str, str], str]] = {
    **{(_MIXED, space): space for space in _SPACES},
    (_MIXED, _MIXED): _MIXED, (_ARGUMENT, _ARGUMENT): _ARGUMENT, (_ARGUMENT, "global"): _ARGUMENT,
    ("global", "global"): _ARGUMENT,
}  # fmt: skip
_DIFFERENCES: Final[dict[tuple[str, str], str]] = {
    **{(space, _MIXED): space for space in _SPACES}, **{(space, space): _NUMBER for space in _SPACES},
    (_MIXED, _MIXED): _MIXED, (_ARGUMENT, _ARGUMENT): _ARGUMENT, (_ARGUMENT, "global"): _ARGUMENT,
    ("global", _ARGUMENT): _ARGUMENT,
}  # fmt: skip


def _meet(states: list[str]) -> str:
    found = _OPEN
    for state in states:
        if found in (_OPEN, state):
            found = state
        elif state != _OPEN:
            found = _EITHER.get((found, state)) or _EITHER.get((state, found), _UNKNOWN)
    return found


def _sum(a: str, b: str) -> str:
    if _OPEN in (a, b):
        return _OPEN
    if a == _NUMBER:
        return b
    return a if b == _NUMBER else _SUMS.get((a, b)) or _SUMS.get((b, a), _UNKNOWN)


def _difference(a: str, b: str) -> str:
    if _OPEN in (a, b):
        return _OPEN
    return a if b == _NUMBER else _DIFFERENCES.get((a, b), _UNKNOWN)


def joined_spaces(a: str, b: str) -> str:
    """What a value is that may be the one or the other."""
    return _meet([a, b])


def argument_spaces(work: Work, callees: Container[str]) -> list[tuple[str, list[str]]]:
    """What a function gives to some that it calls: for each call the name, and what its arguments are."""
    inference = _Inference(work)
    inference.run()
    out: list[tuple[str, list[str]]] = []
    for block in work.ssa.blocks:
        stored: dict[str, Operand] = {}
        for statement in block.statements:
            if not isinstance(statement, Instruction):
                continue
            if statement.opcode.effect == STORE and statement.opcode.space == "param":
                _store_argument(statement, stored)
            elif statement.opcode.effect == CALL:
                name = next((o.name for o in statement.operands if isinstance(o, Symbol)), "")
                given = statement.operands[-1]
                if name in callees and isinstance(given, Arguments):
                    values = [stored.get(o.name, o) if isinstance(o, Symbol) else o for o in given.elements]
                    out.append((name, [inference.of(value) or _UNKNOWN for value in values]))
                stored = {}
    return out


def _store_argument(store: Instruction, stored: dict[str, Operand]) -> None:
    """Note what a ``.param`` variable holds: a symbol, of which nothing is known, where that is not one value."""
    address, value = store.operands
    if not isinstance(address, Address) or not isinstance(address.base, Symbol):
        return
    type = store.opcode.type
    whole = type is not None and type.bits == _ADDRESS_BITS and not address.offset and store.guard is None
    stored[address.base.name] = value if whole and address.base.name not in stored else address.base


class _Twins:
    """Addresses of a space beside the generic ones: ``twin`` makes what an address needs."""

    def __init__(self, work: Work, inference: _Inference) -> None:
        self.work = work
        self.inference = inference
        self.made: dict[int, Register] = {}
        self.behind: dict[int, list[Instruction]] = {}  # by id() of the generic instruction
        self.todo: list[Register] = []

    def twin(self, register: Register) -> Register:
        """The address in its space of a generic one."""
        out = self.reserve(register)
        while self.todo:
            self.compute(self.todo.pop())
        return out

    def reserve(self, register: Register) -> Register:
        known = self.made.get(register.id)
        if known is None:
            known = self.work.ssa.new_value(register.type, self.work.ssa.origin[register.id])
            self.made[register.id] = known
            self.todo.append(register)
        return known

    def compute(self, register: Register) -> None:
        """Make what computes the twin of a register, from the twins of what is an address in it."""
        out = self.made[register.id]
        maker = self.inference.maker[register.id]
        if isinstance(maker, Phi):
            twin = Phi(out, [self.reserve(a) for a in maker.arguments])
            for block in self.work.ssa.blocks:
                if maker in block.phis:
                    block.phis.append(twin)
            return
        operands: list[Operand]
        if maker.opcode.name == "cvta":
            opcode, operands = decode("mov.u64"), maker.operands[1:]
        elif maker.opcode.name == "ld":
            opcode, operands = decode(f"cvta.to.{self.inference.state[register.id]}.u64"), [register]
        else:
            # What is multiplied is a number, be it an address elsewhere.
            opcode = maker.opcode
            factors = 3 if opcode.name == "mad" else 1
            operands = [*maker.operands[1:factors], *[self.in_space(o) for o in maker.operands[factors:]]]
        made = Instruction(opcode, [out, *operands], maker.guard, maker.guard_negated, maker.pos)
        kept = self.work.ssa.kept.get(register.id)
        if kept is not None:
            self.work.ssa.kept[out.id] = self.reserve(kept)
        self.behind.setdefault(id(maker), []).append(made)

    def in_space(self, operand: Operand) -> Operand:
        if isinstance(operand, Register) and self.inference.state[operand.id] in _SPACES:
            return self.reserve(operand)
        return operand
