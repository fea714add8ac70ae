"""The latency tables against the published numbers, and against what ptxas counts on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from drawloom.sass.decoder import unpack_section
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.latencies import CONSUMERS, FAMILIES, PRODUCERS, UNKNOWN, timing
from drawloom.sass.text import parse_instruction
from tests.sass.schedule_faults import golden_sections
from tools.isa import vendor
from tools.isa.latencies import Histogram, measure, sections_of
from tools.isa.schedules import CORPUS, assemble

FAMILY_TARGETS = {61: (61,), 75: (75,), 80: (80, 86, 89), 90: (90,)}


def cycles(target: int, producer: str, consumer: str) -> int:
    return timing(target).cycles[PRODUCERS.index(producer)][CONSUMERS.index(consumer)]


@pytest.mark.parametrize(
    ("target", "producer", "consumer", "expected"),
    [
        (61, "alu", "alu", 6),  # thesis, table 5.3: integer, single, shift
        (61, "alu.p", "guard", 13),  # thesis, table 5.3: comparison
        (86, "alu", "alu", 4),  # measured by others on a GPU, as the next six
        (86, "fma", "fma", 4),
        (86, "alu", "fma", 5),
        (86, "fma", "alu", 5),
        (86, "wide", "alu", 5),
        (86, "wide", "wide.c", 6),
        (86, "alu.p", "guard", 13),
        (90, "alu.p", "guard", 13),  # ptxas's output for sm_90, as the next two
        (90, "fma", "fma", 4),
        (90, "double", "double", 8),
    ],
)
def test_published_numbers(target: int, producer: str, consumer: str, expected: int) -> None:
    assert cycles(target, producer, consumer) == expected


@pytest.mark.parametrize("target", FAMILIES)
def test_every_cell_is_a_stall_count(target: int) -> None:
    for row in timing(target).cycles:
        assert all(1 <= cell <= UNKNOWN for cell in row)


def below(family: int, seen: Histogram) -> list[tuple[str, str, int]]:
    """Pairs between which ptxas leaves less than the table says."""
    table = timing(family).cycles
    return [
        (PRODUCERS[producer], CONSUMERS[consumer], min(distances))
        for (producer, consumer), distances in sorted(seen.items())
        if min(distances) < table[producer][consumer]
    ]


@pytest.mark.parametrize("family", FAMILY_TARGETS)
def test_ptxas_never_leaves_less_and_often_just_as_much(family: int) -> None:
    code = [section for target in FAMILY_TARGETS[family] for _, section in golden_sections(target)]
    seen = measure(family, code)
    assert below(family, seen) == []
    table = timing(family).cycles
    exact = [pair for pair, distances in seen.items() if min(distances) == table[pair[0]][pair[1]]]
    assert len(exact) >= (5 if family == 61 else 20)


@pytest.mark.parametrize("target", FAMILIES)
def test_live_ptxas_never_leaves_less(target: int, tmp_path: Path) -> None:
    if not vendor.assembles_for(target):
        pytest.skip(f"no ptxas for sm_{target} is installed")
    code: list[list[Instruction]] = []
    for program in random.Random(target).sample(sorted(CORPUS.glob("*/*.ptx")), 6):
        if assemble(program, target, 3, tmp_path / "a.cubin"):
            code += [unpack_section(load_target(target), data) for data in sections_of(tmp_path / "a.cubin")]
    assert sum(map(len, code)) > 100
    assert below(FAMILIES[target], measure(FAMILIES[target], code)) == []


@pytest.mark.parametrize(
    ("target", "text", "unit", "variable"),
    [
        (90, "IADD3 R2, R4, R5, RZ", "alu", False),
        (90, "VIADD R2, R4, 0x1", "fma", False),
        (90, "IMAD.WIDE R2, R4, R5, R6", "wide", False),
        (90, "DADD R2, R4, R6", "double", False),
        (90, "MUFU.RCP R2, R4", "xu", True),
        (90, "LDS R2, [R4]", "mem", True),
        (90, "UIADD3 UR4, UR5, UR6, URZ", "uniform", False),
        (90, "ULDC UR4, c[0x0][0x210]", "umov", False),
        (61, "XMAD R2, R4, R5, R6", "alu", False),
        (61, "IMUL R2, R4, R5", "xu", True),
        (61, "DADD R2, R4, R6", "double", True),
        (61, "FCHK.DIVIDE P0, R5, R0", "xu", False),
    ],
)
def test_units(target: int, text: str, unit: str, variable: bool) -> None:
    opcode = parse_instruction(load_target(target), text).opcode
    assert (timing(target).unit(opcode), timing(target).variable(opcode)) == (unit, variable)


def test_a_shorter_second_result_waits_for_the_first() -> None:
    times = timing(90)
    double, alu, fma = (PRODUCERS.index(name) for name in ("double", "alu", "fma"))
    assert times.rewrite(double, alu) == 6  # as ptxas leaves
    assert times.rewrite(alu, fma) == times.rewrite(alu, alu) == 1
