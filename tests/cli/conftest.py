"""The command, run in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from drawloom.cli.main import main
from tests.runtime import programs

Command = Callable[..., Result]


@pytest.fixture
def drawloom(monkeypatch: pytest.MonkeyPatch) -> Command:
    """`drawloom("run", "file.ptx", ...)` as the console script does it, with its exit code and output."""
    import sys

    import click

    for name in ("DRAWLOOM_DEVICE", "DRAWLOOM_CHECK", "DRAWLOOM_CACHE", "DRAWLOOM_THREADS"):
        monkeypatch.delenv(name, raising=False)

    @click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def script(words: tuple[str, ...]) -> None:
        monkeypatch.setattr(sys, "argv", ["drawloom", *words])
        main()

    def run(*words: object, input: str | None = None) -> Result:
        return CliRunner().invoke(script, [str(word) for word in words], input=input)

    return run


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    path = tmp_path / "saxpy.ptx"
    path.write_text(programs.SAXPY)
    return path
