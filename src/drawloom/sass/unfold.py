"""Module to Module: atomic operations that no machine has in one instruction become loops of compare-and-swap, and
`brx.idx` becomes a tree of branches; on sm_61 a call through a pointer becomes one of the functions that it may be.

Shared memory has no atomic addition of floats and, on 64 bits, nothing but exchange and compare-and-swap; no memory
has operations on 16 bits. Where a generic address may be of shared memory, both ways are there (as ptxas makes it).
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import (
    Address,
    BranchTargets,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Module,
    Operand,
    Register,
    Statement,
    Symbol,
)
from drawloom.ptx.isa import ATOMIC, BRANCH, CALL, Opcode, decode
from drawloom.ptx.template import copy_function
from drawloom.ptx.types import TYPES, Type

#: Operations that ATOMS lacks on 64 bits.
_WIDE: Final = frozenset("add min max and or xor".split())
_ATOMICS: Final = ("atom", "red")


def unfold(module: Module, number: int = 90, ids: dict[str, int] | None = None, relocatable: bool = False) -> Module:
    """``module`` without what sm_``number`` lacks; functions without any are shared with the result. ``ids`` are the
    addresses of functions; in a relocatable file they are the linker's."""
    changed: dict[str, Function] = {}
    for function in module.functions.values():
        if function.has_body and has_folded(function, number):
            changed[function.name] = _Rewriter(function, number, ids or {}, relocatable).run()
    return module.with_functions(changed) if changed else module


def has_folded(function: Function, number: int) -> bool:
    for statement in function.body:
        if isinstance(statement, Instruction):
            effect = statement.opcode.effect
            if effect in (ATOMIC, BRANCH, CALL) and is_folded(statement.opcode, number):
                return True
    return False


def is_folded(opcode: Opcode, number: int) -> bool:
    """Whether instructions of this opcode have to be taken apart, or looked at: on sm_61 no atomic finds shared memory
    by itself, and calls go to functions by name."""
    if opcode.name == "brx.idx" or (opcode.name == "call" and number == 61):
        return True
    if opcode.name not in _ATOMICS or opcode.vector > 1:
        return False
    if opcode.types[0].bits == 16 or (number == 61 and opcode.space == ""):
        return True
    return opcode.space in ("shared", "") and lacks(opcode)


def lacks(opcode: Opcode) -> bool:
    """Whether shared memory has no such operation."""
    type = opcode.types[0]
    return type.is_float or (type.bits == 64 and opcode.operation in _WIDE)


class _Rewriter:
    """One function: a copy with a new body."""

    def __init__(self, original: Function, number: int, ids: dict[str, int], relocatable: bool) -> None:
        self.original = original
        self.number = number
        self.ids = ids
        self.relocatable = relocatable
        self.function = copy_function(original)
        self.body: list[Statement] = []
        self.function.body = self.body
        self.tables = {s.name: s.labels for s in original.body if isinstance(s, BranchTargets)}
        self.stem = "$u"
        while any(isinstance(s, Label) and s.name.startswith(self.stem) for s in original.body):
            self.stem += "u"
        self.labels = 0
        self.pos = -1

    def run(self) -> Function:
        for statement in self.original.body:
            if not isinstance(statement, Instruction) or not is_folded(statement.opcode, self.number):
                self.body.append(statement)
                continue
            self.pos = statement.pos
            skip = ""
            if statement.guard is not None:
                skip = self.new_label()
                self.branch(skip, statement.guard, not statement.guard_negated)
            if statement.opcode.name == "brx.idx":
                self.choose(statement)
            elif statement.opcode.name == "call":
                self.call(statement)
            else:
                self.atomic(statement)
            if skip:
                self.label(skip)
        return self.function

    # -- writing -----------------------------------------------------------------------------------------

    def do(self, text: str, *operands: Operand) -> None:
        self.body.append(Instruction(decode(text), list(operands), None, False, self.pos))

    def branch(self, label: str, guard: Register | None = None, negated: bool = False) -> None:
        self.body.append(Instruction(decode("bra"), [LabelRef(label)], guard, negated, self.pos))

    def label(self, name: str) -> None:
        self.body.append(Label(name, self.pos))

    def new_label(self) -> str:
        self.labels += 1
        return f"{self.stem}{self.labels}"

    def register(self, type: str) -> Register:
        return self.function.new_register(TYPES[type])

    # -- indirect branches -------------------------------------------------------------------------------

    def choose(self, instruction: Instruction) -> None:
        """``brx.idx``: halve the table until all that is left goes to one place."""
        index, reference = instruction.operands
        assert isinstance(reference, LabelRef)
        table = self.tables[reference.name]
        edges = [n for n in range(1, len(table)) if table[n] != table[n - 1]]
        self.halve(index, table, edges)

    def halve(self, index: Operand, table: list[str], edges: list[int]) -> None:
        if not edges:
            self.branch(table[-1])
            return
        middle = len(edges) // 2
        edge = edges[middle]
        below = self.register("pred")
        lower = self.new_label()
        self.do("setp.lt.u32", below, index, Immediate(edge))
        self.branch(lower, below)
        self.halve(index, table, edges[middle + 1 :])
        self.label(lower)
        self.halve(index, table[:edge], edges[:middle])

    # -- calls -------------------------------------------------------------------------------------------

    def call(self, instruction: Instruction) -> None:
        """A call through a pointer: to the function whose address it is, a trap where it is none's."""
        results, pointer, arguments = instruction.operands[:3]
        if not isinstance(pointer, Register) or self.relocatable:
            self.body.append(Instruction(instruction.opcode, instruction.operands, None, False, self.pos))
            return
        end = self.new_label()
        for name, number in self.ids.items():
            same, other = self.register("pred"), self.new_label()
            self.do(f"setp.eq.b{pointer.type.bits}", same, pointer, Immediate(number))
            self.branch(other, same, True)
            self.body.append(Instruction(instruction.opcode, [results, Symbol(name), arguments], None, False, self.pos))
            self.branch(end)
            self.label(other)
        self.do("trap")
        self.label(end)

    # -- atomics -----------------------------------------------------------------------------------------

    def atomic(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        operands = instruction.operands
        target = operands[0] if opcode.name == "atom" else None
        address, *values = operands[1:] if target is not None else operands
        assert isinstance(address, Address)
        if opcode.types[0].bits == 16:
            old = self.narrow_loop(opcode, address, values)
        elif opcode.space == "shared":
            old = self.loop(opcode, "shared", address, values[0])
        else:
            self.either(opcode, target, address, values)
            return
        if isinstance(target, Register):
            self.do(f"mov.b{opcode.types[0].bits}", target, old)

    def either(self, opcode: Opcode, target: Operand | None, address: Address, values: list[Operand]) -> None:
        """A generic address: of shared memory the loop (or the instruction), of global memory the instruction."""
        type = opcode.types[0]
        place = self.address(address, "u64")
        inside, near = self.register("pred"), self.register("u64")
        shared, end = self.new_label(), self.new_label()
        self.do("isspacep.shared", inside, place)
        self.branch(shared, inside)
        targets = [] if target is None else [target]
        self.do(opcode.text.replace(f"{opcode.name}.", f"{opcode.name}.global.", 1), *targets, Address(place), *values)
        self.branch(end)
        self.label(shared)
        self.do("cvta.to.shared.u64", near, place)
        if lacks(opcode):
            old = self.loop(opcode, "shared", Address(near), values[0])
            if isinstance(target, Register):
                self.do(f"mov.b{type.bits}", target, old)
        else:
            self.do(
                opcode.text.replace(f"{opcode.name}.", f"{opcode.name}.shared.", 1), *targets, Address(near), *values
            )
        self.label(end)

    def loop(self, opcode: Opcode, space: str, address: Address, value: Operand) -> Register:
        """Compute from what is there, and try again if it is no longer what is there; returns what was there."""
        type = opcode.types[0]
        bits = f"b{type.bits}"
        old, new, found = self.register(bits), self.register(bits), self.register(bits)
        changed = self.register("pred")
        again = self.new_label()
        self.do(f"ld.volatile.{space}.{bits}", old, address)
        self.label(again)
        self.do(operation(opcode), new, old, value)
        self.do(f"atom.{order(opcode)}{space}.cas.{bits}", found, address, old, new)
        self.do(f"setp.ne.{bits}", changed, found, old)
        self.do(f"mov.{bits}", old, found)
        self.branch(again, changed)
        return old

    def narrow_loop(self, opcode: Opcode, address: Address, values: list[Operand]) -> Register:
        """16 bits: the same with the word that they stand in."""
        short = opcode.space == "shared"
        wide, space = ("u32" if short else "u64"), (opcode.space + "." if opcode.space else "")
        place = self.address(address, wide)
        base, low = self.register(wide), self.register("u32")
        shift, mask, word, part, new, merged, found = [self.register("b32") for _ in range(7)]
        before, after, changed = self.register("b16"), self.register("b16"), self.register("pred")
        again, end = self.new_label(), self.new_label()
        self.do(f"cvt.u32.{wide}", low, place)
        self.do("and.b32", low, low, Immediate(2))
        self.do("shl.b32", shift, low, Immediate(3))
        self.do("shl.b32", mask, Immediate(0xFFFF), shift)
        self.do("not.b32", mask, mask)
        self.do(f"and.b{wide[1:]}", base, place, Immediate(-4))
        self.do(f"ld.volatile.{space}b32", word, Address(base))
        self.label(again)
        self.do("shr.u32", part, word, shift)
        self.do("cvt.u16.u32", before, part)
        if opcode.operation == "cas":
            other = self.register("pred")
            self.do("setp.ne.b16", other, before, values[0])
            self.branch(end, other)
            self.do("mov.b16", after, values[1])
        else:
            self.do(operation(opcode), after, before, values[0])
        self.do("cvt.u32.u16", new, after)
        self.do("shl.b32", new, new, shift)
        self.do("and.b32", merged, word, mask)
        self.do("or.b32", merged, merged, new)
        self.do(f"atom.{order(opcode)}{space}cas.b32", found, Address(base), word, merged)
        self.do("setp.ne.b32", changed, found, word)
        self.do("mov.b32", word, found)
        self.branch(again, changed)
        self.label(end)
        return before

    def address(self, address: Address, type: str) -> Register:
        """An address in a register of its space's width."""
        base, offset = address.base, address.offset
        out = self.register(type)
        if base is None:
            self.do(f"mov.{type}", out, Immediate(offset))
        elif isinstance(base, Symbol):
            self.do(f"mov.{type}", out, Symbol(base.name, base.offset + offset))
        elif base.type.bits != out.type.bits:
            cut = self.register(type)
            self.do(f"cvt.{type}.u{base.type.bits}", cut, base)
            self.do(f"add.{type}", out, cut, Immediate(offset))
        else:
            self.do(f"add.{type}", out, base, Immediate(offset))
        return out


def operation(opcode: Opcode) -> str:
    """The arithmetic of an atomic operation: additions of floats round to nearest and keep subnormal numbers."""
    type: Type = opcode.types[0]
    rounding = ".rn" if type.is_float else ""
    return f"{opcode.operation}{rounding}.{type.name}"


def order(opcode: Opcode) -> str:
    """The words of an opcode that say who sees it when."""
    return "".join(m + "." for m in (opcode.order, opcode.scope) if m)
