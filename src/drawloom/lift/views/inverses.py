"""Inverts permutations of indices, as far as arithmetic proves it: reversals, shifts and transpositions.

A candidate is tried by composition: `f(g(i))` must simplify to `i`. A permutation of finitely many indices that has a
right inverse has no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from drawloom.lift.arithmetic import ONE, ArithmeticRefusal, Nat, as_nat, exact_div, index, simplify
from drawloom.lift.arithmetic.expression import FloorDivision, Remainder
from drawloom.lift.arithmetic.substitution import operands_of
from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.views.views import UnsupportedView

Order = Callable[[Nat], Nat]


def invert(function: IndexFunction, length: Nat) -> Order:
    """Return the inverse of a permutation of the indices of an array.

    Raises:
        UnsupportedView: No inverse is found.

    Example:
        >>> from drawloom.lift.arithmetic import variable
        >>> from drawloom.lift.language.index_functions import index_function
        >>> n, m = variable("N"), variable("M")
        >>> transposition = index_function(lambda i: i // m + (i % m) * n)
        >>> print(invert(transposition, n * m)(index("j", n * m)))
        M*(j mod N) + j/N
    """
    if simplify(length) is ONE:
        return lambda at: at
    probe = index("probe", length)
    for candidate in candidates(function, length):
        try:
            if function.at(candidate(probe), length) is probe or candidate(function.at(probe, length)) is probe:
                return candidate
        except ArithmeticRefusal:
            continue
    raise UnsupportedView(
        f"its index function i → {function.body} would have to be inverted here, which is only done for reversals, "
        "shifts and transpositions, such as n - 1 - i, (i + 1) mod n and i/M + (i mod M)*N; write the other of gather "
        "and scatter"
    )


def candidates(function: IndexFunction, length: Nat) -> Iterator[Order]:
    """Yield what may be the inverse of a permutation."""
    yield lambda at: function.at(at, length)
    first = function.at(as_nat(0), length)
    yield lambda at: (at + length - first) % length
    probe = index("probe", length)
    order = function.at(probe, length)
    if isinstance(order, Remainder) and order.right is length:
        offset = order.left - probe
        yield lambda at: (at - offset) % length
    for rows in divisors(order):
        try:
            columns = exact_div(length, rows)
        except ArithmeticRefusal:
            continue
        yield transposition(rows, columns)


def transposition(rows: Nat, columns: Nat) -> Order:
    return lambda at: at // columns + (at % columns) * rows


def divisors(node: Nat) -> Iterator[Nat]:
    """Yield what an expression divides by."""
    if isinstance(node, FloorDivision | Remainder):
        yield node.right
    for operand in operands_of(node):
        yield from divisors(operand)
