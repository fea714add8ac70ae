"""Whatever text comes in, the parser and the verifier raise ``drawloom.Error`` or succeed, and do so quickly."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drawloom.errors import Error
from drawloom.ptx.isa import FORMS
from drawloom.ptx.parser import parse
from drawloom.ptx.verifier import verify, verify_all

CORPUS = Path(__file__).parent.parent / "golden" / "corpus"
#: Small files of every kind, so that one mutation hits something that matters.
SEEDS = [p.read_text() for p in sorted(CORPUS.glob("*/*.ptx")) if p.stat().st_size < 12_000]
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
#: Far above what any of these takes, far below what a hang takes.
LIMIT_SECONDS = 10.0
FUZZ = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def survives(text: str) -> None:
    """Refused with an ``Error`` that can be shown, or accepted, printed and accepted again as the same module."""
    start = time.process_time()
    try:
        module = parse(text, "fuzz.ptx")
        errors = verify_all(module)
        for error in errors:
            assert str(error)
            assert error.message
        if not errors:
            verify(module)
            again = parse(str(module), "again.ptx")
            assert again == module
    except Error as error:
        assert str(error).startswith("fuzz.ptx"), error
    assert time.process_time() - start < LIMIT_SECONDS


NUMBERS = ["0", "-1", "99999999999999999999999999", "0x", "1e999", "0f123", "0xFFFFFFFFFFFFFFFF", "1_0", "08", "1.5U"]
WORDS = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "@",
    "!",
    "|",
    "_",
    ".",
    ":",
    "%r1",
    ".reg",
    ".b32",
    "<",
    ">",
    "$L",
    "=",
]


@FUZZ
@given(st.data())
def test_mutated_corpus(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        kind = data.draw(st.integers(0, 6))
        lines = text.split("\n")
        row = data.draw(st.integers(0, len(lines) - 1))
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + data.draw(st.sampled_from(WORDS + NUMBERS)) + text[at:]
        elif kind == 2:
            del lines[row]
            text = "\n".join(lines)
        elif kind == 3:
            lines.insert(row, data.draw(st.sampled_from(lines)))
            text = "\n".join(lines)
        elif kind == 4:
            words = lines[row].split(" ")
            data.draw(st.randoms(use_true_random=False)).shuffle(words)
            lines[row] = " ".join(words)
            text = "\n".join(lines)
        elif kind == 5:
            end = data.draw(st.integers(at, min(len(text), at + 40)))
            text = text[:at] + text[end:]
        else:
            text = text[:at] + data.draw(st.text(max_size=8)) + text[at + 1 :]
    survives(text)


@FUZZ
@given(st.text(max_size=300))
def test_noise_behind_a_header(noise: str) -> None:
    survives(noise)
    survives(HEADER + noise)
    survives(HEADER + ".entry k () {" + noise + "}")


MODIFIERS = sorted({m for forms in FORMS.values() for form in forms for slot in form.slots for m in slot})
TYPES = [
    "pred",
    "b8",
    "u8",
    "b16",
    "u16",
    "f16",
    "b32",
    "u32",
    "s32",
    "f32",
    "f16x2",
    "b64",
    "u64",
    "f64",
    "b128",
    "bf16",
]
OPERANDS = [
    "%p0", "!%p1", "%h0", "%r0", "%r1", "%rd0", "%f0", "%fd0", "%q0", "_", "%p0|%p1", "%r0|%p0", "0", "-1", "1.5",
    "0f3F800000", "[%rd0]", "[%rd1+-8]", "[g]", "[g+4]", "[s]", "g", "s", "k", "f", "%tid.x", "%clock64", "%tid",
    "{%r0,%r1}", "{%r0, %r1, %f0, _}", "{1, %r0}", "L", "T", "(%r0)", "(q)", "()", "g[2]", "WARP_SZ", "(1+2)*3",
    "!0", "[5]", "%r0.b0", "%r1.h10", "-%r1", "- %r0 .b3210", "-%r1.b7", "{%r0,%r1}.b0", "%nosuch.b0", "1.b0",
]  # fmt: skip
DECLARATIONS = (
    ".global .align 16 .b32 g[4];\n.shared .b64 s[4];\n.func (.reg .b32 r) f (.reg .b32 a) { mov.b32 r, a; ret; }\n"
    ".entry k (.param .u64 p) {\n.reg .pred %p<2>; .reg .b16 %h<2>;\n"
    ".reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .f32 %f<2>;\n"
    ".reg .f64 %fd<2>; .reg .b128 %q<2>; .param .b32 q;\n L: T: .branchtargets L;\n"
)


@st.composite
def instructions(draw: st.DrawFn) -> str:
    """Mostly a form of the table with mostly its types, and operands of any kind."""
    forms = FORMS[draw(st.sampled_from(sorted(FORMS)))]
    form = draw(st.sampled_from(forms))
    words = [
        draw(st.sampled_from(slot)) for slot, left_out in zip(form.slots, form.optional, strict=True) if not left_out
    ]
    words += [draw(st.sampled_from(alternatives)) for alternatives in form.types]
    if draw(st.integers(0, 9)) == 0:
        words.insert(draw(st.integers(0, len(words))), draw(st.sampled_from(MODIFIERS + TYPES)))
    count = max(0, len(form.operands) + draw(st.sampled_from([0, 0, 0, 0, -1, 1])))
    operands = [draw(st.sampled_from(OPERANDS)) for _ in range(count)]
    guard = draw(st.sampled_from(["", "", "@%p0 ", "@!%p1 ", "@%r0 "]))
    return f"{guard}{'.'.join([form.name, *words])} {', '.join(operands)};"


@FUZZ
@given(st.lists(instructions(), min_size=1, max_size=12))
def test_random_modules(statements: list[str]) -> None:
    survives(HEADER + DECLARATIONS + "\n".join(statements) + "\nret;\n}\n")
    for statement in statements:
        survives(HEADER + DECLARATIONS + statement + "\nret;\n}\n")


NESTED = [
    "(" * 50_000, "{" * 50_000, "[" * 50_000, "-" * 50_000, "!" * 50_000, "1+(" * 50_000, "{{" * 30_000 + "}}" * 30_000,
    "@" * 50_000, "/*" * 50_000, '"' * 50_001, "." * 50_000, ".v4" * 20_000, "a:" * 50_000, "1?" * 30_000, ";" * 50_000,
    "add." * 30_000, "add" + ".rn" * 50 + ".f32 %r1;", "," * 50_000, "\n" * 50_000, "\\" * 50_000, "9" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("text", NESTED, ids=lambda text: repr(text[:8]))
def test_deep_nesting_and_endless_repetition(text: str) -> None:
    survives(text)
    survives(HEADER + text)
    survives(HEADER + ".global .b32 x = " + text + ";")
    survives(HEADER + ".global .b32 x[] = {" + text + "};")
    survives(HEADER + ".entry k (" + text)
    survives(HEADER + ".entry k () { .reg .b32 %r<2>; mov.u32 %r1, " + text + "; ret; }")
    survives(HEADER + ".entry k () { .reg .b32 %r<2>; ld.global.u32 %r1, [" + text + "]; ret; }")
    survives(HEADER + ".entry k () { " + text + " }")


@pytest.mark.parametrize(
    "text",
    [
        ".global .b8 x[99999999999999999999];", ".global .b8 x[1000000][1000000][1000000];", ".global .align 3 .b8 x;",
        ".entry k () { .reg .b32 %r<4000000000>; }", ".entry k () { .reg .b32 %r<-1>; }", ".global .b32 x = 1/0;",
        ".entry k () { .reg .b64 %a; ld.global.u32 %a, [%a+99999999999999999999999]; }",
        ".global .b32 x = 1 << 999999999;",
        ".global .f64 x = 1e400;", ".entry k () .maxntid 99999999999999999999, 1 { ret; }", ".file 1 \"a\nb\"",
    ],
)  # fmt: skip
def test_huge_numbers(text: str) -> None:
    survives(HEADER + text)


@pytest.mark.parametrize("seed", range(3))
def test_ten_megabytes_of_noise_are_refused_at_once(seed: int) -> None:
    source = random.Random(seed)
    size = 10_000_000
    if seed == 0:
        noise = source.randbytes(size).decode("latin-1")
    elif seed == 1:
        noise = HEADER + source.randbytes(size).decode("latin-1")
    else:
        alphabet = 'abcdef .,;{}[]()%@!|<>=0123456789\n\t"/*+-'
        noise = HEADER + ".entry k () {\n" + "".join(source.choices(alphabet, k=size))
    start = time.process_time()
    with pytest.raises(Error):
        parse(noise, "noise.ptx")
    assert time.process_time() - start < 5.0
