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
from drawloom.ptx.isa import Opcode, decode
from drawloom.ptx.operands import word_type
from drawloom.ptx.types import B32, B64, F32, F64, PRED, U64, Type

#: The oldest version and architecture that have every instruction the templates use.
VERSION: Final = (7, 0)
TARGET: Final = "sm_70"
#: Threads of a warp, and the mask of all of them.
WARP: Final = 32
ALL_LANES: Final = -1


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
        self.function.body = self.prologue if self.body is self.prologue else [*self.prologue, *self.body]
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

    # Instructions whose operands may be Python integers, memory by index, and structured control

    def calc(self, text: str, *sources: Operand | int) -> Register:
        """A new register with what the instruction computes, of the type that the instruction table gives it."""
        opcode = decode(text)
        target = self.function.new_register(_result_type(opcode, len(sources) + 1))
        self.body.append(Instruction(opcode, [target, *_operands(sources)]))
        return target

    def put(self, text: str, *operands: Operand | int, guard: Register | None = None) -> None:
        """The instruction with all of its operands; where ``guard`` does not hold nothing is written."""
        self.body.append(Instruction(decode(text), _operands(operands), guard))

    def element(self, base: Register, index: Register, bytes: int) -> Address:
        """The element ``index`` (32 bits, unsigned) of an array of elements of ``bytes`` at the global ``base``."""
        return Address(self.calc("mad.wide.u32", index, bytes, base))

    def load(self, storage: str, base: Register, index: Register, guard: Register | None = None) -> Register:
        """``base[index]``, an array of PTX type ``storage``; where ``guard`` does not hold it is zero."""
        address = self.element(base, index, int(storage[1:]) // 8)
        if guard is None:
            return self.calc(f"ld.global.{storage}", address)
        moved = storage if storage[0] == "f" else "b64" if storage.endswith("64") else "b32"
        made = self.calc(f"mov.{moved}", zero(storage))
        self.put(f"ld.global.{storage}", made, address, guard=guard)
        return made

    def store(
        self, storage: str, base: Register, index: Register, value: Operand | int, guard: Register | None = None
    ) -> None:
        """``base[index] = value``, where ``guard`` holds."""
        self.put(f"st.global.{storage}", self.element(base, index, int(storage[1:]) // 8), value, guard=guard)

    def shared_array(self, name: str, type: Type, count: int) -> Register:
        """The address of a new array of ``count`` elements in the block's shared memory."""
        self.shared(name, type, count)
        return self.calc("mov.u32", Symbol(name))

    def shared_element(self, base: Register, index: Register, bytes: int) -> Address:
        return Address(self.calc("mad.lo.u32", index, bytes, base))

    def when(self, condition: Register, uniform: bool = False) -> When:
        """``with emitter.when(p):`` the statements where ``p`` holds; ``uniform`` promises that all threads agree."""
        return When(self, condition, uniform)

    def loop(self) -> Loop:
        """``with emitter.loop() as loop:`` the statements again and again until ``loop.leave(p)``."""
        return Loop(self)

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


class When:
    """The statements of a ``with`` block, jumped over where a condition does not hold."""

    def __init__(self, emitter: Emitter, condition: Register, uniform: bool) -> None:
        self.emitter = emitter
        self.condition = condition
        self.uniform = uniform
        self.end = emitter.new_label("end")

    def __enter__(self) -> When:
        text = "bra.uni" if self.uniform else "bra"
        self.emitter.body.append(Instruction(decode(text), [LabelRef(self.end)], self.condition, True))
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.emitter.place(self.end)


class Loop:
    """The statements of a ``with`` block, repeated until left."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.head = emitter.new_label("loop")
        self.end = emitter.new_label("left")

    def __enter__(self) -> Loop:
        self.emitter.place(self.head)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.emitter.branch(self.head)
        self.emitter.place(self.end)

    def leave(self, condition: Register, uniform: bool = False) -> None:
        """Goes on behind the loop where ``condition`` holds; ``uniform`` promises that all threads agree."""
        self.emitter.branch(self.end, condition, uniform)


def _operands(given: tuple[Operand | int, ...]) -> list[Operand]:
    return [Immediate(o) if isinstance(o, int) else o for o in given]


def _result_type(opcode: Opcode, count: int) -> Type:
    """The type of the register that an instruction with ``count`` operands writes: integers are untyped bits."""
    for form in opcode.forms:
        if form.required <= count <= len(form.operands):
            type = word_type(form.operands[0], opcode)
            assert type is not None, f"'{opcode.text}' writes no register of one type"
            return type if type is PRED or type.is_float else B64 if type.bits == 64 else B32
    raise AssertionError(f"'{opcode.text}' with {count} operands")


def zero(storage: str) -> Immediate:
    """The zero of a PTX type."""
    return {"f32": float32(0.0), "f64": float64(0.0)}.get(storage, integer(0))


def integer(value: int) -> Immediate:
    return Immediate(value)


def float32(value: float) -> Immediate:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return Immediate(bits, FLOAT32)


def float64(value: float) -> Immediate:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return Immediate(bits, FLOAT64)
