"""Which device functions stay functions: from a module to the plan that `inline` follows.

A function stays when something needs it as one: it calls itself (over others, too), its address or that of one of its
parameters is taken, or another file may call it. Others stay when copies at all of their calls would be too much code;
the rest disappears into its callers. Addresses are numbers: the place of a function in a table that every kernel with
calls through pointers has in constant bank 2, as ptxas has it, so that a pointer means the same in all kernels of a
module.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Address, CallTargets, Function, Instruction, Module, Operand, Pair, Register, Symbol, Vector
from drawloom.ptx.isa import CALL

#: A function of at most this many instructions is always copied to its calls.
SMALL: Final = 24
#: All copies of a function together may have this many instructions; one that is called once may have any number.
MOST_COPIED: Final = 4000
#: Bytes of an entry in the table of functions; the first one is for the null pointer.
ENTRY_BYTES: Final = 8
#: What the driver provides for every cubin to call.
RUNTIME: Final = frozenset("vprintf malloc free __assertfail".split())


class CallPlan:
    """`kept` are the functions with a body that stay functions; `ids` the numbers of those whose address is taken, in
    the order of the module; `callees` what each function with a body calls by name (repeats included), `pointers` the
    functions with calls through pointers. `relocatable` says that undefined functions are left to a linker."""

    def __init__(self, relocatable: bool) -> None:
        self.kept: set[str] = set()
        self.ids: dict[str, int] = {}
        self.callees: dict[str, list[str]] = {}
        self.pointers: set[str] = set()
        self.relocatable = relocatable

    def closure(self, name: str) -> list[str]:
        """``name`` and all functions that its code may come to, in the order in which they are found."""
        found = [name]
        seen = {name}
        for at in found:
            following = list(self.callees.get(at, ()))
            if at in self.pointers:
                following += self.ids
            for callee in following:
                if callee not in seen:
                    seen.add(callee)
                    found.append(callee)
        return found

    def needs(self, name: str) -> list[str]:
        """The kept functions that the code of ``name`` may come to."""
        return [callee for callee in self.closure(name)[1:] if callee in self.kept]

    def known(self, name: str) -> set[str]:
        """Of the functions behind kernel ``name`` those that only code comes to that can be made after theirs: they
        need not leave registers as others expect it. All others call themselves or are called through pointers, or
        are called by such."""
        behind = self.needs(name)
        open: set[str] = set()
        for function in behind:
            if function in self.ids or self.is_recursive(function):
                open.update(self.closure(function))
        return set(behind) - open

    def uses_pointers(self, name: str) -> bool:
        """Whether the code of ``name`` may come to a call through a pointer."""
        return any(reached in self.pointers for reached in self.closure(name))

    def leaves_file(self, name: str) -> bool:
        """Whether the code of ``name`` may come to functions of other files."""
        return any(reached not in self.callees for reached in self.closure(name)[1:])

    def is_recursive(self, name: str) -> bool:
        """Whether a function calls itself, by name or, as far as can be known, through pointers."""
        return any(
            name in self.callees.get(reached, ()) or (name in self.ids and reached in self.pointers)
            for reached in self.closure(name)
        )

    def deepest(self, name: str, frames: dict[str, int]) -> int:
        """The bytes of stack that ``name`` needs with all that it calls, each function ``frames`` of it; where
        recursion leaves that open, its own."""
        depths: dict[str, int] = {}
        for reached in callees_first(self, name):
            if self.is_recursive(reached):
                return frames[name]
            following = [*self.callees[reached], *(self.ids if reached in self.pointers else ())]
            below = max([depths.get(callee, 0) for callee in following], default=0)
            depths[reached] = frames.get(reached, 0) + below
        return depths[name]


def plan_calls(module: Module, most_copied: int = MOST_COPIED, relocatable: bool = False) -> CallPlan:
    """The plan for a module. With ``most_copied`` 0 no function is copied to its calls that can stay one."""
    plan = CallPlan(relocatable)
    taken: set[str] = set()
    sizes: dict[str, int] = {}
    for function in module.functions.values():
        if function.has_body:
            sizes[function.name] = note_calls(function, module, plan, taken)
    for variable in module.variables.values():
        for item in variable.initializer or ():
            if isinstance(item.value, Symbol) and item.value.name in module.functions:
                taken.add(item.value.name)
    for name in module.functions:
        if name in taken:
            plan.ids[name] = ENTRY_BYTES * (len(plan.ids) + 1)
    if not any(plan.callees.values()) and not taken and not relocatable:
        return plan
    for name, function in module.functions.items():
        if function.is_entry or not function.has_body:
            continue
        visible = relocatable and function.linkage in (".visible", ".weak", ".extern")
        if name in taken or visible or calls_itself(plan, name):
            plan.kept.add(name)
    keep_large(module, plan, sizes, most_copied)
    return plan


def note_calls(function: Function, module: Module, plan: CallPlan, taken: set[str]) -> int:
    """Note what a function calls and whose address it takes; the number of its instructions."""
    callees: list[str] = []
    # Where the address of a parameter is taken, accesses by addresses must not mix with those of a kernel.
    own = set() if function.is_entry else {v.name for v in function.params}
    size = 0
    for statement in function.body:
        if not isinstance(statement, Instruction):
            if isinstance(statement, CallTargets):
                taken.update(statement.functions)
            continue
        size += 1
        operands = statement.operands
        if statement.opcode.effect == CALL:
            callee = operands[1]
            if isinstance(callee, Symbol):
                callees.append(callee.name)
            else:
                plan.pointers.add(function.name)
            continue
        for operand in operands:
            if isinstance(operand, Register):
                continue
            note_address(operand, module, taken)
            if isinstance(operand, Symbol) and operand.name in own:
                plan.kept.add(function.name)
    plan.callees[function.name] = callees
    return size


def note_address(operand: Operand, module: Module, taken: set[str]) -> None:
    if isinstance(operand, Symbol):
        if operand.name in module.functions:
            taken.add(operand.name)
    elif isinstance(operand, Address):
        if operand.base is not None:
            note_address(operand.base, module, taken)
    elif isinstance(operand, Vector):
        for element in operand.elements:
            note_address(element, module, taken)
    elif isinstance(operand, Pair):
        note_address(operand.first, module, taken)
        note_address(operand.second, module, taken)


def keep_large(module: Module, plan: CallPlan, sizes: dict[str, int], most_copied: int) -> None:
    """Keep the functions whose copies would be too much code, callees before their callers: what is copied into a
    function makes it larger."""
    sites: dict[str, int] = {}
    for callees in plan.callees.values():
        for callee in callees:
            sites[callee] = sites.get(callee, 0) + 1
    grown: dict[str, int] = {}
    for name in callees_first(plan):
        size = sizes[name]
        for callee in plan.callees[name]:
            if callee in sizes and callee not in plan.kept:
                size += grown[callee]
        grown[name] = size
        function = module.functions[name]
        if function.is_entry or name in plan.kept or sites.get(name, 0) == 0:
            continue
        copied = size * sites[name]
        if most_copied == 0 or (size > SMALL and sites[name] > 1 and copied > most_copied):
            plan.kept.add(name)


def calls_itself(plan: CallPlan, name: str) -> bool:
    """Whether a function calls itself by name, directly or not."""
    seen: set[str] = set()
    work = [name]
    while work:
        for callee in plan.callees.get(work.pop(), ()):
            if callee == name:
                return True
            if callee not in seen:
                seen.add(callee)
                work.append(callee)
    return False


def callees_first(plan: CallPlan, root: str = "") -> list[str]:
    """The functions (those that ``root`` may come to) in an order in which each stands behind all that it calls, as
    far as there is one."""
    out: list[str] = []
    done: set[str] = set()
    for first in [root] if root else list(plan.callees):
        if first in done:
            continue
        done.add(first)
        stack: list[tuple[str, int]] = [(first, 0)]
        while stack:
            name, at = stack.pop()
            following = [*plan.callees[name], *(plan.ids if name in plan.pointers else ())]
            while at < len(following) and (following[at] in done or following[at] not in plan.callees):
                at += 1
            if at < len(following):
                stack.append((name, at + 1))
                done.add(following[at])
                stack.append((following[at], 0))
            else:
                out.append(name)
    return out
