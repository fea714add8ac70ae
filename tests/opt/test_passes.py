"""Every pass alone on a small program of `tests/golden/opt`: what comes out, written beside it, and that it means the
same. A file holds the program, then what the pass makes of it; `pytest --update-golden` rewrites the second half."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drawloom.errors import DataError
from drawloom.opt import LEVELS, PASSES, Report, optimize
from drawloom.ptx import parse, verify

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "opt"
CUT = "\n// after "
#: Passes that another one shows at work: what they leave is removed.
BEHIND: dict[str, list[str]] = {"copies": [], "flow": [], "dead": [], "number": []}


def test_every_pass_has_a_program() -> None:
    assert {path.stem.partition("-")[0] for path in FOLDER.glob("*.txt")} == set(PASSES)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_what_a_pass_does(name: str, golden: Callable[[str, str], None]) -> None:
    passes = [name.partition("-")[0]]
    passes += BEHIND.get(passes[0], ["dead"])
    promised = ("distinct-parameters",) if passes[0] == "readonly" else ()
    before = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").partition(CUT)[0].rstrip() + "\n"
    module = parse(before, f"{name}.txt")
    verify(module)
    text = str(module)
    report = Report()
    after = optimize(module, passes=passes, report=report, remarks=True, check=True, promises=promised)
    assert str(module) == text, "the module that was given has changed"
    body = "\n".join([*[f"// {remark}" for remark in report.remarks if remark.pass_name == passes[0]], str(after)])
    golden(f"opt/{name}.txt", f"{before}{CUT}{', '.join(passes)}\n{body}")
    assert report.runs[0].changes > 0


def test_levels_name_passes() -> None:
    assert all(name in PASSES for level in LEVELS for name in level)
    assert LEVELS[0] == ()


def test_wrong_names_are_refused() -> None:
    with pytest.raises(DataError, match=r"no pass 'nothing': expected copies, .*dead"):
        optimize("", passes=["nothing"])
    with pytest.raises(DataError, match="no level 4 of optimisation: expected 0 to 3"):
        optimize("", 4)


def test_the_limit_stops_between_runs() -> None:
    text = (FOLDER / "fold.txt").read_text(encoding="utf-8").partition(CUT)[0]
    names = ["fold", "dead"]
    whole = str(optimize(text, passes=names))
    parts = [str(optimize(text, passes=names, limit=n)) for n in range(4)]
    assert len(parse(parts[0]).functions["k"].body) == len(parse(text).functions["k"].body)
    assert parts[1] == str(optimize(text, passes=["fold"]))
    assert parts[2] == parts[3] == whole


def test_a_block_of_many_divisions_that_need_no_test() -> None:
    """More than functions may call each other; pairs of quotient and remainder share a division."""
    text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .b32 %r<3>; .reg .b64 %d<9>;"
    text += "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [p]; mov.u32 %r2, %tid.x;"
    for k in range(1100):
        text += f"add.u32 %r1, %r1, {k}; cvt.u64.u32 %d2, %r1; cvt.u64.u32 %d3, %r2; div.u64 %d4, %d2, %d3;"
        text += "rem.u64 %d5, %d2, %d3; add.u64 %d4, %d4, %d5; st.global.u64 [%d1], %d4;"
    made = optimize(text + " ret; }", passes=["bypass"]).functions["k"]
    names = [i.opcode.text for i in made.instructions() if i.opcode.name in ("div", "rem")]
    assert names == ["div.u32"] * 1100


def test_no_level_runs_passes_that_make_machine_code_longer() -> None:
    """`benchmarks/opt_machine_code.py` has the numbers."""
    assert not {"speculate", "bypass"}.intersection(LEVELS[3])
