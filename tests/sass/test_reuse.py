"""Reuse flags: set where ptxas sets them, refused where they would keep an old value or nothing."""

from __future__ import annotations

import pytest

from drawloom.sass.access import Operands, facts_of
from drawloom.sass.assemble import assemble
from drawloom.sass.control import REUSE_SHIFT, YIELD_SHIFT, pack_control, reuse, stall, switches
from drawloom.sass.decoder import unpack_section
from drawloom.sass.flow import control_flow
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import TARGETS, load_target
from drawloom.sass.latencies import timing
from drawloom.sass.machine import Machine
from drawloom.sass.reuse import Reuse
from drawloom.sass.text import parse_instruction
from drawloom.sass.verify import verify
from tests.sass.schedule_faults import golden_sections

#: Of the flags that ptxas or we set in ptxas's code of the sample, how many both set at least (docs/sass.md has the
#: counts over the corpus).
ALIKE = 0.88


def mark(target: int, code: list[Machine]) -> None:
    operands = Operands(timing(target))
    operands.add(code)
    Reuse(target >= 75, operands).mark(code, [facts_of(i.opcode, timing(target)) for i in code])


def marked(target: int, code: list[Instruction]) -> list[int]:
    """The flags that our rule sets in a block, whatever it had."""
    made = [Machine(i.opcode, i.values, i.guard, i.control & ~(15 << REUSE_SHIFT)) for i in code]
    mark(target, made)
    return [reuse(i.control) for i in made]


@pytest.mark.parametrize("target", TARGETS)
def test_the_rule_is_that_of_ptxas(target: int) -> None:
    both = either = 0
    for _, code in golden_sections(target):
        for start, end in control_flow(load_target(target), code, {}).ends.items():
            for ours, other in zip(marked(target, code[start:end]), code[start:end]):
                both += (ours & reuse(other.control)).bit_count()
                either += (ours | reuse(other.control)).bit_count()
    assert both > 40
    assert both >= ALIKE * either


def lines(*texts: str, switch: int = -1) -> list[Instruction]:
    target = load_target(90)
    return [
        parse_instruction(target, text, 16 * number, pack_control(5, switch=number == switch))
        for number, text in enumerate(texts)
    ]


KEPT = ["IMAD R2, R7, R4, R3", "IMAD R6, R8, R5, R11", "IMAD R9, R7, R10, R5"]


def test_a_register_is_kept_past_other_banks_and_instructions() -> None:
    assert marked(90, lines(*KEPT)) == [1, 0, 0]
    assert marked(90, lines(KEPT[0], "LDC R12, c[0x0][0x210]", KEPT[2])) == [1, 0, 0]


@pytest.mark.parametrize(
    "between", ["IMAD R6, R9, R5, R11", "IMAD R7, R8, R5, R11", "LDG.E.64 R6, desc[UR4][R14.64]", "BRA 0x0"]
)
def test_a_register_is_not_kept_past_its_bank_a_write_or_a_branch(between: str) -> None:
    assert marked(90, lines(KEPT[0], between, KEPT[2])) == [0, 0, 0]


def test_a_register_is_not_kept_while_another_warp_issues() -> None:
    assert marked(90, lines(*KEPT, switch=1)) == [0, 0, 0]
    assert marked(90, lines("IADD3 R7, R7, 0x1, RZ", "IADD3 R2, R7, 0x2, RZ")) == [0, 0]


def test_pairs_are_kept_for_pairs() -> None:
    assert marked(90, lines("DADD R2, R4, R6", "DADD R8, R4, R10")) == [1, 0]
    assert marked(90, lines("DADD R2, R4, R6", "LDG.E R5, desc[UR4][R14.64]", "DADD R8, R4, R10")) == [0, 0, 0]


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("IMAD R2, R7.reuse, R4, R3", "IMAD R9, R8, R7, R5", "keeps R7 in slot 0 for nobody: EXIT lets"),
        ("IMAD R7, R7.reuse, R4, R3", "IMAD R9, R7, R4, R5", "keeps R7 in slot 0, which IMAD writes"),
    ],
)
def test_the_checker_refuses_a_flag_that_keeps_what_is_not_read(first: str, second: str, why: str) -> None:
    code = lines(first, second, "EXIT")
    assert [problem.why for problem in verify(load_target(90), code) if why in problem.why]


@pytest.mark.parametrize("target", TARGETS)
def test_flags_are_set_but_in_serial_code(target: int) -> None:
    body = "".join(f"\tmad.lo.s32 %r{n}, %r1, %r2, {n};\n\tst.global.u32 [%rd1+{4 * n}], %r{n};\n" for n in range(3, 9))
    source = (
        f".version 8.0\n.target sm_{target}\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n"
        "\t.reg .b32 %r<10>;\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n"
        f"\tmov.u32 %r2, %tid.x;\n{body}\tret;\n}}\n"
    )
    for serial in (False, True):
        code = unpack_section(load_target(target), assemble(source, f"sm_{target}", serial=serial).kernels["k"].code)
        assert any(reuse(instruction.control) for instruction in code) != serial
        assert verify(load_target(target), code) == []


@pytest.mark.parametrize("target", [target for target in TARGETS if target >= 75])
def test_other_warps_may_issue_where_ptxas_lets_them(target: int) -> None:
    alike = count = 0
    for _, code in golden_sections(target):
        for start, end in control_flow(load_target(target), code, {}).ends.items():
            made = [Machine(i.opcode, i.values, i.guard, i.control) for i in code[start:end]]
            for i in made:
                if stall(i.control) < 12:
                    i.control = (i.control | 1 << YIELD_SHIFT) & ~(15 << REUSE_SHIFT)
            mark(target, made)
            for ours, other in zip(made, code[start:end]):
                if stall(other.control) >= 3 and ours.opcode.mnemonic != "NOP":
                    alike += switches(ours.control) == switches(other.control)
                    count += 1
    assert count > 100
    assert alike >= 0.9 * count
