"""InfReg-IR as text: LLVM IR that runs, with metadata that says what the lanes are (paper, section 3.2, example 1).

    %r3 = fmul <8 x double> %r1, %r2, !infreg !1
    !1 = !{!"ix", <8 x i32> <...>, !"wi.ix", <8 x i32> <...>, !"wg.off", <8 x i32> <...>,
           !"wg.size", i32 4, !"wg.ix", !"group"}

The registers of `pack` groups lie side by side, lanes in the order (group, item, element). `ix` is the element of a
lane, `wi.ix` its item, `wg.off` its group in the pack; its group in the batch is `wg.off` plus the argument `%group`. A
load or store has a second node, `!access`: the pointer, the offset of each lane, which lanes are active, and for each
product of run-time numbers its factors and coefficients. Names with a dot (`%r3.places`) are steps of the value before
the dot. Dropping the metadata leaves plain LLVM IR. `parser.py` reads the text back.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from drawloom.batch.ir.ir import DTYPES, MASK, UNDEFINED, Access, Block, Format, Kernel, Lanes, Loop, Value
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS

SUFFIXES: Final = {"float": "f32", "double": "f64"}
INTRINSICS: Final = ("fma", "sqrt", "fabs")
SATURATING: Final = ("fptosi", "fptoui")


def show_kernel(kernel: Kernel, pack: int = 1) -> str:
    """Return a kernel as text.

    Args:
        kernel: InfReg-IR.
        pack: How many groups lie side by side (WG_PACK).
    """
    return Printer(kernel, pack).text()


class Printer:
    """The lines of the function, the declarations it needs, and the metadata nodes by their text."""

    def __init__(self, kernel: Kernel, pack: int) -> None:
        self.kernel = kernel
        self.pack = pack
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.declarations: dict[str, str] = {}
        self.nodes: dict[str, int] = {}
        self.label = "entry"

    def text(self) -> str:
        kernel = self.kernel
        parameters = ", ".join([*map(parameter_text, kernel.parameters), "i64 %group"])
        facts = self.node(f"!{{i32 {kernel.wg_size}, i32 {self.pack}, i64 {kernel.most_groups}}}")
        self.block(kernel.body)
        nodes = [f"!{number} = {text}" for text, number in self.nodes.items()]
        return "\n".join([
            f"define void @{kernel.name}({parameters}) !kernel {facts} {{", "entry:", *self.allocas, *self.lines,
            "  ret void", "}", *self.declarations.values(), *nodes, "",
        ])  # fmt: skip

    # Types, names, metadata.

    def node(self, text: str) -> str:
        return f"!{self.nodes.setdefault(text, len(self.nodes))}"

    def lanes(self, format: Format) -> int:
        return self.pack * format.lanes

    def vector(self, type: str, format: Format) -> str:
        return f"<{self.lanes(format)} x {type}>"

    def suffix(self, type: str, format: Format) -> str:
        return f"v{self.lanes(format)}{SUFFIXES.get(type, type)}"

    def infreg(self, format: Format) -> str:
        """Return the attachment that says what the lanes of a format are."""
        rows = {"ix": np.arange(format.extent)[None, :], "wi.ix": np.arange(format.items)[:, None]}
        parts = [f'!"{name}", {self.every_group("i32", np.broadcast_to(row, format))}' for name, row in rows.items()]
        parts.append(f'!"wg.off", {self.group_numbers("i32", format)}')
        parts.append(f'!"wg.size", i32 {self.kernel.wg_size}, !"wg.ix", !"group"')
        return f", !infreg {self.node('!{' + ', '.join(parts) + '}')}"

    def group_numbers(self, type: str, format: Format, step: int = 1) -> str:
        """Return the number of each lane's group, times a step, as a constant."""
        return constant_text(type, np.repeat(np.arange(self.pack), format.lanes) * step)

    def every_group(self, type: str, lanes: Lanes) -> str:
        """Return lanes of one group, repeated for all, as a constant."""
        return constant_text(type, np.tile(lanes.reshape(-1), self.pack))

    def name(self, value: Value) -> str:
        if value.is_constant:
            return self.every_group(value.type, value.detail).partition("> ")[2]
        return f"%r{value.number}"

    def typed(self, value: Value) -> str:
        return f"{self.vector(value.type, value.format)} {self.name(value)}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def declare(self, name: str, result: str, arguments: str) -> None:
        self.declarations[name] = f"declare {result} @{name}({arguments})"

    # Instructions.

    def block(self, block: Block) -> None:
        for value in block.values:
            self.value(value)

    def value(self, value: Value) -> None:
        op = value.op
        if op in ("load", "gather"):
            self.load(value)
        elif op in ("store", "scatter"):
            self.store(value)
        elif op == "loop":
            self.loop(value)
        else:
            text = self.instruction(value)
            self.line(f"%r{value.number} = {text}{self.infreg(value.format)}")

    def instruction(self, value: Value) -> str:
        """Return what gives a value, after emitting the steps before it."""
        op, operands = value.op, value.operands
        vector = self.vector(value.type, value.format)
        if op == "permute":
            return self.permute(value)
        if op == "lookup":
            return self.lookup(value)
        if op == "group":
            self.splat(value, "i64", "%group")
            return f"add {vector} %r{value.number}.all, {self.group_numbers('i64', value.format).partition('> ')[2]}"
        if op == "argument":
            self.splat(value, value.type, f"%{value.detail}")
            return f"bitcast {vector} %r{value.number}.all to {vector}"
        if op == "result":
            return f"bitcast {self.typed(value.detail)} to {vector}"
        if op in INTRINSICS:
            return self.call(f"llvm.{op}.{self.suffix(value.type, value.format)}", value)
        if op in SATURATING:
            source = operands[0].type
            suffix = f"{self.suffix(value.type, value.format)}.{self.suffix(source, value.format)}"
            return self.call(f"llvm.{op}.sat.{suffix}", value)
        if op in CONVERSIONS:
            return f"{op} {self.typed(operands[0])} to {vector}"
        if op == "select":
            return f"select {', '.join(self.typed(operand) for operand in operands)}"
        assert op in OPERATIONS, op
        return f"{op} {', '.join([self.typed(operands[0]), *[self.name(operand) for operand in operands[1:]]])}"

    def call(self, function: str, value: Value) -> str:
        vector = self.vector(value.type, value.format)
        self.declare(function, vector, ", ".join(self.vector(o.type, o.format) for o in value.operands))
        return f"call {vector} @{function}({', '.join(self.typed(operand) for operand in value.operands)})"

    def splat(self, value: Value, type: str, scalar: str) -> None:
        vector, name = self.vector(type, value.format), f"%r{value.number}"
        self.line(f"{name}.one = insertelement {vector} poison, {type} {scalar}, i64 0")
        zeros = f"<{self.lanes(value.format)} x i32> zeroinitializer"
        self.line(f"{name}.all = shufflevector {vector} {name}.one, {vector} poison, {zeros}")

    def permute(self, value: Value) -> str:
        source = value.operands[0]
        lanes = value.detail.reshape(-1)
        places = [
            UNDEFINED if lane < 0 else group * source.format.lanes + lane
            for group in range(self.pack)
            for lane in lanes.tolist()
        ]
        texts = ", ".join(f"i32 {'poison' if place < 0 else place}" for place in places)
        poison = f"{self.vector(source.type, source.format)} poison"
        return f"shufflevector {self.typed(source)}, {poison}, <{len(places)} x i32> <{texts}>"

    def lookup(self, value: Value) -> str:
        """Write a register to memory, and read the lanes that an index names; masks are kept as bytes."""
        source, index = value.operands
        name = f"%r{value.number}"
        type = "i8" if source.type == MASK else source.type
        stored = self.typed(source)
        if type != source.type:
            self.line(f"{name}.bytes = zext {stored} to {self.vector(type, source.format)}")
            stored = f"{self.vector(type, source.format)} {name}.bytes"
        self.allocas.append(f"  {name}.table = alloca {self.vector(type, source.format)}, align 64")
        self.line(f"store {stored}, ptr {name}.table, align 64{self.infreg(source.format)}")
        offsets = self.group_numbers("i64", value.format, source.format.lanes).partition("> ")[2]
        self.line(f"{name}.lane = add {self.typed(index)}, {offsets}")
        lanes = f"<{self.lanes(value.format)} x i64> {name}.lane"
        self.line(f"{name}.places = getelementptr {type}, ptr {name}.table, {lanes}")
        read = self.gather(type, value.format, f"{name}.places", self.all_lanes(value.format))
        if type == source.type:
            return read
        self.line(f"{name}.read = {read}")
        return f"trunc {self.vector(type, value.format)} {name}.read to {self.vector(MASK, value.format)}"

    # Memory.

    def all_lanes(self, format: Format) -> str:
        return constant_text(MASK, np.ones(self.lanes(format), bool))

    def gather(self, type: str, format: Format, pointers: str, mask: str) -> str:
        vector, pointer = self.vector(type, format), f"<{self.lanes(format)} x ptr>"
        function = f"llvm.masked.gather.{self.suffix(type, format)}.v{self.lanes(format)}p0"
        self.declare(function, vector, f"{pointer}, {self.vector(MASK, format)}, {vector}")
        size = DTYPES[type].itemsize
        return f"call {vector} @{function}({pointer} align {size} {pointers}, {mask}, {vector} zeroinitializer)"

    def load(self, value: Value) -> None:
        has_index = value.op == "gather"
        index = value.operands[0] if has_index else None
        mask = value.operands[-1] if len(value.operands) > has_index else None
        attachments = self.infreg(value.format) + self.access(value.detail)
        pointers = self.pointers(value, value.type, index)
        read = self.gather(value.type, value.format, pointers, self.mask(value, mask))
        self.line(f"%r{value.number} = {read}{attachments}")

    def store(self, value: Value) -> None:
        has_index = value.op == "scatter"
        stored = value.operands[0]
        index = value.operands[1] if has_index else None
        mask = value.operands[-1] if len(value.operands) > 1 + has_index else None
        attachments = self.infreg(value.format) + self.access(value.detail)
        pointers = self.pointers(value, stored.type, index)
        chosen = self.mask(value, mask)
        pointer = f"<{self.lanes(value.format)} x ptr>"
        function = f"llvm.masked.scatter.{self.suffix(stored.type, value.format)}.v{self.lanes(value.format)}p0"
        self.declare(
            function, "void", f"{self.vector(stored.type, value.format)}, {pointer}, {self.vector(MASK, value.format)}"
        )
        size = DTYPES[stored.type].itemsize
        arguments = f"{self.typed(stored)}, {pointer} align {size} {pointers}, {chosen}"
        self.line(f"call void @{function}({arguments}){attachments}")

    def access(self, access: Access) -> str:
        parts = [f'!"{access.pointer}"', self.every_group("i64", access.offsets), self.every_group(MASK, access.active)]
        for term in access.terms:
            parts += [f'!"{" ".join(term.factors)}"', self.every_group("i64", term.coefficients)]
        return f", !access {self.node('!{' + ', '.join(parts) + '}')}"

    def mask(self, value: Value, mask: Value | None) -> str:
        active = value.detail.active
        if mask is None:
            return self.every_group(MASK, active)
        if active.all():
            return self.typed(mask)
        name = f"%r{value.number}.mask"
        self.line(f"{name} = and {self.typed(mask)}, {self.every_group(MASK, active).partition('> ')[2]}")
        return f"{self.vector(MASK, value.format)} {name}"

    def pointers(self, value: Value, type: str, index: Value | None) -> str:
        """Compute the address of every lane; returns its name."""
        access: Access = value.detail
        name = f"%r{value.number}"
        vector = self.vector("i64", value.format)
        total = self.every_group("i64", access.offsets).partition("> ")[2]
        for number, term in enumerate(access.terms):
            product = self.every_group("i64", term.coefficients).partition("> ")[2]
            for place, factor in enumerate(term.factors):
                step = f"{name}.{number}.{place}"
                self.line(f"{step}.factor = {self.factor(step, factor, value.format)}")
                self.line(f"{step} = mul {vector} {step}.factor, {product}")
                product = step
            self.line(f"{name}.{number}.sum = add {vector} {product}, {total}")
            total = f"{name}.{number}.sum"
        if index is not None:
            self.line(f"{name}.sum = add {self.typed(index)}, {total}")
            total = f"{name}.sum"
        self.line(f"{name}.places = getelementptr {type}, ptr %{access.pointer}, {vector} {total}")
        return f"{name}.places"

    def factor(self, step: str, factor: str, format: Format) -> str:
        """Return a run-time number in every lane: the group of each, or an argument."""
        vector = self.vector("i64", format)
        scalar = f"%{factor}"
        if factor != "group" and self.kernel.parameter(factor).type != "i64":
            self.line(f"{step}.wide = sext {self.kernel.parameter(factor).type} {scalar} to i64")
            scalar = f"{step}.wide"
        self.line(f"{step}.one = insertelement {vector} poison, i64 {scalar}, i64 0")
        zeros = f"<{self.lanes(format)} x i32> zeroinitializer"
        self.line(f"{step}.all = shufflevector {vector} {step}.one, {vector} poison, {zeros}")
        numbers = self.group_numbers("i64", format) if factor == "group" else f"{vector} zeroinitializer"
        return f"add {vector} {step}.all, {numbers.partition('> ')[2]}"

    # Loops.

    def loop(self, value: Value) -> None:
        loop: Loop = value.detail
        number, before = value.number, self.label
        self.line(f"br label %header{number}")
        self.lines.append(f"header{number}:")
        mark = len(self.lines)
        self.label = f"header{number}"
        self.block(loop.header)
        condition = loop.condition
        function = f"llvm.vector.reduce.or.{self.suffix(MASK, condition.format)}"
        self.declare(function, "i1", self.vector(MASK, condition.format))
        self.line(f"%vote{number} = call i1 @{function}({self.typed(condition)})")
        self.line(f"br i1 %vote{number}, label %body{number}, label %after{number}")
        self.lines.append(f"body{number}:")
        self.label = f"body{number}"
        self.block(loop.body)
        self.line(f"br label %header{number}")
        phis = []
        for carried, initial, following in zip(loop.carried, value.operands, loop.next_values):
            arms = f"[ {self.name(initial)}, %{before} ], [ {self.name(following)}, %{self.label} ]"
            vector = self.vector(carried.type, carried.format)
            phis.append(f"  %r{carried.number} = phi {vector} {arms}{self.infreg(carried.format)}")
        self.lines[mark:mark] = phis
        self.lines.append(f"after{number}:")
        self.label = f"after{number}"


def parameter_text(parameter: Any) -> str:
    if not parameter.is_pointer:
        return f"{parameter.type} %{parameter.name}"
    return f"ptr noalias {'' if parameter.is_written else 'readonly '}%{parameter.name}"


def constant_text(type: str, lanes: Lanes) -> str:
    """Return a typed constant; lanes that are all alike are a splat."""
    texts = [number_text(number, type) for number in np.asarray(lanes, DTYPES[type]).tolist()]
    vector = f"<{len(texts)} x {type}>"
    if all(text == texts[0] for text in texts):
        return f"{vector} splat ({type} {texts[0]})"
    return f"{vector} <{', '.join(f'{type} {text}' for text in texts)}>"


def number_text(number: Any, type: str) -> str:
    """Return a number as LLVM writes it: floating point by the bits of a double, masks as words."""
    if type in ("float", "double"):
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    return ("true" if number else "false") if type == MASK else str(number)
