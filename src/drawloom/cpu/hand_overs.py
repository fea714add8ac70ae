"""Whether the lanes of a warp hand values to each other through shared memory with no barrier in between.

    st.shared.f32 [%r1], %f1;        %r1 grows by 4 from lane to lane
    ld.shared.f32 %f2, [%r1+64];     what the sixteenth lane after this one has stored: so
    ld.shared.f32 %f3, [%r1+640];    no lane of this warp has stored this: its lanes reach 124 bytes

Such programs are right where the lanes of a warp go in step. A store after a load is no hand-over: what one lane may
overwrite before another reads it, another warp may, too. Nor are accesses at constants from an address of no regular
shape over the lanes: programs that count on steps name their neighbours from the lane's own place.
"""

from __future__ import annotations

from drawloom.cpu.abi import WARP
from drawloom.cpu.roots import ANY, Roots
from drawloom.cpu.shapes import AFFINE, UNIFORM, VARYING, WIDENED, Rules
from drawloom.cpu.structure import Structure
from drawloom.ptx.cfg import Block, build_cfg
from drawloom.ptx.ir import INT, Address, Function, Immediate, Instruction, Module, Register
from drawloom.ptx.isa import ATOMIC, BARRIER, LOAD, STORE
from drawloom.ptx.layout import local_layout


def hands_over(module: Module, kernel: Function, shared: set[str]) -> bool:
    """Return whether a load of ``kernel`` may read what another lane of its warp has stored since the last barrier;
    ``shared`` are the names of the variables in shared memory."""
    return _HandOvers(module, kernel, shared).is_found()


def is_shared(instruction: Instruction) -> bool:
    """Whether an instruction may access shared memory."""
    return instruction.opcode.effect in (LOAD, STORE, ATOMIC) and instruction.opcode.space in ("shared", "")


class _Place:
    """What accesses name by one base register (-1: none), offset and size in bytes. ``stride`` is what is added to the
    address from lane to lane, None where that is not known."""

    def __init__(self, root: str, base: int, offset: int, size: int, stride: int | None) -> None:
        self.root = root
        self.base = base
        self.offset = offset
        self.size = size
        self.stride = stride


class _Written:
    """The places written since the last barrier, as bit sets: those whose base register still has the same value, and
    those (``stale``) that it has changed since."""

    def __init__(self, fresh: int = 0, stale: int = 0) -> None:
        self.fresh = fresh
        self.stale = stale


class _HandOvers:
    """The places of a kernel's accesses to shared memory, and the search over its blocks."""

    def __init__(self, module: Module, kernel: Function, shared: set[str]) -> None:
        self.cfg = build_cfg(kernel, module)
        params = frozenset([v.name for v in kernel.params])
        blocks = frozenset([v.name for v in kernel.variables if v.space == "param"])
        rules = Rules(WARP, params, frozenset(local_layout(kernel)[0]), 16, blocks)
        self.plan = Structure(self.cfg, rules, True)
        self.roots = Roots(self.plan.live.uses, shared)
        self.places: list[_Place] = []
        self.numbers: dict[str, int] = {}
        #: The places of each base register.
        self.based: dict[int, int] = {}
        #: By number of the place of a load: the places whose fresh and stale values it may get from another lane.
        self.fresh: dict[int, int] = {}
        self.stale: dict[int, int] = {}

    def is_found(self) -> bool:
        for block in self.cfg.blocks:  # number all places first
            for instruction in block.instructions:
                if is_shared(instruction):
                    self.place_of(instruction)
        entered = [_Written() for _ in self.cfg.blocks]
        waiting = {block.id for block in self.cfg.blocks}
        while waiting:
            block = self.cfg.blocks[min(waiting)]
            waiting.remove(block.id)
            leaving = _Written(entered[block.id].fresh, entered[block.id].stale)
            if self.goes_through(block, leaving):
                return True
            for s in block.succs:
                into = entered[s]
                if leaving.fresh & ~into.fresh or leaving.stale & ~into.stale:
                    into.fresh |= leaving.fresh
                    into.stale |= leaving.stale
                    waiting.add(s)
        return False

    def goes_through(self, block: Block, written: _Written) -> bool:
        """Whether a load of this block may read what another lane has ``written``, which becomes what leaves it."""
        for instruction in block.instructions:
            effect = instruction.opcode.effect
            if effect == BARRIER:
                written.fresh = written.stale = 0
            elif effect in (STORE, ATOMIC) and is_shared(instruction):
                written.fresh |= 1 << self.place_of(instruction)
            elif effect == LOAD and is_shared(instruction) and self.may_read(instruction, written):
                return True
            for register in instruction.destinations():
                changed = written.fresh & self.based.get(register.id, 0)
                written.stale |= changed
                written.fresh &= ~changed
        return False

    def place_of(self, access: Instruction) -> int:
        """The number of the place that an instruction accesses."""
        address = next((operand for operand in access.operands if isinstance(operand, Address)), None)
        size = access.opcode.types[0].bytes * access.opcode.vector
        base = address.base if address is not None else None
        offset = address.offset if address is not None else 0
        root = self.roots.of_access(access)
        id = -1
        if isinstance(base, Register):
            id, added = self.without_constants(base.id)
            offset += added
        key = f"{id if id >= 0 else root} {offset} {size}"
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.places)
            self.places.append(_Place(root, id, offset, size, self.stride_of(id)))
            if id >= 0:
                self.based[id] = self.based.get(id, 0) | 1 << number
        return number

    def without_constants(self, register: int) -> tuple[int, int]:
        """The register that a constant is added to for this one, and the constant."""
        added = 0
        while True:
            definition = self.roots.uses.definition[register]
            if definition is None or definition.opcode.name != "add" or register in self.roots.unsettled:
                return register, added
            source, constant = definition.operands[1], definition.operands[2]
            if not isinstance(source, Register) or not isinstance(constant, Immediate) or constant.kind != INT:
                return register, added
            if source.id in self.roots.unsettled or source.type.bits != definition.opcode.types[0].bits:
                return register, added
            register = source.id
            added += constant.value

    def stride_of(self, base: int) -> int | None:
        shape = self.plan.shapes[base] if base >= 0 else None
        if base < 0 or (shape is not None and shape.kind == UNIFORM):
            return 0
        if shape is None or shape.kind == VARYING:
            return None
        return shape.stride if shape.kind == AFFINE else shape.scale * shape.stride if shape.kind == WIDENED else None

    def may_read(self, load: Instruction, written: _Written) -> bool:
        number = self.place_of(load)
        if number not in self.fresh:
            place = self.places[number]
            self.fresh[number] = self.stale[number] = 0
            for other, store in enumerate(self.places):
                if ANY in (place.root, store.root) or place.root == store.root:
                    self.stale[number] |= 1 << other
                    self.fresh[number] |= int(_may_meet(place, store)) << other
        return bool(written.fresh & self.fresh[number] or written.stale & self.stale[number])


def _may_meet(load: _Place, store: _Place) -> bool:
    """Whether one lane of a warp may load what another one stores while base registers keep their values."""
    if load.base != store.base or load.stride == 0:
        return True
    if load.stride is None:
        return False
    # Lane l of the load meets lane l + d of the store where each of the two ends after the other begins.
    stride = load.stride
    low, high = load.offset - store.offset - store.size + 1, load.offset - store.offset + load.size - 1
    if stride < 0:
        stride, low, high = -stride, -high, -low
    first, last = max(-(-low // stride), 1 - WARP), min(high // stride, WARP - 1)
    return first <= last and not first == last == 0
