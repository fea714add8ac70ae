"""The blocks of docs/lift.md run, and the first chapter's print what stands after them.

`--update-golden` writes what the blocks print into the page.
"""

import contextlib
import io
import linecache
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lift.md"
CHAPTER = re.compile(r"^## From a dot product to tiles\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
#: A block of Python and, where it prints something, the block of what it prints.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```(text|c)\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run_block(source: str, number: int, variables: dict[str, Any]) -> str:
    """Run a block as a cell of a session, and return what it prints. Errors show its lines, as in a notebook."""
    name = f"cell {number}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(builtin_compile(source, name, "exec"), variables)
    return printed.getvalue()


builtin_compile = compile


def test_the_first_chapter_is_a_session_that_prints_what_it_shows(update_golden: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = CHAPTER.search(page)
    assert found is not None
    chapter, variables = found.group(), {"__name__": "__main__"}
    parts: list[str] = []
    last = 0
    for number, block in enumerate(BLOCK.finditer(chapter), 1):
        printed = run_block(block.group(1), number, variables)
        if update_golden and block.group(2):
            parts += [chapter[last : block.start(3)], printed.rstrip("\n") + "\n"]
            last = block.end(3)
        else:
            assert printed.rstrip("\n") == (block.group(3) or "").rstrip("\n"), block.group(1)
    if update_golden:
        PAGE.write_text(page.replace(chapter, "".join(parts) + chapter[last:]), encoding="utf-8")


OTHERS = [block.group(1) for block in BLOCK.finditer(CHAPTER.sub("", PAGE.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("source", OTHERS, ids=range(len(OTHERS)))
def test_the_other_blocks_run_by_themselves(source: str) -> None:
    """Comments after `print` say what is printed."""
    expected = re.findall(r"^print\(.*\)\s+# (.*)$", source, re.MULTILINE)
    assert run_block(source, 0, {}).splitlines() == expected
