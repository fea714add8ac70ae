"""`drawloom-ptxas`: ptxas's command line to the same with rewritten PTX, which the real assembler then gets (seed 003,
section 6: to be put before ptxas in a build that exists, also under its name).

The real one is `$DRAWLOOM_PTXAS`, else the first `ptxas` on the PATH that is not this program. `$DRAWLOOM_SHUFFLE`
holds options of `drawloom shuffle`, such as `--apply=all`; words that are none end the build, which would be another
one than was asked for. What cannot be rewritten is passed on as it is, with a warning: the build must not fail for it.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import click

from drawloom.cli.assemble import UTF_8_MARK
from drawloom.cli.outputs import refuse_to_overwrite
from drawloom.cli.ptxas_options import MOST_DEEP, is_spelling, needs_value, words_of_files
from drawloom.errors import DataError

ASSEMBLER: Final = "DRAWLOOM_PTXAS"
OPTIONS: Final = "DRAWLOOM_SHUFFLE"
EXIT_USAGE: Final = 2
EXIT_NOT_FOUND: Final = 127
#: What a shell adds to the number of the signal that has ended a program.
EXIT_SIGNALLED: Final = 128
STANDARD_INPUT: Final = "-"
#: What PTX begins with, behind comments.
FIRST_DIRECTIVE: Final = b".version"
#: In how many bytes at the beginning of a file that is looked for.
HEADER: Final = 1 << 16
#: How comments begin and end.
COMMENTS: Final = ((b"//", b"\n"), (b"/*", b"*/"))


def main() -> None:
    """The console script. Exits as the assembler does, 130 when interrupted."""
    try:
        sys.exit(run(sys.argv[1:]))
    except (KeyboardInterrupt, click.Abort):
        sys.exit(EXIT_SIGNALLED + signal.SIGINT)


def run(words: list[str]) -> int:
    """Assemble with rewritten files: the assembler's exit status, 127 if there is no assembler, 2 if the options of the
    environment are none."""
    real = assembler()
    if real is not None and Path(shutil.which(real) or real).resolve() == Path(sys.argv[0]).resolve():
        print(f"error: {ASSEMBLER} is drawloom-ptxas itself: set it to the real ptxas", file=sys.stderr)
        return EXIT_NOT_FOUND
    if real is None:
        print(f"error: there is no ptxas on the PATH: set {ASSEMBLER} to it", file=sys.stderr)
        return EXIT_NOT_FOUND
    with tempfile.TemporaryDirectory() as folder:
        given = expanded(words, 0)
        arch, passed, output = value_of("gpu-name", given), list(given), value_of("output-file", given)
        numbers = inputs(given)
        try:
            refuse_to_overwrite(output, [given[k] for k in numbers])
        except DataError as refusal:
            print(f"error: {refusal}", file=sys.stderr)
            return EXIT_USAGE
        try:
            for k in numbers:
                file = standard_input(Path(folder, str(k))) if given[k] == STANDARD_INPUT else given[k]
                passed[k] = rewritten(file, arch, Path(folder, f"{k}.new"))
        except click.UsageError as refusal:
            print(f"error: {OPTIONS}: {refusal.format_message()}", file=sys.stderr)
            return EXIT_USAGE
        try:
            status = subprocess.run([real, *passed], check=False).returncode
        except OSError as refusal:
            print(f"error: {real} cannot be run: {refusal.strerror}", file=sys.stderr)
            return EXIT_NOT_FOUND
    return status if status >= 0 else EXIT_SIGNALLED - status


def assembler() -> str | None:
    """The path of the real ptxas."""
    given = os.environ.get(ASSEMBLER)
    if given:
        return given
    own = Path(sys.argv[0]).resolve()
    for folder in os.get_exec_path():
        found = shutil.which("ptxas", path=folder)
        if found is not None and Path(found).resolve() != own:
            return found
    return None


def expanded(words: list[str], depth: int) -> list[str]:
    """A command line with the words of its options files in their places; what cannot be read stays for the assembler
    to complain of."""
    out: list[str] = []
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        taken = 1 if equals or at + 1 == len(words) else 2
        if is_spelling(name, "options-file") and depth <= MOST_DEEP:
            value = value if equals else "".join(words[at + 1 : at + 2])
            try:
                out.extend(expanded(words_of_files(value), depth + 1))
            except (OSError, ValueError):
                out.extend(words[at : at + taken])
        else:
            taken = 1
            out.append(words[at])
        at += taken
    return out


def value_of(option: str, words: list[str]) -> str:
    """The value of the last word that spells an option of ptxas; empty without one."""
    found = ""
    for word, following in zip(words, [*words, ""][1:], strict=True):
        name, _, value = word.partition("=")
        if is_spelling(name, option):
            found = value or following
    return found


def inputs(words: list[str]) -> list[int]:
    """Which words are PTX files, whatever their names: the assembler takes any."""
    return [
        k
        for k, word in enumerate(words)
        if not (k and needs_value(words[k - 1])) and (word == STANDARD_INPUT or is_ptx(word))
    ]


def is_ptx(word: str) -> bool:
    """Whether a word is the path of a file of that name, or of one that begins like PTX, as clang's `.s` do."""
    if word.startswith("-") or not os.path.isfile(word):
        return False
    try:
        if word.lower().endswith(".ptx"):
            return True
        with open(word, "rb") as file:
            return begins_like_ptx(file.read(HEADER))
    except OSError:
        return False


def begins_like_ptx(data: bytes) -> bool:
    text = data.removeprefix(UTF_8_MARK).lstrip()
    while True:
        for opening, closing in COMMENTS:
            if text.startswith(opening):
                text = text.partition(closing)[2].lstrip()
                break
        else:
            return text.startswith(FIRST_DIRECTIVE)


def standard_input(folder: Path) -> str:
    """A file of what standard input has, which can be read once only."""
    folder.mkdir()
    file = folder / "stdin.ptx"
    file.write_bytes(sys.stdin.buffer.read())
    return str(file)


def rewritten(file: str, arch: str, folder: Path) -> str:
    """The path of a rewritten file for that of a PTX file; itself where nothing is rewritten. Raises UsageError for
    what the environment asks for."""
    from drawloom.cli.shuffle import command
    from drawloom.errors import Error

    folder.mkdir()
    to = folder / Path(file).name
    try:
        options = [*(["--arch", arch] if arch else []), *given_options()]
        command.main([*options, "-o", str(to), "--", file], standalone_mode=False)
        if not to.is_file():
            raise click.UsageError("it has nothing written")
        return file if to.read_bytes() == Path(file).read_bytes() else str(to)
    except click.UsageError:
        raise
    except click.ClickException as refusal:
        message = refusal.format_message()
    except Error as refusal:
        message = str(refusal)
    except MemoryError:
        message = "there is too little memory to rewrite it"
    print(f"warning: drawloom-ptxas leaves {file} as it is: {message}", file=sys.stderr)
    return file


def given_options() -> list[str]:
    """What the environment asks for. Raises UsageError for quotes that do not end."""
    try:
        return shlex.split(os.environ.get(OPTIONS, ""))
    except ValueError as refusal:
        raise click.UsageError(str(refusal)) from None


if __name__ == "__main__":
    main()
