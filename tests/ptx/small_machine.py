"""One thread of a small PTX subset, for tests of passes: mov, add, mul.lo, setp.lt, selp, st, branches, leaving."""

from __future__ import annotations

from drawloom.ptx.ir import (
    Address,
    BranchTargets,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Operand,
    Register,
    SpecialRegister,
)

#: What a thread stores, in order, and whether it came to an end.
Trace = tuple[list[int], bool]


def run(
    function: Function, start: dict[str, int], most_steps: int = 300, most_stores: int = 12, lane: int = 0
) -> Trace:
    """Runs the body with registers set by name (others read 0) until it ends or one of the limits is reached.

    Every special register reads ``lane``.
    """
    labels = {s.name: i for i, s in enumerate(function.body) if isinstance(s, Label)}
    tables = {s.name: s.labels for s in function.body if isinstance(s, BranchTargets)}
    registers = [start.get(r.name, 0) for r in function.registers]

    def read(operand: Operand) -> int:
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, SpecialRegister):
            return lane
        assert isinstance(operand, Register)
        return registers[operand.id]

    stores: list[int] = []
    at = 0
    for _ in range(most_steps):
        if at >= len(function.body):
            return stores, True
        statement = function.body[at]
        at += 1
        if not isinstance(statement, Instruction):
            continue
        if statement.guard is not None and (registers[statement.guard.id] != 0) == statement.guard_negated:
            continue
        name, operands = statement.opcode.name, statement.operands
        if name == "bra":
            assert isinstance(operands[0], LabelRef)
            at = labels[operands[0].name]
        elif name == "brx.idx":
            assert isinstance(operands[1], LabelRef)
            table = tables[operands[1].name]
            at = labels[table[read(operands[0]) % len(table)]]
        elif name in ("exit", "ret"):
            return stores, True
        elif name == "st":
            assert isinstance(operands[0], Address)
            stores.append(read(operands[1]))
            if len(stores) == most_stores:
                return stores, False
        else:
            assert isinstance(operands[0], Register)
            registers[operands[0].id] = compute(name, [read(o) for o in operands[1:]])
    return stores, False


def compute(name: str, values: list[int]) -> int:
    if name == "mov":
        return values[0] & 0xFFFFFFFF
    if name == "add":
        return values[0] + values[1] & 0xFFFFFFFF
    if name == "mul":
        return values[0] * values[1] & 0xFFFFFFFF
    if name == "setp":
        return int(values[0] < values[1])
    assert name == "selp", name
    return values[0] if values[2] else values[1]
