"""The disasm subcommand: one report for what it cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from drawloom.cli.disasm import command
from drawloom.errors import Error


@pytest.mark.parametrize("content", (None, b"", b"not an ELF file"))
def test_what_cannot_be_disassembled_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "a.cubin"
    if content is not None:
        file.write_bytes(content)
    result = CliRunner().invoke(command, [str(file)])
    assert isinstance(result.exception, Error)
    assert str(result.exception)
