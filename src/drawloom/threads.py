"""Starts threads, and interrupts them, never both at once.

Until a thread runs, CPython has it under the number of the one that starts it (3.11, ``_PyThreadState_Init``): an
exception that is sent to the latter would end the newcomer, for which the other would then wait for ever.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable

_changing = threading.Lock()


def start(work: Callable[[], None], name: str, stack_bytes: int = 0) -> threading.Thread:
    """A thread for work that the process does not wait for when it ends; ``stack_bytes`` 0 is the system's size."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    with _changing:
        before = threading.stack_size(stack_bytes)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


def interrupt(thread: threading.Thread) -> None:
    """Raises KeyboardInterrupt in a thread with its next step, which comes behind the call that it is in."""
    with _changing:
        number = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(KeyboardInterrupt))


def _forget() -> None:
    global _changing
    _changing = threading.Lock()  # a thread that the forked child does not have may hold the other


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
