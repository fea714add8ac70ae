"""Text that is nearly PTX: rewritten as far as it is understood; nothing is raised but for what has no header."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

import drawloom
from drawloom.errors import ParseError, SourceError
from drawloom.opt import optimize
from drawloom.ptx import parse, verify
from drawloom.shuffle.emulator import Options, analyse
from drawloom.shuffle.pipeline import shuffle
from drawloom.shuffle.trace import trace
from tools.fuzz_shuffle import HIDDEN, check_program, hidden
from tools.programs.stencils import generate_stencil
from tools.shuffle_suite import COMPILERS, text_of

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
TEXTS = [
    *[text_of(compiler, name) for compiler in COMPILERS for name in ("jacobi", "matvec", "sincos", "uxx1")],
    *[path.read_text() for path in sorted(CORPUS.glob("*/*.sm_80.O3.ptx"))],
]
MARKS = "0123456789,;[]{}.%@!rpfdus -+:"


def mutated(chance: random.Random) -> str:
    """One of the texts with some characters, lines or registers in the place of others."""
    lines = chance.choice(TEXTS).splitlines()
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.choice(("character", "delete", "repeat", "swap", "register", "register")):
            case "character" if lines[at]:
                place = chance.randrange(len(lines[at]))
                lines[at] = lines[at][:place] + chance.choice(MARKS) + lines[at][place + 1 :]
            case "delete":
                del lines[at]
            case "repeat":
                lines.insert(other, lines[at])
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "register":
                words, given = lines[at].split(), lines[other].split()
                names = [word for word in given if word.startswith("%")]
                places = [k for k, word in enumerate(words) if word.startswith("%")]
                if names and places:
                    words[chance.choice(places)] = chance.choice(names)
                    lines[at] = " ".join(words)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_nearly_ptx_is_refused_or_rewritten(seed: int) -> None:
    chance = random.Random(seed)
    refused = 0
    for _ in range(20):
        text = mutated(chance)
        try:
            module = parse(text)
            verify(module)
        except SourceError:
            refused += 1
            try:
                in_part = shuffle(text, apply="all")
            except ParseError as refusal:
                assert "PTX module begins" in str(refusal) or "target" in str(refusal)
                continue
            assert in_part.report.json()
            kept = [f.unread.text for f in in_part.functions.values() if f.unread is not None]
            assert all(one in text and one in str(in_part) for one in kept)
            continue
        made = shuffle(module, apply="all", shared=True, distinct_parameters=True)
        verify(parse(str(made)))
        assert made.report.json()
        for function in [f for f in module.functions.values() if f.has_body]:
            assert trace(module, analyse(module, function, Options(shared=True, solver_steps=100))).data()
    assert 0 < refused < 20


def test_around_unknown_instructions_results_are_the_same_bits() -> None:
    shuffles = unknown = 0
    for seed in (1, 2, 5, 9, 15, 19, 21, 28, 31, 32, 33, 39, 46, 55, 69):
        program = generate_stencil(seed)
        unknown += hidden(program).count(HIDDEN)
        message, made = check_program(program, device="", in_part=True)
        assert not message, f"seed {seed}: {message}"
        shuffles += made
    assert shuffles > 20
    assert unknown > 80


KERNEL = """.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .b64 %l<9>; .reg .f32 %f<9>; .reg .b32 %r<9>;
    ld.param.u64 %l1, [a];
    mov.u32 %r1, %laneid;
    mul.wide.u32 %l2, %r1, 4;
    add.s64 %l3, %l1, %l2;
    ld.global.f32 %f1, [%l3];
    <unknown>
    ld.global.f32 %f2, [%l3+4];
    st.global.f32 [%l3], %f2;
    ret;
}
"""


@pytest.mark.parametrize(
    ("unknown", "shuffles"),
    [
        ("", 1),
        ("new.op %f8;", 0),  # it may write to memory
        ("new.op %f1;", 0),
        ("new.op [%l3];", 0),
    ],
)
def test_an_unknown_instruction_ends_what_was_loaded(unknown: str, shuffles: int) -> None:
    made = shuffle(KERNEL.replace("<unknown>", unknown), apply="all")
    assert made.report.shuffles == shuffles
    assert str(made).count(unknown) > 0


@pytest.mark.parametrize(("unknown", "shuffles"), [("new.op %f1, [%l3];", 1), ("new.op %l3, [%l3];", 0)])
def test_an_unknown_instruction_changes_the_registers_that_it_names(unknown: str, shuffles: int) -> None:
    text = KERNEL.replace("ld.global", "ld.global.nc").replace("<unknown>", unknown)
    assert shuffle(text, apply="all").report.shuffles == shuffles


def test_a_load_that_is_not_covered_is_among_the_loads_with_its_reason() -> None:
    made = shuffle(KERNEL.replace("<unknown>", "ld.global.quick.f32 %f3, [%l3+8];"), apply="all")
    (kept,) = [one for one in made.report.functions[0].kept if "quick" in one.load]
    assert (kept.place[0], kept.reason) == (12, "'.quick' is no modifier of 'ld'")


@pytest.mark.parametrize("source", [5, None, b".version 8.0", [KERNEL], Path("kernels.ptx")])
def test_what_is_no_text_and_no_module_is_a_type_error(source: Any) -> None:
    with pytest.raises(TypeError, match=type(source).__name__):
        shuffle(source)
    with pytest.raises(TypeError, match=type(source).__name__):
        optimize(source)


@pytest.mark.parametrize(
    "options", [{"apply": None}, {"arch": 86}, {"variant": 1}, {"assume_no_wrap": "no"}, {"shared": 1}]
)
def test_options_of_other_types_are_type_errors(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        shuffle(KERNEL, **options)


def test_no_other_tool_takes_what_is_not_understood() -> None:
    made = shuffle(KERNEL.replace("<unknown>", "new.op %f8;"), apply="all")
    with pytest.raises(SourceError, match="unknown opcode 'new'"):
        optimize(made)
    with pytest.raises(SourceError, match="unknown opcode 'new'"):
        drawloom.load(made, device="cpu")


#: What is PTX, but not covered, beside loads of three neighbours.
MODERN = """.version 8.3
.target sm_90
.address_size 64
.global .texref reference;
.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .b64 %l<5>; .reg .f32 %f<9>; .reg .b32 %r<9>;
    ld.param.u64 %l1, [a];
    ld.param.u64 %l4, [b];
    mov.u32 %r1, %laneid;
    mul.wide.u32 %l2, %r1, 4;
    add.s64 %l3, %l1, %l2;
    ld.global.nc.f32 %f1, [%l3+4];
    wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f2, %f3, %f4, %f5, %f6, %f7, %f8, %f1}, [%l4];
    ld.global.nc.f32 %f2, [%l3];
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ld.global.nc.f32 %f3, [%l3+8];
    add.f32 %f1, %f1, %f2;
    add.f32 %f1, %f1, %f3;
    st.global.f32 [%l3], %f1;
    ret;
}
"""


def test_what_ptxas_takes_it_takes_after_the_rewriting(ptxas: str, tmp_path: Path) -> None:
    made = shuffle(MODERN, apply="all")
    assert made.report.shuffles == 2
    for k, text in enumerate((MODERN, str(made))):
        path = tmp_path / f"{k}.ptx"
        path.write_text(text)
        done = subprocess.run(
            [ptxas, "-arch=sm_90", path, "-o", tmp_path / "out.cubin"], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
