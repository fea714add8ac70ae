"""Selection of calls, of what a function begins with and of its return, by the calling convention (`abi`)."""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Arguments, Immediate, Instruction, Operand, Register, Symbol
from drawloom.sass.abi import CLOBBERED, RETURN_ADDRESS, STACK
from drawloom.sass.machine import STACK_POINTER, CallSite, Machine
from drawloom.sass.parameters import ENTRY
from drawloom.sass.select.operands import FALSE, OTHER, ZERO, Src, bank, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector
from drawloom.sass.select.symbols import relocate

#: What the stack is aligned to where a function is called.
FRAME_ALIGNMENT: Final = 16
#: The constant bank with the table of functions.
TABLE_BANK: Final = 2


def pairs(arguments: Operand) -> list[tuple[int, Operand]]:
    """What stands where: (place, value)."""
    assert isinstance(arguments, Arguments)
    out: list[tuple[int, Operand]] = []
    for n in range(0, len(arguments.elements), 2):
        place = arguments.elements[n]
        assert isinstance(place, Immediate)
        out.append((place.value, arguments.elements[n + 1]))
    return out


def words(operand: Operand) -> int:
    assert isinstance(operand, Register)
    return max(1, operand.type.bits // 32)


def call(s: Selector, i: Instruction) -> None:
    """``call`` of a function that stays one, of one of another file or through a pointer; and a function's entry."""
    results, callee, arguments = i.operands[:3]
    if isinstance(callee, Symbol) and callee.name == ENTRY:
        enter(s, results)
        return
    given = give(s, arguments)
    if isinstance(callee, Symbol):
        function = s.module.functions[callee.name]
        site = call_by_name(s, callee.name, not function.has_body)
    else:
        site = call_pointer(s, callee)
    site.call.arguments = given
    site.call.clobbers = CLOBBERED
    s.moved = {}  # constants are not worth a register that is kept over a call
    s.out.calls.append(site)
    take_results(s, site, results)


def take_results(s: Selector, site: CallSite, results: Operand) -> None:
    for place, result in pairs(results):
        if place < STACK:
            site.results |= ((1 << words(result)) - 1) << place
        take(s, place, result)


def give(s: Selector, arguments: Operand) -> int:
    """Put arguments or results where they belong: those on the stack first. Returns the registers, as bits."""
    mask = 0
    for place, value in sorted(pairs(arguments), key=lambda pair: pair[0] < STACK):
        for part in range(words(value)):
            if place >= STACK:
                where = Src("[R+I]", [STACK_POINTER, place - STACK + 4 * part], OTHER)
                s.emit("STL", [where, s.register_word(value, part)])
            else:
                s.emit("MOV", [reg(place + part), s.word(value, part)])
                mask |= 1 << place + part
    return mask


def take(s: Selector, place: int, result: Operand) -> None:
    """A result (or what a function was called with) to its register; what nobody reads is left where it is."""
    assert isinstance(result, Register)
    if not s.definitions.reads[result.id]:
        return
    home = s.home(result)
    for part in range(words(result)):
        if place < STACK:
            s.emit("MOV", [reg(home + part), reg(place + part)])
        else:
            if s.out.alignment > FRAME_ALIGNMENT:
                what = f"a local variable that is aligned to {s.out.alignment} bytes beside parameters on the stack"
                raise UnsupportedError(f"{what} is not supported by the assembler")
            where = Src("[R+I]", [s.out.frame_pointer, place - STACK + 4 * part], OTHER)
            s.out.incoming.append(s.emit("LDL", [reg(home + part), where]))


def enter(s: Selector, parameters: Operand) -> None:
    """Parameters to registers that nobody else names: those from registers first, which others may want."""
    for place, parameter in sorted(pairs(parameters), key=lambda pair: pair[0] >= STACK):
        take(s, place, parameter)


def call_by_name(s: Selector, name: str, is_external: bool) -> CallSite:
    if s.variables.relocatable:
        low, high = return_address(s)
        made = s.emit("CALL.ABS.NOINC", [Src("I", [0], OTHER)])
        relocate(s, made, "R_CUDA_ABS55_16_34" if s.number >= 90 else "R_CUDA_ABS47_34", name)
        return linked(s, CallSite(made, name, is_external), low, high)
    if not is_external:
        low, _ = return_address(s)
        site = CallSite(s.emit("CALL.REL.NOINC", [Src("L", [0], OTHER)]), name, False)
        site.address = low
        return site
    at = s.variables.external(name)
    where = s.fresh(2)
    for part in (0, 1):
        s.emit("MOV", [reg(where + part), bank(at + 4 * part, 4)])
    low, place, base = absolute_return_address(s)
    site = CallSite(s.emit("CALL.ABS.NOINC", [Src("R", [where], OTHER)]), name, True)
    site.address, site.place, site.base = low, place, base
    s.forget_descriptor()
    return site


def call_pointer(s: Selector, pointer: Operand) -> CallSite:
    """The pointer is a place in the table of functions, which has the distance of each from the kernel."""
    if s.variables.relocatable:
        target = s.pair(pointer)
        low, high = return_address(s)
        made = s.emit("CALL.ABS.NOINC", [Src("R", [target], OTHER)])
        if s.number >= 90:
            relocate(s, made, "R_CUDA_ABS56_16_34", "__UFT_OFFSET")
        return linked(s, CallSite(made, "", False), low, high)
    where = s.fresh(2)
    index = s.register_word(pointer)
    s.emit("LDC.64", [reg(where), Src("c[I][R+I]", [TABLE_BANK, index.values[0], 0], OTHER)])
    low, _ = return_address(s)
    site = CallSite(s.emit("CALL.REL.NOINC", [Src("R L", [where, 0], OTHER)]), "", False)
    site.address = low
    return site


def linked(s: Selector, site: CallSite, low: Machine, high: Machine) -> CallSite:
    """A call whose return address a linker makes absolute; nobody knows what comes back in uniform registers."""
    site.address, site.upper = low, high
    s.forget_descriptor()
    return site


def return_address(s: Selector) -> tuple[Machine, Machine]:
    """The place behind the call in its section."""
    low = s.emit("MOV", [reg(RETURN_ADDRESS), Src("I", [0], OTHER)])
    high = s.emit("MOV", [reg(RETURN_ADDRESS + 1), Src("I", [0], OTHER)])
    return low, high


def absolute_return_address(s: Selector) -> tuple[Machine, int, Machine]:
    """The place behind the call in memory: the instruction, its slot that the distance goes into, and from where."""
    if s.number >= 90:
        low = s.emit("LEPC", [reg(RETURN_ADDRESS), Src("L", [0], OTHER)])
        return low, 1, low
    here = s.fresh(2)
    base = s.emit("LEPC", [reg(here)])
    carry = s.fresh_predicate()
    low = s.emit("IADD3", [reg(RETURN_ADDRESS), pred(carry), reg(here), Src("I", [0], OTHER), ZERO])
    s.emit("IADD3.X", [reg(RETURN_ADDRESS + 1), reg(here + 1), ZERO, ZERO, pred(carry), FALSE])
    return low, 3, base


def leave(s: Selector, i: Instruction) -> None:
    """``ret``: of a kernel it ends the thread."""
    if s.function.is_entry:
        s.emit("EXIT", [])
        return
    given = give(s, i.operands[0])
    if s.variables.relocatable:
        made = s.emit("RET.ABS.NODEC", [Src("R I", [RETURN_ADDRESS, 0], OTHER)])
    else:
        made = s.emit("RET.REL.NODEC", [Src("R L", [RETURN_ADDRESS, 0], OTHER)])
    made.arguments = given


HANDLERS.update({"call": call, "ret": leave})
