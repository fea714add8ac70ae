"""Code that checks accesses, for a program that was built without it: from the PTX that the program has embedded to a
shared library, when the program is run with DRAWLOOM_CHECK (`runtime_library/checked_code.cpp`).
"""

import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from drawloom.build_info import VERSION, fingerprint
from drawloom.cuda.clang import HEADERS, find_clang, run
from drawloom.errors import UnsupportedError
from drawloom.runtime.ahead import checked_objects, interface, target_key
from drawloom.runtime.cache import cache_key, kernel_store

#: Seconds after which somebody who waits is told for what.
PATIENCE_SECONDS: Final = 1.0


def checked_library(ptx: str, level: str, asked: str) -> bytes:
    """The shared library for a program's PTX and CPUs of a level of x86-64, from the cache or new. `asked` is the
    interface that the program's runtime library was compiled with.

    Raises UnsupportedError for a program of another version of ours and for an unknown level, CompileError where the
    library cannot be linked.
    """
    store = kernel_store()
    key = cache_key("checked", VERSION, fingerprint("cpu"), fingerprint("ptx"), target_key(level), asked, ptx)
    found = None if store is None else store.get(key)
    if found is not None:
        return found
    if asked != interface():
        raise UnsupportedError(
            f"the program was built by another version of Drawloom than {VERSION}\n"
            "  build it again, or name the command of that version in DRAWLOOM"
        )
    made = compiled(ptx, level, store is not None)
    if store is not None:
        store.put(key, made)
    return made


def compiled(ptx: str, level: str, is_kept: bool) -> bytes:
    """`checked_library` without the cache. Whoever waits long is told what is compiled, and whether `is_kept`."""
    from drawloom.cuda.library import LIBRARIES
    from drawloom.ptx.lines import source_lines
    from drawloom.ptx.parser import parse

    module = parse(ptx, "PTX of the program")
    files = [file for file in source_lines(module, "")[0] if not file.startswith(str(HEADERS))]
    end = ", which the kernel cache keeps" if is_kept else ""
    message = f"drawloom: compiling the code of {files[0] if files else 'kernels'} that checks accesses{end}"
    notice = threading.Timer(PATIENCE_SECONDS, print, [message], {"file": sys.stderr, "flush": True})
    notice.daemon = True
    notice.start()
    try:
        with TemporaryDirectory(prefix="drawloom-") as temporary:
            folder = Path(temporary)
            objects: list[str] = []
            for number, code in enumerate(checked_objects(module, level, str(HEADERS))):
                objects.append(str(folder / f"{number}.o"))
                Path(objects[-1]).write_bytes(code)
            out = folder / "checked.so"
            run([*find_clang().c, "-shared", *objects, *LIBRARIES, "-o", str(out)], [])
            return out.read_bytes()
    finally:
        notice.cancel()


__all__ = ["checked_library"]
