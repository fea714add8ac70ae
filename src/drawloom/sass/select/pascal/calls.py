"""Selection of calls on sm_61: the stack of the warp has the return address."""

from __future__ import annotations

from drawloom.ptx.ir import Instruction, Operand, Symbol
from drawloom.sass.abi import CLOBBERED
from drawloom.sass.machine import CallSite
from drawloom.sass.parameters import ENTRY
from drawloom.sass.select.calls import enter, give, take_results
from drawloom.sass.select.operands import OTHER, Src
from drawloom.sass.select.pascal.selector import PASCAL_HANDLERS
from drawloom.sass.select.selector import Selector
from drawloom.sass.select.symbols import relocate


def call(s: Selector, i: Instruction) -> None:
    """``call`` of a function of the file, or of another one that the loader finds; and a function's entry."""
    results, callee, arguments = i.operands[:3]
    if isinstance(callee, Symbol) and callee.name == ENTRY:
        enter(s, results)
        return
    given = give(s, arguments)
    if not isinstance(callee, Symbol):
        site = call_pointer(s, callee)
    elif s.module.functions[callee.name].has_body and not s.variables.relocatable:
        site = CallSite(s.emit("CAL", [Src("L", [0], OTHER)]), callee.name, False)
    else:
        site = CallSite(s.emit("JCAL", [Src("I", [0], OTHER)]), callee.name, not s.variables.relocatable)
        relocate(s, site.call, "R_CUDA_ABS32_20", callee.name)
    site.call.arguments, site.call.clobbers = given, CLOBBERED
    s.out.calls.append(site)
    take_results(s, site, results)


def call_pointer(s: Selector, pointer: Operand) -> CallSite:
    """A call of the code at an address, in a relocatable file: elsewhere ``unfold`` has taken it apart."""
    target = s.register_word(pointer)
    behind = s.emit("PRET", [Src("L", [0], OTHER)])
    site = CallSite(s.emit("JMX", [target]), "", False)
    site.address, site.place, site.base = behind, 0, behind
    return site


def leave(s: Selector, i: Instruction) -> None:
    """``ret``: of a kernel it ends the thread."""
    if s.function.is_entry:
        s.emit("EXIT", [])
        return
    given = give(s, i.operands[0])
    s.emit("RET", []).arguments = given


PASCAL_HANDLERS.update({"call": call, "ret": leave})
