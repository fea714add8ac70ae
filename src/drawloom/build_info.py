"""The version, and whether this installation's compile path is compiled C or plain Python.

Imports nothing heavy: `drawloom --version` reads only this file.
"""

import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Final

VERSION: Final = "0.1.0"


def is_compiled() -> bool:
    """True when the compile path of this installation is extension modules made by mypyc."""
    room = os.path.join(os.path.dirname(__file__), "ptx")
    if not os.path.isdir(room):
        return False
    return any(name.endswith(tuple(EXTENSION_SUFFIXES)) for name in os.listdir(room))


def build_kind() -> str:
    """ "compiled" or "plain"."""
    return "compiled" if is_compiled() else "plain"


@cache
def fingerprint(*rooms: str) -> str:
    """Changes with the code of some rooms: the sizes and times of their files. What they make can be told by it from
    what they made before they were changed."""
    from hashlib import sha256

    entries: list[str] = []
    folders = [os.path.join(os.path.dirname(__file__), room) for room in rooms]
    while folders:
        with os.scandir(folders.pop()) as found:
            for entry in found:
                if entry.is_dir():
                    folders.append(entry.path)
                elif not entry.name.endswith(".pyc"):
                    status = entry.stat()
                    entries.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
    return sha256("\n".join(sorted(entries)).encode()).hexdigest()
