"""SQL text to answers: DataFusion plans it, HorseIR says it, PTX kernels compute it.

Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from drawloom.runtime.allocators import import_arrow

if TYPE_CHECKING:
    from drawloom.sql.connection import Connection as Connection
    from drawloom.sql.connection import connect as connect
    from drawloom.sql.relation import Relation as Relation

import_arrow()

# Public name -> the module that defines it.
LAZY_NAMES: Final[dict[str, str]] = {"Connection": "connection", "Relation": "relation", "connect": "connection"}


def __getattr__(name: str) -> object:
    if name not in LAZY_NAMES:
        raise AttributeError(f"module 'drawloom.sql' has no attribute '{name}'")
    value: object = getattr(import_module("drawloom.sql." + LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES})
