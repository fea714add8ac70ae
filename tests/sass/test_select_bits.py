"""Selection of fields, single bits and composed integer arithmetic: every form (on older targets a sample), with
registers and literals, against nvdisasm and the reference."""

from __future__ import annotations

import random

import numpy as np
import pytest

from drawloom.ptx.isa import decode
from drawloom.reference.integers import carry_operation
from drawloom.sass.assemble import assemble
from drawloom.sass.interpreter import run
from tests.sass.selection import (
    TARGETS,
    check,
    code,
    differences,
    header,
    kernel,
    opcodes,
    operands,
    sample,
    value,
)

FIELDS = ["bfe", "bfi", "bfind", "clz", "szext", "bmsk", "fns", "lop3", "testp", "copysign"]
COMPOSED = ["sad", "dp4a", "dp2a", "mul24", "mad24", "mad", "mul", "add", "sub", "min", "max", "neg", "abs"]


def forms_of(number: int) -> list[tuple[str, list[str]]]:
    """Halves have tests of their own, and so have floats outside of these families."""
    return [
        (text, operands(text, form))
        for text, form in opcodes([*FIELDS, *COMPOSED, "madc"], number)
        if text.split(".")[0] in FIELDS or not decode(text).types[0].is_float or "xorsign" in text
        if decode(text).types[0].name not in ("f16", "f16x2", "bf16", "bf16x2")
    ]


def alone(number: int) -> list[tuple[str, list[str]]]:
    """Forms without carries, which need a second instruction."""
    return [(text, kinds) for text, kinds in forms_of(number) if ".cc" not in text and "madc" not in text]


ALONE = alone(90)


@pytest.mark.parametrize("number", TARGETS)
def test_every_form_is_what_the_checker_and_nvdisasm_take(number: int) -> None:
    forms = forms_of(number)
    assert len(forms) > 150
    check([code(kernel(text, kinds), number) for text, kinds in sample(forms, number)], number)


@pytest.mark.parametrize("number", TARGETS)
def test_results_are_those_of_the_reference(number: int) -> None:
    pick = random.Random(1)
    for text, kinds in sample(alone(number), number):
        assert not differences(text, kinds, pick, 32, number=number)


def test_literals_in_place_of_every_source() -> None:
    """One at a time, and all but the first: positions and lengths are bytes, some of them beyond the word."""
    pick = random.Random(2)
    for text, kinds in ALONE:
        if decode(text).types[0].is_float or decode(text).types[0].lanes > 1:
            continue
        places = [n for n, kind in enumerate(kinds) if n and kind[0] == "b"]
        for chosen in [*([n] for n in places), places[1:]]:
            width = 8 if text.startswith(("bfe", "bfi")) else 32
            literals = {n: str(value(pick, min(width if n > 1 else 32, int(kinds[n][1:])))) for n in chosen}
            if text.startswith("bfi"):
                literals = {n: v for n, v in literals.items() if n > 2}
            assert not differences(text, kinds, pick, 16, literals)


def test_a_destination_may_be_any_source() -> None:
    pick = random.Random(3)
    for text, kinds in ALONE:
        for same, kind in enumerate(kinds):
            if same and kind == kinds[0] and kind[0] == "b":
                assert not differences(text, kinds, pick, 16, same=same)


@pytest.mark.parametrize("type", ["u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("half", ["lo", "hi"])
@pytest.mark.parametrize("same", ["d", "c"])
def test_products_that_hand_on_a_carry(type: str, half: str, same: str) -> None:
    """``mad.cc`` then ``madc.cc`` then ``madc``, the sum in a register of its own or in that of the addend."""
    bits = int(type[1:])
    operations = [f"mad.{half}.cc.{type}", f"madc.{half}.cc.{type}", f"madc.{half}.{type}"]
    loads = "".join(f"ld.global.b{bits} {r}{n}, [at+{24 * n + 8 * k}];" for n in range(3) for k, r in enumerate("abc"))
    chain = "".join(f"{o} {same}{n}, a{n}, b{n}, c{n};" for n, o in enumerate(operations))
    stores = "".join(f"st.global.b{bits} [at+{8 * n}], {same}{n};" for n in range(3))
    registers = ", ".join(f"{r}{n}" for n in range(3) for r in "abcd")
    source = f"""{header(90)}.visible .entry k(.param .u64 p) {{ .reg .b{bits} {registers}; .reg .u64 at; .reg .u32 t;
mov.u32 t, %tid.x; ld.param.u64 at, [p]; mad.wide.u32 at, t, 72, at; {loads} {chain} {stores} ret; }}"""
    pick = random.Random(bits)
    memory = np.array([[value(pick, bits) for _ in range(9)] for _ in range(32)], np.uint64)
    given = memory.tolist()
    at = int(memory.ctypes.data)
    run(assemble(source, "sm_90"), "k", (1, 1, 1), (32, 1, 1), at.to_bytes(8, "little"), buffers=[(at, memory.nbytes)])
    for row, numbers in zip(memory.tolist(), given, strict=True):
        carry, want = 0, []
        for n, operation in enumerate(operations):
            total, carry = carry_operation(decode(operation))(*numbers[3 * n : 3 * n + 3], carry)
            want.append(total)
        assert [word & (1 << bits) - 1 for word in row[:3]] == want


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("bfe.u32", 4), ("bfi.b32", 5), ("clz.b64", 6), ("bfind.u64", 5), ("sad.u32", 1), ("dp4a.s32.u32", 1),
        ("mul24.lo.s32", 3), ("add.u16x2", 1), ("copysign.f32", 1), ("testp.finite.f64", 3),
    ],
)  # fmt: skip
def test_how_many_instructions_a_form_takes(text: str, count: int) -> None:
    made = [i.opcode.mnemonic.split(".")[0] for i in code(kernel(text, operands(text, decode(text).forms[0])))]
    made = made[: made.index("EXIT")]
    surroundings = 6 + made.count("LDG") + made.count("STG")  # S2R, three MOV, ULDC, IMAD.WIDE for the address
    assert len(made) - surroundings <= count
