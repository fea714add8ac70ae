"""Instruction selection, a file for each family of PTX instructions; importing it fills the table of handlers."""

from __future__ import annotations

from drawloom.ptx.ir import Function, Module
from drawloom.sass.select import (
    atomics,
    barriers,
    bits,
    calls,
    compare,
    control,
    convert,
    floats,
    half,
    integer,
    memory,
    moves,
    policies,
    products,
    spaces,
    specials,
    stack,
    warp,
)
from drawloom.sass.select.pascal import PascalSelector
from drawloom.sass.select.selector import Selector
from drawloom.sass.variables import Variables


def make_selector(
    module: Module, function: Function, number: int, variables: Variables | None = None,
    kernel: Function | None = None, leaves_file: bool = False,
) -> Selector:  # fmt: skip
    """The selector of one function for sm_``number``; what it reads of ``variables`` is noted there. ``kernel`` and
    ``leaves_file`` as for `Selector`."""
    if number == 61:
        return PascalSelector(module, function, number, variables)
    return Selector(module, function, number, variables, kernel, leaves_file)


__all__ = [
    "Selector",
    "atomics",
    "barriers",
    "bits",
    "calls",
    "compare",
    "control",
    "convert",
    "floats",
    "half",
    "integer",
    "make_selector",
    "memory",
    "moves",
    "policies",
    "products",
    "spaces",
    "specials",
    "stack",
    "warp",
]
