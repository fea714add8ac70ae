"""Memory instructions to handlers (PTX ISA 9.0 sections 9.7.9.8 to 9.7.9.20 and 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.ir import SINK, Address, Instruction, Operand, Register, Symbol, Vector
from drawloom.ptx.isa import Opcode
from drawloom.ptx.layout import stack_alignment
from drawloom.ptx.types import U64
from drawloom.reference.atomics import read_modify_write
from drawloom.reference.decode import Builder, Decoder, apply
from drawloom.reference.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    WINDOW_SIZE,
    WINDOWS,
    Fault,
    check_alignment,
    space_of,
)
from drawloom.reference.threads import Handler, Registers, Thread

Load = Callable[[Thread, int, int], int]
Store = Callable[[Thread, int, int, int], None]

_STRONG: Final = frozenset(("volatile", "relaxed", "acquire", "release"))


def _is_strong(op: Opcode) -> bool:
    return op.order in _STRONG


def _space(d: Decoder, i: Instruction, operand: Operand) -> str:
    """The space to access: the written one; ``.param`` means the frame outside of kernel parameters."""
    space = i.opcode.space
    if space != "param":
        return "shared" if space == "shared::cluster" else space
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        return "param" if d.place(operand.base.name).space == "param" else "local"
    return "param" if d.function.is_entry else "local"


def _loader(d: Decoder, i: Instruction, space: str) -> Load:
    op = i.opcode
    memory = d.launch.memory
    params = d.launch.params
    strong = _is_strong(op)
    acquires = op.order == "acquire"

    def load_global(t: Thread, address: int, size: int) -> int:
        if strong:
            t.block.locations.read(t.clock, address, acquires)
        return memory.load(address, size)

    # A 32-bit register holds the low bits of a const address; the image of variables has less than 4 GiB.
    source = i.operands[1]
    base = source.base if isinstance(source, Address) else None
    narrow = isinstance(base, Register) and base.type.bits == 32
    image = d.launch.image_base

    def load_const(t: Thread, address: int, size: int) -> int:
        return memory.load(image + (address - image & 0xFFFFFFFF) if narrow else address, size)

    def load_shared(t: Thread, address: int, size: int) -> int:
        if strong:
            t.block.locations.read(t.clock, address | SHARED_WINDOW, acquires)
        return t.block.shared.read(t.clock, address, size, strong, i)

    def load_local(t: Thread, address: int, size: int) -> int:
        return t.local.load(address, size)

    def load_param(t: Thread, address: int, size: int) -> int:
        return params.load(address, size)

    def load_generic(t: Thread, address: int, size: int) -> int:
        if address < SHARED_WINDOW:
            return load_global(t, address, size)
        return by_space[space_of(address)](t, address & WINDOW_SIZE - 1, size)

    by_space: dict[str, Load] = {
        "": load_generic, "global": load_global if strong else lambda t, a, n: memory.load(a, n),
        "const": load_const, "shared": load_shared, "local": load_local, "param": load_param,
    }  # fmt: skip
    return by_space[space]


def _storer(d: Decoder, i: Instruction, space: str) -> Store:
    op = i.opcode
    memory = d.launch.memory
    strong = _is_strong(op)
    releases = op.order == "release"

    def store_global(t: Thread, address: int, size: int, value: int) -> None:
        if strong:
            t.block.locations.write(t.clock, address, releases, False)
        memory.store(address, size, value)

    def store_shared(t: Thread, address: int, size: int, value: int) -> None:
        if strong:
            t.block.locations.write(t.clock, address | SHARED_WINDOW, releases, False)
        t.block.shared.write(t.clock, address, size, value, strong, i)

    def store_local(t: Thread, address: int, size: int, value: int) -> None:
        t.local.store(address, size, value)

    def store_param(t: Thread, address: int, size: int, value: int) -> None:
        raise Fault("a store to a kernel parameter, which cannot be written")

    def store_generic(t: Thread, address: int, size: int, value: int) -> None:
        if address < SHARED_WINDOW:
            store_global(t, address, size, value)
        else:
            by_space[space_of(address)](t, address & WINDOW_SIZE - 1, size, value)

    by_space: dict[str, Store] = {
        "": store_generic, "global": store_global, "shared": store_shared, "local": store_local, "param": store_param,
    }  # fmt: skip
    return by_space[space]


def _ld(d: Decoder, i: Instruction) -> Handler:
    op = i.opcode
    type = op.type
    assert type is not None
    target, source = i.operands[0], i.operands[1]
    load = _loader(d, i, _space(d, i, source))
    base, offset, mask = d.address(source, op.space)
    size = type.bytes * op.vector
    if op.vector == 1:
        to = d.destination(target.elements[0] if isinstance(target, Vector) else target)
        widen = d.widening(target, type)

        def load_one(r: Registers, t: Thread) -> None:
            value = load(t, r[base] + offset & mask, size)  # type: ignore[operator]
            r[to] = value if widen is None else widen(value)

        return load_one
    assert isinstance(target, Vector)
    bits = type.bits
    element_mask = (1 << bits) - 1
    pieces = [(d.destination(e), bits * k, d.widening(e, type)) for k, e in enumerate(target.elements)]

    def load_vector(r: Registers, t: Thread) -> None:
        whole = load(t, r[base] + offset & mask, size)  # type: ignore[operator]
        for slot, shift, widen in pieces:
            value = whole >> shift & element_mask
            r[slot] = value if widen is None else widen(value)

    return load_vector


def _st(d: Decoder, i: Instruction) -> Handler:
    op = i.opcode
    type = op.type
    assert type is not None
    target, source = i.operands[0], i.operands[1]
    store = _storer(d, i, _space(d, i, target))
    base, offset, mask = d.address(target, op.space)
    size = type.bytes * op.vector
    bits = type.bits
    element_mask = (1 << bits) - 1
    elements = source.elements if isinstance(source, Vector) else [source]
    parts = [(d.source(e, type), bits * k) for k, e in enumerate(elements)]
    first = parts[0][0]
    if len(parts) == 1:

        def store_one(r: Registers, t: Thread) -> None:
            store(t, r[base] + offset & mask, size, r[first] & element_mask)  # type: ignore[operator]

        return store_one

    def store_vector(r: Registers, t: Thread) -> None:
        whole = 0
        for slot, shift in parts:
            whole |= (r[slot] & element_mask) << shift  # type: ignore[operator]
        store(t, r[base] + offset & mask, size, whole)  # type: ignore[operator]

    return store_vector


def _atom(d: Decoder, i: Instruction) -> Handler:
    """``atom`` and ``red``: one thread runs at a time, so a read and a write are one step. A vector is one operation
    per element, each atomic for itself (9.7.13.5)."""
    op = i.opcode
    type = op.type
    assert type is not None
    memory = d.launch.memory
    returns = op.name == "atom"
    at = 1 if returns else 0
    base, offset, mask = d.address(i.operands[at], op.space)
    count = 2 if op.operation == "cas" else 1
    operands = i.operands[at + 1 : at + 1 + count]
    lanes: list[tuple[int, int, list[int]]] = []
    for k in range(op.vector):
        target = i.operands[0] if returns else SINK
        to = d.destination(_element(target, k))
        lanes.append((to, k * type.bytes, [d.source(_element(o, k), type) for o in operands]))
    size = type.bytes
    whole = size * op.vector
    acquires, releases = op.order in ("acquire", "acq_rel"), op.order in ("release", "acq_rel")
    in_global, in_shared = read_modify_write(op, "global"), read_modify_write(op, "shared")
    fixed = "shared" if op.space.startswith("shared") else op.space

    def step(r: Registers, t: Thread) -> None:
        address = r[base] + offset & mask  # type: ignore[operator]
        space = fixed or space_of(address)
        block, clock = t.block, t.clock
        place = (address & WINDOW_SIZE - 1 | SHARED_WINDOW) if space == "shared" else address
        check_alignment(address, whole, space)
        block.locations.read(clock, place, acquires)
        olds: list[int] = []
        for _, move, sources in lanes:
            values = [r[s] for s in sources]
            if space == "global":
                old = memory.load(address + move, size)
                memory.store(address + move, size, in_global(old, *values))
            elif space == "shared":
                old = block.shared.load(address + move & WINDOW_SIZE - 1, size)
                new = in_shared(old, *values)
                block.shared.write(clock, address + move & WINDOW_SIZE - 1, size, new, True, i)
            else:
                raise Fault(f"an atomic operation on {space} memory: it must point to global or shared memory")
            olds.append(old)
        block.locations.write(clock, place, releases, True)
        for (to, _, _), old in zip(lanes, olds, strict=True):
            r[to] = old

    return step


def _element(operand: Operand, index: int) -> Operand:
    """An element of a vector operand; the operand itself where it is none."""
    return operand.elements[index] if isinstance(operand, Vector) else operand


def _fence(d: Decoder, i: Instruction) -> Handler:
    """One thread runs at a time, so fences only order what the race detector knows."""

    def step(r: Registers, t: Thread) -> None:
        t.clock.fence()

    return step


def _cvta(d: Decoder, i: Instruction) -> Handler:
    """``cvta.space`` adds the window's address, ``cvta.to.space`` takes it away (9.7.9.20)."""
    op = i.opcode
    assert op.type is not None
    space = op.space
    mask = (1 << op.type.bits) - 1
    source = i.operands[1]
    window = WINDOWS[space]
    if space == "param" and not d.function.is_entry:
        window = LOCAL_WINDOW
    if isinstance(source, Symbol):
        place = d.place(source.name)
        if place.space in ("local", "frame"):
            window = LOCAL_WINDOW
    move = -window if op.has("to") else window
    return apply(lambda a: a + move & mask, d.destination(i.operands[0]), [d.source(source, U64)])


def _isspacep(d: Decoder, i: Instruction) -> Handler:
    """Whether a generic address lies in a window; const variables stand among the global ones (9.7.9.19)."""
    wanted = "shared" if i.opcode.space.startswith("shared") else i.opcode.space
    ranges = _const_ranges(d)

    def is_in(address: int) -> int:
        space = space_of(address + 0)
        if space == "global" and any(low <= address < high for low, high in ranges):
            space = "const"
        return 1 if space == wanted else 0

    return apply(is_in, d.destination(i.operands[0]), [d.source(i.operands[1], U64)])


def _const_ranges(d: Decoder) -> list[tuple[int, int]]:
    launch = d.launch
    out: list[tuple[int, int]] = []
    for name, variable in launch.module.variables.items():
        if variable.space == "const" and name in launch.globals.offsets:
            start = launch.image_base + launch.globals.offsets[name]
            out.append((start, start + variable.size))
    return out


def _alloca(d: Decoder, i: Instruction) -> Handler:
    """Local memory until the function returns (9.7.16.3): its address in the local window's own space."""
    to = d.destination(i.operands[0])
    size = d.source(i.operands[1], U64)
    alignment = stack_alignment(i)

    def step(r: Registers, t: Thread) -> None:
        r[to] = t.allocate(r[size] + 0, alignment)  # type: ignore[operator]

    return step


def _stacksave(d: Decoder, i: Instruction) -> Handler:
    to = d.destination(i.operands[0])

    def step(r: Registers, t: Thread) -> None:
        r[to] = t.stack_top

    return step


def _stackrestore(d: Decoder, i: Instruction) -> Handler:
    source = d.source(i.operands[0], U64)

    def step(r: Registers, t: Thread) -> None:
        top = r[source] + 0  # type: ignore[operator]
        if not t.frames[-1].base <= top <= t.stack_top:
            raise Fault(f"stackrestore to {top}, which stacksave did not give")
        t.release(top)

    return step


MEMORY_BUILDERS: Final[dict[str, Builder]] = {
    "ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _atom, "membar": _fence, "fence": _fence, "cvta": _cvta,
    "isspacep": _isspacep, "alloca": _alloca, "stacksave": _stacksave, "stackrestore": _stackrestore,
}  # fmt: skip
