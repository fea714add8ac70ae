"""The symbolic semantics of every integer instruction against the reference interpreter's: an expression is built over
leaves, constants and sums of them, and its value for random leaves must be what the interpreter computes."""

from __future__ import annotations

import itertools
import random
from functools import cache

import pytest

from drawloom.ptx.isa import FORMS, Opcode, OpcodeError, decode
from drawloom.ptx.isa_selectors import FIELDS
from drawloom.ptx.types import PRED, Type
from drawloom.reference.decode import operand_types
from drawloom.reference.instructions import semantics
from drawloom.reference.integers import carry_operation
from drawloom.reference.selection import setp
from drawloom.shuffle.evaluate import evaluate
from drawloom.shuffle.expressions import Expressions
from drawloom.shuffle.frame import operand_types as symbolic_types
from drawloom.shuffle.lanes import replaced, shifted
from drawloom.shuffle.semantics import RULES, computed, predicates, result_type, with_carry, with_predicate
from tests.reference.semantics import INTEGER_EDGES

ROUNDS = 6
#: Spellings of an instruction that are tried, some of all where there are more.
MOST_SPELLINGS = 40
#: Operands that are literals.
CONSTANTS = {"lop3": (3,)}
#: Integer instructions whose results are functions of which only the name is known.
UNINTERPRETED = {"fns"}
#: What has no value that the machine does not choose: where state spaces are, and how caches are to be used.
OF_THE_MACHINE = {"cvta", "isspacep", "createpolicy.cvt", "createpolicy.fractional", "createpolicy.range"}


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
            if not any(t.is_float for t in opcode.types):
                found[opcode.text] = opcode
    return list(found.values())


def with_selectors(opcode: Opcode, chance: random.Random) -> Opcode:
    """A video instruction with some of the selectors and signs that it may have."""
    words = selectors(opcode.name, chance, bool(opcode.operation))
    if opcode.has("po"):
        words = [word.lstrip("-") for word in words]
    return decode(f"{opcode.text}({','.join(words)})")


def selectors(name: str, chance: random.Random, is_combined: bool) -> list[str]:
    fields = FIELDS[name]
    if fields > 1:
        letter, count = "bh"[fields == 2], 8 if fields == 4 else 4
        target = "".join(str(k) for k in reversed(range(fields)) if chance.random() < 0.6) or "0"
        digits = ["".join(str(chance.randrange(count)) for _ in range(fields)) for _ in range(2)]
        return [f".{letter}{target}", *[f".{letter}{word}" for word in digits], ""]
    places = ["", ".h0", ".h1", ".b0", ".b1", ".b2", ".b3"]
    out = [chance.choice(places) for _ in range(3)]
    if name == "vmad":
        signs = chance.choice((["", "", ""], ["-", "", ""], ["", "-", ""], ["", "", "-"]))
        return ["", *[sign + place for sign, place in zip(signs, [*out[1:], ""], strict=True)]]
    return ["" if is_combined else out[0], *out[1:], ""]


def computed_by_both(opcode: Opcode, chance: random.Random) -> tuple[int, int, tuple[int, int]] | None:
    """The result of an instruction on some operands, as an expression and by the reference, and the interval of the
    expression; None for operands that it has no result for."""
    types = operand_types(opcode, max(len(form.operands) for form in opcode.forms))
    x = Expressions()
    values: dict[int, int] = {}
    constant = CONSTANTS.get(opcode.name, ())
    sources = [
        x.constant(chance.getrandbits(8), 32) if k in constant else source(x, t, k, chance, values)
        for k, t in enumerate(types[1:])
    ]
    numbers = [evaluate(x, s, values) for s in sources]
    if opcode.name in ("div", "rem") and numbers[1] == 0:
        return None
    bits = 1 if types[0] is PRED else types[0].bits * (2 if opcode.half == "wide" else 1)
    made = computed(x, opcode, sources, bits)
    expected = semantics(opcode)(*numbers) & (1 << bits) - 1
    return evaluate(x, made, values), expected, x.unsigned_range(made)


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


@pytest.mark.parametrize("name", sorted(set(RULES) - {"mov", "setp"}))
def test_expressions_are_what_the_reference_computes(name: str) -> None:
    chance = random.Random(name)
    compared = 0
    all_of_them = [
        o for o in spellings(name) if not (o.writes_carry or o.reads_carry or (o.name == "lop3" and o.operation))
    ]
    for opcode in chance.sample(all_of_them, min(len(all_of_them), MOST_SPELLINGS)):
        for k in range(ROUNDS):
            tried = opcode
            if name in FIELDS and k % 2:
                tried = with_selectors(opcode, chance)
            found = computed_by_both(tried, chance)
            if found is not None:
                made, expected, (low, high) = found
                assert made == expected, tried.spelling
                assert low <= made <= high
                compared += 1
    assert compared


def test_comparisons_are_what_the_reference_computes() -> None:
    chance = random.Random("setp")
    for opcode in spellings("setp"):
        for _ in range(ROUNDS):
            x = Expressions()
            values: dict[int, int] = {}
            types = operand_types(opcode, max(len(form.operands) for form in opcode.forms))
            sources = [source(x, t, k, chance, values) for k, t in enumerate(types[1:])]
            got = tuple(evaluate(x, e, values) for e in predicates(x, opcode, sources))
            assert got == tuple(setp(opcode)(*[evaluate(x, s, values) for s in sources])), opcode


@pytest.mark.parametrize("operation", ["and", "or"])
def test_lop3_with_a_predicate(operation: str) -> None:
    chance = random.Random(operation)
    plain, opcode = decode("lop3.b32"), decode(f"lop3.{operation}.b32")
    for _ in range(100):
        x = Expressions()
        values: dict[int, int] = {}
        sources = [source(x, opcode.types[0], k, chance, values) for k in range(3)]
        sources += [x.constant(chance.choice((0, 0x80, 0x96, 0xFF)), 32), source(x, PRED, 4, chance, values)]
        numbers = [evaluate(x, s, values) for s in sources]
        word = semantics(plain)(*numbers[:4])
        joined = (word != 0) & numbers[4] if operation == "and" else (word != 0) | numbers[4]
        made = with_predicate(x, opcode, sources)
        assert [evaluate(x, e, values) for e in made] == [word, joined]


def test_what_is_uninterpreted_is_known_by_name() -> None:
    """Every integer instruction of the table is an expression of its operands, but for those that are listed here."""
    found: set[str] = set()
    for name in PURE_NAMES:
        for opcode in spellings(name):
            if opcode.writes_carry or opcode.reads_carry:
                continue
            x = Expressions()
            types = symbolic_types(opcode, max(len(form.operands) for form in opcode.forms))
            constant = CONSTANTS.get(name, ())
            sources = [
                x.constant(0x1B, 32) if k in constant else x.leaf("symbol", t.bits, f"{k}")
                for k, t in enumerate(types[1:])
            ]
            if x.names[computed(x, opcode, sources, result_type(opcode).bits)] == "f":
                found.add(name)
    assert found == UNINTERPRETED | OF_THE_MACHINE


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


def test_what_can_be_one_number_only_is_that_number() -> None:
    x = Expressions()
    small = x.leaf("symbol", 32, "small", 0, 31)
    assert x.shift_right(small, x.constant(5, 32), False) == x.constant(0, 32)


def test_a_part_that_holds_all_of_a_number_is_widened_to_any_width() -> None:
    x = Expressions()
    part = x.truncate(x.lane, 16)
    for is_signed in (False, True):
        assert [x.extend(part, bits, is_signed) for bits in (24, 32, 64)] == [
            x.truncate(x.lane, 24), x.lane, x.extend(x.lane, 64, False)
        ]  # fmt: skip
    assert x.extend(x.truncate(x.lane, 4), 64, False) != x.extend(x.lane, 64, False)
