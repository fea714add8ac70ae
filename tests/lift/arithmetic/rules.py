"""The rules of Lift's arithmetic as data: what each makes of an expression, for which variables.

`test_rules.py` checks that the simplifier applies each, that z3 proves each for all values, and that docs/lift.md lists
each. A variable's range is its start and stop, "" for no upper end.
"""

from __future__ import annotations

from collections.abc import Mapping

from drawloom.lift import arithmetic
from drawloom.lift.arithmetic import Nat, Variable


class Rule:
    """A rule by one instance: `before` becomes `after`. `ranges` overrides the ranges of `DEFAULT`."""

    def __init__(self, name: str, before: str, after: str, ranges: Mapping[str, tuple[str, str]] | None = None) -> None:
        self.name = name
        self.before = before
        self.after = after
        self.ranges = {**DEFAULT, **(ranges or {})}

    def variables(self) -> dict[str, Variable]:
        """Return new variables by name, lengths first."""
        made: dict[str, Variable] = {}
        known: dict[str, Nat] = {}
        for name, (start, stop) in self.ranges.items():
            made[name] = arithmetic.variable(
                name, arithmetic.parse(start, known), arithmetic.parse(stop, known) if stop else None
            )
            known[name] = made[name]
        return made


#: Lengths, indices below a length or a constant, and integers of any sign (from a very small start).
DEFAULT: Mapping[str, tuple[str, str]] = {
    "N": ("1", ""),
    "M": ("1", ""),
    "K": ("1", ""),
    "i": ("0", "N"),
    "j": ("0", "M"),
    "k": ("0", "4"),
    "x": ("0", ""),
    "y": ("0", ""),
    "z": ("-1000000", ""),
}

RULES = (
    Rule("4.1: a quotient of less than the divisor is zero", "i/N", "0"),
    Rule("4.2: multiples leave a quotient", "(x*N + y)/N", "x + y/N"),
    Rule("4.2, with a constant divisor", "(7*x + 5)/4", "x + (3*x + 1)/4 + 1"),
    Rule("4.3: a remainder of less than the divisor is itself", "i mod N", "i"),
    Rule("4.4: quotient and remainder rejoin", "(x/N)*N + x mod N", "x"),
    Rule("4.4, times a factor", "M*N*(x/N) + M*(x mod N)", "M*x"),
    Rule("4.4, reversed", "x - N*(x/N)", "x mod N"),
    Rule("4.5: multiples leave no remainder", "(x*N) mod N", "0"),
    Rule("4.6: multiples leave a remainder", "(x*N + y) mod N", "y mod N"),
    Rule("4.6, with a constant divisor", "(7*x + 5) mod 4", "(3*x + 1) mod 4"),
    Rule("a flattened index divides", "(x*M + j)/M", "x"),
    Rule("a flattened index, its remainder", "(x*M + j) mod M", "j"),
    Rule("division by a sum, as for padded rows", "(x*(N + 2) + i)/(N + 2)", "x"),
    Rule("remainder by a sum", "(x*(N + 2) + i) mod (N + 2)", "i"),
    Rule("just below zero, the quotient is -1", "(i - N)/N", "-1"),
    Rule("just below zero, the remainder", "(i - N) mod N", "i"),
    Rule("a common factor cancels", "(M*x)/(M*N)", "x/N"),
    Rule("a common factor leaves the remainder", "(4*x) mod (4*N)", "4*(x mod N)"),
    Rule("the divisor splits where its part bounds the rest", "(4*x + k)/(4*N)", "x/N"),
    Rule("the divisor splits, the remainder", "(4*x + k) mod (4*N)", "4*(x mod N) + k"),
    Rule("the divisor splits at a length", "(M*x + j)/(M*N)", "x/N"),
    Rule("the divisor splits at a length, the remainder", "(M*x + j) mod (M*N)", "M*(x mod N) + j"),
    Rule("a quotient of a quotient", "(x/N)/M", "x/(M*N)"),
    Rule("a quotient of a remainder", "(x mod (M*N))/N", "(x/N) mod M"),
    Rule("a remainder of a remainder", "(x mod (M*N)) mod N", "x mod N"),
    Rule("a remainder by the same divisor, whatever its sign: the quotient", "(x mod (z + N))/(z + N)", "0"),
    Rule("a remainder by the same divisor, its remainder", "(x mod (z + N)) mod (z + N)", "x mod (N + z)"),
    Rule("counting down: the quotient", "(-1 - x)/N", "-(x/N) - 1"),
    Rule("counting down: the remainder", "(-1 - x) mod N", "N - x mod N - 1"),
    Rule("a reversed array, split", "(4*N - 1 - x)/4", "N - x/4 - 1"),
    Rule("a negative divisor: the quotient", "z/(-4)", "-((z + 3)/4)"),
    Rule("a negative divisor: the remainder", "z mod (-4)", "(z + 3) mod 4 - 3"),
    Rule("exact division cancels", "(N/^4)*4", "N"),
    Rule("exact division cancels in part", "(N/^4)*2", "N/^2"),
    Rule("exact division of an exact quotient", "(N/^2)/^4", "N/^8"),
    Rule("exact division cancels a factor", "(N/^M)*M", "N"),
    Rule("exact division cancels a sum", "(x/^(M + 1))*(M + 1)", "x"),
    Rule("exact division takes whole terms out", "(4*x + N)/^4", "x + N/^4"),
    Rule("an index below an exact quotient", "(p*4 + k)/N", "0", {"p": ("0", "N/^4")}),
    Rule("division by an exact quotient", "(2*x*(N/^4) + p)/(N/^4)", "2*x", {"p": ("0", "N/^4")}),
    Rule(
        "the window of a slide stays in bounds",
        "(2*w + t) mod N",
        "2*w + t",
        {"w": ("0", "(N - 1)/2"), "t": ("0", "3")},
    ),
    Rule("minimum of ordered operands", "min(i, N)", "i"),
    Rule("maximum of ordered operands", "max(i, N, 0)", "N"),
    Rule("nested minimum", "min(min(x, y), N + x)", "min(x, y)"),
    Rule("a condition that the ranges decide", "(i < N ? x : y)", "x"),
    Rule("a clamped index is in bounds", "(z < 0 ? 0 : (z < N ? z : N - 1))/N", "0"),
    Rule("a constant beside an exponent", "2^(x + 3)", "8*2^x"),
    Rule("powers of one base", "2^x*2^y", "2^(x + y)"),
)
