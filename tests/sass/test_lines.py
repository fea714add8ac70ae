"""Line tables: `.loc` and `.file` of PTX to .debug_line, as pyelftools and ptxas have it."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from drawloom import assemble
from drawloom.ptx import parse
from drawloom.sass.assembly import SourceFile
from drawloom.sass.cubin import read_cubin
from drawloom.sass.line_table import read_line_table
from tools.isa.vendor import assembles_for, find

CORPUS = Path(__file__).resolve().parents[1] / "golden" / "corpus" / "nvcc"
FILES = sorted(CORPUS.glob("*.lineinfo.ptx"))
KERNEL = """.version 8.0
.target sm_61
.address_size 64
.file 7 "/src/weave.cu", 1700000000, 321
.file 3 "loom.h"
.visible .entry k(.param .u64 p, .param .u32 n)
{
 .reg .u64 %a; .reg .u32 %r<5>;
 .loc 7 10 0
 ld.param.u64 %a, [p];
 .loc 7 11 0
 ld.param.u32 %r1, [n];
 .loc 3 5 3, function_name $L__name, inlined_at 7 11 9
 mad.lo.u32 %r2, %r1, %r1, %r1;
 .loc 7 12 3
 ld.global.u32 %r3, [%a+8];
 .loc 7 13 3
 mad.lo.u32 %r4, %r3, %r1, %r2;
 st.global.u32 [%a], %r4;
 .loc 7 14 0
 ret;
}
"""
PLAIN = re.sub(r"(?m)^ ?\.(loc|file).*\n", "", KERNEL)


def pairs(data: bytes) -> set[tuple[str, int]]:
    """(file, line) of every row, as pyelftools reads the table."""
    elf = ELFFile(io.BytesIO(data))
    found: set[tuple[str, int]] = set()
    section = elf.get_section_by_name(".debug_line")
    files, tables = read_line_table(section.data())
    for _, rows in tables:
        found.update((files[row.file - 1].path, row.line) for row in rows)
    return found


def test_folder_and_name_of_a_file_in_two_strings() -> None:
    cubin = assemble(KERNEL.replace('"/src/weave.cu"', '"/src" "weave.cu"'), "sm_90", line_info=True)
    assert cubin.assembly.files[0] == SourceFile("/src/weave.cu", 1700000000, 321)


def test_locations_become_rows_and_inlined_lines_are_their_own() -> None:
    cubin = assemble(KERNEL, "sm_90", line_info=True)
    assert cubin.assembly.files == [SourceFile("/src/weave.cu", 1700000000, 321), SourceFile("loom.h")]
    assert pairs(bytes(cubin)) == {("/src/weave.cu", n) for n in (10, 12, 13, 14)} | {("loom.h", 5)}
    kernel = read_cubin(bytes(cubin)).functions["k"]
    assert kernel.lines[0].offset == 0
    stores = [line for line in cubin.disassembly().splitlines() if "STG" in line]
    at = int(stores[0].split("*")[1], 16)
    assert max((row for row in kernel.lines if row.offset <= at), key=lambda row: row.offset).line == 13
    # The PTX's own lines, with its text.
    texts = KERNEL.splitlines()
    assert "st.global" in texts[max((r for r in kernel.ptx_lines if r.offset <= at), key=lambda r: r.offset).line - 1]
    assert cubin.assembly.ptx_text == KERNEL


def test_ptx_without_locations_is_its_own_source() -> None:
    cubin = assemble(PLAIN, "sm_86", line_info=True, filename="dir/weave.ptx")
    lines = PLAIN.splitlines()
    found = pairs(bytes(cubin))
    assert {file for file, _ in found} == {"dir/weave.ptx"}
    said = [lines[line - 1] for _, line in found]
    for word in (".entry", "mad.lo.u32 %r2", "ld.global", "st.global", "ret"):
        assert any(word in line for line in said), word


def test_no_tables_unless_asked_and_the_same_code_with_them() -> None:
    plain, lined = assemble(KERNEL), assemble(KERNEL, line_info=True)
    assert b".debug_line" not in bytes(plain)
    assert plain.kernels["k"].code == lined.kernels["k"].code


def test_modules_without_text_have_no_tables() -> None:
    module = parse(PLAIN)
    module.source = ""
    assert assemble(module, line_info=True).functions["k"].lines == []


@pytest.mark.vendor
def test_the_lines_of_the_corpus_beside_ptxas(tmp_path: Path) -> None:
    """The files are the same; rows name only lines that the PTX has, and nearly all of those that ptxas names."""
    ptxas = find("ptxas")
    if ptxas is None or not assembles_for(80):
        pytest.skip("ptxas is not installed (python -m tools.isa fetch)")
    missing = named = 0
    for file in FILES[::6]:
        text = re.sub(r"(?m)^\.version\s+9\.\d", ".version 8.8", file.read_text())
        source, made = tmp_path / "a.ptx", tmp_path / "a.cubin"
        source.write_text(text)
        subprocess.run([ptxas, "-arch=sm_80", "-lineinfo", source, "-o", made], check=True)
        ours = assemble(text, "sm_80", line_info=True)
        theirs = read_cubin(made.read_bytes())
        assert ours.assembly.files == theirs.assembly.files
        mine, other = pairs(bytes(ours)), pairs(made.read_bytes())
        locations = {(int(f), int(n)) for f, n in re.findall(r"^\s*\.loc\s+(\d+)\s+(\d+)", text, re.M)}
        assert {line for _, line in mine} <= {line for _, line in locations}, file.name
        missing += len(other - mine)
        named += len(other)
    assert named > 100
    assert missing < 0.1 * named, (missing, named)
