"""Which LLVM element type each operand of a pure opcode has when it reaches, or leaves, an emitting function.

Float types of 32 and 64 bits are ``float`` and ``double``; predicates ``i1``; everything else, packed and
16-bit floats included, an integer of its PTX width (``f16`` is ``i16``, ``f16x2`` is ``i32``).
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.isa import Form, Opcode
from drawloom.ptx.types import TYPES, Type

_WIDTH: Final[dict[int, str]] = {1: "i1", 8: "i8", 16: "i16", 32: "i32", 64: "i64", 128: "i128"}


def elem_of(type: Type) -> str:
    """The LLVM element type that carries a value of PTX ``type``."""
    if type.name == "f32":
        return "float"
    if type.name == "f64":
        return "double"
    return _WIDTH[type.bits]


def operand_elems(opcode: Opcode, form: Form) -> tuple[list[str], list[str]]:
    """``(results, arguments)``: LLVM element types by operand, optional operands included.

    ``results`` has a second entry for forms that may have a second, predicate destination (``setp``, ``lop3``);
    an emitting function returns both whether or not the instruction names the second. The carry flag stands in
    neither list: it is an ``i1`` appended to the arguments when ``opcode.reads_carry`` and to the results when
    ``opcode.writes_carry``. Raises ``KeyError`` for an operand word that no pure form has.
    """
    results: list[str] = []
    arguments: list[str] = []
    for word in form.operands:
        bare = word.rstrip("?").rstrip(">").lstrip("!").replace("_", "")
        if bare.startswith("="):
            for part in bare[1:].replace("&", "|").split("|"):
                results.append(_elem(part, opcode))
        else:
            arguments.append(_elem(bare, opcode))
    return results, arguments


def _elem(word: str, opcode: Opcode) -> str:
    if word in ("t", "r"):
        return elem_of(opcode.types[0])
    if word == "t1":
        return elem_of(opcode.types[1])
    if word == "w":
        return _WIDTH[opcode.types[0].bits * 2]
    if word in ("c", "acc", "i"):
        return "i32"
    if word == "p":
        return "i1"
    return elem_of(TYPES[word])
