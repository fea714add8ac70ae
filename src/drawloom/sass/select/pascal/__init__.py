"""Instruction selection for sm_61: what differs from the files beside this folder."""

from __future__ import annotations

from drawloom.sass.select.pascal import bits, calls, floats, integer, memory, spelling
from drawloom.sass.select.pascal.selector import PASCAL_HANDLERS, PascalSelector
from drawloom.sass.select.selector import HANDLERS

for name in HANDLERS:
    PASCAL_HANDLERS.setdefault(name, HANDLERS[name])

__all__ = ["PascalSelector", "bits", "calls", "floats", "integer", "memory", "spelling"]
