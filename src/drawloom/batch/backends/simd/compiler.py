"""C text to a function of this process: gcc where PATH has it, else the clang that `drawloom.cuda` finds.

DRAWLOOM_CC is the command of another compiler.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from drawloom.batch.backends.simd.isa import Isa
from drawloom.cuda.clang import find_clang, run

#: gcc would fuse products and sums, and call functions of the C library by other names.
OPTIONS: Final = ("-std=gnu11", "-O2", "-ffp-contract=off", "-fno-builtin", "-fPIC", "-shared")


def find_c_compiler() -> tuple[str, ...]:
    """Return the command of a C compiler.

    Raises:
        UnsupportedError: There is none; the error says what to install.
    """
    chosen = os.environ.get("DRAWLOOM_CC", "")
    if chosen:
        return tuple(shlex.split(chosen))
    gcc = shutil.which("gcc")
    return (gcc,) if gcc is not None else find_clang().c


def command_for(isa: Isa, *options: str) -> list[str]:
    """Return the command of a compilation for an instruction set; more of the compiler's options win.

    Raises:
        UnsupportedError: There is no C compiler.
    """
    return [*find_c_compiler(), *OPTIONS, f"-march={isa.march}", *options]


def load_c(text: str, isa: Isa, *options: str) -> ctypes.CDLL:
    """Compile C for an instruction set and load it.

    Args:
        text: The source of a shared library.
        isa: What the compiler may use.
        options: More of the compiler's options, which win.

    Raises:
        UnsupportedError: There is no C compiler.
        CompileError: The compiler refuses the text.
    """
    return load_by(command_for(isa, *options), text)


def load_by(command: Sequence[str], text: str) -> ctypes.CDLL:
    """Compile C by the command of a compiler, as `command_for` returns them, and load it.

    Raises:
        CompileError: The compiler refuses the text.
    """
    with tempfile.TemporaryDirectory(prefix="drawloom-batch-") as folder:
        source, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        source.write_text(text, encoding="utf-8")
        run([*command, str(source), "-lm", "-o", str(library)], [])
        # The file may go once it is loaded: the process keeps its pages.
        return ctypes.CDLL(str(library))
