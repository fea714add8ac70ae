"""Reads the headers of generated C once, for all compilations of a run, by the C compiler's precompiled headers."""

from collections.abc import Sequence
from pathlib import Path

from drawloom.cuda.clang import run


def precompile(folder: Path, name: str, includes: Sequence[str], command: Sequence[str]) -> tuple[str, ...]:
    """Precompile headers for gcc or clang.

    Args:
        folder: Where the precompiled header stays as long as it is used.
        name: The name of its file.
        includes: The lines that include headers. Sources may include the headers again, which costs nothing.
        command: The compiler with the options of the compilations to come.

    Returns:
        The options with which compilations use it. gcc reads the headers anew where the others differ; clang refuses.
    """
    header = folder / f"{name}.h"
    header.write_text("\n".join(includes) + "\n")
    # Both compilers look for a file of this name.
    run([*command, "-x", "c-header", str(header), "-o", f"{header}.gch"], [])
    return "-include", str(header)
