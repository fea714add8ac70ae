"""From the words of a command line to the file of the subcommand they name.

A subcommand is the file `cli/<name>.py` with a click command called `command`; it is imported only when it
is asked for, so that `drawloom --version` and a refused command line cost no more than starting Python.
"""

import errno
import io
import os
import sys
from importlib import import_module
from typing import Final

import click

from drawloom.build_info import VERSION, build_kind
from drawloom.errors import Error

# In the order of `drawloom --help`; the line is shown there, so that help imports no subcommand.
SUBCOMMANDS: Final[dict[str, str]] = {
    "run": "Run a kernel of PTX, CUDA C++ or OpenCL C, or a HorseIR program.",
    "sql": "Run a SQL query over Parquet and CSV files on a device.",
    "tpch": "Run the TPC-H queries, and compare with DuckDB.",
    "cc": "Compile CUDA programs that run on a GPU or on the CPU.",
    "explain": "Show a query after each stage, or draw its kernels.",
    "lift": "Compile a Lift program, or show it after a stage.",
    "batch": "Show a kernel for batches of small problems compiled.",
    "build": "Compile CUDA C++ or OpenCL C to PTX or machine code.",
    "as": "Assemble PTX to a cubin.",
    "opt": "Optimise PTX.",
    "shuffle": "Rewrite loads of PTX as warp shuffles.",
    "trace": "Show what the kernels of PTX read and write.",
    "disasm": "Disassemble the machine code of a cubin.",
    "devices": "List the devices of this machine.",
    "cache": "Show or clear the cache of compiled kernels.",
}

#: Commands that programs call; help does not list them.
HIDDEN: Final = ("checked",)
#: Commands whose file cannot have their name.
FILES: Final[dict[str, str]] = {"as": "assemble"}

EXIT_REFUSED: Final = 1
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells report it
OUTPUT_ERRORS: Final = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF)


class LazyGroup(click.Group):
    """A group whose commands are files of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        folder = os.path.dirname(__file__)
        return [name for name in SUBCOMMANDS if os.path.isfile(os.path.join(folder, FILES.get(name, name) + ".py"))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in (*self.list_commands(ctx), *HIDDEN):
            return None
        command = import_module("drawloom.cli." + FILES.get(cmd_name, cmd_name)).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Add to the refusal of an unknown command the ones that are spelt most like it."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as refusal:
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.list_commands(ctx))
            if not close:
                raise
            raise click.UsageError(f"{refusal.message} Did you mean {' or '.join(close)}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, SUBCOMMANDS[name]) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, message=f"drawloom {VERSION} ({build_kind()})")
def cli() -> None:
    """Drawloom runs data-parallel programs, from SQL down to PTX, on a GPU or on this machine's CPU."""


def main() -> None:
    """The console script. Exits 0, 1 for a refusal, 2 for a wrong command line, 130 when interrupted."""
    replace_closed_streams()
    buffer_standard_output()
    try:
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as refusal:
        refusal.show()
        sys.exit(refusal.exit_code)
    except Error as refusal:
        print(f"error: {readable(str(refusal))}", file=sys.stderr)
        sys.exit(EXIT_REFUSED)
    except MemoryError as failure:
        print(f"error: there is too little memory{f': {failure}' if str(failure) else ''}", file=sys.stderr)
        sys.exit(EXIT_REFUSED)
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader went away, as `| head` does. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_REFUSED)
    except OSError as failure:
        # Results that standard output does not take, as on a full disk; files have errors of their own.
        if failure.errno not in OUTPUT_ERRORS:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: cannot write the output: {failure.strerror}", file=sys.stderr)
        sys.exit(EXIT_REFUSED)
    sys.exit(status if isinstance(status, int) else 0)


def replace_closed_streams() -> None:
    """Open streams that the shell closed (``>&-``): standard output as one that takes nothing, so that output is an
    error and not lost, and standard error as one that drops everything."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def buffer_standard_output() -> None:
    """Give standard output a buffer, which Python leaves out under ``-u`` and PYTHONUNBUFFERED: only a buffer goes on
    after the system has taken a part of a write, and so finds that a disk is full."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), sys.stdout.encoding, sys.stdout.errors, line_buffering=True
        )


def readable(text: str) -> str:
    """Text in which bytes of a file that are no UTF-8 are shown as ``\\xe9``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


if __name__ == "__main__":
    main()
