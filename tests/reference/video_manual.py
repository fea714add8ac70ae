"""The pseudo-code of PTX ISA 9.0 section 9.7.18 as plain Python, and random spellings of video instructions."""

from __future__ import annotations

import itertools
import random

PLACES = {"": (0, 32), "h0": (0, 16), "h1": (16, 16), "b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8)}
TESTS = ("eq", "ne", "lt", "le", "gt", "ge")


def sext(value: int, bits: int) -> int:
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def ext(value: int, bits: int, type: str) -> int:
    return sext(value, bits) if type[0] == "s" else value % 2**bits


def bounds(bits: int, type: str) -> tuple[int, int]:
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type[0] == "s" else (0, 2**bits - 1)


def CLAMP(value: int, bits: int, type: str) -> int:
    low, high = bounds(bits, type)
    return sorted((low, value, high))[1]


def holds(test: str, a: int, b: int) -> bool:
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[test]


def video(spelling: str, a: int, b: int, c: int) -> int:
    """The result of an instruction spelled as ``drawloom.ptx.isa.decode`` takes it."""
    mnemonic, _, inside = spelling.rstrip(")").partition("(")
    name, *words = mnemonic.split(".")
    selectors = [s.replace(".", "") for s in inside.split(",")] if inside else []
    selectors += [""] * (4 - len(selectors))
    types = [w for w in words if w in ("u32", "s32")]
    if name[-1] in "24":
        return packed(name[:-1], int(name[-1]), words, types, selectors, a, b, c)
    if name == "vmad":
        return vmad(words, types, selectors, a, b, c)
    return scalar(name, words, types, selectors, a, b, c)


def scalar(name: str, words: list[str], types: list[str], selectors: list[str], a: int, b: int, c: int) -> int:
    dtype, atype, btype = ["u32", *types] if name == "vset" else types
    dsel, asel, bsel, _ = selectors

    def part(value: int, type: str, selector: str) -> int:
        start, bits = PLACES[selector]
        return ext(value >> start, bits, type)

    ta, tb = part(a, atype, asel), part(b, btype, bsel)
    if name in ("vshl", "vshr"):
        tb = min(tb, 32) if "clamp" in words else tb & 0x1F
    if name == "vset":
        tmp = int(holds(next(w for w in words if w in TESTS), ta, tb))
    else:
        tmp = {
            "vadd": ta + tb, "vsub": ta - tb, "vabsdiff": abs(ta - tb), "vmin": min(ta, tb), "vmax": max(ta, tb),
            "vshl": ta << (tb & 63), "vshr": ta >> (tb & 63),
        }[name]  # fmt: skip
    tmp = sext(tmp, 34)
    tmp = CLAMP(tmp, PLACES[dsel][1], dtype) if "sat" in words else sext(tmp, 33)
    c33 = ext(c, 32, dtype)
    if "add" in words:
        tmp = tmp + c33
    elif "min" in words:
        tmp = min(tmp, c33)
    elif "max" in words:
        tmp = max(tmp, c33)
    start, bits = PLACES[dsel]
    kept = [c >> i & 1 for i in range(32)]
    for i in range(bits):
        kept[start + i] = tmp >> i & 1
    return sum(bit << i for i, bit in enumerate(kept))


def vmad(words: list[str], types: list[str], selectors: list[str], a: int, b: int, c: int) -> int:
    _, atype, btype = types
    negate = ["-" in s for s in selectors]
    (start_a, bits_a), (start_b, bits_b) = [PLACES[s.replace("-", "")] for s in selectors[1:3]]
    signed_final = "s32" in (atype, btype) or negate[1] ^ negate[2] or negate[3]
    tmp = ext(a >> start_a, bits_a, atype) * ext(b >> start_b, bits_b, btype)
    lsb = 0
    if "po" in words:
        lsb = 1
    elif negate[1] ^ negate[2]:
        tmp, lsb = ~tmp, 1
    elif negate[3]:
        c, lsb = ~c % 2**32, 1
    tmp += (sext(c, 32) if signed_final else c) + lsb
    tmp >>= 7 if "shr7" in words else 15 if "shr15" in words else 0
    if "sat" in words:
        tmp = CLAMP(tmp, 32, "s32" if signed_final else "u32")
    return tmp % 2**32


def packed(
    name: str, count: int, words: list[str], types: list[str], selectors: list[str], a: int, b: int, c: int
) -> int:
    dtype, atype, btype = ["u32", *types] if name == "vset" else types
    bits = 32 // count
    defaults = ("3210", "3210", "7654") if count == 4 else ("10", "10", "32")
    mask, asel, bsel = (s.lstrip("bh") or d for s, d in zip(selectors, defaults, strict=False))
    elements = [v >> bits * i for v in (a, b) for i in range(count)]
    result, total = c, c
    for i in range(count):
        va = ext(elements[int(asel[count - 1 - i])], bits, atype)
        vb = ext(elements[int(bsel[count - 1 - i])], bits, btype)
        if name == "vset":
            t = int(holds(next(w for w in words if w in TESTS), va, vb))
        else:
            t = {
                "vadd": va + vb, "vsub": va - vb, "vabsdiff": abs(va - vb), "vmin": min(va, vb), "vmax": max(va, vb),
                "vavrg": (va + vb + 1) // 2 if va + vb >= 0 else (va + vb) // 2,
            }[name]  # fmt: skip
        if "sat" in words:
            t = CLAMP(t, bits, dtype)
        if str(i) in mask:
            total += t
            result = result - (result >> bits * i) % 2**bits * 2 ** (bits * i) + t % 2**bits * 2 ** (bits * i)
    return (total if "add" in words else result) % 2**32


SCALARS = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad")
PACKED = [stem + n for stem in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset") for n in "24"]
NAMES = [*SCALARS, *PACKED]


def spellings(name: str, count: int, seed: int = 0) -> list[str]:
    """Every combination of modifiers and types of ``name``, each with random selectors, at least ``count``."""
    pick = random.Random(f"{name} {seed}")
    stem = name.rstrip("24")
    types = [["u32", "s32"]] * (2 if stem == "vset" else 3)
    if stem in ("vshl", "vshr"):
        types[2] = ["u32"]
    slots = [[""], TESTS] if stem == "vset" else [["", ".sat"], [""]]
    if stem == "vmad":
        slots = [["", ".sat"], ["", ".po"], ["", ".shr7", ".shr15"]]
    elif stem in ("vshl", "vshr"):
        slots[1] = ["clamp", "wrap"]
    slots = [[w if not w or w[0] == "." else "." + w for w in slot] for slot in slots]
    if stem != "vmad":
        slots.append(["", ".add"] if stem != name else ["", ".add", ".min", ".max"])
    out = []
    heads = list(itertools.product(itertools.product(*types), itertools.product(*slots)))
    while len(out) < count:
        for chosen, words in heads:
            if stem != name and ".sat" in words and ".add" in words:
                continue
            selectors = _selectors(pick, name, "".join(words))
            out.append(f"{name}.{'.'.join(chosen)}{''.join(words)}({','.join(selectors)})")
    return out


def _selectors(pick: random.Random, name: str, words: str) -> list[str]:
    if name.endswith("2"):
        halves = [pick.choice(["", ".h" + "".join(pick.choices("0123", k=2))]) for _ in range(2)]
        return [pick.choice(["", ".h0", ".h1", ".h10"]), *halves, ""]
    if name.endswith("4"):
        quads = [pick.choice(["", ".b" + "".join(pick.choices("01234567", k=4))]) for _ in range(2)]
        chosen = "".join(d for d in "3210" if pick.random() < 0.5)
        return [".b" + chosen if chosen else "", *quads, ""]
    parts = [f".{p}" if p else "" for p in PLACES]
    out = ["", pick.choice(parts), pick.choice(parts), ""]
    if name != "vmad":
        if not any(second in words for second in (".add", ".min", ".max")):
            out[0] = pick.choice(parts)
        return out
    if ".po" not in words:
        signs = pick.choice([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1)])
        out[1:] = ["-" * sign + selector for sign, selector in zip(signs, out[1:], strict=True)]
    return out
