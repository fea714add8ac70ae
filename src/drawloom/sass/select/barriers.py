"""Selection of barriers between the warps of a block, fences, and what talks to caches and the scheduler."""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Address, Immediate, Instruction, Operand, Register
from drawloom.ptx.isa import Opcode
from drawloom.sass.availability import IGNORED
from drawloom.sass.select.operands import FALSE, OTHER, ZERO, Src, imm, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector

#: Named barriers of a block.
_BARRIERS: Final = 16
_FENCE_SCOPES: Final[dict[str, str]] = {"": "GPU", "cta": "CTA", "cluster": "GPU", "gpu": "GPU", "sys": "SYS"}
#: What CCTL does for a prefetch or another hint, by the words of the PTX opcode.
_CACHE_HINTS: Final[dict[str, str]] = {
    "prefetch L1": "PF1", "prefetch L2": "PF2", "prefetch L2::evict_last": "PML2",
    "prefetch L2::evict_normal": "PF2", "prefetchu L1": "PF1", "discard L2": "RML2",
    "applypriority L2::evict_normal": "DML2",
}  # fmt: skip


def barrier(s: Selector, i: Instruction) -> None:
    """``bar`` and ``barrier``: sync, arrive and red; number and count may be registers."""
    opcode = i.opcode
    operands = list(i.operands[1:] if opcode.has_destination else i.operands)
    holds = [s.predicate(operands.pop())] if opcode.action == "red" else []
    aligned = opcode.name == "bar" or opcode.has("aligned")
    if not aligned or s.number >= 75:  # what is aligned has all lanes come, but they may be under way one by one
        s.bring_together(None)
    places = barrier_places(s, operands)
    late = ".DEFER_BLOCKING" if s.number >= 80 else ""
    # As ptxas 12.9 has it: not where lanes may come one after the other, before sm_90.
    plain = opcode.action == "sync" and not aligned and s.number < 90
    if opcode.action == "arrive":
        s.emit("BAR.ARV", places)
    elif opcode.action == "sync":
        s.emit("BAR.SYNC" if plain else "BAR.SYNC" + late, places)
    else:
        s.emit(f"BAR.RED.{opcode.operation.upper()}{late}", places + holds)
        target = i.operands[0]
        assert isinstance(target, Register)
        if opcode.operation == "popc":
            s.emit("B2R.RESULT", [reg(s.home(target))])
        else:
            s.emit("B2R.RESULT", [ZERO, pred(s.home(target))])


def barrier_places(s: Selector, operands: list[Operand]) -> list[Src]:
    """Number and count of a barrier; two registers share one, the count in its upper half."""
    which = s.number_of(operands[0])
    s.barriers = max(s.barriers, _BARRIERS if which is None else which + 1)
    if len(operands) == 1:
        return [place(s, operands[0])]
    count = s.number_of(operands[1])
    if which is None and count is None:
        shifted, both = s.fresh(), s.fresh()
        s.emit("SHF.L.U32", [reg(shifted), s.register_word(operands[1]), imm(16), ZERO])
        word = s.register_word(operands[0])
        s.emit("LOP3.LUT", [reg(both), reg(shifted), imm(0xF), word, imm(0xF8), FALSE])
        return [reg(both), reg(both)]
    return [place(s, operands[0]), place(s, operands[1])]


def place(s: Selector, operand: Operand) -> Src:
    number = s.number_of(operand)
    return s.register_word(operand) if number is None else Src("I", [number], OTHER)


def fence(s: Selector, i: Instruction) -> None:
    """``membar`` and ``fence``."""
    opcode = i.opcode
    if opcode.has("proxy"):
        proxy_fence(s, opcode)
    elif opcode.order == "acquire":
        acquire(s, opcode)
    elif opcode.order == "release":
        release(s, opcode)
    else:
        # `fence` without a word for its order is `.acq_rel`.
        memory_barrier(s, "SC" if opcode.order == "sc" else "ALL", opcode.scope)
        forget_cache(s, opcode.scope)


def proxy_fence(s: Selector, opcode: Opcode) -> None:
    """Between accesses by different ways to the same memory."""
    if opcode.has("alias"):
        s.emit("MEMBAR.SC.GPU" if s.number == 75 else "MEMBAR.SC.SYS", [])
        s.emit("CCTL.IVALL", [])
    elif opcode.has("global"):
        s.emit("FENCE.VIEW.ASYNC.G", [])
    else:
        s.emit("MEMBAR.ALL.CTA" if opcode.has("shared::cta") else "MEMBAR.ALL.GPU", [])
        s.emit("FENCE.VIEW.ASYNC.S", [])


def memory_barrier(s: Selector, kind: str, scope: str) -> None:
    """Wait until earlier accesses are seen in ``scope``; beyond the block their errors are waited for, too."""
    s.emit(f"MEMBAR.{kind}.{_FENCE_SCOPES[scope]}", [])
    if scope != "cta":
        s.emit("ERRBAR", [])
        if s.number >= 90:
            s.emit("CGAERRBAR", [])


def forget_cache(s: Selector, scope: str) -> None:
    """Later loads must not find in the first cache what others have changed since."""
    if scope != "cta":
        s.emit("CCTL.IVALL", [])


def release(s: Selector, opcode: Opcode) -> None:
    """The fence before an access (or instead of one) with release order."""
    if opcode.order in ("release", "acq_rel"):
        memory_barrier(s, "ALL", opcode.scope)


def acquire(s: Selector, opcode: Opcode) -> None:
    """The fence behind an access (or instead of one) with acquire order."""
    if opcode.order in ("acquire", "acq_rel"):
        forget_cache(s, opcode.scope)


def sleep(s: Selector, i: Instruction) -> None:
    """``nanosleep``."""
    s.emit("NANOSLEEP.WARP" if s.number < 80 else "NANOSLEEP", [s.word(i.operands[0])])


def cache_hint(s: Selector, i: Instruction) -> None:
    """``prefetch``, ``prefetchu``, ``discard``, ``applypriority``."""
    from drawloom.sass.select.memory import long_base

    opcode = i.opcode
    if opcode.space == "local":
        return  # local memory has its lines in the first cache already: the driver's assembler makes nothing of it
    found = [_CACHE_HINTS[key] for m in opcode.modifiers if (key := f"{opcode.name} {m}") in _CACHE_HINTS]
    if not found:
        raise UnsupportedError(f"'{opcode.text}' is not supported: tensor maps are not covered")
    address = i.operands[0]
    assert isinstance(address, Address)
    pair, offset = long_base(s, address)
    s.emit(f"CCTL.E.{found[0]}", [Src("[R+I]", [pair, offset], OTHER)])


def event(s: Selector, i: Instruction) -> None:
    """``pmevent``: a mask of events, or one by its number."""
    number = i.operands[0]
    assert isinstance(number, Immediate)
    s.emit("PMTRIG", [imm(number.value if i.opcode.has("mask") else 1 << number.value)])


def ignored(s: Selector, i: Instruction) -> None:
    """What `availability.IGNORED` warns of."""


def dependent_grids(s: Selector, i: Instruction) -> None:
    """``griddepcontrol``."""
    s.emit("ACQBULK" if i.opcode.has("wait") else "PREEXIT", [])


HANDLERS.update({"bar": barrier, "barrier": barrier, "membar": fence, "fence": fence, "nanosleep": sleep})
HANDLERS.update(dict.fromkeys(("prefetch", "prefetchu", "discard", "applypriority"), cache_hint))
HANDLERS.update({"pmevent": event, "griddepcontrol": dependent_grids})
HANDLERS.update(dict.fromkeys(IGNORED, ignored))
