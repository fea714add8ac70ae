"""Values that were computed before are taken from there: value numbering over the dominator tree (Briggs, Cooper,
Simpson, "Value Numbering", 1997; the scoped table as in algorithm 2 of the paper).

    add.s32 %r3, %r1, %r2;          add.s32 %r3, %r1, %r2;
    @%p1 bra L;                     @%p1 bra L;
    add.u32 %r4, %r2, %r1;          (nothing)
    mul.lo.u32 %r5, %r4, 3;         mul.lo.u32 %r5, %r3, 3;

Instructions count as equal if they have the same opcode, up to the sign of types that makes no difference, and the same
operands, up to their order where integers commute. Loads of what never changes in a kernel are numbered too.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.work import Replacements, Work, can_replace, is_pure, reads_what_never_changes
from drawloom.ptx.ir import Immediate, Instruction, Operand, Register, Statement
from drawloom.ptx.isa import Opcode

Key = tuple[object, ...]


def number_values(work: Work) -> None:
    """One preorder walk. An entry of the table that does not dominate the place at hand dominates none that follows,
    so the next one may take its place."""
    tree = work.tree
    replacements = Replacements(work.ssa)
    table: dict[Key, tuple[int, Instruction]] = {}
    for block in work.preorder():
        left: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Instruction):
                replacements.rewrite(statement)
                if statement.guard is None and _is_numbered(work, statement):
                    key = _key(statement)
                    found = table.get(key)
                    if found is not None and tree.dominates(found[0], block.id):
                        if _take_over(statement, found[1], replacements):
                            work.changed(statement, f"was computed before, as '{found[1]!r}'")
                            continue
                    table[key] = (block.id, statement)
            left.append(statement)
        block.statements = left
    replacements.finish()


def _is_numbered(work: Work, instruction: Instruction) -> bool:
    """Whether an instruction gives the same for the same operands. Literals are not shared: loops that begin with the
    same one would copy it."""
    if instruction.opcode.name == "mov" and isinstance(instruction.operands[1], Immediate):
        return False
    return is_pure(instruction) or reads_what_never_changes(work, instruction)


def _take_over(instruction: Instruction, earlier: Instruction, replacements: Replacements) -> bool:
    """Let the results of ``earlier`` stand for those of ``instruction``, if their types allow that."""
    old, new = instruction.destinations(), earlier.destinations()
    for a, b in zip(old, new, strict=True):
        if not can_replace(a, b):
            return False
    for a, b in zip(old, new, strict=True):
        replacements.replace(a, b)
    return True


def _key(instruction: Instruction) -> Key:
    opcode = instruction.opcode
    operands = instruction.operands
    written = operands[0]
    name = _meaning(opcode)
    shape: object = written.type.bits if isinstance(written, Register) else written.signature
    parts = [_part(o) for o in operands[1:]]
    if len(parts) > 1 and opcode.name in _COMMUTING and _commutes(opcode) and _rank(parts[1]) < _rank(parts[0]):
        parts[0], parts[1] = parts[1], parts[0]
    return (name, shape, *parts)


def _part(operand: Operand) -> object:
    if isinstance(operand, Register):
        return operand.id
    if isinstance(operand, Immediate):
        return (operand.kind, operand.value)
    return operand.key()


def _rank(part: object) -> tuple[int, int, str]:
    """An order over parts of a key: registers by number, then the rest."""
    return (0, part, "") if isinstance(part, int) else (1, 0, str(part))


_COMMUTING: Final = frozenset("add mul mad and or xor min max".split())


def _commutes(opcode: Opcode) -> bool:
    """Floats are left in their order: which NaN comes out depends on it."""
    return opcode.type is not None and not opcode.type.is_float


#: Instructions on integers whose result does not depend on the sign of their type, with what they must not have.
_SIGNLESS: Final = frozenset("add sub shl and or xor not mov selp".split())
_meanings: dict[str, str] = {}


def _meaning(opcode: Opcode) -> str:
    """The spelling, the same for opcodes that do the same."""
    known = _meanings.get(opcode.spelling)
    if known is not None:
        return known
    meaning = opcode.spelling
    type = opcode.type
    if type is not None and type.lanes == 1 and not type.is_float and type.kind != "p" and not opcode.sat:
        low = opcode.name in ("mul", "mad") and opcode.half == "lo"
        if low or opcode.name in _SIGNLESS or (opcode.name == "setp" and opcode.compare in ("eq", "ne")):
            meaning = meaning.replace("." + type.name, f".b{type.bits}")
    _meanings[opcode.spelling] = meaning
    return meaning
