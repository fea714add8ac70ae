"""Text that is wrong, long or odd: the place of the error, no quadratic time, and no dependence on what was parsed
before."""

from __future__ import annotations

import time

import pytest

from drawloom.errors import Error, ParseError
from drawloom.ptx.ir import Instruction
from drawloom.ptx.parser import parse
from drawloom.ptx.verifier import verify, verify_all

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
KERNEL = HEADER + ".entry k () {\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n"


def instructions(body: str) -> list[Instruction]:
    module = parse(KERNEL + body + "\n}\n")
    verify(module)
    return module.functions["k"].instructions()


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('.file 1 "a.cu\n', 4, 9, "a string is not ended"),
        ('.file 1 "a.cu" , "b\n', 4, 18, "a string is not ended"),
        ('.file 1 "a.cu\\"\n', 4, 9, "a string is not ended"),
        ('.pragma "a;\n', 4, 9, "a string is not ended"),
        ('.entry k () {\n.file 1 "a.cu\nret;\n}', 5, 9, "a string is not ended"),
        (".entry k () {\nret; /* the end }", 5, 6, "a comment is not closed"),
        ('.file 1 "a/*b"\n/* // */ /*', 5, 10, "a comment is not closed"),
        (".entry k () {\nret;\x1c }", 5, 5, "found '\\x1c'"),
        (".entry k () {\n\xa0ret; }", 5, 1, "found '\\xa0'"),
        (".entry k () {\ncall ; }", 5, 1, "'call' has 0 operands"),
        (".global .b32 g<100000>;", 4, 16, "100000 variables"),
        (".global .align 4;", 4, 17, "found ';' in a declaration"),
        (".global .align 4 = 1;", 4, 18, "found '=' in a declaration"),
        (".func f (.param .align 4) { ret; }", 4, 25, "found ')'"),
    ],
)
def test_what_is_not_ended_or_odd_is_refused_where_it_begins(text: str, line: int, column: int, message: str) -> None:
    for _ in range(2):  # the second time every opcode was met before
        with pytest.raises(Error) as caught:
            verify(parse(HEADER + text))
        assert (caught.value.line, caught.value.column, caught.value.message) == (line, column, message)  # type: ignore[attr-defined]


def test_odd_characters_stand_in_strings_and_comments() -> None:
    parse(HEADER + '.file 1 "\xe9\xa0\x1c.cu"\n// \x1c \xa0\n/* \x85 */')


def test_a_guard_met_before_stays_on_an_instruction_without_operands() -> None:
    found = instructions("@%p1 ret;\n@%p1 bra L;\nL: @%p1 ret;\n@!%p1 ret;\nret;")
    guards = [(i.guard.name if i.guard else "", i.guard_negated) for i in found]
    assert guards == [("%p1", False), ("%p1", False), ("%p1", False), ("%p1", True), ("", False)]


def test_variables_may_be_numbered_like_registers() -> None:
    text = HEADER + ".global .align 16 .v4 .b32 g<3>, other;\n.entry k () { .param .b64 p<2>; .local .b8 l<0>; ret; }"
    module = parse(text)
    verify(module)
    assert list(module.variables) == ["g0", "g1", "g2", "other"]
    assert {(v.align, v.vector, v.size) for v in module.variables.values()} == {(16, 4, 16)}
    assert [v.name for v in module.functions["k"].variables] == ["p0", "p1"]
    assert str(parse(str(module))) == str(module)


def test_an_inner_declaration_changes_what_operand_texts_mean_up_to_its_brace() -> None:
    found = instructions(
        "mov.u32 %r1, %r2; { .reg .b32 %r2; mov.u32 %r1, %r2; { .reg .b32 %r2; mov.u32 %r1, %r2; } mov.u32 %r1, %r2; }"
        " mov.u32 %r1, %r2;"
    )
    assert [str(i.operands[1]) for i in found] == ["%r2", "%r2$1", "%r2$2", "%r2$1", "%r2"]


def test_a_declaration_behind_the_use_of_a_global_hides_it() -> None:
    text = HEADER + ".global .b32 g;\n.entry k () { .reg .b32 %r<2>;\nld.u32 %r1, [g+4]; ld.u32 %r1, [g];\n"
    module = parse(text + "{ .shared .b32 g; ld.shared.u32 %r1, [g+4]; st.shared.u32 [g], %r1; } ld.u32 %r1, [g+4]; }")
    verify(module)
    assert [str(i.operands[0 if i.name == "st" else 1]) for i in module.functions["k"].instructions()] == [
        "[g+4]", "[g]", "[g+4]", "[g]", "[g+4]",
    ]  # fmt: skip
    assert [i.opcode.space for i in module.functions["k"].instructions()] == ["", "", "shared", "shared", ""]


@pytest.mark.parametrize("first", ["%r1", "g"])
def test_a_name_is_declared_once_in_a_scope(first: str) -> None:
    declare = ".reg .b32 %r1;" if first == "%r1" else ".shared .b32 g; "
    with pytest.raises(ParseError, match=f"'{first}' is declared twice"):
        parse(HEADER + ".entry k () { .reg .b32 %r<2>; .shared .b32 g; " + declare + " }")
    parse(HEADER + ".entry k () { .reg .b32 %r<2>; .shared .b32 g; {" + declare + "} {" + declare + "} }")


def test_positions_are_those_of_the_opcodes() -> None:
    body = "L1:\n\t.loc 1 2 3\n\t{ mov.u32 \t%r1, 1;} @%p1 mov.u32 %r1,2; mov.u32\n%r1, %r2 ;  ret;"
    text = KERNEL + body + "\n}\n"
    found = parse(text).functions["k"].instructions()
    assert [text[i.pos : i.pos + 3] for i in found] == ["mov", "mov", "mov", "ret"]


NOISE = [*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \n\t0a", ".b8 ", "{}", "a:", "/*", "//", '"a', '\\"', "a;", "1+", "ret;{"]
PLACES = {
    "module": HEADER + "%s",
    "body": HEADER + ".entry k () {\n.reg .b32 %%r<2>; %s",
    "operand": HEADER + ".entry k () { .reg .b32 %%r<2>; mov.u32 %%r1, %s; ret; }",
    "address": HEADER + ".entry k () { .reg .b32 %%r<2>; ld.u32 %%r1, [%s]; ret; }",
    "call": HEADER + ".entry k () { call %s; }",
    "initialiser": HEADER + ".global .b32 x[] = {%s};",
    "section": HEADER + ".section .debug {%s}",
}
#: From 100 to 400 KB the time grows 4 times, a quadratic one 16 times.
MOST_GROWTH = 9.0


def seconds(text: str) -> float:
    start = time.process_time()
    try:
        verify_all(parse(text, "noise.ptx"))
    except Error as error:
        assert str(error).startswith("noise.ptx:")
    return time.process_time() - start


def assert_linear(short: str, long: str) -> None:
    """Four times the text does not take far more than four times as long: by the least of a few tries, as other work
    on the machine only ever adds time."""
    least = [float("inf"), float("inf")]
    for _ in range(5):
        least = [min(least[0], seconds(short)), min(least[1], seconds(long))]
        if least[1] < 0.3 or least[1] < MOST_GROWTH * least[0]:
            return
    raise AssertionError(f"{least[0]:.3f} s became {least[1]:.3f} s")


@pytest.mark.parametrize("noise", NOISE, ids=repr)
def test_noise_takes_linear_time(noise: str) -> None:
    for pattern in PLACES.values():
        assert_linear(*(pattern % (noise * (size // len(noise))) for size in (100_000, 400_000)))


@pytest.mark.parametrize("line", [".global .b8 x;", ".entry k(){}", ".func f();", ".entry k(){ret;}"])
def test_many_errors_on_one_long_line_take_linear_time_and_memory(line: str) -> None:
    assert_linear(HEADER + line * 2_000, HEADER + line * 8_000)


def test_many_functions_beside_many_variables_take_linear_time() -> None:
    def text(count: int) -> str:
        variables = "".join([f".global .b32 g{i};\n" for i in range(count)])
        return HEADER + variables + "".join([f".func f{i}() {{ ret; }}\n" for i in range(count)])

    assert_linear(text(1_500), text(6_000))
