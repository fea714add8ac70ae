"""The code that docs/lift-code.md and docs/lift-patterns.md show is what their programs compile to."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from drawloom.lift import Lambda, compile, parse_program

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "lift-code.md"
PATTERNS = (DOCS / "lift-patterns.md").read_text(encoding="utf-8")
PAIRS = re.findall(r"## (.+?)\n.*?```python\n(.*?)```\n\n```c\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("program", "code"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_a_program_of_the_page_compiles_to_the_code_after_it(program: str, code: str) -> None:
    variables: dict[str, Any] = {}
    exec(program, variables)
    assert body_of(variables["program"]) == code


#: The program of each example of a pattern whose code follows, and the code. The example's last line is its value.
EXAMPLES = re.findall(r"^```lift\n((?:(?!```).*\n)*).*\n```\n\n```c\n((?:(?!```).*\n)*)```$", PATTERNS, re.MULTILINE)


@pytest.mark.parametrize(("program", "code"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_a_pattern_compiles_to_the_code_after_its_example(program: str, code: str) -> None:
    assert body_of(parse_program(program)) == code


def body_of(program: Lambda) -> str:
    """Return the statements of a program's kernel."""
    text = compile(program).opencl
    return textwrap.dedent(text[text.index(") {\n", text.index("kernel void")) + 4 : -2])
