"""Loads and stores: where the lanes' addresses go decides between scalar, contiguous and gather.

    uniform      one scalar access for the warp
    contiguous   lane-affine addresses with the element's size as stride: one vector access (see ``contiguous``)
    widened      contiguous if the 32-bit index does not wrap between the lanes, which is asked at run time
    anything else: gather and scatter under the mask

Masked-off lanes never touch memory. Shared memory belongs to the one OS thread that runs the block, so atomics
on it need no lock.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi, races
from drawloom.cpu.contiguous import Contiguous
from drawloom.cpu.emitter import ELEM_BITS, INT_ELEM, Value, int_const, type_of
from drawloom.cpu.frame import Frame
from drawloom.cpu.lane_calls import LaneCalls
from drawloom.cpu.shapes import AFFINE, UNIFORM, VARYING, WIDENED
from drawloom.ptx.ir import Address, Instruction, Operand, Register, Symbol, Vector
from drawloom.ptx.isa import ATOMIC, LOAD, Opcode
from drawloom.ptx.types import Type

#: Features of which one says that there are gathers.
_GATHERING: Final = frozenset({"avx2", "avx512f"})
_STRONG: Final = frozenset({"volatile", "relaxed", "acquire", "release"})


class Place:
    """Where the lanes access. ``address`` is an absolute i64: a scalar, one per row, or (varying) one per lane.

    ``stride`` is what an affine address adds per column of lanes, in bytes; ``even`` says that its rows are the
    same; ``index`` is the 32-bit index of a widened one, before it is extended, scaled and added; ``offset`` is
    still to be added to all of it. In shared memory a varying address is a scalar ``base`` and a 32-bit one for each
    lane, which gathers take as they are.
    """

    def __init__(self, kind: int, address: Value, stride: int = 0, even: bool = True) -> None:
        self.kind = kind
        self.address = address
        self.stride = stride
        self.even = even
        self.offset = 0
        self.index: Value | None = None
        self.index_stride = 0
        self.scale = 0
        self.signed = False
        self.never_wraps = False
        self.base: Value | None = None


class Memory(Contiguous):
    """Lowers the memory instructions of one function into its frame."""

    def __init__(self, frame: Frame, check: bool) -> None:
        super().__init__(frame)
        self.check = check
        self.lane_calls = LaneCalls(frame)

    # -- addresses ---------------------------------------------------------------------------------------

    def place_of(self, operand: Operand, opcode: Opcode, pos: int) -> Place:
        if not isinstance(operand, Address):
            raise self.f.error(pos, f"'{operand!r}' is no address", "[register+offset]")
        base = operand.base
        space = opcode.space
        if isinstance(base, Symbol):
            return self.symbol_place(base, operand.offset, space)
        if base is None:
            return self.in_space(Place(UNIFORM, int_const("i64", operand.offset)), space)
        return self.register_place(base, operand.offset, space)

    def symbol_place(self, symbol: Symbol, offset: int, space: str) -> Place:
        f = self.f
        name = symbol.name
        if name in f.blocks and space in ("param", ""):
            stride = f.block_strides[name]
            base = f.displaced(f.e.value("i64", 0, f"ptrtoint ptr {f.blocks[name]} to i64"), stride)
            if f.rows:
                base = f.e.binary("add", f.e.splat(base, f.rows), f.row_steps("i64", stride))
            place = Place(AFFINE if f.lanes else UNIFORM, base, stride, not f.rows)
        elif name in f.local_offsets:
            base = f.displaced(f.symbol(Symbol(name), f.rows), f.local_stride) if f.lanes else f.symbol(Symbol(name), 0)
            place = Place(AFFINE if f.lanes else UNIFORM, base, f.local_stride, not f.rows)
        else:
            where = "shared" if name in f.shared_offsets else ("param" if name in f.param_offsets else "")
            place = self.in_space(Place(UNIFORM, f.symbol(Symbol(name), 0)), where)
        place.offset = offset
        return place

    def register_place(self, base: Register, offset: int, space: str) -> Place:
        f = self.f
        shape = f.shape(base)
        kind = shape.kind
        if kind == VARYING and space == "shared":
            lanes = f.e.cast("trunc", f.read(base, f.lanes), "i32")
            place = Place(VARYING, lanes)
            place.base = self.plus(f.word("%slot", abi.SLOT_SHARED, False), offset)
            return place
        if kind == VARYING:
            place = self.in_space(Place(VARYING, self.extended(f.read(base, f.lanes), space)), space)
            place.offset = offset
            return place
        if kind == WIDENED:
            outer = f.load(f.slot(base), "i64", f.rows)
            place = Place(WIDENED, outer, shape.scale * shape.stride, shape.even)
            place.index = f.load(f.base_slot(base), "i32", f.rows)
            place.index_stride = shape.stride
            place.scale = shape.scale
            place.signed = shape.signed
            place.never_wraps = shape.aligned
            place.offset = offset
            return self.in_space(place, space)
        if kind == AFFINE and base.type.bits == 32 and space not in ("shared", "param"):
            place = Place(VARYING, self.extended(f.read(base, f.lanes), space))
        else:
            address = self.extended(f.read(base, f.slot_lanes(base)), space)
            place = self.in_space(Place(kind, address, shape.stride, shape.even), space)
        place.offset = offset
        return place

    def extended(self, address: Value, space: str) -> Value:
        """The register's bits as a 64-bit address.

        Shared offsets are taken as signed 32-bit numbers: a block has less than 2^31 bytes of shared memory,
        so this is exact for every lane that accesses any, however the 32-bit sum wraps on the way.
        """
        e = self.f.e
        if space == "shared":
            if address.elem == "i64":
                address = e.cast("trunc", address, "i32")
            return e.cast("sext", address, "i64")
        if address.elem == "i32" and space in ("local", "const"):
            return self.in_low_bits(address, space)
        return e.cast("zext", address, "i64")

    def in_low_bits(self, address: Value, space: str) -> Value:
        """A 32-bit address of local or const memory as the 64-bit one: the first with these low bits from where
        that memory begins, as neither has more than 4 GiB."""
        e = self.f.e
        local = space == "local"
        start = self.f.word("%slot", abi.SLOT_LOCAL, False) if local else self.f.word("%launch", abi.LAUNCH_IMAGE)
        low = e.splat(e.cast("trunc", start, "i32"), address.lanes)
        ahead = e.cast("zext", e.binary("sub", address, low), "i64")
        return e.binary("add", e.splat(start, address.lanes), ahead)

    def plus(self, address: Value, offset: int) -> Value:
        """``address`` plus a constant, in every lane."""
        return self.f.e.binary("add", address, int_const("i64", offset, address.lanes)) if offset else address

    def in_space(self, place: Place, space: str) -> Place:
        """From an address in ``space`` to a generic one."""
        f = self.f
        if space == "shared":
            base = f.word("%slot", abi.SLOT_SHARED, False)
        elif space == "param" and f.function.is_entry:
            base = f.word("%launch", abi.LAUNCH_PARAMS)
        else:
            return place
        place.address = f.e.binary("add", f.e.splat(base, place.address.lanes), place.address)
        return place

    def lane_addresses(self, place: Place) -> Value:
        """The address of every lane, exactly."""
        f = self.f
        e = f.e
        if place.base is not None:
            return e.binary("add", e.splat(place.base, f.lanes), e.cast("sext", place.address, "i64"))
        if place.kind == VARYING:
            return self.plus(place.address, place.offset)
        first = f.spread(self.plus(place.address, place.offset))
        if place.kind == UNIFORM or not f.lanes:
            return first
        if place.index is not None:
            index = e.binary("add", f.spread(place.index), f.steps("i32", place.index_stride))
            wide = e.cast("sext" if place.signed else "zext", index, "i64")
            return e.binary("add", first, e.binary("mul", wide, int_const("i64", place.scale, f.lanes)))
        return e.binary("add", first, f.steps("i64", place.stride))

    def width(self) -> int:
        """The lanes of a row."""
        return self.f.segment or self.f.lanes

    def row_addresses(self, place: Place) -> list[Value]:
        """The address of the first lane of every row of an affine or widened place, without its offset."""
        f = self.f
        e = f.e
        out: list[Value] = []
        for row in range(f.lanes // self.width()):
            address = f.row(place.address, row)
            if place.index is not None:
                wide = e.cast("sext" if place.signed else "zext", f.row(place.index, row), "i64")
                address = e.binary("add", address, e.binary("mul", wide, int_const("i64", place.scale)))
            out.append(address)
        return out

    def no_wrap(self, place: Place) -> Value:
        """Whether the 32-bit index of a widened place stays in range over the lanes of each row."""
        e = self.f.e
        if place.index is None:
            raise AssertionError("only widened places wrap")
        span = (self.width() - 1) * place.index_stride
        fits = int_const("i1", 1)
        for row in range(self.f.lanes // self.width()):
            index = self.f.row(place.index, row)
            if place.signed and span >= 0:
                inside = e.icmp("sle", index, int_const("i32", (1 << 31) - 1 - span))
            elif place.signed:
                inside = e.icmp("sge", index, int_const("i32", -(1 << 31) - span))
            elif span >= 0:
                inside = e.icmp("ule", index, int_const("i32", (1 << 32) - 1 - span))
            else:
                inside = e.icmp("uge", index, int_const("i32", -span))
            fits = e.binary("and", fits, inside) if row else inside
        return fits

    def is_contiguous(self, place: Place, total: int, loading: bool) -> bool:
        """Whether each row of lanes accesses consecutive elements of ``total`` bytes (or, loading, all the same)."""
        return place.kind in (AFFINE, WIDENED) and (place.stride == total or (loading and place.stride == 0))

    def stride_of(self, instruction: Instruction) -> int:
        """The bytes between the places that neighbouring lanes of a row access; 0 where that is not known."""
        f = self.f
        opcode = instruction.opcode
        operand = instruction.operands[1 if opcode.effect == LOAD else 0]
        if not f.lanes or not isinstance(operand, Address):
            return 0
        base = operand.base
        if isinstance(base, Symbol):
            return f.local_stride if base.name in f.local_offsets else 0
        if base is None or (base.type.bits == 32 and opcode.space not in ("shared", "param")):
            return 0
        shape = f.shape(base)
        return shape.stride * (shape.scale if shape.kind == WIDENED else 1) if shape.kind in (AFFINE, WIDENED) else 0

    def access_group(self, members: list[Instruction]) -> None:
        """Do loads, or stores, of neighbours together (see ``neighbours``)."""
        f = self.f
        first = members[0]
        is_load = first.opcode.effect == LOAD
        place = self.place_of(first.operands[1 if is_load else 0], first.opcode, first.pos)
        elem = INT_ELEM[first.opcode.types[0].bits]
        size = ELEM_BITS[elem] // 8
        offsets: list[int] = []
        operands: list[tuple[Operand, Type]] = []
        for instruction in members:
            address, registers = instruction.operands[:2] if not is_load else instruction.operands[1::-1]
            assert isinstance(address, Address)
            elements = registers.elements if isinstance(registers, Vector) else [registers]
            offsets += [address.offset + i * size for i in range(len(elements))]
            operands += [(operand, instruction.opcode.types[0]) for operand in elements]
        place.offset = min(offsets)
        used = [(offset - place.offset) // size for offset in offsets]
        if not is_load:
            values = [self.stored(operand, type, elem, f.lanes) for operand, type in operands]
            self.store_slots(place, values, elem, place.stride // size, used)
            return
        loaded = self.load_slots(place, elem, place.stride // size, used)
        for (operand, type), value in zip(operands, loaded, strict=True):
            if isinstance(operand, Register):
                f.write_as(operand, value, type.is_signed)

    # -- loads -------------------------------------------------------------------------------------------

    def load(self, instruction: Instruction) -> None:
        f = self.f
        opcode = instruction.opcode
        type = opcode.types[0]
        place = self.place_of(instruction.operands[1], opcode, instruction.pos)
        self.check_access(place, type.bytes * opcode.vector, instruction, races.READS)
        self.order_before(opcode)
        elem, count = _element(type, opcode.vector)
        values = self.load_lanes(place, elem, count, opcode.order in _STRONG)
        self.order_after(opcode)
        if type.bits == 128:
            values = [self.pair_up(values[i], values[i + 1]) for i in range(0, len(values), 2)]
        targets = instruction.operands[0]
        elements = targets.elements if isinstance(targets, Vector) else [targets]
        for target, value in zip(elements, values, strict=True):
            if isinstance(target, Register):
                f.write_as(target, value, type.is_signed)

    def pair_up(self, low: Value, high: Value) -> Value:
        e = self.f.e
        wide = e.cast("zext", high, "i128")
        shifted = e.binary("shl", wide, int_const("i128", 64, wide.lanes))
        return e.binary("or", shifted, e.cast("zext", low, "i128"))

    def load_lanes(self, place: Place, elem: str, count: int, strong: bool) -> list[Value]:
        """``count`` consecutive elements at every active lane's address; scalars where the place is uniform."""
        size = ELEM_BITS[elem] // 8
        if place.kind == UNIFORM:
            return self.load_scalars(self.plus(place.address, place.offset), elem, count, strong)
        if not self.is_contiguous(place, size * count, True):
            if place.base is not None and elem in ("i32", "i64"):
                return self.gather_near(place.base, place.address, elem, count)
            return self.gather(self.lane_addresses(place), elem, count)
        return self.load_slots(place, elem, count, list(range(count)))

    def load_slots(self, place: Place, elem: str, slots: int, used: list[int]) -> list[Value]:
        """Some of each lane's consecutive elements; the next lane's stand behind them, or are the same."""
        f = self.f
        if place.index is None or place.stride == 0 or place.never_wraps:
            return self.load_rows(place, elem, slots, used)
        results = [f.alloca("loaded", type_of(elem, f.lanes)) for _ in used]
        fast, slow, done = f.label("contiguous"), f.label("gather"), f.label("loaded")
        f.fork(self.no_wrap(place), fast, slow, True)
        f.arm(fast)
        for slot, value in zip(results, self.load_rows(place, elem, slots, used), strict=True):
            f.store(value, slot)
        f.go(done)
        f.arm(slow)
        first = self.lane_addresses(place)
        for slot, number in zip(results, used, strict=True):
            f.store(self.gather(self.plus(first, number * ELEM_BITS[elem] // 8), elem, 1)[0], slot)
        f.go(done)
        f.join(done)
        return [f.load(slot, elem, f.lanes) for slot in results]

    def load_scalars(self, address: Value, elem: str, count: int, strong: bool) -> list[Value]:
        f = self.f
        size = ELEM_BITS[elem] // 8
        out: list[Value] = []
        for i in range(count):
            at = f.e.binary("add", address, int_const("i64", i * size)) if i else address
            pointer = f.pointer(at)
            if strong:
                out.append(f.e.value(elem, 0, f"load atomic volatile {elem}, {pointer.typed} monotonic, align {size}"))
            else:
                out.append(f.e.value(elem, 0, f"load {elem}, {pointer.typed}, align {size}"))
        return out

    def load_rows(self, place: Place, elem: str, slots: int, used: list[int]) -> list[Value]:
        """One vector load per row of lanes, or scalars that the row shares; joined over the rows."""
        f = self.f
        width = self.width()
        parts: list[list[Value]] = []
        same = width < f.lanes and place.even
        for row, address in enumerate(self.row_addresses(place)):
            mask = self.any_row_mask() if same else self.row_mask(row)
            if place.stride == 0:
                parts.append(self.load_shared_row(address, place.offset, mask, elem, slots))
            elif same and parts:
                parts.append(parts[0])
            else:
                parts.append(self.load_contiguous(self.plus(address, place.offset), mask, elem, slots, used))
        if width == f.lanes:
            return parts[0]
        return [self.joined([p[i] for p in parts]) for i in range(len(used))]

    def row_mask(self, row: int) -> Value:
        """The mask of one row of lanes."""
        f = self.f
        width = self.width()
        if width == f.lanes:
            return f.mask
        picks = f.e.vector_const("i32", list(range(row * width, (row + 1) * width)))
        return f.e.value("i1", width, f"shufflevector {f.mask.typed}, {f.mask.type} poison, {picks.typed}")

    def any_row_mask(self) -> Value:
        """For each column whether any row has an active lane there."""
        mask = self.row_mask(0)
        for row in range(1, self.f.lanes // self.width()):
            mask = self.f.e.binary("or", mask, self.row_mask(row))
        return mask

    def load_shared_row(self, address: Value, offset: int, mask: Value, elem: str, count: int) -> list[Value]:
        """All lanes of a row read the same place; a row without active lanes reads the worker's own memory.

        Small offsets are added behind the choice, so that neighbouring loads share it.
        """
        f = self.f
        e = f.e
        bits = e.value(f"i{mask.lanes}", 0, f"bitcast {mask.typed} to i{mask.lanes}")
        active = e.icmp("ne", bits, Value("0", bits.elem, 0))
        safe = e.value("i64", 0, "ptrtoint ptr %slot to i64")
        if 0 <= offset < abi.SLOT_MARGIN:
            where = self.plus(e.select(active, address, safe), offset)
        else:
            where = e.select(active, self.plus(address, offset), safe)
        return [e.splat(v, mask.lanes) for v in self.load_scalars(where, elem, count, False)]

    def gather(self, addresses: Value, elem: str, count: int) -> list[Value]:
        f = self.f
        e = f.e
        size = ELEM_BITS[elem] // 8
        if not f.lanes:
            return self.load_scalars(addresses, elem, count, False)
        if elem not in ("i32", "i64"):
            if e.features & _GATHERING and elem in ("i8", "i16"):
                return self.gather_from_words(addresses, elem, count)
            return self.gather_one_by_one(addresses, elem, count)
        out: list[Value] = []
        for i in range(count):
            at = e.binary("add", addresses, int_const("i64", i * size, f.lanes)) if i else addresses
            out.append(self.gathered(e.cast("inttoptr", at, "ptr"), elem))
        return out

    def gather_near(self, base: Value, offsets: Value, elem: str, count: int) -> list[Value]:
        """Elements at 32-bit signed offsets from one address."""
        f = self.f
        size = ELEM_BITS[elem] // 8
        out: list[Value] = []
        for i in range(count):
            start = f.pointer(self.plus(base, i * size))
            at = f.e.value("ptr", f.lanes, f"getelementptr i8, {start.typed}, {offsets.typed}")
            out.append(self.gathered(at, elem))
        return out

    def gathered(self, pointers: Value, elem: str) -> Value:
        f = self.f
        vector = type_of(elem, f.lanes)
        name = f"llvm.masked.gather.v{f.lanes}{elem}.v{f.lanes}p0"
        f.e.declare(name, vector, [type_of("ptr", f.lanes), f"<{f.lanes} x i1>", vector])
        size = ELEM_BITS[elem] // 8
        arguments = f"{pointers.type} align {size} {pointers.text}, {f.mask.typed}, {vector} zeroinitializer"
        return f.e.value(elem, f.lanes, f"call {vector} @{name}({arguments})")

    def gather_from_words(self, addresses: Value, elem: str, count: int) -> list[Value]:
        """Elements of 8 and 16 bits out of the words of 32 that hold them, which no page ends in."""
        f = self.f
        e = f.e
        size = ELEM_BITS[elem] // 8
        start = e.binary("and", addresses, int_const("i64", -4, f.lanes))
        words = self.gather(start, "i32", max(1, size * count // 4))
        place = e.cast("trunc", e.binary("and", addresses, int_const("i64", 3, f.lanes)), "i32")
        shift = e.binary("shl", place, int_const("i32", 3, f.lanes))
        out: list[Value] = []
        for i in range(count):
            amount = e.binary("add", shift, int_const("i32", i * size % 4 * 8, f.lanes))
            out.append(e.cast("trunc", e.binary("lshr", words[i * size // 4], amount), elem))
        return out

    def gather_one_by_one(self, addresses: Value, elem: str, count: int) -> list[Value]:
        """Small and very wide elements, for which there is no gather instruction."""
        f = self.f
        e = f.e
        size = ELEM_BITS[elem] // 8
        results = [f.alloca("gathered", type_of(elem, f.lanes), 64) for _ in range(count)]
        for slot in results:
            f.store(Value("zeroinitializer", elem, f.lanes), slot)
        at = self.spill(addresses)
        lane = self.lane_loop_begin(f.mask)
        address = self.element(at, "i64", lane)
        for i in range(count):
            where = e.binary("add", address, int_const("i64", i * size)) if i else address
            value = e.value(elem, 0, f"load {elem}, ptr {f.pointer(where).text}, align {size}")
            self.set_element(results[i], value, lane)
        self.lane_loop_end()
        return [f.load(slot, elem, f.lanes) for slot in results]

    # -- stores ------------------------------------------------------------------------------------------

    def store(self, instruction: Instruction) -> None:
        f = self.f
        opcode = instruction.opcode
        type = opcode.types[0]
        place = self.place_of(instruction.operands[0], opcode, instruction.pos)
        source = instruction.operands[1]
        operands = source.elements if isinstance(source, Vector) else [source]
        lanes = f.lanes if place.kind != UNIFORM or any(f.lanes_of(o) for o in operands) else 0
        elem, count = _element(type, opcode.vector)
        values: list[Value] = []
        for operand in operands:
            if type.bits == 128:
                wide = f.operand(operand, "i128", lanes)
                values.append(f.e.cast("trunc", wide, "i64"))
                high = f.e.binary("lshr", wide, int_const("i128", 64, wide.lanes))
                values.append(f.e.cast("trunc", high, "i64"))
            else:
                values.append(self.stored(operand, type, elem, lanes))
        self.check_access(place, type.bytes * opcode.vector, instruction, races.WRITES, values)
        self.order_before(opcode)
        self.store_lanes(place, values, elem, count, opcode.order in _STRONG)
        self.order_after(opcode)

    def stored(self, operand: Operand, type: Type, elem: str, lanes: int) -> Value:
        """The operand's bits; float literals take the type's format."""
        if type.is_float and not isinstance(operand, Register):
            value = self.f.operand(operand, "float" if type.bits == 32 else "double", lanes)
            return self.f.e.cast("bitcast", value, elem)
        return self.f.operand(operand, elem, lanes)

    def store_lanes(self, place: Place, values: list[Value], elem: str, count: int, strong: bool) -> None:
        f = self.f
        size = ELEM_BITS[elem] // 8
        if place.kind == UNIFORM:
            if values[0].lanes:
                last = self.last_lane(f.mask)
                values = [f.e.extract(v, last) for v in values]
            self.store_scalars(self.plus(place.address, place.offset), values, elem, strong)
        elif not self.is_contiguous(place, size * count, False):
            if place.base is not None and not self.has_scatter(elem):
                self.scatter_one_by_one(place.base, place.address, values, elem)
            else:
                self.scatter(self.lane_addresses(place), values, elem)
        else:
            self.store_slots(place, values, elem, count, list(range(count)))

    def store_slots(self, place: Place, values: list[Value], elem: str, slots: int, used: list[int]) -> None:
        """``load_slots`` the other way."""
        f = self.f
        if place.index is None or place.never_wraps:
            self.store_rows(place, values, elem, slots, used)
            return
        fast, slow, done = f.label("contiguous"), f.label("scatter"), f.label("stored")
        f.fork(self.no_wrap(place), fast, slow, True)
        f.arm(fast)
        self.store_rows(place, values, elem, slots, used)
        f.go(done)
        f.arm(slow)
        first = self.lane_addresses(place)
        for value, number in zip(values, used, strict=True):
            self.scatter(self.plus(first, number * ELEM_BITS[elem] // 8), [value], elem)
        f.go(done)
        f.join(done)

    def last_lane(self, mask: Value) -> Value:
        """The highest active lane, which wins when several lanes store to one address."""
        f = self.f
        bits = f.mask_bits(mask)
        zeros = f.e.call(f"llvm.ctlz.{bits.elem}", bits.elem, 0, [bits, int_const("i1", 0)])
        return f.e.binary("sub", int_const("i32", mask.lanes - 1), f.int32(zeros))

    def store_scalars(self, address: Value, values: list[Value], elem: str, strong: bool) -> None:
        f = self.f
        size = ELEM_BITS[elem] // 8
        for i, value in enumerate(values):
            at = f.e.binary("add", address, int_const("i64", i * size)) if i else address
            pointer = f.pointer(at)
            if strong:
                f.e.line(f"  store atomic volatile {value.typed}, {pointer.typed} monotonic, align {size}")
            else:
                f.e.line(f"  store {value.typed}, {pointer.typed}, align {size}")

    def store_rows(self, place: Place, values: list[Value], elem: str, slots: int, used: list[int]) -> None:
        """One vector store per row of lanes."""
        e = self.f.e
        width = self.width()
        for row, address in enumerate(self.row_addresses(place)):
            parts = values
            if width < self.f.lanes:
                picks = e.vector_const("i32", list(range(row * width, (row + 1) * width)))
                parts = [
                    e.value(elem, width, f"shufflevector {v.typed}, {v.type} poison, {picks.typed}") for v in values
                ]
            self.store_contiguous(self.plus(address, place.offset), self.row_mask(row), parts, elem, slots, used)

    def scatter(self, addresses: Value, values: list[Value], elem: str) -> None:
        f = self.f
        e = f.e
        size = ELEM_BITS[elem] // 8
        if not f.lanes:
            self.store_scalars(addresses, values, elem, False)
            return
        if not self.has_scatter(elem):
            self.scatter_one_by_one(int_const("i64", 0), addresses, values, elem)
            return
        vector = type_of(elem, f.lanes)
        name = f"llvm.masked.scatter.v{f.lanes}{elem}.v{f.lanes}p0"
        e.declare(name, "void", [vector, type_of("ptr", f.lanes), f"<{f.lanes} x i1>"])
        for i, value in enumerate(values):
            at = e.binary("add", addresses, int_const("i64", i * size, f.lanes)) if i else addresses
            pointers = e.cast("inttoptr", at, "ptr")
            e.line(f"  call void @{name}({value.typed}, {pointers.type} align {size} {pointers.text}, {f.mask.typed})")

    def has_scatter(self, elem: str) -> bool:
        return elem in ("i32", "i64") and "avx512f" in self.f.e.features

    def scatter_one_by_one(self, base: Value, offsets: Value, values: list[Value], elem: str) -> None:
        def store(address: Value, values: list[Value]) -> None:
            self.store_scalars(address, values, elem, False)

        self.lane_calls.call(f"scatter.{elem}.{len(values)}", base, offsets, values, store)

    # -- memory order ------------------------------------------------------------------------------------

    def order_before(self, opcode: Opcode) -> None:
        if opcode.order == "release":
            self.f.e.line("  fence release")
        elif opcode.order in _STRONG:
            self.f.e.line('  fence syncscope("singlethread") seq_cst')

    def order_after(self, opcode: Opcode) -> None:
        if opcode.order == "acquire":
            self.f.e.line("  fence acquire")
        elif opcode.order in _STRONG:
            self.f.e.line('  fence syncscope("singlethread") seq_cst')

    def fence(self, opcode: Opcode) -> None:
        if self.check:
            self.f.e.declare("dl_race_fence", "void", ["ptr", "ptr", "i64"])
            self.f.e.line(f"  call void @dl_race_fence(ptr %launch, ptr %slot, {self.f.first_thread().typed})")
        weak = opcode.order in ("acq_rel", "acquire", "release")
        self.f.e.line("  fence acq_rel" if weak else "  fence seq_cst")

    # -- checks ------------------------------------------------------------------------------------------

    def check_access(
        self, place: Place, size: int, instruction: Instruction, kind: int, values: list[Value] | None = None
    ) -> None:
        """With checks on: every active lane's range lies in a known buffer, is aligned to its size, and races with no
        other access. ``kind`` is what it does (see ``races``), ``values`` what it writes, where that is known."""
        opcode = instruction.opcode
        if not self.check or opcode.space == "param":
            return
        f = self.f
        e = f.e
        ok, bad = f.label("checked"), f.label("outside")
        if opcode.effect == ATOMIC or opcode.order in _STRONG:
            kind |= races.STRONG
        if opcode.order in ("acquire", "acq_rel"):
            kind |= races.ACQUIRES
        if opcode.order in ("release", "acq_rel"):
            kind |= races.RELEASES
        rows = Value("null", "ptr", 0) if values is None or kind & races.STRONG else self.rows_of(values)
        if place.kind == UNIFORM:
            addresses = f.alloca("addresses", "i64")
            f.store(self.plus(place.address, place.offset), addresses)
            lanes_bits = f.mask_bits(f.mask) if f.lanes else int_const("i32", 1)
            if not kind & races.WRITES or values is None or not any(v.lanes for v in values):
                # All lanes do the same.
                lanes_bits = e.binary("and", lanes_bits, e.binary("sub", int_const("i32", 0), lanes_bits))
            stride = int_const("i64", 0)
        else:
            addresses = self.spill(self.lane_addresses(place))
            lanes_bits = f.mask_bits(f.mask)
            stride = int_const("i64", 8)
        e.declare("dl_check", "i32", ["ptr", "ptr", "i64", "ptr", "i64", "i32", "i64", "i64", "ptr"])
        shape = size | min(size & -size, 16) << 32 | kind << 40
        failed = e.value(
            "i32", 0,
            f"call i32 @dl_check(ptr %launch, ptr %slot, {f.first_thread().typed}, ptr {addresses}, {stride.typed}, "
            f"{lanes_bits.typed}, i64 {shape}, i64 {instruction.pos}, {rows.typed})",
        )  # fmt: skip
        f.branch_expected(e.icmp("eq", failed, int_const("i32", 0)), ok, bad)
        f.place(bad)
        f.leave_with_fault()
        f.place(ok)

    def rows_of(self, values: list[Value]) -> Value:
        """The address of what each lane writes, lane after lane."""
        f = self.f
        wide = [f.e.splat(value, f.lanes) for value in values]
        if len(wide) == 1:
            return Value(self.spill(wide[0]), "ptr", 0)
        if f.lanes:
            return Value(self.spill(self.interleaved(wide)), "ptr", 0)
        slot = f.alloca("row", f"[{len(wide)} x {wide[0].elem}]", 64)
        for i, value in enumerate(wide):
            self.set_element(slot, value, int_const("i32", i))
        return Value(slot, "ptr", 0)


def _element(type: Type, vector: int) -> tuple[str, int]:
    """The LLVM element and how many of them a lane accesses: 128-bit values go as pairs of 64."""
    if type.bits == 128:
        return "i64", 2 * vector
    return INT_ELEM[type.bits], vector
