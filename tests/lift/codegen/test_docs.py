"""The code that docs/lift-code.md and docs/lift-patterns.md show is what their programs compile to."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from drawloom.lift import Compiled, compile, parse_program
from drawloom.lift.language.patterns.table import PATTERNS as PATTERN_TABLE
from tests.lift.codegen.opencl_platforms import find_context

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "lift-code.md"
PATTERNS = (DOCS / "lift-patterns.md").read_text(encoding="utf-8")
PAIRS = re.findall(r"## (.+?)\n.*?```python\n(.*?)```\n\n```c\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("program", "code"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_a_program_of_the_page_compiles_to_the_code_after_it(program: str, code: str, update_golden: bool) -> None:
    variables: dict[str, Any] = {}
    exec(program, variables)
    found = body_of(variables.get("compiled") or compile(variables["program"]))
    if update_golden:
        page = PAGE.read_text(encoding="utf-8")
        before, after = (f"```python\n{program}```\n\n```c\n{text}```" for text in (code, found))
        PAGE.write_text(page.replace(before, after), encoding="utf-8")
        return
    assert found == code


BEGINNING = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
FIRST, BY_PYOPENCL = re.findall(r"```python\n(.*?)```", BEGINNING, re.DOTALL)


def test_pyopencl_runs_the_text_as_the_page_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    context = find_context()
    if context is None:
        pytest.skip("no OpenCL platform that builds a program")
    monkeypatch.setattr("pyopencl.create_some_context", lambda interactive: context)
    variables: dict[str, Any] = {}
    exec(FIRST, variables)
    exec(BY_PYOPENCL, variables)
    printed = capsys.readouterr().out.splitlines()
    assert (printed[0], printed[-1]) == ("[12. 24.]", "[12. 24. 36.]")


#: An example of a pattern, its program, and the code after it. The example's last line is its value.
EXAMPLE = re.compile(r"(^```lift\n((?:(?!```).*\n)*).*\n```\n\n```c\n)((?:(?!```).*\n)*)(?=```$)", re.MULTILINE)
EXAMPLES = [(found.group(2), found.group(3)) for found in EXAMPLE.finditer(PATTERNS)]
#: Patterns that say nothing of work-items, and what a kernel has in their place.
LOWERED = {
    "map": "mapGlb",
    "reduce": "reduceSeq",
    "partialReduce": "reduceSeq",
    "scan": "scanSeq",
    "scanExclusive": "scanExclusiveSeq",
    "filter": "filterSeq",
    "mapAtomic": "mapAtomicGlb",
}
WRITTEN_OTHERWISE = {"tuple": "(neg(", "array": "[1, 10, 100]"}


@pytest.mark.parametrize(("program", "code"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_a_pattern_compiles_to_the_code_after_its_example(program: str, code: str, update_golden: bool) -> None:
    found = body_of(compile(parse_program(program)))
    if update_golden:
        page = (DOCS / "lift-patterns.md").read_text(encoding="utf-8")
        block = next(block for block in EXAMPLE.finditer(page) if block.group(2) == program)
        written = page[: block.start(3)] + found + page[block.end(3) :]
        (DOCS / "lift-patterns.md").write_text(written, encoding="utf-8")
        return
    assert found == code


@pytest.mark.parametrize("keyword", PATTERN_TABLE)
def test_every_pattern_has_an_example_with_its_code(keyword: str) -> None:
    shown = WRITTEN_OTHERWISE.get(keyword) or LOWERED.get(keyword, keyword)
    pattern = re.escape(shown) if keyword in WRITTEN_OTHERWISE else rf"\b{shown}\b"
    assert any(re.search(pattern, program) for program, _ in EXAMPLES)


def body_of(compiled: Compiled) -> str:
    """Return the statements of a program's kernels."""
    bodies = re.findall(r"^kernel void \w+\(.*?\) \{\n(.*?)^\}", compiled.opencl, re.MULTILINE | re.DOTALL)
    return "\n".join([textwrap.dedent(body) for body in bodies])
