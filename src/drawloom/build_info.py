"""The version, and whether this installation's compile path is compiled C or plain Python.

Imports nothing heavy: `drawloom --version` reads only this file.
"""

import os
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
