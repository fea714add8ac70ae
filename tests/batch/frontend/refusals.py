"""What the parser says of a text that is not in the language."""

import pytest

from drawloom.batch import parse_file
from drawloom.errors import Error


def refusal(text: str, wg_size: int = 4) -> str:
    """Return the error of a text, which is called k.cl."""
    with pytest.raises(Error) as refused:
        parse_file(text, wg_size=wg_size, file="k.cl")
    return str(refused.value)


def check_refused(text: str, line: int, message: str) -> None:
    """Check that the error of a text begins with a place in a line, and says something."""
    report = refusal(text)
    assert report.startswith(f"k.cl:{line}:")
    assert message in report
