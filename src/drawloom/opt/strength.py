"""Integer arithmetic from what its dominators computed: straight-line strength reduction and global reassociation
(Wu and others, "gpucc", CGO 2016, sections 3.4.2 and 3.4.3, table 3 and algorithm 2).

    mul.lo.s32 %r3, %r1, %r2;       mul.lo.s32 %r3, %r1, %r2;       x0 = b*n
    add.s32 %r4, %r1, 1;            (dead)
    mul.lo.s32 %r5, %r4, %r2;       add.s32 %r5, %r3, %r2;          x1 = (b+1)*n -> x0 + n
    add.s32 %r6, %r7, %r3;          add.s32 %r6, %r7, %r3;          j0 = c + x0
    add.s32 %r8, %r7, %r5;          add.s32 %r8, %r6, %r2;          j1 = c + x1 -> j0 + n

The three forms of the paper, (b+C)*s, b+C*s and &b[C*s], and the regrouping of sums are one question here: the value at
hand is a sum (see ``sums``); does it differ by one term from one that a dominator computes, and is adding that term
cheaper than what computes the value now, with all that then is dead? Tables by sum without one term answer it, so the
time is linear in the program. All is modulo 2^w, hence exact. Constants that remain go into addresses afterwards.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from drawloom.opt.sums import Monomial, Sum, SumKey, Sums, key_of, plain_atom
from drawloom.opt.work import Replacements, Work, can_replace, is_pure, signed
from drawloom.ptx.ir import Immediate, Instruction, Operand, Register, Statement
from drawloom.ptx.isa import decode

#: What instructions cost on a GPU, about in issue slots: a 64-bit product is put together from four of 32 bits, a sum
#: from two. A sum takes a product of 32 bits, or a shift, along in the same instruction.
_PRODUCT_COSTS: Final[dict[int, int]] = {32: 2, 64: 5}
_SUM_COSTS: Final[dict[int, int]] = {32: 1, 64: 2}
#: Savings beyond which it is not counted how large they are.
_MOST_SAVED: Final = 8
_REWRITTEN: Final = frozenset("add sub mul mad shl neg".split())
#: No values to be kept.
_NOBODY: Final = (-1, -1)
#: A sum of a width without one monomial, and that monomial.
NearKey = tuple[int, SumKey, Monomial]


def reduce_strength(work: Work) -> None:
    """One walk in preorder over the dominator tree."""
    reduction = _Reduction(work)
    for block in work.preorder():
        left: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Instruction):
                reduction.replacements.rewrite(statement)
                if statement.guard is None and is_pure(statement):
                    left.extend(reduction.reduced(statement, block.id))
                    continue
            left.append(statement)
        block.statements = left
    reduction.replacements.finish()


@mypyc_attr(acyclic=True)
class _Near:
    """A value with the coefficient that it has of a monomial."""

    def __init__(self, block: int, register: Register, coefficient: int) -> None:
        self.block = block
        self.register = register
        self.coefficient = coefficient


@mypyc_attr(acyclic=True)
class _Plan:
    """How a value can be made: ``base + factor * term``, or with ``minus``, ``base - factor * term``."""

    def __init__(self, cost: int, base: Register, term: Operand, minus: bool = False, factor: int = 1) -> None:
        self.cost = cost
        self.base = base
        self.term = term
        self.minus = minus
        self.factor = factor


class _Reduction:
    """``exact`` finds values by their sum, ``near`` by their sum without one monomial, the nearest on top; ``makers``
    and ``uses`` are kept up as instructions go and come."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.tree = work.tree
        self.replacements = Replacements(work.ssa)
        self.sums = Sums(work)
        self.exact: dict[tuple[int, SumKey], list[_Near]] = {}
        self.near: dict[NearKey, list[_Near]] = {}
        self.makers: dict[int, Instruction] = {}
        self.uses = [0] * len(work.ssa.registers)
        for block in work.ssa.blocks:
            for phi in block.phis:
                self.count(phi.arguments)
            self.count(block.results)
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    self.count(statement.sources())
        self.count(list(work.ssa.kept.values()))

    def count(self, registers: list[Register]) -> None:
        for register in registers:
            self.uses[register.id] += 1

    def reduced(self, instruction: Instruction, block: int) -> list[Statement]:
        """An instruction, or the cheaper ones that take its place."""
        sum = self.sums.enter(instruction)
        destination = instruction.operands[0]
        if isinstance(destination, Register):
            self.makers[destination.id] = instruction
        if sum is None or not isinstance(destination, Register) or not self.uses[destination.id]:
            return [instruction]
        out: list[Statement] = [instruction]
        if instruction.opcode.name in _REWRITTEN and destination.type.kind in "bus":
            same = self.available((destination.type.bits, key_of(sum)), block)
            if same is not None and can_replace(destination, same):
                self.replacements.replace(destination, same)
                self.uses[same.id] += self.uses[destination.id]
                self.drop(instruction)
                self.work.changed(instruction, f"has the value of {same!r}")
                return []
            plan = self.best(sum, instruction, destination, block)
            if plan is not None:
                out = self.carry_out(plan, instruction, destination, block)
        self.remember(sum, destination, block)
        return out

    def remember(self, sum: Sum, register: Register, block: int) -> None:
        """Enter a value into the tables, on top of those that are farther away."""
        bits = register.type.bits
        key = key_of(sum)
        self.exact.setdefault((bits, key), []).append(_Near(block, register, 1))
        for monomial, coefficient, rest in _parts(key):
            self.near.setdefault((bits, rest, monomial), []).append(_Near(block, register, coefficient))

    def closest(self, stack: list[_Near] | None, block: int) -> _Near | None:
        """The nearest live value of those that dominate a block. What does not dominate it dominates none that
        follows, so each is taken off once."""
        while stack:
            near = stack[-1]
            if self.uses[near.register.id] and self.tree.dominates(near.block, block):
                return near
            stack.pop()
        return None

    def available(self, key: tuple[int, SumKey], block: int) -> Register | None:
        """A live value with this sum that is computed on every way to a block."""
        terms = key[1]
        if len(terms) == 1 and terms[0][1] == 1 and plain_atom(terms[0][0]) >= 0:
            return self.work.ssa.registers[plain_atom(terms[0][0])]
        found = self.closest(self.exact.get(key), block)
        return None if found is None else found.register

    # -- choosing ----------------------------------------------------------------------------------------

    def best(self, sum: Sum, instruction: Instruction, destination: Register, block: int) -> _Plan | None:
        """What saves most over the instruction at hand, if anything does."""
        best: _Plan | None = None
        most = 0
        if self.cost_of(instruction, _NOBODY, 2) < 2:
            return None  # no plan costs less than one
        for plan in self.plans(sum, destination.type.bits, block):
            kept = (plan.base.id, plan.term.id if isinstance(plan.term, Register) else -1)
            saved = self.cost_of(instruction, kept, plan.cost + _MOST_SAVED) - plan.cost
            if saved > most:
                best, most = plan, saved
        return best

    def cost_of(self, instruction: Instruction, kept: tuple[int, int], enough: int) -> int:
        """What an instruction costs together with those that nobody else needs, ``kept`` apart; ``enough`` is where
        counting ends."""
        cost = _cost(instruction)
        todo = [instruction]
        while todo and cost < enough:
            one = todo.pop()
            takes = one.opcode.name in ("add", "sub")
            for register in one.sources():
                maker = self.makers.get(register.id)
                if maker is not None and self.uses[register.id] == 1 and register.id not in kept:
                    todo.append(maker)
                    if takes and _is_taken_along(maker):
                        takes = False
                    else:
                        cost += _cost(maker)
        return cost

    def plans(self, sum: Sum, bits: int, block: int) -> list[_Plan]:
        """The ways to make a sum from a value that a dominator computes and one term."""
        out: list[_Plan | None] = []
        for monomial, coefficient, rest in _parts(key_of(sum)):
            near = self.closest(self.near.get((bits, rest, monomial)), block)
            if near is not None:
                out.append(self.plan(near.register, monomial, coefficient - near.coefficient, bits, block))
            base = self.available((bits, rest), block)
            if base is not None:
                out.append(self.plan(base, monomial, coefficient, bits, block))
        return [plan for plan in out if plan is not None]

    def plan(self, base: Register, monomial: Monomial, coefficient: int, bits: int, block: int) -> _Plan | None:
        """``base + coefficient * monomial``, None where the term is not at hand."""
        mask = (1 << bits) - 1
        coefficient &= mask
        if not coefficient or base.type.kind not in "bus":
            return None
        if not monomial:
            return _Plan(1, base, Immediate(signed(coefficient, bits)))
        for minus in (False, True):
            value = self.available((bits, ((monomial, -coefficient & mask if minus else coefficient),)), block)
            if value is not None and value.type.kind in "bus":
                return _Plan(_SUM_COSTS[bits], base, value, minus)
        atom = plain_atom(monomial)
        if atom < 0 or self.work.ssa.registers[atom].type.kind not in "bus":
            return None
        factor = signed(coefficient, bits)
        register = self.work.ssa.registers[atom]
        if is_power(abs(factor)):
            return _Plan(1 + _SUM_COSTS[bits], base, register, factor < 0, abs(factor))
        return _Plan(_PRODUCT_COSTS[bits], base, register, False, factor)

    # -- rewriting ---------------------------------------------------------------------------------------

    def carry_out(self, plan: _Plan, old: Instruction, destination: Register, block: int) -> list[Statement]:
        """The instructions of a plan."""
        bits = destination.type.bits
        kind = "u" if destination.type.kind == "u" else "s"
        out: list[Statement] = []
        term = plan.term
        if plan.factor == 1 or is_power(plan.factor):
            if plan.factor > 1:
                term = self.scaled(term, plan.factor, destination, block, old.pos, out)
            text = f"{'sub' if plan.minus else 'add'}.{kind}{bits}"
            made = Instruction(decode(text), [destination, plan.base, term], pos=old.pos)
        else:
            operands: list[Operand] = [destination, term, Immediate(plan.factor), plan.base]
            made = Instruction(decode(f"mad.lo.{kind}{bits}"), operands, pos=old.pos)
        self.count(made.sources())
        self.drop(old)
        self.makers[destination.id] = made
        out.append(made)
        self.work.changed(old, f"is '{made!r}'")
        return out

    def scaled(
        self, term: Operand, factor: int, like: Register, block: int, pos: int, out: list[Statement]
    ) -> Register:
        """A new value: a term times a power of two, that later sums may use, too."""
        value = self.work.ssa.new_value(like.type)
        self.uses.append(0)
        amount = Immediate(factor.bit_length() - 1)
        shift = Instruction(decode(f"shl.b{like.type.bits}"), [value, term, amount], pos=pos)
        self.count(shift.sources())
        self.makers[value.id] = shift
        out.append(shift)
        sum = self.sums.enter(shift)
        if sum is not None:
            self.remember(sum, value, block)
        return value

    def drop(self, instruction: Instruction) -> None:
        """Take back the uses of an instruction that goes, and of those that die with it."""
        todo = [instruction]
        while todo:
            for register in todo.pop().sources():
                self.uses[register.id] -= 1
                maker = self.makers.get(register.id)
                if maker is not None and self.uses[register.id] == 0:
                    todo.append(maker)


def is_power(number: int) -> bool:
    """Whether a positive number is a power of two."""
    return number > 0 and number & (number - 1) == 0


def _parts(key: SumKey) -> list[tuple[Monomial, int, SumKey]]:
    """Every monomial of a sum, and the constant, with its coefficient and what is left of the sum without it."""
    out = [(key[k][0], key[k][1], key[:k] + key[k + 1 :]) for k in range(len(key))]
    if not key or key[0][0] != ():  # the constant comes first
        out.append(((), 0, key))
    return out


def _is_taken_along(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.name == "shl":
        return isinstance(instruction.operands[2], Immediate)
    return opcode.name == "mul" and opcode.half in ("lo", "wide") and opcode.type is not None and opcode.type.bits <= 32


def _cost(instruction: Instruction) -> int:
    opcode = instruction.opcode
    bits = 32 if opcode.type is None else opcode.type.bits
    if opcode.name not in ("mul", "mad"):
        # A constant that is added to 64 bits may go into the offset of an address.
        plain = opcode.name not in ("add", "sub", "neg", "shl") or isinstance(instruction.operands[-1], Immediate)
        return 1 if plain else _SUM_COSTS.get(bits, 1)
    return _PRODUCT_COSTS.get(bits, 2) if opcode.half == "lo" else 2
