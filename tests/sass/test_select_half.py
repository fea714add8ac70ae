"""Selection of f16, f16x2, bf16 and bf16x2: every form (on older targets a sample), against nvdisasm and the
reference."""

from __future__ import annotations

import random

import pytest

from drawloom.errors import UnsupportedError
from drawloom.ptx.isa import decode
from tests.sass import selection
from tests.sass.selection import TARGETS, check, code, differences, kernel, opcodes, operands

HALVES = ("f16", "f16x2", "bf16", "bf16x2")
ARITHMETIC = ["add", "sub", "mul", "fma", "neg", "abs", "min", "max"]
COMPARISONS = ["setp", "set"]
FUNCTIONS = ["ex2", "tanh"]
#: What the encoding tables may lack as yet: then it is refused by the name of the instruction.
PENDING = (".RELU R,",)


def forms_of(names: list[str], number: int = 90) -> list[tuple[str, list[str]]]:
    """The forms of halves that are selected; those that are not must say which instruction is missing."""
    out = []
    for text, form in opcodes(names, number):
        if not any(t.name in HALVES for t in decode(text).types):
            continue
        kinds = operands(text, form)
        try:
            code(kernel(text, kinds), number)
        except UnsupportedError as error:
            assert "has no instruction HFMA2" in str(error) and any(p in str(error) for p in PENDING), text
        else:
            out.append((text, kinds))
    return out


def sample(forms: list[tuple[str, list[str]]], seed: int, count: int) -> list[tuple[str, list[str]]]:
    return random.Random(seed).sample(forms, min(count, len(forms)))


@pytest.mark.parametrize("number", TARGETS)
@pytest.mark.parametrize("names", [ARITHMETIC, FUNCTIONS, COMPARISONS], ids=["arithmetic", "functions", "comparisons"])
def test_every_form_is_what_the_checker_and_nvdisasm_take(names: list[str], number: int) -> None:
    forms = selection.sample(sample(forms_of(names, number), 1, 700), number, 8)
    assert forms or number == 61  # which has no functions of halves
    check([code(kernel(text, kinds), number) for text, kinds in forms], number)


def loses_payloads(text: str) -> bool:
    """``neg`` and ``abs`` with ``.ftz`` are additions, which make one NaN of all."""
    return text.startswith(("neg.ftz", "abs.ftz"))


@pytest.mark.parametrize("number", TARGETS)
def test_arithmetic_is_that_of_the_reference(number: int) -> None:
    pick = random.Random(2)
    for text, kinds in selection.sample(forms_of(ARITHMETIC, number), number):
        if "oob" not in text:  # the reference does not run it: the manual does not say which NaN is out of bounds
            assert not differences(text, kinds, pick, 32, ignore_nan=loses_payloads(text), number=number)


@pytest.mark.parametrize("number", TARGETS)
def test_comparisons_are_those_of_the_reference(number: int) -> None:
    pick = random.Random(3)
    for text, kinds in selection.sample(sample(forms_of(COMPARISONS, number), 4, 300), number, 8):
        assert not differences(text, kinds, pick, 32, number=number)


@pytest.mark.parametrize("same", [1, 2, 3])
def test_a_destination_may_be_a_source(same: int) -> None:
    for text in ("fma.rn.f16x2", "fma.rn.relu.bf16", "fma.rn.ftz.sat.f16"):
        assert not differences(text, operands(text, decode(text).forms[0]), random.Random(same), 32, same=same)


@pytest.mark.parametrize("text", ["add.rn.f16x2", "mul.bf16x2", "max.NaN.f16", "neg.bf16x2", "fma.rn.bf16"])
def test_one_instruction_of_the_half_pipe(text: str) -> None:
    kinds = operands(text, decode(text).forms[0])
    made = [i.opcode.mnemonic.split(".")[0] for i in code(kernel(text, kinds))]
    working = [m for m in made if m[0] == "H" or m in ("PRMT", "LOP3")]
    assert len(working) == 1


def test_functions_of_pairs_take_one_half_after_the_other() -> None:
    made = [str(i) for i in code(kernel("tanh.approx.bf16x2", ["b32", "b32"]))]
    units = [line for line in made if line.startswith("MUFU")]
    assert [line.split()[0] for line in units] == ["MUFU.TANH.BF16"] * 2
