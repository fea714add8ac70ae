"""What numbers a value can be: intervals of integers, from special registers, masks, shifts, narrow loads, comparisons
on the edges that lead to a block, and counters of loops; and which instructions cannot wrap.

Two walks over the dominator tree where there are loops. In the first a value that comes round a loop is only what the
edge says; if the counter then cannot wrap on its way up, the second walk knows that it begins where it was set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.opt.facts import operand_type
from drawloom.opt.intervals import ARITHMETIC, RULES, Range, Rule, anything, exact, intersection, ranged, union, wrapped
from drawloom.opt.work import KEEPS_SIGNED, KEEPS_UNSIGNED, Work, signed
from drawloom.ptx.ir import Immediate, Instruction, Not, Operand, Register, SpecialRegister
from drawloom.ptx.isa import Opcode
from drawloom.ptx.launch_bounds import LaunchBounds
from drawloom.ptx.ssa import Phi, SsaBlock
from drawloom.ptx.types import PRED

#: Conditions that are looked behind ``and`` and ``not``.
_DEPTH: Final = 4


class Ranges:
    """``of`` gives the range of an operand at the place that a walk has come to. What holds everywhere goes into the
    ``Work``: which instructions cannot wrap, and which values are never negative."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.known: list[Range | None] = [None] * len(work.ssa.registers)
        self.makers: dict[int, Instruction] = {}  # of predicates
        #: Of phis: the start, what is kept, whether the step goes up as a signed and as an unsigned number.
        self.counters: dict[int, tuple[Register, int, bool, bool]] = {}
        self.limits = LaunchBounds(work.ssa.source).specials()
        for block in work.ssa.blocks:
            for statement in block.statements:
                if isinstance(statement, Instruction) and statement.guard is None and statement.operands:
                    written = statement.operands[0]
                    if isinstance(written, Register) and written.type is PRED and statement.opcode.has_destination:
                        self.makers[written.id] = statement

    def walk(self, visit: Callable[[SsaBlock], None] | None = None) -> None:
        """Find the ranges; ``visit`` is called for each block, once all is known that holds where it begins, and calls
        ``enter`` for each instruction."""
        if self.loops():
            self.once(None)
            self.find_counters()
            self.known = [None] * len(self.work.ssa.registers)
        self.once(visit)

    def loops(self) -> bool:
        place = {block_id: index for index, block_id in enumerate(self.work.tree.order)}
        return any(place[p] >= place[block.id] for block in self.work.ssa.blocks for p in block.preds if block.phis)

    def once(self, visit: Callable[[SsaBlock], None] | None) -> None:
        children = self.work.tree.children
        blocks = self.work.ssa.blocks
        saved: list[list[tuple[int, Range | None]]] = []
        stack = [0]
        while stack:
            block_id = stack.pop()
            if block_id < 0:
                for register_id, before in reversed(saved.pop()):
                    self.known[register_id] = before
                continue
            block = blocks[block_id]
            saved.append(self.conditions(block))
            stack.append(-1)
            stack.extend(reversed(children[block_id]))
            for phi in block.phis:
                self.set(phi.destination, self.joined(block, phi))
            if visit is not None:
                visit(block)
                continue
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    self.enter(statement)

    # -- values ------------------------------------------------------------------------------------------

    def of(self, operand: Operand, bits: int = 0) -> Range:
        """The range of a register, of its own width, or of a literal of ``bits``."""
        if isinstance(operand, Register):
            known = self.known[operand.id] if operand.id < len(self.known) else None
            return anything(operand.type.bits) if known is None else known
        if isinstance(operand, Immediate):
            return ranged(operand.value, operand.value, bits)
        return anything(bits)

    def set(self, register: Register, range: Range | None) -> None:
        while register.id >= len(self.known):
            self.known.append(None)
        if range is not None and not range.full:
            self.known[register.id] = range
            if range.bits == 32 and range.signed()[0] >= 0:
                self.work.never_negative.add(register.id)

    def enter(self, instruction: Instruction) -> None:
        """Note what an instruction computes."""
        opcode = instruction.opcode
        if not opcode.has_destination or instruction.guard is not None or not opcode.types:
            return
        destination = instruction.operands[0]
        if not isinstance(destination, Register) or destination.type.kind not in "bus" or destination.type.bits < 16:
            return
        bits = destination.type.bits
        if opcode.name == "mov":
            self.set(destination, self.moved(instruction.operands[1], bits))
            return
        plan = _plan(opcode)
        if plan.width < 0 or (plan.width and plan.width != bits):
            return
        sources = instruction.operands
        if plan.rule is None and plan.width == opcode.types[0].bits:
            # A sum or product of what may be anything may be anything.
            for k in range(1, len(sources)):
                operand = sources[k]
                if isinstance(operand, Register) and (operand.id >= len(self.known) or self.known[operand.id] is None):
                    return
        operands = [self.of(sources[k], plan.widths[k]) for k in range(1, len(sources))]
        if plan.rule is not None:
            self.set(destination, plan.rule(opcode, operands, bits))
        if plan.rule is None or opcode.name == "shl":
            self.arithmetic(instruction, destination, operands)

    def moved(self, source: Operand, bits: int) -> Range | None:
        """The range of what is copied."""
        if isinstance(source, SpecialRegister):
            limits = self.limits.get(source.name)
            return None if limits is None or limits[1] >> bits else Range(limits[0], limits[1], bits)
        known = self.of(source, bits)
        return known if known.bits == bits else None

    def arithmetic(self, instruction: Instruction, destination: Register, operands: list[Range]) -> None:
        """A sum or product, and in which readings it cannot wrap."""
        opcode = instruction.opcode
        name = opcode.name
        bits = destination.type.bits
        if opcode.half == "hi":
            return
        if opcode.half == "wide":
            low, high = exact("mul", [r.read(opcode.types[0].is_signed) for r in operands[:2]])
            product = Range(low, high, bits)
            if name == "mul":
                self.set(destination, product)
                return
            name, operands = "add", [product, operands[2]]
        elif name == "shl":
            amount, most = operands[1].unsigned()
            if amount != most or amount >= bits - 1:
                return
            name, operands = "mul", [operands[0], Range(1 << amount, 1 << amount, bits)]
        exact_signed = exact(name, [r.signed() for r in operands])
        unsigned = exact(name, [r.unsigned() for r in operands])
        self.set(destination, wrapped(exact_signed, unsigned, bits))
        half = 1 << (bits - 1)
        kept = KEEPS_SIGNED if -half <= exact_signed[0] and exact_signed[1] < half else 0
        if unsigned[0] >= 0 and unsigned[1] < 2 * half:
            kept |= KEEPS_UNSIGNED
        if kept:
            self.work.kept[destination.id] = (instruction, kept)

    def joined(self, block: SsaBlock, phi: Phi) -> Range | None:
        """What a phi can be: what comes in by each edge, and what its condition says; a counter goes from its start."""
        if phi.destination.type.kind not in "bus" or phi.destination.type.bits < 16:
            return None
        found: Range | None = None
        for argument, pred in zip(phi.arguments, block.preds, strict=True):
            if argument is phi.destination:
                continue
            range = self.of(argument)
            for register, low, high, is_signed in self.edge(self.work.ssa.blocks[pred], block.id):
                if register is argument:
                    range = intersection(range, low, high, is_signed)
            found = range if found is None else union(found, range)
        counter = self.counters.get(phi.destination.id)
        if found is not None and counter is not None:
            start, kept, goes_up, grows = counter
            for flag, is_signed, up in ((KEEPS_SIGNED, True, goes_up), (KEEPS_UNSIGNED, False, grows)):
                if kept & flag:
                    low, high = self.of(start).read(is_signed)
                    least, most = found.read(is_signed)
                    found = intersection(found, low if up else least, most if up else high, is_signed)
        return found

    def find_counters(self) -> None:
        """Phis of a start and themselves plus a constant, in a sum that keeps to the numbers of their width."""
        for block in self.work.ssa.blocks:
            for phi in block.phis:
                if len(phi.arguments) != 2:
                    continue
                for start, next in (phi.arguments, phi.arguments[::-1]):
                    maker, kept = self.work.kept.get(next.id, (None, 0))
                    if maker is None or maker.opcode.name not in ("add", "sub"):
                        continue
                    step = maker.operands[2]
                    if maker.operands[1] is phi.destination and isinstance(step, Immediate) and step.value:
                        adds = maker.opcode.name == "add"
                        up = (signed(step.value, next.type.bits) > 0) == adds
                        self.counters[phi.destination.id] = (start, kept, up, adds)

    # -- conditions --------------------------------------------------------------------------------------

    def conditions(self, block: SsaBlock) -> list[tuple[int, Range | None]]:
        """Let hold what the only edge to a block says; what was known before."""
        before: list[tuple[int, Range | None]] = []
        if len(block.preds) == 1:
            for register, low, high, is_signed in self.edge(self.work.ssa.blocks[block.preds[0]], block.id):
                before.append((register.id, self.known[register.id]))
                self.known[register.id] = intersection(self.of(register), low, high, is_signed)
        return before

    def edge(self, block: SsaBlock, successor: int) -> list[tuple[Register, int, int, bool]]:
        """Between which numbers registers are on an edge: what the branch at the end of the block compares."""
        branch = block.terminator
        if branch is None or branch.guard is None or branch.opcode.name != "bra" or len(block.succs) != 2:
            return []
        taken = block.succs[0] == successor
        out: list[tuple[Register, int, int, bool]] = []
        self.condition(branch.guard, taken != branch.guard_negated, out, _DEPTH)
        return out

    def condition(
        self, predicate: Register, holds: bool, out: list[tuple[Register, int, int, bool]], depth: int
    ) -> None:
        maker = self.makers.get(predicate.id)
        if maker is None or depth == 0:
            return
        name = maker.opcode.name
        if (name == "and" and holds) or (name == "or" and not holds) or name == "not":
            for operand in maker.operands[1:]:
                inner = operand.register if isinstance(operand, Not) else operand
                if isinstance(inner, Register):
                    self.condition(inner, (holds != (name == "not")) != isinstance(operand, Not), out, depth - 1)
        elif name == "setp" and _compares_integers(maker.opcode):
            compare = maker.opcode.compare if holds else _OPPOSITE[maker.opcode.compare]
            a, b = maker.operands[1], maker.operands[2]
            self.compared(maker.opcode, compare, a, b, out)
            self.compared(maker.opcode, _MIRRORED[compare], b, a, out)

    def compared(
        self, opcode: Opcode, compare: str, a: Operand, b: Operand, out: list[tuple[Register, int, int, bool]]
    ) -> None:
        """``a`` compares so with ``b``."""
        type = opcode.types[0]
        if not isinstance(a, Register) or a.type.bits != type.bits:
            return
        is_signed = type.is_signed and compare not in ("lo", "ls", "hi", "hs")
        low, high = self.of(b, type.bits).read(is_signed)
        lowest, highest = anything(type.bits).read(is_signed)
        if compare in ("lt", "lo"):
            out.append((a, lowest, high - 1, is_signed))
        elif compare in ("le", "ls"):
            out.append((a, lowest, high, is_signed))
        elif compare in ("gt", "hi"):
            out.append((a, low + 1, highest, is_signed))
        elif compare in ("ge", "hs"):
            out.append((a, low, highest, is_signed))
        elif compare == "eq":
            out.append((a, low, high, is_signed))

    def decided(self, instruction: Instruction) -> int:
        """What a comparison gives: 1, 0, or -1 if that is not known."""
        opcode = instruction.opcode
        if opcode.name != "setp" or not _compares_integers(opcode):
            return -1
        type = opcode.types[0]
        a, b = instruction.operands[1], instruction.operands[2]
        is_signed = type.is_signed and opcode.compare not in ("lo", "ls", "hi", "hs")
        for operand in (a, b):
            if isinstance(operand, Register) and operand.type.bits != type.bits:
                return -1
        low, high = self.of(a, type.bits).read(is_signed)
        least, most = self.of(b, type.bits).read(is_signed)
        compare = opcode.compare
        if compare in ("gt", "hi", "ge", "hs"):
            compare, low, high, least, most = _MIRRORED[compare], least, most, low, high
        if compare in ("lt", "lo"):
            return 1 if high < least else 0 if low >= most else -1
        if compare in ("le", "ls"):
            return 1 if high <= least else 0 if low > most else -1
        if high < least or most < low:
            return 1 if compare == "ne" else 0
        if low == high == least == most:
            return 1 if compare == "eq" else 0
        return -1


def _compares_integers(opcode: Opcode) -> bool:
    type = opcode.types[0]
    return not opcode.operation and type.lanes == 1 and type.kind in "bus"


class _Plan:
    """What is done for an opcode: ``width`` are the bits of its result, 0 where they may be any, -1 where nothing is
    known of it; ``widths`` those of literals, by operand."""

    def __init__(self, rule: Rule | None, width: int, widths: list[int]) -> None:
        self.rule = rule
        self.width = width
        self.widths = widths


_plans: dict[Opcode, _Plan] = {}


def _plan(opcode: Opcode) -> _Plan:
    known = _plans.get(opcode)
    if known is None:
        types = [operand_type(opcode, index) for index in range(1, 8)]
        widths = [0, *[32 if type is None else type.bits for type in types]]
        known = _plans[opcode] = _Plan(RULES.get(opcode.name), _result_width(opcode), widths)
    return known


def _result_width(opcode: Opcode) -> int:
    """-1 for instructions that do not compute on whole integers, or do more than the rules know."""
    if opcode.name not in RULES and opcode.name not in ARITHMETIC:
        return -1
    if opcode.sat or opcode.selectors or opcode.writes_carry or opcode.reads_carry or opcode.relu or opcode.vector > 1:
        return -1
    for type in opcode.types:
        if type.lanes > 1 or type.kind not in "bus":
            return -1
    if opcode.name in ("cvt", "ld", "popc", "clz"):
        return 0
    return opcode.types[0].bits * (2 if opcode.half == "wide" else 1)


_OPPOSITE: Final[dict[str, str]] = {
    "eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "lo": "hs", "hs": "lo", "ls": "hi",
    "hi": "ls",
}  # fmt: skip
_MIRRORED: Final[dict[str, str]] = {
    "eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "lo": "hi", "hi": "lo", "ls": "hs",
    "hs": "ls",
}  # fmt: skip
