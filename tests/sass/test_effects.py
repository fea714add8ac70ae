"""Effects of opcodes against nvdisasm's life ranges: a golden of every form that ptxas emits, and live where it is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from drawloom.sass.effects import BARRIER, CONDITION, Effects, effects, pinned, registers_read, registers_written
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import TARGETS, load_target
from drawloom.sass.machine import FILES, NEUTRAL
from drawloom.sass.text import parse_instruction
from tools.isa import vendor
from tools.isa.schedules import CORPUS, assemble, life_ranges, marks

GOLDEN = Path(__file__).parents[1] / "golden/sass/life_ranges.txt"
LETTERS = ("R", "P", "UR", "UP", "B", "CC")
SHOWN = ("R", "P", "UR", "UP")  # the files that life ranges have columns for
#: nvdisasm leaves the predicates out that PR and UPR stand for, and gives calls what their callees do (on
#: sm_61 an indirect branch may be one).
NOT_SHOWN = ("P2R", "R2P", "UP2UR", "UR2UP", "CALL", "CAL", "JCAL")
#: Where sm_80 to sm_89 print no descriptor, nvdisasm still shows the uniform registers that hold it.
HIDDEN_DESCRIPTORS = range(80, 90)


def names(registers: list[tuple[int, int]]) -> set[str]:
    return {f"{LETTERS[file]}{number}" for file, number in registers if LETTERS[file] in SHOWN}


def golden_lines(target: int) -> Iterator[tuple[str, set[str], set[str]]]:
    for line in GOLDEN.read_text().splitlines():
        if not line.startswith("#"):
            targets, text, reads, writes = (part.strip() for part in line.split(" | ", 3))
            if str(target) in targets.split(","):
                yield text, set(reads.split()), set(writes.split())


def difference(target: int, text: str, reads: set[str], writes: set[str]) -> str:
    """What our effects of an instruction and the life ranges do not agree on."""
    instruction = parse_instruction(load_target(target), text)
    found = effects(instruction.opcode)
    if found.base in NOT_SHOWN or (target == 61 and found.flow == "indirect"):
        return ""
    if target in HIDDEN_DESCRIPTORS and ".64" in text.partition("[")[2] and "desc" not in text:
        # Looked up by name it is in UR4 and UR5, in the word it may be elsewhere.
        shown = {name for name in reads if name.startswith("UR")}
        assert len(shown) in (0, 2) and bool(shown) == bool(found.fixed_reads), text
        reads = reads - shown | ({"UR4", "UR5"} if shown else set())
    ours = names(registers_read(instruction)), names(registers_written(instruction))
    return "" if ours == (reads, writes) else f"{text}: ours {ours}, nvdisasm's {(reads, writes)}"


@pytest.mark.parametrize("target", (61, 75, 80, 90))
def test_reads_and_writes_are_what_life_ranges_show(target: int) -> None:
    lines = list(golden_lines(target))
    assert len(lines) > 400
    assert [found for line in lines if (found := difference(target, *line))] == []


@pytest.mark.parametrize("target", TARGETS)
def test_live_life_ranges(target: int, tmp_path: Path) -> None:
    if not vendor.assembles_for(target) or vendor.find("nvdisasm-12.4") is None:
        pytest.skip(f"no ptxas for sm_{target} and nvdisasm are installed")
    programs = sorted(CORPUS.glob("*/*.ptx"))
    count = 0
    for program in random.Random(target).sample(programs, 3):
        if assemble(program, target, 3, tmp_path / "a.cubin"):
            for text, reads, writes in marks(life_ranges(tmp_path / "a.cubin")):
                # The targets of labels and of tables of them are printed as names.
                if "BRX" not in text and "JMX" not in text and "(" not in text:
                    assert difference(target, text, set(reads), set(writes)) == ""
                    count += 1
    assert count > 50


@pytest.mark.parametrize("target", TARGETS)
def test_every_opcode_has_effects(target: int) -> None:
    """Every register slot is read or written, no class is missing, for every form with its usual modifiers."""
    for form in load_target(target).all_forms():
        opcode = form.opcode(form.word | sum(field.put(next(iter(field.values))) for field in form.fields))
        found = effects(opcode)
        assert effects(opcode) is found
        assert found.unit != "unknown", opcode
        accesses = {place for place, _ in found.reads + found.writes}
        registers = {place for place, slot in enumerate(opcode.slots) if slot.kind in FILES}
        assert accesses == registers, opcode
        for place, words in found.reads + found.writes:
            assert words in ((1, 2, 3, 4) if opcode.slots[place].kind in ("R", "UR") else (1,)), opcode


def read(target: int, text: str) -> tuple[Instruction, Effects]:
    instruction = parse_instruction(load_target(target), text)
    return instruction, effects(instruction.opcode)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("IMAD.WIDE R2, R7, 0x10, R4", "R7 R4 R5", "R2 R3"),
        ("IMAD.HI.U32 R3, R3, R6, R4", "R3 R6 R4 R5", "R3"),
        ("DSETP.GEU.AND P1, PT, R8, R10, P2", "R8 R9 R10 R11 P2", "P1"),
        ("LDG.E.128 R8, desc[UR4][R2.64]", "R2 R3 UR4 UR5", "R8 R9 R10 R11"),
        ("STG.E.64 desc[UR4][R2.64+0x8], R6", "R2 R3 R6 R7 UR4 UR5", ""),
        ("ATOMG.E.CAS.64.STRONG.SYS PT, R10, [R4], R8, R12", "R4 R5 R8 R9 R12 R13", "R10 R11"),
        ("F2I.F64 R0, R2", "R2 R3", "R0"),
        ("I2F.F64 R4, R3", "R3", "R4 R5"),
        ("@!P3 IADD3 R2, P0, P1, R4, R5, R6", "P3 R4 R5 R6", "P0 P1 R2"),
        ("IADD3.X R2, P0, R4, R5, RZ, P1, !PT", "P1 R4 R5", "P0 R2"),
        ("SHFL.UP P0, R7, R8, 0x2, RZ", "R8", "P0 R7"),
        ("R2P PR, R4, 0x5", "R4", "P0 P2"),
        ("P2R R4, PR, R6, 0x9", "P0 P3 R6", "R4"),
        ("CS2R R4, SRZ", "", "R4 R5"),
    ],
)
def test_reads_and_writes(text: str, reads: str, writes: str) -> None:
    instruction, _ = read(90, text)
    assert names(registers_read(instruction)) == set(reads.split())
    assert names(registers_written(instruction)) == set(writes.split())


def test_condition_codes_of_pascal() -> None:
    first, _ = read(61, "IADD R2.CC, R4, R6")
    then, _ = read(61, "IADD.X R3, R5, R7")
    assert (CONDITION, 0) in registers_written(first) and (CONDITION, 0) not in registers_read(first)
    assert (CONDITION, 0) in registers_read(then) and (CONDITION, 0) not in registers_written(then)


def test_convergence_barriers() -> None:
    assert registers_written(read(90, "BSSY B3, 0x100")[0]) == [(BARRIER, 3)]
    assert registers_read(read(90, "BSYNC B3")[0]) == [(BARRIER, 3)]
    assert registers_written(read(90, "BREAK B3")[0]) == [(BARRIER, 3)]


def test_memory_flow_and_order() -> None:
    load = read(90, "LDS.64 R2, [R4+0x8]")[1]
    assert (load.memory, load.space, load.data_words) == ("load", "shared", 2)
    assert read(90, "STL [R1], R2")[1].space == "local"
    assert read(90, "EXIT")[1].flow == "exit"
    assert read(90, "BSSY B0, 0x80")[1].flow == "prepare"
    assert read(90, "SHFL.BFLY PT, R2, R3, 0x1, 0x1f")[1].convergent
    assert pinned(read(90, "S2R R2, SR_CLOCKLO")[0])
    assert not pinned(read(90, "S2R R2, SR_TID.X")[0])
    assert NEUTRAL[0] == 255
