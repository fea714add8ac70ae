"""PTX to PTX: loads whose value a neighbouring lane has loaded become warp shuffles (seed 003).

The room itself can be called: ``drawloom.shuffle(module)``. Names are loaded when they are first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from drawloom.shuffle.pipeline import Shuffled as Shuffled
    from drawloom.shuffle.pipeline import shuffle as shuffle

# Public name -> the module that defines it.
LAZY_NAMES: Final[dict[str, str]] = {"Shuffled": "pipeline", "shuffle": "pipeline"}


def __getattr__(name: str) -> object:
    if name not in LAZY_NAMES:
        raise AttributeError(f"module 'drawloom.shuffle' has no attribute '{name}'")
    value: object = getattr(import_module("drawloom.shuffle." + LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES})


class _Room(ModuleType):
    """The module object of this room."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("drawloom.shuffle.pipeline").shuffle(*arguments, **options)


sys.modules[__name__].__class__ = _Room
