"""The disasm subcommand: one report for what it cannot read, whatever was done to the file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from drawloom import assemble
from drawloom.cli.disasm import command
from drawloom.errors import Error
from drawloom.sass.assemble import SELECTED
from drawloom.sass.listing import list_cubin
from tests.cli.conftest import Command

PTX = """.version 8.0
.target sm_61
.address_size 64
.global .u32 g = 7;
.visible .func f() { ret; }
.visible .entry k(.param .u64 p) { .reg .u64 a; .reg .u32 r; .reg .pred q;
ld.param.u64 a, [p];
L: ld.global.u32 r, [a]; setp.lt.u32 q, r, 9; st.global.u32 [g], r; @q bra L; ret; }
"""
OTHERS = {
    b"": "the file is empty",
    b"not an ELF file at all, but text that is long enough for a header, were it one of those": "not an ELF file",
    PTX.encode(): "PTX: make a cubin of it with drawloom as",
    b"\x50\xed\x55\xba" + bytes(100): "a fatbin",
    b"BC\xc0\xde" + bytes(100): "LLVM bitcode",
    b"!<arch>\n" + bytes(100): "an archive",
}


@cache
def cubin(target: int, cuda: int, relocatable: bool = False) -> bytes:
    return bytes(assemble(PTX, f"sm_{target}", cuda=cuda, line_info=True, relocatable=relocatable))


@pytest.mark.parametrize("content", [None, *OTHERS])
def test_what_cannot_be_disassembled_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "a.cubin"
    if content is not None:
        file.write_bytes(content)
    result = CliRunner().invoke(command, [str(file)])
    assert isinstance(result.exception, Error)
    assert OTHERS.get(content or b"", "") in str(result.exception) or content is None


def test_a_program_of_the_host_is_called_one(tmp_path: Path, drawloom: Command) -> None:
    data = bytearray(cubin(90, 12))
    data[18:20] = (62).to_bytes(2, "little")
    file = tmp_path / "a.out"
    file.write_bytes(data)
    done = drawloom("disasm", file)
    assert (done.exit_code, done.stderr) == (1, f"error: {file}: an ELF file for machine 62, expected a cubin (190)\n")


@pytest.mark.parametrize("target", SELECTED)
def test_our_own_files_of_every_kind(target: int, tmp_path: Path, drawloom: Command) -> None:
    kinds = [(12, False)] + [(13, False), (12, True), (13, True)] * (target >= 75)
    for cuda, relocatable in kinds:
        data = cubin(target, cuda, relocatable)
        text = list_cubin(data, show_words=True)
        assert "not in the tables" not in text
        assert text.count("EXIT") >= 1
        file = tmp_path / "k.cubin"
        file.write_bytes(data)
        done = drawloom("disasm", file, "--hex", "--function", "k")
        assert done.exit_code == 0
        assert done.stdout in text or relocatable
        missing = drawloom("disasm", file, "--function", "nobody")
        assert (missing.exit_code, missing.stderr) == (1, f"error: {file}: no function nobody in the cubin\n")


def read_or_refuse(data: bytes) -> None:
    try:
        assert list_cubin(data)
    except Error as refusal:
        assert str(refusal)


@pytest.mark.parametrize("target", SELECTED)
def test_every_truncation_is_refused_or_read(target: int) -> None:
    data = cubin(target, 12)
    for end in range(0, len(data), 37):
        read_or_refuse(data[:end])


@given(st.data())
def test_fuzz_flipped_and_overwritten_bytes(data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(SELECTED))
    relocatable = target >= 75 and data.draw(st.booleans())
    damaged = bytearray(cubin(target, data.draw(st.sampled_from([12, 13])) if target >= 75 else 12, relocatable))
    headers = int.from_bytes(damaged[40:48], "little")
    for _ in range(data.draw(st.integers(1, 8))):
        region = data.draw(st.sampled_from([(0, 64), (headers, len(damaged)), (0, len(damaged))]))
        place = data.draw(st.integers(region[0], region[1] - 1))
        damaged[place] = data.draw(st.sampled_from([0, 0xFF, 0x7F, damaged[place] ^ 1, damaged[place] ^ 0x80]))
    read_or_refuse(bytes(damaged))
