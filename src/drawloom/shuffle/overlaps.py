"""Test at the entry of a kernel whether a write may hit what a warp has loaded through another pointer: from the
addresses of a write and a load to a comparison of the two pointers.

    write(lane + d) - load(lane) = pointers + sum of coefficient * product + constant + stride * d       mod 2^bits

``pointers`` is the difference of parameters of 64 bits. A product is one of numbers of 32 bits that the entry of the
kernel knows, such as the extent of a row: an index of 32 bits that is widened is the same modulo 2^32 however it wraps,
so with its factor it is the same modulo 2^(32 + the zeros of the factor). Everything else, such as the iteration of a
loop, has to cancel out. The write hits nothing for any distance d of two lanes if the pointers differ by more than all
terms together can make up for (seed 003, section 4.3, leaves such a load alone).
"""

from __future__ import annotations

from typing import Final

from drawloom.shuffle.expressions import Expressions, signed

#: How far two lanes of a warp can be apart.
FARTHEST: Final = 31
_POINTER_BITS: Final = 64
_WORD_BITS: Final = 32
#: So many products of extents may be in one test, and so large may coefficients and constants be: sums fit in 64 bits.
_MOST_PRODUCTS: Final = 8
_MOST_TERMS: Final = 64
_MOST_COEFFICIENT: Final = 1 << 24
_MOST_CONSTANT: Final = 1 << 40

#: Coefficient by product, whose factors are expressions of 32 bits.
Products = dict[tuple[int, ...], int]
#: What the entry of a kernel reads: ``("param", name+offset)`` or ``("special", name)``.
Leaf = tuple[str, str]


class Overlap:
    """The test for two pointers: it fails if their difference, plus ``sum`` and minus ``low``, modulo 2^``bits``, is at
    most ``high - low + 2 * sum``, where ``sum`` adds up ``coefficient * |product|`` of ``products``. ``pointers`` are
    the parameters with the sign of each."""

    def __init__(self, pointers: tuple[tuple[Leaf, int], ...], low: int, high: int) -> None:
        self.pointers = pointers
        self.bits = _POINTER_BITS
        self.low = low
        self.high = high
        self.products: dict[tuple[Leaf, ...], int] = {}

    def __repr__(self) -> str:
        return " ".join([f"{'+' if sign > 0 else '-'} param({leaf[1]})" for leaf, sign in self.pointers])

    @property
    def instructions(self) -> int:
        """Return about how many instructions the test takes."""
        return 7 + 2 * len(self.pointers) + sum([1 + 2 * len(factors) for factors in self.products])


class _Linear:
    """An address of 64 bits as in the grammar above."""

    def __init__(self) -> None:
        self.pointers: dict[int, int] = {}
        self.products: Products = {}
        self.bits = _POINTER_BITS


class Overlaps:
    """The tests of one function by the pointers that they compare."""

    def __init__(self, x: Expressions) -> None:
        self.x = x
        self.tests: dict[tuple[tuple[Leaf, int], ...], Overlap] = {}
        self._addresses: dict[int, _Linear | None] = {}

    def find(self, write: int, written: int, read: int, size: int) -> Overlap | None:
        """Return the test that shows the bytes at two addresses to be apart in each two lanes of a warp, extended to
        these addresses; None if there is none."""
        first, second = self.address(write), self.address(read)
        if first is None or second is None:
            return None
        x = self.x
        stride = 0
        for factors, coefficient in first.products.items():
            if factors == (x.lane,):
                stride = abs(coefficient)
            elif any(x.varies[factor] for factor in factors):
                return None
        pointers = dict(first.pointers)
        for pointer, sign in second.pointers.items():
            pointers[pointer] = pointers.get(pointer, 0) - sign
        products = dict(first.products)
        for factors, coefficient in second.products.items():
            products[factors] = products.get(factors, 0) - coefficient
        constant = products.pop((), 0)
        pointers = {pointer: sign for pointer, sign in pointers.items() if sign}
        products = {factors: coefficient for factors, coefficient in products.items() if coefficient}
        reach = FARTHEST * stride
        if not pointers or len(products) > _MOST_PRODUCTS or abs(constant) + reach > _MOST_CONSTANT:
            return None
        for factors, coefficient in products.items():
            if abs(coefficient) > _MOST_COEFFICIENT or not all(self.is_known_at_entry(factor) for factor in factors):
                return None
        key = tuple(sorted([(self.leaf(pointer), sign) for pointer, sign in pointers.items()]))
        if any(abs(sign) != 1 for _, sign in key):
            return None
        low, high = 1 - written - constant - reach, size - 1 - constant + reach
        known = self.tests.get(key)
        if known is None:
            known = self.tests[key] = Overlap(key, low, high)
        together = dict(known.products)
        for factors, coefficient in products.items():
            leaves = tuple([self.leaf(factor) for factor in factors])
            together[leaves] = max(together.get(leaves, 0), abs(coefficient))
        if len(together) > _MOST_PRODUCTS:
            return None
        known.products = together
        known.bits = min(known.bits, first.bits, second.bits)
        known.low, known.high = min(known.low, low), max(known.high, high)
        return known

    def leaf(self, factor: int) -> Leaf:
        """Return what the entry of a kernel reads for a factor that is known there."""
        x = self.x
        if x.names[factor] == "trunc":
            factor = x.args[factor][0]
        return x.names[factor], x.payloads[factor]

    def is_known_at_entry(self, factor: int) -> bool:
        """Return whether the entry of a kernel can compute a factor: a parameter or a special register."""
        x = self.x
        if x.varies[factor]:
            return False
        if x.names[factor] == "trunc":
            factor = x.args[factor][0]
            return x.names[factor] == "param" and x.widths[factor] == _POINTER_BITS
        return x.names[factor] in ("param", "special") and x.widths[factor] == _WORD_BITS

    def address(self, address: int) -> _Linear | None:
        """Return an address as pointers and products, None if it has too many terms."""
        if address not in self._addresses:
            self._addresses[address] = self._address(address)
        return self._addresses[address]

    def _address(self, address: int) -> _Linear | None:
        x = self.x
        if x.widths[address] != _POINTER_BITS:
            return None
        out = _Linear()
        constant, terms = x.terms(address)
        out.products[()] = signed(constant, _POINTER_BITS)
        for m, factor in terms.items():
            atoms = x.monomials[m]
            factor = signed(factor, _POINTER_BITS)
            if len(atoms) == 1 and x.names[atoms[0]] == "param" and abs(factor) == 1:
                out.pointers[atoms[0]] = factor
                continue
            product: Products = {(): factor}
            for atom in atoms:
                product = self.multiplied(product, self.word(x.truncate(atom, _WORD_BITS)))
                if len(product) > _MOST_TERMS:
                    return None
            out.bits = min(out.bits, _WORD_BITS + (factor & -factor).bit_length() - 1)
            for factors, coefficient in product.items():
                out.products[factors] = out.products.get(factors, 0) + coefficient
        return out if len(out.products) <= _MOST_TERMS else None

    def word(self, e: int) -> Products:
        """Return an expression of 32 bits as products."""
        x = self.x
        constant, terms = x.terms(e)
        out: Products = {(): signed(constant, _WORD_BITS)} if constant else {}
        for m, factor in terms.items():
            out[tuple(x.monomials[m])] = signed(factor, _WORD_BITS)
        return out

    def multiplied(self, first: Products, second: Products) -> Products:
        """Multiply two sums of products."""
        out: Products = {}
        for a, times in first.items():
            for b, factor in second.items():
                key = tuple(sorted((*a, *b)))
                out[key] = out.get(key, 0) + times * factor
        return out
