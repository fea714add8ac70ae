"""Instruction selection, a file for each family of PTX instructions; importing it fills the table of handlers."""

from __future__ import annotations

from drawloom.ptx.ir import Function, Module
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
from drawloom.sass.select.pascal import PascalSelector
from drawloom.sass.select.selector import Selector
from drawloom.sass.variables import Variables


def make_selector(module: Module, function: Function, number: int, variables: Variables | None = None) -> Selector:
    """The selector of one function for sm_``number``; what it reads of ``variables`` is noted there."""
    kind = PascalSelector if number == 61 else Selector
    return kind(module, function, number, variables)


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
    "make_selector",
    "memory",
    "moves",
    "products",
    "spaces",
    "specials",
    "warp",
]
