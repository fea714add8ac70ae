"""Which space an address is in, and what only seems to tell."""

from __future__ import annotations

import numpy as np
import pytest

import drawloom
from drawloom.errors import DataError
from drawloom.opt import optimize
from drawloom.ptx.types import U32

HEAD = """.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 table[64];
.shared .align 8 .b8 tile[64];
.entry k(.param .u64 p, .param .u64 q, .param .u64 .ptr .global g, .param .u64 .ptr .shared s) {
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %c;
ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; ld.param.u64 %d3, [g]; ld.param.u64 %d4, [s];
mov.u64 %d5, tile; cvta.shared.u64 %d6, %d5;
"""


def access(body: str, *promises: str) -> str:
    """The opcode of the only access to memory in ``body``."""
    module = optimize(HEAD + body + " ret; }", passes=["spaces"], promises=promises, check=True)
    found = [i.opcode.text for i in module.functions["k"].instructions() if i.opcode.name in ("ld", "st", "atom")]
    return found[-1]


def test_a_parameter_may_point_to_constant_memory() -> None:
    assert access("ld.u32 %r1, [%d1];") == "ld.u32"
    assert access("ld.u32 %r1, [%d1];", "global-parameters") == "ld.global.u32"
    assert access("ld.u32 %r1, [%d3+8];") == "ld.global.u32"


def test_what_is_written_is_not_constant() -> None:
    assert access("st.u32 [%d1], %r1;") == "st.global.u32"
    assert access("add.u64 %d7, %d1, %d2; atom.add.u32 %r1, [%d7], 1;") == "atom.global.add.u32"


@pytest.mark.parametrize(
    "disguise",
    ["shr.u64 %d7, %d6, 3; shl.b64 %d7, %d7, 3;", "mul.lo.u64 %d7, %d6, 1;", "neg.s64 %d7, %d6; neg.s64 %d7, %d7;"],
)
def test_a_shared_address_in_disguise_and_a_parameter(disguise: str) -> None:
    """The parameter may be the offset."""
    assert access(disguise + "add.u64 %d8, %d7, %d1; st.u32 [%d8], %r1;") == "st.u32"
    assert access(disguise + "add.u64 %d8, %d3, %d7; st.u32 [%d8], %r1;") == "st.global.u32"


def test_an_index_from_memory_is_a_number() -> None:
    body = "ld.global.u64 %d7, [%d3]; shl.b64 %d7, %d7, 2; add.u64 %d8, %d3, %d7; st.u32 [%d8], %r1;"
    assert access(body) == "st.global.u32"
    assert access(body.replace("%d8, %d3", "%d8, %d6")) == "st.shared.u32"
    assert access(body.replace("%d8, %d3", "%d8, %d1")) == "st.u32"


def test_a_parameter_that_points_into_another_space_is_no_generic_address() -> None:
    assert access("st.u32 [%d4], %r1;", "global-parameters") == "st.u32"


def test_shared_or_global() -> None:
    assert access("setp.eq.u64 %c, %d1, 0; selp.b64 %d7, %d1, %d6, %c; st.u32 [%d7], %r1;") == "st.u32"


def test_promises_have_names() -> None:
    with pytest.raises(DataError, match="no promise 'nothing': expected global-parameters, "):
        access("", "nothing")


@pytest.mark.parametrize("amount", ["32", "%r2"])
def test_an_address_put_together_from_halves_is_of_any_space(amount: str) -> None:
    """The parameter is what is added to it."""
    halves = f"cvt.u64.u32 %d7, %r2; cvt.u64.u32 %d8, %r3; shl.b64 %d7, %d7, {amount}; or.b64 %d7, %d7, %d8;"
    assert access(halves + "add.u64 %d8, %d7, %d1; st.u8 [%d8], %r1;") == "st.u8"
    assert access(halves + "setp.eq.u64 %c, %d1, 0; selp.b64 %d8, %d1, %d7, %c; st.u8 [%d8], %r1;") == "st.u8"


def called(calls: str, *, linkage: str = "", rest: str = "") -> list[str]:
    """The opcodes of the accesses of a function ``f(p, n)`` that a kernel calls so."""
    text = f"""{HEAD.partition(".entry")[0]}
{linkage} .func f(.param .b64 p, .param .b64 n) {{
.reg .b64 %d<9>; .reg .b32 %r1;
ld.param.b64 %d1, [p]; ld.param.b64 %d2, [n]; add.u64 %d3, %d1, %d2; ld.u32 %r1, [%d3]; st.u32 [%d1+4], %r1; ret; }}
{rest}
.entry k{HEAD.partition(".entry k")[2]} .local .align 8 .b8 frame[16]; {calls} ret; }}
"""
    module = optimize(text, 2, check=True)
    return [i.opcode.text for i in module.functions["f"].instructions() if i.opcode.name in ("ld", "st")][-2:]


def call(pointer: str, number: str = "8") -> str:
    return (
        f"{{ .param .b64 a; .param .b64 b; st.param.b64 [a], {pointer}; st.param.b64 [b], {number};"
        " call.uni f, (a, b); }"
    )


LOCAL = "mov.u64 %d7, frame; cvta.local.u64 %d8, %d7;"
GENERIC = ["ld.u32", "st.u32"]


def test_what_all_callers_give_a_device_function() -> None:
    assert called(call("%d6")) == ["ld.shared.u32", "st.shared.u32"]
    assert called(call("%d6") + "add.u64 %d7, %d6, 4;" + call("%d7", "%d1")) == ["ld.u32", "st.shared.u32"]
    assert called(LOCAL + call("%d8")) == ["ld.local.u32", "st.local.u32"]
    assert called(call("%d3")) == ["ld.global.u32", "st.global.u32"]
    assert called(call("%d1")) == ["ld.u32", "st.global.u32"]
    assert called(call("%d6") + call("%d3")) == GENERIC
    assert called("") == GENERIC


def test_what_another_module_may_give_a_device_function() -> None:
    assert called(call("%d6"), linkage=".visible") == GENERIC
    assert called(call("%d6"), linkage=".weak") == GENERIC
    assert called(call("%d6") + "mov.u64 %d7, f; st.global.u64 [%d3], %d7;") == GENERIC
    assert called(call("%d6"), rest=".global .u64 callee = f;") == GENERIC


def test_an_argument_in_two_parts_is_of_any_space() -> None:
    parts = call("%d6").replace("st.param.b64 [a], %d6;", "st.param.b32 [a], %r1; st.param.b32 [a+4], %r2;")
    assert called(parts) == GENERIC


def test_a_caller_that_is_not_optimised_has_its_say() -> None:
    text = f"""{HEAD.partition(".entry")[0]}
.func f(.param .b64 p) {{ .reg .b64 %d1; ld.param.b64 %d1, [p]; st.u32 [%d1], 1; ret; }}
.entry other(.param .u64 .ptr .global p) {{
.reg .b64 %d1; ld.param.u64 %d1, [p]; .param .b64 a; st.param.b64 [a], %d1; call.uni f, (a); ret; }}
.entry k{HEAD.partition(".entry k")[2]} {{ .param .b64 a; st.param.b64 [a], %d6; call.uni f, (a); }} ret; }}
"""
    module = optimize(text, 2, functions=["f", "k"], check=True)
    assert [i.opcode.text for i in module.functions["f"].instructions() if i.opcode.name == "st"] == ["st.u32"]


def test_a_function_that_calls_itself() -> None:
    again = "{ .param .b64 a; st.param.b64 [a], %d1; call.uni f, (a); }"
    text = f"""{HEAD.partition(".entry")[0]}
.func f(.param .b64 p) {{ .reg .b64 %d1; ld.param.b64 %d1, [p]; st.u32 [%d1], 1; {again} ret; }}
.entry k{HEAD.partition(".entry k")[2]} {{ .param .b64 a; st.param.b64 [a], %d6; call.uni f, (a); }} ret; }}
"""
    module = optimize(text, 2, check=True)
    assert [i.opcode.text for i in module.functions["f"].instructions() if i.opcode.type is U32] == ["st.u32"]


@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize(
    ("variable", "space"), [(".local .align 8 .b8 frame[16];", "local"), (".shared .b32 frame[4];", "shared")]
)
def test_memory_of_the_caller(device: str, variable: str, space: str) -> None:
    text = f""".version 8.0
.target sm_80
.address_size 64
.func (.param .b32 r) f(.param .b64 p) {{
.reg .b64 %d1; .reg .b32 %r<3>; .local .align 8 .b8 own[8]; st.local.u32 [own], 77;
ld.param.b64 %d1, [p]; ld.u32 %r1, [%d1+4]; add.u32 %r1, %r1, 5; st.u32 [%d1], %r1; ld.local.u32 %r2, [own];
add.u32 %r2, %r2, %r1; st.param.b32 [r], %r2; ret; }}
.visible .entry k(.param .u64 out) {{
.reg .b64 %d<4>; .reg .b32 %r<4>; {variable}
ld.param.u64 %d1, [out]; mov.u64 %d2, frame; cvta.{space}.u64 %d3, %d2; st.{space}.u32 [%d2+4], 30;
{{ .param .b64 a; .param .b32 r; st.param.b64 [a], %d3; call.uni (r), f, (a); ld.param.b32 %r1, [r]; }}
ld.{space}.u32 %r2, [%d2]; st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r2; ret; }}
"""
    made = optimize(text, 2, check=True)
    assert all(i.opcode.space for i in made.functions["f"].instructions() if i.opcode.name in ("ld", "st"))
    out = np.zeros(2, np.uint32)
    drawloom.load(str(made), device=device, level=0)["k"][1, 1](out)
    assert list(out) == [112, 35]
