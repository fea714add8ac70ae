"""Instructions as data: encoding, decoding and text, by themselves and against nvdisasm where it is installed."""

from __future__ import annotations

import random

import pytest

from drawloom.sass.control import DEFAULT_CONTROL, control_text, pack_control
from drawloom.sass.decoder import DecodeError, decode, unpack_section
from drawloom.sass.encoding import address_of, encode, pack_section
from drawloom.sass.form import Form, IsaError, Opcode
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import TARGETS, Target, load_target
from drawloom.sass.syntax import NO_GUARD
from drawloom.sass.text import parse_instruction
from tools.isa import golden, vendor, verify

SHARE = 0.995  # of ptxas's instructions that come back from their text

targets = pytest.mark.parametrize("number", list(TARGETS))


def needs_nvdisasm(number: int) -> None:
    name = "nvdisasm" if number >= 75 else "nvdisasm-12.4"
    if vendor.find(name) is None:
        pytest.skip(f"{name} is not installed (python -m tools.isa fetch)")


# Figure 5.23 of the thesis, and the same program's words by ptxas: sm_61.
PASCAL = [
    ("S2R R4, SR_CTAID.X", 0xF0C8000002570004),
    ("S2R R2, SR_TID.X", 0xF0C8000002170002),
    ("XMAD.MRG R3, R4, c[0x0] [0x8].H1, RZ", 0x4F107F8000270403),
    ("XMAD R2, R4, c[0x0] [0x8], R2", 0x4E00010000270402),
    ("XMAD.PSL.CBCC R4, R4.H1, R3.H1, R2", 0x5B30011800370404),
    ("IADD R2.CC, R4, c[0x0][0x140]", 0x4C10800005070402),
    ("IADD.X R3, RZ, c[0x0][0x144]", 0x4C1008000517FF03),
    ("LDG.E.U8 R4, [R2]", 0xEED0200000070204),
    ("IADD32I R6, R4, 0x1", 0x1C00000000170406),
    ("STG.E.U8 [R2], R6", 0xEED8200000070206),
    ("EXIT", 0xE30000000007000F),
    ("NOP", 0x50B0000000070F00),
]


@pytest.mark.parametrize(("text", "word"), PASCAL, ids=[text for text, _ in PASCAL])
def test_the_thesis_program_for_pascal(text: str, word: int) -> None:
    target = load_target(61)
    assert encode(parse_instruction(target, text)) == word
    assert str(decode(target, word)) == text


def test_the_branch_that_ends_the_thesis_program_jumps_to_itself() -> None:
    branch = decode(load_target(61), 0xE2400FFFFF87000F)
    assert branch.text(0x78) == "BRA 0x78"
    assert branch.values == [-8]


def test_a_ptxas_control_word_of_pascal_unpacks_into_three() -> None:
    target = load_target(61)
    data = b"".join(w.to_bytes(8, "little") for w in (0x001F8000FC0007E0, *[0x50B0000000070F00] * 3))
    nops = unpack_section(target, data)
    assert [nop.control for nop in nops] == [0x7E0] * 3
    assert pack_section(target, nops) == data
    assert [address_of(target, i) for i in range(4)] == [8, 16, 24, 40]


def test_an_opcode_is_looked_up_once_and_holds_every_modifier() -> None:
    target = load_target(90)
    opcode = target.opcode("ISETP.GE.U32.AND", "P,P,R,I,P")
    assert opcode is target.opcode("ISETP.GE.U32.AND", "P,P,R,I,P")
    assert [slot.kind for slot in opcode.slots] == ["P", "P", "R", "I", "P"]
    compare = Instruction(opcode, [0, 7, 3, 0x10, 7])
    assert str(compare) == "ISETP.GE.U32.AND P0, PT, R3, 0x10, PT"
    assert encode(compare) == 0x000FE20003F06070000000100300780C


def test_operand_modifiers_are_part_of_the_signature() -> None:
    target = load_target(80)
    assert str(Instruction(target.opcode("FADD.FTZ", "R,-R,|R|"), [1, 2, 3])) == "FADD.FTZ R1, -R2, |R3|"
    assert str(Instruction(target.opcode("SEL", "R,R,R,!P"), [1, 2, 3, 0])) == "SEL R1, R2, R3, !P0"


def test_an_address_leaves_out_what_is_zero() -> None:
    load = load_target(90).opcode("LDS", "R,[R+I]")
    shown = [str(Instruction(load, [0, *values])) for values in ([4, 0], [4, -16], [255, 0], [255, 8], [255, -8])]
    assert shown == ["LDS R0, [R4]", "LDS R0, [R4+-0x10]", "LDS R0, [RZ]", "LDS R0, [0x8]", "LDS R0, [0xfffff8]"]


def test_what_does_not_fit_is_refused_by_check() -> None:
    opcode = load_target(90).opcode("IADD3", "R,R,R,R")
    Instruction(opcode, [1, 2, 3, 255]).check()
    for values in ([256, 2, 3, 4], [1, 2, 3], [-1, 2, 3, 4]):
        with pytest.raises(IsaError, match="IADD3"):
            Instruction(opcode, values).check()
    with pytest.raises(IsaError):
        Instruction(opcode, [1, 2, 3, 4], guard=16).check()


def test_unknown_names_and_words_are_errors() -> None:
    target = load_target(90)
    with pytest.raises(IsaError, match=r"ISETP has"):
        target.opcode("ISETP.GE.AND", "R,R")
    with pytest.raises(IsaError, match="sm_70"):
        load_target(70)
    with pytest.raises(DecodeError, match="0x0000"):
        decode(target, 0)
    for text in ("FROBNICATE R1", "IADD3 R1, R2", "", "MOV R1, %", "@P9 EXIT"):
        with pytest.raises(IsaError):
            parse_instruction(target, text)


def test_control_bits_are_where_the_hardware_has_them() -> None:
    packed = pack_control(stall=4, switch=True, write_barrier=2, read_barrier=0, wait_mask=0b100001, reuse=1)
    word = encode(Instruction(load_target(86).opcode("EXIT"), [], control=packed))
    assert word >> 105 & 15 == 4 and not word >> 109 & 1
    assert (word >> 110 & 7, word >> 113 & 7, word >> 116 & 63, word >> 122 & 15) == (2, 0, 0b100001, 1)
    assert control_text(packed) == "B0----5:R0:W2:Y:S04"


@targets
def test_every_form_and_modifier_comes_back_from_word_and_text(number: int) -> None:
    target = load_target(number)
    chance = random.Random(number)
    for form in target.all_forms():
        for turn in range(6):
            word = verify.random_word(chance, form, turn) | NO_GUARD << (12 if target.wide else 16)
            if target.wide:
                word |= DEFAULT_CONTROL << 105
            if not form.guard and not target.wide:
                word &= ~0xF0000
            instruction = decode(target, word)
            assert encode(instruction) == word
            again = parse_instruction(target, instruction.text(0x1000), 0x1000)
            assert again.text(0x1000) == instruction.text(0x1000)


@targets
def test_what_ptxas_emits_comes_back_and_reads_as_nvdisasm_prints_it(number: int) -> None:
    """The golden words are ptxas's over the whole corpus; what does not come back is listed in lost.txt."""
    sample = golden.samples(number)
    instructions = sum(uses for _, uses, _ in sample)
    assert instructions > 50_000
    losses, lost = golden.losses(number)
    assert lost <= instructions * (1 - SHARE)
    listed = (golden.GOLDEN / "lost.txt").read_text().splitlines()
    assert [f"{count} {name}" for name, count in sorted(losses.items())] == [
        line for line in listed if f" sm_{number} " in line
    ]


@pytest.mark.vendor
@targets
def test_nvdisasm_prints_every_form_as_we_do(number: int) -> None:
    needs_nvdisasm(number)
    target = load_target(number)
    report = verify.check_forms(target, 8, 20_000 + number)
    assert [(m.ours, m.theirs) for m in report.mismatches] == []
    assert [form.base for form in report.silent] == []
    assert report.illegal < report.asked / 50


@targets
def test_opcodes_find_themselves_by_name(number: int) -> None:
    target = load_target(number)
    for form in target.all_forms():
        opcode = form.opcode(form.word | first_modifiers(form))
        found = target.opcode(opcode.mnemonic, opcode.signature)
        assert (found.mnemonic, found.signature) == (opcode.mnemonic, opcode.signature)
        assert isinstance(found, Opcode)


def first_modifiers(form: Form) -> int:
    return sum(modifier.put(next(iter(modifier.values))) for modifier in form.fields)


def test_every_target_has_what_a_kernel_needs() -> None:
    common = "EXIT BRA MOV S2R LDG STG LDS STS LDL STL FADD FMUL FFMA DADD ISETP SEL SHF MUFU BAR SHFL".split()
    for number in TARGETS:
        bases = set(load_target(number).bases())
        assert not set(common) - bases
    assert isinstance(load_target(75), Target)
