"""The symbolic semantics of every integer instruction against the reference interpreter's: an expression is built over
leaves, constants and sums of them, and its value for random leaves must be what the interpreter computes."""

from __future__ import annotations

import itertools
import random
from functools import cache

import pytest

from drawloom.ptx.isa import FORMS, Opcode, OpcodeError, decode
from drawloom.ptx.types import PRED, Type
from drawloom.reference.decode import operand_types
from drawloom.reference.instructions import semantics
from drawloom.reference.integers import carry_operation
from drawloom.reference.selection import setp
from drawloom.shuffle.evaluate import evaluate
from drawloom.shuffle.expressions import Expressions
from drawloom.shuffle.frame import operand_types as symbolic_types
from drawloom.shuffle.lanes import replaced, shifted
from drawloom.shuffle.semantics import RULES, computed, predicates, result_type, with_carry
from tests.reference.semantics import INTEGER_EDGES

ROUNDS = 6
#: Operands that have to be constants for the result to be exact.
CONSTANTS = {"lop3": (3,), "prmt": (2,), "szext": (1,)}


def decode_any(name: str) -> Opcode:
    """Some opcode of a name."""
    form = FORMS[name][0]
    words = [slot[0] for slot, optional in zip(form.slots, form.optional, strict=True) if not optional]
    return decode(".".join([name, *words, *[types[0] for types in form.types]]))


@cache
def spellings(name: str) -> list[Opcode]:
    found: dict[str, Opcode] = {}
    for form in FORMS[name]:
        choices = [[*slot, ""] if optional else slot for slot, optional in zip(form.slots, form.optional, strict=True)]
        for words in itertools.product(*choices, *form.types):
            try:
                opcode = decode(".".join([name, *[w for w in words if w]]))
            except OpcodeError:
                continue
            if all(t.lanes == 1 and not t.is_float for t in opcode.types):
                found[opcode.text] = opcode
    return list(found.values())


def pattern(chance: random.Random, bits: int) -> int:
    edges = INTEGER_EDGES.get(bits, ())
    return chance.choice(edges) & (1 << bits) - 1 if edges and chance.random() < 0.6 else chance.getrandbits(bits)


def source(x: Expressions, type: Type, place: int, chance: random.Random, values: dict[int, int]) -> int:
    """An expression that a source could hold."""
    bits = 1 if type is PRED else type.bits
    shape = chance.randrange(6) if bits > 8 else chance.randrange(2)
    if shape == 1:
        return x.constant(chance.choice((pattern(chance, bits), chance.randrange(34))), bits)
    leaf = x.leaf("symbol", bits, f"s{place}")
    values.setdefault(leaf, pattern(chance, bits))
    if shape == 0:
        return leaf
    small = x.leaf("symbol", 8, f"n{place}", 0, 200)
    values.setdefault(small, chance.randrange(201))
    narrow = x.extend(small, bits, False)
    if shape == 2:
        return x.scale(leaf, chance.choice((1, 2, 4, 32, -1, 3)), chance.randrange(-40, 40))
    if shape == 3:
        return x.scale(narrow, chance.choice((1, 2, 32, -1)), chance.randrange(-40, 40))
    if shape == 4:
        return x.add(narrow, x.scale(x.extend(x.leaf("symbol", 4, f"m{place}"), bits, False), 256))
    return x.extend(x.truncate(leaf, 8), bits, chance.random() < 0.5)


@pytest.mark.parametrize("name", sorted(set(RULES) - {"mov"}))
def test_expressions_are_what_the_reference_computes(name: str) -> None:
    chance = random.Random(name)
    compared = 0
    for opcode in spellings(name):
        if opcode.writes_carry or opcode.reads_carry:
            continue
        count = max(len(form.operands) for form in opcode.forms)
        types = operand_types(opcode, count)[1:]
        if name in ("lop3", "prmt") and opcode.operation:
            continue
        for _ in range(ROUNDS):
            x = Expressions()
            values: dict[int, int] = {}
            constant = CONSTANTS.get(name, ())
            sources = [
                x.constant(pattern(chance, 32) if chance.random() < 0.4 else chance.randrange(40), 32)
                if k in constant
                else source(x, t, k, chance, values)
                for k, t in enumerate(types)
            ]
            numbers = [evaluate(x, s, values) for s in sources]
            if name in ("div", "rem") and numbers[1] == 0:
                continue
            if name == "setp":
                got = tuple(evaluate(x, e, values) for e in predicates(x, opcode, sources))
                assert got == tuple(setp(opcode)(*numbers)), (opcode, numbers)
            else:
                bits = types[0].bits * 2 if opcode.half == "wide" else opcode.types[0].bits
                bits = 1 if opcode.types[0] is PRED else bits
                made = computed(x, opcode, sources, bits)
                assert evaluate(x, made, values) == semantics(opcode)(*numbers) & (1 << bits) - 1, (opcode, numbers)
                low, high = x.unsigned_range(made)
                assert low <= evaluate(x, made, values) <= high
            compared += 1
    assert compared


PURE_NAMES = sorted(name for name, forms in FORMS.items() if not decode_any(name).effect)


@pytest.mark.parametrize("name", PURE_NAMES)
def test_every_instruction_has_some_semantics(name: str) -> None:
    """Each spelling of the table gives an expression of the width of its result, the same for the same sources."""
    x = Expressions()
    for form in FORMS[name]:
        choices = [[*slot, ""] if optional else slot for slot, optional in zip(form.slots, form.optional, strict=True)]
        for words in itertools.islice(itertools.product(*choices, *form.types), 64):
            try:
                opcode = decode(".".join([name, *[w for w in words if w]]))
            except OpcodeError:
                continue
            types = symbolic_types(opcode, len(form.operands))
            sources = [x.leaf("symbol", t.bits, f"{k} {t.name}") for k, t in enumerate(types[1:])]
            width = result_type(opcode).bits
            if opcode.half == "wide":
                width *= 2
            if opcode.writes_carry or opcode.reads_carry:
                made = with_carry(x, opcode, sources, x.false)[0]
            else:
                made = computed(x, opcode, sources, width)
                assert computed(x, opcode, sources, width) == made
            assert x.widths[made] == width, opcode


@pytest.mark.parametrize("name", ["add", "addc", "sub", "subc", "mad", "madc"])
def test_carries_are_what_the_reference_computes(name: str) -> None:
    chance = random.Random(name)
    compared = 0
    for opcode in spellings(name):
        if not (opcode.writes_carry or opcode.reads_carry):
            continue
        count = 3 if name in ("mad", "madc") else 2
        for _ in range(ROUNDS):
            x = Expressions()
            values: dict[int, int] = {}
            sources = [source(x, opcode.types[0], k, chance, values) for k in range(count)]
            carry = source(x, PRED, 9, chance, values)
            before = evaluate(x, carry, values) if opcode.reads_carry else 0
            result, after = with_carry(x, opcode, sources, carry)
            expected = carry_operation(opcode)(*[evaluate(x, s, values) for s in sources], before)
            assert (evaluate(x, result, values), evaluate(x, after, values)) == expected, opcode
            compared += 1
    assert compared


def test_another_lane_is_the_same_expression_with_another_lane() -> None:
    """``shifted`` by N has the value of the original where the lane is N more, for every expression without opaque
    leaves; and replacing the lane by a constant is evaluating there."""
    chance = random.Random(5)
    opcodes = [decode(t) for t in "add.s32 sub.s32 mul.lo.s32 and.b32 or.b32 xor.b32 shl.b32 shr.s32 shr.u32 rem.u32 "
               "div.u32 min.s32 max.u32".split()]  # fmt: skip
    for _ in range(400):
        x = Expressions()
        values: dict[int, int] = {}
        pool = [
            x.lane,
            x.scale(x.leaf("warp", 32, "", 0, 31), 32),
            source(x, decode("add.s32").types[0], 1, chance, values),
        ]
        pool.append(x.add(pool[0], pool[1]))
        for _ in range(chance.randrange(1, 8)):
            opcode = chance.choice(opcodes)
            second = x.constant(chance.choice((1, 2, 3, 4, 5, 7, 31, 32)), 32)
            if opcode.name not in ("shl", "shr", "rem", "div") and chance.random() < 0.6:
                second = chance.choice(pool)
            pool.append(computed(x, opcode, [chance.choice(pool), second], 32))
        made = x.extend(pool[-1], 64, chance.random() < 0.5)
        delta = chance.randrange(-31, 32)
        lane = chance.randrange(max(0, -delta), min(32, 32 - delta))
        there = {e: v for e, v in values.items() if not x.args[e]} | {x.lane: lane + delta}
        here = {e: v for e, v in values.items() if not x.args[e]} | {x.lane: lane}
        moved = shifted(x, made, delta, {})
        expected = evaluate(x, made, dict(there))
        assert evaluate(x, moved, dict(here)) == expected
        fixed = replaced(x, made, {x.lane: x.constant(lane + delta, 32)})
        assert evaluate(x, fixed, dict(here)) == expected
