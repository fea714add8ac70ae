"""Instruction selection, a file for each family of PTX instructions; importing it fills the table of handlers."""

from __future__ import annotations

from drawloom.sass.select import (
    atomics,
    barriers,
    bits,
    compare,
    control,
    convert,
    floats,
    half,
    integer,
    memory,
    moves,
    products,
    spaces,
    specials,
    warp,
)
from drawloom.sass.select.selector import Selector

__all__ = [
    "Selector",
    "atomics",
    "barriers",
    "bits",
    "compare",
    "control",
    "convert",
    "floats",
    "half",
    "integer",
    "memory",
    "moves",
    "products",
    "spaces",
    "specials",
    "warp",
]
