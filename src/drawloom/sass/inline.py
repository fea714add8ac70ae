"""Module to Module: functions put in the places of their calls, but for those that `plan_calls` lets stay.

A call's parameters become registers where both sides access them by constant offsets in the same pieces, else local
variables (`parameters`). Calls that stay name their values by the places of the convention.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.ir import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    CallTargets,
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
from drawloom.ptx.isa import CALL, RETURN, decode
from drawloom.ptx.layout import has_dynamic_stack
from drawloom.ptx.template import copy_function
from drawloom.ptx.types import U32
from drawloom.sass.abi import Convention
from drawloom.sass.calls import RUNTIME, CallPlan
from drawloom.sass.parameters import Parameters, move_of

#: No function may grow beyond this many statements.
_MOST_STATEMENTS: Final = 1_000_000
_BRA: Final = decode("bra")
_RET: Final = decode("ret")
_STACKSAVE: Final = decode("stacksave.u32")
_STACKRESTORE: Final = decode("stackrestore.u32")


def inline(module: Module, plan: CallPlan) -> Module:
    """``module`` whose kernels and kept functions call nothing but functions that stay.

    Raises UnsupportedError for calls that cannot be made.
    """
    changed: dict[str, Function] = {}
    for f in module.functions.values():
        if f.has_body and (f.name in plan.kept or (f.is_entry and (calls(f) or has_parameter_variables(f)))):
            changed[f.name] = _Inliner(module, f, plan).run()
    return module.with_functions(changed) if changed else module


def calls(function: Function) -> bool:
    """Whether a function calls anything."""
    return any(isinstance(statement, Instruction) and statement.opcode.effect == CALL for statement in function.body)


def has_parameter_variables(function: Function) -> bool:
    """Whether it has room for parameters of calls, which it may use without calling anything."""
    return any(variable.space == "param" for variable in function.variables)


def name_of(statement: Statement) -> str:
    """What a label or table is called; "" for other statements."""
    if isinstance(statement, Instruction):
        return ""
    return statement.name if isinstance(statement, (Label, BranchTargets, CallTargets, CallPrototype)) else ""


class _Names:
    """What the names of one copy of a function's body are called in the kernel."""

    def __init__(self) -> None:
        self.registers: list[Register] = []
        self.labels: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        #: Where `ret` goes; empty in the kernel itself.
        self.end = ""
        #: The position of the call, for functions whose text is not the user's; -1 where it is.
        self.pos = -1


class _Inliner:
    """One function: a copy with a new body."""

    def __init__(self, module: Module, original: Function, plan: CallPlan) -> None:
        self.module = module
        self.plan = plan
        self.kernel = copy_function(original)
        self.original = original
        self.body: list[Statement] = []
        self.kernel.body = self.body
        self.copies = 0
        self.parameters: list[str] = []
        self.taken = {v.name for v in original.variables + original.params + original.returns} | set(module.variables)
        self.taken |= set(module.functions)
        self.taken |= {name_of(s) for s in original.body if not isinstance(s, Instruction)}

    def run(self) -> Function:
        names = _Names()
        names.registers = list(self.kernel.registers)
        function = self.kernel
        self.parameters = [v.name for v in function.variables if v.space == "param"]
        convention: Convention | None = None
        if not function.is_entry:
            convention = Convention(function.params, function.returns)
            self.parameters += [v.name for v in function.params + function.returns if v.register is None]
            names.end = self.fresh("$return")
        self.keep(names)
        if convention is not None:
            self.drop_last_branch(names.end)
            self.body += [Label(names.end), Instruction(_RET, [])]
        if self.parameters or convention is not None or calls(function):
            Parameters(self.module, function, self.parameters, convention).settle()
        return function

    def keep(self, names: _Names) -> None:
        """Append the function's own body, in which nothing is called otherwise but what is copied."""
        body = self.body
        for statement in self.original.body:
            if isinstance(statement, Instruction):
                effect = statement.opcode.effect
                if effect == CALL or (effect == RETURN and names.end):
                    self.instruction(statement, names)
                    continue
            body.append(statement)

    def copy(self, function: Function, names: _Names) -> None:
        """Append a function's body with its names in the kernel."""
        for statement in function.body:
            if len(self.body) > _MOST_STATEMENTS:
                raise UnsupportedError(f"'{self.kernel.name}' with all that it calls is too long for the assembler")
            if isinstance(statement, Instruction):
                self.instruction(statement, names)
            elif isinstance(statement, Label):
                self.body.append(Label(names.labels.get(statement.name, statement.name), statement.pos))
            elif isinstance(statement, BranchTargets):
                labels = [names.labels.get(n, n) for n in statement.labels]
                name = names.labels.get(statement.name, statement.name)
                self.body.append(BranchTargets(name, labels, statement.pos))
            elif isinstance(statement, CallTargets):
                name = names.labels.get(statement.name, statement.name)
                self.body.append(CallTargets(name, statement.functions, statement.pos))
            elif isinstance(statement, CallPrototype):
                name = names.labels.get(statement.name, statement.name)
                returns, params, directives = statement.returns, statement.params, statement.directives
                self.body.append(CallPrototype(name, returns, params, directives, statement.pos))
            else:
                self.body.append(statement)

    def instruction(self, instruction: Instruction, names: _Names) -> None:
        pos = instruction.pos if names.pos < 0 else names.pos
        guard = None if instruction.guard is None else names.registers[instruction.guard.id]
        if instruction.opcode.effect == CALL:
            self.call(instruction, names, guard, pos)
        elif instruction.opcode.effect == RETURN and names.end:
            self.body.append(Instruction(_BRA, [LabelRef(names.end)], guard, instruction.guard_negated, pos))
        else:
            registers = names.registers
            operands: list[Operand] = []
            for o in instruction.operands:
                operands.append(registers[o.id] if isinstance(o, Register) else self.operand(o, names))
            self.body.append(Instruction(instruction.opcode, operands, guard, instruction.guard_negated, pos))

    def operand(self, operand: Operand, names: _Names) -> Operand:
        if isinstance(operand, Register):
            return names.registers[operand.id]
        if isinstance(operand, Address):
            base = operand.base
            if isinstance(base, Register):
                return Address(names.registers[base.id], operand.offset)
            if isinstance(base, Symbol):
                return Address(Symbol(names.variables.get(base.name, base.name), base.offset), operand.offset)
            return operand
        if isinstance(operand, Symbol):
            return Symbol(names.variables.get(operand.name, operand.name), operand.offset)
        if isinstance(operand, Vector):
            return Vector([self.operand(e, names) for e in operand.elements])
        if isinstance(operand, Pair):
            return Pair(self.operand(operand.first, names), self.operand(operand.second, names))
        if isinstance(operand, Not):
            return Not(names.registers[operand.register.id])
        if isinstance(operand, LabelRef):
            return LabelRef(names.labels.get(operand.name, operand.name))
        if isinstance(operand, Arguments):
            return Arguments([self.operand(e, names) for e in operand.elements])
        return operand

    # -- calls -------------------------------------------------------------------------------------------

    def call(self, instruction: Instruction, names: _Names, guard: Register | None, pos: int) -> None:
        """A copy of the function that is called, or the call, under a branch if it has a guard."""
        self.copies += 1
        after = ""
        if guard is not None:
            after = self.fresh(f"$after{self.copies}")
            self.body.append(Instruction(_BRA, [LabelRef(after)], guard, not instruction.guard_negated, pos))
        operands = [self.operand(o, names) for o in instruction.operands]
        function = self.callee(operands[1], pos)
        if function is None:
            self.body.append(Instruction(instruction.opcode, operands, None, False, pos))
        else:
            self.copy_callee(function, operands[0], operands[2], pos)
        if after:
            self.body.append(Label(after, pos))

    def copy_callee(self, function: Function, results: Operand, arguments: Operand, pos: int) -> None:
        assert isinstance(results, Arguments) and isinstance(arguments, Arguments)
        inner = _Names()
        inner.end = self.fresh(f"$end{self.copies}")
        inner.pos = pos if function.name.startswith("$") else -1
        inner.registers = [self.kernel.new_register(r.type) for r in function.registers]
        top = self.kernel.new_register(U32) if has_dynamic_stack(function) else None
        if top is not None:
            self.body.append(Instruction(_STACKSAVE, [top], None, False, pos))
        for statement in function.body:
            name = name_of(statement)
            if name:
                inner.labels[name] = self.fresh(f"{name}${self.copies}")
        self.declare(function, inner)
        for parameter, argument in zip(function.params, arguments.elements):
            self.bind(parameter, argument, inner, pos)
        for parameter, result in zip(function.returns, results.elements):
            if parameter.register is None:
                inner.variables[parameter.name] = self.passed(parameter, result)
        self.copy(function, inner)
        self.drop_last_branch(inner.end)
        self.body.append(Label(inner.end, pos))
        if top is not None:
            self.body.append(Instruction(_STACKRESTORE, [top], None, False, pos))
        for parameter, result in zip(function.returns, results.elements):
            if parameter.register is not None and isinstance(result, Register):
                source = inner.registers[parameter.register.id]
                self.body.append(Instruction(move_of(result.type), [result, source], None, False, pos))

    def drop_last_branch(self, label: str) -> None:
        """What has just been written need not branch to where it ends."""
        last = self.body[-1] if self.body else None
        if isinstance(last, Instruction) and last.opcode is _BRA and last.guard is None:
            target = last.operands[0]
            if isinstance(target, LabelRef) and target.name == label:
                self.body.pop()

    def callee(self, callee: Operand, pos: int) -> Function | None:
        """The function to copy; None where the call stays. Raises UnsupportedError for one that nobody defines."""
        if not isinstance(callee, Symbol) or callee.name in self.plan.kept:
            return None
        function = self.module.functions[callee.name]
        if function.has_body:
            return function
        if callee.name not in RUNTIME and not self.plan.relocatable:
            raise self.refusal(pos, f"unresolved external function '{callee.name}'")
        return None

    def refusal(self, pos: int, message: str) -> UnsupportedError:
        return UnsupportedError(str(self.module.error(SourceError, pos, message)))

    def bind(self, parameter: Variable, argument: Operand, inner: _Names, pos: int) -> None:
        """What a parameter of the function is here."""
        if parameter.register is None:
            inner.variables[parameter.name] = self.passed(parameter, argument)
        else:
            target = inner.registers[parameter.register.id]
            self.body.append(Instruction(move_of(target.type), [target, argument], None, False, pos))

    def passed(self, parameter: Variable, argument: Operand) -> str:
        """The kernel's variable that is passed for a parameter; a constant or nothing gets one of its own."""
        if isinstance(argument, Symbol):
            return argument.name
        name = self.add(parameter, "param")
        if isinstance(argument, (Register, Immediate)):
            store = decode(f"st.param.b{parameter.type.bits}")
            self.body.append(Instruction(store, [Address(Symbol(name)), argument]))
        return name

    def declare(self, function: Function, inner: _Names) -> None:
        """The variables of a function's body: each copy has its own."""
        for variable in function.variables:
            inner.variables[variable.name] = self.add(variable, variable.space)

    def add(self, variable: Variable, space: str, name: str = "") -> str:
        name = name or self.fresh(f"{variable.name}${self.copies}")
        self.taken.add(name)
        copy = Variable(name, space, variable.type, variable.shape, variable.align, variable.vector)
        self.kernel.variables.append(copy)
        if space == "param":
            self.parameters.append(name)
        return name

    def fresh(self, name: str) -> str:
        while name in self.taken:
            name += "$"
        self.taken.add(name)
        return name
