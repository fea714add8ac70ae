"""From the ways that flows come to each load to the candidates that hold in all of them (seed 003, section 5.1).

Lanes may come to a load on different flows. So a candidate has to hold for every pair of them, one lane on the one and
the other lane on the other, unless a condition that all lanes share tells the two flows apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import dominators
from drawloom.ptx.ir import Address, Register
from drawloom.shuffle.decide import UNTESTABLE, Requirement
from drawloom.shuffle.expressions import SUM, Expressions
from drawloom.shuffle.facts import ALONG_X, DISTINCT, LANES_ALONG_X, LOCKSTEP, NO_WRAP, Access, Assumption, Candidate
from drawloom.shuffle.frame import Frame
from drawloom.shuffle.meetings import Meetings
from drawloom.shuffle.reasons import reason
from drawloom.shuffle.show import show
from drawloom.shuffle.state import assume, exclusive, within
from drawloom.shuffle.threads import Threads
from drawloom.shuffle.trail import Instance, Trail

#: Candidates of one load that are worked out; those with the smallest distance come first.
_MOST_OPTIONS: Final = 12
#: Bits of the narrowest registers that ``setp`` compares (PTX ISA 9.0, section 9.7.3).
_LEAST_COMPARED: Final = 16
#: Narrower sums are made by conversions, which wrap as they are meant to.
_WIDTH_OF_INT: Final = 32


class Finder:
    """Works out the candidates of one function's loads."""

    def __init__(self, trail: Trail, frame: Frame, cfg: Cfg, threads: Threads) -> None:
        self.trail = trail
        self.frame = frame
        self.cfg = cfg
        self.x: Expressions = trail.x
        self.tree = dominators(cfg)
        self.meetings = Meetings(trail.rounds, self.tree)
        self._texts: dict[int, str] = {}
        self._writes: list[int] = []
        self.threads = threads
        self._found: dict[tuple[int, int, int, int], Candidate | None] = {}

    def find(self, at: int, excluded: set[int]) -> Iterator[Candidate]:
        """The candidates of the load ``function.body[at]``, the smallest distance first, without some sources."""
        if at in self.trail.refused:
            return  # on one of the ways that come here
        instances = self.trail.instances.get(at, [])
        common: dict[tuple[int, int, int], int] = {}
        for instance in instances:
            for key in {(s.access.at, s.element, s.delta) for s in instance.sources}:
                common[key] = common.get(key, 0) + 1
        keys = [key for key, count in common.items() if count == len(instances) and key[0] not in excluded]
        kept = {s.access.at for one in instances for s in one.sources if s.tests}
        keys.sort(key=lambda key: (abs(key[2]), key[0] in kept, key[0], key[1], key[2]))
        count = 0
        for source, element, delta in keys:
            pair = (at, source, element, delta)
            if pair not in self._found:
                self._found[pair] = self.candidate(at, source, element, delta, instances)
            candidate = self._found[pair]
            if candidate is not None:
                yield candidate
                count += 1
                if count >= _MOST_OPTIONS:
                    return

    def why(self, at: int) -> str:
        """Why a load has no candidate."""
        why = reason(self.trail, at)
        if not self.frame.is_shape_known or self.frame.lanes_along_x or not self.threads.by_thread.reaches(at):
            return why
        extents = " x ".join([str(extent) for extent in self.frame.extents])
        return f"{why}; in a block of {extents} threads the lanes of a warp do not count along x"

    def candidate(self, at: int, source: int, element: int, delta: int, instances: list[Instance]) -> Candidate | None:
        """A candidate with what it rests on, None where it does not hold in some flow."""
        chosen = [(instance, instance.source(source, element, delta)) for instance in instances]
        givers = [*chosen, *[(idle, idle.source(source, element, delta)) for idle in self.trail.idle.get(at, [])]]
        assumptions: dict[tuple[object, ...], Assumption] = {}
        for instance, own in chosen:
            conditions = self.taking(instance)
            for other, found in givers:
                mixed = other is not instance
                if mixed and (delta == 0 or exclusive(self.x, conditions, other.conditions)):
                    continue
                if found is None or own is None:
                    return None
                if mixed and found.access.address == own.access.address:
                    continue
                offset = element * found.access.element_bytes
                needed = self.trail.decider.requirements(found.access.address, instance.access.address, delta, offset)
                if needed is None:
                    return None
                if found is own and self.trail.decider.is_untestable(needed):
                    compared = self.compared(instance.access, own.access, delta, offset)
                    if compared is not None:
                        needed = compared[1]
                        assumptions[compared[0].key()] = compared[0]
                if self.trail.decider.is_untestable(
                    needed
                ):  # the solver is slow where there is a proof, and slower else
                    if self.trail.decider.is_proved(found.access.address, instance.access.address, delta, offset):
                        needed = []
                for requirement in needed:
                    assumption = self.unproved(requirement, instance, at)
                    if assumption is not None:
                        assumptions[assumption.key()] = assumption
        found_all = sorted(assumptions.values(), key=lambda a: (a.at, a.text))
        addresses = {found.access.address for _, found in givers if found is not None}
        tests = {repr(test): test for _, found in givers if found is not None for test in found.tests}
        overlaps = tuple([tests[name] for name in sorted(tests)])
        found_all.extend(self.about_lanes(at, source, delta, bool(overlaps)))
        if any(address in self.trail.aliases.promised for address in addresses):
            found_all.append(Assumption(DISTINCT, "what one pointer parameter writes no other reads"))
        if overlaps:
            pairs = ", ".join([repr(overlap) for overlap in overlaps])
            text = f"the pointers are so far apart that no store in between hits what was loaded: {pairs}"
            found_all.append(Assumption(DISTINCT, text, overlaps=overlaps))
        return Candidate(at, source, delta, element, found_all, len(instances), self.comes_before(source, at))

    def taking(self, instance: Instance) -> dict[int, bool]:
        """What holds in lanes that take a value in a flow."""
        conditions = instance.conditions
        if instance.access.guard >= 0:
            conditions = dict(conditions)
            assume(self.x, conditions, instance.access.guard, True)
        return conditions

    def about_lanes(self, at: int, source: int, delta: int, is_tested: bool) -> list[Assumption]:
        """What must hold for the lanes of a warp to be what they are taken for, by tests of stores (``is_tested``),
        too."""
        out: list[Assumption] = []
        rests_on_shape = self.threads.rests_on_shape(at, source, delta)
        rests_on_shape = rests_on_shape or (is_tested and bool(self.threads.by_thread.blocks))
        if not self.frame.is_shape_known and rests_on_shape:
            out.append(Assumption(LANES_ALONG_X, ALONG_X))
        # A device function may be called again by some lanes before others have called it.
        if delta and (self.trail.rounds.may_be_apart(self.cfg.block_at(at)) or not self.cfg.function.is_entry):
            text = "lanes that run the loop together are in the same iteration of it"
            out.append(Assumption(LOCKSTEP, text, meeting=self.meetings.find(self.cfg.block_at(at))))
        return out

    # -- indices that must not wrap ----------------------------------------------------------------------

    def unproved(self, requirement: Requirement, instance: Instance, at: int) -> Assumption | None:
        """The assumption that a requirement needs, None where the flow's conditions prove it."""
        x = self.x
        index, distance, wide = requirement
        if wide == UNTESTABLE:
            address = instance.access.address
            text = f"no index in {show(x, address)} wraps around"
            return Assumption(NO_WRAP, text, is_narrow=has_narrow_sum(x, address))
        is_signed = x.names[wide] == "sext"
        width = x.widths[index]
        low, high = (-1 << width - 1, (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
        least, most = max(low, low - distance), min(high, high - distance)
        found = within(x, self.taking(instance), index, is_signed)
        if least <= found[0] and found[1] <= most:
            return None
        is_narrow = width < _WIDTH_OF_INT
        where = self.site(wide, at)
        text = self.wrapping(index, distance, f".{'s' if is_signed else 'u'}{width}")
        if where is None:
            return Assumption(NO_WRAP, text, -1, None, width, is_signed, least, most, is_narrow)
        bits = where[1].type.bits  # of the register, which may hold the index extended already
        least = least if least > low else -1 << bits - 1 if is_signed else 0
        most = most if most < high else (1 << bits - is_signed) - 1
        return Assumption(NO_WRAP, text, where[0], where[1], bits, is_signed, least, most, is_narrow)

    def compared(
        self, load: Access, source: Access, delta: int, offset: int
    ) -> tuple[Assumption, list[Requirement]] | None:
        """Return the comparison of a load's address with that of its source in the same lane, which leaves the
        requirements that the source's address in the other lane is as far from it as it seems; None if the registers do
        not hold both addresses at the load."""
        decider = self.trail.decider
        first, second = load.instruction.operands[1], source.instruction.operands[1]
        if not isinstance(first, Address) or not isinstance(second, Address):
            return None
        base, other = first.base, second.base
        if not isinstance(base, Register) or not isinstance(other, Register) or base.type.bits != other.type.bits:
            return None
        step = decider.step(source.address, delta)
        if step is None or self.writes(other) != 1 or base.type.bits != self.x.widths[load.address]:
            return None
        needed = decider.requirements(source.address, self.x.scale(source.address, 1, step), delta, 0)
        if needed is None or decider.is_untestable(needed):
            return None
        apart = second.offset + offset + step - first.offset
        text = f"no index in {show(self.x, load.address)} wraps around"
        is_narrow = has_narrow_sum(self.x, load.address)
        bits = base.type.bits
        return Assumption(NO_WRAP, text, load.at, base, bits, True, apart, apart, is_narrow, other), needed

    def writes(self, register: Register) -> int:
        """Return how often a function writes a register."""
        if not self._writes:
            self._writes = [0] * len(self.cfg.function.registers)
            for instruction in self.cfg.function.instructions():
                for written in instruction.destinations():
                    self._writes[written.id] += 1
        return self._writes[register.id]

    def wrapping(self, index: int, distance: int, type: str) -> str:
        """The condition in words."""
        known = self._texts.get(index)
        if known is None:
            known = self._texts[index] = show(self.x, index)
        return f"({known}) {distance:+d} does not wrap around as {type}"

    def site(self, wide: int, at: int) -> tuple[int, Register] | None:
        """An instruction that widens the index on every way to the load, in the same iteration, and the register that
        it widens, of a width that can be compared."""
        block = self.cfg.block_at(at)
        for place, register in self.trail.sites.get(wide, []):
            there = self.cfg.block_at(place)
            if register.type.bits < _LEAST_COMPARED:
                continue
            if not self.comes_before(place, at):
                continue
            if all(block in cycle.blocks for cycle in self.trail.rounds.around(there)):
                return place, register
        return None

    def comes_before(self, first: int, at: int) -> bool:
        """Whether an instruction is on every path to ``function.body[at]``."""
        there, block = self.cfg.block_at(first), self.cfg.block_at(at)
        return first < at if there == block else self.tree.dominates(there, block)


def has_narrow_sum(x: Expressions, e: int) -> bool:
    """Whether sums of less than 32 bits are widened in an expression."""
    seen = {e}
    stack = [e]
    while stack:
        e = stack.pop()
        if x.names[e] in ("zext", "sext"):
            inner = x.args[e][0]
            if x.names[inner] == SUM and x.widths[inner] < _WIDTH_OF_INT:
                return True
        for part in x.parts(e):
            if part not in seen:
                seen.add(part)
                stack.append(part)
    return False
