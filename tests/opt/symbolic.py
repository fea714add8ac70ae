"""PTX on terms of a bit-vector solver: what a kernel without loops stores, for all values of its parameters at once.

Every register is a term; where ways meet, it is the one or the other by the condition of the way. ``differs`` asks the
solver for parameters with which two kernels store other numbers, or store them elsewhere.

Solvers divide by multiplication circuits, of 64 bits in no time that anybody has. So divisions may be left open:
quotients are unknowns then, of which only what ``Divisions`` says is known.
"""

from __future__ import annotations

from typing import Any

import bitwuzla
from bitwuzla import Kind

from drawloom.opt.facts import literal_pattern, operand_type
from drawloom.ptx import parse
from drawloom.ptx.cfg import Cfg, build_cfg
from drawloom.ptx.ir import Address, Immediate, Instruction, Not, Operand, Register, Symbol
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type

Term = Any

_SIMPLE = {
    "add": Kind.BV_ADD, "sub": Kind.BV_SUB, "and": Kind.BV_AND, "or": Kind.BV_OR, "xor": Kind.BV_XOR,
    "not": Kind.BV_NOT, "neg": Kind.BV_NEG,
}  # fmt: skip
_BY_SIGN = {
    "div": (Kind.BV_UDIV, Kind.BV_SDIV),
    "rem": (Kind.BV_UREM, Kind.BV_SREM),
    "shr": (Kind.BV_SHR, Kind.BV_ASHR),
}
_COMPARES = {
    "lt": (Kind.BV_ULT, Kind.BV_SLT), "le": (Kind.BV_ULE, Kind.BV_SLE), "gt": (Kind.BV_UGT, Kind.BV_SGT),
    "ge": (Kind.BV_UGE, Kind.BV_SGE), "lo": (Kind.BV_ULT,) * 2, "ls": (Kind.BV_ULE,) * 2, "hi": (Kind.BV_UGT,) * 2,
    "hs": (Kind.BV_UGE,) * 2,
}  # fmt: skip


class Solver:
    """One manager of terms, and the parameters that the kernels share."""

    def __init__(self, seconds: int = 20) -> None:
        self.terms = bitwuzla.TermManager()
        self.parameters: dict[str, Term] = {}
        self.seconds = seconds

    def number(self, value: int, bits: int) -> Term:
        return self.terms.mk_bv_value(self.terms.mk_bv_sort(bits), value & (1 << bits) - 1)

    def make(self, kind: Kind, terms: list[Term], indices: list[int] | None = None) -> Term:
        return self.terms.mk_term(kind, terms, indices or [])

    def parameter(self, name: str, bits: int) -> Term:
        if name not in self.parameters:
            self.parameters[name] = self.terms.mk_const(self.terms.mk_bv_sort(bits), name)
        return self.parameters[name]

    def counterexample(self, claims: list[Term], assumptions: list[Term]) -> dict[str, int] | None:
        """Parameters for which one of the claims is false although the assumptions are true; None if there are none."""
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        options.set(bitwuzla.Option.TIME_LIMIT_PER, self.seconds * 1000)
        asked = bitwuzla.Bitwuzla(self.terms, options)
        for assumption in assumptions:
            asked.assert_formula(assumption)
        asked.assert_formula(self.make(Kind.NOT, [self.make(Kind.AND, [*claims, self.terms.mk_true()])]))
        result = asked.check_sat()
        assert result != bitwuzla.Result.UNKNOWN, f"no answer in {self.seconds} s"
        if result == bitwuzla.Result.UNSAT:
            return None
        return {name: int(asked.get_value(term).value(10)) for name, term in self.parameters.items()}

    def stored(self, text: str, divisions: Divisions | None = None) -> dict[int | str, Term]:
        """What the only kernel of a module leaves at each offset of the parameter ``out``; and of its stores to other
        addresses, in their order, the address and what goes there."""
        module = parse(text)
        function = next(f for f in module.functions.values() if f.has_body)
        return _Run(self, build_cfg(function, module), divisions).stored()

    def differs(self, before: str, after: str, open_divisions: bool = False) -> dict[str, int] | None:
        """Parameters with which two texts store different numbers; None if there are none."""
        divisions = Divisions(self) if open_divisions else None
        first, second = self.stored(before, divisions), self.stored(after, divisions)
        assert first and first.keys() == second.keys()
        return self.counterexample(
            [self.make(Kind.EQUAL, [first[offset], second[offset]]) for offset in first],
            divisions.known() if divisions is not None else [],
        )


class Divisions:
    """Quotients and remainders as unknowns. Known of them is that no divisor is zero, as PTX leaves open what that
    gives; that the remainder is what the quotient leaves; that equal operands give equal ones; and that quotients of 32
    bits are those of 64 bits of the same numbers, if these are not negative."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.found: dict[tuple[bool, int], list[tuple[Term, Term, Term]]] = {}

    def computed(self, name: str, is_signed: bool, bits: int, a: Term, b: Term) -> Term:
        known = self.found.setdefault((is_signed, bits), [])
        quotient = next((q for x, y, q in known if x == a and y == b), None)
        if quotient is None:
            quotient = self.solver.parameter(f"{'s' if is_signed else 'u'}{bits} quotient {len(known)}", bits)
            known.append((a, b, quotient))
        return quotient if name == "div" else self.left(a, b, quotient)

    def left(self, a: Term, b: Term, quotient: Term) -> Term:
        return self.solver.make(Kind.BV_SUB, [a, self.solver.make(Kind.BV_MUL, [quotient, b])])

    def known(self) -> list[Term]:
        make, number = self.solver.make, self.solver.number
        out = []
        for (_, bits), made in self.found.items():
            out += [make(Kind.NOT, [make(Kind.EQUAL, [b, number(0, bits)])]) for _, b, _ in made]
        for (narrow_signed, fewer), shorts in self.found.items():
            for (is_signed, bits), longs in self.found.items():
                if not narrow_signed and fewer <= bits:
                    out += [self.alike(short, long, bits - fewer, is_signed) for short in shorts for long in longs]
        return out

    def alike(self, short: tuple[Term, ...], long: tuple[Term, ...], more: int, is_signed: bool) -> Term:
        """A quotient without sign, and another one of so many bits more: the remainder is widened like the numbers, as
        it is less than the divisor."""
        make = self.solver.make
        pairs = zip([*short, self.left(*short)], [*long, self.left(*long)], strict=True)
        same = [make(Kind.EQUAL, [make(Kind.BV_ZERO_EXTEND, [a], [more]), b]) for a, b in pairs]
        given = same[:2]
        if is_signed:
            zero = self.solver.number(0, long[0].sort().bv_size())
            given += [make(Kind.BV_SGE, [term, zero]) for term in long[:2]]
        return make(Kind.IMPLIES, [make(Kind.AND, given), make(Kind.AND, same[2:])])


class _Run:
    def __init__(self, solver: Solver, cfg: Cfg, divisions: Divisions | None = None) -> None:
        self.solver = solver
        self.cfg = cfg
        self.divisions = divisions
        self.registers: dict[int, Term] = {}
        self.memory: dict[int | str, Term] = {}
        self.edges: dict[tuple[int, int], tuple[Term, dict[int, Term], dict[int | str, Term]]] = {}

    def stored(self) -> dict[int | str, Term]:
        """Run every block once, in an order in which what leads to it has been run; the last one ends the kernel."""
        terms = self.solver.terms
        for block_id in self.cfg.rpo:
            block = self.cfg.blocks[block_id]
            condition = terms.mk_true() if block_id == self.cfg.rpo[0] else self.enter(block_id, block.preds)
            for instruction in block.instructions:
                self.instruction(instruction)
            taken = terms.mk_true()
            if block.terminator is not None and block.terminator.guard is not None:
                taken = self.truth(block.terminator.guard, block.terminator.guard_negated)
            for place, successor in enumerate(block.succs):
                way = taken if place == 0 else self.solver.make(Kind.NOT, [taken])
                both = self.solver.make(Kind.AND, [condition, way])
                self.edges[block_id, successor] = (both, dict(self.registers), dict(self.memory))
        return self.memory

    def enter(self, block_id: int, preds: list[int]) -> Term:
        ways = [self.edges[pred, block_id] for pred in preds]
        condition, self.registers, self.memory = ways[0][0], dict(ways[0][1]), dict(ways[0][2])
        for other, registers, memory in ways[1:]:
            for mine, theirs in ((self.registers, registers), (self.memory, memory)):
                for key, term in theirs.items():
                    if mine.setdefault(key, term) != term:
                        mine[key] = self.solver.make(Kind.ITE, [other, term, mine[key]])
            condition = self.solver.make(Kind.OR, [condition, other])
        return condition

    def truth(self, predicate: Register, negated: bool = False) -> Term:
        term = self.solver.make(Kind.EQUAL, [self.registers[predicate.id], self.solver.number(1, 1)])
        return self.solver.make(Kind.NOT, [term]) if negated else term

    def instruction(self, instruction: Instruction) -> None:
        name, operands = instruction.opcode.name, instruction.operands
        if name in ("bra", "ret"):
            return
        assert instruction.guard is None
        if name == "st":
            address = operands[0]
            assert isinstance(address, Address) and isinstance(address.base, Register)
            base = self.registers[address.base.id]
            value = self.value(operands[1], instruction.opcode.type)
            if base == self.solver.parameter("out", 64):
                self.memory[address.offset] = value
                return
            place = sum([isinstance(key, str) for key in self.memory])
            self.memory[f"address {place}"] = self.solver.make(
                Kind.BV_ADD, [base, self.solver.number(address.offset, 64)]
            )
            self.memory[f"value {place}"] = value
            return
        destination = operands[0]
        assert isinstance(destination, Register)
        if name == "ld":
            address = operands[1]
            assert isinstance(address, Address) and isinstance(address.base, Symbol)
            self.registers[destination.id] = self.solver.parameter(address.base.name, destination.type.bits)
            return
        sources = [self.value(o, operand_type(instruction.opcode, k + 1)) for k, o in enumerate(operands[1:])]
        self.registers[destination.id] = computed(
            self.solver, instruction.opcode, sources, destination.type.bits, self.divisions
        )

    def value(self, operand: Operand, type: Type | None) -> Term:
        bits = 32 if type is None else type.bits
        if isinstance(operand, Register):
            return self.registers[operand.id]
        if isinstance(operand, Not):
            return self.solver.make(Kind.BV_NOT, [self.registers[operand.register.id]])
        assert isinstance(operand, Immediate), operand
        return self.solver.number(literal_pattern(operand, type), bits)


def extended(solver: Solver, term: Term, bits: int, is_signed: bool) -> Term:
    """The low bits of a term, or a term with more bits."""
    have = term.sort().bv_size()
    if have >= bits:
        return term if have == bits else solver.make(Kind.BV_EXTRACT, [term], [bits - 1, 0])
    return solver.make(Kind.BV_SIGN_EXTEND if is_signed else Kind.BV_ZERO_EXTEND, [term], [bits - have])


def computed(
    solver: Solver, opcode: Opcode, sources: list[Term], bits: int, divisions: Divisions | None = None
) -> Term:
    """What an instruction makes of its sources, in a register of so many bits."""
    make = solver.make
    name, type = opcode.name, opcode.types[-1]
    is_signed = type.is_signed
    if name in _SIMPLE:
        return make(_SIMPLE[name], sources)
    if name == "mov":
        return sources[0]
    if name in ("div", "rem"):
        if divisions is not None:
            return divisions.computed(name, is_signed, type.bits, *sources)
        return make(_BY_SIGN[name][is_signed], sources)
    if name in ("shl", "shr"):
        # The amount is 32 bits wide, and larger ones count as the width: the solver's shifts do the same.
        wide = max(32, type.bits)
        value, amount = extended(solver, sources[0], wide, is_signed), extended(solver, sources[1], wide, False)
        shifted = make(Kind.BV_SHL if name == "shl" else _BY_SIGN["shr"][is_signed], [value, amount])
        return extended(solver, shifted, bits, False)
    if name in ("mul", "mad"):
        wide = 2 * type.bits if opcode.half in ("wide", "hi") else type.bits
        product = make(Kind.BV_MUL, [extended(solver, s, wide, is_signed) for s in sources[:2]])
        if opcode.half == "hi":
            product = make(Kind.BV_EXTRACT, [product], [wide - 1, type.bits])
        return make(Kind.BV_ADD, [product, sources[2]]) if name == "mad" else product
    if name in ("min", "max"):
        less = make(_COMPARES["lt"][is_signed], sources)
        return make(Kind.ITE, [less, *(sources if name == "min" else sources[::-1])])
    if name == "selp":
        return make(Kind.ITE, [make(Kind.EQUAL, [sources[2], solver.number(1, 1)]), sources[0], sources[1]])
    if name == "setp":
        holds = compared(solver, opcode.compare, is_signed, sources)
        return make(Kind.ITE, [holds, solver.number(1, 1), solver.number(0, 1)])
    if name in ("popc", "clz"):
        return counted(solver, name, sources[0], bits)
    if name == "bfe":
        return field(solver, sources, is_signed)
    if name == "abs":
        minus = make(Kind.BV_NEG, sources)
        return make(Kind.ITE, [make(Kind.BV_SLT, [sources[0], solver.number(0, bits)]), minus, sources[0]])
    assert name == "cvt", opcode
    to, source = opcode.types
    read = extended(solver, extended(solver, sources[0], source.bits, False), to.bits, source.is_signed)
    return extended(solver, read, bits, to.is_signed)


def counted(solver: Solver, name: str, source: Term, bits: int) -> Term:
    """How many bits are set, or clear before the first that is."""
    make, number = solver.make, solver.number
    width = source.sort().bv_size()
    count = number(0 if name == "popc" else width, bits)
    for place in range(width):
        bit = make(Kind.BV_EXTRACT, [source], [place, place])
        if name == "popc":
            count = make(Kind.BV_ADD, [count, make(Kind.BV_ZERO_EXTEND, [bit], [bits - 1])])
        else:
            count = make(Kind.ITE, [make(Kind.EQUAL, [bit, number(1, 1)]), number(width - 1 - place, bits), count])
    return count


def field(solver: Solver, sources: list[Term], is_signed: bool) -> Term:
    """PTX ISA 9.7.1: position and length are their low bytes; bits behind the last one are copies of the sign, the
    bit at the field's end or the last of all."""
    make, number = solver.make, solver.number
    bits = sources[0].sort().bv_size()
    position, length = (extended(solver, make(Kind.BV_EXTRACT, [term], [7, 0]), bits, False) for term in sources[1:])
    end = make(Kind.BV_SUB, [make(Kind.BV_ADD, [position, length]), number(1, bits)])
    inside = make(Kind.BV_ULT, [end, number(bits, bits)])
    unused = make(Kind.ITE, [inside, make(Kind.BV_SUB, [number(bits - 1, bits), end]), number(0, bits)])
    raised = make(Kind.BV_SHL, [sources[0], unused])
    shift = Kind.BV_ASHR if is_signed else Kind.BV_SHR
    found = make(shift, [raised, make(Kind.BV_ADD, [unused, position])])
    return make(Kind.ITE, [make(Kind.EQUAL, [length, number(0, bits)]), number(0, bits), found])


def compared(solver: Solver, compare: str, is_signed: bool, sources: list[Term]) -> Term:
    if compare in ("eq", "ne"):
        equal = solver.make(Kind.EQUAL, sources)
        return equal if compare == "eq" else solver.make(Kind.NOT, [equal])
    return solver.make(_COMPARES[compare][is_signed], sources)
