"""Equalities of the validator's terms by their form, so that the solver is asked about conditions and indices only, and
not about whole addresses or loads.

Two terms are equal if

- a condition that the facts decide leaves one branch of each, and these are equal;
- they are the same function, or parts of the same function, of equal terms;
- they are the same polynomial modulo 2^w, where ``ext(p + d)`` is ``ext(p) + d`` if the solver says so;
- the solver says so, with loads and products taken for numbers that nobody knows; first with whole sums taken for a
  number that nobody knows and a known one, so that an index and the test of it are about one number.

All of these can only fail to prove what is true: a no is no counterexample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bitwuzla
from bitwuzla import Kind

if TYPE_CHECKING:
    from tests.shuffle.terms import Terms

Term = Any
#: The sum of products of terms, by their numbers; the constant has no factors.
Polynomial = dict[tuple[int, ...], int]
_EXTENSIONS = (Kind.BV_ZERO_EXTEND, Kind.BV_SIGN_EXTEND)
_PARTS = (Kind.BV_EXTRACT, Kind.BV_CONCAT, *_EXTENSIONS)
_OPAQUE = (Kind.APPLY, Kind.BV_MUL, Kind.BV_UDIV, Kind.BV_UREM, Kind.BV_SDIV, Kind.BV_SREM)
_SUMS = (Kind.BV_ADD, Kind.BV_SUB, Kind.BV_NEG, Kind.BV_MUL, Kind.BV_SHL)
#: Larger sums than that are left to the solver.
_MOST_PRODUCTS = 64


class Equalities:
    """What is equal where some facts hold.

    Nothing here refers back to what refers to it: Python's collector frees a cycle in any order, and the solver's terms
    must go before their manager.
    """

    def __init__(self, terms: Terms, facts: list[Term]) -> None:
        self.terms = terms
        self.sums = _Sums()
        facts = [*terms.always, *facts]
        #: With sums as numbers that nobody knows, and with sums as they are.
        self.views = (_View(terms, facts, self.sums), _View(terms, facts, None))
        self.pairs: dict[tuple[Term, Term], bool] = {}

    def holds(self, claim: Term) -> bool:
        """Whether the solver can show that a claim follows from the facts."""
        return any(view.holds(claim) for view in self.views)

    def is_impossible(self) -> bool:
        """Whether the facts contradict each other."""
        return self.holds(self.terms.manager.mk_false())

    # -- equality ------------------------------------------------------------------------------------------

    def equal(self, first: Term, second: Term) -> bool:
        """Whether two terms can be shown to be equal."""
        if first == second:
            return True
        if (first, second) not in self.pairs:
            self.pairs[first, second] = self.compared(self.resolved(first), self.resolved(second))
        return self.pairs[first, second]

    def compared(self, first: Term, second: Term) -> bool:
        if first == second:
            return True
        for whole, other in ((first, second), (second, first)):
            if whole.kind() == Kind.BV_CONCAT and other.kind() != Kind.BV_CONCAT:
                return self.are_parts(whole.children(), other)
        if first.kind() == second.kind() and first.kind() in (Kind.APPLY, *_PARTS):
            if self.are_same_function(first, second):
                return True
            if first.kind() == Kind.APPLY:
                return False
        if first.sort().is_bv() and self.are_same_sum(first, second):
            return True
        return self.holds(self.terms.equal(first, second))

    def are_same_function(self, first: Term, second: Term) -> bool:
        if first.num_children() != second.num_children() or list(first.indices()) != list(second.indices()):
            return False
        pairs = list(zip(first.children(), second.children(), strict=True))
        return all(a.sort() == b.sort() for a, b in pairs) and all(self.equal(a, b) for a, b in pairs)

    def are_parts(self, parts: list[Term], whole: Term) -> bool:
        """Whether some terms, the highest first, are the bits of another."""
        high = whole.sort().bv_size()
        for part in parts:
            low = high - part.sort().bv_size()
            if not self.equal(part, self.terms.make(Kind.BV_EXTRACT, [whole], [high - 1, low])):
                return False
            high = low
        return True

    def resolved(self, term: Term) -> Term:
        """A term without the branches that the facts rule out, and without parts of what was put together."""
        kind = term.kind()
        if kind == Kind.ITE:
            condition, then, other = term.children()
            for view in self.views:
                if view.holds(condition):
                    return self.resolved(then)
                if view.holds(self.terms.make(Kind.NOT, [condition])):
                    return self.resolved(other)
            return term
        if kind not in _PARTS:
            return term
        children = [self.resolved(child) for child in term.children()]
        if kind == Kind.BV_EXTRACT:
            return self.extracted(children[0], *term.indices())
        return self.terms.make(kind, children, list(term.indices()))

    def extracted(self, term: Term, high: int, low: int) -> Term:
        size = term.sort().bv_size()
        if high - low + 1 == size:
            return term
        if term.kind() == Kind.BV_EXTRACT:
            return self.extracted(term.children()[0], high + term.indices()[1], low + term.indices()[1])
        if term.kind() in _EXTENSIONS and high < term.children()[0].sort().bv_size():
            return self.extracted(term.children()[0], high, low)
        if term.kind() == Kind.BV_CONCAT:
            start = size
            for part in term.children():
                start -= part.sort().bv_size()
                if start <= low and high < start + part.sort().bv_size():
                    return self.extracted(part, high - start, low - start)
        return self.terms.make(Kind.BV_EXTRACT, [term], [high, low])

    # -- sums ----------------------------------------------------------------------------------------------

    def are_same_sum(self, first: Term, second: Term) -> bool:
        size = first.sort().bv_size()
        difference = self.sums.difference(first, second)
        while difference:
            found = self.one_extension(difference, size)
            if found is None:
                return False
            difference = found
        return True

    def one_extension(self, sum: Polynomial, size: int) -> Polynomial | None:
        """A sum with one extended index expressed by another one, if there are such."""
        mask = (1 << size) - 1
        places = sorted({atom for product in sum for atom in product if self.sums.atoms[atom].kind() in _EXTENSIONS})
        for k, near in enumerate(places):
            for far in places[k + 1 :]:
                distance = self.distance(self.sums.atoms[far], self.sums.atoms[near])
                if distance is None:
                    continue
                out: Polynomial = {}
                for product, factor in sum.items():
                    if far not in product:
                        out[product] = (out.get(product, 0) + factor) & mask
                        continue
                    rest = list(product)
                    rest.remove(far)
                    for part, times in ((tuple(sorted([*rest, near])), 1), (tuple(rest), distance)):
                        out[part] = (out.get(part, 0) + factor * times) & mask
                return {product: factor for product, factor in out.items() if factor}
        return None

    def distance(self, far: Term, near: Term) -> int | None:
        """By how much one extended index is always more than another."""
        if far.kind() != near.kind() or far.sort() != near.sort():
            return None
        a, b = far.children()[0], near.children()[0]
        if a.sort() != b.sort():
            return None
        size = a.sort().bv_size()
        difference = self.sums.difference(a, b)
        constant = difference.pop((), 0)
        if difference:
            return None
        if constant >> size - 1:
            constant -= 1 << size
        more = self.terms.make(Kind.BV_ADD, [b, self.terms.number(constant, size)])
        kind, indices, wide = far.kind(), list(far.indices()), far.sort().bv_size()
        claim = self.terms.equal(
            self.terms.make(kind, [more], indices),
            self.terms.make(Kind.BV_ADD, [near, self.terms.number(constant, wide)]),
        )
        return constant if self.holds(claim) else None


class _Sums:
    """Terms as sums of products; ``atoms`` are the terms that products are of, by their numbers."""

    def __init__(self) -> None:
        self.numbers: dict[Term, int] = {}
        self.atoms: list[Term] = []

    def of(self, term: Term) -> Polynomial:
        """A term as a sum of products modulo 2^w."""
        size, kind, children = term.sort().bv_size(), term.kind(), term.children()
        mask = (1 << size) - 1
        if term.is_value():
            return {(): int(term.value(10))}
        if kind in _EXTENSIONS and children[0].is_value():
            number, old = int(children[0].value(10)), children[0].sort().bv_size()
            is_negative = kind == Kind.BV_SIGN_EXTEND and number >> old - 1
            return {(): (number - (1 << old) if is_negative else number) & mask}
        if kind in (Kind.BV_ADD, Kind.BV_SUB, Kind.BV_NEG):
            out: Polynomial = {}
            for k, child in enumerate(children):
                sign = -1 if kind == Kind.BV_NEG or (kind == Kind.BV_SUB and k) else 1
                for product, factor in self.of(child).items():
                    out[product] = (out.get(product, 0) + sign * factor) & mask
            return out
        if kind == Kind.BV_SHL and children[1].is_value():
            amount = int(children[1].value(10))
            return {p: f << amount & mask for p, f in self.of(children[0]).items()} if amount < size else {}
        if kind == Kind.BV_MUL and len(children) == 2:
            a, b = self.of(children[0]), self.of(children[1])
            if len(a) * len(b) <= _MOST_PRODUCTS:
                out = {}
                for p, f in a.items():
                    for q, g in b.items():
                        product = tuple(sorted([*p, *q]))
                        out[product] = (out.get(product, 0) + f * g) & mask
                return out
        return {(self.atom(term),): 1}

    def difference(self, first: Term, second: Term) -> Polynomial:
        """What one sum is more than another, without what is 0 of it."""
        mask = (1 << first.sort().bv_size()) - 1
        out = dict(self.of(first))
        for product, factor in self.of(second).items():
            out[product] = (out.get(product, 0) - factor) & mask
        return {product: factor for product, factor in out.items() if factor}

    def atom(self, term: Term) -> int:
        if term.kind() in _EXTENSIONS:
            term = self.same_extension(term)
        if term not in self.numbers:
            self.numbers[term] = len(self.atoms)
            self.atoms.append(term)
        return self.numbers[term]

    def same_extension(self, term: Term) -> Term:
        """An extension of the same sum that was met before, else this one."""
        inner = term.children()[0]
        for other in self.atoms:
            if other.kind() == term.kind() and other.sort() == term.sort():
                index = other.children()[0]
                if index.sort() == inner.sort() and not self.difference(index, inner):
                    return other
        return term


class _View:
    """The facts for the solver, with less in them than they say; with ``sums`` these are numbers that nobody knows."""

    def __init__(self, terms: Terms, facts: list[Term], sums: _Sums | None) -> None:
        self.terms = terms
        self.facts = facts
        self.sums = sums
        self.solver: Any = None
        self.plain: dict[Term, Term] = {}
        self.known: dict[tuple[int, frozenset[tuple[tuple[int, ...], int]]], Term] = {}
        self.answers: dict[Term, bool] = {}

    def holds(self, claim: Term) -> bool:
        if claim not in self.answers:
            if self.solver is None:
                self.solver = self.terms.solver()
                for fact in self.facts:
                    self.solver.assert_formula(self.abstract(fact))
            self.solver.push()
            self.solver.assert_formula(self.terms.make(Kind.NOT, [self.abstract(claim)]))
            self.answers[claim] = self.terms.check(self.solver) == bitwuzla.Result.UNSAT
            self.solver.pop()
        return self.answers[claim]

    def abstract(self, term: Term) -> Term:
        """A term with numbers that nobody knows in the place of loads, and of products and quotients without a number
        among their factors; but for those of the block's extents, which are small and say if lanes are in a row."""
        known = self.plain.get(term)
        if known is None:
            known = self.plain[term] = self.abstracted(term)
        return known

    def abstracted(self, term: Term) -> Term:
        kind, children = term.kind(), term.children()
        if not children or self.is_about_shape(term):
            return term
        if self.sums is not None and kind in _SUMS:
            return self.summed(term, self.sums)
        if kind in _OPAQUE and not any(child.is_value() for child in children):
            return self.unknown(term.sort().bv_size())
        made = [self.abstract(child) for child in children]
        return self.terms.make(kind, made, list(term.indices())) if made != children else term

    def summed(self, term: Term, sums: _Sums) -> Term:
        """A sum as a number that nobody knows, one for all sums that differ by a known number, and that number."""
        size = term.sort().bv_size()
        products = {product: factor for product, factor in sums.of(term).items() if factor}
        constant = self.terms.number(products.pop((), 0), size)
        if not products:
            return constant
        [product, factor], *others = products.items()
        if not others and factor == 1 and len(product) == 1:
            atom = sums.atoms[product[0]]
            out = self.unknown(size) if atom.kind() in _SUMS else self.abstract(atom)
        else:
            key = (size, frozenset(products.items()))
            if key not in self.known:
                self.known[key] = self.unknown(size)
            out = self.known[key]
        return self.terms.make(Kind.BV_ADD, [out, constant])

    def unknown(self, size: int) -> Term:
        return self.terms.manager.mk_const(self.terms.manager.mk_bv_sort(size))

    def is_about_shape(self, term: Term) -> bool:
        if term.is_const():
            return term in self.terms.extents
        if term.kind() == Kind.APPLY:
            return False
        return term.is_value() or all(self.is_about_shape(child) for child in term.children())
