"""The vectors of SX-Aurora as C with `_vel_` intrinsics: a function that runs a range of groups, a pack in every turn.

    void batch_NAME(const double *restrict arg_a, ..., int64_t first, int64_t last);   // last - first: whole packs

A chunk's lanes fill the elements of one register, or of two (`parts`): then floats are packed into one register, and
other types have a register for each part. Elements beyond the vector length hold arbitrary numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from drawloom.batch.backends.c_text import parameter_text
from drawloom.batch.backends.chunk_ir import Chunk, ChunkLoop, ChunkProgram
from drawloom.batch.backends.ve.instructions import (
    CARRIERS,
    CONVERSIONS,
    FLOAT_PREDICATES,
    LANES,
    MASKED,
    OPERATIONS,
    PACKED,
)
from drawloom.batch.backends.ve.memory import Memory
from drawloom.batch.backends.ve.moves import Move, Pick, plan_moves
from drawloom.batch.backends.ve.values import FREE
from drawloom.batch.ir.ir import BITS, DTYPES, MASK, Kernel
from drawloom.batch.ir.operations import CONVERSIONS as ALL_CONVERSIONS
from drawloom.errors import UnsupportedError

#: What reads integers of fewer than 64 bits as unsigned.
UNSIGNED: Final = ("udiv", "urem", "lshr")


class Function(NamedTuple):
    """A C function that runs `pack` groups of a kernel in each turn."""

    name: str
    kernel: Kernel
    pack: int
    text: str


def emit_function(
    kernel: Kernel, program: ChunkProgram, pack: int, *, packed: bool, streaming: bool, name: str
) -> Function:
    """Return a kernel as a C function for SX-Aurora.

    Args:
        kernel: The InfReg-IR that the program comes from.
        program: Its vectors, of at most 256 lanes, or 512 if packed.
        pack: How many groups a turn runs.
        packed: Keep two floats in each element.
        streaming: Store what the kernel does not read without keeping it in the cache.
        name: The function's name.

    Raises:
        UnsupportedError: The vectors are wider than registers.
    """
    widest = LANES * (1 + packed)
    if program.width > widest or program.width % (1 + packed):
        expected = f"an even number up to {widest}" if packed else f"up to {widest}"
        raise UnsupportedError(f"ve: vectors of {program.width} lanes are not supported\n  expected {expected}")
    return Function(name, kernel, pack, Emitter(kernel, program, pack, packed, streaming).text(name))


class Emitter(Memory):
    """The lines of a function."""

    def __init__(self, kernel: Kernel, program: ChunkProgram, pack: int, packed: bool, streaming: bool) -> None:
        super().__init__(kernel, program, pack)
        self.begin_memory(2 if packed else 1, streaming)
        #: Loads that only permutations read, each straight from the array.
        self.direct: set[int] = set()

    def text(self, name: str) -> str:
        self.name_bases()
        self.find_direct(self.program.block, {})
        self.block(self.program.block)
        parameters = [*map(parameter_text, self.kernel.parameters), "int64_t first", "int64_t last"]
        slots = [f"        _Alignas(8) unsigned char slots[{self.slots.size}];"] if self.slots.size else []
        body = "\n".join([*slots, *self.lines])
        tables = "".join(f"    {line}\n" for line in self.table_lines())
        return f"""void {name}(
    {", ".join(parameters)})
{{
{tables}#pragma omp parallel for schedule(static)
    for (int64_t group = first; group < last; group += {self.pack}) {{
{body}
    }}
}}"""

    # Instructions.

    def block(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            self.uses.position += 1
            # Numbers are made where something needs them.
            if self.uses.is_fused(chunk) or chunk.op in FREE or chunk.number in self.direct:
                continue
            self.pinned = {operand.number for operand in self.uses.operands_of(chunk)}
            self.instruction(chunk)
            for operand in self.uses.operands_of(chunk):
                self.finish_use(operand)
            self.finish_use(chunk)
            self.release_borrowed()

    def instruction(self, chunk: Chunk) -> None:
        op = chunk.op
        handler: Callable[[Chunk], None] | None = getattr(self, "emit_" + op, None)
        if handler is not None:
            handler(chunk)
        elif op in ALL_CONVERSIONS:
            self.convert(chunk)
        elif op.startswith(("icmp ", "fcmp ")):
            self.compare(chunk)
        elif chunk.type == MASK:
            self.mask_operation(chunk)
        else:
            self.operation(chunk)

    def operation(self, chunk: Chunk) -> None:
        """Apply an operation to every element; narrow integers are made canonical again."""
        if self.is_packed(chunk.type) and (chunk.op, PACKED) in OPERATIONS:
            template = OPERATIONS[chunk.op, PACKED]
            operands = [self.need(operand)[0] for operand in chunk.operands]
            self.define(chunk, [template.format(*operands, n=self.n)])
            return
        found = OPERATIONS.get((chunk.op, CARRIERS[chunk.type]))
        if found is None:
            self.compute_by_lane(chunk)
            return
        rows = [self.singles(operand) for operand in chunk.operands]
        if chunk.op in UNSIGNED:
            rows = [self.zero_extended(row, chunk.type) for row in rows]
        results = [found.format(*row, n=self.n) for row in zip(*rows)]
        canonical = chunk.op in ("udiv", "urem", "sdiv", "shl", "lshr") or BITS[chunk.type] < 32
        self.define_singles(chunk, self.canonical(results, chunk.type) if canonical else results)

    def canonical(self, parts: list[str], type: str) -> list[str]:
        """Sign-extend integers from their own size to 64 bits."""
        if type == "i32":
            return [f"_vel_vaddswsx_vsvl(0, {part}, {self.n})" for part in parts]
        shift = 64 - BITS[type]
        if type not in ("i8", "i16"):
            return parts
        return [f"_vel_vsral_vvsl(_vel_vsll_vvsl({part}, {shift}, {self.n}), {shift}, {self.n})" for part in parts]

    def zero_extended(self, parts: list[str], type: str) -> list[str]:
        if type not in ("i8", "i16", "i32"):
            return parts
        return [f"_vel_vand_vsvl({(1 << BITS[type]) - 1:#x}, {part}, {self.n})" for part in parts]

    # Masks.

    def compare(self, chunk: Chunk) -> None:
        left, right = chunk.operands
        kind, predicate = chunk.op.split()
        if left.type == MASK:
            name = {"eq": "eqvm", "ne": "xorm"}[predicate]
            rows = zip(self.need(left), self.need(right))
            self.define(chunk, [f"_vel_{name}_mmm({a}, {b})" for a, b in rows])
        elif kind == "icmp":
            name = "vcmpul" if predicate[0] == "u" else "vcmpsl"
            rows = zip(self.need(left), self.need(right))
            self.define(chunk, [
                f"_vel_vfmkl{predicate[-2:]}_mvl(_vel_{name}_vvvl({a}, {b}, {self.n}), {self.n})" for a, b in rows
            ])  # fmt: skip
        else:
            self.compare_floats(chunk, FLOAT_PREDICATES[predicate])

    def compare_floats(self, chunk: Chunk, predicate: str) -> None:
        left, right = chunk.operands
        if self.is_packed(left.type):
            compared = self.named(f"_vel_pvfcmp_vvvl({self.need(left)[0]}, {self.need(right)[0]}, {self.n})")
            self.define(chunk, [f"_vel_pvfmks{half}{predicate}_mvl({compared}, {self.n})" for half in ("lo", "up")])
            return
        s = "d" if left.type == "double" else "s"
        rows = zip(self.need(left), self.need(right))
        self.define(chunk, [
            f"_vel_vfmk{s}{predicate}_mvl(_vel_vfcmp{s}_vvvl({a}, {b}, {self.n}), {self.n})" for a, b in rows
        ])  # fmt: skip

    def mask_operation(self, chunk: Chunk) -> None:
        rows = [self.need(operand) for operand in chunk.operands]
        if chunk.op == "select":
            self.define(chunk, [
                f"_vel_orm_mmm(_vel_andm_mmm({mask}, {then}), _vel_nndm_mmm({mask}, {otherwise}))"
                for mask, then, otherwise in zip(*rows)
            ])  # fmt: skip
            return
        self.define(chunk, [f"_vel_{chunk.op}m_mmm({a}, {b})" for a, b in zip(*rows)])

    def emit_select(self, chunk: Chunk) -> None:
        if chunk.type == MASK:
            self.mask_operation(chunk)
            return
        mask, then, otherwise = chunk.operands
        masks = self.need(mask)
        if chunk.number in self.uses.fused:
            self.masked_operation(chunk, then, masks, otherwise)
        elif self.is_packed(chunk.type):
            a, b, joined = self.need(otherwise)[0], self.need(then)[0], f"join_masks({masks[0]}, {masks[1]})"
            self.define(chunk, [f"_vel_vmrgw_vvvMl({a}, {b}, {joined}, {self.n})"])
        else:
            rows = zip(self.need(otherwise), self.need(then), masks)
            self.define(chunk, [f"_vel_vmrg_vvvml({a}, {b}, {m}, {self.n})" for a, b, m in rows])

    def masked_operation(self, chunk: Chunk, then: Chunk, masks: list[str], otherwise: Chunk) -> None:
        """Compute only the lanes of a mask; the others keep another register's numbers."""
        operands = [self.need(operand) for operand in then.operands]
        kept = self.need(otherwise)
        carrier = CARRIERS[chunk.type]
        if self.is_packed(chunk.type):
            carrier, masks = PACKED, [f"join_masks({masks[0]}, {masks[1]})"]
        template = MASKED[then.op, carrier]
        rows = zip(masks, kept, *operands)
        self.define(chunk, [template.format(*row[2:], m=row[0], d=row[1], n=self.n) for row in rows])

    # Conversions.

    def convert(self, chunk: Chunk) -> None:
        op, source, target = chunk.op, chunk.operands[0], chunk.type
        if source.type == MASK:
            self.convert_mask(chunk)
            return
        if target == MASK:
            lowest = [f"_vel_vand_vsvl(1, {part}, {self.n})" for part in self.need(source)]
            self.define(chunk, [f"_vel_vfmklne_mvl({part}, {self.n})" for part in lowest])
            return
        if op in ("trunc", "sext"):
            self.define(chunk, self.canonical(self.need(source), target) if op == "trunc" else self.need(source))
            return
        if op == "zext":
            self.define(chunk, self.zero_extended(self.need(source), source.type))
            return
        template = CONVERSIONS.get((op, source.type, target))
        if template is None:
            self.compute_by_lane(chunk)
            return
        parts = self.singles(source)
        if op == "uitofp":
            parts = self.zero_extended(parts, source.type)
        self.define_singles(chunk, [template.format(part, n=self.n) for part in parts])

    def convert_mask(self, chunk: Chunk) -> None:
        """Convert truth to 1, or to -1 where it is signed."""
        assert chunk.op in ("zext", "sext", "uitofp"), chunk.op
        number = np.full(self.width, -1 if chunk.op == "sext" else 1, DTYPES[chunk.type])
        masks = self.need(chunk.operands[0])
        true = self.constant_registers(chunk.type, number)
        if self.is_packed(chunk.type):
            joined = f"join_masks({masks[0]}, {masks[1]})"
            self.define(chunk, [f"_vel_vmrgw_vvvMl({self.zero()}, {true[0]}, {joined}, {self.n})"])
            return
        self.define(chunk, [f"_vel_vmrg_vsvml(0, {one}, {m}, {self.n})" for one, m in zip(true, masks)])

    # Permutations.

    def emit_shuffle(self, chunk: Chunk) -> None:
        if chunk.operands[0].type == MASK:
            self.shuffle_mask(chunk)
            return
        direct = self.load_permuted(chunk)
        if direct is None:
            direct = self.spread_scalars(chunk) or self.move(chunk)
        if direct is None:
            direct = self.move_through_memory(chunk.type, list(chunk.operands), chunk.detail)
        self.define(chunk, direct)

    def load_permuted(self, chunk: Chunk) -> list[str] | None:
        """Read a permutation of what one load brought from the array; None where memory may have changed."""
        if not self.reads_array(chunk):
            return None
        first = chunk.operands[0]
        offsets = np.array([max(lane, 0) for lane in chunk.detail], np.int64)
        live = np.array(chunk.detail) >= 0
        return self.load_constant_places(chunk.type, self.address(first.detail), offsets, live)

    def reads_array(self, chunk: Chunk) -> bool:
        first = chunk.operands[0]
        is_loaded = len(chunk.operands) == 1 and first.op == "load" and self.is_cheap(first)
        return is_loaded and not self.is_short_plan(chunk)

    def find_direct(self, block: list[Chunk], read: dict[int, bool]) -> None:
        """Find loads whose value no instruction needs in a register."""
        for chunk in block:
            is_direct = chunk.op == "shuffle" and self.reads_array(chunk)
            used = list(chunk.operands)
            if isinstance(chunk.detail, ChunkLoop):
                used += chunk.detail.conditions + chunk.detail.next_values
                self.find_direct(chunk.detail.header, read)
                self.find_direct(chunk.detail.body, read)
            for operand in used:
                read[operand.number] = read.get(operand.number, True) and is_direct
        self.direct = {number for number, is_direct in read.items() if is_direct}

    def is_short_plan(self, chunk: Chunk) -> bool:
        plans = self.plan(chunk)
        return plans is not None and sum(len(plan) for plan in plans) <= len(plans)

    def picks_of(self, chunk: Chunk, names: list[list[str]]) -> list[list[Pick | None]]:
        """Return the elements that each register of a permutation takes."""
        rows: list[list[Pick | None]] = []
        for start in range(0, self.width, self.n):
            row: list[Pick | None] = []
            for lane in chunk.detail[start : start + self.n]:
                part, element = divmod(lane % self.width, self.n)
                row.append(None if lane < 0 else Pick(names[lane // self.width][part], element))
            rows.append(row)
        return rows

    def plan(self, chunk: Chunk) -> list[list[Move]] | None:
        """Return the moves of each register; a packed register moves as a whole."""
        names = [[f"{place}:{part}" for part in range(self.parts)] for place in range(len(chunk.operands))]
        rows = self.picks_of(chunk, names)
        if self.is_packed(chunk.type):
            joint = join_halves(rows)
            rows = [joint] if joint is not None else []
        plans = [plan_moves(row) for row in rows]
        return [plan for plan in plans if plan is not None] if plans and None not in plans else None

    def spread_scalars(self, chunk: Chunk) -> list[str] | None:
        """Spread one element over all of a register."""
        width = self.width
        sources = [{lane for lane in chunk.detail[s : s + self.n] if lane >= 0} for s in range(0, width, self.n)]
        if any(len(lanes) > 1 for lanes in sources):
            return None
        texts = [self.scalar(chunk.operands[lane // width], lane % width) if lanes else "0"
                 for lanes in sources for lane in [*lanes, 0][:1]]  # fmt: skip
        if self.is_packed(chunk.type):
            low, high = (self.half(text, lanes) for text, lanes in zip(texts, sources))
            texts = [low if high == "0" else f"{low} | {high} << 32"]
        return [f"_vel_vbrdl_vsl((int64_t)({text}), {self.n})" for text in texts]

    def scalar(self, chunk: Chunk, lane: int) -> str:
        """Return the bits of an element."""
        part, element = divmod(lane, self.n)
        names = self.need(chunk)
        return f"_vel_lvsl_svs({names[0 if len(names) == 1 else part]}, {element})"

    def half(self, text: str, lanes: set[int]) -> str:
        """Return the float of a packed element as an integer of 32 bits."""
        if not lanes:
            return "0"
        is_high = next(iter(lanes)) % self.width >= self.n
        return f"({text} >> 32)" if is_high else f"(uint64_t)(uint32_t){text}"

    def move(self, chunk: Chunk) -> list[str] | None:
        """Move registers as wholes; None where that takes too many moves."""
        plans = self.plan(chunk)
        if plans is None:
            return None
        results: list[str] = []
        for plan in plans:
            result = ""
            for move in plan:
                source = result
                if move.register is not None:
                    place, part = map(int, move.register.split(":"))
                    names = self.need(chunk.operands[place])
                    source = names[0] if self.is_packed(chunk.type) else names[part]
                if not result and move.displacement == 0:
                    result = source
                elif not result:
                    result = self.named(f"_vel_vmv_vsvl({move.displacement}, {source}, {move.length})")
                else:
                    text = f"_vel_vmv_vsvvl({move.displacement}, {source}, {result}, {move.length})"
                    result = self.named(text)
            results.append(result or self.named(f"_vel_vbrdl_vsl(0, {self.n})"))
        return results

    def shuffle_mask(self, chunk: Chunk) -> None:
        """Permute masks as integers."""
        vectors = [self.vectors_of_mask(operand) for operand in chunk.operands]
        temporaries = [self.anonymous("i64", parts) for parts in vectors]
        results = self.move_through_memory("i64", temporaries, chunk.detail)
        self.define(chunk, [f"_vel_vfmklne_mvl({result}, {self.n})" for result in results])

    # Loops.

    def emit_loop(self, chunk: Chunk) -> None:
        """Run a loop whose carried values are in memory: those of this turn and, apart, those of the next."""
        loop: ChunkLoop = chunk.detail
        turns = [self.begin_carried(carried) for carried in loop.carried]
        for (now, _), initial in zip(turns, chunk.operands):
            self.store_value(initial, now)
        self.leave_registers()
        self.line("for (;;) {")
        self.depth += 1
        self.enter_loop()
        self.block(loop.header)
        self.uses.position += 1
        votes = [f"_vel_pcvm_sml({part}, {self.n})" for condition in loop.conditions for part in self.need(condition)]
        self.line(f"if (!({' | '.join(dict.fromkeys(votes))}))")
        self.line("    break;")
        for condition in loop.conditions:
            self.finish_use(condition)
        self.block(loop.body)
        self.uses.position += 1
        for (now, following), value in zip(turns, loop.next_values):
            self.store_value(value, following)
            self.line(f"unsigned char *const {now}_next = {following}; {following} = {now}; {now} = {now}_next;")
        for value in loop.next_values:
            self.finish_use(value)
        self.depth -= 1
        self.line("}")
        self.leave_loop()


def join_halves(rows: list[list[Pick | None]]) -> list[Pick | None] | None:
    """Return the elements that both halves of a packed register take; None where the halves differ."""
    joint: list[Pick | None] = []
    for low, high in zip(*rows):
        for half, pick in enumerate((low, high)):
            if pick is not None and int(pick.register.split(":")[1]) != half:
                return None
        places = {pick.register.split(":")[0] + ":0": pick.lane for pick in (low, high) if pick is not None}
        lanes = {pick.lane for pick in (low, high) if pick is not None}
        if len(places) > 1 or len(lanes) > 1:
            return None
        joint.append(Pick(next(iter(places)), lanes.pop()) if places else None)
    return joint
