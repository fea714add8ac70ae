"""The read-modify-write operations of ``atom`` and ``red`` (PTX ISA 9.0 section 9.7.13) on bit patterns."""

from __future__ import annotations

from drawloom.ptx.isa import Opcode
from drawloom.reference.floats import Semantics, add, maximum, minimum, per_lane
from drawloom.reference.formats import F32, format_of
from drawloom.reference.integers import reader


def read_modify_write(op: Opcode, space: str) -> Semantics:
    """A function of the old value and the operands to the new value.

    ``space`` is where the address points: ``add.f32`` flushes subnormals in global memory, not in shared.
    """
    type = op.type
    assert type is not None
    mask = (1 << type.bits) - 1
    number = reader(type)
    operation = op.operation
    if operation == "add" and type.is_float:
        f = format_of(type)
        if f is F32 and space == "global":
            return lambda old, b: f.flush(add(f, f.flush(old), f.flush(b)))
        return per_lane(type, lambda old, b: add(f, old, b))
    if operation in ("min", "max") and type.is_float:
        f = format_of(type)
        select = minimum if operation == "min" else maximum
        return per_lane(type, lambda old, b: select(f, old, b))
    table: dict[str, Semantics] = {
        "and": lambda old, b: old & b,
        "or": lambda old, b: old | b,
        "xor": lambda old, b: old ^ b,
        "exch": lambda old, b: b + 0,
        "cas": lambda old, b, c: c + 0 if old - b == 0 else old,
        "add": lambda old, b: old + b & mask,
        "inc": lambda old, b: 0 if old >= b else old + 1,
        "dec": lambda old, b: b if old == 0 or old > b else old - 1,
        "min": lambda old, b: b if number(b) < number(old) else old,
        "max": lambda old, b: b if number(b) > number(old) else old,
    }
    return table[operation]
