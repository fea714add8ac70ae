"""Loads of what a thread has just loaded or stored take the value from there (Wu and others, "gpucc", CGO 2016,
section 3.3: memory spaces tell what does not alias).

    st.shared.u32 [%rd1], %r1;      st.shared.u32 [%rd1], %r1;
    st.global.u32 [%rd2], %r2;      st.global.u32 [%rd2], %r2;      -- global is not shared
    ld.shared.u32 %r3, [%rd1];      (nothing)
    add.u32 %r4, %r3, 1;            add.u32 %r4, %r1, 1;

Only weak loads and stores of one value, inside a block. Barriers, fences, warp operations, atomics, calls and volatile
accesses end everything that was known: other threads may have written. A store ends what it may overlap: addresses of
different spaces do not, nor do different offsets of one register or variable; a generic one may be in any space.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.work import Replacements, Work, can_replace
from drawloom.ptx.ir import Address, Instruction, Register, Statement
from drawloom.ptx.isa import BRANCH, LOAD, PURE, STORE, Opcode

_SPACES: Final = ("", "global", "shared", "local")
#: Modifiers of accesses that are no more than what their type and space say, or tell the caches something.
_HARMLESS: Final = frozenset("weak global shared local ca cg wb cs wt".split())
#: Values that are remembered at a time.
_MOST_KNOWN: Final = 32
Base = tuple[object, ...]


class _Known:
    """``register`` holds what is at ``size`` bytes from ``offset`` on; ``load`` is the opcode that read it, or None."""

    def __init__(self, space: str, base: Base, address: Address, size: int, register: Register, load: str) -> None:
        self.space = space
        self.base = base
        self.offset = address.offset
        self.size = size
        self.register = register
        self.load = load


def reuse_loads(work: Work) -> None:
    """Walk over every block with what is known in it."""
    replacements = Replacements(work.ssa)
    for block in work.preorder():
        known: list[_Known] = []
        left: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Instruction):
                replacements.rewrite(statement)
                effect = statement.opcode.effect
                if effect == LOAD and _is_plain(statement.opcode):
                    if statement.guard is None and _taken(work, statement, known, replacements):
                        continue
                elif effect == STORE and _is_plain(statement.opcode):
                    known = _stored(statement, known)
                elif effect not in (PURE, BRANCH) and not _is_elsewhere(statement.opcode):
                    known = []
            left.append(statement)
        block.statements = left
    replacements.finish()


def _is_plain(opcode: Opcode) -> bool:
    """Whether an access is weak, in a space that is followed, and of one value."""
    if opcode.space not in _SPACES or opcode.order not in ("", "weak") or opcode.vector > 1 or opcode.type is None:
        return False
    return all(m in _HARMLESS for m in opcode.modifiers)


def _is_elsewhere(opcode: Opcode) -> bool:
    """Whether an access is to parameters, or only reads what nobody writes."""
    return opcode.space in ("param", "const") or opcode.nc


def _place(address: Address) -> Base:
    return () if address.base is None else address.base.key()


def _taken(work: Work, load: Instruction, known: list[_Known], replacements: Replacements) -> bool:
    """Whether a value that is known stands for that of a load; if none does, it is known from now on."""
    destination, address = load.operands[0], load.operands[1]
    type = load.opcode.type
    if not isinstance(destination, Register) or not isinstance(address, Address) or type is None:
        return False
    base = _place(address)
    for entry in reversed(known):
        if entry.base != base or entry.offset != address.offset or entry.size != type.bytes:
            continue
        if entry.space != load.opcode.space or not can_replace(destination, entry.register):
            continue
        whole = destination.type.bits == 8 * type.bytes
        if entry.load == load.opcode.text or (whole and not entry.load):
            replacements.replace(destination, entry.register)
            work.changed(load, f"is {entry.register!r}, which was {'loaded' if entry.load else 'stored'} there")
            return True
    known.append(_Known(load.opcode.space, base, address, type.bytes, destination, load.opcode.text))
    if len(known) > _MOST_KNOWN:
        del known[0]
    return False


def _stored(store: Instruction, known: list[_Known]) -> list[_Known]:
    """What is known behind a store."""
    address, value = store.operands[0], store.operands[1]
    type = store.opcode.type
    assert isinstance(address, Address) and type is not None
    base = _place(address)
    left = [entry for entry in known if not _may_overlap(entry, store.opcode.space, base, address.offset, type.bytes)]
    if store.guard is None and isinstance(value, Register) and value.type.bits == 8 * type.bytes:
        left.append(_Known(store.opcode.space, base, address, type.bytes, value, ""))
    return left


def _may_overlap(entry: _Known, space: str, base: Base, offset: int, size: int) -> bool:
    if entry.space != space:
        return not entry.space or not space
    if entry.base == base:
        return entry.offset < offset + size and offset < entry.offset + entry.size
    return True
