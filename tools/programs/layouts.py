"""Random chains of Lift's data-layout patterns, as indices into the array that they rearrange.

A chain begins with an array of one to three dimensions whose lengths are unknown or known. It applies split, join,
transposition (by swapped dimensions, or by listing 4.4's gather), reverse, a strided gather, slide and pad, also below
the outermost dimension. `Layout.index` is the flat index that one access reads, as section 4.3.3 builds it from views.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from drawloom.lift import arithmetic
from drawloom.lift.arithmetic import Nat, Variable

#: From the indices of a layout's dimensions to those of the layout before.
Access = Callable[[list[Nat]], list[Nat]]


class Layout:
    """A chain of patterns: the lengths and the index variables of its dimensions, and the index that is read.

    `index` is built by the operators that are active, `total` is the number of elements of the array.
    """

    def __init__(self, seed: int, exact: bool = False) -> None:
        self.random = random.Random(seed)
        self.exact = exact  # without pad and slide, whose indices keep conditions
        self.lengths = [self._length(name) for name in "NMK"[: self.random.choice((1, 2, 3))]]
        self.names: list[str] = []
        dimensions = list(self.lengths)
        self.total = arithmetic.constant(1) if not dimensions else _product(dimensions)
        accesses: list[Access] = []
        for _ in range(self.random.choice((1, 2, 3, 4, 5))):
            accesses.append(self._pattern(dimensions))
        self.indices: list[Variable] = []
        for number, length in enumerate(dimensions):
            self.indices.append(arithmetic.index("ijklwxyz"[number] if number < 8 else f"i{number}", length))
        self.accesses = accesses

    def index(self) -> Nat:
        indices: list[Nat] = list(self.indices)
        for access in reversed(self.accesses):
            indices = access(indices)
        flat = indices[0]
        for position, length in enumerate(self.lengths[1:], 1):
            flat = flat * length + indices[position]
        return flat

    def variables(self) -> list[Variable]:
        return [length for length in self.lengths if isinstance(length, Variable)] + self.indices

    def _length(self, name: str) -> Nat:
        if self.random.random() < 0.25:
            return arithmetic.constant(self.random.choice((4, 8, 12, 15, 16)))
        start, step = self.random.choice(((1, 1), (4, 4), (4, 4), (8, 8), (3, 1)))
        return arithmetic.variable(name, start, None, step)

    def _pattern(self, dimensions: list[Nat]) -> Access:
        """Apply one pattern to the dimensions at a random depth; return how it rewrites indices."""
        at = self.random.randrange(len(dimensions))
        n = dimensions[at]
        choose = self.random.choice(("split", "split", "join", "join", "swap", "gather", "reverse", "stride", "more"))
        if choose == "more":
            choose = "split" if self.exact else self.random.choice(("slide", "clamp", "wrap"))
        if choose in ("join", "swap", "gather") and at + 1 == len(dimensions):
            choose = "split"
        if choose == "split":
            return self._split(dimensions, at, self._factor(n))
        if choose == "join":
            m = dimensions[at + 1]
            dimensions[at : at + 2] = [n * m]
            return lambda i: [*i[:at], i[at] // m, i[at] % m, *i[at + 1 :]]
        if choose == "swap":
            dimensions[at], dimensions[at + 1] = dimensions[at + 1], n
            return lambda i: [*i[:at], i[at + 1], i[at], *i[at + 2 :]]
        if choose == "gather":
            return self._transpose_by_gather(dimensions, at)
        if choose == "reverse":
            return lambda i: [*i[:at], n - 1 - i[at], *i[at + 1 :]]
        if choose == "stride":
            s = self._factor(n)
            return lambda i: [*i[:at], i[at] % s * arithmetic.exact_div(n, s) + i[at] // s, *i[at + 1 :]]
        if choose == "slide":
            size, step = self.random.choice(((3, 1), (3, 2), (5, 1), (2, 2), (4, 2)))
            dimensions[at : at + 1] = [(n - size + step) // step, arithmetic.constant(size)]
            return lambda i: [*i[:at], i[at] * step + i[at + 1], *i[at + 2 :]]
        return self._pad(dimensions, at, choose)

    def _factor(self, length: Nat) -> Nat:
        """Return a number that divides a length, perhaps by assertion."""
        divisors: list[Nat] = [arithmetic.constant(k) for k in (2, 4, 8, 3, 5) if arithmetic.divides(k, length)]
        for other in self.lengths:
            if arithmetic.divides(other, length):
                divisors.append(other)
        if divisors and self.random.random() < 0.9:
            return self.random.choice(divisors)
        return arithmetic.constant(1 if isinstance(length, arithmetic.Constant) else self.random.choice((2, 4)))

    def _split(self, dimensions: list[Nat], at: int, factor: Nat) -> Access:
        dimensions[at : at + 1] = [arithmetic.exact_div(dimensions[at], factor), factor]
        return lambda i: [*i[:at], i[at] * factor + i[at + 1], *i[at + 2 :]]

    def _transpose_by_gather(self, dimensions: list[Nat], at: int) -> Access:
        """join, gather(i -> i / n + (i mod n) × m), split(n)."""
        n, m = dimensions[at], dimensions[at + 1]
        dimensions[at], dimensions[at + 1] = m, n

        def access(i: list[Nat]) -> list[Nat]:
            joined = i[at] * n + i[at + 1]
            gathered = joined // n + joined % n * m
            return [*i[:at], gathered // m, gathered % m, *i[at + 2 :]]

        return access

    def _pad(self, dimensions: list[Nat], at: int, kind: str) -> Access:
        n = dimensions[at]
        left = self.random.choice((0, 1, 2))
        dimensions[at] = n + left + self.random.choice((0, 1, 2))

        def access(i: list[Nat]) -> list[Nat]:
            shifted = i[at] - left
            if kind == "wrap":
                return [*i[:at], shifted % n, *i[at + 1 :]]
            inside = arithmetic.select(arithmetic.less_equal(n, shifted), n - 1, shifted)
            clamped = arithmetic.select(arithmetic.less(shifted, 0), 0, inside)
            return [*i[:at], clamped, *i[at + 1 :]]

        return access


def _product(factors: list[Nat]) -> Nat:
    product: Nat = arithmetic.constant(1)
    for factor in factors:
        product = product * factor
    return product
