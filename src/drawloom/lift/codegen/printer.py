"""The tree of generated code to OpenCL C 1.2 text."""

from __future__ import annotations

from drawloom.lift.arithmetic import Constant, Nat, Variable, c_condition, c_text, c_text_by_depth, ceil_div
from drawloom.lift.codegen.launch import GLB, REDUCE, SEQ, WORK_ITEM_IDS, WRG
from drawloom.lift.codegen.syntax import (
    FOR,
    IF,
    ONCE,
    Access,
    Apply,
    Assign,
    AtomicUpdate,
    Barrier,
    Choose,
    DeclareIndex,
    If,
    Index,
    Loop,
    Member,
    SetIndex,
    SetPointer,
    Statement,
    SwapPointers,
    Text,
    Value,
)
from drawloom.lift.codegen.user_functions import FunctionTable
from drawloom.lift.codegen.vector_buffers import VectorIndices
from drawloom.lift.memory.buffers import PRIVATE, Buffer
from drawloom.lift.views.views import UnsupportedView

INDENT = "  "


class CodePrinter:
    """Prints the statements of a kernel."""

    def __init__(self, functions: FunctionTable, vectors: VectorIndices) -> None:
        self.functions = functions
        self.vectors = vectors
        self.lines: list[str] = []
        self.depth = 0  # of the loops around the current statement
        self.depths: dict[Variable, int] = {}  # of the loops that change variables
        self.uniform: set[Variable] = set()  # the variables of loops that work-items run together
        self.own: set[str] = set(WORK_ITEM_IDS)  # what else differs between the work-items of a group

    def statements(self, statements: list[Statement], indent: str) -> None:
        for statement in statements:
            self.statement(statement, indent)

    def statement(self, statement: Statement, indent: str) -> None:
        if isinstance(statement, AtomicUpdate):
            self.atomic(statement, indent)
        elif isinstance(statement, Assign):
            self.lines.append(indent + self.assignment(statement) + ";")
        elif isinstance(statement, Loop):
            self.loop(statement, indent)
        elif isinstance(statement, If):
            self.lines.append(f"{indent}if ({c_condition(statement.condition)}) {{")
            only = statement.body[0] if len(statement.body) == 1 else None
            body = only.body if isinstance(only, Loop) and only.form == ONCE else statement.body
            self.statements(body, indent + INDENT)
            self.lines.append(indent + "}")
        elif isinstance(statement, Barrier):
            fences = [
                name
                for name, is_needed in (
                    ("CLK_LOCAL_MEM_FENCE", statement.local),
                    ("CLK_GLOBAL_MEM_FENCE", statement.global_),
                )
                if is_needed
            ]
            name = "sub_group_barrier" if statement.of_warp else "barrier"
            self.lines.append(f"{indent}{name}({' | '.join(fences)});")
            if statement.of_warp:
                self.functions.extensions.add("cl_khr_subgroups")
        elif isinstance(statement, DeclareIndex):
            self.depths[statement.variable] = self.depth
            self.lines.append(f"{indent}int {statement.variable.name} = {self.value(statement.value)};")
        elif isinstance(statement, SetIndex):
            self.lines.append(f"{indent}{statement.variable.name} = {c_text(statement.value)};")
        elif isinstance(statement, SetPointer):
            pointer = statement.pointer
            type = f"{pointer.space} {self.functions.spell_type(pointer.element)} *"
            self.lines.append(f"{indent}{type if statement.is_declaration else ''}{pointer.name} = "
                              f"{statement.target.name};")  # fmt: skip
        else:
            assert isinstance(statement, SwapPointers)
            source, target = statement.source.name, statement.target.name
            home, spare = statement.home.name, statement.spare.name
            self.lines.append(f"{indent}{source} = {target};")
            self.lines.append(f"{indent}{target} = ({target} == {home}) ? {spare} : {home};")

    def loop(self, loop: Loop, indent: str) -> None:
        if loop.form == ONCE:
            self.lines.append(indent + "{")
        elif loop.form == IF:
            condition = f"{c_text(loop.start)} < {parenthesised(c_text(loop.stop))}"
            self.lines.append(f"{indent}if ({condition}) {{")
        else:
            name = loop.variable.name
            step = "++" if isinstance(loop.step, Constant) and loop.step.value == 1 else f" += {c_text(loop.step)}"
            head = f"int {name} = {c_text(loop.start)}; {name} < {parenthesised(c_text(loop.stop))}; {name}{step}"
            self.lines.append(f"{indent}for ({head}) {{")
        if loop.kind == GLB:
            self.own.add(loop.variable.name)
        is_inner = loop.form == FOR and loop.kind not in (GLB, WRG)  # loops over groups mostly run once
        if is_inner:
            self.depth += 1
            self.depths[loop.variable] = self.depth
            if loop.kind in (SEQ, REDUCE):
                self.uniform.add(loop.variable)
        self.statements(loop.body, indent + INDENT)
        if is_inner:
            self.depth -= 1
        self.lines.append(indent + "}")

    def index(self, index: Nat) -> str:
        return c_text_by_depth(index, self.depths, self.uniform, self.own)

    def atomic(self, statement: AtomicUpdate, indent: str) -> None:
        place = f"&{self.access(statement.place)}"
        value = self.value(statement.value)
        if statement.word == "long":
            is_extended = statement.builtin in ("atom_min", "atom_max")
            self.functions.extensions.add(f"cl_khr_int64_{'extended' if is_extended else 'base'}_atomics")
        if statement.builtin:
            self.lines.append(f"{indent}{statement.builtin}({place}, {value});")
            return
        buffer = statement.place.buffer
        word = statement.word
        pointer = f"volatile {buffer.space} {word} *"
        exchange = "atomic_cmpxchg" if word == "int" else "atom_cmpxchg"
        self.lines += [
            f"{indent}{{",
            f"{indent}{INDENT}{pointer}word = ({pointer}){place};",
            f"{indent}{INDENT}{word} seen = {exchange}(word, 0, 0), before;",
            f"{indent}{INDENT}do {{",
            f"{indent}{INDENT}{INDENT}before = seen;",
            f"{indent}{INDENT}{INDENT}seen = {exchange}(word, before, as_{word}({value}));",
            f"{indent}{INDENT}}} while (seen != before);",
            f"{indent}}}",
        ]

    def assignment(self, statement: Assign) -> str:
        place, value = statement.place, self.value(statement.value)
        if place.width and not place.buffer.memory.vector_access:
            return f"{self.vector_call('vstore', place, value + ', ')}"
        return f"{self.access(place)} = {value}"

    def value(self, value: Value) -> str:
        if isinstance(value, Index):
            return self.index(value.nat)
        if isinstance(value, Text):
            return value.text
        if isinstance(value, Access):
            is_call = value.width and not value.buffer.memory.vector_access
            return self.vector_call("vload", value, "") if is_call else self.access(value)
        if isinstance(value, Apply):
            return value.name + ", ".join([self.value(argument) for argument in value.arguments]) + value.closing
        if isinstance(value, Member):
            return f"{self.value(value.operand)}.{value.name}"
        assert isinstance(value, Choose)
        condition = c_condition(value.condition)
        return f"({condition} ? {self.value(value.then)} : {self.value(value.otherwise)})"

    def vector_call(self, name: str, access: Access, before: str) -> str:
        """Print a load or store of consecutive elements; where they are a whole vector by the vector's index."""
        quotient, rest = access.index // access.width, access.index % access.width
        buffer = access.buffer.name
        if isinstance(rest, Constant) and rest.value == 0:
            return f"{name}{access.width}({before}{self.index(quotient)}, {buffer})"
        return f"{name}{access.width}({before}0, {buffer} + {parenthesised(self.index(access.index))})"

    def access(self, access: Access) -> str:
        buffer = access.buffer
        if buffer.space == PRIVATE or buffer.role == "value":
            text = self.register(access)
        elif buffer.memory.vector_access:
            found = self.vectors.find(access.index, buffer.memory.vector_access)
            assert found is not None
            return f"{buffer.name}[{self.index(found)}]"
        else:
            text = f"{buffer.name}[{self.index(access.index)}]"
        if access.component is None:
            return text
        if not isinstance(access.component, Constant):
            raise UnsupportedView(f"component {access.component} of the vector {buffer.name} is not a constant")
        return f"{text}.s{access.component.value:x}"

    def register(self, access: Access) -> str:
        buffer = access.buffer
        if not buffer.lengths or buffer.role == "value":
            return buffer.name
        if buffer.is_scalarised:
            if buffer.constant_count == 1:
                return buffer.name
            assert isinstance(access.index, Constant)
            return f"{buffer.name}_{access.index.value}"
        return f"{buffer.name}[{self.index(access.index)}]"

    def element_type(self, buffer: Buffer) -> str:
        type = self.functions.spell_type(buffer.element)
        return f"{type}{buffer.memory.vector_access}" if buffer.memory.vector_access else type

    def declaration(self, buffer: Buffer) -> str:
        """Print the declaration of a local or private buffer."""
        type = self.element_type(buffer)
        if buffer.space != PRIVATE:
            width = buffer.memory.vector_access
            length = ceil_div(buffer.capacity, width) if width else buffer.capacity
            return f"local {type} {buffer.name}[{c_text(length)}];"
        count = buffer.constant_count
        if not buffer.lengths or (buffer.is_scalarised and count == 1):
            return f"{type} {buffer.name};"
        if buffer.is_scalarised:
            assert count is not None
            return f"{type} {', '.join([f'{buffer.name}_{at}' for at in range(count)])};"
        return f"{type} {buffer.name}[{count}];"


def parenthesised(text: str) -> str:
    return f"({text})" if any(mark in text for mark in "?<>") else text
