"""The vectors of a machine as LLVM IR: a function that runs a range of groups, a pack in every turn of its loop.

    void NAME(ptr or scalar for each parameter, i64 first, i64 last)      ; last - first is a multiple of the pack
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from drawloom.batch.backends.c_text import read_pointers
from drawloom.batch.backends.chunk_ir import (
    IN_RANGE,
    Chunk,
    ChunkLoop,
    ChunkProgram,
    Place,
    Read,
    places_in,
)
from drawloom.batch.backends.reloads import MASK_TYPES, STACK
from drawloom.batch.ir.ir import DTYPES, MASK, Kernel
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS
from drawloom.batch.ir.printer import INTRINSICS, SATURATING, SUFFIXES, number_text
from drawloom.cpu.vector.machine import host, vector_bits

#: Bytes of an element below which masked accesses are not used: LLVM 22 makes of a store of one lane of <8 x i8> one of
#: eight bytes, and x86 has no such instructions before AVX-512BW.
SMALLEST_MASKED: Final = 4
#: The most bytes that are loaded or stored at once: LLVM 22 takes longer accesses for interleaved ones, and asserts
#: where the lanes stored are a constant's.
LONGEST: Final = 64
#: Bytes of a cache line, and of a group's part of an array from which on it is asked for ahead, where nothing in the
#: kernel's order of memory is foreseen, and elsewhere: CPUs foresee a pack of smaller ones. Interleaved kernels for
#: 100,000 matrices of 8 and 10 doubles become 1.0 to 1.9 times as fast, of 8 floats `trsv` 2.7 and `ldus` 1.1 times;
#: those of 4 doubles and floats would become up to 1.3 times as slow, and so would `trsm` of 8 floats, in rows.
LINE: Final = 64
LEAST_AHEAD: Final = 256
LEAST_FORESEEN: Final = 512
#: What a pack reads, up to which the pack after the next one is asked for. Longer ones would drive each other out of
#: the first cache. With 50,000 items, `ldus` and `trsv` of 16 doubles become 1.2 times as fast as with the next pack (4
#: and 8 KB), `gemm` 1.1 times (4 KB), and `ldus` and `trsv` of 32 doubles 0.9 times (16 KB).
NEAR_BYTES: Final = 12 << 10
#: The most slots before or after an address that x86-64 reaches by a byte (Intel's manual, volume 2, section 2.7.5).
MOST_SHORT: Final = 127
#: The most vectors of a table that are permuted, not stored: two permutations and a select for four.
MOST_PERMUTED: Final = 4
#: AVX-512's permutations of one vector and of two by lanes of an index, by type; AVX2 has two of one.
PERMUTED: Final = {"double": ("df", "pd"), "float": ("sf", "ps"), "i64": ("di", "q"), "i32": ("si", "d")}
NARROW_PERMUTED: Final = {"float": "llvm.x86.avx2.permps", "i32": "llvm.x86.avx2.permd"}


def emit_llvm(
    kernel: Kernel, program: ChunkProgram, pack: int, *, prefetch: int | None = None, streaming: bool = False
) -> str:
    """Return a kernel as LLVM IR for vectors of the program's width.

    The program has no saturating conversions (`saturation.py`); narrow integers may be kept in wider lanes.

    Args:
        kernel: The InfReg-IR that the program comes from.
        program: Its vectors.
        pack: How many groups a turn runs.
        prefetch: Ask for a later pack's part of arrays while one runs, if there are so many instructions for each of
            its cache lines.
        streaming: Store around the caches what the kernel does not read. Such arrays begin at multiples of a vector
            register's bytes: parts of one gain nothing.
    """
    emitter = Emitter(kernel, program, pack)
    if prefetch is not None:
        emitter.plan_prefetches(prefetch)
    if streaming:
        emitter.streamed = {p.name for p in kernel.parameters if p.is_written} - read_pointers(program.block)
    return emitter.module()


class Emitter:
    """The lines of a function, the names of its chunks, and the label of the block that lines are added to."""

    def __init__(self, kernel: Kernel, program: ChunkProgram, pack: int) -> None:
        self.kernel = kernel
        self.program = program
        self.width = program.width
        self.pack = pack
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.names: dict[int, str] = {}
        self.entry: list[str] = []
        self.has_every_lane = False
        self.label = "pack"
        self.temporaries = 0
        self.streamed: set[str] = set()
        # The places of a later pack to ask for after each instruction of the outer block, by its number there.
        self.prefetches: dict[int, list[Place]] = {}

    def plan_prefetches(self, least_work: int) -> None:
        """Share the cache lines that a later pack reads out among the instructions, of which each line needs some."""
        loads = [chunk.detail for chunk in self.program.block if chunk.op in ("load", "broadcast")]
        least = LEAST_FORESEEN if least_work else LEAST_AHEAD
        lines: dict[Any, Place] = {}
        for place in sorted(loads, key=lambda place: (place.pointer, place.offset)):
            size = size_of(place.type)
            if len(place.terms) == 1 and place.terms[0][0] == ("group",) and place.terms[0][1] * size >= least:
                for offset in range(place.offset, place.offset + self.width, LINE // size):
                    lines.setdefault((place.pointer, offset * size // LINE), place._replace(offset=offset, phase=0))
        if len(self.program.block) < least_work * len(lines):
            return
        step = max(1, len(self.program.block) // max(1, len(lines)))
        packs = 2 if len(lines) * LINE <= NEAR_BYTES else 1
        for number, place in enumerate(lines.values()):
            ahead = place._replace(offset=place.offset + packs * self.pack * place.terms[0][1])
            self.prefetches.setdefault(number * step, []).append(ahead)

    def prefetch(self, place: Place) -> None:
        self.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
        self.line(f"call void @llvm.prefetch.p0(ptr {self.address(place)}, i32 0, i32 3, i32 1)")

    def module(self) -> str:
        parameters = ", ".join(
            [f"ptr noalias %{p.name}" if p.is_pointer else f"{p.type} %{p.name}" for p in self.kernel.parameters]
            + ["i64 %first", "i64 %last"]
        )
        self.bases()
        for number, chunk in enumerate(self.program.block):
            self.block([chunk])
            for place in self.prefetches.get(number, ()):
                self.prefetch(place)
        body = "\n".join(self.lines)
        fence = self.fence()
        entry = "".join(line + "\n" for line in self.entry)
        declarations = "\n".join(self.declarations.values())
        return f"""define void @{self.kernel.name}({parameters}) nounwind align {LINE} {{
entry:
{entry}  %some = icmp slt i64 %first, %last
  br i1 %some, label %pack, label %done
pack:
  %group = phi i64 [ %first, %entry ], [ %following, %{self.label} ]
{body}
  %following = add i64 %group, {self.pack}
  %more = icmp slt i64 %following, %last
  br i1 %more, label %pack, label %done
done:
{fence}  ret void
}}
{declarations}
{"!0 = !{i32 1}" if fence else ""}
"""

    # Names and types.

    def vector(self, type: str) -> str:
        return f"<{self.width} x {type}>"

    def suffix(self, type: str) -> str:
        return f"v{self.width}{SUFFIXES.get(type, type)}"

    def typed(self, chunk: Chunk) -> str:
        return f"{self.vector(chunk.type)} {self.names[chunk.number]}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def temporary(self) -> str:
        self.temporaries += 1
        return f"%t{self.temporaries}"

    def declare(self, name: str, result: str, arguments: str) -> None:
        self.declarations[name] = f"declare {result} @{name}({arguments})"

    # Addresses.

    def bases(self) -> None:
        """Compute every pointer's run-time part once for a pack."""
        self.base_names: dict[tuple[str, Any], str] = {}
        self.hidden_names: dict[tuple[str, int], str] = {}
        scalars: dict[str, str] = {"group": "%group"}
        for place in places_in(self.program.block):
            key = (place.pointer, place.terms)
            if key in self.base_names:
                continue
            total = "0"
            for factors, coefficient in place.terms:
                product = str(coefficient)
                for factor in factors:
                    name = self.temporary()
                    self.line(f"{name} = mul i64 {self.scalar(factor, scalars)}, {product}")
                    product = name
                name = self.temporary()
                self.line(f"{name} = add i64 {total}, {product}")
                total = name
            base = f"%{place.pointer}"
            if place.pointer == STACK + place.type:
                base = f"%stack.{place.type}"
                self.entry.append(f"  {base} = alloca [{self.program.stack[place.type]} x {place.type}], align 64")
                self.base_names[key] = self.temporary()
                middle = self.middle(place.type)
                self.line(f"{self.base_names[key]} = getelementptr {place.type}, ptr {base}, i64 {middle}")
                continue
            if place.terms:
                base = self.temporary()
                self.line(f"{base} = getelementptr {place.type}, ptr %{place.pointer}, i64 {total}")
            self.base_names[key] = base

    def scalar(self, factor: str, scalars: dict[str, str]) -> str:
        """Return a run-time number as an i64; narrower ones are signed (`addresses.py`)."""
        if factor not in scalars:
            type = self.kernel.parameter(factor).type
            scalars[factor] = f"%{factor}"
            if type != "i64":
                scalars[factor] = self.temporary()
                self.line(f"{scalars[factor]} = sext {type} %{factor} to i64")
        return scalars[factor]

    def address(self, place: Place) -> str:
        base = self.base_names[place.pointer, place.terms]
        if place.phase:
            base = self.hidden_base(base, place.phase)
        offset = place.offset - (self.middle(place.type) if place.pointer.startswith(STACK) else 0)
        if offset == 0:
            return base
        name = self.temporary()
        self.line(f"{name} = getelementptr {place.type}, ptr {base}, i64 {offset}")
        return name

    def middle(self, type: str) -> int:
        """Return the slot of the stack that addresses are relative to: most then take one byte in an instruction."""
        slot = 1 if type in MASK_TYPES.values() else self.width
        return min(self.program.stack[type] // slot // 2, MOST_SHORT) * slot

    def hidden_base(self, base: str, phase: int) -> str:
        """Return a pointer that equals another one without LLVM's knowing."""
        key = (base, phase)
        if key not in self.hidden_names:
            name = self.hidden_names[key] = self.temporary()
            self.line(f'{name} = call ptr asm sideeffect "", "=r,0"(ptr {base})')
        return self.hidden_names[key]

    def pointers(self, place: Place, index: Chunk) -> str:
        name = self.temporary()
        self.line(f"{name} = getelementptr {place.type}, ptr {self.address(place)}, {self.typed(index)}")
        return f"<{self.width} x ptr> align {size_of(place.type)} {name}"

    # Instructions.

    def block(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            if chunk.op == "constant":
                self.names[chunk.number] = self.constant(chunk)
            elif chunk.op == "loop":
                self.loop(chunk)
            else:
                self.names.setdefault(chunk.number, f"%c{chunk.number}")
                self.instruction(chunk)

    def constant(self, chunk: Chunk) -> str:
        numbers = np.frombuffer(chunk.detail, DTYPES[chunk.type])
        texts = [number_text(number, chunk.type) for number in numbers.tolist()]
        return "<" + ", ".join(f"{chunk.type} {text}" for text in texts) + ">"

    def instruction(self, chunk: Chunk) -> None:
        op = chunk.op
        handler: Callable[[Chunk, str], None] | None = getattr(self, "emit_" + op, None)
        name = self.names[chunk.number]
        if handler is not None:
            handler(chunk, name)
        elif op in INTRINSICS:
            self.call(f"llvm.{op}.{self.suffix(chunk.type)}", chunk, name)
        elif op.removesuffix(IN_RANGE) in CONVERSIONS:
            assert op not in SATURATING, op
            plain = op.removesuffix(IN_RANGE)
            self.line(f"{name} = {plain} {self.typed(chunk.operands[0])} to {self.vector(chunk.type)}")
        elif op == "select":
            self.line(f"{name} = select {', '.join(self.typed(operand) for operand in chunk.operands)}")
        else:
            assert op in OPERATIONS, op
            others = "".join(f", {self.names[operand.number]}" for operand in chunk.operands[1:])
            self.line(f"{name} = {op} {self.typed(chunk.operands[0])}{others}")

    def call(self, function: str, chunk: Chunk, name: str) -> None:
        self.declare(function, self.vector(chunk.type), ", ".join(self.vector(o.type) for o in chunk.operands))
        arguments = ", ".join(self.typed(operand) for operand in chunk.operands)
        self.line(f"{name} = call {self.vector(chunk.type)} @{function}({arguments})")

    def splat(self, name: str, type: str, scalar: str) -> None:
        one = self.temporary()
        self.line(f"{one} = insertelement {self.vector(type)} poison, {type} {scalar}, i64 0")
        lanes = f"<{self.width} x i32> zeroinitializer"
        self.line(f"{name} = shufflevector {self.vector(type)} {one}, {self.vector(type)} poison, {lanes}")

    def emit_group(self, chunk: Chunk, name: str) -> None:
        if not any(chunk.detail):
            self.splat(name, "i64", "%group")
            return
        first = self.temporary()
        self.splat(first, "i64", "%group")
        numbers = ", ".join(f"i64 {number}" for number in chunk.detail)
        self.line(f"{name} = add {self.vector('i64')} {first}, <{numbers}>")

    def emit_argument(self, chunk: Chunk, name: str) -> None:
        parameter = self.kernel.parameter(chunk.detail)
        scalar = f"%{parameter.name}"
        if parameter.type != chunk.type:
            scalar = self.temporary()
            self.line(f"{scalar} = sext {parameter.type} %{parameter.name} to {chunk.type}")
        self.splat(name, chunk.type, scalar)

    def emit_shuffle(self, chunk: Chunk, name: str) -> None:
        lanes = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in fill_spread(chunk.detail))
        second = self.names[chunk.operands[1].number] if len(chunk.operands) > 1 else "poison"
        operands = f"{self.typed(chunk.operands[0])}, {self.vector(chunk.type)} {second}"
        self.line(f"{name} = shufflevector {operands}, <{self.width} x i32> <{lanes}>")

    def emit_load(self, chunk: Chunk, name: str) -> None:
        place: Place = chunk.detail
        address, vector = self.address(place), self.vector(place.type)
        if chunk.type == MASK and place.pointer.startswith(STACK):
            bits = self.temporary()
            self.line(f"{bits} = load volatile {place.type}, ptr {address}")
            self.line(f"{name} = bitcast {place.type} {bits} to {self.vector(MASK)}")
            return
        if not chunk.operands:
            self.widened(name, chunk, lambda loaded: self.load_vector(loaded, place, address))
            return
        lanes = constant_lanes(chunk.operands[0])
        if is_run(lanes) and (is_power_of_two(len(lanes)) or size_of(place.type) < SMALLEST_MASKED):
            self.load_part(name, chunk.type, place, lanes)
            return
        function = f"llvm.masked.load.{self.suffix(place.type)}.p0"
        self.declare(function, vector, f"ptr, {self.vector(MASK)}, {vector}")
        pointer, mask = f"ptr align {size_of(place.type)} {address}", self.typed(chunk.operands[0])
        arguments = f"{pointer}, {mask}, {vector} zeroinitializer"
        self.widened(name, chunk, lambda loaded: self.line(f"{loaded} = call {vector} @{function}({arguments})"))

    def widened(self, name: str, chunk: Chunk, load: Callable[[str], None]) -> None:
        """Load a vector, and sign-extend elements that are narrower than the chunk's lanes."""
        memory = chunk.detail.type
        if memory == chunk.type:
            load(name)
            return
        loaded = self.temporary()
        load(loaded)
        self.line(f"{name} = sext {self.vector(memory)} {loaded} to {self.vector(chunk.type)}")

    def load_vector(self, name: str, place: Place, address: str) -> None:
        """Load a vector; pieces of one that is longer than a register are put side by side."""
        count, piece = self.pieces(place.type)
        parts = [name] if count == 1 else [self.temporary() for _ in range(count)]
        for number, part in enumerate(parts):
            there = self.piece_address(place.type, address, number)
            self.line(f"{part} = load {volatile(place)}{piece}, ptr {there}, align {size_of(place.type)}")
        if count > 1:
            self.join(name, place.type, parts)

    def load_part(self, name: str, wide: str, place: Place, lanes: list[int]) -> None:
        """Load some neighbouring lanes as a shorter vector, and sign-extend them."""
        part, short = self.temporary(), f"<{len(lanes)} x {place.type}>"
        address = self.address(place._replace(offset=place.offset + lanes[0]))
        self.line(f"{part} = load {short}, ptr {address}, align {size_of(place.type)}")
        if wide != place.type:
            loaded, part, narrow = part, self.temporary(), short
            short = f"<{len(lanes)} x {wide}>"
            self.line(f"{part} = sext {narrow} {loaded} to {short}")
        moved = ", ".join(
            f"i32 {lane - lanes[0]}" if lane in lanes else f"i32 {len(lanes)}" for lane in range(self.width)
        )
        zero = f"{short} zeroinitializer"
        self.line(f"{name} = shufflevector {short} {part}, {zero}, <{self.width} x i32> <{moved}>")

    def emit_broadcast(self, chunk: Chunk, name: str) -> None:
        scalar, type = self.temporary(), chunk.detail.type
        self.line(f"{scalar} = load {type}, ptr {self.address(chunk.detail)}, align {size_of(type)}")
        if type != chunk.type:
            loaded, scalar = scalar, self.temporary()
            self.line(f"{scalar} = sext {type} {loaded} to {chunk.type}")
        self.splat(name, chunk.type, scalar)

    def emit_gather(self, chunk: Chunk, name: str) -> None:
        mask = self.typed(chunk.operands[1]) if len(chunk.operands) > 1 else self.all_lanes()
        pointers = self.pointers(chunk.detail, chunk.operands[0])
        self.widened(name, chunk, lambda loaded: self.gather(loaded, chunk.detail.type, pointers, mask))

    def gather(self, name: str, type: str, pointers: str, mask: str) -> None:
        vector = self.vector(type)
        function = f"llvm.masked.gather.{self.suffix(type)}.v{self.width}p0"
        self.declare(function, vector, f"<{self.width} x ptr>, {self.vector(MASK)}, {vector}")
        self.line(f"{name} = call {vector} @{function}({pointers}, {mask}, {vector} zeroinitializer)")

    def all_lanes(self) -> str:
        return f"{self.vector(MASK)} <{', '.join(['i1 true'] * self.width)}>"

    def emit_store(self, chunk: Chunk, name: str) -> None:
        place: Place = chunk.detail
        value, address = chunk.operands[0], self.address(place)
        if value.type == MASK and place.pointer.startswith(STACK):
            bits = self.temporary()
            self.line(f"{bits} = bitcast {self.typed(value)} to {place.type}")
            self.line(f"store volatile {place.type} {bits}, ptr {address}")
            return
        if len(chunk.operands) == 1:
            self.whole_store(self.narrowed(value, place.type), place, address)
            return
        lanes = constant_lanes(chunk.operands[1])
        is_small = size_of(place.type) < SMALLEST_MASKED
        if is_run(lanes) and (is_power_of_two(len(lanes)) or is_small):
            self.store_part(value, place, lanes)
            return
        if lanes and is_small:
            for lane in lanes:
                self.store_part(value, place, [lane])
            return
        function, vector = f"llvm.masked.store.{self.suffix(place.type)}.p0", self.vector(place.type)
        self.declare(function, "void", f"{vector}, ptr, {self.vector(MASK)}")
        mask = self.typed(chunk.operands[1])
        if value.type != place.type:
            mask = self.hide_from_llvm(mask)
        stored = f"{vector} {self.narrowed(value, place.type)}"
        self.line(f"call void @{function}({stored}, ptr align {size_of(place.type)} {address}, {mask})")

    def hide_from_llvm(self, mask: str) -> str:
        """Return the same mask as one that LLVM cannot take for a constant.

        With AVX-512, LLVM 22 turns a masked store of truncated numbers, where it finds that the mask is a constant with
        one lane, into a store of that lane before the truncation, which overwrites the elements after it.
        """
        if not self.has_every_lane:
            self.has_every_lane = True
            bytes, zeros = f"<{self.width} x i8>", f"<{self.width} x i32> zeroinitializer"
            self.entry += [
                '  %every.number = call i8 asm "", "=r,0"(i8 1)',
                f"  %every.first = insertelement {bytes} poison, i8 %every.number, i64 0",
                f"  %every.byte = shufflevector {bytes} %every.first, {bytes} poison, {zeros}",
                f"  %every.lane = icmp ne {bytes} %every.byte, zeroinitializer",
            ]
        hidden = self.temporary()
        self.line(f"{hidden} = and {mask}, %every.lane")
        return f"{self.vector(MASK)} {hidden}"

    def narrowed(self, value: Chunk, type: str) -> str:
        """Return the name of a value as elements of memory, which may be narrower than its lanes."""
        if value.type == type:
            return self.names[value.number]
        name = self.temporary()
        self.line(f"{name} = trunc {self.typed(value)} to {self.vector(type)}")
        return name

    def whole_store(self, value: str, place: Place, address: str) -> None:
        if place.pointer in self.streamed and self.is_aligned(place):
            self.store_vector(value, place.type, address, f"align {vector_bits() // 8}, !nontemporal !0")
            return
        self.store_vector(value, place.type, address, f"align {size_of(place.type)}", volatile(place))

    def store_vector(self, value: str, type: str, address: str, attributes: str, kind: str = "") -> None:
        """Store a vector, in pieces where it is longer than a register."""
        count, piece = self.pieces(type)
        for number in range(count):
            part = value if count == 1 else self.piece_of(value, type, number)
            place = self.piece_address(type, address, number)
            self.line(f"store {kind}{piece} {part}, ptr {place}, {attributes}")

    # Pieces of vectors that are loaded and stored.

    def pieces(self, type: str) -> tuple[int, str]:
        """Return how many loads or stores a vector of a type takes, and the type of each."""
        count = self.width * size_of(type) // LONGEST
        if count < 2:
            return 1, self.vector(type)
        assert is_power_of_two(self.width), self.width
        return count, f"<{self.width // count} x {type}>"

    def piece_address(self, type: str, address: str, number: int) -> str:
        if number == 0:
            return address
        name = self.temporary()
        self.line(f"{name} = getelementptr {type}, ptr {address}, i64 {number * LONGEST // size_of(type)}")
        return name

    def piece_of(self, value: str, type: str, number: int) -> str:
        lanes = LONGEST // size_of(type)
        picked = ", ".join(f"i32 {lane}" for lane in range(number * lanes, (number + 1) * lanes))
        name, vector = self.temporary(), self.vector(type)
        self.line(f"{name} = shufflevector {vector} {value}, {vector} poison, <{lanes} x i32> <{picked}>")
        return name

    def join(self, name: str, type: str, parts: list[str]) -> None:
        """Put pieces side by side, pairwise."""
        lanes = LONGEST // size_of(type)
        while len(parts) > 1:
            picked = ", ".join(f"i32 {lane}" for lane in range(2 * lanes))
            joined = [name] if len(parts) == 2 else [self.temporary() for _ in parts[::2]]
            for target, left, right in zip(joined, parts[::2], parts[1::2]):
                pair = f"<{lanes} x {type}> {left}, <{lanes} x {type}> {right}"
                self.line(f"{target} = shufflevector {pair}, <{2 * lanes} x i32> <{picked}>")
            lanes, parts = 2 * lanes, joined

    def is_aligned(self, place: Place) -> bool:
        """Return whether a vector begins and ends where a register's bytes do, if its array begins there."""
        steps = [place.offset, self.width, *[coefficient for _, coefficient in place.terms]]
        return all(step * size_of(place.type) % (vector_bits() // 8) == 0 for step in steps)

    def fence(self) -> str:
        """Return what has stores around the caches seen by other threads in order."""
        if not self.streamed:
            return ""
        self.declare("llvm.x86.sse.sfence", "void", "")
        return "  call void @llvm.x86.sse.sfence()\n"

    def store_part(self, value: Chunk, place: Place, lanes: list[int]) -> None:
        """Store some neighbouring lanes as a shorter vector."""
        part, short = self.temporary(), f"<{len(lanes)} x {value.type}>"
        moved = ", ".join(f"i32 {lane}" for lane in lanes)
        poison = f"{self.vector(value.type)} poison"
        self.line(f"{part} = shufflevector {self.typed(value)}, {poison}, <{len(lanes)} x i32> <{moved}>")
        if value.type != place.type:
            taken, part, wide = part, self.temporary(), short
            short = f"<{len(lanes)} x {place.type}>"
            self.line(f"{part} = trunc {wide} {taken} to {short}")
        address = self.address(place._replace(offset=place.offset + lanes[0]))
        self.line(f"store {short} {part}, ptr {address}, align {size_of(place.type)}")

    def emit_scatter(self, chunk: Chunk, name: str) -> None:
        value = chunk.operands[0]
        mask = self.typed(chunk.operands[2]) if len(chunk.operands) > 2 else self.all_lanes()
        pointers = self.pointers(chunk.detail, chunk.operands[1])
        type = chunk.detail.type
        function = f"llvm.masked.scatter.{self.suffix(type)}.v{self.width}p0"
        self.declare(function, "void", f"{self.vector(type)}, <{self.width} x ptr>, {self.vector(MASK)}")
        stored = f"{self.vector(type)} {self.narrowed(value, type)}"
        self.line(f"call void @{function}({stored}, {pointers}, {mask})")

    def emit_table(self, chunk: Chunk, name: str) -> None:
        """Keep a register in memory, unless reads permute its vectors; masks are kept as bytes."""
        if self.is_permuted(chunk):
            return
        type = memory_type(chunk.type)
        size = size_of(type)
        whole = len(chunk.operands) * self.width
        self.entry.append(f"  {name} = alloca [{whole} x {type}], align 64")
        for number, operand in enumerate(chunk.operands):
            text = self.names[operand.number]
            if type != chunk.type:
                text = self.temporary()
                self.line(f"{text} = zext {self.typed(operand)} to {self.vector(type)}")
            address = self.temporary()
            self.line(f"{address} = getelementptr {type}, ptr {name}, i64 {number * self.width}")
            self.store_vector(text, type, address, f"align {size}")

    def emit_read(self, chunk: Chunk, name: str) -> None:
        table, index = chunk.operands
        read: Read = chunk.detail
        type = memory_type(chunk.type)
        if self.is_permuted(table):
            self.permute_table(chunk, name)
            return
        if read.lane is not None:
            self.read_one(chunk, name, type, read.lane)
            return
        pointers = self.temporary()
        self.line(f"{pointers} = getelementptr {type}, ptr {self.names[table.number]}, {self.typed(index)}")
        wanted = np.frombuffer(read.wanted, np.bool_)
        mask = f"{self.vector(MASK)} <{', '.join(f'i1 {int(lane)}' for lane in wanted)}>"
        target = name if type == chunk.type else self.temporary()
        self.gather(target, type, f"<{self.width} x ptr> align {size_of(type)} {pointers}", mask)
        if type != chunk.type:
            self.line(f"{name} = trunc {self.vector(type)} {target} to {self.vector(chunk.type)}")

    def is_permuted(self, table: Chunk) -> bool:
        """Return whether reads of a table take few permutations by instructions of this CPU."""
        return len(table.operands) <= MOST_PERMUTED and permutation_names(table.type, self.width) is not None

    def permute_table(self, chunk: Chunk, name: str) -> None:
        """Read a table of few vectors: each two are permuted together, and higher bits of the index select a pair."""
        table, index = chunk.operands
        names = permutation_names(chunk.type, self.width)
        assert names is not None
        lanes = self.permutation_index(chunk.type, index, chunk.detail.offset)
        type, number_type = self.vector(chunk.type), "i64" if size_of(chunk.type) == 8 else "i32"
        texts = [f"{type} {self.names[operand.number]}" for operand in table.operands]
        found = []
        for pair in range(0, len(texts), 2):
            found.append(name if len(texts) <= 2 else self.temporary())
            if pair + 1 < len(texts):
                self.declare(names[1], type, f"{type}, {self.vector(number_type)}, {type}")
                self.line(f"{found[-1]} = call {type} @{names[1]}({texts[pair]}, {lanes}, {texts[pair + 1]})")
            else:
                self.declare(names[0], type, f"{type}, {self.vector(number_type)}")
                self.line(f"{found[-1]} = call {type} @{names[0]}({texts[pair]}, {lanes})")
        if len(found) == 2:
            bit, is_second = self.temporary(), self.temporary()
            wide, mask = self.vector(number_type), f"{self.vector(MASK)} {is_second}"
            second_pair = ", ".join([f"{number_type} {2 * self.width}"] * self.width)
            self.line(f"{bit} = and {lanes}, <{second_pair}>")
            self.line(f"{is_second} = icmp ne {wide} {bit}, zeroinitializer")
            self.line(f"{name} = select {mask}, {type} {found[1]}, {type} {found[0]}")

    def permutation_index(self, type: str, index: Chunk, offset: int) -> str:
        """Return an index, with its type, in lanes as wide as those that it permutes."""
        text = self.typed(index)
        if offset:
            moved = self.temporary()
            offsets = ", ".join([f"i64 {offset}"] * self.width)
            self.line(f"{moved} = add {text}, <{offsets}>")
            text = f"{self.vector('i64')} {moved}"
        if size_of(type) == 8:
            return text
        narrow = self.temporary()
        self.line(f"{narrow} = trunc {text} to {self.vector('i32')}")
        return f"{self.vector('i32')} {narrow}"

    def read_one(self, chunk: Chunk, name: str, type: str, lane: int) -> None:
        """Read one element of a table for all lanes, behind the place that a lane of the index says."""
        table, index = chunk.operands
        place, base, address, number = (self.temporary() for _ in range(4))
        self.line(f"{place} = extractelement {self.typed(index)}, i64 {lane}")
        self.line(f"{base} = getelementptr {type}, ptr {self.names[table.number]}, i64 {place}")
        self.line(f"{address} = getelementptr {type}, ptr {base}, i64 {chunk.detail.offset}")
        self.line(f"{number} = load {type}, ptr {address}, align {size_of(type)}")
        if type != chunk.type:
            narrow = self.temporary()
            self.line(f"{narrow} = trunc {type} {number} to {chunk.type}")
            number = narrow
        self.splat(name, chunk.type, number)

    # Loops.

    def loop(self, chunk: Chunk) -> None:
        loop: ChunkLoop = chunk.detail
        number = chunk.number
        before, header, body, after = self.label, f"header{number}", f"body{number}", f"after{number}"
        self.line(f"br label %{header}")
        self.lines.append(f"{header}:")
        for carried in loop.carried:
            self.names[carried.number] = f"%c{carried.number}"
        mark = len(self.lines)
        self.label = header
        self.block(loop.header)
        any_lane = self.vote(loop.conditions)
        self.line(f"br i1 {any_lane}, label %{body}, label %{after}")
        self.lines.append(f"{body}:")
        self.label = body
        self.block(loop.body)
        self.line(f"br label %{header}")
        phis = [
            f"  {self.names[carried.number]} = phi {self.vector(carried.type)} "
            f"[ {self.names[initial.number]}, %{before} ], [ {self.names[following.number]}, %{self.label} ]"
            for carried, initial, following in zip(loop.carried, chunk.operands, loop.next_values)
        ]
        self.lines[mark:mark] = phis
        self.lines.append(f"{after}:")
        self.label = after

    def vote(self, conditions: list[Chunk]) -> str:
        """Return whether any lane of a condition holds."""
        total = self.names[conditions[0].number]
        for chunk in conditions[1:]:
            name = self.temporary()
            self.line(f"{name} = or {self.vector(MASK)} {total}, {self.names[chunk.number]}")
            total = name
        function = f"llvm.vector.reduce.or.{self.suffix(MASK)}"
        self.declare(function, "i1", self.vector(MASK))
        name = self.temporary()
        self.line(f"{name} = call i1 @{function}({self.vector(MASK)} {total})")
        return name


def volatile(place: Place) -> str:
    """Return "volatile " for slots of the stack: else LLVM 22 moves a load of some lanes past the slot's next store."""
    return "volatile " if place.pointer.startswith(STACK) else ""


def fill_spread(sources: tuple[int, ...]) -> list[int]:
    """Fill the gaps between neighbours that are spread out: 8, -1, 9, -1, 10 becomes 8, 8, 9, 9, 10.

    LLVM 22 takes what is spread out for numbers that are extended, and with AVX-512 aborts at some.

    Args:
        sources: The lane that each lane comes from; -1 where nothing reads it.
    """
    filled = list(sources)
    live = [lane for lane, source in enumerate(sources) if source >= 0]
    for left, right in itertools.pairwise(live):
        if sources[right] == sources[left] + 1:
            filled[left + 1 : right] = [sources[left]] * (right - left - 1)
    return filled


def permutation_names(type: str, width: int) -> tuple[str, str] | None:
    """Return LLVM's names for permutations of one vector and of two by an index; None where the CPU has none."""
    bits = width * size_of(memory_type(type)) * 8
    if type not in PERMUTED or not {"avx512f", "avx512vl"} <= host().features or bits not in (256, 512):
        return None
    of_one, of_two = PERMUTED[type]
    if bits == 256 and type in NARROW_PERMUTED:
        return NARROW_PERMUTED[type], f"llvm.x86.avx512.vpermi2var.{of_two}.256"
    return f"llvm.x86.avx512.permvar.{of_one}.{bits}", f"llvm.x86.avx512.vpermi2var.{of_two}.{bits}"


def constant_lanes(mask: Chunk) -> list[int]:
    """Return the lanes of a constant mask; none where it is known at run time only."""
    if mask.op != "constant":
        return []
    return [int(lane) for lane in np.flatnonzero(np.frombuffer(mask.detail, np.bool_))]


def is_run(lanes: list[int]) -> bool:
    return bool(lanes) and lanes[-1] - lanes[0] + 1 == len(lanes)


def is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def memory_type(type: str) -> str:
    return "i8" if type == MASK else type


def size_of(type: str) -> int:
    return int(DTYPES[type].itemsize)
