"""Selection of ``cvt`` and ``cvt.pack``: every form (on older targets a sample), against nvdisasm and the reference."""

from __future__ import annotations

import random

import pytest

from drawloom.ptx.isa import decode
from tests.sass.selection import TARGETS, check, code, differences, kernel, opcodes, operands, sample

FORMS = list(opcodes(["cvt", "cvt.pack"]))
#: What the encoding tables may lack as yet: then it is refused by the name of the instruction.


def selected(number: int) -> list[tuple[str, list[str]]]:
    """The forms of a target, of older ones a sample, with their operands."""
    found = FORMS if number == 90 else sample(list(opcodes(["cvt", "cvt.pack"], number)), number)
    return [(text, operands(text, form)) for text, form in found]


@pytest.fixture(scope="module")
def forms() -> list[tuple[str, list[str]]]:
    return selected(90)


@pytest.mark.parametrize("number", TARGETS)
def test_every_form_is_what_the_checker_and_nvdisasm_take(number: int) -> None:
    check([code(kernel(text, kinds), number) for text, kinds in selected(number)], number)


@pytest.mark.parametrize("number", TARGETS)
def test_results_are_those_of_the_reference(number: int) -> None:
    pick = random.Random(1)
    for text, kinds in selected(number):
        # bf16 to f32 is a shift: it keeps what a NaN carries.
        assert not differences(text, kinds, pick, 32, ignore_nan="f32.bf16" in text, number=number)


def test_registers_wider_than_the_types(forms: list[tuple[str, list[str]]]) -> None:
    pick = random.Random(2)
    for text, kinds in forms:
        op = decode(text)
        if len(kinds) != 2 or any(not t.endswith(">") for t in op.forms[0].operands):
            continue
        for to, source in (("b32", "b64"), ("b64", "b32"), ("b64", "b64")):
            if int(to[1:]) >= op.types[0].bits and int(source[1:]) >= op.types[1].bits and pick.randrange(6) == 0:
                assert not differences(text, [to, source], pick, 32)


def test_a_destination_may_be_the_source(forms: list[tuple[str, list[str]]]) -> None:
    pick = random.Random(3)
    for text, kinds in forms:
        if len(kinds) == 2 and kinds[0] == kinds[1]:
            assert not differences(text, kinds, pick, 32, same=1)


@pytest.mark.parametrize("text", ["cvt.pack.sat.u4.s32.b32", "cvt.pack.sat.s2.s32.b32", "cvt.pack.sat.s8.s32.b32"])
def test_packing_onto_its_own_source(text: str) -> None:
    for same in (1, 2, 3):
        assert not differences(text, ["b32"] * 4, random.Random(same), 30, same=same)


def test_constants_are_converted_when_the_code_is_made() -> None:
    pick = random.Random(4)
    for text, form in FORMS:
        op = decode(text)
        if op.name == "cvt" and op.types[0].is_integer and op.types[1].is_integer:
            value = pick.choice([0, 1, 127, 128, 255, 32768, 65535, 2**31, 2**32 - 1, 2**63, 2**64 - 1])
            literals = {1: str(value & (1 << max(16, op.types[1].bits)) - 1)}
            kinds = operands(text, form)
            assert not differences(text, kinds, pick, 1, literals)
            assert "LDG" not in " ".join(map(str, code(kernel(text, kinds, literals))))


def body(lines: str, verified: bool = True) -> list[str]:
    """The code of a kernel with a parameter ``w`` of 64 bits, up to its end."""
    text = (
        ".visible .entry k(.param .u64 p, .param .u64 w)\n{ .reg .u64 at, r, d; .reg .u32 n, m; ld.param.u64 at, [p];\n"
    )
    made = [str(i) for i in code(text + lines + "\nret; }", verified=verified)]
    return made[: made.index("EXIT")]


def test_special_registers_are_sources() -> None:
    """The manual has them, our verifier not: an assembler without it selects them."""
    made = body("cvt.u64.u32 r, %tid.x; cvt.u64.u32 d, %ntid.x; add.u64 d, d, r; st.global.u64 [at], d;", False)
    assert any("SR_TID.X" in line for line in made)
    assert any("c[0x0][0x0]" in line for line in made)


def test_the_low_word_of_a_parameter_costs_no_instruction() -> None:
    made = body("ld.global.u32 m, [at]; ld.param.u64 r, [w]; cvt.u32.u64 n, r; add.u32 m, m, n; st.global.u32 [at], m;")
    assert [line.split()[0] for line in made if "c[0x0][0x218]" in line] == ["IADD3"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("cvt.sat.u8.s32", 2), ("cvt.sat.s16.s64", 7), ("cvt.sat.u32.s64", 4), ("cvt.sat.f64.f32", 2),
        ("cvt.rn.ftz.f32.f64", 2), ("cvt.s64.s32", 2), ("cvt.f32.bf16", 1), ("cvt.rn.f16x2.f32", 1),
    ],
)  # fmt: skip
def test_how_many_instructions_a_conversion_takes(text: str, count: int) -> None:
    kinds = operands(text, decode(text).forms[0])
    made = [i.opcode.mnemonic.split(".")[0] for i in code(kernel(text, kinds))]
    made = made[: made.index("EXIT")]
    surroundings = 6 + made.count("LDG") + made.count("STG")  # S2R, three MOV, ULDC, IMAD.WIDE for the address
    assert len(made) - surroundings <= count
