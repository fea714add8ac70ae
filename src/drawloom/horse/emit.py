"""Writes PTX instructions into a kernel, one call an instruction, from HorseIR's side of ``ptx``'s types."""

from __future__ import annotations

import struct
from typing import Final

from drawloom.ptx.ir import (
    FLOAT32,
    FLOAT64,
    Address,
    Directive,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Module,
    Operand,
    Register,
    SpecialRegister,
    Statement,
    Symbol,
    Variable,
)
from drawloom.ptx.isa import decode
from drawloom.ptx.types import B32, B64, F32, F64, PRED, U64, Type

#: The oldest version and architecture that have every instruction the templates use.
VERSION: Final = (7, 0)
TARGET: Final = "sm_70"


class Emitter:
    """A kernel under construction. Integer registers are untyped bits of 32 or 64; the instruction has the type."""

    def __init__(self, name: str) -> None:
        self.function = Function(name, True)
        self.function.linkage = ".visible"
        self.labels = 0
        #: What runs once before the rows, and where instructions go now.
        self.prologue: list[Statement] = []
        self.body: list[Statement] = self.prologue

    def start_rows(self) -> None:
        """From here on instructions follow the prologue, which ``hoisted`` still extends."""
        self.body = []

    def module(self) -> Module:
        self.function.body = [*self.prologue, *self.body]
        made = Module()
        made.version = VERSION
        made.target = [TARGET]
        made.add(self.function)
        return made

    # Declarations

    def pointer_param(self, name: str) -> None:
        self.function.params.append(Variable(name, "param", U64))

    def scalar_param(self, name: str, type: Type) -> None:
        self.function.params.append(Variable(name, "param", type))

    def shared(self, name: str, type: Type, count: int) -> None:
        self.function.variables.append(Variable(name, "shared", type, [count]))

    def directive(self, name: str, text: str) -> None:
        self.function.directives.append(Directive(name, text))

    def register(self, type: Type) -> Register:
        return self.function.new_register(type)

    # Instructions

    def op(self, text: str, operands: list[Operand]) -> None:
        self.body.append(Instruction(decode(text), operands))

    def guarded(self, guard: Register, text: str, operands: list[Operand]) -> None:
        self.body.append(Instruction(decode(text), operands, guard))

    def made(self, type: Type, text: str, sources: list[Operand]) -> Register:
        """A new register of ``type`` that the instruction writes."""
        target = self.register(type)
        self.op(text, [target, *sources])
        return target

    def new_label(self, stem: str) -> str:
        self.labels += 1
        return f"${stem}_{self.labels}"

    def place(self, label: str) -> None:
        self.body.append(Label(label))

    def branch(self, label: str, guard: Register | None = None, uniform: bool = True) -> None:
        text = "bra.uni" if uniform else "bra"
        self.body.append(Instruction(decode(text), [LabelRef(label)], guard))

    # What templates say often

    def pointer(self, name: str) -> Register:
        """The global address in a pointer parameter."""
        generic = self.made(B64, "ld.param.u64", [Address(Symbol(name))])
        return self.made(B64, "cvta.to.global.u64", [generic])

    def param(self, name: str, type: Type) -> Register:
        register_type = {"f32": F32, "f64": F64}.get(type.name, B32 if type.bits == 32 else B64)
        return self.made(register_type, f"ld.param.{type.name}", [Address(Symbol(name))])

    def hoisted_param(self, name: str, type: Type) -> Register:
        """As ``param``, in the prologue."""
        current, self.body = self.body, self.prologue
        made = self.param(name, type)
        self.body = current
        return made

    def special(self, name: str) -> Register:
        return self.made(B32, "mov.u32", [SpecialRegister(name)])

    def both(self, left: Register, right: Register) -> Register:
        return self.made(PRED, "and.pred", [left, right])

    def either(self, left: Register, right: Register) -> Register:
        return self.made(PRED, "or.pred", [left, right])

    def negated(self, predicate: Register) -> Register:
        return self.made(PRED, "not.pred", [predicate])


def integer(value: int) -> Immediate:
    return Immediate(value)


def float32(value: float) -> Immediate:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return Immediate(bits, FLOAT32)


def float64(value: float) -> Immediate:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return Immediate(bits, FLOAT64)
