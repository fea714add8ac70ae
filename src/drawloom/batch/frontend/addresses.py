"""Index values as polynomials in run-time numbers with a coefficient for each lane, so that accesses can be classified.

    before: %5 = add (mul group, 16), <0, 1, 2, 3>        after: 16 * group + <0, 1, 2, 3>

Arithmetic of 64 bits is exact modulo 2^64, as addresses are. An index of 32 bits is widened exactly while it does not
wrap: polynomials in the group's id alone say for how many groups that holds, and others only pass where C leaves signed
overflow undefined.
"""

from __future__ import annotations

import numpy as np

from drawloom.batch.ir.ir import Lanes, Term, Value

Monomial = tuple[str, ...]


class Polynomial:
    """Lane l is offsets[l] + sum of coefficients[l] * product of run-time numbers. Arrays are int64."""

    __slots__ = ("offsets", "terms")

    def __init__(self, offsets: Lanes, terms: dict[Monomial, Lanes]) -> None:
        self.offsets = offsets
        self.terms = {monomial: lanes for monomial, lanes in terms.items() if lanes.any()}

    def sorted_terms(self) -> tuple[Term, ...]:
        return tuple(Term(monomial, self.terms[monomial]) for monomial in sorted(self.terms))


class Addresses:
    """The polynomials of a kernel's integer values. `most_groups` is for how many groups all of them hold."""

    def __init__(self) -> None:
        self.known: dict[int, Polynomial | None] = {}
        self.most_groups = 2**40

    def polynomial(self, value: Value) -> Polynomial | None:
        """Return the polynomial of an integer register, None where it is not one."""
        if value.number not in self.known:
            with np.errstate(over="ignore"):
                self.known[value.number] = self.derive(value)
        return self.known[value.number]

    def derive(self, value: Value) -> Polynomial | None:
        nothing = np.zeros(value.format, np.int64)
        ones = np.ones(value.format, np.int64)
        if value.is_constant:
            return None if value.type in ("float", "double") else Polynomial(value.detail.astype(np.int64), {})
        if value.op == "group":
            return Polynomial(nothing, {("group",): ones})
        if value.op == "argument" and value.type in ("i32", "i64"):
            return Polynomial(nothing, {(value.detail,): ones})
        if value.op not in ("add", "sub", "mul", "shl", "permute", "sext", "zext", "trunc"):
            return None
        operands = [self.polynomial(operand) for operand in value.operands]
        first = operands[0]
        if first is None or operands[-1] is None:
            return None
        if value.op == "permute":
            lanes = value.detail.clip(0)
            terms = {monomial: row.reshape(-1)[lanes] for monomial, row in first.terms.items()}
            return Polynomial(first.offsets.reshape(-1)[lanes], terms)
        if value.op == "trunc":
            return first
        if value.op in ("sext", "zext"):
            return self.widen(first, value.operands[0].type, value.op)
        return combine(value.op, first, operands[-1])

    def widen(self, narrow: Polynomial, type: str, op: str) -> Polynomial | None:
        if type != "i32":
            return None
        if any(monomial != ("group",) for monomial in narrow.terms):
            return narrow if op == "sext" else None
        lowest, highest = (-(2**31), 2**31 - 1) if op == "sext" else (0, 2**32 - 1)
        slope = narrow.terms.get(("group",))
        offsets = narrow.offsets
        if (offsets < lowest).any() or (offsets > highest).any() or (slope is not None and (slope < 0).any()):
            return None
        if slope is not None:
            rising = slope > 0
            room = (highest - offsets[rising]) // slope[rising]
            self.most_groups = min(self.most_groups, int(room.min()) + 1)
        return narrow


def combine(op: str, left: Polynomial, right: Polynomial) -> Polynomial | None:
    if op in ("add", "sub"):
        sign = 1 if op == "add" else -1
        terms = dict(left.terms)
        for monomial, lanes in right.terms.items():
            terms[monomial] = terms[monomial] + sign * lanes if monomial in terms else sign * lanes
        return Polynomial(left.offsets + sign * right.offsets, terms)
    if op == "shl":
        if right.terms:
            return None
        right = Polynomial(np.left_shift(np.int64(1), right.offsets), {})
    product: dict[Monomial, Lanes] = {}
    for one, lanes in [((), left.offsets), *left.terms.items()]:
        for other, more in [((), right.offsets), *right.terms.items()]:
            monomial = tuple(sorted((*one, *other)))
            product[monomial] = product.get(monomial, np.int64(0)) + lanes * more
    return Polynomial(product.pop(()), product)
