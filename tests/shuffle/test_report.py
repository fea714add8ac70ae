"""What a report says: as text, as JSON that stands alone, as a page that needs nothing else."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import drawloom
from drawloom.ptx import parse
from drawloom.shuffle.emulator import Options, analyse
from drawloom.shuffle.pipeline import shuffle
from drawloom.shuffle.solve import BACKENDS
from drawloom.shuffle.summary import Summary
from drawloom.shuffle.trace import trace

SUITE = Path(__file__).resolve().parent.parent / "golden" / "shuffle" / "clang"
#: Elements of HTML that have no end.
OPEN = ("meta",)


def report(name: str = "laplacian", kernel: str = "", **options: Any) -> Summary:
    text = (SUITE / f"{name}.ptx").read_text()
    return shuffle(text.replace(f"{name}(", f"{kernel}(") if kernel else text, **options).report


class Page(HTMLParser):
    """The words of a page in which every element ends; and what it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.path: list[str] = []
        self.rows: list[list[str]] = []
        self.loaded: list[str] = []
        self.feed(text)
        assert not self.path

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded.extend([str(value) for name, value in attrs if name in ("src", "href")])
        if tag not in OPEN:
            self.path.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.path.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())
        if "td" in self.path:
            self.rows[-1][-1] += data


def test_places_have_columns_in_every_kind_of_report() -> None:
    made = report(apply="all")
    first = made.functions[0].rewrites[0]
    line, column = first.place
    quoted = (SUITE / "laplacian.ptx").read_text().splitlines()[line - 1]
    assert column > 1 and quoted[column - 1 :].startswith("ld.global")
    found = json.loads(made.json())["functions"][0]["rewrites"][0]
    assert (found["line"], found["column"]) == first.place
    assert (found["source_line"], found["source_column"]) == first.source_place
    assert f"line {line}:{column}: ld.global" in made.text()
    assert any(row[:1] == [f"line {line}:{column}"] for row in Page(made.html()).rows)


def test_json_has_the_options_and_the_version() -> None:
    found = json.loads(report(apply="all", assume_no_wrap=True, arch="sm_61", shared=True).json())
    assert found["drawloom"] == drawloom.__version__
    assert found["options"] == {
        "apply": "all", "arch": "sm_61", "assume_no_wrap": True, "distinct_parameters": False, "shared": True,
        "variant": "",
    }  # fmt: skip
    assert json.loads(report(apply="none").json())["options"]["arch"] == "sm_70"  # the module's target


def test_text_begins_with_the_options() -> None:
    first = report(apply="all", assume_no_wrap=True, variant="no-load").text().splitlines()[0]
    assert first == "<text> for sm_70: apply all, assume-no-wrap, variant no-load"


@pytest.mark.parametrize("name, options", [("vecadd", {"apply": "all"}), ("laplacian", {"apply": "none"})])
def test_a_variant_of_code_that_stays_is_not_called_wrong(name: str, options: dict[str, Any]) -> None:
    made = report(name, variant="no-load", **options)
    assert made.warning == ""
    assert not json.loads(made.json())["wrong_results"]
    assert "not the results" not in made.text() + made.html()


def test_a_variant_of_code_that_is_rewritten_is_called_wrong() -> None:
    made = report(apply="all", variant="no-corner")
    assert json.loads(made.json())["wrong_results"]
    for text in (made.text(), made.html()):
        assert "these are not the results of the program: it was made to see where time goes (no-corner)" in text


#: Two loads of one address, which only a solver knows: ``(i | n) + (i & n)`` is ``i + n``.
HARD = """.version 7.0
.target sm_60
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 n)
{
.reg .b64 %l<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;
ld.param.u64 %l1, [in]; ld.param.u64 %l2, [n]; mov.u32 %r1, %tid.x; cvt.u64.u32 %l3, %r1;
add.s64 %l4, %l3, %l2; or.b64 %l5, %l3, %l2; and.b64 %l6, %l3, %l2; add.s64 %l5, %l5, %l6;
add.s64 %l4, %l4, %l1; add.s64 %l5, %l5, %l1;
ld.global.nc.u8 %r2, [%l4];
ld.global.nc.u8 %r3, [%l5];
ret;
}
"""


def test_what_no_solver_was_there_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bitwuzla")
    found = shuffle(HARD, apply="all").report.functions[0]
    assert (len(found.rewrites), found.notes) == (1, [])
    for name in list(BACKENDS):
        monkeypatch.delitem(BACKENDS, name)
    found = shuffle(HARD, apply="all").report.functions[0]
    assert not found.rewrites and "there is no solver" in found.notes[0]
    assert shuffle((SUITE / "jacobi.ptx").read_text(), apply="all").report.functions[0].notes == []


def test_that_a_solver_has_had_no_time_is_said() -> None:
    pytest.importorskip("bitwuzla")
    module = parse(HARD)
    found = analyse(module, module.functions["k"], Options(solver_steps=1))
    assert list(found.find(found.loads[1], set())) == []
    assert "steps are used up" in found.shortfall()
    assert "steps are used up" in trace(module, found).notes[0]


def test_a_page_has_every_load_and_loads_nothing() -> None:
    page = Page(report(apply="all").html())
    assert page.loaded == []
    assert "http" not in "".join(page.words)
    loads = [row for row in page.rows if row]
    assert len(loads) == 7 and [row[2] for row in loads if row[2]] == ["-1", "+1"]
    assert [row[0] for row in loads] == sorted(
        [row[0] for row in loads], key=lambda place: int(place.split(":")[0][5:])
    )


@pytest.mark.parametrize(
    "symbol, name",
    [("%odd$", ""), ("$_", ""), ("_ZN5image9laplacianIfEEvPKT_PS1_i", "image::laplacian"), ("_Z" + "9" * 5000, "")],
)
def test_symbols_are_shown_with_their_names_in_the_source(symbol: str, name: str) -> None:
    made = report(kernel=symbol, apply="all")
    heading = f"{name} ({symbol})" if name else symbol
    assert f"\n{heading}: 2 of 7 loads are shuffles" in made.text()
    words = Page(made.html()).words
    assert symbol in words and (name or symbol) in words


def test_a_page_escapes_what_it_quotes() -> None:
    made = report(apply="none")
    made.notes.append("<script>alert(1)</script>")
    made.request.file = '"<b>&'
    words = Page(made.html()).words
    assert made.notes[0] in words and 'Shuffles of "<b>&' in words


def test_a_load_that_stays_names_the_nearest_lane() -> None:
    """It named the last one that was tried."""
    text = report("jacobi", arch="sm_70").text()
    assert "a shuffle by -1 does not pay" in text and "by +2" not in text
