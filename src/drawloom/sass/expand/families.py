"""Which file knows the sequence of an opcode, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.sass.expand import double_division, float_division, integer_division, square_roots, transcendental
from drawloom.sass.expand.rules import Rule


def _divide(opcode: Opcode, target: int) -> Rule | None:
    assert opcode.type is not None
    if opcode.type.name == "f64":
        return double_division.divide(opcode)
    if opcode.type.name == "f32":
        return float_division.divide(opcode)
    return integer_division.divide(opcode)


def _reciprocal(opcode: Opcode, target: int) -> Rule | None:
    assert opcode.type is not None
    return double_division.reciprocal(opcode) if opcode.type.name == "f64" else float_division.reciprocal(opcode)


_FAMILIES: Final[dict[str, Callable[[Opcode, int], Rule | None]]] = {
    "div": _divide,
    "rem": _divide,
    "rcp": _reciprocal,
    "sqrt": square_roots.square_root,
    "rsqrt": square_roots.reciprocal_root,
    "lg2": transcendental.logarithm,
    "ex2": transcendental.power,
    "tanh": transcendental.tangent,
}


def family(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``opcode`` on sm_``target``, or None where the selector takes it as it is."""
    found = _FAMILIES.get(opcode.name)
    return None if found is None else found(opcode, target)
