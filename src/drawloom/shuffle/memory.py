"""Which loads a write may invalidate: by state space, by base, and by the difference of the addresses in all lanes
(seed 003, section 4.3). Two accesses are only taken to be apart where that is shown.

The write of one lane may hit what another lane has read, so addresses are compared for all 63 distances of two lanes. A
barrier, a fence and a call end everything that somebody may write: other threads' writes become visible there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from drawloom.shuffle.expressions import DEEP, OPAQUE, SUM, Expressions, signed
from drawloom.shuffle.facts import STORE, Access
from drawloom.shuffle.lanes import shifted
from drawloom.shuffle.overlaps import FARTHEST, Overlap, Overlaps

#: What an address may be counted from, and what is only a number that is added to it.
_BASES: Final = ("param", "symbol", "window")
_NUMBERS: Final = frozenset("zext sext trunc and lshr urem udiv special lane warp iteration".split())
#: What makes bits of a pointer into bits of another one if it has two of them.
_MIXING: Final = frozenset("and or xor".split())
_POINTER_BITS: Final = 64


class Aliases:
    """Answers ``may_hit`` for one function. ``distinct_parameters`` takes it that what one pointer parameter writes no
    other reads; ``pointers`` are the parameters that are declared to be such, ``pools`` the shared arrays whose size is
    found at the launch, which are all at one place; ``promised`` are the accesses (by address) that this has kept.
    Only a kernel (``is_entry``) has tests at its entry."""

    def __init__(
        self, x: Expressions, distinct_parameters: bool, pointers: frozenset[str], pools: frozenset[str],
        is_entry: bool,
    ) -> None:  # fmt: skip
        self.x = x
        self.pools = pools
        self.distinct_parameters = distinct_parameters
        self.pointers = pointers
        self.promised: set[int] = set()
        self.is_entry = is_entry
        self.overlaps = Overlaps(x)
        self._tests: dict[tuple[int, int, int, int], Overlap | None] = {}
        #: The leaves that stand for what has bits of a pointer, or of a parameter as wide as one, on some way.
        self.hiding: set[int] = set()
        self.perhaps_hiding: set[int] = set()
        self._bases: dict[int, tuple[str, str]] = {}
        self._pointers: dict[int, bool] = {}
        self._perhaps: dict[int, bool] = {}
        self._distances: dict[tuple[int, int, int, int], bool] = {}

    def hides(self, leaf: int, values: Iterable[int]) -> bool:
        """Note what a leaf may stand for; whether that is news."""
        before = len(self.hiding) + len(self.perhaps_hiding)
        for value in values:
            if value >= 0 and self.holds_pointer(value):
                self.hiding.add(leaf)
            if value >= 0 and self.may_be_pointer(value):
                self.perhaps_hiding.add(leaf)
        is_new = len(self.hiding) + len(self.perhaps_hiding) > before
        if is_new:
            for known in (self._bases, self._pointers, self._perhaps):
                known.clear()
        return is_new

    def base(self, address: int) -> tuple[str, str]:
        """``(kind, name)`` of what an address is counted from, a parameter or variable; empty where it is not clear."""
        known = self._bases.get(address)
        if known is None:
            known = self._bases[address] = self._base(address)
        return known

    def _base(self, address: int) -> tuple[str, str]:
        x = self.x
        found: list[tuple[str, str]] = []
        for m, factor in x.terms(address)[1].items():
            atoms = x.monomials[m]
            name = x.names[atoms[0]]
            if len(atoms) == 1 and factor == 1 and name in _BASES:
                found.append((name, x.payloads[atoms[0]]))
            elif self.is_part(atoms, signed(factor, x.widths[address])):
                return "", ""  # the difference of two pointers leads from one to the other
            elif len(atoms) == 1 and factor == 1 and name not in _NUMBERS:
                return "", ""  # this may be the pointer, and a parameter the number
        if len(found) > 1:
            declared = [f for f in found if f[0] == "param" and f[1] in self.pointers]
            found = declared if len(declared) == 1 and all(f[0] == "param" for f in found) else []
        return found[0] if found else ("", "")

    def is_part(self, atoms: tuple[int, ...], factor: int) -> bool:
        """Whether a term may hold some of a pointer's bits: of a variable's address, or of a parameter that is one or
        may be and is subtracted."""
        for atom in atoms:
            if self.holds_pointer(atom):
                return True
        return len(atoms) == 1 and factor < 0 and self.may_be_pointer(atoms[0])

    def holds_pointer(self, e: int) -> bool:
        """Whether an expression has bits of a pointer, or of the difference of two."""
        known = self._pointers.get(e)
        if known is None:
            known = self._pointers[e] = self._holds_pointer(e)
        return known

    def _holds_pointer(self, e: int) -> bool:
        x = self.x
        name = x.names[e]
        if name == SUM:
            terms = x.terms(e)[1]
            is_held = False
            for m, factor in terms.items():
                is_held = is_held or self.is_part(x.monomials[m], signed(factor, x.widths[e]))
            return is_held
        if name in ("symbol", "window", DEEP) or e in self.hiding:
            return True
        if name == "param":
            return x.payloads[e] in self.pointers
        if name == "load" or x.widths[e] == 1:
            return False  # a number from memory, or what is only decided by pointers
        is_mixed = name in _MIXING
        for arg in x.args[e]:
            if self.holds_pointer(arg):
                return True
            is_mixed = is_mixed and self.may_be_pointer(arg)
        return is_mixed

    def may_be_pointer(self, e: int) -> bool:
        """Whether an expression has bits of a parameter that is as wide as a pointer."""
        known = self._perhaps.get(e)
        if known is None:
            known = self._perhaps[e] = self._may_be_pointer(e)
        return known

    def _may_be_pointer(self, e: int) -> bool:
        x = self.x
        if x.names[e] in ("param", DEEP):
            return x.widths[e] >= _POINTER_BITS
        if e in self.perhaps_hiding:
            return True
        if x.names[e] == SUM:
            for m in x.terms(e)[1]:
                if len(x.monomials[m]) == 1 and self.may_be_pointer(x.monomials[m][0]):
                    return True
        elif x.names[e] != "load" and x.widths[e] > 1:
            for arg in x.args[e]:
                if self.may_be_pointer(arg):
                    return True
        return False

    def space(self, space: str, address: int) -> str:
        """The space of an access, that of its base where it is generic. A pointer among a kernel's parameters is never
        to shared or local memory, which end with the grid (PTX ISA 9.0, section 6.4.1.1)."""
        if space:
            return "shared" if space.startswith("shared") else space
        kind, name = self.base(address)
        if kind == "param":
            return "global"
        return name if kind == "window" else ""

    def may_hit(self, write: Access, read: Access) -> bool:
        """Whether the write of any lane of the warp may change what any lane has read."""
        if read.read_only:
            return False
        mine, other = self.space(write.space, write.address), self.space(read.space, read.address)
        if mine != other and mine and other:
            return False
        first, second = self.base(write.address), self.base(read.address)
        if first[0] == second[0] == "symbol" and first != second and not {first[1], second[1]} <= self.pools:
            return False
        if self.meet(write.address, write.bytes, read.address, read.bytes):
            if self.distinct_parameters and self.may_be_promised(write, read):
                self.promised.add(read.address)
                return False
            return True
        return False

    def start_again(self) -> None:
        """Forget the tests of a walk that was not the last one."""
        self.overlaps = Overlaps(self.x)
        self._tests = {}

    def test(self, write: Access, read: Access) -> Overlap | None:
        """Return what can test at the entry of the kernel that a write that may hit what was read does not."""
        if not self.is_entry or write.kind != STORE:
            return None
        key = (write.address, write.bytes, read.address, read.bytes)
        if key not in self._tests:
            self._tests[key] = self.overlaps.find(write.address, write.bytes, read.address, read.bytes)
        return self._tests[key]

    def may_be_promised(self, write: Access, read: Access) -> bool:
        """Whether the promise that ``distinct_parameters`` stands for would keep a write from what was read."""
        first, second = self.base(write.address), self.base(read.address)
        # What a structure has at an offset is of the one parameter that it is.
        return first[0] == second[0] == "param" and first[1].partition("+")[0] != second[1].partition("+")[0]

    def meet(self, write: int, written: int, read: int, size: int) -> bool:
        """Whether the bytes at the two addresses may overlap in some pair of lanes."""
        key = (write, written, read, size)
        known = self._distances.get(key)
        if known is None:
            known = self._distances[key] = self._meet(write, written, read, size)
        return known

    def _meet(self, write: int, written: int, read: int, size: int) -> bool:
        x = self.x
        difference = x.sub(write, read)
        width = x.widths[difference]
        if not x.varies[write] and not x.varies[read]:
            apart = x.value(difference)
            return apart < 0 or -written < signed(apart, width) < size
        if (x.varies[write] | x.varies[read]) & OPAQUE:
            return True
        for distance in range(-FARTHEST, FARTHEST + 1):
            apart = x.value(x.sub(shifted(x, write, distance, {}), read))
            if apart < 0 or -written < signed(apart, width) < size:
                return True
        return False
