"""Calls of functions that must stop in the middle (barriers, waits for other threads, and lane by lane warp operations)
become their bodies.

Only a kernel can stop and go on, because its state is kept in one frame; a function that stops has to be part
of it. Registers, labels and variables of the body get fresh names; parameters become the caller's ``.param``
variables, and those whose address the body takes ``.local`` ones: a kernel has no addresses of ``.param`` variables.
"""

from __future__ import annotations

from drawloom.cpu.spinning import spinning_loops
from drawloom.errors import UnsupportedError
from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.ir import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from drawloom.ptx.isa import BARRIER, CALL, RETURN, WARP, Opcode, decode
from drawloom.ptx.layout import has_dynamic_stack, reachable_functions, scoped_name
from drawloom.ptx.loops import find_loops
from drawloom.ptx.template import copy_function
from drawloom.ptx.types import PRED, integer_type


def inline_stopping(module: Module, kernel: Function, lanes: int) -> Function:
    """``kernel`` with every direct call of a function that stops replaced by its body.

    Raises ``UnsupportedError`` when such a function is recursive or called indirectly.
    """
    must_stop = {f.name for f in reachable_functions(module, kernel) if f is not kernel and _stops(module, f, lanes)}
    stopping = must_stop | _waiting(module, kernel)
    if not stopping:
        return kernel
    function = copy_function(kernel)
    for _ in range(64):
        calls = [s for s in function.body if isinstance(s, Instruction) and _callee(s) in stopping]
        if not calls:
            break
        body: list[Statement] = []
        for number, statement in enumerate(function.body):
            if isinstance(statement, Instruction) and _callee(statement) in stopping:
                callee = module.functions[_callee(statement)]
                body.extend(_Inliner(function, callee, f"{len(function.registers)}.{number}").inline(statement))
            else:
                body.append(statement)
        function.body = body
    else:
        names = sorted({_callee(s) for s in calls})
        raise UnsupportedError(
            f"function '{names[0]}' is recursive and contains a barrier; the cpu device cannot stop in it"
        )
    indirect = any(_is_indirect(s) for s in function.body)
    if indirect:
        hidden = must_stop - _direct_only(module, kernel)
        if hidden:
            raise _cannot_stop(min(hidden), "is called indirectly", lanes)
    return function


def _cannot_stop(name: str, why: str, lanes: int) -> UnsupportedError:
    what = "a barrier" if lanes else "a barrier or a warp operation"
    return UnsupportedError(f"function '{name}' {why} and contains {what}; the cpu device cannot stop in it")


def _stops(module: Module, function: Function, lanes: int) -> bool:
    """Whether the function, or one that it calls, contains what only a kernel can stop at."""
    for called in reachable_functions(module, function):
        for statement in called.body:
            if isinstance(statement, Instruction):
                effect = statement.opcode.effect
                if effect == BARRIER or (effect == WARP and not lanes):
                    return True
    return False


def _waiting(module: Module, kernel: Function) -> set[str]:
    """The functions that wait for other threads in loops, or call such a one, and can become part of the kernel: other
    blocks go on while one waits there."""
    called = {
        f.name: {_callee(s) for s in f.body if isinstance(s, Instruction)}
        for f in reachable_functions(module, kernel)
        if f is not kernel and f.has_body
    }
    out = {name for name in called if _spins(module, module.functions[name])}
    while more := {name for name, callees in called.items() if callees & out} - out:
        out |= more
    recursive = {name for name in out if _reaches(called, name)}
    return (out & _direct_only(module, kernel)) - recursive


def _spins(module: Module, function: Function) -> bool:
    cfg = build_cfg(function, module)
    return bool(spinning_loops(module, cfg, find_loops(cfg)))


def _reaches(called: dict[str, set[str]], name: str) -> bool:
    """Whether a function calls itself, directly or not."""
    seen: set[str] = set()
    left = set(called[name])
    while left:
        one = left.pop()
        if one == name:
            return True
        if one not in seen:
            seen.add(one)
            left |= called.get(one, set())
    return False


def _direct_only(module: Module, kernel: Function) -> set[str]:
    """The functions that are named in direct calls."""
    names: set[str] = set()
    for function in reachable_functions(module, kernel):
        for statement in function.body:
            if isinstance(statement, Instruction):
                names.add(_callee(statement))
    return names


def _is_indirect(statement: Statement) -> bool:
    return (
        isinstance(statement, Instruction)
        and statement.opcode.effect == CALL
        and isinstance(statement.operands[1], Register)
    )


def _callee(instruction: Instruction) -> str:
    if instruction.opcode.effect != CALL:
        return ""
    callee = instruction.operands[1]
    return callee.name if isinstance(callee, Symbol) else ""


class _Inliner:
    """One call that becomes the callee's body."""

    def __init__(self, caller: Function, callee: Function, suffix: str) -> None:
        self.caller = caller
        self.callee = callee
        self.suffix = suffix
        self.registers = [caller.new_register(r.type) for r in callee.registers]
        self.symbols: dict[str, str] = {}
        self.addressed = _addressed(callee)
        self.end = f"{callee.name}.end.{suffix}"
        #: Where those go on that a guard keeps from the call.
        self.past = f"{callee.name}.past.{suffix}"

    def inline(self, call: Instruction) -> list[Statement]:
        results, arguments = call.operands[0], call.operands[2]
        if not isinstance(results, Arguments) or not isinstance(arguments, Arguments):
            raise UnsupportedError(f"malformed call of '{self.callee.name}'")
        out: list[Statement] = []
        top = self.caller.new_register(integer_type("u", 64)) if has_dynamic_stack(self.callee) else None
        if top is not None:
            out.append(Instruction(decode("stacksave.u64"), [top], pos=call.pos))
        if call.guard is not None:
            past: list[Operand] = [LabelRef(self.past)]
            out.append(Instruction(decode("bra"), past, call.guard, not call.guard_negated, call.pos))
        for variable in self.callee.variables:
            if variable.space == "shared":
                self.symbols[variable.name] = scoped_name(self.callee, variable)
            elif variable.space in ("local", "param"):
                self.symbols[variable.name] = self.new_variable(variable)
        for parameter, argument in zip(self.callee.params, arguments.elements, strict=True):
            self.bind(parameter, argument, out, call.pos)
        for variable, result in zip(self.callee.returns, results.elements, strict=False):
            if isinstance(result, Symbol):
                self.symbols[variable.name] = result.name
            else:
                self.symbols[variable.name] = self.new_variable(variable)
        for statement in self.callee.body:
            out.append(self.renamed(statement))
        out.append(Label(self.end, call.pos))
        if top is not None:
            out.append(Instruction(decode("stackrestore.u64"), [top], pos=call.pos))
        self.deliver(results, out, call.pos)
        if call.guard is not None:
            out.append(Label(self.past, call.pos))
        return out

    def deliver(self, results: Arguments, out: list[Statement], pos: int) -> None:
        """Results that the caller wants in registers, or that the callee holds in registers."""
        for variable, result in zip(self.callee.returns, results.elements, strict=False):
            source = None if variable.register is None else self.registers[variable.register.id]
            if isinstance(result, Register):
                width = result.type.bits
                if source is not None:
                    out.append(Instruction(_copy_of(result), [result, source], pos=pos))
                else:
                    address = Address(Symbol(self.symbols[variable.name]))
                    out.append(Instruction(decode(f"ld.param.b{width}"), [result, address], pos=pos))
            elif source is not None and isinstance(result, Symbol):
                width = source.type.bits
                out.append(Instruction(decode(f"st.param.b{width}"), [Address(Symbol(result.name)), source], pos=pos))

    def bind(self, parameter: Variable, argument: Operand, out: list[Statement], pos: int) -> None:
        if parameter.register is not None:
            target = self.registers[parameter.register.id]
            width = target.type.bits
            if isinstance(argument, Symbol):
                out.append(Instruction(decode(f"ld.param.b{width}"), [target, Address(Symbol(argument.name))], pos=pos))
            else:
                out.append(Instruction(_copy_of(target), [target, argument], pos=pos))
            return
        space = "local" if parameter.name in self.addressed else "param"
        if isinstance(argument, Symbol) and space == "param":
            self.symbols[parameter.name] = argument.name
            return
        name = self.new_variable(parameter, space)
        self.symbols[parameter.name] = name
        if isinstance(argument, (Register, Immediate)):
            type = integer_type("b", parameter.size * 8)
            store = Instruction(decode(f"st.{space}.{type.name}"), [Address(Symbol(name)), argument], pos=pos)
            out.append(store)
        elif isinstance(argument, Symbol):
            self.copy(argument.name, name, parameter, out, pos)

    def copy(self, source: str, target: str, parameter: Variable, out: list[Statement], pos: int) -> None:
        """From a ``.param`` variable to a ``.local`` one, in the widest pieces that their alignment allows."""
        step = min(parameter.align or parameter.type.bits // 8, 8)
        while parameter.size % step:
            step //= 2
        for offset in range(0, parameter.size, step):
            piece = self.caller.new_register(integer_type("b", max(8 * step, 16)))
            load = decode(f"ld.param.b{8 * step}")
            store = decode(f"st.local.b{8 * step}")
            out.append(Instruction(load, [piece, Address(Symbol(source), offset)], pos=pos))
            out.append(Instruction(store, [Address(Symbol(target), offset), piece], pos=pos))

    def new_variable(self, variable: Variable, space: str = "") -> str:
        """A variable of the caller with the shape of ``variable``, in a space that may be another one."""
        space = space or ("param" if variable.space == "reg" else variable.space)
        name = f"{variable.name}.{self.suffix}"
        fresh = Variable(name, space, variable.type, list(variable.shape), variable.align, variable.vector)
        self.caller.variables.append(fresh)
        return name

    def label(self, name: str) -> str:
        return f"{name}.{self.suffix}"

    def renamed(self, statement: Statement) -> Statement:
        if isinstance(statement, Label):
            return Label(self.label(statement.name), statement.pos)
        if isinstance(statement, BranchTargets):
            return BranchTargets(self.label(statement.name), [self.label(n) for n in statement.labels], statement.pos)
        if isinstance(statement, CallTargets):
            return CallTargets(self.label(statement.name), statement.functions, statement.pos)
        if isinstance(statement, CallPrototype):
            name = self.label(statement.name)
            return CallPrototype(name, statement.returns, statement.params, statement.directives, statement.pos)
        if isinstance(statement, Directive):
            return statement
        if not isinstance(statement, Instruction):
            raise TypeError(f"unknown statement {statement!r}")
        guard = None if statement.guard is None else self.registers[statement.guard.id]
        if statement.opcode.effect == RETURN:
            return Instruction(decode("bra"), [LabelRef(self.end)], guard, statement.guard_negated, statement.pos)
        opcode = statement.opcode
        if opcode.space == "param" and any(self.is_local(o) for o in statement.operands):
            opcode = decode(opcode.spelling.replace(".param", ".local", 1))
        operands = [self.operand(o) for o in statement.operands]
        return Instruction(opcode, operands, guard, statement.guard_negated, statement.pos)

    def is_local(self, operand: Operand) -> bool:
        """Whether an operand of an instruction on ``.param`` space is a place of what is a ``.local`` variable now: one
        of them, or a register, which can only hold the address of one."""
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Symbol):
            return base.name in self.addressed
        return bool(self.addressed) and isinstance(operand, Address) and isinstance(base, Register)

    def operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Register):
            return self.registers[operand.id]
        if isinstance(operand, Symbol):
            return Symbol(self.symbols.get(operand.name, operand.name), operand.offset)
        if isinstance(operand, Address):
            base = operand.base
            if isinstance(base, Register):
                return Address(self.registers[base.id], operand.offset)
            if isinstance(base, Symbol):
                return Address(Symbol(self.symbols.get(base.name, base.name), base.offset), operand.offset)
            return operand
        if isinstance(operand, Vector):
            return Vector([self.operand(x) for x in operand.elements])
        if isinstance(operand, Pair):
            return Pair(self.operand(operand.first), self.operand(operand.second))
        if isinstance(operand, Not):
            return Not(self.registers[operand.register.id])
        if isinstance(operand, LabelRef):
            return LabelRef(self.label(operand.name))
        if isinstance(operand, Arguments):
            return Arguments([self.operand(x) for x in operand.elements])
        return operand


def _addressed(function: Function) -> set[str]:
    """The parameters whose addresses the body takes."""
    named = {p.name for p in function.params if p.register is None}
    return {
        operand.name
        for statement in function.body
        if isinstance(statement, Instruction) and statement.opcode.effect != CALL
        for operand in statement.operands
        if isinstance(operand, Symbol) and operand.name in named
    }


def _copy_of(register: Register) -> Opcode:
    """The ``mov`` of a register's width; predicates have their own."""
    return decode("mov.pred" if register.type is PRED else f"mov.b{register.type.bits}")
