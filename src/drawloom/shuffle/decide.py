"""Whether ``A(lane + N) == B(lane)`` for all lanes, and what that rests on (seed 003, section 5.1).

``place`` finds the only N that can be, from addresses as integers that never wrap: two addresses are N lanes apart when
they have one place but N in its last part. ``Decider.requirements`` then compares the exact bit-vectors. Where an index
is widened on the way, ``ext(p + d)`` is ``ext(p) + d`` if ``p + d`` does not wrap, which the caller has to show.
"""

from __future__ import annotations

from typing import Final

from drawloom.shuffle.evaluate import evaluate
from drawloom.shuffle.expressions import HAS_LANE, OPAQUE, SUM, WARP, Expressions, Terms, signed
from drawloom.shuffle.lanes import shifted
from drawloom.shuffle.solve import Prover

#: ``(e, d)``: the expression under an extension, and what is added to it without wrapping; the extension.
Requirement = tuple[int, int, int]
#: That some index does not wrap, but none that a comparison could test.
UNTESTABLE: Final = -1

_MOST_STEPS: Final = 8
#: For how many sets of random leaves two addresses must agree before they are taken for equal enough to prove it.
_ROUNDS: Final = 3
_DELTAS: Final = sorted(range(1 - WARP, WARP), key=abs)


class Decider:
    """Answers about pairs of addresses of one function, each once."""

    def __init__(self, x: Expressions, prover: Prover | None) -> None:
        self.x = x
        self.prover = prover
        self._ideal: dict[int, int] = {}
        self._moved: dict[int, dict[int, int]] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._found: dict[tuple[int, int, int, int], list[Requirement] | None] = {}
        self._profiles: dict[tuple[int, int], list[int]] = {}
        #: By round and lane: what expressions are.
        self._values: list[list[dict[int, int]]] = []

    # -- where an address is -----------------------------------------------------------------------------

    def place(self, address: int) -> tuple[int, int]:
        """``(rest, strides)``: the address without whole strides of the lane, and how many those are. ``rest`` is -1
        where the address is no linear function of the lane; what is something else in each lane is a place of its own.
        """
        known = self._places.get(address)
        if known is None:
            is_own = self.x.varies[address] & OPAQUE
            known = self._places[address] = (address, 0) if is_own else self._place(self.ideal(address))
        return known

    def _place(self, e: int) -> tuple[int, int]:
        x = self.x
        if x.varies[e] & OPAQUE:
            return -1, 0
        if not x.varies[e] & HAS_LANE:
            return e, 0
        width = x.widths[e]
        lane = x.extend(x.lane, width, False)
        constant, terms = x.terms(e)
        stride, plain = 0, False
        slope: Terms = {}
        for m, factor in terms.items():
            atoms = x.monomials[m]
            if lane not in atoms:
                if any(x.varies[a] for a in atoms):
                    return -1, 0
                continue
            others = list(atoms)
            others.remove(lane)
            if any(x.varies[a] for a in others):
                return -1, 0
            if others:
                slope[x.monomial(tuple(others))] = factor
            else:
                stride, plain = factor, True
        # The term of the slope by which strides are counted.
        if plain:
            step, at = signed(stride, width), signed(constant, width)
        else:
            first = min(slope)
            step, at = signed(slope[first], width), signed(terms.get(first, 0), width)
        count = at // step
        for m, factor in slope.items():
            terms[m] = terms.get(m, 0) - count * factor
        return x.sum(constant - count * stride, terms, width), count

    def ideal(self, e: int) -> int:
        """An address as it would be if no index wrapped: extensions go through sums."""
        known = self._ideal.get(e)
        if known is None:
            x = self.x
            constant, terms = x.terms(e)
            out: Terms = {}
            width = x.widths[e]
            for m, factor in terms.items():
                atoms = x.monomials[m]
                product = self._ideal_atom(atoms[0])
                for atom in atoms[1:]:
                    product = x.mul(product, self._ideal_atom(atom))
                constant += x.add_terms(out, product, factor)
            known = self._ideal[e] = x.sum(constant, out, width)
        return known

    def _ideal_atom(self, atom: int) -> int:
        x = self.x
        name = x.names[atom]
        if name not in ("zext", "sext"):
            return atom
        inner = x.args[atom][0]
        if x.names[inner] != SUM:
            return atom
        width, old = x.widths[atom], x.widths[inner]
        args = x.args[inner]
        out: Terms = {}
        constant = signed(args[0], old)
        for k in range(1, len(args), 2):
            atoms = x.monomials[args[k]]
            product = self.ideal(x.extend(atoms[0], width, name == "sext"))
            for part in atoms[1:]:
                product = x.mul(product, self.ideal(x.extend(part, width, name == "sext")))
            constant += x.add_terms(out, product, signed(args[k + 1], old))
        return x.sum(constant, out, width)

    # -- whether two are equal ---------------------------------------------------------------------------

    def requirements(self, source: int, load: int, delta: int, offset: int) -> list[Requirement] | None:
        """What must not wrap so that ``source(lane + delta) + offset == load(lane)``; None where that is not known to
        hold however that may be. With ``UNTESTABLE`` in it, more must not wrap than can be said by comparisons."""
        key = (source, load, delta, offset)
        if key not in self._found:
            self._found[key] = self._requirements(source, load, delta, offset)
        return self._found[key]

    def _requirements(self, source: int, load: int, delta: int, offset: int) -> list[Requirement] | None:
        x = self.x
        there = x.scale(shifted(x, source, delta, self._moved.setdefault(delta, {})) if delta else source, 1, offset)
        difference = x.sub(there, load)
        if x.value(difference) == 0:
            return []
        if x.is_constant(difference):
            return None
        found: list[Requirement] = []
        here = self.extensions(load)
        for _ in range(_MOST_STEPS):
            match = self.match(self.extensions(difference), here)
            if match is None:
                break
            far, near, distance = match
            inner = x.args[near][0]
            found.append((inner, distance, near))
            difference = self.substituted(difference, far, near, distance)
            if x.value(difference) == 0:
                return found
        if self.ideal(there) == self.ideal(load):
            return [(0, 0, UNTESTABLE)]
        return [] if self.is_proved(source, load, delta, offset) else None

    def step(self, source: int, delta: int) -> int | None:
        """Return how many bytes further on an address is in another lane if no index wraps, None if that is not one
        number."""
        x = self.x
        moved = shifted(x, source, delta, self._moved.setdefault(delta, {}))
        difference = x.sub(self.ideal(moved), self.ideal(source))
        return signed(x.value(difference), x.widths[source]) if x.is_constant(difference) else None

    def is_untestable(self, needed: list[Requirement]) -> bool:
        """Return whether requirements cannot be tested by comparing an index with numbers."""
        return any(wide == UNTESTABLE for _, _, wide in needed)

    def substituted(self, e: int, far: int, near: int, distance: int) -> int:
        """A sum with ``near + distance`` in the place of the atom ``far``."""
        x = self.x
        constant, terms = x.terms(e)
        out: Terms = {}
        for m, factor in terms.items():
            atoms = x.monomials[m]
            if far not in atoms:
                out[m] = out.get(m, 0) + factor
                continue
            rest = list(atoms)
            rest.remove(far)
            product = x.scale(near, 1, distance)
            for atom in rest:
                product = x.mul(product, atom)
            constant += x.add_terms(out, product, factor)
        return x.sum(constant, out, x.widths[e])

    def extensions(self, e: int) -> list[int]:
        """The widened indices in an address."""
        x = self.x
        out: list[int] = []
        for m in x.terms(e)[1]:
            for atom in x.monomials[m]:
                if x.names[atom] in ("zext", "sext") and atom not in out:
                    out.append(atom)
        return out

    def match(self, far: list[int], near: list[int]) -> tuple[int, int, int] | None:
        """A widened index that is another one of the load's but for a constant that was added before."""
        x = self.x
        for first in far:
            if first in near:
                continue
            for second in near:
                if x.names[first] != x.names[second]:
                    continue
                a, b = x.args[first][0], x.args[second][0]
                if x.widths[a] != x.widths[b]:
                    continue
                distance = x.distance(a, b)
                if distance >= 0:
                    return first, second, signed(distance, x.widths[a])
        return None

    def is_proved(self, source: int, load: int, delta: int, offset: int) -> bool:
        """Return whether the solver shows that nothing has to be required, where random numbers do not tell the two
        addresses apart."""
        if self.prover is None or not self.agree(source, load, delta, offset):
            return False
        x = self.x
        there = shifted(x, source, delta, self._moved.setdefault(delta, {})) if delta else source
        return self.prover.equal(x.scale(there, 1, offset), load, delta)

    def guesses(self, source: int, load: int, offset: int) -> list[int]:
        """The lane distances by which two addresses that are not linear seem to be apart, the smallest first."""
        x = self.x
        if (x.varies[source] | x.varies[load]) & OPAQUE:
            return [0] if x.distance(load, source) == offset else []
        return [delta for delta in _DELTAS if self.agree(source, load, delta, offset)]

    def agree(self, source: int, load: int, delta: int, offset: int) -> bool:
        """Whether ``source(lane + delta) + offset`` is ``load(lane)`` for some random leaves, in all lanes."""
        mask = (1 << self.x.widths[load]) - 1
        for salt in range(_ROUNDS):
            a, b = self.profile(source, salt), self.profile(load, salt)
            for lane in range(max(0, -delta), min(WARP, WARP - delta)):
                if (a[lane + delta] + offset) & mask != b[lane]:
                    return False
        return True

    def profile(self, address: int, salt: int) -> list[int]:
        """What an address is in each lane, for some random leaves."""
        known = self._profiles.get((address, salt))
        if known is None:
            while len(self._values) <= salt:
                start = len(self._values)
                self._values.append([{-1: start, self.x.lane: lane} for lane in range(WARP)])
            known = [evaluate(self.x, address, values) for values in self._values[salt]]
            self._profiles[(address, salt)] = known
        return known
