"""Hash-consed bit-vector expressions with exact widths, simplified as they are built: from operations to numbers.

    expression ::= sum | atom
    sum        ::= constant + coefficient * monomial + ...     -- over Z/2^width, the normal form of +, - and *
    monomial   ::= atom * atom * ...
    atom       ::= name<payload>(expression, ...)              -- a leaf, or an operation that is no polynomial

Equal sums are the same number, so equality modulo 2^width costs nothing. Every expression has an interval: some integer
in ``low .. high`` is its value modulo 2^width. An extension goes through a sum that its interval shows not to wrap; one
that may wrap is an atom. Predicates are one bit wide.

``%tid.x`` is 32 * warp + lane: the lane counts along x (``LANES_ALONG_X`` in ``facts``). ``varies`` says whether an
expression contains the lane, and whether it contains what is another number in each lane in an unknown way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: Bits of ``varies``.
HAS_LANE: Final = 1
OPAQUE: Final = 2

WARP: Final = 32
#: A product of sums with more terms than this is an atom; a sum of more gets leaves for some of them, so that sums of
#: sums take no quadratic time.
_MOST_TERMS: Final = 48
#: An operation deeper than this is a leaf of its own, so that walks down may recurse, by some five calls each.
_MOST_DEEP: Final = 100

SUM: Final = "sum"
#: A leaf that stands for what is too large to be worked with.
DEEP: Final = "deep"
Key = tuple[str, int, str, tuple[int, ...]]
Terms = dict[int, int]


def signed(value: int, bits: int) -> int:
    """The two's complement reading of a pattern."""
    half = 1 << (bits - 1)
    return ((value & ((1 << bits) - 1)) ^ half) - half


class Expressions:
    """The table. ``names[e]``, ``widths[e]``, ``payloads[e]`` and ``args[e]`` describe expression ``e``.

    The ``args`` of a sum are its constant, then monomial and coefficient in turns; ``monomials[m]`` are the atoms of a
    monomial, sorted. Coefficients and constants are unsigned.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.widths: list[int] = []
        self.payloads: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.low: list[int] = []
        self.high: list[int] = []
        self.varies: list[int] = []
        self._depths: list[int] = []
        self.monomials: list[tuple[int, ...]] = []
        self._monomial_ids: dict[tuple[int, ...], int] = {}
        self._ids: dict[Key, int] = {}
        self._distances: dict[tuple[int, int], int] = {}
        self.lane = self.leaf("lane", 32, "", 0, WARP - 1, HAS_LANE)
        self.true = self.constant(1, 1)
        self.false = self.constant(0, 1)

    # -- making ------------------------------------------------------------------------------------------

    def _new(self, name: str, width: int, payload: str, args: tuple[int, ...], low: int, high: int, varies: int) -> int:
        made = len(self.names)
        self._ids[(name, width, payload, args)] = made
        self.names.append(name)
        self.widths.append(width)
        self.payloads.append(payload)
        self.args.append(args)
        self.low.append(low)
        self.high.append(high)
        self.varies.append(varies)
        depth = 0
        if name == SUM:
            for k in range(1, len(args), 2):
                for part in self.monomials[args[k]]:
                    depth = max(depth, self._depths[part])
        else:
            for part in args:
                depth = max(depth, self._depths[part] + 1)
        self._depths.append(depth)
        return made

    def leaf(self, name: str, width: int, payload: str, low: int = 0, high: int = -1, varies: int = 0) -> int:
        """A symbol; ``low .. high`` are the numbers that it can be (any of its width by default)."""
        known = self._ids.get((name, width, payload, ()))
        if known is not None:
            return known
        return self._new(name, width, payload, (), low, (1 << width) - 1 if high < 0 else high, varies)

    def atom(
        self, name: str, width: int, args: tuple[int, ...], payload: str = "", low: int = 0, high: int = -1,
        varies: int = 0,
    ) -> int:  # fmt: skip
        """An operation that is left as it is. It is the same function of its arguments in every lane."""
        if low == high:
            return self.constant(low, width)
        known = self._ids.get((name, width, payload, args))
        if known is not None:
            return known
        deepest = 0
        for arg in args:
            varies |= self.varies[arg]
            deepest = max(deepest, self._depths[arg])
        if deepest >= _MOST_DEEP:
            made = self.leaf(DEEP, width, f"{len(self.names)}", varies=OPAQUE if varies else 0)
            self._ids[(name, width, payload, args)] = made
            return made
        return self._new(name, width, payload, args, low, (1 << width) - 1 if high < low else high, varies)

    def constant(self, value: int, width: int) -> int:
        """A number modulo 2^width."""
        value &= (1 << width) - 1
        args = (value,)
        known = self._ids.get((SUM, width, "", args))
        if known is not None:
            return known
        low = signed(value, width) if width > 1 else value
        return self._new(SUM, width, "", args, low, low, 0)

    def parts(self, e: int) -> list[int]:
        """What an expression is made of: the atoms of a sum, or the arguments of an operation."""
        args = self.args[e]
        if self.names[e] != SUM:
            return list(args)
        out: list[int] = []
        for k in range(1, len(args), 2):
            out.extend(self.monomials[args[k]])
        return out

    def is_constant(self, e: int) -> bool:
        return self.names[e] == SUM and len(self.args[e]) == 1

    def value(self, e: int) -> int:
        """The pattern of a constant; -1 for anything else."""
        return self.args[e][0] if self.names[e] == SUM and len(self.args[e]) == 1 else -1

    def monomial(self, atoms: tuple[int, ...]) -> int:
        known = self._monomial_ids.get(atoms)
        if known is None:
            known = self._monomial_ids[atoms] = len(self.monomials)
            self.monomials.append(atoms)
        return known

    # -- sums --------------------------------------------------------------------------------------------

    def terms(self, e: int) -> tuple[int, Terms]:
        """``(constant, coefficient by monomial)`` of any expression; the dictionary is the caller's."""
        out: Terms = {}
        return self.add_terms(out, e, 1), out

    def add_terms(self, into: Terms, e: int, factor: int) -> int:
        """Add ``factor * e`` to terms, not reduced; returns the constant."""
        if self.names[e] != SUM:
            m = self.monomial((e,))
            into[m] = into.get(m, 0) + factor
            return 0
        args = self.args[e]
        for k in range(1, len(args), 2):
            m = args[k]
            into[m] = into.get(m, 0) + factor * args[k + 1]
        return factor * args[0]

    def sum(self, constant: int, terms: Terms, width: int) -> int:
        """The expression of a constant and coefficients, which need not be reduced."""
        mask = (1 << width) - 1
        constant &= mask
        left: list[int] = []
        for m, coefficient in terms.items():
            if coefficient & mask:
                left.append(m)
        if not left:
            return self.constant(constant, width)
        if len(left) > 1:
            left.sort()
        elif constant == 0 and terms[left[0]] & mask == 1:
            atoms = self.monomials[left[0]]
            if len(atoms) == 1:
                return atoms[0]
        flat = [constant]
        for m in left:
            flat.append(m)
            flat.append(terms[m] & mask)
        args = tuple(flat)
        known = self._ids.get((SUM, width, "", args))
        if known is not None:
            return known
        varies = 0
        low = high = signed(constant, width) if width > 1 else constant
        for k in range(1, len(args), 2):
            factor = signed(args[k + 1], width) if width > 1 else args[k + 1]
            least = most = 1
            for atom in self.monomials[args[k]]:
                varies |= self.varies[atom]
                least, most = _product(least, most, self.low[atom], self.high[atom])
            least, most = _product(least, most, factor, factor)
            low, high = low + least, high + most
        if not (-(1 << width - 1) <= low and high <= mask and (low >= 0 or high < 1 << width - 1)):
            low, high = 0, mask
        if len(left) > _MOST_TERMS:
            made = self._shortened(args, width, varies)
            self._ids[(SUM, width, "", args)] = made
            return made
        return self._new(SUM, width, "", args, low, high, varies)

    def _shortened(self, args: tuple[int, ...], width: int, varies: int) -> int:
        """A sum of too many terms with one leaf for those that lanes share, if the others are few, else for all."""
        own: Terms = {}
        shared: list[int] = [0]
        for k in range(1, len(args), 2):
            if any(self.varies[atom] for atom in self.monomials[args[k]]):
                own[args[k]] = args[k + 1]
            else:
                shared.extend(args[k : k + 2])
        if len(own) >= _MOST_TERMS:
            return self.leaf(DEEP, width, f"{len(self.names)}", varies=OPAQUE)
        key = (DEEP, width, "", tuple(shared))
        leaf = self._ids.get(key)
        if leaf is None:
            leaf = self._ids[key] = self.leaf(DEEP, width, f"{len(self.names)}")
        own[self.monomial((leaf,))] = 1
        return self.sum(args[0], own, width)

    def add(self, a: int, b: int) -> int:
        return self.combine(a, 1, b, 1)

    def sub(self, a: int, b: int) -> int:
        return self.combine(a, 1, b, -1)

    def combine(self, a: int, first: int, b: int, second: int) -> int:
        """``first * a + second * b``."""
        constant, terms = self.terms(a)
        if first != 1:
            constant *= first
            for m in terms:
                terms[m] *= first
        constant += self.add_terms(terms, b, second)
        return self.sum(constant, terms, self.widths[a])

    def distance(self, a: int, b: int) -> int:
        """The pattern of ``a - b`` where that is a constant, else -1."""
        known = self._distances.get((a, b))
        if known is None:
            known = self._distances[(a, b)] = self.value(self.sub(a, b))
        return known

    def scale(self, a: int, factor: int, plus: int = 0) -> int:
        """``factor * a + plus``."""
        terms: Terms = {}
        constant = self.add_terms(terms, a, factor)
        return self.sum(constant + plus, terms, self.widths[a])

    def mul(self, a: int, b: int) -> int:
        width = self.widths[a]
        if self.is_constant(a):
            a, b = b, a
        if self.is_constant(b):
            return self.scale(a, self.args[b][0])
        if width == 1:
            return self.both(a, b)
        first, left = self.terms(a)
        second, right = self.terms(b)
        if (len(left) + 1) * (len(right) + 1) > _MOST_TERMS:
            return self.atom("mul", width, (min(a, b), max(a, b)))
        out: Terms = {}
        for m, factor in left.items():
            if second:
                out[m] = out.get(m, 0) + factor * second
            for n, other in right.items():
                joined = self.monomial(tuple(sorted(self.monomials[m] + self.monomials[n])))
                out[joined] = out.get(joined, 0) + factor * other
        if first:
            for n, other in right.items():
                out[n] = out.get(n, 0) + first * other
        return self.sum(first * second, out, width)

    # -- intervals ---------------------------------------------------------------------------------------

    def signed_range(self, e: int) -> tuple[int, int]:
        """The numbers that it can be, read as two's complement."""
        half = 1 << self.widths[e] - 1
        low, high = self.low[e], self.high[e]
        if low >= half:
            return low - 2 * half, high - 2 * half
        return (low, high) if high < half else (-half, half - 1)

    def unsigned_range(self, e: int) -> tuple[int, int]:
        """The numbers that it can be, read as unsigned."""
        low, high = self.low[e], self.high[e]
        if high < 0:
            return low + (1 << self.widths[e]), high + (1 << self.widths[e])
        return (low, high) if low >= 0 else (0, (1 << self.widths[e]) - 1)

    def zeros(self, e: int) -> int:
        """How many low bits are zero for certain."""
        width = self.widths[e]
        if self.names[e] != SUM:
            return 0
        args = self.args[e]
        both = args[0]
        for k in range(2, len(args), 2):
            both |= args[k]
        return width if both == 0 else (both & -both).bit_length() - 1

    # -- widths ------------------------------------------------------------------------------------------

    def extend(self, e: int, width: int, is_signed: bool) -> int:
        """``e`` in ``width`` bits, its new bits zeros or copies of the sign."""
        old = self.widths[e]
        if width == old:
            return e
        if width < old:
            return self.truncate(e, width)
        low, high = self.low[e], self.high[e]
        fits = high < 1 << old - 1 if is_signed else low >= 0
        if self.names[e] == SUM:
            args = self.args[e]
            if len(args) == 1:
                return self.constant(signed(args[0], old) if is_signed else args[0], width)
            if fits and self.exact(e):
                terms: Terms = {}
                for k in range(1, len(args), 2):
                    wide = sorted([self.widened(atom, width) for atom in self.monomials[args[k]]])
                    m = self.monomial(tuple(wide))
                    terms[m] = terms.get(m, 0) + signed(args[k + 1], old)
                return self.sum(signed(args[0], old), terms, width)
        if low >= 0 and high < 1 << old - 1:
            is_signed = False
        name = self.names[e]
        if name == "zext" or (name == "sext" and is_signed):
            return self.extend(self.args[e][0], width, name == "sext")
        if name == "trunc":
            whole = self.args[e][0]
            low, high = self.signed_range(whole) if is_signed else self.unsigned_range(whole)
            if (-(1 << old - 1) <= low and high < 1 << old - 1) if is_signed else high < 1 << old:
                return self.extend(whole, width, is_signed)
        if not is_signed:
            low, high = self.unsigned_range(e)
            return self.atom("zext", width, (e,), "", low, high)
        low, high = self.signed_range(e)
        return self.atom("sext", width, (e,), "", low, high)

    def exact(self, e: int) -> bool:
        """Whether the interval of a sum is that of the sum of its terms as integers, not just anything."""
        width = self.widths[e]
        low, high = self.low[e], self.high[e]
        return low != 0 or high != (1 << width) - 1

    def widened(self, atom: int, width: int) -> int:
        """An atom as the integer that its interval takes it for."""
        low, high = self.low[atom], self.high[atom]
        return self.extend(atom, width, low < 0 and high < 1 << self.widths[atom] - 1)

    def of_atoms(self, e: int, width: int, change: Callable[[int], int]) -> int:
        """A sum whose atoms are changed, to expressions of ``width`` bits."""
        args = self.args[e]
        terms: Terms = {}
        constant = args[0]
        for k in range(1, len(args), 2):
            atoms = self.monomials[args[k]]
            product = change(atoms[0])
            for atom in atoms[1:]:
                product = self.mul(product, change(atom))
            constant += self.add_terms(terms, product, args[k + 1])
        return self.sum(constant, terms, width)

    def truncate(self, e: int, width: int) -> int:
        """The low ``width`` bits."""
        old = self.widths[e]
        if width >= old:
            return e
        name = self.names[e]
        if name == SUM:
            return self.of_atoms(e, width, lambda atom: self.truncate(atom, width))
        if name in ("zext", "sext"):
            inner = self.args[e][0]
            return self.extend(inner, width, name == "sext")
        if name == "trunc":
            return self.truncate(self.args[e][0], width)
        low, high = self.low[e], self.high[e]
        if low >= 0 and high < 1 << width:
            return self.atom("trunc", width, (e,), "", low, high)
        return self.atom("trunc", width, (e,))

    # -- logic -------------------------------------------------------------------------------------------

    def negate(self, p: int) -> int:
        """The other truth value of a predicate: p + 1 modulo 2."""
        return self.scale(p, 1, 1)

    def both(self, a: int, b: int) -> int:
        """The conjunction of two predicates."""
        return self.logic("and", a, b)

    def either(self, a: int, b: int) -> int:
        """The disjunction of two predicates."""
        return self.negate(self.both(self.negate(a), self.negate(b)))

    def logic(self, name: str, a: int, b: int) -> int:
        """``and``, ``or`` or ``xor`` of two expressions of one width."""
        width = self.widths[a]
        if width == 1 and name == "or":
            return self.either(a, b)
        if width == 1 and name == "xor":
            return self.add(a, b)
        if a == b:
            return self.constant(0, width) if name == "xor" else a
        if self.is_constant(a):
            a, b = b, a
        mask = (1 << width) - 1
        first, second = self.value(a), self.value(b)
        if first >= 0:
            return self.constant(_bitwise(name, first, second), width)
        if second == 0:
            return b if name == "and" else a
        if second == mask:
            return a if name == "and" else b if name == "or" else self.complement(a)
        if name == "and" and second > 0:
            return self.masked(a, second)
        if name == "and" and width == 1 and self.add(a, b) == self.true:
            return self.false
        if name != "and" and self.disjoint(a, b):
            return self.add(a, b)
        low = high = 0
        if self.low[a] >= 0 and self.low[b] >= 0:
            high = min(self.high[a], self.high[b])
            if name != "and":
                high = (1 << max(self.high[a], self.high[b]).bit_length()) - 1
        else:
            high = mask
        return self.atom(name, width, (min(a, b), max(a, b)), "", low, high)

    def complement(self, a: int) -> int:
        """Every bit turned over: -a - 1."""
        return self.scale(a, -1, -1)

    def disjoint(self, a: int, b: int) -> bool:
        """Whether no bit can be one in both."""
        return (self.low[a] >= 0 and self.high[a] < 1 << self.zeros(b)) or (
            self.low[b] >= 0 and self.high[b] < 1 << self.zeros(a)
        )

    def masked(self, a: int, mask: int) -> int:
        """``a & mask``."""
        width = self.widths[a]
        bits = mask.bit_length()
        if mask == (1 << bits) - 1:
            low_part = self.remainder_bits(a, bits)
            if self.low[low_part] >= 0 and self.high[low_part] <= mask:
                return low_part
            if bits < width and self.zeros(low_part) >= bits:
                return self.constant(0, width)
            return self.atom("and", width, (low_part, self.constant(mask, width)), "", 0, mask)
        clear = (mask & -mask).bit_length() - 1
        if mask == ((1 << width) - 1) ^ ((1 << clear) - 1):
            # What is left of the low bits: a - (a & low bits).
            return self.sub(a, self.masked(a, (1 << clear) - 1))
        return self.atom("and", width, (a, self.constant(mask, width)), "", 0, mask)

    def remainder_bits(self, a: int, bits: int) -> int:
        """``a`` without the terms that are multiples of 2^bits."""
        if self.names[a] != SUM:
            return a
        args = self.args[a]
        low_mask = (1 << bits) - 1
        terms: Terms = {}
        for k in range(1, len(args), 2):
            if args[k + 1] & low_mask:
                terms[args[k]] = args[k + 1]
        constant = args[0] & low_mask
        return self.sum(constant, terms, self.widths[a])

    # -- shifts and division -----------------------------------------------------------------------------

    def shift_left(self, a: int, amount: int) -> int:
        """``a << amount``; an amount of the width and more gives 0."""
        width = self.widths[a]
        known = self.value(amount)
        if known >= 0:
            return self.constant(0, width) if known >= width else self.scale(a, 1 << known)
        return self.atom("shl", width, (a, amount))

    def shift_right(self, a: int, amount: int, is_signed: bool) -> int:
        """``a >> amount``; an amount of the width and more gives 0, or copies of the sign."""
        width = self.widths[a]
        known = self.value(amount)
        low, high = self.signed_range(a) if is_signed else self.unsigned_range(a)
        if low >= 0:
            is_signed = False
        if known < 0:
            return self.atom("ashr" if is_signed else "lshr", width, (a, amount))
        known = min(known, width - 1 if is_signed else width)
        if known == 0:
            return a
        if known == width:
            return self.constant(0, width)
        value = self.value(a)
        if value >= 0:
            return self.constant((signed(value, width) if is_signed else value) >> known, width)
        quotient = self.quotient_bits(a, known, is_signed)
        if quotient >= 0:
            return quotient
        return self.atom(
            "ashr" if is_signed else "lshr", width, (a, self.constant(known, 32)), "", low >> known, high >> known
        )

    def quotient_bits(self, a: int, bits: int, is_signed: bool) -> int:
        """``a >> bits`` as a sum, where the terms that are no multiples of 2^bits stay below it; -1 where not."""
        width = self.widths[a]
        if self.names[a] != SUM or not self.exact(a):
            return -1
        low, high = self.low[a], self.high[a]
        if not (high < 1 << width - 1 and (is_signed or low >= 0)):
            return -1
        rest = self.remainder_bits(a, bits)
        if not (self.low[rest] >= 0 and self.high[rest] < 1 << bits):
            return -1
        args = self.args[a]
        low_mask = (1 << bits) - 1
        terms: Terms = {}
        for k in range(1, len(args), 2):
            if not args[k + 1] & low_mask:
                terms[args[k]] = signed(args[k + 1], width) >> bits
        return self.sum(signed(args[0], width) >> bits, terms, width)

    def divide(self, name: str, a: int, b: int) -> int:
        """``udiv``, ``sdiv``, ``urem`` or ``srem``; by zero it is as PTX hardware has it (all ones; the dividend)."""
        width = self.widths[a]
        first, second = self.value(a), self.value(b)
        if first >= 0 and second > 0:
            return self.constant(divided(name, first, second, width), width)
        is_signed = name[0] == "s"
        low, high = self.signed_range(a) if is_signed else self.unsigned_range(a)
        below, above = self.signed_range(b) if is_signed else self.unsigned_range(b)
        if is_signed and low >= 0 and below >= 0:
            name = "u" + name[1:]
            is_signed = False
        if second > 0 and second & second - 1 == 0 and not is_signed:
            if name == "urem":
                return self.masked(a, second - 1) if second > 1 else self.constant(0, width)
            return self.shift_right(a, self.constant(second.bit_length() - 1, 32), False)
        if not is_signed and below > 0:
            if name == "udiv":
                return self.atom(name, width, (a, b), "", low // above, high // below)
            if high < below:
                return a
            return self.atom(name, width, (a, b), "", 0, min(high, above - 1))
        return self.atom(name, width, (a, b))

    # -- comparison and selection ------------------------------------------------------------------------

    def equal(self, a: int, b: int) -> int:
        """The predicate a == b."""
        difference = self.sub(a, b)
        known = self.value(difference)
        if known >= 0:
            return self.true if known == 0 else self.false
        width = self.widths[a]
        if width == 1:
            return self.negate(difference)
        low, high = self.low[difference], self.high[difference]
        if (low > 0 and high < 1 << width) or (high < 0 and low > -(1 << width)):
            return self.false
        opposite = self.scale(difference, -1)
        return self.atom("zero", 1, (min(difference, opposite),))

    def less(self, a: int, b: int, is_signed: bool) -> int:
        """The predicate a < b."""
        if a == b:
            return self.false
        low, high = self.signed_range(a) if is_signed else self.unsigned_range(a)
        below, above = self.signed_range(b) if is_signed else self.unsigned_range(b)
        if high < below:
            return self.true
        if low >= above:
            return self.false
        if is_signed and low >= 0 and below >= 0:
            is_signed = False
        return self.atom("slt" if is_signed else "ult", 1, (a, b))

    def select(self, p: int, a: int, b: int) -> int:
        """``a`` where the predicate holds, else ``b``."""
        if a == b:
            return a
        known = self.value(p)
        if known >= 0:
            return a if known else b
        width = self.widths[a]
        if width == 1:
            return self.either(self.both(p, a), self.both(self.negate(p), b))
        if self.names[p] == SUM:
            other = self.negate(p)
            if other < p:
                p, a, b = other, b, a
        low, high = min(self.low[a], self.low[b]), max(self.high[a], self.high[b])
        if low < 0 and high >= 1 << width - 1:
            low, high = 0, (1 << width) - 1
        return self.atom("select", width, (p, a, b), "", low, high)

    # -- parts -------------------------------------------------------------------------------------------

    def concatenated(self, parts: list[int]) -> int:
        """One number of several, the first lowest."""
        width = 0
        for part in parts:
            width += self.widths[part]
        out = self.constant(0, width)
        at = 0
        for part in parts:
            out = self.add(out, self.scale(self.extend(part, width, False), 1 << at))
            at += self.widths[part]
        return out

    def extracted(self, e: int, at: int, width: int) -> int:
        """Bits ``at .. at + width - 1``."""
        return self.truncate(self.shift_right(e, self.constant(at, 32), False), width)


def _bitwise(name: str, a: int, b: int) -> int:
    return a & b if name == "and" else a | b if name == "or" else a ^ b


def _product(low: int, high: int, least: int, most: int) -> tuple[int, int]:
    """The interval of the products of two intervals."""
    a, b, c, d = low * least, low * most, high * least, high * most
    return min(a, b, c, d), max(a, b, c, d)


def divided(name: str, a: int, b: int, width: int) -> int:
    """A quotient or remainder of numbers of so many bits; by zero all ones, and the dividend."""
    if b == 0:
        return -1 if name[1:] == "div" else a
    if name == "udiv":
        return a // b
    if name == "urem":
        return a % b
    x, y = signed(a, width), signed(b, width)
    quotient = abs(x) // abs(y)
    if (x < 0) != (y < 0):
        quotient = -quotient
    return quotient if name == "sdiv" else x - quotient * y
