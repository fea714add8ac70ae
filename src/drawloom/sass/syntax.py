"""nvdisasm's text of one instruction, split into its structure, its numbers and everything in between.

`ISETP.GE.AND P0, PT, R3, -0x10, !P1` has the base `ISETP`, the structure `_ P , P , R , N , P`, the numbers
(0, 7, 3, -16, 1) and, in the gaps before, between and after the structural tokens, the modifiers: `.GE .AND`
in the first gap, `!` in the one before the last predicate. Instructions with the same base and structure are
candidates for one form of the tables; their gaps and numbers are what its fields encode.

An address is written out: `[R2]` as `[R2+0x0]`, `[0x8]` as `[RZ+0x8]`, `[UR4]` as `[RZ+UR4+0x0]`.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sass.form import IsaError

NO_GUARD: Final = 7
NEGATED: Final = 8
# The register that reads as zero or true, by kind: it prints as RZ, URZ, PT, UPT.
NEUTRAL: Final[dict[str, int]] = {"R": 255, "UR": 63, "P": 7, "UP": 7}
NEUTRAL_NAMES: Final[dict[str, str]] = {"R": "RZ", "UR": "URZ", "P": "PT", "UP": "UPT"}
# Instructions whose last operand is a special register, by name.
READS_SPECIAL: Final = ("S2R", "S2UR", "CS2R")
# Parts of a mnemonic that change what the operands mean, and so make another form.
TELLING_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "IMAD": (".MOV", ".IADD", ".SHL"),
    "HFMA2": (".BF16_V2",),
    "HADD2": (".BF16_V2",),
    "HMUL2": (".BF16_V2",),
    "HSETP2": (".BF16_V2",),
    "HSET2": (".BF16_V2",),
    "HMNMX2": (".BF16_V2",),
    "VHMNMX": (".BF16_V2",),
    "F2FP": (".MERGE_C", ".UNPACK_B_MERGE_C"),
    "WARPSYNC": (".COLLECTIVE",),
    "CALL": (".ABS", ".REL"),
    "RET": (".ABS", ".REL"),
}
# Instructions whose integer operand at the end is an address: (base, telling part).
TO_LABELS: Final = frozenset(
    "BRA BSSY CALL.REL RET.REL WARPSYNC.COLLECTIVE LEPC ULEPC SSY PBK PCNT CAL PRET PLONGJMP JCAL.REL".split()
)

_TOKEN: Final = re.compile(
    r"(?P<reuse>\.reuse)"
    r"|(?P<mod>\.[A-Za-z0-9_?]+)"
    r"|(?P<reg>(?:UR|UP|SB|R|P|B)\d+|U?RZ|U?PT)(?!\w)"
    r"|(?P<int>-?0x[0-9a-f]+)"
    r"|(?P<float>[+-](?:INF|QNAN|SNAN) ?|-0\.0(?!\d) ?|[+-]?\d+(?:\.\d+)?(?:e[+-]\d+)?(?!\w))"
    r"|(?P<set>\{[0-9,]*\})"
    r"|(?P<bank>[a-z]+\[)"
    r"|(?P<word>[A-Za-z_0-9]+)"
    r"|(?P<comma>, ?)"
    r"|(?P<punct>\[|\]|\+| )"
    r"|(?P<sign>[-|~!])"
    r"|(?P<other>.)"
)
_GUARD: Final = re.compile(r"@(!?)(U?)P([0-6]|T) +")
_REGISTER: Final = re.compile(r"(UR|UP|SB|R|P|B)(\d+)")


class Parsed:
    """One instruction's text in pieces. `gaps` has one list more than `structure`."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.guard = NO_GUARD
        self.uniform_guard = False
        self.structure: list[str] = []
        self.gaps: list[list[str]] = [[]]
        self.values: list[int | str] = []  # numbers; floats and special registers as their text
        self.reuse: list[int] = []  # places in `values` of registers marked .reuse

    def key(self) -> str:
        return self.base + " " + " ".join(self.structure)

    def structural(self, token: str) -> None:
        self.structure.append(token)
        self.gaps.append([])

    def number(self, kind: str, value: int | str) -> None:
        self.values.append(value)
        self.structural(kind)


def drop_second_of_pair(parsed: Parsed) -> None:
    """On sm_61 a compare-and-swap prints the second register of its pair, which is no field: `R4, [R2], R6, R7`."""
    if parsed.base not in ("ATOM", "ATOMS") or ".CAS" not in parsed.gaps[0]:
        return
    if parsed.structure[-4:] == [",", "R", ",", "R"]:
        first, second = parsed.values[-2:]
        assert isinstance(first, int)
        if second == min(NEUTRAL["R"], first + (2 if ".64" in parsed.gaps[0] else 1)):
            del parsed.structure[-2:], parsed.gaps[-2:], parsed.values[-1]


class SyntaxRefusal(IsaError):
    """Text that is not an instruction."""


def scan(text: str) -> Parsed:
    """Splits the text of one instruction, as nvdisasm prints it without address and semicolon."""
    rest = text.strip().removesuffix(";").strip()
    guard, uniform = NO_GUARD, False
    found = _GUARD.match(rest)
    if found is not None:
        guard = (NEGATED if found[1] else 0) + (NO_GUARD if found[3] == "T" else int(found[3]))
        uniform = bool(found[2])
        rest = rest[found.end() :]
    mnemonic, _, operands = rest.partition(" ")
    parts = mnemonic.split(".")
    base = parts[0]
    modifiers = ["." + part for part in parts[1:]]
    for telling in TELLING_PARTS.get(base, ()):
        if telling in modifiers:
            base += telling
    parsed = Parsed(base)
    parsed.guard, parsed.uniform_guard = guard, uniform
    parsed.gaps[0] = modifiers
    if operands.strip():
        parsed.structural("_")
        _scan_operands(parsed, parts[0], operands.lstrip())
    return parsed


def _scan_operands(parsed: Parsed, plain: str, operands: str) -> None:
    special_at = -1
    if plain in READS_SPECIAL:
        special_at = operands.rfind(",") + 1
        special_at += operands[special_at:].startswith(" ")
    position = 0
    opened = -1  # structural index of the open bracket
    while position < len(operands):
        if position == special_at:
            parsed.number("S", operands[position:].strip())
            return
        found = _TOKEN.match(operands, position)
        assert found is not None
        kind, token = found.lastgroup, found[0]
        position = found.end()
        if kind == "reg":
            _register(parsed, token)
        elif kind == "int":
            parsed.number("N", int(token, 16))
        elif kind == "float":
            parsed.number("F", token.strip())
        elif kind == "set":
            members = [int(member) for member in token[1:-1].split(",") if member]
            parsed.number("M", sum(1 << member for member in members))
        elif kind == "reuse":
            parsed.reuse.append(len(parsed.values) - 1)
        elif kind == "comma":
            parsed.structural(",")
        elif kind == "bank" or token == "[":
            opened = len(parsed.structure)
            parsed.structural(token)
        elif token == "]":
            _close_address(parsed, opened, plain)
            parsed.structural("]")
        elif kind == "punct":
            parsed.structural("_" if token == " " else token)
        elif kind == "other":
            raise SyntaxRefusal(f"unexpected {token!r} in {operands!r}")
        else:
            parsed.gaps[-1].append(token)


def _register(parsed: Parsed, token: str) -> None:
    found = _REGISTER.fullmatch(token)
    if found is not None:
        parsed.number(found[1], int(found[2]))
        return
    kind = token[:-1]
    parsed.number(kind, NEUTRAL[kind])


def _close_address(parsed: Parsed, opened: int, plain: str) -> None:
    """Writes out what an address leaves unsaid: a base register RZ, an offset 0."""
    opening, inside = parsed.structure[opened], parsed.structure[opened + 1 :]
    if opening != "[" or (_after_bank(parsed.structure, opened) and plain != "LDC"):
        return
    if (inside and inside[0] == "UR") or inside == ["N"]:
        place = len(parsed.values) - sum(kind in ("UR", "N") for kind in inside)
        parsed.values.insert(place, NEUTRAL["R"])
        parsed.structure[opened + 1 : opened + 1] = ["R", "+"]
        parsed.gaps[opened + 1 : opened + 1] = [[], []]
    if parsed.structure[-1] != "N":
        parsed.structural("+")
        parsed.number("N", 0)


def _after_bank(structure: list[str], opened: int) -> bool:
    """Whether this bracket is the second of `c[0x0][...]`, which on sm_61 can be `c[0x0] [...]`."""
    before = structure[:opened]
    if before and before[-1] == "_":
        before = before[:-1]
    return len(before) >= 3 and before[-1] == "]" and before[-3] in ("c[", "cx[")
