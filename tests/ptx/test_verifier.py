"""The verifier: it agrees with the driver's assembler on every probe, and its errors name place and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from drawloom.errors import Error, ParseError, VerifyError
from drawloom.ptx.ir import Instruction, Label, Register
from drawloom.ptx.isa import decode
from drawloom.ptx.parser import parse
from drawloom.ptx.types import PRED, U32
from drawloom.ptx.verifier import verify, verify_all

HERE = Path(__file__).parent
LEGALITY = HERE.parent / "golden" / "corpus" / "legality.txt"
EXPLAINED = HERE / "legality_explained.txt"
#: Probes that stand in one module.
TOGETHER = 50
HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def probes(path: Path) -> Iterator[tuple[str, str]]:
    """(verdict of the driver's assembler, instruction) of every line."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            verdict, _, text = line.partition("\t")
            yield verdict, text


def probe_module() -> tuple[str, str]:
    """The module that the probes stand in, as its header says: what comes before the probe, and after."""
    lines = [line[2:] for line in LEGALITY.read_text().splitlines() if line.startswith("# ")]
    before, _, after = "\n".join(lines[lines.index(".version 9.0") :]).partition("<the probe>")
    return before, after


def our_verdict(text: str) -> str:
    try:
        verify(parse(text))
    except Error:
        return "error"
    return "ok"


def verdicts(texts: list[str], verdict: str) -> list[str]:
    """Our verdicts on probes. Those that are expected to be good stand in one module: where it is good, all are."""
    before, after = probe_module()
    if verdict == "ok" and our_verdict(before + "\n".join(texts) + after) == "ok":
        return [verdict] * len(texts)
    return [our_verdict(before + text + after) for text in texts]


def test_agrees_with_the_assembler_on_every_probe_but_the_explained_ones() -> None:
    explained = set(probes(EXPLAINED))
    found = list(probes(LEGALITY))
    kinds: dict[tuple[str, bool], list[str]] = {}
    for verdict, text in found:
        kinds.setdefault((verdict, (verdict, text) in explained), []).append(text)
    wrong: list[str] = []
    stale: list[str] = []
    for (verdict, is_explained), texts in kinds.items():
        for first in range(0, len(texts), TOGETHER):
            some = texts[first : first + TOGETHER]
            for text, ours in zip(some, verdicts(some, verdict if not is_explained else ""), strict=True):
                if ours != verdict and not is_explained:
                    wrong.append(f"{verdict}\t{text}")
                if ours == verdict and is_explained:
                    stale.append(f"{verdict}\t{text}")
    assert not wrong, "\n".join(wrong[:40])
    assert not stale, "\n".join(stale)
    assert len(found) > 10_000
    assert len(explained) < len(found) // 140


BODIES = [
    ("add.u32 %r1, %r2;", "'add.u32' has 2 operands", "3"),
    (
        "add.u32 %f1, %r1, %r2;",
        "operand 1 of 'add.u32' is a .f32 register",
        "a .b32 or .u32 or .s32 or .f16x2 register",
    ),
    ("add.f32 %f1, %f2, 1;", "operand 3 of 'add.f32' is an integer", "or a float literal"),
    ("@%r1 add.u32 %r1, %r2, %r3;", "the guard %r1 is a .b32 register", "a .pred register"),
    ("bra nowhere;", "label 'nowhere' is undefined", "a label in the body of 'k'"),
    ("mov.u64 %rd1, nosuch;", "undefined symbol 'nosuch'", "declared"),
    ("call nosuch;", "undefined function 'nosuch'", "declared"),
    ("call k;", "'k' is a kernel", "kernels cannot be called"),
    ("call (%r1), give, (%r2, %r3);", "'give' takes 1 arguments, 2 given", "1 arguments"),
    ("call give, (%r2);", "'give' returns 1 values", "1 results"),
    ("call (%rd1), give, (%r2);", "result %rd1 is a .b64 register", "32 bits"),
    ("call (%r1), %rd1, (%r2);", "an indirect call has no prototype", ".callprototype"),
    ("ld.shared.u32 %r1, [g];", "operand 2 of 'ld.shared.u32' is an address in a .global variable", "in .shared space"),
    ("ld.global.u32 %r1, [%r2];", "address in a .b32 register", "a 64-bit base register"),
    ("st.param.u32 [p], %r1;", "operand 1 of 'st.param.u32'", "an address"),
    ("bar.sync 16;", "'bar.sync' names barrier 16", "from 0 to 15"),
    ("bar.sync 0, 33;", "counts 33 threads", "a multiple of 32"),
    ("mov.u32 %r1, %clusterid.x;", "%clusterid.x needs sm_90", "'.target sm_90'"),
    ("add.f32x2 %rd1, %rd2, %rd2;", "'add.f32x2' needs PTX 8.6", "'.version 8.6'"),
    ("shfl.up.b32 %r1, %r2, 1, 0;", "exists up to sm_62 only", "'.sync'"),
    ("brx.idx %r1, t;", "undefined branch table 't'", ".branchtargets before it"),
    ("t: .branchtargets a, b; brx.idx %r1, t; a:", "label 'b' is undefined", "a label"),
    ("ld.shared.v4.u64 {%rd1, %rd1, %rd1, %rd1}, [%rd1];", "operand 1 of 'ld.shared.v4.u64'", "a vector of 4"),
    ("ld.global.v4.u64 {%rd1, %rd1, %rd1, %rd1}, [%rd1];", "'ld.global.v4.u64' needs PTX 8.8", "'.version 8.8'"),
    ("cvt.rn.bf16.s32 %r1, %r2;", "operand 1 of 'cvt.rn.bf16.s32' is a .b32 register", "a .b16 register"),
    ("ld.u32 %r1, [c];", "operand 2 of 'ld.u32' is an address in a .const variable", "an address"),
    ("createpolicy.fractional.L2::evict_last.b64 %rd1, 0.0;", "is given the fraction 0d0000000000000000", "above"),
    ("createpolicy.fractional.L2::evict_last.b64 %rd1, 0f3F800001;", "is given the fraction 0f3F800001", "above"),
    ("createpolicy.range.L2::evict_last.b64 %rd1, [%rd2], 9, 8;", "is given 9 bytes of 8", "at most all bytes"),
    ("vadd4.u32.u32.u32 %r1.b3, %r2.b3210, 7, %r2;", "operand 3 of 'vadd4.u32.u32.u32' is an integer", "a .b32"),
    ("vadd.u32.u32.u32 %rd1.b3, %r2, 7, %r2;", "operand 1 of 'vadd.u32.u32.u32' is a .b64 register", "a .b32"),
    ("setp.lt.u32 %r1, %r1, %r2;", "operand 1 of 'setp.lt.u32' is a .b32 register", "a .pred register"),
]


@pytest.mark.parametrize(("body", "message", "expected"), BODIES)
def test_errors_in_a_body_name_place_and_remedy(body: str, message: str, expected: str) -> None:
    text = (
        f"{HEADER}.global .b32 g; .const .b32 c;\n"
        ".func (.reg .b32 r) give (.reg .b32 a) { mov.u32 r, a; ret; }\n"
        ".entry k (.param .u32 p)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .pred %p<4>;\n"
        f"  {body}\nret;\n}}\n"
    )
    with pytest.raises(VerifyError) as caught:
        verify(parse(text, "made.ptx"))
    error = caught.value
    assert message in error.message
    assert expected in error.expected
    assert error.place().startswith("made.ptx:9:")
    assert error.column >= 3
    assert body in str(error)
    assert str(verify_all(parse(text, "made.ptx"))[0]) == str(error)


MODULES = [
    (".global .b32 x; .global .b32 x;", "'x' is declared twice"),
    (".global .b32 k; .entry k () { ret; }", "'k' is a variable already"),
    (".entry k () { ret; } .entry k () { ret; }", "function 'k' is defined already"),
    (".func f (.param .b32 a); .func f (.param .b64 a) { ret; }", "'f' differs from its declaration"),
    (".entry k (.reg .b32 a) { ret; }", "kernel parameter 'a' is a register"),
    (".entry k (.param .pred a) { ret; }", "parameter 'a' has type .pred"),
    (".entry k (.param .b8 a[4353]) { ret; }", "4353 bytes of parameters"),
    (".entry k (.param .b8 a[]) { ret; }", "the size of kernel parameter 'a' is unknown"),
    (".global .v4 .f64 x;", "a vector of 256 bits"),
    (".global .b32 x[];", "the size of 'x' is unknown"),
    (".shared .b32 x = 1;", "'x' in .shared space has an initial value"),
    (".global .u32 x = 1.5;", "is a float"),
    (".global .f32 x = 1;", "is an integer"),
    (".global .u64 x = y; .global .b32 y;", "'y' is not declared before"),
    (".shared .b32 y; .global .u64 x = y;", "'y' is in .shared space"),
    (".global .b32 y; .global .u8 x[1] = {0xFF0(y)};", "the mask 0xff0 is not one byte"),
    (".local .b32 x;", "'x' in .local space at module level"),
    (".const .b8 x[70000];", "70000 bytes in .const space"),
    (".entry k () .maxntid 0 { ret; }", ".maxntid 0"),
    (".entry k () .minnctapersm 4294967296 { ret; }", ".minnctapersm 4294967296"),
    (".entry k () .maxclusterrank 99999999999999 { ret; }", ".maxclusterrank 99999999999999"),
    (".entry k () .maxntid 1, 2, 3, 4 { ret; }", ".maxntid has 4 values"),
    (".entry k () .maxntid 32 .reqntid 32 { ret; }", "both .maxntid and .reqntid"),
    (".func f () .maxntid 32 { ret; }", ".maxntid on device function 'f'"),
    (".func (.param .b32 a, .param .b32 b) f () { ret; }", "returns several .param values"),
    (".entry k () { call f; ret; } .func f () { ret; }", "undefined function 'f'"),
]


@pytest.mark.parametrize(("text", "message"), MODULES)
def test_errors_of_declarations(text: str, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(parse(HEADER + text))
    assert message in caught.value.message
    assert caught.value.line == 4
    assert caught.value.expected


def test_targets_and_versions() -> None:
    for text, message in [
        (".version 99.0\n.target sm_80\n", "PTX version 99.0 is unknown"),
        (".version 8.0\n.target sm_81\n", "unknown architecture 'sm_81'"),
        (".version 6.0\n.target sm_75\n", "PTX 6.0 does not know sm_75"),
        (".version 8.0\n.target sm_80, fast\n", "unknown target option 'fast'"),
    ]:
        with pytest.raises(VerifyError, match=message):
            verify(parse(text))
    verify(parse(".version 8.0\n.target sm_80, debug\n.address_size 64\n"))


def test_architecture_specific_forms_need_a_specific_target() -> None:
    body = ".entry k () { setmaxnreg.inc.sync.aligned.u32 96; ret; }"
    verify(parse(".version 8.0\n.target sm_90a\n.address_size 64\n" + body))
    with pytest.raises(VerifyError, match="needs a target such as sm_90a"):
        verify(parse(".version 8.0\n.target sm_90\n.address_size 64\n" + body))


@pytest.mark.parametrize(("alignment", "good"), [(1, True), (1 << 23, True), (1 << 24, False), (0, False), (24, False)])
def test_alloca_aligns_to_powers_of_two_as_ptxas_has_it(alignment: int, good: bool) -> None:
    module = parse(HEADER + f".entry k () {{ .reg .b64 %d; alloca.u64 %d, 24; alloca.u64 %d, 24, {alignment}; ret; }}")
    messages = [error.message for error in verify_all(module)]
    assert messages == ([] if good else [f"'alloca.u64' is given {alignment}"])


def test_every_error_of_a_module_is_listed() -> None:
    text = HEADER + ".entry k ()\n{\n.reg .b32 %r<3>;\nadd.u32 %r1, %r2;\nmov.f64 %r1, %r2;\nbra L;\nret;\n}\n"
    assert [error.line for error in verify_all(parse(text))] == [7, 8, 9]


def test_a_register_of_another_function_is_refused() -> None:
    module = parse(HEADER + ".entry k () { .reg .u32 %r<2>; add.u32 %r0, %r0, %r1; ret; }")
    body = module.functions["k"].body
    stray = Register(0, "%r0", U32)
    body.insert(0, Instruction(decode("add.u32"), [stray, stray, stray]))
    with pytest.raises(VerifyError) as caught:
        verify(module)
    assert caught.value.message == "register %r0 is not of this function, in 'add.u32 %r0, %r0, %r0' of 'k'"


def test_modules_that_passes_made_are_checked_for_what_the_parser_sees_to() -> None:
    module = parse(HEADER + ".entry k () { .reg .u32 %r<2>; .reg .pred %p; L: @%p bra L; ret; }")
    module.source = ""
    function = module.functions["k"]
    for statement in function.body:
        statement.pos = -1
    verify(module)
    function.body.append(Label("L"))
    function.registers[1].name = "%r0"
    stray = Instruction(decode("ret"), [], Register(0, "%p", PRED))
    function.body.insert(0, stray)
    messages = [error.message for error in verify_all(module)]
    assert messages == [
        "'%r0' is declared twice in 'k'",
        "register %p is not of this function, in '@%p ret ' of 'k'",
        "label 'L' is defined twice",
    ]


def test_parse_errors_are_no_verify_errors() -> None:
    with pytest.raises(ParseError, match="unknown opcode"):
        parse(HEADER + ".entry k () { frob; ret; }")


# The verdicts of the driver's assembler for sm_100a, PTX 8.6.
NARROW = [
    ("ok", "cvt.rn.satfinite.relu.e2m1x2.f32 %b, %f, %f;"),
    ("ok", "cvt.rn.satfinite.e3m2x2.f32 %h, %f, %f;"),
    ("ok", "cvt.rn.satfinite.relu.e2m1x2.f16x2 %b, %r;"),
    ("ok", "cvt.rn.relu.f16x2.e2m3x2 %r, %h;"),
    ("ok", "cvt.rn.f16x2.e2m1x2 %r, %b;"),
    ("ok", "cvt.rp.satfinite.ue8m0x2.f32 %h, %f, %f;"),
    ("ok", "cvt.rz.ue8m0x2.bf16x2 %h, %r;"),
    ("ok", "cvt.rn.bf16x2.ue8m0x2 %r, %h;"),
    ("error", "cvt.rn.satfinite.e2m1x2.f32 %h, %f, %f;"),
    ("error", "cvt.rn.satfinite.e2m3x2.f32 %b, %f, %f;"),
    ("error", "cvt.rn.satfinite.e2m3x2.f32 %r, %f, %f;"),
    ("error", "cvt.rn.satfinite.e2m3x2.f16x2 %h, %r;"),
    ("error", "cvt.rn.e2m1x2.f32 %b, %f, %f;"),
    ("error", "cvt.rz.satfinite.e2m1x2.f32 %b, %f, %f;"),
    ("error", "cvt.rn.f16x2.e2m1x2 %r, %h;"),
    ("error", "cvt.rn.f16x2.ue8m0x2 %r, %h;"),
    ("error", "cvt.rn.ue8m0x2.f32 %h, %f, %f;"),
    ("error", "cvt.rz.relu.ue8m0x2.f32 %h, %f, %f;"),
    ("error", "cvt.rn.satfinite.bf16x2.ue8m0x2 %r, %h;"),
    ("error", "cvt.rn.satfinite.e4m3x2.bf16x2 %h, %r;"),
]


@pytest.mark.parametrize(("verdict", "text"), NARROW)
def test_conversions_of_floats_below_eight_bits(verdict: str, text: str) -> None:
    registers = ".reg .b8 %b; .reg .b16 %h; .reg .b32 %r; .reg .f32 %f;"
    body = f".visible .entry k() {{ {registers} {text} ret; }}"
    assert our_verdict(".version 8.6\n.target sm_100a\n.address_size 64\n" + body) == verdict
    assert our_verdict(".version 8.6\n.target sm_100\n.address_size 64\n" + body) == "error"
