"""How much of `drawloom.optimize` stands before a device's compiler, and when it is done: where machine code has to be
made, never where that is in the kernel cache.
"""

import os
import threading
from typing import Final

from drawloom.build_info import fingerprint
from drawloom.errors import DataError
from drawloom.ptx.ir import Function, Module
from drawloom.ptx.layout import reachable_functions

DEFAULT_LEVEL: Final = 2


def chosen_level(level: int | None, default: int = DEFAULT_LEVEL) -> int:
    """0 to 3; None takes DRAWLOOM_OPT, else the default. Raises DataError for anything else."""
    text = os.environ.get("DRAWLOOM_OPT") or str(default) if level is None else str(level)
    if text not in ("0", "1", "2", "3"):
        raise DataError(f"level={text} of optimisation: expected 0 to 3")
    return int(text)


class Optimiser:
    """The passes of a level over one module, each function once, when something that reaches it is
    compiled.

    `key` names the level and the passes' code, for what is kept of what they make.
    """

    def __init__(self, module: Module, level: int) -> None:
        self.module = module
        self.level = level
        self._changed: dict[str, Function] = {}
        self._lock = threading.Lock()

    @property
    def key(self) -> str:
        return f"{self.level} {fingerprint('opt')}" if self.level else ""

    def reached_from(self, kernel: str) -> Module:
        """The module with a kernel, and what that may call, optimised."""
        entry = self.module.functions.get(kernel)
        return self._with([] if entry is None else reachable_functions(self.module, entry))

    def whole(self) -> Module:
        """The module with every function optimised."""
        return self._with(list(self.module.functions.values()))

    def _with(self, functions: list[Function]) -> Module:
        if not self.level:
            return self.module
        from drawloom.opt import LEVELS, optimize

        passes = list(LEVELS[self.level])
        with self._lock:
            names = [f.name for f in functions if f.has_body and f.name not in self._changed]
            made = optimize(self.module, passes=passes, functions=frozenset(names))
            self._changed.update({name: made.functions[name] for name in names})
            return self.module.with_functions(self._changed)
