"""The values of a program in registers and in memory, as lines of C that define, store and load them again."""

from __future__ import annotations

import re
import textwrap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.c_text import FunctionText
from drawloom.batch.backends.chunk_ir import Chunk
from drawloom.batch.backends.ve.instructions import LANES, LOADS
from drawloom.batch.backends.ve.registers import RegisterFile, Slots, Uses
from drawloom.batch.ir.ir import DTYPES, MASK

#: Bytes of a mask of 256 lanes.
MASK_BYTES: Final = LANES // 8
FREE: Final = ("constant", "argument", "group")
INDENT: Final = "    "


class Values(FunctionText):
    """`n` is the vector length, `parts` the number of pieces of a chunk that have this length.

    A value in memory has a base, which is `slots` or a pointer, and an offset in bytes. Each element takes 8 bytes.
    """

    parts: int

    def begin_values(self, parts: int) -> None:
        self.parts = parts
        self.n = self.width // parts
        self.uses = Uses(self.program.block)
        self.registers = RegisterFile(self.uses)
        self.slots = Slots()
        self.memory: dict[int, tuple[str, int]] = {}
        self.owned: dict[int, tuple[int, int]] = {}
        self.depth_of: dict[int, int] = {}
        self.pending: list[list[tuple[int, int]]] = []
        self.pinned: set[int] = set()
        self.borrowed: list[Chunk] = []
        self.tables: dict[bytes, str] = {}

    # Shapes.

    def is_packed(self, type: str) -> bool:
        return self.parts == 2 and type == "float"

    def count(self, type: str) -> int:
        """Return how many registers a chunk fills."""
        return 1 if self.is_packed(type) else self.parts

    def bytes_of(self, type: str) -> int:
        return MASK_BYTES * self.parts if type == MASK else 8 * self.n * self.count(type)

    def lane_offset(self, type: str, lane: int) -> int:
        """Return where a lane is in a value's memory."""
        part, element = divmod(lane, self.n)
        return 8 * element + 4 * part if self.is_packed(type) else 8 * lane

    # Registers.

    def need(self, chunk: Chunk) -> list[str]:
        """Return the registers of a value, which is loaded again where it has left them."""
        known = self.registers.names.get(chunk.number)
        if known is not None:
            return known
        self.pinned.add(chunk.number)
        expressions = self.remake(chunk, again=True) if self.is_cheap(chunk) else self.reload(chunk)
        self.make_room(chunk.type, len(expressions))
        names = [self.named(text, self.register_type(chunk.type), "r") for text in expressions]
        self.registers.hold(chunk, names)
        return names

    def define(self, chunk: Chunk, expressions: list[str]) -> None:
        """Give the registers of a value their names."""
        assert len(expressions) == self.count(chunk.type), (chunk.op, chunk.type)
        self.make_room(chunk.type, len(expressions))
        names = []
        for number, expression in enumerate(expressions):
            if re.fullmatch(r"[a-z]+\d+(_\d+)?", expression):
                names.append(expression)  # nothing but another name
                continue
            name = f"c{chunk.number}" if len(expressions) == 1 else f"c{chunk.number}_{number}"
            self.line(f"const {self.register_type(chunk.type)} {name} = {expression};")
            names.append(name)
        self.registers.hold(chunk, names)
        self.depth_of[chunk.number] = len(self.pending)

    def register_type(self, type: str) -> str:
        return "__vm256" if type == MASK else "__vr"

    def named(self, expression: str, type: str = "__vr", prefix: str = "t") -> str:
        name = self.temporary(prefix)
        self.line(f"const {type} {name} = {expression};")
        return name

    def singles(self, chunk: Chunk) -> list[str]:
        """Return a register for each part; the low half of a packed one moves to where operations on floats look."""
        names = self.need(chunk)
        if not self.is_packed(chunk.type):
            return names
        return [self.named(f"_vel_vsll_vvsl({names[0]}, 32, {self.n})"), names[0]]

    def define_singles(self, chunk: Chunk, expressions: list[str]) -> None:
        """Define a value by a register for each part, which are packed where the type asks for it."""
        if self.is_packed(chunk.type):
            low, high = expressions
            expressions = [f"_vel_vshf_vvvsl({high}, {low}, VE_VSHUFFLE_YUZU, {self.n})"]
        self.define(chunk, expressions)

    def make_room(self, type: str, more: int) -> None:
        for chunk in self.registers.surplus(type == MASK, more, self.pinned):
            self.leave(chunk)

    def leave(self, chunk: Chunk) -> None:
        """Take a value out of its registers."""
        if chunk.number not in self.memory and not self.is_cheap(chunk) and self.uses.following(chunk.number):
            self.keep_in_memory(chunk)
        self.registers.drop(chunk)

    def leave_registers(self) -> None:
        for chunk in list(self.registers.chunks.values()):
            self.leave(chunk)

    def finish_use(self, chunk: Chunk) -> None:
        if not self.uses.pop(chunk):
            self.release(chunk)

    def release(self, chunk: Chunk) -> None:
        """Forget a value that nothing reads any more. What a loop reads in each turn stays until the loop ends."""
        self.registers.drop(chunk)
        piece = self.owned.pop(chunk.number, None)
        if piece is None:
            return
        depth = self.depth_of.get(chunk.number, len(self.pending))
        if depth < len(self.pending):
            self.pending[depth].append(piece)
        else:
            self.slots.give(*piece)

    # Memory.

    def take_slot(self, chunk: Chunk, size: int) -> int:
        offset = self.slots.take(size)
        self.memory[chunk.number] = ("slots", offset)
        self.owned[chunk.number] = (offset, size)
        self.depth_of.setdefault(chunk.number, len(self.pending))
        return offset

    def keep_in_memory(self, chunk: Chunk) -> tuple[str, int]:
        """Return where a value is in memory; store it if it is in registers only."""
        known = self.memory.get(chunk.number)
        if known is not None:
            return known
        names = self.need(chunk)
        offset = self.take_slot(chunk, self.bytes_of(chunk.type))
        self.store_registers(names, chunk.type, "slots", offset)
        return "slots", offset

    def store_value(self, chunk: Chunk, base: str) -> None:
        self.pinned = {chunk.number}
        self.store_registers(self.need(chunk), chunk.type, base, 0)

    def store_registers(self, names: list[str], type: str, base: str, offset: int) -> None:
        for number, name in enumerate(names):
            if type == MASK:
                self.line(f"store_mask({at(base, offset + MASK_BYTES * number)}, {name});")
            else:
                self.line(f"_vel_vst_vssl({name}, 8, {at(base, offset + 8 * self.n * number)}, {self.n});")

    def reload(self, chunk: Chunk) -> list[str]:
        base, offset = self.memory[chunk.number]
        if chunk.type == MASK:
            return [f"load_mask({at(base, offset + MASK_BYTES * part)})" for part in range(self.parts)]
        size = 8 * self.n
        return [
            f"_vel_vld_vssl(8, opaque({at(base, offset + size * number)}), {self.n})"
            for number in range(self.count(chunk.type))
        ]

    def anonymous(self, type: str, names: list[str]) -> Chunk:
        """Return a value in memory, made of registers, that stays until the current instruction is printed."""
        self.temporaries += 1
        chunk = Chunk(-self.temporaries, "anonymous", type, (), None)
        self.depth_of[chunk.number] = len(self.pending)
        self.store_registers(names, type, "slots", self.take_slot(chunk, self.bytes_of(type)))
        self.borrowed.append(chunk)
        return chunk

    def release_borrowed(self) -> None:
        for chunk in self.borrowed:
            self.release(chunk)
        self.borrowed = []

    # Values that are made again where they are needed.

    def is_cheap(self, chunk: Chunk) -> bool:
        """Return whether a value is made again, not stored: a number, or what memory holds anyway."""
        if chunk.op in FREE:
            return True
        if chunk.op not in ("load", "broadcast") or chunk.operands:
            return False
        return chunk.detail.pointer in self.program.read_only and (chunk.op == "broadcast" or chunk.type in LOADS)

    def remake(self, chunk: Chunk, *, again: bool) -> list[str]:
        """Return the registers of a value that is cheap, or of a load or broadcast that the kernel does once."""
        if chunk.op == "constant":
            return self.constant_registers(chunk.type, np.frombuffer(chunk.detail, DTYPES[chunk.type]))
        if chunk.op == "group":
            return self.group_registers(np.array(chunk.detail, np.int64))
        if chunk.op == "argument":
            return self.scalar_registers(chunk.type, f"arg_{chunk.detail}")
        address = self.address(chunk.detail)
        if chunk.op == "broadcast":
            place = f"({self.pointer_type(chunk.detail.pointer)})opaque({address})" if again else address
            return self.scalar_registers(chunk.type, f"*({place})")
        lanes = np.arange(self.width)
        return self.load_constant_places(chunk.type, address, lanes, np.ones(self.width, bool), again=again)

    def load_constant_places(
        self, type: str, address: str, offsets: NDArray[Any], live: NDArray[np.bool_], *, again: bool = False
    ) -> list[str]:
        """Load elements of an array (`memory.py`)."""
        raise NotImplementedError

    def vectors_of_mask(self, chunk: Chunk) -> list[str]:
        """Return masks as registers of 0 and 1."""
        ones = self.named(f"_vel_vbrdl_vsl(1, {self.n})")
        return [self.named(f"_vel_vmrg_vsvml(0, {ones}, {m}, {self.n})") for m in self.need(chunk)]

    def scalar_registers(self, type: str, scalar: str) -> list[str]:
        """Return registers that hold one number in every lane."""
        if type == MASK:
            every = f"_vel_vbrdl_vsl(opaque_bits((uint64_t){scalar}), {self.n})"
            return [f"_vel_vfmklne_mvl({every}, {self.n})"] * self.parts
        if type == "double":
            bits = f"bits_of_double({scalar})"
        elif self.is_packed(type):
            bits = f"bits_of_float({scalar}) * UINT64_C(0x100000001)"
        elif type == "float":
            bits = f"bits_of_float({scalar}) << 32"
        else:
            bits = f"(uint64_t)(int64_t)({scalar})"
        return [f"_vel_vbrdl_vsl((int64_t)opaque_bits({bits}), {self.n})"] * self.count(type)

    def group_registers(self, numbers: NDArray[np.int64]) -> list[str]:
        result = []
        for row in numbers.reshape(self.parts, -1):
            if (row == row[0]).all():
                text = f"_vel_vbrdl_vsl((int64_t)opaque_bits((uint64_t)(group + {row[0]})), {self.n})"
            else:
                text = f"_vel_vaddul_vsvl((uint64_t)group, {self.word_register(row.view(np.uint64))}, {self.n})"
            result.append(text)
        return result

    def constant_registers(self, type: str, numbers: NDArray[Any]) -> list[str]:
        if type == MASK:
            return [make_mask(row) for row in numbers.reshape(self.parts, -1)]
        return [self.word_register(row) for row in self.words(type, numbers)]

    def words(self, type: str, numbers: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the elements of the registers of a constant."""
        if type == "double":
            return numbers.view(np.uint64).reshape(self.parts, -1)
        if type != "float":
            return numbers.astype(np.int64).view(np.uint64).reshape(self.parts, -1)
        bits = numbers.view(np.uint32).astype(np.uint64).reshape(self.parts, -1)
        return bits << np.uint64(32) if self.parts == 1 else bits[:1] | bits[1:] << np.uint64(32)

    def word_register(self, words: NDArray[np.uint64]) -> str:
        """Return a register of constant elements."""
        if (words == words[0]).all():
            return f"_vel_vbrdl_vsl((int64_t)opaque_bits(UINT64_C({words[0]:#x})), {self.n})"
        return f"_vel_vld_vssl(8, opaque({self.table(words)}), {self.n})"

    def table(self, words: NDArray[np.uint64]) -> str:
        """Return the name of constant elements in memory."""
        return self.tables.setdefault(words.tobytes(), f"table{len(self.tables) + 1}")

    def table_lines(self) -> list[str]:
        lines = []
        for words, name in self.tables.items():
            numbers = ", ".join(f"{word:#x}" for word in np.frombuffer(words, np.uint64))
            rows = textwrap.wrap(numbers, 108, initial_indent=INDENT, subsequent_indent=INDENT)
            lines += [f"static const uint64_t {name}[{len(words) // 8}] = {{", *rows, "};"]
        return lines

    # Loops.

    def begin_carried(self, carried: Chunk) -> tuple[str, str]:
        """Make room for a carried value in this turn and the next, and return the pointers to both."""
        size = self.bytes_of(carried.type)
        offset = self.slots.take(2 * size)
        now, following = f"now{carried.number}", f"next{carried.number}"
        self.line(f"unsigned char *{now} = slots + {offset}, *{following} = slots + {offset + size};")
        self.memory[carried.number] = (now, 0)
        self.owned[carried.number] = (offset, 2 * size)
        self.depth_of[carried.number] = len(self.pending)
        return now, following

    def enter_loop(self) -> None:
        self.pending.append([])

    def leave_loop(self) -> None:
        self.registers.clear()
        for piece in self.pending.pop():
            self.slots.give(*piece)


def at(base: str, offset: int) -> str:
    return f"{base} + {offset}" if offset else base


def make_mask(lanes: NDArray[np.bool_]) -> str:
    return f"make_mask({', '.join(f'UINT64_C({word:#x})' for word in mask_words(lanes))})"


def mask_words(lanes: NDArray[np.bool_]) -> list[int]:
    """Return the four words of a mask register, whose highest bit is the first lane."""
    bits = np.pad(lanes, (0, LANES - len(lanes)))
    return [int.from_bytes(np.packbits(row).tobytes(), "big") for row in bits.reshape(4, 64)]
