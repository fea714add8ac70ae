"""Constant folding against the reference interpreter's instructions, on every spelling and on extreme operands."""

from __future__ import annotations

import itertools
import random

import pytest

from drawloom.opt.evaluate import RULES, evaluate
from drawloom.ptx.isa import FORMS, Opcode, OpcodeError, decode
from drawloom.ptx.types import PRED, TYPES, Type
from drawloom.reference.decode import operand_types
from drawloom.reference.instructions import semantics
from drawloom.reference.selection import setp
from tests.reference.semantics import INTEGER_EDGES

FLOATS = {
    32: (
        0,
        1 << 31,
        1,
        0x80000001,
        0x007FFFFF,
        0x00800000,
        0x3F800000,
        0xBF800000,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x40000000,
        0x40400000,
        0xC2C80000,
        0x3E800000,
        0x7F000000,
    ),
    64: (
        0,
        1 << 63,
        1,
        0x3FF0000000000000,
        0xBFF0000000000000,
        0x7FF0000000000000,
        0x7FF8000000000001,
        0x4000000000000000,
        0x4008000000000000,
        0xC059000000000000,
        0x3FD0000000000000,
        0x7FE0000000000000,
    ),
}


def spellings(name: str) -> list[Opcode]:
    found: dict[str, Opcode] = {}
    for form in FORMS[name]:
        choices = [[*slot, ""] if optional else slot for slot, optional in zip(form.slots, form.optional, strict=True)]
        for words in itertools.product(*choices, *form.types):
            try:
                opcode = decode(".".join([name, *[w for w in words if w]]))
            except OpcodeError:
                continue
            found[opcode.text] = opcode
    return list(found.values())


def value(chance: random.Random, type: Type) -> int:
    if type is PRED:
        return chance.randrange(2)
    edges = FLOATS[type.bits] if type.is_float and type.bits in FLOATS else INTEGER_EDGES.get(type.bits, ())
    return chance.choice(edges) if edges and chance.random() < 0.7 else chance.getrandbits(type.bits)


@pytest.mark.parametrize("name", sorted(RULES))
def test_constants_are_what_the_reference_computes(name: str) -> None:
    chance = random.Random(name)
    folded = 0
    for opcode in spellings(name):
        count = max(len(form.operands) for form in opcode.forms)
        types = operand_types(opcode, count)[1:]
        if opcode.writes_carry or opcode.reads_carry or opcode.vector > 1 or any(t.lanes > 1 for t in opcode.types):
            continue
        known = list(types)
        if name == "mov" and known[0].bits > 64:
            continue
        to = PRED if name == "setp" else TYPES["u32"] if name in ("popc", "clz") else opcode.types[0]
        bits = 2 * to.bits if opcode.half == "wide" else to.bits
        for _ in range(200 if name == "fma" else 30):
            values = [value(chance, type) for type in known]
            ours = evaluate(opcode, values, bits)
            if ours is None:
                continue
            folded += 1
            if name == "mov":
                expected = values[0]
            elif name == "setp":
                expected = setp(opcode)(*values)[0]
            else:
                expected = semantics(opcode)(*values)
            assert ours == expected & (1 << bits) - 1, (opcode, [hex(v) for v in values])
    assert folded > 20


@pytest.mark.parametrize("text", ["div.s32", "rem.u64", "div.rn.f32", "add.cc.u32", "add.u16x2", "mad.hi.sat.s32"])
def test_what_is_open_or_not_exact_is_left_alone(text: str) -> None:
    assert evaluate(decode(text), [5, 0, 7], 32) is None
