"""The instruction table: every row is well-formed and can be spelled; ``decode`` takes what it should and no more."""

from __future__ import annotations

import pytest

from drawloom.errors import ParseError
from drawloom.ptx import parse
from drawloom.ptx.isa import FORMS, NOT_COVERED, Form, OpcodeError, decode
from drawloom.ptx.operands import register_type, word_type
from drawloom.ptx.specials import SPECIALS, canonical, component_index, find_special, is_special, special_type
from drawloom.ptx.types import DECLARABLE, TYPES

#: Operand words that name no type of their own.
WORDS = {"m", "v", "v>", "i", "l", "hint", "pack", "vec", "special", "mov", "cvta", "addr", "results", "callee"}
WORDS |= {"arguments", "ms", "mg", ""}
ALL_FORMS = [form for forms in FORMS.values() for form in forms]


def spelling(form: Form) -> str:
    """The shortest legal spelling of a form: required modifiers, then the last types (which compare by order)."""
    parts = [form.name]
    parts += [slot[0] for slot, optional in zip(form.slots, form.optional, strict=True) if not optional]
    parts += [alternatives[0] for alternatives in form.types]
    return ".".join(parts)


@pytest.mark.parametrize("form", ALL_FORMS, ids=lambda form: form.describe())
def test_every_row_can_be_spelled_and_its_words_mean_something(form: Form) -> None:
    opcode = decode(spelling(form))
    assert form in opcode.forms
    for word in form.operands:
        stem = word.strip("=?!").removesuffix("|p").removesuffix("&p").rstrip("_")
        if stem not in WORDS:
            type = word_type(word, opcode)
            assert type is not None, word
            assert register_type(type).name in DECLARABLE
    assert form.version >= (1, 0)
    assert 10 <= form.sm <= form.last_sm


def test_modifiers_come_in_any_order_but_those_of_the_mnemonic() -> None:
    assert decode("add.ftz.rn.f32").ftz
    assert decode("atom.u32.add.global").operation == "add"
    assert decode("ld.u32.v2.global").vector == 2
    for wrong in (
        "mul.u32.lo",
        "shf.wrap.l.b32",
        "cvta.global.to.u64",
        "div.f32.full",
        "bar.sync.cta",
        "mbarrier.shared.arrive.b64",
        "cp.async.ca.global.shared",
    ):
        with pytest.raises(OpcodeError):
            decode(wrong)


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(OpcodeError, match="unknown opcode 'ad'"):
        decode("ad.u32")
    with pytest.raises(OpcodeError, match=r"'\.foo' is no modifier of 'add'"):
        decode("add.foo.u32")
    with pytest.raises(OpcodeError, match=r"'\.sat' does not go with the rest of 'add\.sat\.u32'"):
        decode("add.sat.u32")
    with pytest.raises(OpcodeError, match=r"no form of 'add' is spelled 'add\.u32\.u32'"):
        decode("add.u32.u32")
    with pytest.raises(OpcodeError, match="compares"):
        decode("setp.lt.b32")
    for text in ("cvt.sat.u64.u32", "cvt.rn.sat.bf16.f64", "cvt.sat.f32.bf16", "cvt.rni.sat.s32.bf16"):
        with pytest.raises(OpcodeError, match=r"'\.sat' does not go with the rest of"):
            decode(text)
    for text in ("cvt.ftz.f16.f16", "cvt.rzi.ftz.s32.f16"):
        with pytest.raises(OpcodeError, match=r"'\.ftz' does not go with the rest of"):
            decode(text)
    for name, topic in NOT_COVERED.items():
        with pytest.raises(OpcodeError, match=f"{topic} are not covered"):
            decode(f"{name}.sync")
    for text, topic in [
        ("barrier.cluster.arrive", "clusters"),
        ("st.async.shared::cluster.b32", "clusters"),
        ("fence.mbarrier_init.release.cluster", "clusters"),
        ("cp.async.bulk.commit_group", "copies in bulk"),
    ]:
        with pytest.raises(OpcodeError, match=f"'{text}' is not supported: {topic} are not covered"):
            decode(text)


NOT_COVERED_HERE = {
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];": "copies in bulk",
    "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];":
        "copies in bulk",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];": "tensor cores",
    ".global .texref t;": "textures and surfaces",
    ".global .samplerref t;": "textures and surfaces",
    ".global .surfref t;": "textures and surfaces",
}  # fmt: skip


@pytest.mark.parametrize("statement", NOT_COVERED_HERE)
def test_a_refusal_of_what_is_not_covered_says_so_at_its_place(statement: str) -> None:
    header = ".version 8.0\n.target sm_90\n.address_size 64\n"
    declared = statement.startswith(".")
    registers = ".reg .b32 %r<4>; .reg .b64 %rd<4>;"
    text = f"{header}{statement}" if declared else f"{header}.entry k() {{ {registers}\n{statement} ret; }}"
    word = statement.split()[declared]
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.message == f"'{word}' is not supported: {NOT_COVERED_HERE[statement]} are not covered"
    assert caught.value.source_line[caught.value.column - 1 :].startswith(word)


def test_selectors_belong_to_the_opcode() -> None:
    opcode = decode("vadd.s32.u32.s32.sat(.h0,.b1,,)")
    assert (opcode.text, opcode.selectors) == ("vadd.s32.u32.s32.sat", (".h0", ".b1", "", ""))
    assert decode("vset4.u32.s32.lt.add").compare == "lt"
    assert decode("vset4.u32.s32.lt.add").operation == "add"
    for text, message in [
        ("add.u32(.b0,,)", "'add' takes no selectors"),
        ("vadd.u32.u32.u32(.b0,,)", "'vadd' merges into nothing"),
        ("vadd.u32.u32.u32.min(.b0,,,)", "'vadd' both merges and has a second operation"),
        ("vadd.u32.u32.u32(,.h10,)", "operand 2 of 'vadd' is written 'r.h10'"),
        ("vadd.u32.u32.u32(,-,)", "operand 2 of 'vadd' is written '-r'"),
        ("vmad.u32.u32.u32(.b0,,,)", "operand 1 of 'vmad' is written 'r.b0'"),
        ("vmad.u32.u32.u32.po(,-,,)", "'vmad.po' with a negated operand"),
        ("vmad.u32.u32.u32(,-.b0,,-)", "'vmad' with both product and addend negated"),
        ("vadd4.u32.u32.u32(.b01,,,)", "operand 1 of 'vadd4' is written 'r.b01'"),
        ("vadd4.u32.u32.u32(.b,,,)", "operand 1 of 'vadd4' is written 'r.b'"),
        ("vadd2.u32.u32.u32(,,.h43,)", "operand 3 of 'vadd2' is written 'r.h43'"),
        ("vadd2.u32.u32.u32(,,,.h32)", "operand 4 of 'vadd2' is written 'r.h32'"),
    ]:
        with pytest.raises(OpcodeError) as caught:
            decode(text)
        assert caught.value.message == message
        assert caught.value.expected


def test_opcodes_are_shared_by_spelling() -> None:
    assert decode("add.u32") is decode("add.u32")
    fence = decode("membar.gl")
    assert (fence.order, fence.scope) == ("sc", "gpu")
    load = decode("ld.acquire.gpu.shared.v4.f32")
    assert (load.order, load.scope, load.space, load.vector) == ("acquire", "gpu", "shared", 4)


def test_special_registers() -> None:
    assert is_special("%tid")
    assert not is_special("%nosuch")
    assert canonical("%tid.r") == "%tid.x"
    assert [component_index(f"%ctaid.{c}") for c in "xyzw"] == [0, 1, 2, 3]
    assert find_special("%laneid.x") is None
    assert find_special("%tid.q") is None
    assert special_type("%clock64") is TYPES["u64"]
    assert {special.uniformity for special in SPECIALS.values()} == {"grid", "block", "warp", "lane"}
    assert len(SPECIALS) == 85
