"""The vectors of a machine as C with intrinsics: a function that runs a range of groups, a pack in every turn.

    void batch_NAME(const float *restrict arg_a, ..., int64_t first, int64_t last);   // last - first: whole packs

Every chunk is as many registers as it fills (`c7_0`, `c7_1`). Lanes beyond the chunk's width in its last register hold
arbitrary numbers: only votes and accesses to memory must not see them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.by_lane import EXPRESSIONS, FUNCTIONS, saturating_conversion
from drawloom.batch.backends.c_text import C_TYPES, FunctionText, parameter_text
from drawloom.batch.backends.chunk_ir import Chunk, ChunkLoop, ChunkProgram, Place, Read
from drawloom.batch.backends.simd.isa import AVX2_FUNCTIONS, CARRIERS, I32, I64, Carrier, Isa
from drawloom.batch.backends.simd.masks import carrier_of, masks_of
from drawloom.batch.backends.simd.shuffles import Pick, arrange, blend
from drawloom.batch.ir.ir import BITS, DTYPES, MASK, Kernel
from drawloom.batch.ir.operations import CONVERSIONS

Bits = NDArray[np.bool_]
#: What reads narrow integers as unsigned: their carriers are sign-extended.
UNSIGNED: Final = ("udiv", "urem", "lshr")
#: The most registers of a table that a run-time index is looked up in without memory.
LARGEST_PERMUTED: Final = 2
STREAMED: Final = ("float", "double", "i32", "i64")
INCLUDES: Final = ("#include <immintrin.h>", "#include <stdbool.h>", "#include <stdint.h>")


class Function(NamedTuple):
    """A C function that runs `pack` groups of a kernel in each turn."""

    name: str
    kernel: Kernel
    pack: int
    text: str


def emit_function(
    kernel: Kernel, program: ChunkProgram, pack: int, isa: Isa, *, streaming: bool = False, name: str = ""
) -> Function:
    """Return a kernel as a C function for an instruction set.

    Args:
        kernel: The InfReg-IR that the program comes from.
        program: Its vectors; the width is a multiple of 4.
        pack: How many groups a turn runs.
        isa: The instruction set.
        streaming: Store around the caches what the kernel does not read. Each store checks its alignment.
        name: The function's name; otherwise `batch_` and the kernel's, which no function of C's library has.
    """
    name = name or f"batch_{kernel.name}"
    return Function(name, kernel, pack, Emitter(kernel, program, pack, isa, streaming).text(name))


def emit_file(functions: list[Function], isa: Isa) -> str:
    """Return a C file of functions, with all that they need."""
    bodies = "\n".join(function.text for function in functions)
    called = set(re.findall(r"\b(\w+)\(", bodies))
    helpers = [text for name, text in {**FUNCTIONS, **AVX2_FUNCTIONS}.items() if name in called]
    helpers += [stream_function(isa, type) for type in STREAMED if f"stream_{type}" in called]
    texts = [f"{comment(function, isa)}\n{function.text}" for function in functions]
    return "\n\n".join(["\n".join(INCLUDES), *helpers, *texts]) + "\n"


def comment(function: Function, isa: Isa) -> str:
    kernel, pack = function.kernel, function.pack
    groups = "1 group" if pack == 1 else f"{pack} groups"
    return f"""/* {kernel.name}, work-groups of {kernel.wg_size}, for {isa.name.upper()}: {groups} in each turn.

   {function.name} runs groups first to last - 1, where last - first is a multiple of {pack}. Pointers are the arrays of
   the whole batch, aligned to their elements. What is written must not overlap anything else. Several threads may run
   it at once for ranges that do not overlap; with -fopenmp it starts its own.

       cc -O2 -march={isa.march} -ffp-contract=off -fno-builtin -c FILE.c

   -ffp-contract=off keeps gcc from fusing products and sums that the kernel rounds separately. */"""


def stream_function(isa: Isa, type: str) -> str:
    carrier = CARRIERS[type]
    stream, store = (isa.memory[op, type].format("place", "lanes") for op in ("stream", "store"))
    return f"""static inline void stream_{type}({C_TYPES[type]} *place, {isa.vector_type(carrier)} lanes)
{{
    if ((uintptr_t)place % {isa.bytes} == 0)
        {stream};
    else
        {store};
}}"""


class Emitter(FunctionText):
    """The lines of a function, and the registers of its chunks by number."""

    def __init__(self, kernel: Kernel, program: ChunkProgram, pack: int, isa: Isa, streaming: bool) -> None:
        super().__init__(kernel, program, pack)
        self.isa = isa
        self.masks = masks_of(isa)
        # A mask of a whole chunk fills one register, where the width allows.
        self.mask_bytes = min(8, max(4, isa.bytes // self.width))
        self.parts: dict[int, list[str]] = {}
        self.streamed = self.streamed_pointers(streaming)

    def text(self, name: str) -> str:
        self.name_bases()
        self.block(self.program.block)
        parameters = [*map(parameter_text, self.kernel.parameters), "int64_t first", "int64_t last"]
        body = "\n".join(self.lines)
        fence = "    _mm_sfence();\n" if self.streamed else ""
        return f"""void {name}(
    {", ".join(parameters)})
{{
#pragma omp parallel for schedule(static)
    for (int64_t group = first; group < last; group += {self.pack}) {{
{body}
    }}
{fence}}}"""

    # Names.

    def count(self, lane_bytes: int) -> int:
        """Return how many registers a chunk fills."""
        return -(-self.width * lane_bytes // self.isa.bytes)

    def lane_bytes(self, type: str) -> int:
        return self.mask_bytes if type == MASK else CARRIERS[type].bytes

    def register_type(self, type: str) -> str:
        if type == MASK:
            return self.masks.type(self.mask_bytes)
        return self.isa.vector_type(CARRIERS[type])

    def define(self, chunk: Chunk, expressions: list[str]) -> None:
        """Give the registers of a chunk their names."""
        assert len(expressions) == self.count(self.lane_bytes(chunk.type)), (chunk.op, chunk.type)
        names = []
        for number, expression in enumerate(expressions):
            if re.fullmatch(r"[a-z]+\d+(_\d+)?", expression) and not self.is_carried(expression):
                names.append(expression)  # nothing but another name
                continue
            name = f"c{chunk.number}" if len(expressions) == 1 else f"c{chunk.number}_{number}"
            self.line(f"const {self.register_type(chunk.type)} {name} = {expression};")
            names.append(name)
        self.parts[chunk.number] = names

    def is_carried(self, name: str) -> bool:
        return name.startswith("carried")

    def of(self, chunk: Chunk) -> list[str]:
        return self.parts[chunk.number]

    # Instructions.

    def block(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            op = chunk.op
            handler: Callable[[Chunk], None] | None = getattr(self, "emit_" + op, None)
            if handler is not None:
                handler(chunk)
            elif op in CONVERSIONS:
                self.convert(chunk)
            elif op.startswith(("icmp ", "fcmp ")):
                self.compare(chunk)
            elif chunk.type == MASK:
                self.mask_operation(chunk)
            else:
                self.operation(chunk)

    def emit_constant(self, chunk: Chunk) -> None:
        numbers = np.frombuffer(chunk.detail, DTYPES[chunk.type])
        if chunk.type == MASK:
            self.parts[chunk.number] = self.constant_mask(numbers, self.mask_bytes)
            return
        carrier = CARRIERS[chunk.type]
        lanes = self.isa.lanes(carrier)
        rows = [numbers[start : start + lanes] for start in range(0, self.width, lanes)]
        self.define(chunk, [self.constant_register(row, carrier) for row in rows])

    def constant_register(self, numbers: NDArray[Any], carrier: Carrier) -> str:
        """Return a register of numbers; lanes beyond them repeat the first one."""
        filled = np.concatenate([numbers, np.repeat(numbers[:1], self.isa.lanes(carrier) - len(numbers))])
        if carrier.domain != "si" and not np.isfinite(filled).all():
            integer = carrier_of(carrier.bytes)
            bits = filled.view(DTYPES[integer.name])
            texts = [number_text(number, integer) for number in bits.tolist()]
            return self.isa.cast(self.isa.set_lanes(integer, texts), "si", carrier.domain)
        return self.isa.set_lanes(carrier, [number_text(number, carrier) for number in filled.tolist()])

    def constant_mask(self, lanes: Bits, lane_bytes: int) -> list[str]:
        rows = lanes_by_register(lanes, self.isa.bytes // lane_bytes)
        return [self.masks.constant(row, lane_bytes) for row in rows]

    def emit_group(self, chunk: Chunk) -> None:
        lanes = self.isa.lanes(I64)
        first = self.isa.broadcast(I64, "group")
        if not any(chunk.detail):
            self.define(chunk, [first] * self.count(8))
            return
        numbers = np.array(chunk.detail, np.int64)
        rows = [self.constant_register(numbers[start : start + lanes], I64) for start in range(0, self.width, lanes)]
        self.define(chunk, [self.isa.format(self.template("add", I64), I64, first, row) for row in rows])

    def emit_argument(self, chunk: Chunk) -> None:
        name = f"arg_{chunk.detail}"
        if chunk.type == MASK:
            lanes = self.isa.broadcast(carrier_of(self.mask_bytes), f"-(int){name}")
            self.define(chunk, [self.masks.from_vector(lanes, self.mask_bytes)] * self.count(self.mask_bytes))
            return
        carrier = CARRIERS[chunk.type]
        self.define(chunk, [self.isa.broadcast(carrier, name)] * self.count(carrier.bytes))

    def template(self, op: str, carrier: Carrier) -> str:
        template = self.isa.operation(op, carrier)
        assert template is not None, (op, carrier)
        return template

    def operation(self, chunk: Chunk) -> None:
        """Apply an operation lane by lane; narrow integers are made canonical again."""
        carrier = CARRIERS[chunk.type]
        operands = [self.of(operand) for operand in chunk.operands]
        if chunk.op in UNSIGNED:
            operands = [self.zero_extended(parts, chunk.type) for parts in operands]
        template = self.isa.operation(chunk.op, carrier)
        if template is None:
            expression = EXPRESSIONS[chunk.op, carrier.name, carrier.name]
            results = self.by_lane(expression, [(parts, carrier) for parts in operands], carrier)
        else:
            results = [self.isa.format(template, carrier, *row) for row in zip(*operands)]
        self.define(chunk, self.canonical(results, chunk.type))

    def canonical(self, parts: list[str], type: str) -> list[str]:
        """Sign-extend narrow integers within their lanes of 32 bits."""
        if type not in ("i8", "i16"):
            return parts
        p, shift = self.isa.prefix, 32 - BITS[type]
        return [f"{p}_srai_epi32({p}_slli_epi32({part}, {shift}), {shift})" for part in parts]

    def zero_extended(self, parts: list[str], type: str) -> list[str]:
        if type not in ("i8", "i16"):
            return parts
        ones = self.isa.broadcast(I32, f"{(1 << BITS[type]) - 1:#x}")
        return [self.isa.format(self.template("and", I32), I32, part, ones) for part in parts]

    def by_lane(self, expression: str, operands: list[tuple[list[str], Carrier]], result: Carrier) -> list[str]:
        """Apply a C expression to every lane, through arrays."""
        arrays = [self.spill(parts, carrier) for parts, carrier in operands]
        counts = [len(parts) * self.isa.lanes(carrier) for parts, carrier in operands]
        total = self.count(result.bytes) * self.isa.lanes(result)
        name = self.temporary("lanes")
        self.line(f"{result.c_type} {name}[{total}] = {{0}};")
        lanes = [f"{array}[lane]" for array in arrays]
        self.line(f"for (int lane = 0; lane < {min(total, *counts)}; ++lane)")
        self.line(f"    {name}[lane] = {expression.format(*lanes)};")
        return self.reload(name, result)

    def spill(self, parts: list[str], carrier: Carrier) -> str:
        """Write registers to an array, and return its name."""
        lanes = self.isa.lanes(carrier)
        name = self.temporary("lanes")
        self.line(f"{carrier.c_type} {name}[{len(parts) * lanes}];")
        for number, part in enumerate(parts):
            store = self.isa.memory["store", memory_name(carrier)]
            self.line(store.format(f"{name} + {number * lanes}" if number else name, part) + ";")
        return name

    def reload(self, name: str, carrier: Carrier) -> list[str]:
        load, lanes = self.isa.memory["load", memory_name(carrier)], self.isa.lanes(carrier)
        places = [f"{name} + {number * lanes}" if number else name for number in range(self.count(carrier.bytes))]
        return [load.format(place) for place in places]

    # Masks.

    def compare(self, chunk: Chunk) -> None:
        type = chunk.operands[0].type
        left, right = (self.of(operand) for operand in chunk.operands)
        if type == MASK:
            assert chunk.op in ("icmp eq", "icmp ne"), chunk.op
            different = [self.masks.operate("xor", one, other, self.mask_bytes) for one, other in zip(left, right)]
            if chunk.op == "icmp eq":
                different = [self.masks.invert(part, self.mask_bytes) for part in different]
            self.define(chunk, different)
            return
        self.define(chunk, self.compared(chunk.op, CARRIERS[type], left, right))

    def compared(self, op: str, carrier: Carrier, left: list[str], right: list[str]) -> list[str]:
        """Return the mask of a comparison."""
        template = self.isa.compares.get((op, carrier.name)) or self.isa.compares[op, "*"]
        own = [self.isa.format(template, carrier, *pair) for pair in zip(left, right)]
        return self.masks.resize(own, carrier.bytes, self.mask_bytes, self.count(self.mask_bytes))

    def mask_operation(self, chunk: Chunk) -> None:
        operands = [self.of(operand) for operand in chunk.operands]
        operate, size = self.masks.operate, self.mask_bytes
        if chunk.op != "select":
            self.define(chunk, [operate(chunk.op, left, right, size) for left, right in zip(*operands)])
            return
        self.define(chunk, [
            operate("or", operate("and", condition, then, size),
                    operate("and", self.masks.invert(condition, size), otherwise, size), size)
            for condition, then, otherwise in zip(*operands)
        ])  # fmt: skip

    def mask_for(self, mask: Chunk, lane_bytes: int) -> list[str]:
        """Return a mask for lanes of a size."""
        if mask.op == "constant":
            return self.constant_mask(np.frombuffer(mask.detail, np.bool_), lane_bytes)
        return self.masks.resize(self.of(mask), self.mask_bytes, lane_bytes, self.count(lane_bytes))

    def access_masks(self, mask: Chunk | None, lane_bytes: int) -> list[str]:
        """Return the masks of an access, without lanes beyond the chunk's."""
        everything = np.ones(self.width, bool)
        if mask is None:
            return self.constant_mask(everything, lane_bytes)
        parts = [*self.mask_for(mask, lane_bytes)]
        if mask.op == "constant" or self.width * lane_bytes % self.isa.bytes == 0:
            return parts
        parts[-1] = self.masks.operate("and", parts[-1], self.constant_mask(everything, lane_bytes)[-1], lane_bytes)
        return parts

    def emit_select(self, chunk: Chunk) -> None:
        if chunk.type == MASK:
            self.mask_operation(chunk)
            return
        carrier = CARRIERS[chunk.type]
        mask, then, otherwise = chunk.operands
        if mask.op == "constant":
            taken = lanes_by_register(np.frombuffer(mask.detail, np.bool_), self.isa.lanes(carrier))
            self.define(chunk, [
                blend(self.isa, carrier, old, new, lanes.tolist())
                for old, new, lanes in zip(self.of(otherwise), self.of(then), taken)
            ])  # fmt: skip
            return
        conditions = self.mask_for(mask, carrier.bytes)
        template = self.template("select", carrier)
        rows = zip(conditions, self.of(then), self.of(otherwise))
        self.define(chunk, [self.isa.format(template, carrier, *row) for row in rows])

    # Conversions.

    def convert(self, chunk: Chunk) -> None:
        op, source, target = chunk.op, chunk.operands[0], chunk.type
        if source.type == MASK:
            self.convert_mask(chunk)
            return
        parts, carrier = self.of(source), CARRIERS[source.type]
        if op in ("zext", "uitofp"):
            parts = self.zero_extended(parts, source.type)
        if target == MASK:
            one = [self.isa.broadcast(carrier, "1")] * len(parts)
            lowest = [self.isa.format(self.template("and", carrier), carrier, *pair) for pair in zip(parts, one)]
            self.define(chunk, self.compared("icmp eq", carrier, lowest, one))
            return
        result = CARRIERS[target]
        if op == "bitcast":
            self.define(chunk, [self.isa.cast(part, carrier.domain, result.domain) for part in parts])
            return
        if op in ("fptosi", "fptoui"):
            self.define(chunk, self.by_lane(saturating_conversion(op, BITS[target]), [(parts, carrier)], result))
            return
        if op in ("trunc", "sext", "zext") and carrier is result:
            self.define(chunk, self.canonical(parts, target) if op == "trunc" else parts)
            return
        template = self.isa.conversions.get((op, carrier.name, result.name))
        if template is None:
            expression = EXPRESSIONS[op, carrier.name, result.name]
            self.define(chunk, self.by_lane(expression, [(parts, carrier)], result))
            return
        self.define(chunk, self.canonical(self.resized(template, parts, carrier, result), target))

    def resized(self, template: str, parts: list[str], source: Carrier, target: Carrier) -> list[str]:
        """Convert registers whose lanes may change in size."""
        isa, count = self.isa, self.count(target.bytes)
        if target.bytes > source.bytes:
            halves = [isa.half("high" if n % 2 else "low", source, parts[n // 2]) for n in range(count)]
            return [isa.format(template, source, half) for half in halves]
        made = [isa.format(template, source, part) for part in parts]
        if target.bytes == source.bytes:
            return made
        pairs = [made[2 * n : 2 * n + 2] for n in range(count)]
        return [isa.half("joined" if pair[1:] else "widened", target, *pair) for pair in pairs]

    def convert_mask(self, chunk: Chunk) -> None:
        """Convert truth to 1, or to -1 where it is signed."""
        assert chunk.op in ("zext", "sext", "uitofp"), chunk.op
        carrier = CARRIERS[chunk.type]
        true, false = ("-1" if chunk.op == "sext" else "1"), "0"
        template = self.template("select", carrier)
        both = [self.isa.broadcast(carrier, number) for number in (true, false)]
        conditions = self.mask_for(chunk.operands[0], carrier.bytes)
        self.define(chunk, [self.isa.format(template, carrier, condition, *both) for condition in conditions])

    # Permutations.

    def emit_shuffle(self, chunk: Chunk) -> None:
        carrier, operands = self.vectors(chunk)
        lanes = self.isa.lanes(carrier)
        picks: list[Pick | None] = []
        for lane in chunk.detail:
            register, own = operands[lane // self.width], lane % self.width
            picks.append(None if lane < 0 else Pick(register[own // lanes], own % lanes))
        picks += [None] * (-len(picks) % lanes)
        rows = [picks[start : start + lanes] for start in range(0, len(picks), lanes)]
        results = [arrange(self.isa, carrier, row) for row in rows]
        if chunk.type == MASK:
            results = [self.masks.from_vector(result, self.mask_bytes) for result in results]
        self.define(chunk, results)

    def vectors(self, chunk: Chunk) -> tuple[Carrier, list[list[str]]]:
        """Return the operands of a permutation as vectors, masks as integers."""
        if chunk.operands[0].type != MASK:
            return CARRIERS[chunk.operands[0].type], [self.of(operand) for operand in chunk.operands]
        size = self.mask_bytes
        vectors = [[self.masks.to_vector(part, size) for part in self.of(operand)] for operand in chunk.operands]
        return carrier_of(size), [[self.named_integers(vector) for vector in parts] for parts in vectors]

    def named_integers(self, expression: str) -> str:
        """Give a register of integers a name, because an expression is used several times."""
        name = self.temporary()
        self.line(f"const {self.isa.vector_types['si']} {name} = {expression};")
        return name

    def emit_table(self, chunk: Chunk) -> None:
        """Keep the registers of a table. Those that are few are permuted, others are written to memory."""
        carrier, operands = self.vectors(chunk)
        registers = [part for parts in operands for part in parts]
        is_dense = self.width % self.isa.lanes(carrier) == 0
        if is_dense and len(registers) <= LARGEST_PERMUTED:
            self.parts[chunk.number] = registers
            return
        name = self.temporary("table")
        self.line(f"{carrier.c_type} {name}[{(len(operands) + 1) * self.isa.lanes(carrier) * len(operands[0])}];")
        lanes = self.isa.lanes(carrier)
        for number, parts in enumerate(operands):
            # A register's lanes beyond the width are overwritten by the next chunk.
            for part, register in enumerate(parts):
                address = f"{name} + {number * self.width + part * lanes}"
                self.line(self.isa.memory["store", memory_name(carrier)].format(address, register) + ";")
        self.parts[chunk.number] = [name]

    def emit_read(self, chunk: Chunk) -> None:
        table, index = chunk.operands
        carrier = carrier_of(self.mask_bytes) if table.type == MASK else CARRIERS[table.type]
        registers, places = self.of(table), self.of(index)
        read: Read = chunk.detail
        if read.offset:
            ahead = self.isa.broadcast(I64, str(read.offset))
            places = [self.isa.format(self.template("add", I64), I64, place, ahead) for place in places]
        if registers[0].startswith("table"):
            masks = self.constant_mask(np.frombuffer(read.wanted, np.bool_), 8)
            results = self.gathered(memory_name(carrier), registers[0], places, masks)
        else:
            results = self.permuted(carrier, registers, places)
        if chunk.type == MASK:
            results = [self.masks.from_vector(result, self.mask_bytes) for result in results]
        self.define(chunk, results)

    def permuted(self, carrier: Carrier, registers: list[str], index: list[str]) -> list[str]:
        """Permute one or two registers by indices that are known at run time."""
        isa = self.isa
        integer = carrier_of(carrier.bytes)
        if integer is I32:
            index = self.resized(isa.conversions["trunc", "i64", "i32"], index, I64, I32)
        names = [self.named_integers(expression) for expression in index]
        if isa.has_mask_registers:
            if len(registers) == 1:
                return [f"{isa.prefix}_permutexvar_{carrier.suffix}({name}, {registers[0]})" for name in names]
            first, second = registers
            return [f"{isa.prefix}_permutex2var_{carrier.suffix}({first}, {name}, {second})" for name in names]
        return [self.permuted_avx2(carrier, integer, registers, name) for name in names]

    def permuted_avx2(self, carrier: Carrier, integer: Carrier, registers: list[str], index: str) -> str:
        """AVX2 permutes lanes of 32 bits only; its blends look at a lane's highest bit."""
        isa = self.isa
        lanes = index
        if integer is I64:
            # Lane i of 64 bits is lanes 2 i and 2 i + 1 of 32 bits.
            twice = self.named_integers(f"_mm256_slli_epi64({index}, 1)")
            odd = f"_mm256_slli_epi64(_mm256_add_epi64({twice}, _mm256_set1_epi64x(1)), 32)"
            lanes = self.named_integers(f"_mm256_or_si256({twice}, {odd})")
        singles = [isa.cast(register, carrier.domain, "ps") for register in registers]
        found = [f"_mm256_permutevar8x32_ps({register}, {lanes})" for register in singles]
        result = found[0]
        if len(registers) == 2:
            bit = isa.lanes(carrier).bit_length() - 1
            sign = f"_mm256_slli_{integer.suffix}({index}, {8 * carrier.bytes - 1 - bit})"
            real = {4: "ps", 8: "pd"}[carrier.bytes]
            both = [isa.cast(text, "ps", real) for text in found]
            result = f"_mm256_blendv_{real}({both[0]}, {both[1]}, {isa.cast(sign, 'si', real)})"
            return isa.cast(result, real, carrier.domain)
        return isa.cast(result, "ps", carrier.domain)

    # Memory.

    def emit_broadcast(self, chunk: Chunk) -> None:
        carrier = CARRIERS[chunk.type]
        scalar = f"*({self.address(chunk.detail)})"
        self.define(chunk, [self.isa.broadcast(carrier, scalar)] * self.count(carrier.bytes))

    def emit_load(self, chunk: Chunk) -> None:
        place: Place = chunk.detail
        mask = chunk.operands[0] if chunk.operands else None
        carrier = CARRIERS[chunk.type]
        if ("load masked", chunk.type) not in self.isa.memory:
            self.define(chunk, self.load_by_lane(chunk.type, self.address(place), None, mask))
            return
        lanes = self.isa.lanes(carrier)
        masks = self.access_masks(mask, carrier.bytes)
        results = []
        for number, live in enumerate(self.live_lanes(mask, carrier.bytes)):
            address = self.address(place, number * lanes)
            form = self.access_form("load", chunk.type, live)
            if form is None:
                results.append(self.constant_register(np.zeros(1, DTYPES[chunk.type]), carrier))
            else:
                results.append(self.isa.memory[form, chunk.type].format(address, masks[number]))
        self.define(chunk, results)

    def live_lanes(self, mask: Chunk | None, lane_bytes: int) -> list[Bits | None]:
        """Return which lanes of each register an access touches; None where that is known at run time only."""
        if mask is not None and mask.op != "constant":
            return [None] * self.count(lane_bytes)
        lanes = np.ones(self.width, bool) if mask is None else np.frombuffer(mask.detail, np.bool_)
        return [*lanes_by_register(lanes, self.isa.bytes // lane_bytes)]

    def access_form(self, op: str, type: str, live: Bits | None) -> str | None:
        """Return how a register is loaded or stored: whole, its low half, masked, or (None) not at all."""
        if live is not None:
            if not live.any():
                return None
            if live.all() and (op, type) in self.isa.memory:
                return op
            half = len(live) // 2
            if live[:half].all() and not live[half:].any() and (op + " half", type) in self.isa.memory:
                return op + " half"
        return op + " masked"

    def emit_store(self, chunk: Chunk) -> None:
        place: Place = chunk.detail
        value = chunk.operands[0]
        mask = chunk.operands[1] if len(chunk.operands) > 1 else None
        carrier = CARRIERS[value.type]
        if ("store masked", value.type) not in self.isa.memory:
            self.store_by_lane(value, self.address(place), None, mask)
            return
        lanes = self.isa.lanes(carrier)
        masks = self.access_masks(mask, carrier.bytes)
        for number, live in enumerate(self.live_lanes(mask, carrier.bytes)):
            address, register = self.address(place, number * lanes), self.of(value)[number]
            form = self.access_form("store", value.type, live)
            if form == "store" and place.pointer in self.streamed:
                self.line(f"stream_{value.type}({address}, {register});")
            elif form is not None:
                self.line(self.isa.memory[form, value.type].format(address, register, masks[number]) + ";")

    def emit_gather(self, chunk: Chunk) -> None:
        index = self.of(chunk.operands[0])
        mask = chunk.operands[1] if len(chunk.operands) > 1 else None
        address = self.address(chunk.detail)
        if ("gather", chunk.type) not in self.isa.memory:
            self.define(chunk, self.load_by_lane(chunk.type, address, index, mask))
            return
        self.define(chunk, self.gathered(chunk.type, address, index, self.access_masks(mask, 8)))

    def gathered(self, type: str, address: str, index: list[str], masks: list[str]) -> list[str]:
        carrier = CARRIERS[type]
        template = self.isa.memory["gather", type]
        found = [template.format(address, part, mask) for part, mask in zip(index, masks)]
        if carrier.bytes == 8:
            return found
        pairs = [found[2 * n : 2 * n + 2] for n in range(self.count(carrier.bytes))]
        return [self.isa.half("joined" if pair[1:] else "widened", carrier, *pair) for pair in pairs]

    def emit_scatter(self, chunk: Chunk) -> None:
        """Store lanes to places of their own; of several lanes with one place the highest is last."""
        value, index = chunk.operands[0], self.of(chunk.operands[1])
        mask = chunk.operands[2] if len(chunk.operands) > 2 else None
        address = self.address(chunk.detail)
        template = self.isa.memory.get(("scatter", value.type))
        if template is None:
            self.store_by_lane(value, address, index, mask)
            return
        carrier = CARRIERS[value.type]
        parts = self.of(value)
        for number, (places, own) in enumerate(zip(index, self.access_masks(mask, 8))):
            lanes = parts[number] if carrier.bytes == 8 else self.isa.half(
                "high" if number % 2 else "low", carrier, parts[number // 2])  # fmt: skip
            self.line(template.format(address, places, own, lanes) + ";")

    def lane_condition(self, mask: Chunk | None) -> str:
        """Return the condition under which a loop over lanes touches memory."""
        if mask is None:
            return ""
        parts = self.access_masks(mask, self.mask_bytes)
        each = self.isa.bytes // self.mask_bytes
        name = self.temporary("live")
        texts = [self.masks.to_bits(part, self.mask_bytes) + (f" << {number * each}" if number else "")
                 for number, part in enumerate(parts)]  # fmt: skip
        self.line(f"const uint64_t {name} = {' | '.join(texts)};")
        return f"if ({name} >> lane & 1) "

    def load_by_lane(self, type: str, address: str, index: list[str] | None, mask: Chunk | None) -> list[str]:
        carrier = CARRIERS[type]
        place = "lane" if index is None else f"{self.spill(index, I64)}[lane]"
        condition = self.lane_condition(mask)
        name = self.temporary("lanes")
        self.line(f"{carrier.c_type} {name}[{self.count(carrier.bytes) * self.isa.lanes(carrier)}] = {{0}};")
        self.line(f"for (int lane = 0; lane < {self.width}; ++lane)")
        self.line(f"    {condition}{name}[lane] = ({address})[{place}];")
        return self.reload(name, carrier)

    def store_by_lane(self, value: Chunk, address: str, index: list[str] | None, mask: Chunk | None) -> None:
        array = self.spill(self.of(value), CARRIERS[value.type])
        place = "lane" if index is None else f"{self.spill(index, I64)}[lane]"
        condition = self.lane_condition(mask)
        self.line(f"for (int lane = 0; lane < {self.width}; ++lane)")
        self.line(f"    {condition}({address})[{place}] = ({C_TYPES[value.type]}){array}[lane];")

    # Loops.

    def emit_loop(self, chunk: Chunk) -> None:
        loop: ChunkLoop = chunk.detail
        for carried, initial in zip(loop.carried, chunk.operands):
            names = [f"carried{carried.number}_{number}" for number in range(len(self.of(initial)))]
            for name, part in zip(names, self.of(initial)):
                self.line(f"{self.register_type(carried.type)} {name} = {part};")
            self.parts[carried.number] = names
        self.line("for (;;) {")
        self.depth += 1
        self.block(loop.header)
        self.line(f"if (!({self.vote(loop.conditions)}))")
        self.line("    break;")
        self.block(loop.body)
        self.next_turn(loop)
        self.depth -= 1
        self.line("}")

    def next_turn(self, loop: ChunkLoop) -> None:
        """Set all carried registers at once: a new value may be another one's old value."""
        moves = [
            (name, part, self.register_type(carried.type))
            for carried, following in zip(loop.carried, loop.next_values)
            for name, part in zip(self.of(carried), self.of(following))
            if name != part
        ]
        copies = [self.temporary() for _ in moves]
        for copy, (_, part, type) in zip(copies, moves):
            self.line(f"const {type} {copy} = {part};")
        for copy, (name, _, _) in zip(copies, moves):
            self.line(f"{name} = {copy};")

    def vote(self, conditions: list[Chunk]) -> str:
        """Return whether any lane of a condition holds."""
        parts = [part for chunk in conditions for part in self.access_masks(chunk, self.mask_bytes)]
        return " | ".join(f"{self.masks.to_bits(part, self.mask_bytes)}" for part in dict.fromkeys(parts))


def lanes_by_register(lanes: Bits, each: int) -> Bits:
    """Return the lanes of a chunk as a row for each register; those beyond the chunk are False."""
    count = -(-len(lanes) // each)
    return np.pad(lanes, (0, count * each - len(lanes))).reshape(count, each)


def memory_name(carrier: Carrier) -> str:
    """Return the type of a carrier's numbers in memory."""
    return {"f32": "float", "f64": "double"}.get(carrier.name, carrier.name)


def number_text(number: Any, carrier: Carrier) -> str:
    """Return a number as a C literal."""
    if carrier.domain == "si":
        bits = 8 * carrier.bytes
        if number == -(1 << (bits - 1)):
            return f"INT{bits}_MIN"
        return str(number) if carrier is I32 else f"INT64_C({number})"
    suffix = "f" if carrier.bytes == 4 else ""
    if number == math.trunc(number) and abs(number) < 1e6:
        return f"{number!r}{suffix}"
    return f"{float(number).hex()}{suffix}"
