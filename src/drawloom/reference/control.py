"""Control flow and barriers to handlers (PTX ISA 9.0 sections 9.7.12, 9.7.13.1 and 9.7.19)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import (
    Arguments,
    BranchTargets,
    Function,
    Immediate,
    Instruction,
    LabelRef,
    Operand,
    Register,
    Symbol,
    Variable,
)
from drawloom.ptx.types import PRED, U32, U64
from drawloom.reference.decode import Builder, Decoder, frame_layout
from drawloom.reference.memory import Fault
from drawloom.reference.runtime_functions import RUNTIME_FUNCTIONS
from drawloom.reference.threads import DONE, FRAME, YIELD, Code, Frame, Handler, Reduction, Registers, Thread


def leave_function(r: Registers, t: Thread) -> int:
    """``ret``, and what stands behind the last instruction; from the kernel itself it is ``exit``."""
    if len(t.frames) == 1:
        return DONE
    t.pop()
    return FRAME


def _ret(d: Decoder, i: Instruction) -> Handler:
    return leave_function


def _exit(d: Decoder, i: Instruction) -> Handler:
    def step(r: Registers, t: Thread) -> int:
        return DONE

    return step


def _bra(d: Decoder, i: Instruction) -> Handler:
    target = i.operands[0]
    assert isinstance(target, LabelRef)
    # Labels behind this instruction are known already: decode collects them first.
    at = d.labels[target.name]

    def step(r: Registers, t: Thread) -> int:
        return at

    return step


def _brx(d: Decoder, i: Instruction) -> Handler:
    table = i.operands[1]
    assert isinstance(table, LabelRef)
    targets: list[int] = []
    for statement in d.function.body:
        if isinstance(statement, BranchTargets) and statement.name == table.name:
            targets = [d.labels[name] for name in statement.labels]
    index = d.source(i.operands[0], U32)

    def step(r: Registers, t: Thread) -> int:
        chosen = r[index] + 0  # type: ignore[operator]
        if chosen >= len(targets):
            raise Fault(f"brx.idx with index {chosen}: the list has {len(targets)} targets")
        return targets[chosen]

    return step


def _trap(d: Decoder, i: Instruction) -> Handler:
    message = "the kernel executed trap" if i.name == "trap" else "the kernel stopped at brkpt: there is no debugger"

    def step(r: Registers, t: Thread) -> int:
        raise Fault(message)

    return step


def _nanosleep(d: Decoder, i: Instruction) -> Handler:
    duration = d.source(i.operands[0], U32)

    def step(r: Registers, t: Thread) -> int:
        t.block.launch.time += r[duration]  # type: ignore[operator]
        return YIELD

    return step


# Barriers.

_REDUCTIONS: Final[dict[str, Reduction]] = {
    "popc": sum, "and": lambda values: int(all(values)), "or": lambda values: int(any(values)),
}  # fmt: skip


def _bar(d: Decoder, i: Instruction) -> Handler:
    """``bar`` and ``barrier``: ``sync`` and ``red`` wait, ``arrive`` does not."""
    op = i.opcode
    action = op.action
    operands = i.operands
    slot = d.new_slot()
    predicate = d.constant(0)
    if action == "red":
        slot = d.destination(operands[0])
        predicate = d.source(operands[-1], PRED)
        operands = operands[1:-1]
    number = d.source(operands[0], U32)
    count = d.source(operands[1], U32) if len(operands) > 1 else d.constant(0)
    aligned = op.name == "bar" or op.has("aligned")
    reduce = _REDUCTIONS[op.operation] if action == "red" else None

    def step(r: Registers, t: Thread) -> int | None:
        which = r[number] + 0  # type: ignore[operator]
        barrier = t.block.barrier(which, r[count] + 0, action, reduce)  # type: ignore[operator]
        barrier.arrive(t, i, aligned)
        if action == "arrive":
            barrier.release(t.clock)
            t.block.complete_barrier(which)
            return None
        signal = t.wait(i)
        barrier.wait(t, r, slot, r[predicate] + 0)  # type: ignore[operator]
        t.block.complete_barrier(which)
        return signal

    return step


# Calls.

#: Copies one argument into a fresh frame or one result out of it: ``(thread, caller, callee)``.
Copy = Callable[[Thread, Frame, Frame], None]


def _call(d: Decoder, i: Instruction) -> Handler:
    results, callee, arguments = i.operands[0], i.operands[1], i.operands[2]
    assert isinstance(results, Arguments) and isinstance(arguments, Arguments)
    if isinstance(callee, Symbol):
        function = d.launch.module.functions.get(callee.name)
        if function is None or not function.has_body:
            return _call_runtime(d, i, callee.name, results, arguments)
        return _call_direct(d, function, results, arguments)
    assert isinstance(callee, Register)
    target = callee.id
    # All at once: what a call reads has a slot of the frame, and frames are laid out before they run.
    known: dict[int, Handler] = {}
    for number, name in d.launch.functions_by_id.items():
        function = d.launch.module.functions[name]
        if function.has_body and _fits(function, results, arguments):
            known[number] = _call_direct(d, function, results, arguments)

    def step(r: Registers, t: Thread) -> int | None:
        number = r[target] + 0  # type: ignore[operator]
        handler = known.get(number)
        if handler is None:
            name = d.launch.functions_by_id.get(number)
            if name is None:
                raise Fault(f"an indirect call of 0x{number:x}, which is no function")
            found = d.launch.module.functions[name]
            if not found.has_body:
                raise Fault(f"an indirect call of '{name}', which has no body")
            raise _misfit(found, results, arguments)
        return handler(r, t)

    return step


def _fits(function: Function, results: Arguments, arguments: Arguments) -> bool:
    return len(function.params) == len(arguments.elements) and len(function.returns) == len(results.elements)


def _misfit(function: Function, results: Arguments, arguments: Arguments) -> UnsupportedError:
    return UnsupportedError(
        f"'{function.name}' takes {len(function.params)} arguments and returns {len(function.returns)} values; "
        f"it is called with {len(arguments.elements)} and {len(results.elements)}"
    )


def _call_direct(d: Decoder, function: Function, results: Arguments, arguments: Arguments) -> Handler:
    if not _fits(function, results, arguments):
        raise _misfit(function, results, arguments)
    passes = [_pass(d, a, p) for a, p in zip(arguments.elements, _places(function, function.params), strict=True)]
    returns = [_hand_back(d, a, p) for a, p in zip(results.elements, _places(function, function.returns), strict=True)]
    launch = d.launch
    codes: list[Code] = []

    def finish(t: Thread, callee: Frame, caller: Frame) -> None:
        for copy in returns:
            copy(t, caller, callee)

    def step(r: Registers, t: Thread) -> int:
        if not codes:
            codes.append(launch.code(function))
        caller = t.frames[-1]
        callee = t.push(codes[0], finish)
        for copy in passes:
            copy(t, caller, callee)
        return FRAME

    return step


class Formal:
    """A parameter or return value of a function: a register, or ``size`` bytes at ``offset`` of its frame."""

    def __init__(self, variable: Variable, offset: int) -> None:
        self.register = variable.register
        self.offset = offset
        self.size = variable.size


def _places(function: Function, variables: list[Variable]) -> list[Formal]:
    """Where a device function's frame has ``variables``."""
    offsets = {variable.name: offset for variable, offset in frame_layout(function)}
    return [Formal(v, offsets.get(v.name, 0)) for v in variables]


def _pass(d: Decoder, argument: Operand, formal: Formal) -> Copy:
    """Copies an argument (a ``.param`` variable, a register or a literal) to where the callee has it."""
    offset, size = formal.offset, formal.size
    if isinstance(argument, Symbol):
        address = d.symbol_slot(argument.name, argument.offset)
        in_block = d.place(argument.name).space == "param"
        params = d.launch.params

        def copy_bytes(t: Thread, caller: Frame, callee: Frame) -> None:
            start = caller.registers[address] or 0
            data = params.data if in_block else t.local.data
            to = callee.base + offset
            if formal.register is not None:
                callee.registers[formal.register.id] = int.from_bytes(data[start : start + size], "little")
            else:
                t.local.data[to : to + size] = data[start : start + size]

        return copy_bytes
    assert isinstance(argument, (Register, Immediate)), argument
    slot = d.source(argument, formal.register.type if formal.register is not None else U64)
    mask = (1 << 8 * size) - 1

    def copy_value(t: Thread, caller: Frame, callee: Frame) -> None:
        value = caller.registers[slot]
        if formal.register is not None:
            callee.registers[formal.register.id] = value
        else:
            t.local.data[callee.base + offset : callee.base + offset + size] = (value & mask).to_bytes(size, "little")  # type: ignore[operator]

    return copy_value


def _hand_back(d: Decoder, result: Operand, formal: Formal) -> Copy:
    """Copies a return value to the ``.param`` variable or register of the caller."""
    offset, size = formal.offset, formal.size
    if isinstance(result, Symbol):
        address = d.symbol_slot(result.name, result.offset)

        def copy_bytes(t: Thread, caller: Frame, callee: Frame) -> None:
            to = caller.registers[address] or 0
            data = t.local.data
            if formal.register is not None:
                value = callee.registers[formal.register.id]
                data[to : to + size] = (value + 0).to_bytes(size, "little")  # type: ignore[operator]
            else:
                data[to : to + size] = data[callee.base + offset : callee.base + offset + size]

        return copy_bytes
    slot = d.destination(result)

    def copy_value(t: Thread, caller: Frame, callee: Frame) -> None:
        if formal.register is not None:
            caller.registers[slot] = callee.registers[formal.register.id]
        else:
            start = callee.base + offset
            caller.registers[slot] = int.from_bytes(t.local.data[start : start + size], "little")

    return copy_value


def _call_runtime(d: Decoder, i: Instruction, name: str, results: Arguments, arguments: Arguments) -> Handler:
    """A function that CUDA's device runtime has."""
    runtime = RUNTIME_FUNCTIONS.get(name)
    if runtime is None:
        available = "a function of this module, or one of " + ", ".join(RUNTIME_FUNCTIONS)
        raise d.refuse(i, f"'{name}' is called but has no body", available)
    declared = d.launch.module.functions.get(name)
    sizes = [v.size for v in declared.params] if declared is not None else [8] * len(arguments.elements)
    if len(sizes) != len(arguments.elements):
        raise d.refuse(i, f"'{name}' takes {len(sizes)} arguments")
    reads = [_read_argument(d, a, s) for a, s in zip(arguments.elements, sizes, strict=True)]
    writes = [_write_result(d, a) for a in results.elements]

    def step(r: Registers, t: Thread) -> None:
        value = runtime(t, [read(r, t) for read in reads])
        for write in writes:
            write(r, t, value)

    return step


def _read_argument(d: Decoder, argument: Operand, size: int) -> Callable[[Registers, Thread], int]:
    slot = d.source(argument, U64)
    if not isinstance(argument, Symbol):
        return lambda r, t: r[slot] + 0  # type: ignore[operator]
    return lambda r, t: int.from_bytes(t.local.data[r[slot] : r[slot] + size], "little")  # type: ignore[operator]


def _write_result(d: Decoder, result: Operand) -> Callable[[Registers, Thread, int], None]:
    if isinstance(result, Symbol):
        slot = d.source(result, U64)
        variable = d.variable(result.name)
        size = 8 if variable is None else variable.size

        def store(r: Registers, t: Thread, value: int) -> None:
            at = r[slot]
            t.local.data[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")  # type: ignore[operator]

        return store
    to = d.destination(result)

    def assign(r: Registers, t: Thread, value: int) -> None:
        r[to] = value

    return assign


CONTROL_BUILDERS: Final[dict[str, Builder]] = {
    "bra": _bra, "brx.idx": _brx, "call": _call, "ret": _ret, "exit": _exit, "trap": _trap, "brkpt": _trap,
    "nanosleep": _nanosleep, "bar": _bar, "barrier": _bar,
}  # fmt: skip
