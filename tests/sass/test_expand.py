"""Expansion as a pass: what it replaces, what it keeps, guards, positions, names; and its speed."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from drawloom.ptx import Instruction, parse, verify
from drawloom.sass.expand import expand
from drawloom.sass.expand.expand import TARGETS
from tests.reference.harness import launch
from tests.sass.expansion import HEADER, expanded, kernel

#: Everything with a sequence, and the types of its operands.
EXPANDED = {
    **{f"{n}.{t}": [t, t, t] for n in ("div", "rem") for t in ("u16", "s16", "u32", "s32", "u64", "s64")},
    **{f"div.{r}{z}.f32": ["f32"] * 3 for r in ("rn", "rz", "rm", "rp", "approx", "full") for z in ("", ".ftz")},
    **{f"rcp.{r}{z}.f32": ["f32"] * 2 for r in ("rn", "rz", "rm", "rp") for z in ("", ".ftz")},
    **{f"sqrt.{r}{z}.f32": ["f32"] * 2 for r in ("rn", "rz", "rm", "rp") for z in ("", ".ftz")},
    **{f"div.{r}.f64": ["f64"] * 3 for r in ("rn", "rz", "rm", "rp")},
    **{f"{n}.{r}.f64": ["f64"] * 2 for n in ("rcp", "sqrt") for r in ("rn", "rz", "rm", "rp")},
    **{f"{n}.approx.f32": ["f32"] * 2 for n in ("rcp", "sqrt", "rsqrt", "lg2", "ex2")},
    "rsqrt.approx.f64": ["f64"] * 2,
    **{o: ["b32"] * 2 for o in ("ex2.approx.f16x2", "ex2.approx.ftz.bf16x2")},
    **{f"tanh.approx.{t}": ["b32"] * 2 for t in ("f16x2", "bf16x2")},
}  # fmt: skip
#: What the machines have, of the opcodes that sequences are made of.
PRIMITIVE = re.compile(
    r"(rcp|rsqrt|sqrt|lg2|ex2)\.approx\.ftz\.f32|(rcp|rsqrt)\.approx\.ftz\.f64|(ex2|tanh)\.approx\.f16"
    r"|(ex2\.approx\.ftz|tanh\.approx)\.bf16"
)
INEXACT = frozenset("div rem rcp sqrt rsqrt lg2 ex2 tanh".split())


@pytest.mark.parametrize("target", TARGETS)
def test_only_primitives_are_left(target: int) -> None:
    for opcode, types in EXPANDED.items():
        module = expanded(kernel(opcode, types), target)
        for function in module.functions.values():
            for i in function.instructions():
                assert i.name not in INEXACT or PRIMITIVE.fullmatch(i.opcode.text), i


def test_what_has_no_sequence_is_kept_as_it_is() -> None:
    module = parse(kernel("add.f32", ["f32", "f32", "f32"]))
    assert expand(module, 90) is module


def test_the_module_given_is_not_changed() -> None:
    module = parse(kernel("div.rn.f64", ["f64", "f64", "f64"]))
    before = str(module)
    made = expand(module, 80)
    assert str(module) == before
    assert list(made.functions) == ["$div_rn_f64", "k"]


def test_other_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="sm_70: expected one of 61, 75"):
        expand(parse(HEADER), 70)


def test_the_position_of_the_instruction_is_on_all_that_it_becomes() -> None:
    module = parse(kernel("div.rn.f32", ["f32"] * 3))
    division = next(i for i in module.functions["k"].instructions() if i.name == "div")
    kept = {id(s) for s in module.functions["k"].body}
    made = [s for s in expand(module, 86).functions["k"].body if id(s) not in kept]
    assert len(made) > 10
    assert {s.pos for s in made} == {division.pos}


def test_functions_are_shared_and_do_not_clash_with_names_of_the_module() -> None:
    text = f"""{HEADER}
.func $div_u64(.reg .u64 a) {{ ret; }}
.visible .entry k(.param .u64 out)
{{ .reg .u64 q, a, b; ld.param.u64 q, [out]; ld.global.u64 a, [q]; ld.global.u64 b, [q+8];
$expand_1: div.u64 a, a, b; div.u64 b, a, b; call $div_u64, (a); st.global.u64 [q], b; ret; }}
"""
    module = expanded(text)
    assert sorted(module.functions) == ["$div_u64", "$div_u64$", "k"]
    verify(parse(str(module)))


def run_one(text: str, *values: np.ndarray) -> np.ndarray:
    """The words that a kernel of one thread leaves in ``out``, on the reference interpreter."""
    out = np.zeros(4, "u4")
    launch(expanded(text), "k", 1, 1, out, *values)
    return out


@pytest.mark.parametrize("opcode", ["div.rn.f32", "div.full.f32", "div.u32", "rem.u32"])
def test_a_guard_that_is_false_leaves_the_destination(opcode: str) -> None:
    """And reads nothing: the operands are undefined then."""
    text = f"""{HEADER}
.visible .entry k(.param .u64 out)
{{ .reg .u64 q; .reg .pred p; .reg .b32 x, y, a, b; .reg .b32 z; ld.param.u64 q, [out];
mov.b32 z, %tid.x; setp.ne.u32 p, z, 0; mov.b32 x, 7; mov.b32 y, 7;
@p {opcode} x, a, b;
@!p mov.b32 a, 0x42C80000; @!p mov.b32 b, 0x41200000;
@!p {opcode} y, a, b;
st.global.b32 [q], x; st.global.b32 [q+4], y; ret; }}
"""
    want = np.zeros(4, "u4")
    launch(parse(text), "k", 1, 1, want)
    assert want[0] == 7
    assert want[1] != 7
    assert (run_one(text) == want).all()


@pytest.mark.parametrize("opcode", ["div.rn.f32", "div.approx.f32", "div.u32", "rem.s32", "div.rn.ftz.f32"])
@pytest.mark.parametrize("operands", ["a, a, b", "b, a, b", "a, a, a"])
def test_the_destination_may_be_a_source(opcode: str, operands: str) -> None:
    """Values that take the rare path read the sources again after the quick one has written its result."""
    target = operands[0]
    text = f"""{HEADER}
.visible .entry k(.param .u64 out)
{{ .reg .u64 q; .reg .b32 a, b; ld.param.u64 q, [out];
mov.b32 a, 0x00000301; mov.b32 b, 0x40000000;
{opcode} {operands};
st.global.b32 [q], {target}; ret; }}
"""
    want = np.zeros(4, "u4")
    launch(parse(text), "k", 1, 1, want)
    assert (run_one(text) == want).all()


@pytest.mark.parametrize(
    ("opcode", "a", "b"),
    [
        ("div.rn.f32", "1.0", "b"),
        ("div.rn.f32", "0f40400000", "b"),
        ("div.rn.f32", "b", "0f40400000"),
        ("div.rz.f64", "1.0", "w"),
        ("div.rn.f64", "w", "3.0"),
        ("div.s32", "-100", "b"),
        ("rem.u64", "12345678901234567", "w"),
    ],
)
def test_literals_may_be_operands(opcode: str, a: str, b: str) -> None:
    bits = opcode[-2:]
    text = f"""{HEADER}
.visible .entry k(.param .u64 out)
{{ .reg .u64 q; .reg .b32 b; .reg .b64 w; .reg .b{bits} d; ld.param.u64 q, [out];
mov.b32 b, 0x40A00000; mov.b64 w, 0x4014000000000000;
{opcode} d, {a}, {b};
st.global.b{bits} [q], d; ret; }}
"""
    want = np.zeros(4, "u4")
    launch(parse(text), "k", 1, 1, want)
    assert (run_one(text) == want).all()


def test_a_quotient_of_one_is_a_reciprocal() -> None:
    text = kernel("rcp.rn.f32", ["f32", "f32"])
    body = [i.opcode.text for i in expanded(text).functions["k"].instructions()]
    same = kernel("rcp.rn.f32", ["f32", "f32"]).replace("rcp.rn.f32 y, x0", "div.rn.f32 y, 1.0, x0")
    assert [i.opcode.text for i in expanded(same).functions["k"].instructions()] == body


def test_an_instruction_without_a_sequence_costs_less_than_a_microsecond() -> None:
    """The aim is 0.2 µs on an idle machine; this says that nothing is done for each instruction but the look-up."""
    body = "add.f32 x, x, x;\n" * 20_000
    module = parse(f"{HEADER}.visible .entry k() {{ .reg .f32 x; mov.f32 x, 0f3F800000; {body} ret; }}")
    expand(module, 90)
    best = min(_seconds(module) for _ in range(5))
    assert best / 20_000 < 1e-6


def _seconds(module: object) -> float:
    start = time.process_time()
    assert expand(module, 90) is module  # type: ignore[arg-type]
    return time.process_time() - start


#: Instructions on the quick road of docs/sass.md: copies are free, signs and magnitudes part of the reader.
QUICK = {
    "div.u16": 6, "div.s16": 8, "rem.u16": 8, "rem.s16": 10, "div.u32": 16, "rem.u32": 13, "div.s32": 21,
    "rem.s32": 18, "div.u64": 1, "div.rn.f32": 11, "div.rz.f32": 13, "div.approx.f32": 6, "div.approx.ftz.f32": 2,
    "div.full.f32": 8, "div.full.ftz.f32": 6, "rcp.rn.f32": 7, "rcp.rz.f32": 9, "rcp.approx.f32": 7,
    "sqrt.rn.f32": 12, "sqrt.rz.f32": 14, "sqrt.approx.f32": 4, "rsqrt.approx.f32": 4, "lg2.approx.f32": 4,
    "ex2.approx.f32": 4, "div.rn.f64": 14, "div.rz.f64": 16, "rcp.rn.f64": 11, "rcp.rz.f64": 13, "sqrt.rn.f64": 16,
    "sqrt.rz.f64": 18, "rsqrt.approx.f64": 10, "tanh.approx.f16x2": 3, "ex2.approx.f16x2": 3,
}  # fmt: skip


@pytest.mark.parametrize("opcode", QUICK)
def test_the_quick_road_has_as_many_instructions_as_the_docs_say(opcode: str) -> None:
    types = EXPANDED[opcode]
    module = parse(kernel(opcode, types))
    kept = {id(s) for s in module.functions["k"].body}
    made = [s for s in expand(module, 90).functions["k"].instructions() if id(s) not in kept]
    pack = 1 if types[0] == "b32" else 0
    assert sum(1 for i in made if _is_counted(i)) + pack == QUICK[opcode]


def _is_counted(i: Instruction) -> bool:
    """Moves are copies, and narrowing reads the low half; signs and magnitudes of integers are instructions."""
    if i.name in ("neg", "abs"):
        return i.opcode.types[0].is_integer
    return i.name != "mov" and i.opcode.text != "cvt.u16.u32"
