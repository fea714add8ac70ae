"""The documentation holds together: links lead somewhere, rooms have pages, packages are explained."""

import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = CODE.sub("", page.read_text(encoding="utf-8"))
    targets = [target for target in LINK.findall(prose) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_every_room_has_a_page_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    rooms = sorted(path.parent.name for path in ROOT.glob("src/drawloom/*/__init__.py"))
    assert "ptx" in rooms
    assert [room for room in rooms if f"({room}.md)" not in index] == []


def test_every_dependency_is_explained() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    requirements = [requirement for group in groups for requirement in group]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in requirements} - {"drawloom"}
    assert sorted(name for name in names if name not in page) == []


def test_readme_fits_one_screen_of_a_reader() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 70
    assert max(map(len, lines)) <= 110


def test_the_example_of_queries_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "profile.html"
    monkeypatch.setattr(sys, "argv", ["query.py", "--device", "cpu", "--profile", str(page)])
    runpy.run_path(str(ROOT / "examples" / "query.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert shown.startswith("('Graz', 33159, Decimal('") and "@join " in shown
    assert "query:2:7: No field named prize." in shown and "function: arrow_typeof" in shown
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
