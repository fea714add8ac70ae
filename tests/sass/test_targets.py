"""What differs between the targets of one selector: descriptors, scopes, what a target lacks; examples and benchmark
kernels for all of them."""

import re
from pathlib import Path

import numpy as np
import pytest

from drawloom.errors import Error, UnsupportedError
from drawloom.ptx import parse
from drawloom.ptx.declarations import sm_number
from drawloom.sass.assemble import assemble
from drawloom.sass.availability import check_available
from drawloom.sass.decoder import decode, unpack_section
from drawloom.sass.effects import effects
from drawloom.sass.encoding import encode
from drawloom.sass.instruction import Instruction
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from drawloom.sass.machine import UNIFORM
from drawloom.sass.text import parse_instruction
from drawloom.sass.verify import verify
from tests.sass.selection import TARGETS, header

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted([*(ROOT / "examples").glob("*.ptx"), *(ROOT / "benchmarks" / "kernels").glob("*.ptx")])
#: An access of every kind through a generic or global address.
ACCESSES = """ld.global.u32 x, [at]; ld.u32 y, [at+4]; st.global.u32 [at+8], x; st.u32 [at+12], y;
atom.global.add.u32 x, [at], y; red.global.add.u32 [at], x; atom.min.u32 y, [at], x; st.global.u32 [at], y;"""


def made(body: str, number: int) -> list[Instruction]:
    text = f"{header(number)}.visible .entry k(.param .u64 p) {{ .reg .u64 at; .reg .u32 x, y; ld.param.u64 at, [p];"
    return unpack_section(load_target(number), assemble(f"{text}\n{body}\nret; }}", f"sm_{number}").kernels["k"].code)


@pytest.mark.parametrize("number", TARGETS)
def test_examples_and_benchmark_kernels_pass_the_checker(number: int) -> None:
    assert len(PROGRAMS) >= 10
    for path in PROGRAMS:
        text = path.read_text()
        if sm_number(parse(text).arch) > number:
            text = re.sub(r"(?m)^\.target sm_\d+", f".target sm_{number}", text)
        cubin = assemble(text, f"sm_{number}", filename=path.name)
        for kernel in cubin.kernels.values():
            assert not verify(load_target(number), unpack_section(load_target(number), kernel.code)), path.name


@pytest.mark.parametrize("number", [80, 86, 89])
def test_accesses_have_the_descriptor_that_is_not_printed(number: int) -> None:
    instructions = made(ACCESSES, number)
    loads = [i for i in instructions if i.opcode.mnemonic == "ULDC.64"]
    assert [str(i) for i in loads] == ["ULDC.64 UR4, c[0x0][0x118]"]
    accesses = [i for i in instructions if effects(i.opcode).space in ("global", "generic")]
    assert len(accesses) == 8
    for access in accesses:
        assert "desc" not in str(access)
        assert (UNIFORM, 4, 2) in effects(access.opcode).fixed_reads, str(access)
        assert instructions.index(loads[0]) < instructions.index(access)


def test_sm_75_has_no_descriptor_and_names_the_system() -> None:
    instructions = made(ACCESSES, 75)
    assert not any("UR" in str(i) for i in instructions)
    assert [str(i).split()[0] for i in instructions if "LDG" in str(i) or "STG" in str(i)] == [
        "LDG.E.SYS", "STG.E.SYS", "STG.E.SYS",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text, late, early",
    [
        ("ld.relaxed.cta.global.u32 x, [at]", "LDG.E.STRONG.SM", "LDG.E.STRONG.CTA"),
        ("ld.relaxed.cta.global.L1::evict_last.u32 x, [at]", "LDG.E.EL.STRONG.SM", "LDG.E.EL.STRONG.SYS"),
        ("st.relaxed.gpu.global.u32 [at], x", "STG.E.STRONG.GPU", "STG.E.STRONG.GPU"),
        ("atom.relaxed.cta.global.add.u32 x, [at], y", "ATOMG.E.ADD.STRONG.SM", "ATOMG.E.ADD.STRONG.CTA"),
        ("ld.global.nc.u32 x, [at]", "LDG.E.CONSTANT", "LDG.E.CONSTANT.SYS"),
        ("fence.cta", "MEMBAR.ALL.CTA", "MEMBAR.ALL.CTA"),
        ("membar.cta", "MEMBAR.SC.CTA", "MEMBAR.SC.CTA"),
    ],
)
def test_scopes_as_ptxas_has_them(text: str, late: str, early: str) -> None:
    for number, wanted in ((80, late), (90, late), (75, early)):
        mnemonics = [i.opcode.mnemonic for i in made(f"mov.u32 x, 1; mov.u32 y, 2; {text};", number)]
        assert wanted in mnemonics, (number, mnemonics)


@pytest.mark.parametrize(
    "text, number, need",
    [
        ("redux.sync.add.u32 x, y, -1;", 75, 80),
        ("fma.rn.bf16x2 x, y, y, y;", 75, 80),
        ("max.f16x2 x, y, y;", 75, 80),
        ("ld.global.L2::256B.u32 x, [at];", 75, 80),
        ("add.u16x2 x, x, y;", 89, 90),
        ("atom.acquire.cluster.global.add.u32 x, [at], y;", 89, 90),
        ("ld.shared::cluster.u32 x, [at];", 80, 90),
        ("mov.u32 x, %cluster_ctarank;", 89, 90),
        ("griddepcontrol.wait;", 86, 90),
    ],
)
def test_what_a_target_lacks_is_refused_by_name_and_place(text: str, number: int, need: int) -> None:
    source = f"{header(90)}.visible .entry k(.param .u64 p)\n{{ .reg .u64 at; .reg .u32 x, y; ld.param.u64 at, [p];\n"
    module = parse(f"{source}{text}\nret; }}", "lacks.ptx")
    with pytest.raises(UnsupportedError) as caught:
        check_available(module, number)
    message = str(caught.value)
    assert message.startswith(f"lacks.ptx:6:1: sm_{number} has no ")
    assert f"sm_{need} or later" in message and text in message
    check_available(module, need)


@pytest.mark.parametrize("number", [80, 86, 89, 90])
@pytest.mark.parametrize(
    "text, upper",
    [
        ("fractional.L2::evict_last.b64 at, 0.25", 0x14300000),
        ("fractional.L2::evict_first.L2::evict_first.b64 at, 0.01", 0x13000000),
        ("fractional.L2::evict_unchanged.L2::evict_unchanged.b64 at", 0x10F00000),
        ("fractional.L2::evict_normal.b64 at, half", 0x16700000),
        ("cvt.L2.b64 at, 0x12f0000000000000", 0x12F00000),
    ],
)
def test_cache_policies_are_those_of_ptxas(text: str, upper: int, number: int) -> None:
    memory = np.array([0.5, 0, 0, 0], np.float32)
    address = int(memory.ctypes.data)
    source = f"""{header(number)}.visible .entry k(.param .u64 p) {{ .reg .u64 to, at; .reg .f32 half, x;
    ld.param.u64 to, [p]; ld.global.f32 half, [to]; createpolicy.{text};
    ld.global.L2::cache_hint.f32 x, [to], at; st.global.u64 [to+8], at; st.global.f32 [to+4], x; ret; }}"""
    cubin = assemble(source, f"sm_{number}")
    run(cubin, "k", (1, 1, 1), (1, 1, 1), address.to_bytes(8, "little"), buffers=[(address, memory.nbytes)])
    assert memory.view(np.uint32).tolist() == [0x3F000000, 0x3F000000, 0, upper]


def test_setmaxnreg_is_ignored_with_a_warning_on_sm_90a_and_refused_on_sm_90() -> None:
    body = "{\nsetmaxnreg.inc.sync.aligned.u32 232;\nsetmaxnreg.dec.sync.aligned.u32 40;\nret; }\n"
    text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() .maxntid 384\n" + body
    warnings = assemble(text, "sm_90a").warnings
    assert [re.findall(r"line (\d+)", warning) for warning in warnings] == [["6"], ["7"]]
    with pytest.raises(Error, match=r":6:1: 'setmaxnreg.inc.sync.aligned.u32' needs .*sm_90a"):
        assemble(text.replace("sm_90a", "sm_90"), "sm_90")


def test_words_of_setmaxnreg_are_in_the_tables() -> None:
    """As ptxas 12.9 has them for sm_90a."""
    target = load_target(90)
    words = {
        0x0000000008000600000000E8000079C8: "USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xe8",
        0x00000000080E050000000028000079C8: "USETMAXREG.DEALLOC.CTAPOOL 0x28",
    }
    for word, text in words.items():
        assert str(decode(target, word)) == text and encode(parse_instruction(target, text)) & (1 << 105) - 1 == word
