"""PTX on terms of a bit-vector solver: what a kernel without loops stores, for all values of its parameters at once.

Every register is a term; where ways meet, it is the one or the other by the condition of the way. ``differs`` asks the
solver for parameters with which two kernels store other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bitwuzla
from bitwuzla import Kind

from drawloom.opt.facts import literal_pattern, operand_type
from drawloom.ptx import parse
from drawloom.ptx.cfg import Cfg, build_cfg
from drawloom.ptx.ir import Address, Immediate, Instruction, Not, Operand, Register, Symbol
from drawloom.ptx.types import PRED, Type

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

    def stored(self, text: str) -> dict[int, Term]:
        """What the only kernel of a module leaves at each offset of the parameter ``out``."""
        module = parse(text)
        function = next(f for f in module.functions.values() if f.has_body)
        return _Run(self, build_cfg(function, module)).stored()

    def differs(self, before: str, after: str, assumptions: list[Term] | None = None) -> dict[str, int] | None:
        """Parameters with which two texts store different numbers; None if there are none."""
        first, second = self.stored(before), self.stored(after)
        assert first and first.keys() == second.keys()
        return self.counterexample(
            [self.make(Kind.EQUAL, [first[offset], second[offset]]) for offset in first], assumptions or []
        )


class _Run:
    def __init__(self, solver: Solver, cfg: Cfg) -> None:
        self.solver = solver
        self.cfg = cfg
        self.registers: dict[int, Term] = {}
        self.memory: dict[int, Term] = {}
        self.edges: dict[tuple[int, int], tuple[Term, dict[int, Term], dict[int, Term]]] = {}

    def stored(self) -> dict[int, Term]:
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
                    mine[key] = self.solver.make(Kind.ITE, [other, term, mine[key]]) if key in mine else term
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
            assert isinstance(address, Address)
            self.memory[address.offset] = self.value(operands[1], instruction.opcode.type)
            return
        destination = operands[0]
        assert isinstance(destination, Register)
        if name == "ld":
            address = operands[1]
            assert isinstance(address, Address) and isinstance(address.base, Symbol)
            self.registers[destination.id] = self.solver.parameter(address.base.name, destination.type.bits)
            return
        sources = [self.value(o, operand_type(instruction.opcode, k + 1)) for k, o in enumerate(operands[1:])]
        self.registers[destination.id] = self.computed(instruction, sources, destination.type.bits)

    def value(self, operand: Operand, type: Type | None) -> Term:
        bits = 32 if type is None else type.bits
        if isinstance(operand, Register):
            return self.registers[operand.id]
        if isinstance(operand, Not):
            return self.solver.make(Kind.BV_NOT, [self.registers[operand.register.id]])
        assert isinstance(operand, Immediate), operand
        return self.solver.number(literal_pattern(operand, type), bits)

    def extended(self, term: Term, bits: int, is_signed: bool) -> Term:
        """The low bits of a term, or a term with more bits."""
        have = term.sort().bv_size()
        if have >= bits:
            return term if have == bits else self.solver.make(Kind.BV_EXTRACT, [term], [bits - 1, 0])
        return self.solver.make(Kind.BV_SIGN_EXTEND if is_signed else Kind.BV_ZERO_EXTEND, [term], [bits - have])

    def computed(self, instruction: Instruction, sources: list[Term], bits: int) -> Term:
        make = self.solver.make
        opcode = instruction.opcode
        name, type = opcode.name, opcode.types[-1]
        is_signed = type.is_signed
        if name in _SIMPLE:
            return make(_SIMPLE[name], sources)
        if name == "mov":
            return sources[0]
        if name in ("div", "rem"):
            return make(_BY_SIGN[name][is_signed], sources)
        if name in ("shl", "shr"):
            # The amount is 32 bits wide, and larger ones count as the width: the solver's shifts do the same.
            wide = max(32, type.bits)
            value, amount = self.extended(sources[0], wide, is_signed), self.extended(sources[1], wide, False)
            shifted = make(Kind.BV_SHL if name == "shl" else _BY_SIGN["shr"][is_signed], [value, amount])
            return self.extended(shifted, bits, False)
        if name in ("mul", "mad"):
            wide = 2 * type.bits if opcode.half in ("wide", "hi") else type.bits
            product = make(Kind.BV_MUL, [self.extended(s, wide, is_signed) for s in sources[:2]])
            if opcode.half == "hi":
                product = make(Kind.BV_EXTRACT, [product], [wide - 1, type.bits])
            return make(Kind.BV_ADD, [product, sources[2]]) if name == "mad" else product
        if name in ("min", "max"):
            less = make(_COMPARES["lt"][is_signed], sources)
            return make(Kind.ITE, [less, *(sources if name == "min" else sources[::-1])])
        if name == "selp":
            return make(Kind.ITE, [make(Kind.EQUAL, [sources[2], self.solver.number(1, 1)]), sources[0], sources[1]])
        if name == "setp":
            holds = self.compared(opcode.compare, is_signed, sources)
            return make(Kind.ITE, [holds, self.solver.number(1, 1), self.solver.number(0, 1)])
        assert name == "cvt", instruction
        to, source = opcode.types
        return self.extended(self.extended(self.extended(sources[0], source.bits, False), to.bits, source.is_signed),
                             bits, to.is_signed)  # fmt: skip

    def compared(self, compare: str, is_signed: bool, sources: list[Term]) -> Term:
        if compare in ("eq", "ne"):
            equal = self.solver.make(Kind.EQUAL, sources)
            return equal if compare == "eq" else self.solver.make(Kind.NOT, [equal])
        return self.solver.make(_COMPARES[compare][is_signed], sources)


Make = Callable[[Kind, list[Term]], Term]
assert PRED.bits == 1
