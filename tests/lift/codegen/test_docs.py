"""The code that docs/lift-code.md shows is what its programs compile to."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from drawloom.lift import compile

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lift-code.md"
PAIRS = re.findall(r"## (.+?)\n.*?```python\n(.*?)```\n\n```c\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("program", "code"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_a_program_of_the_page_compiles_to_the_code_after_it(program: str, code: str) -> None:
    variables: dict[str, Any] = {}
    exec(program, variables)
    text = compile(variables["program"]).opencl
    body = text[text.index(") {\n", text.index("kernel void")) + 4 : -2]
    assert textwrap.dedent(body) == code
