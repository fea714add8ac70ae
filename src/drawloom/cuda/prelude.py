"""What every source begins with, read once: from the headers of `-include` to clang's precompiled header, which the
cache of compiled kernels keeps. Reading the headers anew takes longer than compiling most programs.
"""

import os
from functools import cache
from itertools import pairwise
from typing import Final

from drawloom.build_info import VERSION
from drawloom.cuda.clang import HEADERS, Clang, CompileError
from drawloom.cuda.launches import join_launches, rename_shadowing_classes
from drawloom.runtime.cache import cache_key, kernel_store

CUDA: Final = ("-include", "cuda_runtime.h")
OPENCL: Final = ("-include", "drawloom/opencl.h")
#: Macros of the host's headers; all others in a reserved name are taken for such.
_OF_HEADERS: Final = ("NDEBUG",)
RULE: Final = "-dependency-file"
_DEVICE_OF_FILES: Final = "/dev/fd"
ENCODING: Final = ("utf-8", "surrogateescape")


def cc1(clang: Clang, arguments: list[str], own: list[str], text: str | None = None) -> tuple[bytes, str]:
    """Run `clang -cc1` with `arguments` on a CUDA source; `own` are words that only this source has: first what to
    make, then its macros and folders, and last the file. The output and errors are those of `Clang.cc1`."""
    try:
        return read_once(clang, arguments, own, text, CUDA)
    except CompileError:
        # With a precompiled header clang would preprocess the source that it was made of, which is gone.
        preprocessed, _ = clang.cc1([*arguments, *CUDA, "-E", *own[1:-1], "-o", "-", own[-1]], text)
        joined = join_launches(preprocessed.decode(*ENCODING))
        if joined is None:
            raise
        text = rename_shadowing_classes(joined)
        return clang.cc1([*arguments, *without_rule(own[:-1]), "-x", "cuda-cpp-output", "-"], text)


def read_once(
    clang: Clang, arguments: list[str], own: list[str], text: str | None, prelude: tuple[str, ...]
) -> tuple[bytes, str]:
    """Run `clang -cc1` as `cc1` does, on a source behind a prelude that clang reads as it is."""
    read = None if asks_of_headers(own) else precompiled(clang, arguments, prelude)
    if read is not None:
        handle = os.memfd_create("drawloom")
        place = f"{_DEVICE_OF_FILES}/{handle}"
        try:
            with open(handle, "wb", closefd=False) as file:
                file.write(read)
            return clang.cc1([*arguments, "-include-pch", place, *own], text, (handle,))
        except CompileError as refusal:
            if place not in refusal.diagnostics:
                raise
            # A header of the host's is another since.
        finally:
            os.close(handle)
    return clang.cc1([*arguments, *prelude, *own], text)


def without_rule(own: list[str]) -> list[str]:
    """Words without the make rule that is to be written: preprocessed text includes nothing any more."""
    if RULE not in own:
        return own
    at = own.index(RULE)
    return own[:at] + own[at + 2 :]


def asks_of_headers(own: list[str]) -> bool:
    """Whether a macro among the words may change what the headers say."""
    names = [word.partition("=")[0] for option, word in pairwise(own) if option in ("-D", "-U")]
    return any(name.startswith("_") or name in _OF_HEADERS for name in names)


def precompiled(clang: Clang, arguments: list[str], prelude: tuple[str, ...]) -> bytes | None:
    """The prelude as clang reads it with these arguments; None without a cache, or where it cannot be read apart."""
    store = kernel_store()
    if store is None or not hasattr(os, "memfd_create") or not os.path.isdir(_DEVICE_OF_FILES):
        return None
    key = cache_key("prelude", VERSION, str(clang), *prelude, *arguments, *states(clang.command[0], tuple(arguments)))
    found = store.get(key)
    if found is None:
        try:
            found, _ = clang.cc1([*arguments, *prelude, "-emit-pch", "-o", "-", "-"], "")
        except CompileError:
            return None  # whoever includes the headers is told
        store.put(key, found)
    return found


def states(clang: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """What changes when clang, one of our headers, or a folder of the host's does."""
    folders = [word for word in arguments if os.path.isdir(word)]
    return (*(state_of(path) for path in (clang, *folders)), *states_of_headers())


@cache
def states_of_headers() -> tuple[str, ...]:
    return tuple(state_of(path) for path in sorted(str(path) for path in HEADERS.rglob("*.h")))


def state_of(path: str) -> str:
    status = os.stat(path)
    return f"{path} {status.st_mtime_ns} {status.st_size}"


__all__ = ["CUDA", "OPENCL", "cc1", "read_once"]
