"""Which file knows the sequence of an opcode, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.isa_selectors import FIELDS
from drawloom.sass.expand.conversions import convert
from drawloom.sass.expand.double_division import divide as divide_doubles
from drawloom.sass.expand.double_division import reciprocal as reciprocal_of_double
from drawloom.sass.expand.float_division import divide as divide_floats
from drawloom.sass.expand.float_division import reciprocal as reciprocal_of_float
from drawloom.sass.expand.integer_division import divide as divide_integers
from drawloom.sass.expand.policies import policy_of_range
from drawloom.sass.expand.rules import Rule
from drawloom.sass.expand.square_roots import reciprocal_root, square_root
from drawloom.sass.expand.transcendental import logarithm, power, tangent
from drawloom.sass.expand.video import video


def _divide(opcode: Opcode, target: int) -> Rule | None:
    assert opcode.type is not None
    if opcode.type.name == "f64":
        return divide_doubles(opcode)
    return divide_floats(opcode) if opcode.type.name == "f32" else divide_integers(opcode)


def _reciprocal(opcode: Opcode, target: int) -> Rule | None:
    assert opcode.type is not None
    return reciprocal_of_double(opcode) if opcode.type.name == "f64" else reciprocal_of_float(opcode)


def _convert(opcode: Opcode, target: int) -> Rule | None:
    """From sm_75 on the selector has shorter sequences than PTX can say."""
    return convert(opcode, target) if target == 61 else None


def _video(opcode: Opcode, target: int) -> Rule | None:
    return video(opcode)


_FAMILIES: Final[dict[str, Callable[[Opcode, int], Rule | None]]] = {
    "div": _divide, "rem": _divide, "rcp": _reciprocal, "sqrt": square_root, "rsqrt": reciprocal_root,
    "lg2": logarithm, "ex2": power, "tanh": tangent, "cvt": _convert, "createpolicy.range": policy_of_range,
    **dict.fromkeys(FIELDS, _video),
}  # fmt: skip


def family(opcode: Opcode, target: int) -> Rule | None:
    """The rule for ``opcode`` on sm_``target``, or None where the selector takes it as it is."""
    found = _FAMILIES.get(opcode.name)
    return None if found is None else found(opcode, target)
