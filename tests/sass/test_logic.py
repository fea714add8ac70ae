"""Chains of logic operations as one of three inputs: the table of the result, against the two tables one after the
other; and where two stay two."""

from __future__ import annotations

import itertools
import random

from drawloom.sass.copies import Uses
from drawloom.sass.isa import load_target
from drawloom.sass.logic import Logic
from drawloom.sass.machine import GENERAL, RZ, VIRTUAL, Machine, MachineFunction

TARGET = load_target(90)
PLAIN = TARGET.opcode("LOP3.LUT", "R,R,R,R,I,!P")
IMMEDIATE = TARGET.opcode("LOP3.LUT", "R,R,I,R,I,!P")
STORE = TARGET.opcode("STG.E", "desc[UR][R.64+I],R")
MASK = 0xFFFFFFFF


def value_of(code: list[Machine], given: dict[int, int]) -> int:
    """What the store at the end of some operations stores, bit by bit."""
    known = {RZ: 0, **given}
    for instruction in code[:-1]:
        out, a, b, c, table, _ = instruction.values
        words = [known[a], b if instruction.opcode is IMMEDIATE else known[b], known[c]]
        known[out] = 0
        for bit in range(32):
            row = sum((word >> bit & 1) << 2 - place for place, word in enumerate(words))
            known[out] |= (table >> row & 1) << bit
    return known[code[-1].values[3]]


def joined(lines: list[tuple[int, int | str, int, int, int]]) -> tuple[list[Machine], list[Machine], int]:
    """Operations (out, a, b, c, table) on registers 0 to 7, -1 for RZ and text for an immediate, the last one stored:
    before, after, and how many are left that are read."""
    made = []
    for _ in range(2):
        function = MachineFunction("k", 90, True)
        registers = [*[function.register(GENERAL) for _ in range(8)], RZ]
        code = []
        for out, a, b, c, table in lines:
            second = int(b) if isinstance(b, str) else registers[b]
            opcode = IMMEDIATE if isinstance(b, str) else PLAIN
            code.append(Machine(opcode, [registers[out], registers[a], second, registers[c], table, 7]))
        code.append(Machine(STORE, [2, 4, 0, registers[lines[-1][0]]]))
        function.block().instructions = code
        made.append(function)
    uses = Uses(made[1])
    Logic(TARGET, uses.writes, uses.reads).join(made[1].blocks[0])
    before, after = (function.blocks[0].instructions for function in made)
    left = sum(uses.reads[i.values[0] - VIRTUAL] > 0 for i in after[:-1])
    return before, after, left


def test_two_operations_of_any_tables_are_one_of_three_inputs() -> None:
    chance = random.Random(3)
    for places in itertools.product(range(3), repeat=2):
        for _ in range(20):
            inner, outer = [0, 1, -1], [4, 2, -1]
            chance.shuffle(inner)
            outer[0], outer[places[0]] = outer[places[0]], outer[0]
            lines = [(4, *inner, chance.randrange(256)), (5, *outer, chance.randrange(256))]
            before, after, left = joined(lines)
            assert left == 1
            given = {VIRTUAL + 4 * n: chance.getrandbits(32) for n in range(4)}
            assert value_of(before, given) == value_of(after, given)


def test_an_immediate_takes_the_second_place() -> None:
    before, after, left = joined([(4, 0, "255", -1, 0xC0), (5, 1, 4, -1, 0xFC)])
    assert left == 1 and after[1].opcode is IMMEDIATE
    given = {VIRTUAL: 0x12345678, VIRTUAL + 4: 0xF0F00000}
    assert value_of(before, given) == value_of(after, given) == 0xF0F00078


def test_two_stay_two_where_inputs_are_too_many_or_written_or_the_result_is_read_twice() -> None:
    assert joined([(4, 0, 1, 2, 0x96), (5, 4, 3, -1, 0x3C)])[2] == 2
    assert joined([(4, 0, "255", -1, 0xC0), (5, 4, "65280", -1, 0xFC)])[2] == 2
    assert joined([(4, 0, 1, -1, 0x3C), (0, 2, 3, -1, 0x3C), (5, 4, 0, -1, 0x3C)])[2] == 3
    assert joined([(4, 0, 1, -1, 0x3C), (6, 4, 2, -1, 0xC0), (5, 4, 6, -1, 0xFC)])[2] == 2
