"""Selection of special registers: by S2R or CS2R, from constant bank 0, or computed from either.

What stands where was read from what ptxas 12.9 makes of each name for each target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Register
from drawloom.ptx.specials import canonical
from drawloom.sass.select.operands import FALSE, OTHER, REGISTER, TRUE, ZERO, Src, bank, imm, pred, reg
from drawloom.sass.select.selector import Selector

#: Read by S2R.
_BY_S2R: Final[dict[str, str]] = {
    "%tid.x": "SR_TID.X", "%tid.y": "SR_TID.Y", "%tid.z": "SR_TID.Z", "%ctaid.x": "SR_CTAID.X",
    "%ctaid.y": "SR_CTAID.Y", "%ctaid.z": "SR_CTAID.Z", "%laneid": "SR_LANEID", "%lanemask_eq": "SR_EQMASK",
    "%lanemask_lt": "SR_LTMASK", "%lanemask_le": "SR_LEMASK", "%lanemask_gt": "SR_GTMASK",
    "%lanemask_ge": "SR_GEMASK", "%smid": "SR_VIRTUALSMID", "%cluster_ctarank": "SR_CgaCtaId",
}  # fmt: skip
#: Read by CS2R, one word (.32) or a pair.
_BY_CS2R: Final[dict[str, str]] = {
    "%clock": "SR_CLOCKLO", "%clock_hi": "SR_CLOCKHI", "%clock64": "SR_CLOCKLO",
    "%globaltimer": "SR_GLOBALTIMERLO", "%globaltimer_lo": "SR_GLOBALTIMERLO", "%globaltimer_hi": "SR_GLOBALTIMERHI",
    **{f"%pm{n}": f"SR_PM{n}" for n in range(8)}, **{f"%pm{n}_64": f"SR_PM{n}" for n in range(8)},
}  # fmt: skip
#: In constant bank 0 on every target from sm_75 on, and where sm_90 has moved or added something.
_IN_BANK: Final[dict[str, int]] = {
    "%ntid.x": 0x0, "%ntid.y": 0x4, "%ntid.z": 0x8, "%nctaid.x": 0xC, "%nctaid.y": 0x10, "%nctaid.z": 0x14,
    "%nsmid": 0x10C, "%gridid": 0x30, "%dynamic_smem_size": 0x2C,
}  # fmt: skip
_IN_LATE_BANK: Final[dict[str, int]] = {
    "%current_graph_exec": 0x190, "%reserved_smem_offset_end": 0x68, "%reserved_smem_offset_1": 0x6C,
    "%nclusterid.x": 0x15C, "%nclusterid.y": 0x160, "%nclusterid.z": 0x164, "%cluster_nctaid.x": 0x144,
    "%cluster_nctaid.y": 0x148, "%cluster_nctaid.z": 0x14C, "%cluster_nctarank": 0x188,
    **{f"%envreg{n}": 0x40 + 4 * n for n in range(32)},
}  # fmt: skip
_IN_EARLY_BANK: Final[dict[str, int]] = {
    "%current_graph_exec": 0x130, "%reserved_smem_offset_end": 0x120, "%reserved_smem_offset_1": 0x124,
    **{f"%envreg{n}": 0x88 + 4 * n for n in range(32)},
}  # fmt: skip
#: In constant bank 0 of sm_61.
_IN_FIRST_BANK: Final[dict[str, int]] = {
    "%ntid.x": 0x8, "%ntid.y": 0xC, "%ntid.z": 0x10, "%nctaid.x": 0x14, "%nctaid.y": 0x18, "%nctaid.z": 0x1C,
    "%gridid": 0x28, "%dynamic_smem_size": 0xFC, "%current_graph_exec": 0x118,
    **{f"%envreg{n}": 0x30 + 4 * n for n in range(32)},
}  # fmt: skip
#: Warps that a multiprocessor holds, where no register says so.
_WARPS: Final[dict[int, int]] = {61: 64, 75: 32, 80: 64, 86: 48, 89: 48}


def special(s: Selector, register: Register, name: str) -> None:
    """``mov`` from a special register."""
    name = canonical(name)
    at = bank_place(s, name)
    if register.type.kind == "p":
        cluster_test(s, s.home(register))
        return
    words = max(1, register.type.bits // 32)
    if at >= 0 and words <= (2 if name in ("%gridid", "%current_graph_exec") else 1):
        if s.definitions.settled(register):
            s.banks[register.id] = at
            return
        for part in range(words):
            s.emit("MOV", [reg(s.home(register) + part), bank(at + 4 * part)])
        return
    out = s.home(register)
    if name in _BY_CS2R:
        s.emit("CS2R" if words == 2 else "CS2R.32", [reg(out), special_operand(s, _BY_CS2R[name])])
        return
    put(s, out, name)
    for part in range(1, words):
        s.emit("MOV", [reg(out + part), ZERO])


def bank_place(s: Selector, name: str) -> int:
    """The offset in constant bank 0, or -1."""
    if s.number == 61:
        return _IN_FIRST_BANK.get(name, -1)
    own = _IN_LATE_BANK if s.number >= 90 else _IN_EARLY_BANK
    at = own.get(name, _IN_BANK.get(name, -1))
    if s.number == 75 and name == "%current_graph_exec":
        return 0x120
    return at


def put(s: Selector, out: int, name: str) -> None:
    """A special register of one word into ``out``."""
    at = bank_place(s, name)
    if at >= 0:
        s.emit("MOV", [reg(out), bank(at)])
    elif s.number == 61 and name in _COMPUTED_FIRST:
        _COMPUTED_FIRST[name](s, out)
    elif name in _BY_S2R:
        read_special(s, out, _BY_S2R[name])
    elif name in _BY_CS2R:
        s.emit("CS2R.32", [reg(out), special_operand(s, _BY_CS2R[name])])
    elif name in _COMPUTED:
        _COMPUTED[name](s, out)
    elif name.endswith(".w"):
        s.emit("MOV", [reg(out), ZERO])
    else:
        raise UnsupportedError(f"special register {name} is not supported by the assembler for sm_{s.number}")


def special_word(s: Selector, name: str, part: int) -> Src:
    """A word of a special register that is an operand of something else than ``mov``."""
    if part:
        return ZERO
    name = canonical(name)
    at = bank_place(s, name)
    if at >= 0:
        return bank(at)
    out = s.fresh()
    put(s, out, name)
    return reg(out)


def special_operand(s: Selector, name: str) -> Src:
    return Src("S", [s.target.special(name)], OTHER)


def read_special(s: Selector, out: int, name: str) -> None:
    s.emit("S2R", [reg(out), special_operand(s, name)])


def bits_of(name: str, low: int, count: int) -> Callable[[Selector, int], None]:
    """A field of a machine register."""

    def take(s: Selector, out: int) -> None:
        word, moved = s.fresh(), s.fresh()
        read_special(s, word, name)
        s.emit("SHF.R.U32.HI", [reg(moved), ZERO, imm(low), reg(word)])
        s.emit("LOP3.LUT", [reg(out), reg(moved), imm((1 << count) - 1), ZERO, imm(0xC0), FALSE])

    return take


def warps(s: Selector, out: int) -> None:
    """``%nwarpid``."""
    if s.number >= 90:
        bits_of("SR_VIRTCFG", 8, 8)(s, out)
    else:
        s.emit("MOV", [reg(out), imm(_WARPS[s.number])])


def shared_size(s: Selector, out: int) -> None:
    """``%total_smem_size``: what the system keeps for itself is no part of it."""
    word = s.fresh()
    read_special(s, word, "SR_SMEMSZ")
    if s.number <= 75:
        s.emit("MOV", [reg(out), reg(word)])
    else:
        s.emit("IADD3", [reg(out), reg(word), Src("-c[I][I]", [0, 0x114], OTHER), ZERO])


def all_shared_size(s: Selector, out: int) -> None:
    """``%aggr_smem_size``."""
    word = s.fresh()
    read_special(s, word, "SR_SMEMSZ")
    s.emit("VIMNMX.U32", [reg(out), reg(word), s.in_register(bank(0x13C)), TRUE])


def reserved_begin(s: Selector, out: int) -> None:
    """``%reserved_smem_offset_begin`` and ``_0``: at the beginning on sm_90, at the end before."""
    if s.number >= 90:
        s.emit("MOV", [reg(out), ZERO])
    else:
        shared_size(s, out)


def reserved_end(s: Selector, out: int) -> None:
    """``%reserved_smem_offset_cap``."""
    if s.number >= 90:
        s.emit("MOV", [reg(out), imm(0x400)])
    else:
        read_special(s, out, "SR_SMEMSZ")


def cluster_test(s: Selector, out: int) -> None:
    """``%is_explicit_cluster``."""
    word = s.in_register(bank(0x140))
    s.emit("ISETP.EQ.AND", [pred(out), pred(7), word, imm(1), TRUE])


def cluster_number(axis: int, within: bool) -> Callable[[Selector, int], None]:
    """``%clusterid``: the block's number times the reciprocal of the cluster's size, which bank 0 has as a single;
    ``%cluster_ctaid``: what is left of it."""

    def take(s: Selector, out: int) -> None:
        block, whole, quotient, cluster = s.fresh(), s.fresh(), s.fresh(), s.fresh()
        read_special(s, block, f"SR_CTAID.{'XYZ'[axis]}")
        s.emit("I2FP.F32.U32", [reg(whole), reg(block)])
        s.emit("FMUL", [reg(quotient), reg(whole), bank(0x150 + 4 * axis)])
        s.emit("F2I.U32.TRUNC.NTZ", [reg(cluster), reg(quotient)])
        if not within:
            s.emit("MOV", [reg(out), reg(cluster)])
            return
        first = s.fresh()
        s.emit("IMAD", [reg(first), reg(cluster), bank(0x144 + 4 * axis), ZERO])
        s.emit("IADD3", [reg(out), reg(block), Src("-R", [first], REGISTER), ZERO])

    return take


_COMPUTED: Final[dict[str, Callable[[Selector, int], None]]] = {
    "%warpid": bits_of("SR_VIRTID", 8, 7),
    "%nwarpid": warps,
    "%total_smem_size": shared_size,
    "%aggr_smem_size": all_shared_size,
    "%reserved_smem_offset_begin": reserved_begin,
    "%reserved_smem_offset_0": reserved_begin,
    "%reserved_smem_offset_cap": reserved_end,
    **{f"%clusterid.{axis}": cluster_number(n, False) for n, axis in enumerate("xyz")},
    **{f"%cluster_ctaid.{axis}": cluster_number(n, True) for n, axis in enumerate("xyz")},
}
#: On sm_61 the multiprocessor's number and their count are fields.
_COMPUTED_FIRST: Final[dict[str, Callable[[Selector, int], None]]] = {
    "%smid": bits_of("SR_VIRTID", 20, 9), "%nsmid": bits_of("SR_VIRTCFG", 20, 9),
}  # fmt: skip
