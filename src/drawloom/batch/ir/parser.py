"""Text of InfReg-IR, as `printer.py` writes it, back to the data model.

The metadata says what the lanes of every register are, so the text of several groups side by side becomes the kernel of
one group; lanes that differ between groups are refused.
"""

from __future__ import annotations

import re
import struct
from typing import Any, Final, NamedTuple

import numpy as np

from drawloom.batch.ir.ir import (
    DTYPES,
    UNDEFINED,
    VOID,
    Access,
    Block,
    Format,
    Kernel,
    Lanes,
    Loop,
    Parameter,
    Term,
    Value,
)
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS
from drawloom.batch.ir.printer import INTRINSICS, SATURATING
from drawloom.errors import ParseError

TOKEN: Final = re.compile(r'\s*(?P<token>[%@!]?[\w.$-]+|!"[^"]*"|!|[<>(){}\[\],=:])')
REGISTER: Final = re.compile(r"%r(\d+)$")
STEP: Final = re.compile(r"%r(\d+)\.([\w.]+)$")
#: Words between an operation's name and its operands.
COMPARISONS: Final = ("icmp", "fcmp")


class Node(NamedTuple):
    """A metadata node: strings, and lanes with their types."""

    parts: tuple[Any, ...]


def parse_kernel(text: str, file: str = "<text>") -> Kernel:
    """Parse the text of one kernel.

    Raises:
        ParseError: The text is not what `show_kernel` writes; the error names the line.
    """
    reader = Reader(text, file)
    try:
        reader.read_nodes()
        return reader.kernel()
    except (IndexError, KeyError, ValueError, TypeError, AttributeError, AssertionError, StopIteration, OverflowError):
        # The grammar is a printer's: what is not in its order fails somewhere in the middle of a line.
        raise reader.line_before().error("the line is not what the printer writes") from None


class Line:
    """The tokens of a line, and how far they are read."""

    def __init__(self, text: str, number: int, file: str) -> None:
        self.text = text
        self.number = number
        self.file = file
        self.tokens = [match["token"] for match in TOKEN.finditer(text)]
        self.next = 0

    def error(self, message: str, expected: str = "") -> ParseError:
        return ParseError(message, self.file, self.number, 1, self.text[:400], expected)

    def peek(self, ahead: int = 0) -> str:
        place = self.next + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if not token or (wanted and token not in wanted):
            raise self.error(f"found {token or 'the end of the line'}", " or ".join(wanted))
        self.next += 1
        return token

    def skip(self, *tokens: str) -> None:
        for token in tokens:
            self.take(token)

    def integer(self) -> int:
        token = self.take()
        try:
            return int(token)
        except ValueError:
            raise self.error(f"found {token}", "a number") from None

    def vector_type(self) -> tuple[int, str]:
        """Read `<8 x double>`."""
        self.skip("<")
        count = self.integer()
        self.skip("x")
        type = self.take()
        self.skip(">")
        return count, type

    def lanes(self, count: int, type: str) -> Lanes:
        """Read the lanes of a constant after its type."""
        if self.peek() == "splat":
            self.skip("splat", "(", type)
            number = self.number_of(type)
            self.skip(")")
            return np.full(count, number, DTYPES[type])
        self.skip("<")
        numbers = []
        for place in range(count):
            if place:
                self.skip(",")
            self.skip(type)
            numbers.append(self.number_of(type))
        self.skip(">")
        return np.array(numbers, DTYPES[type])

    def number_of(self, type: str) -> Any:
        token = self.take()
        try:
            if type in ("float", "double"):
                return struct.unpack("<d", struct.pack("<Q", int(token, 16)))[0]
            if type == "i1":
                return {"true": True, "false": False}[token]
            return UNDEFINED if token == "poison" else int(token)
        except (ValueError, KeyError, struct.error):
            raise self.error(f"found {token}", f"a number of type {type}") from None


class Reader:
    """The lines of the function, the metadata nodes, and the values that are defined so far."""

    def __init__(self, text: str, file: str) -> None:
        rows = [Line(row, number, file) for number, row in enumerate(text.split("\n"), 1)]
        self.nodes: dict[str, Node] = {}
        self.lines = [line for line in rows if line.tokens and not line.tokens[0].startswith("declare")]
        self.place = 0
        self.values: dict[int, Value] = {}
        self.constants: dict[Any, Value] = {}
        self.steps: dict[tuple[int, str], Line] = {}
        self.formats: dict[str, Format] = {}
        self.pack = 1
        self.wg_size = 1
        self.written: set[str] = set()
        self.types: dict[str, str] = {}

    def line(self) -> Line:
        if self.place >= len(self.lines):
            last = self.lines[-1] if self.lines else Line("", 1, "<text>")
            raise last.error("the text ends within the function", "}")
        return self.lines[self.place]

    def line_before(self) -> Line:
        """Return the line that was read last."""
        if not self.lines:
            return Line("", 1, "<text>")
        return self.lines[min(max(self.place - 1, 0), len(self.lines) - 1)]

    # Metadata.

    def read_nodes(self) -> None:
        """Read the metadata nodes, and leave the function's lines."""
        for line in [line for line in self.lines if re.match(r"!\d+$", line.tokens[0])]:
            self.read_node(line)
        self.lines = [line for line in self.lines if line.tokens[0] not in self.nodes]

    def read_node(self, line: Line) -> None:
        name = line.take()
        line.skip("=", "!", "{")
        parts: list[Any] = []
        while line.peek() != "}":
            if parts:
                line.skip(",")
            if line.peek().startswith('!"'):
                parts.append(line.take()[2:-1])
            elif line.peek() == "<":
                parts.append(line.lanes(*line.vector_type()))
            else:
                line.take("i32", "i64")
                parts.append(line.integer())
        self.nodes[name] = Node(tuple(parts))

    def attachments(self, line: Line) -> dict[str, str]:
        """Return the nodes at the end of a line by their kinds, and cut them off."""
        found: dict[str, str] = {}
        tokens = line.tokens
        while len(tokens) >= 3 and tokens[-3] == "," and tokens[-2].startswith("!") and tokens[-1] in self.nodes:
            found[tokens[-2]] = tokens[-1]
            del tokens[-3:]
        return found

    def format(self, line: Line, attached: dict[str, str]) -> Format:
        """Return the format that a line's metadata describes."""
        name = attached.get("!infreg")
        if name is None:
            raise line.error("the line has no metadata", "!infreg")
        if name not in self.formats:
            parts = self.nodes[name].parts
            facts = dict(zip(parts[::2], parts[1::2]))
            missing = {"ix", "wi.ix", "wg.off", "wg.size", "wg.ix"} - facts.keys()
            if missing:
                raise line.error(f"{name} lacks {', '.join(sorted(missing))}")
            format = Format(int(facts["wi.ix"].max()) + 1, int(facts["ix"].max()) + 1)
            groups, items, columns = np.indices((self.pack, *format))
            expected = {"wg.off": groups, "wi.ix": items, "ix": columns}
            if any(not np.array_equal(facts[key], lanes.reshape(-1)) for key, lanes in expected.items()):
                raise line.error(f"the lanes of {name} are not those of {self.pack} groups side by side")
            if facts["wg.size"] != self.wg_size or format.items not in (1, self.wg_size):
                raise line.error(f"{name} is for groups of another size than {self.wg_size}")
            self.formats[name] = format
        return self.formats[name]

    def one_group(self, line: Line, lanes: Lanes, format: Format) -> Lanes:
        """Return the lanes of one group, where all groups have the same."""
        rows = lanes.reshape(self.pack, -1)
        if rows.shape[1] != format.lanes:
            raise line.error(f"{rows.shape[1]} lanes for each group", f"{format.lanes}")
        if rows.dtype.kind == "f":
            rows = rows.view(np.dtype(f"i{rows.dtype.itemsize}"))
        if (rows != rows[0]).any():
            raise line.error("a constant differs between groups")
        return lanes[: format.lanes].reshape(format)

    # The function.

    def kernel(self) -> Kernel:
        line = self.line()
        line.skip("define", "void")
        name = line.take()[1:]
        parameters = self.parameters(line)
        line.skip("!kernel")
        facts = self.nodes.get(line.take(), Node(())).parts
        if len(facts) != 3 or facts[0] < 1 or facts[1] < 1:
            raise line.error("the kernel's metadata is malformed", "!{i32 wg_size, i32 pack, i64 most_groups}")
        self.wg_size, self.pack, most_groups = facts
        self.place += 1
        self.line().skip("entry", ":")
        self.place += 1
        body = self.block()
        self.line().skip("ret", "void")
        return Kernel(name, self.wg_size, parameters, body, most_groups)

    def parameters(self, line: Line) -> list[Parameter]:
        result: list[Parameter] = []
        line.skip("(")
        pointers: dict[str, str] = {}
        for row in self.lines:
            match = re.search(r"getelementptr (\w+), ptr %(\w+),", row.text)
            if match is not None:
                pointers[match[2]] = match[1]
        while True:
            type = line.take()
            is_pointer, is_written = type == "ptr", True
            while line.peek() in ("noalias", "readonly"):
                is_written = line.take() != "readonly"
            name = line.take()[1:]
            if name == "group":
                break
            self.types[name] = type = pointers.get(name, "i8") if is_pointer else type
            result.append(Parameter(name, type, is_pointer, is_pointer and is_written))
            line.skip(",")
        line.skip(")")
        return result

    def block(self) -> Block:
        """Read values up to a line that ends a block."""
        block = Block()
        while True:
            line = self.line()
            first = line.peek()
            if first in ("ret", "}") or (first.startswith(("%vote", "br")) and not self.begins_loop(line)):
                return block
            if first == "br":
                self.loop(block)
                continue
            self.place += 1
            step = STEP.match(first)
            if step is not None or first == "store":
                self.step(line, step)
            elif first == "call":
                block.values.append(self.store(line))
            elif REGISTER.match(first):
                block.values.append(self.value(line))
            else:
                raise line.error(f"found {first}", "an instruction")

    def step(self, line: Line, step: re.Match[str] | None) -> None:
        """Remember a step of a value that follows."""
        if step is None:  # the store of a register that a lookup reads
            table = next((STEP.match(token) for token in line.tokens if token.endswith(".table")), None)
            if table is None:
                raise line.error("a store that belongs to no lookup")
            self.steps[int(table[1]), "table"] = line
        elif step[2] != "table":
            self.steps[int(step[1]), step[2]] = line

    def operand(self, line: Line, type: str, count: int, format: Format) -> Value:
        """Read a register, or a constant of a format, whose type is read."""
        token = line.peek()
        match = REGISTER.match(token)
        if match is None:
            return self.constant(type, self.one_group(line, line.lanes(count, type), format))
        line.take()
        value = self.values.get(int(match[1]))
        if value is None:
            raise line.error(f"{token} is not defined before")
        return value

    def typed_operand(self, line: Line, format: Format) -> Value:
        count, type = line.vector_type()
        return self.operand(line, type, count, format)

    def constant(self, type: str, lanes: Lanes) -> Value:
        key = (type, lanes.shape, lanes.tobytes())
        if key not in self.constants:
            number = -1 - len(self.constants)
            self.constants[key] = Value(number, "constant", type, Format(*lanes.shape), (), np.ascontiguousarray(lanes))
        return self.constants[key]

    def define(self, number: int, op: str, type: str, format: Format, operands: Any, detail: Any = None) -> Value:
        value = self.values[number] = Value(number, op, type, format, tuple(operands), detail)
        return value

    def value(self, line: Line) -> Value:
        attached = self.attachments(line)
        format = self.format(line, attached)
        match = REGISTER.match(line.take())
        assert match is not None
        number = int(match[1])
        line.skip("=")
        op = line.take()
        if op in COMPARISONS:
            op = f"{op} {line.take()}"
        if op == "call":
            return self.called(line, number, format, attached)
        if op == "shufflevector":
            return self.permute(line, number, format)
        if op == "bitcast" and self.is_copy(line):
            return self.copied(line, number, format)
        if op == "trunc" and (number, "table") in self.steps:
            return self.lookup(number, "i1", format)
        if op in CONVERSIONS:
            source = self.typed_operand(line, format)
            line.skip("to")
            return self.define(number, op, line.vector_type()[1], format, [source])
        if op not in OPERATIONS:
            raise line.error(f"the operation {op} is unknown")
        if op == "add" and (number, "all") in self.steps:
            return self.define(number, "group", "i64", format, [])
        return self.operation(line, number, op, format)

    def operation(self, line: Line, number: int, op: str, format: Format) -> Value:
        operands: list[Value] = []
        count, type = 0, ""
        while line.peek():
            if operands:
                line.skip(",")
            if op == "select" or not operands:
                count, type = line.vector_type()
            operands.append(self.operand(line, type, count, format))
        operation = OPERATIONS[op]
        if len(operands) != operation.operands:
            raise line.error(f"{op} has {len(operands)} operands", str(operation.operands))
        return self.define(number, op, type if operation.result == "same" else operation.result, format, operands)

    def called(self, line: Line, number: int, format: Format, attached: dict[str, str]) -> Value:
        type = line.vector_type()[1]
        words = line.take().split(".")
        name = words[1] if len(words) > 2 else ""
        if name == "masked" and (number, "table") in self.steps:
            return self.lookup(number, type, format)
        if name == "masked":
            return self.load(line, number, type, format, attached)
        if name not in INTRINSICS and name not in SATURATING:
            raise line.error(f"the function {name} is unknown")
        operands: list[Value] = []
        line.skip("(")
        while line.peek() != ")":
            if operands:
                line.skip(",")
            operands.append(self.typed_operand(line, format))
        return self.define(number, name, type, format, operands)

    def permute(self, line: Line, number: int, format: Format) -> Value:
        _, type = line.vector_type()
        match = REGISTER.match(line.take())
        if match is None or int(match[1]) not in self.values:
            raise line.error("a shuffle of something that is not defined before")
        source = self.values[int(match[1])]
        line.skip(",")
        line.vector_type()
        line.skip("poison", ",")
        places = line.lanes(*line.vector_type())
        rows = places.reshape(self.pack, -1) - np.arange(self.pack, dtype=np.int32)[:, None] * source.format.lanes
        undefined = places.reshape(self.pack, -1) == UNDEFINED
        rows[undefined] = UNDEFINED
        is_inside = undefined | ((rows >= 0) & (rows < source.format.lanes))
        if not is_inside.all() or (rows != rows[0]).any() or rows.shape[1] != format.lanes:
            raise line.error("the lanes are not moved within groups, or not in all groups alike")
        return self.define(number, "permute", type, format, [source], rows[0].reshape(format).astype(np.int32))

    def is_copy(self, line: Line) -> bool:
        """Return whether a bitcast keeps the type of its operand: it names a value after a loop, or an argument."""
        # < count x TYPE > value to < count x TYPE >
        return line.peek(3) == line.peek(10)

    def copied(self, line: Line, number: int, format: Format) -> Value:
        """Read a value after a loop, or an argument."""
        _, type = line.vector_type()
        match = REGISTER.match(line.peek())
        if match is None:
            one = self.steps.get((number, "one"))
            if one is None:
                raise line.error("a copy of something unknown")
            return self.define(number, "argument", type, format, [], one.tokens[-4][1:])
        carried = self.values.get(int(match[1]))
        if carried is None or carried.op != "carried":
            raise line.error(f"{line.peek()} is carried by no loop before")
        loop = next(value for value in self.values.values() if value.op == "loop" and carried in value.detail.carried)
        return self.define(number, "result", type, format, [loop], carried)

    def lookup(self, number: int, type: str, format: Format) -> Value:
        stored = self.steps[number, "table"]
        attached = self.attachments(stored)
        wide = self.steps.get((number, "bytes"), stored)
        wide.next = wide.tokens.index("<")
        source = self.typed_operand(wide, self.format(stored, attached))
        lane = self.steps[number, "lane"]
        lane.next = lane.tokens.index("<")
        return self.define(number, "lookup", type, format, [source, self.typed_operand(lane, format)])

    # Memory.

    def load(self, line: Line, number: int, type: str, format: Format, attached: dict[str, str]) -> Value:
        access = self.access(line, attached, format)
        operands = [*self.index(number, format), *self.mask(line, number, format)]
        op = "gather" if (number, "sum") in self.steps and self.index(number, format) else "load"
        return self.define(number, op, type, format, operands, access)

    def store(self, line: Line) -> Value:
        attached = self.attachments(line)
        format = self.format(line, attached)
        access = self.access(line, attached, format)
        line.skip("call", "void")
        line.take()
        line.skip("(")
        stored = self.typed_operand(line, format)
        places = next((STEP.match(token) for token in line.tokens if token.endswith(".places")), None)
        if places is None:
            raise line.error("a store without addresses")
        number = int(places[1])
        index = self.index(number, format)
        operands = [stored, *index, *self.mask(line, number, format)]
        return self.define(number, "scatter" if index else "store", VOID, format, operands, access)

    def index(self, number: int, format: Format) -> list[Value]:
        """Return the run-time index of an access, where it has one."""
        line = self.steps.get((number, "sum"))
        if line is None or line.tokens[0] != f"%r{number}.sum":
            return []
        line.next = line.tokens.index("<")
        return [self.typed_operand(line, format)]

    def mask(self, line: Line, number: int, format: Format) -> list[Value]:
        """Return the run-time mask of an access, where it has one: a register among the arguments."""
        step = self.steps.get((number, "mask"))
        if step is not None:
            step.next = step.tokens.index("<")
            return [self.typed_operand(step, format)]
        for place, token in enumerate(line.tokens):
            if token == "i1" and line.tokens[place + 1] == ">" and REGISTER.match(line.tokens[place + 2]):
                line.next = place - 3
                return [self.typed_operand(line, format)]
        return []

    def access(self, line: Line, attached: dict[str, str], format: Format) -> Access:
        name = attached.get("!access")
        if name is None:
            raise line.error("the line has no metadata", "!access")
        pointer, offsets, active, *rest = self.nodes[name].parts
        terms = tuple(
            Term(tuple(factors.split(" ")), self.one_group(line, lanes, format))
            for factors, lanes in zip(rest[::2], rest[1::2])
        )
        return Access(
            pointer, terms, self.one_group(line, offsets, format), self.one_group(line, active, format)
        )

    # Loops.

    def begins_loop(self, line: Line) -> bool:
        """Return whether a branch goes on to the header of a loop that follows."""
        if line.peek() != "br" or self.place + 1 >= len(self.lines):
            return False
        target = line.tokens[-1][1:]
        return target.startswith("header") and self.lines[self.place + 1].peek() == target

    def loop(self, block: Block) -> None:
        self.place += 1
        number = int(self.line().take().removeprefix("header"))
        self.place += 1
        phis: list[tuple[Value, Line]] = []
        while "phi" in self.line().tokens[:3]:
            phis.append(self.phi(self.line()))
            self.place += 1
        loop = Loop([carried for carried, _ in phis])
        initial = [self.arm(line, carried) for carried, line in phis]
        loop.header = self.block()
        vote = self.line()
        vote.next = vote.tokens.index("<")
        loop.condition = self.typed_operand(vote, Format(self.wg_size, 1))
        self.place += 3
        loop.body = self.block()
        self.place += 2
        loop.next_values = [self.arm(line, carried) for carried, line in phis]
        block.values.append(self.define(number, "loop", VOID, loop.condition.format, initial, loop))

    def phi(self, line: Line) -> tuple[Value, Line]:
        format = self.format(line, self.attachments(line))
        match = REGISTER.match(line.take())
        assert match is not None
        line.skip("=", "phi")
        _, type = line.vector_type()
        return self.define(int(match[1]), "carried", type, format, []), line

    def arm(self, line: Line, carried: Value) -> Value:
        """Read the next value of a phi: the initial one first, the following one when the body is read."""
        if line.peek() == ",":
            line.skip(",")
        line.skip("[")
        value = self.operand(line, carried.type, self.pack * carried.format.lanes, carried.format)
        line.skip(",")
        line.take()
        line.skip("]")
        return value
