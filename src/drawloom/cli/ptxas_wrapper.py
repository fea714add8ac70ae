"""`drawloom-ptxas`: ptxas's command line to the same with rewritten PTX, which the real assembler then gets (seed 003,
section 6: to be put before ptxas in a build that exists, also under its name).

The real one is `$DRAWLOOM_PTXAS`, else the first `ptxas` on the PATH that is not this program. `$DRAWLOOM_SHUFFLE`
holds options of `drawloom shuffle`, such as `--apply=all`. What cannot be rewritten is passed on as it is, with a
warning: the build must not fail for it.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ASSEMBLER: Final = "DRAWLOOM_PTXAS"
OPTIONS: Final = "DRAWLOOM_SHUFFLE"
EXIT_NOT_FOUND: Final = 127
ARCH_OPTIONS: Final = ("-arch", "--gpu-name")


def main() -> None:
    """The console script. Exits as the assembler does."""
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """Assemble with rewritten files: the assembler's exit status, 127 if there is no assembler."""
    real = assembler()
    if real is not None and Path(shutil.which(real) or real).resolve() == Path(sys.argv[0]).resolve():
        print(f"error: {ASSEMBLER} is drawloom-ptxas itself: set it to the real ptxas", file=sys.stderr)
        return EXIT_NOT_FOUND
    if real is None:
        print(f"error: there is no ptxas on the PATH: set {ASSEMBLER} to it", file=sys.stderr)
        return EXIT_NOT_FOUND
    with tempfile.TemporaryDirectory() as folder:
        arch = target(words)
        passed = [rewritten(word, arch, Path(folder, str(k))) for k, word in enumerate(words)]
        try:
            return subprocess.run([real, *passed], check=False).returncode
        except OSError as refusal:
            print(f"error: {real} cannot be run: {refusal.strerror}", file=sys.stderr)
            return EXIT_NOT_FOUND


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


def target(words: list[str]) -> str:
    """What `-arch` says, as `sm_NN`; empty without one."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, _, value = word.partition("=")
        if name in ARCH_OPTIONS:
            return value or following
    return ""


def rewritten(word: str, arch: str, folder: Path) -> str:
    """The path of a rewritten file for the path of a PTX file; other words, and files that stay, as they are."""
    if not word.endswith(".ptx") or not os.path.isfile(word):
        return word
    from click import ClickException

    from drawloom.cli.shuffle import command
    from drawloom.errors import Error

    folder.mkdir()
    to = folder / Path(word).name
    message = f"{OPTIONS} has it write nothing"
    try:
        options = [*(["--arch", arch] if arch else []), *given_options()]
        command.main([word, *options, "-o", str(to)], standalone_mode=False)
        if to.is_file():
            return str(to)
    except ClickException as refusal:
        message = refusal.format_message()
    except Error as refusal:
        message = str(refusal)
    print(f"warning: drawloom-ptxas leaves {word} as it is: {message}", file=sys.stderr)
    return word


def given_options() -> list[str]:
    """What the environment asks for. Raises UsageError for quotes that do not end."""
    try:
        return shlex.split(os.environ.get(OPTIONS, ""))
    except ValueError as refusal:
        from click import UsageError

        raise UsageError(f"{OPTIONS}: {refusal}") from None


if __name__ == "__main__":
    main()
