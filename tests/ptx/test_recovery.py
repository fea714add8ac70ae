"""PTX that is understood in part: what is not stays word for word, and the rest is read as ever."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from drawloom.errors import ParseError, VerifyError
from drawloom.ptx import parse, verify
from drawloom.ptx.recovery import parse_known
from drawloom.ptx.unread import Unknown, Unread

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
HEADER = ".version 8.3\n.target sm_90\n.address_size 64\n"
GOOD = ".visible .entry good()\n{\n  ret;\n}\n"


def unknown_in(body: str) -> list[Unknown]:
    module = parse_known(f"{HEADER}.visible .entry k()\n{{\n{body}\nret;\n}}\n")
    found = [s for s in module.kernels[0].instructions() if isinstance(s, Unknown)]
    again = parse_known(str(module))
    assert again == module
    return found


def unread_in(text: str) -> tuple[list[str], list[str]]:
    """The functions that are understood, and those that are kept, which the text has word for word."""
    module = parse_known(HEADER + text)
    for function in module.functions.values():
        assert function.unread is None or function.unread.text in text
    known = [f.name for f in module.functions.values() if f.has_body]
    return known, [f.name for f in module.functions.values() if f.unread is not None]


def test_what_is_understood_is_what_the_parser_reads() -> None:
    text = next(CORPUS.glob("*/*.sm_80.O3.ptx")).read_text()
    assert parse_known(text) == parse(text)


def test_an_unknown_instruction_writes_what_it_names_and_reads_its_addresses() -> None:
    body = ".reg .f32 %f<4>; .reg .b64 %l<2>; .reg .pred %p<2>;\n"
    (found,) = unknown_in(body + "@!%p1 new.op::x.f32 {%f1, %f2}, [%l1, %tid.x], 0f3F800000, other;")
    assert [r.name for r in found.destinations()] == ["%f1", "%f2"]
    assert [r.name for r in found.sources()] == ["%f1", "%f2", "%l1", "%p1"]
    assert repr(found) == "@!%p1 new.op::x.f32 {%f1, %f2}, [%l1, %tid.x], 0f3F800000, other"


def test_an_unknown_instruction_in_a_scope_names_the_registers_of_the_scope() -> None:
    found = unknown_in(".reg .b32 %r<3>;\n{ .reg .b32 %r1; new.op %r1, %r2; }\nnew.op %r1;")
    assert [one.text for one in found] == ["new.op %r1$1, %r2", "new.op %r1"]


def test_a_known_opcode_with_operands_that_are_not_is_unknown() -> None:
    (found,) = unknown_in(".reg .b32 %r<3>;\nadd.s32 %r1, %r2, %new_special;")
    assert [r.name for r in found.destinations()] == ["%r1", "%r2"]
    assert not found.is_load


@pytest.mark.parametrize(
    "instruction",
    [
        "add.s32 %r1, %f1, %r2",
        "@!%p1 ld.global.f32 {%f1, %f2}, [%l1+4]",
        "mov.u32 %r1, nobody",
        "tanh.approx.bf16 %r1, %r2",
        "st.global.u32 [%f1], %r1",
    ],
)
def test_an_instruction_that_breaks_a_rule_is_unknown(instruction: str) -> None:
    body = ".reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %l<2>; .reg .pred %p<2>;\n"
    (found,) = unknown_in(f"{body}{instruction};\nmov.u32 %r1, 0;")
    assert repr(found) == instruction
    assert "%l1" not in [register.name for register in found.destinations()]
    assert {r.name for r in found.sources()} == set(re.findall(r"%\w+", instruction))


@pytest.mark.parametrize(
    "body",
    [
        "new.branch L1;\nL1:\nret;",  # it may jump
        "{ new.branch L1;\nL1: }\nL1:\nret;",
        ".reg .b32 %r<3>;\nnew.op {%r1, %r2;\nret;",  # its end is not clear
        "@%p1 new.op;\nret;",
        ".reg .v2 .b32 %v;\nnew.op %v;\nret;",
        ".reg .b32 %r<3>;\nmov.u32 %r1, 0\nL1:\nret;",
        ".newdecl .b32 x;\nret;",
        "bra L1;\nret;",  # a rule of PTX is broken
        "call nobody;\nret;",
        "mov.u32\u00a0%r1, 0;\nret;",
    ],
)
def test_a_function_that_cannot_be_taken_apart_stays_alone(body: str) -> None:
    text = f".visible .entry odd()\n{{\n{body}\n}}\n"
    assert unread_in(GOOD + text + GOOD.replace("good", "after")) == (["good", "after"], ["odd"])


def test_what_is_cut_off_ends_at_the_end_or_where_another_function_begins() -> None:
    cut = ".entry cut()\n{\n .reg .b32 %r1;\n mov.u32 %r1, 1"
    assert unread_in(GOOD + cut) == (["good"], ["cut"])
    assert unread_in(cut + "\n" + GOOD) == (["good"], ["cut"])
    assert unread_in(GOOD + ".entry cut(.param .u32 a) /* no end\n{ ret; }") == (["good"], ["cut"])


def test_directives_that_are_not_known_stay_in_their_place() -> None:
    lines = ['.new "}", 3', ".newer x { .pragma { } }", ".global .b32 [3];", ".newest;"]
    module = parse_known(HEADER + "\n".join([*lines[:2], GOOD, *lines[2:], GOOD.replace("good", "after")]))
    assert [f.name for f in module.kernels] == ["good", "after"]
    kept = [item for item in module.items if isinstance(item, Unread)]
    assert " ".join([one.text for one in kept]).split() == " ".join(lines).split()
    assert len(module.refusals) == len(kept) == 3  # the first goes on in the next line, for all that is known
    assert parse_known(str(module)) == module


HEADERS = (".version 99.9\n.target sm_90", ".version 8.3\n.target sm_15x", ".version 8.3\n.target sm_999, new")


@pytest.mark.parametrize("header", HEADERS)
def test_versions_and_targets_that_are_not_known_are_no_reason_to_understand_nothing(header: str) -> None:
    module = parse_known(f"{header}\n.address_size 64\n{GOOD}")
    assert [f.name for f in module.kernels] == ["good"]
    assert module.refusals


def test_a_function_that_calls_what_is_not_understood_is() -> None:
    text = ".func odd()\n{\n .newdecl x;\n ret;\n}\n.entry good()\n{\n call odd, ();\n ret;\n}\n"
    assert unread_in(text) == (["good"], ["odd"])


@pytest.mark.parametrize("text", ["", "\0\x7fELF", ".version", ".version 8.3\n", "int main() {}", "// only this"])
def test_what_has_no_header_is_no_ptx(text: str) -> None:
    with pytest.raises(ParseError):
        parse_known(text)


def test_the_verifier_refuses_what_is_not_understood() -> None:
    for text in ("new.op;\nret;", ".newdecl x;\nret;"):
        with pytest.raises(VerifyError):
            verify(parse_known(f"{HEADER}.entry k()\n{{\n{text}\n}}\n"))
    with pytest.raises(VerifyError):
        verify(parse_known(HEADER + ".new x;\n"))


@pytest.mark.parametrize("seed", range(3))
def test_no_text_with_a_header_is_refused(seed: int) -> None:
    chance = random.Random(seed)
    texts = [path.read_text() for path in sorted(CORPUS.glob("*/*.sm_80.O3.ptx"))]
    for _ in range(25):
        text = chance.choice([text for text in texts if len(text) < 20_000])
        begin = text.index(".address_size 64") + 17
        at = chance.randrange(begin, len(text))
        match chance.randrange(3):
            case 0:
                text = text[:at]
            case 1:
                text = text[:at] + "".join([chr(chance.randrange(1, 300)) for _ in range(9)]) + text[at:]
            case _:
                text = text[:at] + chance.choice('{}();"/*:@.,[]') + text[at + 1 :]
        module = parse_known(text)
        assert parse_known(str(module)).functions.keys() == module.functions.keys()
