"""How sm_61 spells loads, stores, atomics, barriers, fences and votes that the common handlers emit."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction
from drawloom.sass.machine import PT
from drawloom.sass.select.operands import OTHER, TRUE, ZERO, Src, imm, pred, reg
from drawloom.sass.select.pascal.selector import PASCAL_HANDLERS, SPELLINGS, PascalSelector
from drawloom.sass.select.selector import Selector

#: Which caches an access may use, by what later targets say of it; the first that is said.
_LOADS: Final[dict[str, str]] = {
    "CONSTANT": ".CI", "STRONG.SYS": ".CV", "STRONG.GPU": ".CG", "STRONG.SM": "", "LU": ".CG", "": "",
}  # fmt: skip
_STORES: Final[dict[str, str]] = {"STRONG.SYS": ".WT", "STRONG.GPU": ".CG", "STRONG.SM": "", "EF": ".CS", "": ""}
_SIZES: Final = frozenset("U8 S8 U16 S16 64 128".split())
_OFFSETS: Final = 1 << 19
#: How far a fence reaches.
_FENCES: Final[dict[str, str]] = {
    "CTA": "MEMBAR.CTA", "GPU": "MEMBAR.GL.IVALLD", "SYS": "MEMBAR.SYS.IVALLD",
}  # fmt: skip


def access(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``LD``, ``LDG``, ``ST`` and ``STG``."""
    base, _, *modifiers = mnemonic.split(".")
    size = next((m for m in modifiers if m in _SIZES), "")
    loading = base.startswith("LD")
    kind = next(kind for said, kind in (_LOADS if loading else _STORES).items() if said in mnemonic)
    if size == "128" and kind == ".CI":
        size = "U.128"
    made = f"{base}.E{kind}" + ("." + size if size else "")
    if base in ("LDG", "STG"):
        s.native(made, operands)
        return
    where = operands[1 if loading else 0]
    address, is_global = generic(s, where.values[0], where.values[1])
    s.native(made, [operands[0], address, is_global] if loading else [address, operands[1], is_global])


def generic(s: PascalSelector, pair: int, offset: int) -> tuple[Src, Src]:
    """A generic address as LD and ST want it: with whether it is outside of the window of shared memory."""
    if not 0 <= offset < _OFFSETS:
        moved = s.fresh(2)
        high = imm(-1) if offset < 0 else ZERO
        s.add_wide(moved, [reg(pair), reg(pair + 1)], [imm(offset), high])
        pair, offset = moved, 0
    place, outside = s.fresh(2), pred(s.fresh_predicate())
    s.native("LEA", [Src("R.CC", [place], OTHER), reg(pair), imm(offset) if offset else ZERO])
    s.native("LEA.HI.X", [outside, reg(place + 1), reg(pair), ZERO, reg(pair + 1)])
    return Src("[R+I]", [place, 0], OTHER), outside


def shared_load(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``LDS``."""
    s.native({"LDS.64": "LDS.U.64", "LDS.128": "LDS.U.128"}.get(mnemonic, mnemonic), operands)


def atomic(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``ATOM``, ``ATOMG``, ``RED``, ``REDG``, ``ATOMS``: without a scope; both values of a swap are one operand."""
    words = mnemonic.split(".")
    if "STRONG" in words:
        del words[words.index("STRONG") :]
    if "CAS" not in words:
        words = ["U64" if word == "64" else word for word in words]
    words[0] = {"ATOMG": "ATOM", "REDG": "RED"}.get(words[0], words[0])
    if operands[0].text == "P":
        operands = operands[1:]
    s.native(".".join(words), operands[:3])


def barrier(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``BAR``: what the block has written is seen behind it."""
    s.native(mnemonic, operands)
    s.native("MEMBAR.CTA", [])


def fence(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``MEMBAR``."""
    s.native(_FENCES[mnemonic.rpartition(".")[2]], [])


def nothing(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """The fence has done it."""


def cache_control(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``CCTL``: prefetches; fences forget what the first cache has."""
    if operands:
        s.native(mnemonic, operands)


def vote(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``VOTE`` has always both results, the ballot in a register."""
    s.native(mnemonic, operands if len(operands) == 3 else [reg(s.fresh()), *operands])


def clock(s: PascalSelector, mnemonic: str, operands: list[Src]) -> None:
    """``CS2R``: one word; of two the upper one is read before and after the lower one, and both again if it moved."""
    if mnemonic == "CS2R.32":
        s.native("CS2R", operands)
        return
    out, low = operands[0].values[0], operands[1]
    name = s.target.special_names[low.values[0]]
    high = Src("S", [s.target.special(upper_half(name))], OTHER)
    words = [reg(s.fresh()) for _ in range(4)]
    for word, half in zip(words, (high, low, high, low), strict=True):
        s.native("CS2R", [word, half])
    steady = pred(s.fresh_predicate())
    s.native("ISETP.EQ.U32.AND", [steady, pred(PT), words[0], words[2], TRUE])
    s.native("SEL", [reg(out), words[1], words[3], steady])
    s.native("MOV", [reg(out + 1), words[2]])


def upper_half(name: str) -> str:
    """The special register with the upper word of a counter."""
    return name.removesuffix("LO") + "HI" if name.endswith("LO") else name.replace("SR_PM", "SR_PM_HI")


def event(s: Selector, i: Instruction) -> None:
    """``pmevent``: sm_61 has no instruction for it; the driver's assembler leaves it out."""


SPELLINGS.update(dict.fromkeys(("LD", "LDG", "ST", "STG"), access))
SPELLINGS.update(dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED", "REDG"), atomic))
SPELLINGS.update(
    {
        "LDS": shared_load, "BAR": barrier, "MEMBAR": fence, "ERRBAR": nothing, "CCTL": cache_control, "VOTE": vote,
        "CS2R": clock,
    }
)  # fmt: skip
PASCAL_HANDLERS.update({"pmevent": event})
