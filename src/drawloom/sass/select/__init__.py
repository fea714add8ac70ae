"""Instruction selection, a file for each family of PTX instructions; importing it fills the table of handlers."""

from __future__ import annotations

from drawloom.sass.select import compare, control, floats, integer, memory, moves
from drawloom.sass.select.selector import Selector

__all__ = ["Selector", "compare", "control", "floats", "integer", "memory", "moves"]
