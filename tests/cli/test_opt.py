"""The opt subcommand: levels, passes, remarks, bisection, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import drawloom
from drawloom.cli.opt import command
from drawloom.errors import DataError, ParseError
from drawloom.ptx import parse

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) { .reg .u64 %a; .reg .u32 %r, %s;
ld.param.u64 %a, [out];
mov.u32 %r, 5;
add.u32 %s, %r, 6;
st.global.u32 [%a], %s;
ret; }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.ptx"
    path.write_text(TEXT)
    return path


def run(*words: object, given: str | None = None) -> tuple[str, str]:
    result = CliRunner().invoke(command, [str(word) for word in words], input=given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_a_level_goes_to_a_file_or_to_standard_output(source: Path, tmp_path: Path) -> None:
    printed, said = run(source, "-O2")
    assert "st.global.u32 [%a], 11;" in printed and said == ""
    assert run("-", given=TEXT)[0] == printed
    assert run(source, "-o", tmp_path / "out.ptx") == ("", "")
    assert (tmp_path / "out.ptx").read_text() == printed == str(drawloom.optimize(TEXT, 2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.ptx", "out.ptx"]
    assert run(source, "-o", "/dev/null") == ("", "")
    assert parse(run(source, "-O0")[0]) == parse(TEXT)


def test_passes_remarks_and_bisection_say_what_was_done(source: Path) -> None:
    printed, said = run(source, "--passes", "fold", "--remarks")
    assert said == "k:7: fold: 'add.u32 %s.2, %r.1, 6': is 11\n"
    assert "mov.b32 %s, 11;" in printed and "mov.b32 %r, 5;" in printed
    printed, said = run(source, "--passes", "fold,dead", "--bisect", 1)
    assert said == "1: fold on k: 2 changes\nstopped after 1 of 2 runs\n"
    assert "mov.b32 %r, 5;" in printed
    assert run(source, "--list", "--passes", "dead, fold")[0] == "dead\nfold\n"
    assert run("--list", "-O1")[0] == "copies\nfold\nflow\ndead\n"


def test_what_is_wrong_is_refused(source: Path, tmp_path: Path) -> None:
    missing = CliRunner().invoke(command, ["-O3"])
    assert missing.exit_code == 2 and "Missing argument 'FILE'" in missing.stderr
    with pytest.raises(DataError, match=r"no pass 'fodl' \(is it 'fold'\?\): expected copies, "):
        run(source, "--passes", "fodl")
    with pytest.raises(DataError, match="no pass 'folding'"):
        run(source, "--passes", "folding")
    with pytest.raises(DataError, match="cannot write"):
        run(source, "-o", tmp_path / "none" / "out.ptx")
    with pytest.raises(DataError, match="cannot read"):
        run(tmp_path / "none.ptx")
    with pytest.raises(ParseError):
        run("-", given="no PTX")
