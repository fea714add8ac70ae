"""Who calls whom: the order in which functions go through the passes, and which spaces the pointers are in that all
callers give a device function (algorithm 1 of Wu and others, "gpucc", CGO 2016, through its parameters).

    mov.u64 %rd1, tile;             .func f(.param .b64 p)
    cvta.shared.u64 %rd2, %rd1;     ld.param.b64 %rd1, [p];
    st.param.b64 [a], %rd2;         cvta.to.shared.u64 %rd2, %rd1;
    call f, (a);                    ld.shared.f32 %f1, [%rd2];      -- was ld.f32 %f1, [%rd1]

That is known of functions that no other module sees and whose address nobody takes, once all their callers have been
through the passes: of recursive ones nothing is.
"""

from __future__ import annotations

from drawloom.opt.spaces import argument_spaces, is_generic, joined_spaces
from drawloom.opt.work import Work
from drawloom.ptx.cfg import reverse_postorder
from drawloom.ptx.ir import CallTargets, Function, Instruction, Module, Symbol
from drawloom.ptx.layout import addressed_functions


class Callers:
    """``order`` has the functions with a body, those that are called behind their callers if that tells anything."""

    def __init__(self, module: Module, wanted: bool) -> None:
        self.module = module
        self.order = [f for f in module.functions.values() if f.has_body]
        #: Functions whose callers are all known and whose accesses may learn from them, with the callers to come.
        self.waiting: dict[str, set[str]] = {}
        self.spaces: dict[str, dict[str, str]] = {}
        if wanted and any(_learns(function) for function in self.order):
            self.find()

    def find(self) -> None:
        """Look at all calls."""
        place = {function.name: index for index, function in enumerate(self.order)}
        called: list[list[int]] = [[] for _ in self.order]
        known = {function.name for function in self.order if _learns(function)}
        known.difference_update(addressed_functions(self.module))
        for function in self.order:
            for statement in function.body:
                if isinstance(statement, CallTargets):
                    known.difference_update(statement.functions)
                elif isinstance(statement, Instruction):
                    names = [o.name for o in statement.operands if isinstance(o, Symbol)]
                    called[place[function.name]] += [place[name] for name in names if name in place]
        self.waiting = {name: set() for name in known}
        for index, callees in enumerate(called):
            for callee in callees:
                if self.order[callee].name in known:
                    self.waiting[self.order[callee].name].add(self.order[index].name)
        if known:
            # All of them behind a block of its own, as in a control flow graph.
            everything = reverse_postorder([list(range(1, len(called) + 1)), *[[c + 1 for c in cs] for cs in called]])
            self.order = [self.order[index - 1] for index in everything if index]

    def calls(self, function: Function) -> bool:
        """Whether a function calls one that waits for it."""
        return any(function.name in callers for callers in self.waiting.values())

    def parameters(self, function: Function) -> dict[str, str]:
        """The spaces of a function's parameters, by name, as far as they are known."""
        return self.spaces.get(function.name, {}) if not self.waiting.get(function.name, {""}) else {}

    def note(self, work: Work) -> None:
        """Take from a function what it gives to those that it calls."""
        caller = work.ssa.source
        if not self.calls(caller):
            return
        for name, given in argument_spaces(work, self.waiting):
            formal = self.module.functions[name].params
            known = self.spaces.setdefault(name, {})
            for parameter, space in zip(formal, given, strict=False):
                known[parameter.name] = joined_spaces(known.get(parameter.name, space), space)
        for callers in self.waiting.values():
            callers.discard(caller.name)


def _learns(function: Function) -> bool:
    """Whether a function takes 64-bit parameters from its own module alone, and has accesses without a space."""
    if function.is_entry or function.linkage or not any(v.type.bits == 64 for v in function.params):
        return False
    return any(isinstance(s, Instruction) and is_generic(s) for s in function.body)
