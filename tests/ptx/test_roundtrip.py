"""Every file of the corpus parses, verifies, and prints to text that is the same module and that ptxas takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from drawloom.ptx.declarations import sm_number
from drawloom.ptx.parser import parse
from drawloom.ptx.verifier import verify

CORPUS = Path(__file__).parent.parent / "golden" / "corpus"
FILES = sorted(CORPUS.glob("*/*.ptx"))
PTXAS = shutil.which("ptxas")
#: One file in so many goes through the vendor's assembler, which needs some 50 ms for each.
SAMPLE = 7
#: The oldest architecture that current assemblers know; older targets are assembled for it.
OLDEST_SM = 75


def test_the_corpus_is_there() -> None:
    assert len(FILES) > 200


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in FILES}))
def test_corpus_survives_a_round_trip(folder: str) -> None:
    for path in FILES:
        if path.parent.name == folder:
            module = parse(path.read_text(), path.name)
            verify(module)
            text = str(module)
            again = parse(text, path.name)
            assert again == module, path.name
            assert str(again) == text, path.name
            verify(again)


@pytest.mark.vendor
@pytest.mark.skipif(PTXAS is None, reason="ptxas is not on PATH")
@pytest.mark.parametrize("path", FILES[::SAMPLE], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_assembler_takes_what_is_printed(path: Path, tmp_path: Path) -> None:
    def assemble(text: str) -> tuple[int, str]:
        source = tmp_path / "in.ptx"
        source.write_text(text)
        target = parse(text).arch
        arch = target if sm_number(target) >= OLDEST_SM else f"sm_{OLDEST_SM}"
        command = [str(PTXAS), "-O0", f"-arch={arch}", str(source), "-o", str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr + done.stdout

    original = path.read_text()
    code, report = assemble(original)
    if code != 0:
        pytest.skip(f"this ptxas refuses the original: {report.strip()[:200]}")
    code, report = assemble(str(parse(original, path.name)))
    assert code == 0, report


def test_selectors_and_signs_of_video_operands_survive() -> None:
    lines = [
        "vadd.s32.u32.s32.sat %r0, %r1.b0, %r2.h0;", "vabsdiff.s32.s32.s32 %r0.h1, %r1, %r2.b2, 7;",
        "vmad.s32.u32.u32.shr15 %r0, -%r1.h0, %r2, %r3;", "vmad.s32.s32.u32 %r0, %r1, -5, -%r3;",
        "vset4.u32.s32.lt.add %r0.b310, %r1.b7654, %r2.b3210, %r3;",
    ]  # fmt: skip
    head = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k ()\n{\n.reg .b32 %r<4>;\n"
    spaced = [line.replace("-%r1.h0", "- %r1 .h0").replace("%r2.h0", " %r2.h0 ") for line in lines]
    module = parse(head + "\n".join(spaced) + "\nret;\n}\n")
    verify(module)
    assert [line.strip() for line in str(module).splitlines() if line.startswith("    v")] == lines
    assert parse(str(module)) == module
    first = module.functions["k"].instructions()[0]
    assert first.sources() == module.functions["k"].registers[1:3]
    assert parse(str(module).replace("%r1.b0", "%r1.b1")) != module
