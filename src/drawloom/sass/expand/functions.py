"""The functions that sequences call on their rare paths: made when a module first needs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.ir import Function
from drawloom.ptx.template import copy_function, parse_function
from drawloom.sass.expand.double_division import FUNCTIONS as DOUBLE_DIVISIONS
from drawloom.sass.expand.float_division import FUNCTIONS as FLOAT_DIVISIONS
from drawloom.sass.expand.integer_division import FUNCTIONS as INTEGER_DIVISIONS
from drawloom.sass.expand.square_roots import FUNCTIONS as SQUARE_ROOTS

#: What makes the text of a function, by the beginning of its name: ``$div_rn_f32`` is ``("rn", "f32")`` of ``$div``.
_MAKERS: Final[dict[str, Callable[[str], str]]] = {
    **INTEGER_DIVISIONS,
    **FLOAT_DIVISIONS,
    **DOUBLE_DIVISIONS,
    **SQUARE_ROOTS,
}
_parsed: Final[dict[str, Function]] = {}


def helper(name: str, called: str) -> Function:
    """A copy of the function ``name`` that is called ``called``."""
    known = _parsed.get(name)
    if known is None:
        known = _parsed[name] = parse_function(_MAKERS[name](name))
    copy = copy_function(known)
    copy.name = called
    return copy
