"""A function on its way through the passes: its SSA form, what passes found out about it, and what they say.

    Work ::= SsaFunction, dominator tree (made when asked for), Remark*

A pass changes ``Work.ssa`` in place. Values are replaced through a ``Replacements`` table: a pass notes "this value
is that operand" as it walks, rewrites every instruction that it comes to, and at the end what stands on edges.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.cfg import reverse_postorder
from drawloom.ptx.dominators import DominatorTree
from drawloom.ptx.ir import (
    FLOAT32,
    FLOAT64,
    Address,
    Arguments,
    Immediate,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Statement,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import LOAD, PURE, Opcode, decode
from drawloom.ptx.operands import judge, signature
from drawloom.ptx.specials import find_special
from drawloom.ptx.ssa import SsaBlock, SsaFunction
from drawloom.ptx.types import PRED, Type

#: What an instruction may be known not to leave: the signed numbers of its width, or the unsigned ones.
KEEPS_SIGNED: Final = 1
KEEPS_UNSIGNED: Final = 2


class Remark:
    """What a pass did at one place: ``line`` is that of the source, 0 where there is none."""

    def __init__(self, pass_name: str, function: str, line: int, text: str) -> None:
        self.pass_name = pass_name
        self.function = function
        self.line = line
        self.text = text

    def __repr__(self) -> str:
        place = f"{self.function}:{self.line}" if self.line else self.function
        return f"{place}: {self.pass_name}: {self.text}"


#: What a caller may promise of kernels, by name; nothing of it can be read off PTX.
PROMISES: Final[dict[str, str]] = {
    "global-parameters": "64-bit parameters that are used as generic addresses point to global memory",
    "distinct-parameters": "what is written through a pointer parameter is read and written in no other way",
}
NOTHING: Final[frozenset[str]] = frozenset()


class Work:
    """One function. ``changes`` counts what the current pass did; ``address_bits`` is 64 or 32."""

    def __init__(
        self, module: Module, ssa: SsaFunction, remarks: list[Remark] | None = None, promises: frozenset[str] = NOTHING
    ) -> None:
        self.module = module
        self.promises = promises
        self.ssa = ssa
        self.remarks = remarks
        self.address_bits = module.address_size
        self.pass_name = ""
        self.changes = 0
        source = ssa.source
        #: What is known of a device function's 64-bit parameters, by name: for ``spaces``.
        self.arguments: dict[str, str] = {}
        self.kernel_parameters = frozenset([v.name for v in source.params] if source.is_entry else [])
        #: Predicates that are the same in every thread and time, by value: there is no literal for them.
        self.known_predicates: dict[int, int] = {}
        #: What ``narrow`` found out: which instructions cannot wrap, by the value that they compute, with the readings
        #: (another for the same value may wrap), and values of 32 bits that are never negative.
        self.kept: dict[int, tuple[Instruction, int]] = {}
        self.never_negative: set[int] = set()
        #: The ``Memory`` that ``memory_of`` made, for passes that leave addresses as they are.
        self.memory: object | None = None
        self._tree: DominatorTree | None = None
        self._preorder: list[SsaBlock] = []
        self._names: set[str] | None = None

    def changed(self, statement: Statement | None, text: str) -> None:
        """Count a change and, where anyone listens, say what it was; ``statement`` is what it was made to."""
        self.changes += 1
        if self.remarks is not None:
            line = 0 if statement is None else self.module.line(statement)
            what = f"'{statement!r}': " if isinstance(statement, Instruction) else ""
            self.remarks.append(Remark(self.pass_name, self.ssa.source.name, line, what + text))

    @property
    def tree(self) -> DominatorTree:
        """The dominator tree of the blocks."""
        if self._tree is None:
            self._tree = DominatorTree(
                0, reverse_postorder([b.succs for b in self.ssa.blocks]), [b.preds for b in self.ssa.blocks]
            )
        return self._tree

    def keeps(self, register: Register, instruction: Instruction, reading: int) -> bool:
        """Whether an instruction that computes a register is known not to wrap in a reading."""
        found = self.kept.get(register.id)
        return found is not None and found[0] is instruction and found[1] & reading != 0

    def is_decided(self, instruction: Instruction) -> bool:
        """Whether an instruction computes a predicate that is known: nobody needs it any more where it stands."""
        return any(destination.id in self.known_predicates for destination in instruction.destinations())

    def moved(self, instruction: Instruction) -> None:
        """To be called when an instruction goes to a block that does not follow the one that it was in: what was
        proved of its results may rest on a branch between the two."""
        for destination in instruction.destinations():
            self.kept.pop(destination.id, None)
            self.never_negative.discard(destination.id)
            self.known_predicates.pop(destination.id, None)

    def forget_flow(self) -> None:
        """To be called when edges between blocks have changed."""
        self._tree = None
        self._preorder = []

    def preorder(self) -> list[SsaBlock]:
        """The blocks in depth-first preorder of the dominator tree: what dominates comes first, and a block that
        does not dominate the one at hand dominates none that follows. The list is not the caller's own."""
        if not self._preorder:
            children = self.tree.children
            out: list[SsaBlock] = []
            stack = [0]
            while stack:
                block_id = stack.pop()
                out.append(self.ssa.blocks[block_id])
                stack.extend(reversed(children[block_id]))
            self._preorder = out
        return self._preorder

    def maybe_undefined(self) -> set[int]:
        """The values that may be of a register that nobody wrote: these are not read where they were not before."""
        found = set(self.ssa.undefined)
        size = -1
        while found and size != len(found):
            size = len(found)
            for block in self.ssa.blocks:
                for phi in block.phis:
                    if any(a.id in found for a in phi.arguments):
                        found.add(phi.destination.id)
            for destination, old in self.ssa.kept.items():
                if old.id in found:
                    found.add(destination)
        return found

    def number_blocks(self, blocks: list[SsaBlock]) -> None:
        """Make these the blocks of the function, in this order; all their edges are among them."""
        place = {block.id: index for index, block in enumerate(blocks)}
        for block in blocks:
            block.id = place[block.id]
            block.succs = [place[s] for s in block.succs]
            block.preds = [place[p] for p in block.preds]
        self.ssa.blocks = blocks
        self.forget_flow()

    def new_label(self) -> Label:
        """A label with a name that nothing in the function has."""
        if self._names is None:
            self._names = {label.name for block in self.ssa.blocks for label in block.labels}
            self._names.update([r.name for r in self.ssa.source.registers])
            self._names.update([v.name for v in self.ssa.source.variables + self.ssa.source.params])
        number = len(self._names)
        while f"$opt_{number}" in self._names:
            number += 1
        self._names.add(f"$opt_{number}")
        return Label(f"$opt_{number}")

    def insert_behind(self, made: dict[int, list[Instruction]]) -> None:
        """Put instructions behind others, which are named by their ``id()``."""
        if not made:
            return
        for block in self.ssa.blocks:
            out: list[Statement] = []
            for statement in block.statements:
                out.append(statement)
                out.extend(made.get(id(statement), []))
            block.statements = out


class Replacements:
    """Values to what stands for them: another value, or a constant (the pattern of its bits) for those that have one.

    Entries are final when they are made: what they name is not replaced itself.
    """

    def __init__(self, ssa: SsaFunction) -> None:
        self.values: dict[int, Register] = {}
        self.constants: dict[int, int] = {}
        self.ssa = ssa

    def value(self, register: Register) -> Register:
        """What stands for a register, itself as a rule."""
        return self.values.get(register.id, register)

    def replace(self, old: Register, new: Register) -> None:
        """Let ``new`` stand for ``old``; ``can_replace`` must hold."""
        new = self.values.get(new.id, new)
        self.values[old.id] = new
        if new.id in self.constants:
            self.constants[old.id] = self.constants[new.id]

    def rewrite(self, instruction: Instruction) -> None:
        """Put what stands for them in the places of the registers that an instruction reads."""
        values = self.values
        if not values:
            return
        operands = instruction.operands
        start = 0
        if instruction.opcode.has_destination and operands:
            start = 1
            if isinstance(operands[0], Address):
                start = 0
        for index in range(start, len(operands)):
            operand = operands[index]
            if isinstance(operand, Register):
                if operand.id in values:
                    operands[index] = values[operand.id]
            elif not isinstance(operand, Immediate):
                operands[index] = substituted(operand, values)
        guard = instruction.guard
        if guard is not None and guard.id in values:
            instruction.guard = values[guard.id]

    def finish(self) -> None:
        """Rewrite phis, kept values and results, once all entries are there."""
        values = self.values
        if not values:
            return
        for block in self.ssa.blocks:
            for phi in block.phis:
                phi.arguments = [values.get(a.id, a) for a in phi.arguments]
            if block.results:
                block.results = [values.get(r.id, r) for r in block.results]
        kept = self.ssa.kept
        for destination in kept:
            old = kept[destination]
            kept[destination] = values.get(old.id, old)


def substituted(operand: Operand, values: dict[int, Register]) -> Operand:
    """``operand`` with ``values[r.id]`` for the registers that have an entry; itself where nothing changes."""
    if isinstance(operand, Register):
        return values.get(operand.id, operand)
    if isinstance(operand, Address):
        base = operand.base
        if isinstance(base, Register) and base.id in values:
            return Address(values[base.id], operand.offset)
    elif isinstance(operand, Not):
        if operand.register.id in values:
            return Not(values[operand.register.id])
    elif isinstance(operand, Vector):
        return Vector([substituted(e, values) for e in operand.elements])
    elif isinstance(operand, Arguments):
        return Arguments([substituted(e, values) for e in operand.elements])
    elif isinstance(operand, Pair):
        return Pair(substituted(operand.first, values), substituted(operand.second, values))
    return operand


def can_replace(old: Register, new: Register) -> bool:
    """Whether every place that takes a register of ``old``'s type takes ``new``: a ``.b`` register goes anywhere,
    ``.u`` and ``.s`` stand for each other, floats for themselves only."""
    a, b = old.type, new.type
    if a is b:
        return True
    return a.bits == b.bits and a.kind != "p" and b.lanes == 1 and (b.kind == "b" or (a.is_integer and b.is_integer))


def is_pure(instruction: Instruction) -> bool:
    """Whether an instruction only computes its destinations from its operands, the same every time."""
    opcode = instruction.opcode
    if opcode.effect != PURE or opcode.writes_carry or opcode.reads_carry:
        return False
    if opcode.name == "mov":
        source = instruction.operands[-1]
        if isinstance(source, SpecialRegister):
            special = find_special(source.name)
            return special is not None and not special.volatile
    return True


def move_of(type: Type) -> Opcode:
    """The ``mov`` between registers of a type."""
    return decode("mov.pred" if type is PRED else f"mov.b{type.bits}")


def is_plain_load(instruction: Instruction) -> bool:
    """Whether an instruction is a load that nobody misses when its value is not used."""
    opcode = instruction.opcode
    return opcode.effect == LOAD and opcode.weak and not opcode.has("mmio")


def reads_what_never_changes(work: Work, instruction: Instruction) -> bool:
    """Whether a load gives the same for the same address all through the kernel: from constant memory, by ``.nc``,
    and of a kernel's parameters."""
    opcode = instruction.opcode
    if not is_plain_load(instruction):
        return False
    if opcode.space == "const" or opcode.nc:
        return True
    address = instruction.operands[1]
    if opcode.space != "param" or not isinstance(address, Address) or not isinstance(address.base, Symbol):
        return False
    return address.base.name in work.kernel_parameters


def signed(value: int, bits: int) -> int:
    """The two's complement reading of a pattern."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def with_literal(instruction: Instruction, index: int, pattern: int, bits: int) -> Immediate | None:
    """The literal of a ``bits`` wide pattern that may stand as operand ``index`` of an instruction, or None."""
    opcode = instruction.opcode
    if opcode.bounds or opcode.selectors:
        return None
    signatures = [o.signature or signature(o, _NO_SPACES) for o in instruction.operands]
    for literal, kind in _LITERALS:
        if (kind == FLOAT32 and bits != 32) or (kind == FLOAT64 and bits != 64):
            continue
        signatures[index] = literal
        if judge(opcode, tuple(signatures)).forms:
            return Immediate(pattern, kind) if kind else Immediate(signed(pattern, bits))
    return None


_LITERALS: Final = (("#i", 0), ("#s", FLOAT32), ("#d", FLOAT64))
_NO_SPACES: Final[dict[str, str]] = {}
