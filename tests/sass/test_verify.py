"""The checker of schedules: it accepts what ptxas emits and finds every planted fault."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from drawloom.sass.access import Operands
from drawloom.sass.control import pack_control, stall
from drawloom.sass.effects import effects
from drawloom.sass.encoding import address_of, encode
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import TARGETS, load_target
from drawloom.sass.latencies import timing
from drawloom.sass.machine import Machine, MachineFunction
from drawloom.sass.text import parse_instruction
from drawloom.sass.timetable import Timetable
from drawloom.sass.verify import verify
from tests.sass.schedule_faults import faults, golden_sections
from tools.isa import vendor

#: Faults that are tried of each kind in one section, chosen by the target as seed.
SAMPLE = 2
KINDS = {
    "stall", "scoreboard delay", "yield", "control stall",
    "result: wait dropped", "result: scoreboard left out", "result: other scoreboard",
    "source: wait dropped", "source: scoreboard left out", "source: other scoreboard",
    "reuse: rewritten", "reuse: for nobody", "reuse: over a switch",
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_accepts_what_ptxas_emits(target: int) -> None:
    count = 0
    for name, code in golden_sections(target):
        assert verify(load_target(target), code) == [], name
        count += len(code)
    assert count > 1000


@pytest.mark.parametrize("target", TARGETS)
def test_finds_every_planted_fault(target: int) -> None:
    tried: Counter[str] = Counter()
    missed = []
    choice = random.Random(target)
    for name, code in golden_sections(target):
        found = sorted(set(faults(target, code)))
        for kind in sorted({fault.kind for fault in found}):
            of_kind = [fault for fault in found if fault.kind == kind]
            for fault in choice.sample(of_kind, min(SAMPLE, len(of_kind))):
                kept, code[fault.place].control = code[fault.place].control, fault.control
                if not verify(load_target(target), code):
                    missed.append((name, fault, str(code[fault.place])))
                code[fault.place].control = kept
                tried[kind] += 1
    assert missed == []
    wanted = KINDS if target >= 75 else KINDS - {"yield", "control stall"}
    assert {kind for kind in wanted if tried[kind] < 3} == set()


def program(target: int, *lines: tuple[str, int]) -> list[Instruction]:
    """Instructions with (text, control)."""
    isa = load_target(target)
    return [
        parse_instruction(isa, text, address_of(isa, index), control) for index, (text, control) in enumerate(lines)
    ]


def problems(target: int, *lines: tuple[str, int]) -> list[str]:
    return [problem.why for problem in verify(load_target(target), program(target, *lines))]


def at(stall: int, **bits: int) -> int:
    return pack_control(stall=stall, switch=stall >= 12, **bits)


END = ("EXIT", at(5))


def test_the_message_names_place_register_and_cycles() -> None:
    found = verify(
        load_target(90),
        program(90, ("IMAD R2, R4, R5, R6", at(4)), ("IADD3 R3, R2, 0x1, RZ", at(5)), END),
    )
    assert [str(problem) for problem in found] == [
        "/*0010*/ IADD3 R3, R2, 0x1, RZ: reads R2 4 cycles after IMAD at 0000, needs 5 (fma to alu)"
    ]
    assert found[0].address == 16


def test_a_load_needs_a_scoreboard_and_a_wait() -> None:
    load, use = "LDS R2, [R4]", "IADD3 R3, R2, 0x1, RZ"
    assert problems(90, (load, at(2, write_barrier=0)), (use, at(5, wait_mask=1)), END) == []
    assert problems(90, (load, at(2, write_barrier=0)), (use, at(5, wait_mask=2)), END)
    assert problems(90, (load, at(1, write_barrier=0)), (use, at(5, wait_mask=1)), END) == [
        "waits for scoreboard 0 before it is set"
    ]


def test_shared_loads_finish_in_order_global_ones_do_not() -> None:
    use = ("IADD3 R6, R2, R3, RZ", at(5, wait_mask=1))
    shared = [("LDS R2, [R4]", at(1)), ("LDS R3, [R5]", at(2, write_barrier=0))]
    assert problems(90, *shared, use, END) == []
    apart = [("LDL R2, [R4]", at(1)), ("LDL R3, [R5]", at(2, write_barrier=0))]
    assert problems(90, *apart, use, END)


@pytest.mark.parametrize("target", [80, 86, 89])
def test_the_descriptor_that_is_not_printed_is_waited_for(target: int) -> None:
    load = ("LDG.E R0, [R2.64]", at(5, write_barrier=0, wait_mask=2))
    setup, other = "ULDC.64 UR4, c[0x0][0x118]", "ULDC.64 UR6, c[0x0][0x118]"
    assert problems(target, (setup, at(2)), load, END) == []
    assert problems(target, (setup, at(1)), load, END) == [
        "reads UR4 1 cycles after ULDC.64 at 0000, needs 2 (umov to mem)",
        "reads UR5 1 cycles after ULDC.64 at 0000, needs 2 (umov to mem)",
    ]
    assert problems(target, (other, at(1)), load, END) == []


def test_a_store_holds_its_sources() -> None:
    rewrite = "MOV R2, 0x1"
    assert problems(90, ("STS [R4], R2", at(4)), (rewrite, at(5)), END)
    assert problems(90, ("STS [R4], R2", at(4, read_barrier=3)), (rewrite, at(5, wait_mask=8)), END) == []


def test_opposite_guards_do_not_meet() -> None:
    both = [("@P0 IMAD R2, R4, R5, R6", at(1)), ("@!P0 IADD3 R3, R2, 0x1, RZ", at(5)), END]
    assert problems(90, *both) == []
    again = [both[0], ("ISETP.EQ.AND P0, PT, R8, R9, PT", at(13)), both[1], END]
    assert problems(90, *again) == []
    soon = [("@P0 DADD R2, R4, R6", at(1)), ("@!P0 IADD3 R3, R2, 0x1, RZ", at(5)), END]
    assert problems(90, *soon) == []
    assert problems(90, soon[0], ("@P0 IADD3 R3, R2, 0x1, RZ", at(5)), END)


def test_a_loop_carries_what_is_under_way() -> None:
    body = [
        ("IADD3 R3, R2, 0x1, RZ", at(5)),
        ("LDS R2, [R4]", at(4, write_barrier=1)),
        ("@P0 BRA 0x0", at(5)),
        END,
    ]
    assert problems(90, *body)
    body[0] = ("IADD3 R3, R2, 0x1, RZ", at(5, wait_mask=2))
    assert problems(90, *body) == []


def test_the_worse_path_counts() -> None:
    lines = [
        ("@P0 BRA 0x20", at(5)),
        ("IMAD R2, R4, R5, R6", at(1)),
        ("IADD3 R3, R2, 0x1, RZ", at(5)),
        END,
    ]
    assert problems(90, *lines)
    lines[1] = ("IMAD R2, R4, R5, R6", at(5))
    assert problems(90, *lines) == []


def test_partial_waits_count_the_later_ones() -> None:
    loads = [(f"LDG.E R{number}, [R8]", pack_control(stall=2, write_barrier=5)) for number in (2, 3, 4)]
    use = ("IADD R6, R3, R2", at(13))
    end = ("EXIT", at(13))
    assert problems(61, *loads, ("DEPBAR.LE SB5, 0x1", at(3)), use, end) == []
    assert problems(61, *loads, ("DEPBAR.LE SB5, 0x2", at(3)), use, end)
    shared = [(f"LDS R{number}, [R8]", pack_control(stall=2, write_barrier=5)) for number in (4, 5)]
    assert problems(61, *loads[:2], *shared, ("DEPBAR.LE SB5, 0x2", at(3)), use, end)  # these may be over first
    stored = ("STG.E [R8], R10", pack_control(stall=2, read_barrier=5))
    assert problems(61, *loads[:2], stored, ("DEPBAR.LE SB5, 0x1", at(3)), use, end)


def test_two_issue_in_one_cycle_where_ptxas_lets_them() -> None:
    add, load, end = "IADD R2, R3, R4", ("LDG.E R6, [R8]", pack_control(stall=2, write_barrier=0)), ("EXIT", at(13))
    assert problems(61, (add, at(0)), load, end) == []
    assert problems(61, (add, at(0)), ("IADD R5, R3, R4", at(6)), end) == ["issues together with IADD"]
    assert problems(61, (add, at(0)), ("DADD R6, R8, R10", at(2)), end) == ["issues together with DADD"]
    bank = "IADD R2, R3, c[0x0][0x140]"
    other = ("LDC R6, c[0x3][R8]", pack_control(stall=2, write_barrier=0))
    assert problems(61, (bank, at(0)), load, end) == []
    assert problems(61, (bank, at(0)), other, end) == ["issues together with LDC, which reads constants as well"]
    assert "issues together with S2R and with the one before" in problems(
        61, (add, at(0)), ("MOV R5, R4", at(0)), ("S2R R7, SR_TID.X", pack_control(stall=2, write_barrier=1)), end
    )
    late = ("LDG.E R6, [R2]", pack_control(stall=2, write_barrier=0))
    assert problems(61, (add, at(0)), late, end) == ["reads R2 0 cycles after IADD at 0008, needs 2 (alu to mem)"]


def test_a_short_first_result_must_not_overtake() -> None:
    first, second = "DADD R2, R4, R6", "MOV R2, 0x1"
    assert problems(90, (first, at(2)), (second, at(5)), END)
    assert problems(90, (first, at(6)), (second, at(5)), END) == []


def test_what_has_no_result_sets_no_scoreboard_for_one() -> None:
    move = "BMOV.32 B0, R2"
    assert problems(90, (move, at(5, read_barrier=0)), END) == []
    assert problems(90, (move, at(5, write_barrier=0)), END) == ["sets a scoreboard for a result, which it cannot"]
    kept = ("BMOV.32.CLEAR R2, B0", at(5, write_barrier=0))
    assert problems(90, kept, END) == []
    assert problems(90, ("BMOV.32.CLEAR R2, B0", at(5, read_barrier=0)), END) == [
        "sets a scoreboard for operands, which it cannot"
    ]
    assert problems(86, ("BSSY B0, 0x20", at(5, write_barrier=0)), END) == [
        "sets a scoreboard for a result, which it cannot"
    ]
    assert problems(61, ("IADD R2, R3, R4", at(6, write_barrier=0)), END)[:1] == ["sets a scoreboard, which it cannot"]


@pytest.mark.parametrize("target", [61, 90])
def test_scoreboards_are_refused_where_nvdisasm_refuses_them(target: int) -> None:
    if vendor.find("nvdisasm-12.4" if target == 61 else "nvdisasm") is None:
        pytest.skip("needs nvdisasm")
    isa = load_target(target)
    place = 105 if isa.wide else 64
    found = {effects(i.opcode).base: i for _, code in golden_sections(target) for i in code}
    words = []
    for instruction in found.values():
        for control in (at(2, write_barrier=0), at(2, read_barrier=0)):
            instruction.control = 0
            words.append(encode(instruction) | control << place)
    texts = iter(vendor.texts_of(words, target))
    wrong = []
    for name, instruction in found.items():
        for control in (at(2, write_barrier=0), at(2, read_barrier=0)):
            instruction.control = control
            refused = any("cannot" in problem.why for problem in verify(isa, [instruction]))
            if refused == bool(next(texts)):
                wrong.append((name, control))
    assert len(found) > 60
    assert wrong == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_register_is_rewritten_as_soon_as_its_results_stay_in_order(target: int) -> None:
    """Each rewrite waited for the longest time in the tables, also for readers that no such result can have."""
    tables = load_target(target)
    function = MachineFunction("k", target, True)
    texts = ["MOV R2, R4", "MOV R2, R5", "ISETP.EQ.AND P0, PT, R6, R7, PT", "ISETP.EQ.AND P0, PT, R6, R8, PT", "EXIT"]
    parsed = [parse_instruction(tables, text) for text in texts]
    function.block().instructions = [Machine(i.opcode, i.values, i.guard) for i in parsed]
    operands = Operands(timing(target))
    operands.add(function.blocks[0].instructions)
    Timetable(function, tables, timing(target), operands).run()
    made = function.blocks[0].instructions
    assert [stall(i.control) for i in made[:4]] == [1, 1, 1, 1]
    assert verify(tables, made) == []
