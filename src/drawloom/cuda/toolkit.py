"""A folder that Makefiles take for a CUDA toolkit: `bin/nvcc`, `include`, and in `lib64` the libraries for links by the
host's own compiler.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from drawloom.cuda.clang import HEADERS, Clang, find_clang, run
from drawloom.cuda.library import LIBRARIES, library_objects
from drawloom.cuda.programs import finish
from drawloom.errors import DataError, UnsupportedError

ARCHIVE: Final = "libcudart_static.a"
#: Texts that the linker reads in place of libraries. The runtime library is C++, which a link by `gcc` does not know.
SCRIPTS: Final = {
    "libcudart.so": f"INPUT(-lcudart_static -lstdc++ {' '.join(LIBRARIES)})\n",
    "libcuda.so": "/* The runtime library looks for the driver when a program runs. */\n",
    "libcudadevrt.a": "/* Device code is complete in each object file. */\n",
}


def write_toolkit(folder: Path, level: str) -> None:
    """Write a toolkit whose `nvcc` is `drawloom cc`, and whose runtime library is for CPUs of `level` of x86-64.

    Raises DataError where the folder cannot be written, UnsupportedError without `ar`, CompileError as
    `library_objects`.
    """
    clang = find_clang()
    try:
        for name in ("bin", "lib64"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, target in (("include", HEADERS), ("lib", Path("lib64"))):
            if not os.path.lexists(folder / name):
                (folder / name).symlink_to(target)
    except OSError as failure:
        raise DataError(f"cannot write {folder}: {failure.strerror}; expected a folder for a toolkit") from failure
    with TemporaryDirectory(prefix="drawloom-") as temporary:
        made = Path(temporary)
        for name, text in SCRIPTS.items():
            (made / name).write_text(text)
            finish(made / name, str(folder / "lib64" / name))
        objects = library_objects(clang, level, made)
        run([*archiver(clang), "rcs", str(made / ARCHIVE), *(str(path) for path in objects)], [])
        finish(made / ARCHIVE, str(folder / "lib64" / ARCHIVE))
        nvcc = made / "nvcc"
        nvcc.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m drawloom.cli.main cc "$@"\n')
        nvcc.chmod(0o755)
        finish(nvcc, str(folder / "bin" / "nvcc"))


def archiver(clang: Clang) -> list[str]:
    """Return the command that makes archives of object files. Raises UnsupportedError."""
    found = shutil.which("ar")
    if found is None and not clang.bundled:
        raise UnsupportedError("no 'ar' on PATH: expected the binutils of the system, or ziglang")
    return [found] if found is not None else [clang.command[0], "ar"]


__all__ = ["write_toolkit"]
