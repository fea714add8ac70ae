"""Module to Module: kernels with the device functions that they call put in their places.

A call's parameters become registers where both sides access them by constant offsets in the same pieces, else local
variables. Recursion and calls through pointers have no place to be put in and are refused, and so are functions that
are only declared (`vprintf`, `malloc`, `free`, `__assertfail` ...).
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.ir import (
    SINK,
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
from drawloom.ptx.isa import CALL, Opcode, decode
from drawloom.ptx.template import copy_function
from drawloom.ptx.types import TYPES, Type

#: No kernel may grow beyond this many statements.
_MOST_STATEMENTS: Final = 1_000_000
_BRA: Final = decode("bra")


def inline(module: Module) -> Module:
    """``module`` whose kernels call nothing. Raises UnsupportedError for calls that cannot be put in their places."""
    kernels = [f for f in module.functions.values() if f.is_entry and f.has_body and calls(f)]
    if not kernels:
        return module
    changed = {f.name: _Inliner(module, f).run() for f in kernels}
    out = Module()
    out.version, out.target, out.address_size = module.version, module.target, module.address_size
    out.source, out.filename = module.source, module.filename
    for item in module.items:
        out.add(changed.get(item.name, item) if isinstance(item, Function) and item.has_body else item)
    return out


def calls(function: Function) -> bool:
    return any(isinstance(s, Instruction) and s.opcode.effect == CALL for s in function.body)


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
    """One kernel: a copy with a new body."""

    def __init__(self, module: Module, kernel: Function) -> None:
        self.module = module
        self.kernel = copy_function(kernel)
        self.original = kernel
        self.body: list[Statement] = []
        self.kernel.body = self.body
        self.copies = 0
        self.active = [kernel.name]
        self.parameters: list[str] = []
        self.taken = {v.name for v in kernel.variables} | set(module.variables) | {p.name for p in kernel.params}
        self.taken |= {s.name for s in kernel.body if isinstance(s, (Label, BranchTargets))}

    def run(self) -> Function:
        names = _Names()
        names.registers = list(self.kernel.registers)
        self.parameters = [v.name for v in self.kernel.variables if v.space == "param"]
        self.copy(self.original, names)
        _Parameters(self.kernel, self.parameters).settle()
        return self.kernel

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
            elif not isinstance(statement, (CallTargets, CallPrototype)):
                self.body.append(statement)

    def instruction(self, instruction: Instruction, names: _Names) -> None:
        pos = instruction.pos if names.pos < 0 else names.pos
        guard = None if instruction.guard is None else names.registers[instruction.guard.id]
        if instruction.opcode.effect == CALL:
            self.call(instruction, names, guard, pos)
        elif instruction.opcode.name == "ret" and names.end:
            self.body.append(Instruction(_BRA, [LabelRef(names.end)], guard, instruction.guard_negated, pos))
        else:
            operands = [self.operand(o, names) for o in instruction.operands]
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
        """A copy of the function that is called, under a branch if the call has a guard."""
        results, callee, arguments = [self.operand(o, names) for o in instruction.operands[:3]]
        function = self.callee(callee, pos)
        assert isinstance(results, Arguments) and isinstance(arguments, Arguments)
        self.copies += 1
        inner = _Names()
        inner.end = self.fresh(f"$end{self.copies}")
        inner.pos = pos if function.name.startswith("$") else -1
        inner.registers = [self.kernel.new_register(r.type) for r in function.registers]
        for statement in function.body:
            if isinstance(statement, (Label, BranchTargets)):
                inner.labels[statement.name] = self.fresh(f"{statement.name}${self.copies}")
        self.declare(function, inner)
        after = ""
        if guard is not None:
            after = self.fresh(f"$after{self.copies}")
            self.body.append(Instruction(_BRA, [LabelRef(after)], guard, not instruction.guard_negated, pos))
        for parameter, argument in zip(function.params, arguments.elements, strict=True):
            self.bind(parameter, argument, inner, pos)
        for parameter, result in zip(function.returns, results.elements, strict=True):
            if parameter.register is None:
                inner.variables[parameter.name] = self.passed(parameter, result)
        self.active.append(function.name)
        self.copy(function, inner)
        self.active.pop()
        self.drop_last_branch(inner.end)
        self.body.append(Label(inner.end, pos))
        for parameter, result in zip(function.returns, results.elements, strict=True):
            if parameter.register is not None and isinstance(result, Register):
                source = inner.registers[parameter.register.id]
                self.body.append(Instruction(move_of(result.type), [result, source], None, False, pos))
        if after:
            self.body.append(Label(after, pos))

    def drop_last_branch(self, label: str) -> None:
        """What has just been written need not branch to where it ends."""
        last = self.body[-1] if self.body else None
        if isinstance(last, Instruction) and last.opcode is _BRA and last.guard is None:
            target = last.operands[0]
            if isinstance(target, LabelRef) and target.name == label:
                self.body.pop()

    def callee(self, callee: Operand, pos: int) -> Function:
        if not isinstance(callee, Symbol):
            raise self.refusal(pos, "calls through pointers are not supported by the assembler")
        function = self.module.functions.get(callee.name)
        if function is None or not function.has_body:
            raise self.refusal(pos, f"'{callee.name}' is not defined in this module: not supported by the assembler")
        if function.name in self.active:
            raise self.refusal(pos, f"'{callee.name}' calls itself: recursion is not supported by the assembler")
        return function

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
        """The variables of a function's body; shared ones are the same in every copy."""
        for variable in function.variables:
            if variable.space == "shared":
                name = f"{function.name}${variable.name}"
                if name not in self.taken:
                    self.add(variable, variable.space, name)
                inner.variables[variable.name] = name
            elif variable.space in ("local", "param"):
                inner.variables[variable.name] = self.add(variable, variable.space)
            else:
                raise self.refusal(
                    variable.pos, f"'{variable.name}' is declared in a function: not supported by the assembler yet"
                )

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


def move_of(type: Type) -> Opcode:
    return decode("mov.pred" if type.kind == "p" else f"mov.b{type.bits}")


class _Parameters:
    """The `.param` variables of a kernel that calls nothing any more."""

    def __init__(self, kernel: Function, names: list[str]) -> None:
        self.kernel = kernel
        self.names = set(names)
        self.pieces: dict[str, dict[int, int]] = {name: {} for name in names}  # offset -> bytes
        self.mixed: set[str] = set()
        self.registers: dict[tuple[str, int], Register] = {}

    def settle(self) -> None:
        """Make registers of those that are accessed in the same pieces everywhere, local variables of the others."""
        if not self.names:
            return
        for statement in self.kernel.body:
            if isinstance(statement, Instruction):
                self.note(statement)
        for name, pieces in self.pieces.items():
            ends = 0
            for offset in sorted(pieces):
                if offset < ends:
                    self.mixed.add(name)
                ends = offset + pieces[offset]
        kept: list[Variable] = []
        for variable in self.kernel.variables:
            if variable.name in self.mixed:
                variable = Variable(
                    variable.name, "local", variable.type, variable.shape, variable.align, variable.vector
                )
            if variable.name not in self.names or variable.name in self.mixed:
                kept.append(variable)
        self.kernel.variables = kept
        body: list[Statement] = []
        for statement in self.kernel.body:
            if isinstance(statement, Instruction):
                self.rewrite(statement, body)
            else:
                body.append(statement)
        self.kernel.body[:] = body

    def accessed(self, instruction: Instruction) -> str:
        """The parameter that a load or store accesses, or ""."""
        if instruction.opcode.space != "param" or instruction.opcode.name not in ("ld", "st"):
            return ""
        address = instruction.operands[1 if instruction.opcode.name == "ld" else 0]
        if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.name in self.names:
            return address.base.name
        return ""

    def note(self, instruction: Instruction) -> None:
        name = self.accessed(instruction)
        if name:
            address = instruction.operands[1 if instruction.opcode.name == "ld" else 0]
            assert isinstance(address, Address)
            size = instruction.opcode.types[0].bytes
            for n in range(instruction.opcode.vector):
                known = self.pieces[name].setdefault(address.offset + n * size, size)
                if known != size or size > 8:
                    self.mixed.add(name)
            return
        for operand in instruction.operands:
            if isinstance(operand, Symbol) and operand.name in self.names:
                self.mixed.add(operand.name)  # its address is taken

    def rewrite(self, instruction: Instruction, out: list[Statement]) -> None:
        name = self.accessed(instruction)
        if not name:
            out.append(instruction)
            return
        opcode, guard, negated, pos = instruction.opcode, instruction.guard, instruction.guard_negated, instruction.pos
        if name in self.mixed:
            text = opcode.text.replace("param::func", "local").replace("param", "local")
            out.append(Instruction(decode(text), instruction.operands, guard, negated, pos))
            return
        loading = opcode.name == "ld"
        address = instruction.operands[1 if loading else 0]
        values = instruction.operands[0 if loading else 1]
        assert isinstance(address, Address)
        type = opcode.types[0]
        for n, value in enumerate(values.elements if isinstance(values, Vector) else [values]):
            piece = self.piece(name, address.offset + n * type.bytes, type)
            if value is SINK or (loading and not isinstance(value, Register)):
                continue
            if not loading:
                out.append(Instruction(decode(f"mov.b{piece.type.bits}"), [piece, value], guard, negated, pos))
            elif isinstance(value, Register) and (type.bytes < 4 or value.type.bits != type.bits):
                signed = "s" if type.is_signed else "u"
                width = max(16, value.type.bits)
                convert = decode(f"cvt.{signed}{width}.{signed}{type.bits}")
                out.append(Instruction(convert, [value, piece], guard, negated, pos))
            else:
                out.append(Instruction(decode(f"mov.b{type.bits}"), [value, piece], guard, negated, pos))

    def piece(self, name: str, offset: int, type: Type) -> Register:
        """The register of a piece; those of less than 32 bits have room for any register that is stored."""
        known = self.registers.get((name, offset))
        if known is None:
            known = self.registers[name, offset] = self.kernel.new_register(TYPES[f"b{max(32, type.bits)}"])
        return known
