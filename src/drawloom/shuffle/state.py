"""What is known along one flow: registers, the conditions of the branches taken, and the loads whose values still hold.

State ::= register -> expression, predicate -> truth, place in memory -> accesses, memory version
"""

from __future__ import annotations

from typing import Final

from drawloom.shuffle.expressions import SUM, Expressions
from drawloom.shuffle.overlaps import Overlap

#: Where a load's value is found again: kind of memory, element bits, what the address is modulo the lane's stride, and
#: how many strides it is away from that (see ``decide.place``).
Place = tuple[str, int, int, int]


#: What ended the value of a load: a store, others' writes that become visible, a loop that is entered and writes, one
#: that is left; or it never was one for all lanes, under a guard, or is none on all ways that join.
WRITTEN: Final = 0
VISIBLE: Final = 1
ENTERED: Final = 2
LEFT: Final = 3
GUARDED: Final = 4
JOINED: Final = 5


class Ending:
    """Access ``number`` was a source no longer, at element ``element`` and ``place``; ``by`` is the number of the store
    (``WRITTEN``), or the place of the instruction (``VISIBLE``)."""

    def __init__(self, place: Place, number: int, element: int, kind: int, by: int = -1) -> None:
        self.place = place
        self.number = number
        self.element = element
        self.kind = kind
        self.by = by


#: Endings that are kept for the reasons why loads have no source, the last ones; they may be twice as many for a while.
_MOST_ENDINGS: Final = 128


class State:
    """One flow. ``env[r]`` is the expression in register ``r`` (the carry flag behind the last), -1 where it was never
    written; ``conditions`` has predicates (atoms) that are decided; ``available`` has by place the accesses, with the
    element, that nothing has overwritten since, ``endings`` the last of those that something has; ``apart`` says that
    the lanes on this flow may see the memory at different times."""

    def __init__(
        self, env: list[int], conditions: dict[int, bool], available: dict[Place, tuple[tuple[int, int], ...]],
        version: int, endings: list[Ending], apart: bool = False,
    ) -> None:  # fmt: skip
        #: By number of an access, what has to be tested for its value to hold behind stores.
        self.tests: dict[int, tuple[Overlap, ...]] = {}
        self.env = env
        self.conditions = conditions
        self.available = available
        self.version = version
        self.endings = endings
        self.apart = apart

    def copy(self) -> State:
        endings = self.endings[-_MOST_ENDINGS:]
        out = State(list(self.env), dict(self.conditions), dict(self.available), self.version, endings, self.apart)
        out.tests = dict(self.tests)
        return out

    def add_tests(self, other: State) -> None:
        """Take the tests of another flow, too."""
        for number, tests in other.tests.items():
            known = self.tests.get(number, ())
            self.tests[number] = (*known, *[test for test in tests if test not in known])

    def end(self, ending: Ending) -> None:
        """Remember why a load is a source no longer."""
        self.endings.append(ending)
        if len(self.endings) > 2 * _MOST_ENDINGS:
            del self.endings[:-_MOST_ENDINGS]


def assume(x: Expressions, conditions: dict[int, bool], predicate: int, truth: bool) -> None:
    """Note that a predicate holds, or does not, and what follows from that for its parts."""
    stack = [(predicate, truth)]
    while stack:
        predicate, truth = stack.pop()
        atom, same = atom_of(x, predicate)
        if atom < 0:
            continue
        truth = truth == same
        conditions[atom] = truth
        if x.names[atom] == "and" and truth:
            for part in x.args[atom]:
                stack.append((part, True))


def decided(x: Expressions, conditions: dict[int, bool], predicate: int) -> int:
    """1 or 0 where the predicate is known to hold or not to, -1 otherwise."""
    known = x.value(predicate)
    if known >= 0:
        return known
    atom, same = atom_of(x, predicate)
    if atom < 0:
        return -1
    found = conditions.get(atom)
    if found is not None:
        return 1 if found == same else 0
    name = x.names[atom]
    if name == "and":
        parts = [decided(x, conditions, part) for part in x.args[atom]]
        if 0 in parts:
            return 0 if same else 1
        return -1 if -1 in parts else (1 if same else 0)
    if name in ("slt", "ult"):
        a, b = x.args[atom]
        low, high = within(x, conditions, a, name == "slt")
        below, above = within(x, conditions, b, name == "slt")
        if high < below:
            return 1 if same else 0
        if low >= above:
            return 0 if same else 1
    return -1


def atom_of(x: Expressions, predicate: int) -> tuple[int, bool]:
    """``(atom, True)``, or ``(atom, False)`` for its negation; -1 for a sum of several."""
    if x.names[predicate] != SUM:
        return predicate, True
    args = x.args[predicate]
    if len(args) != 3 or len(x.monomials[args[1]]) != 1:
        return -1, True
    return x.monomials[args[1]][0], args[0] == 0


#: Conditions that are looked at for a range, the last ones.
_MOST_CONDITIONS: Final = 64


def within(x: Expressions, conditions: dict[int, bool], e: int, is_signed: bool) -> tuple[int, int]:
    """Between which numbers ``e`` is, read as signed or unsigned, where the conditions hold."""
    width = x.widths[e]
    low, high = x.signed_range(e) if is_signed else x.unsigned_range(e)
    least, most = (-1 << width - 1, (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    count = 0
    for atom in reversed(conditions):
        count += 1
        if count > _MOST_CONDITIONS:
            break
        truth = conditions[atom]
        name = x.names[atom]
        if name not in ("slt", "ult"):
            continue
        a, b = x.args[atom]
        if x.widths[a] != width or (name == "slt" and not is_signed):
            continue
        mixed = name == "ult" and is_signed
        for side, other, is_first in ((a, b, True), (b, a, False)):
            if mixed and not (is_first and truth and x.unsigned_range(other)[1] <= most):
                continue  # below a number without a sign it has none either; nothing else is known
            distance = x.distance(side, e)
            if distance < 0:
                continue
            # side = e + distance is below (or above) the other one's bounds
            below, above = x.signed_range(other) if is_signed else x.unsigned_range(other)
            if mixed:
                start, end = 0, above - 1
            elif is_first:
                start, end = (least, above - 1) if truth else (below, most)
            else:
                start, end = (below + 1, most) if truth else (least, above)
            if distance > (1 << width - 1):
                distance -= 1 << width
            start, end = start - distance, end - distance
            if least <= start and end <= most:  # else e + distance may wrap where e does not
                low, high = max(low, start), min(high, end)
    return low, high


def same_but_conditions(a: State, b: State, registers: list[int]) -> bool:
    """Whether two flows go on in the same way: equal in the registers that are read from here on, and in memory."""
    if a.version != b.version or a.apart != b.apart or a.available != b.available or a.tests != b.tests:
        return False
    return all(a.env[r] == b.env[r] for r in registers)


def exclusive(x: Expressions, a: dict[int, bool], b: dict[int, bool]) -> bool:
    """Whether no warp has lanes on both of two flows: they differ in a condition that its lanes share."""
    for atom, truth in a.items():
        other = b.get(atom)
        if other is not None and other != truth and not x.varies[atom]:
            return True
    return False


def common_conditions(a: dict[int, bool], b: dict[int, bool]) -> dict[int, bool]:
    """What holds in both flows."""
    return {atom: truth for atom, truth in a.items() if b.get(atom) == truth}
