"""``decode``: dotted opcode text to an interned ``Opcode``, by the rows of ``drawloom.ptx.isa_table``.

The driver's assembler takes modifiers in any order except that types keep theirs, and so does ``decode``.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.isa_selectors import FIELDS, wrong_selectors
from drawloom.ptx.isa_table import CLASSES, NOT_COVERED, NOT_COVERED_MODIFIERS, TABLE
from drawloom.ptx.types import TYPES, Type

# What an opcode does beside computing its destination.
PURE: Final = 0
LOAD: Final = 1
STORE: Final = 2
ATOMIC: Final = 3
FENCE: Final = 4
BARRIER: Final = 5
WARP: Final = 6
BRANCH: Final = 7
CALL: Final = 8
RETURN: Final = 9
EXIT: Final = 10
SIDE: Final = 11

_EFFECTS: Final[dict[str, int]] = {
    "ld": LOAD, "ldu": LOAD, "st": STORE, "atom": ATOMIC, "red": ATOMIC, "membar": FENCE, "fence": FENCE,
    "bar": BARRIER, "barrier": BARRIER, "bar.warp": WARP, "vote": WARP, "match": WARP, "activemask": WARP,
    "redux": WARP, "elect": WARP, "shfl": WARP, "bra": BRANCH, "brx.idx": BRANCH, "call": CALL, "ret": RETURN,
    "exit": EXIT, "trap": EXIT, "brkpt": SIDE, "nanosleep": SIDE, "pmevent": SIDE, "griddepcontrol": SIDE,
    "setmaxnreg": SIDE, "discard": SIDE, "applypriority": SIDE, "prefetch": SIDE, "prefetchu": SIDE,
    "alloca": SIDE, "stacksave": SIDE, "stackrestore": SIDE, "cp.async": SIDE, "mbarrier": ATOMIC,
}  # fmt: skip

#: Modifiers that belong to the mnemonic: where one of them is written, it stands first.
_LEADING: Final[dict[str, frozenset[str]]] = {
    "mul": frozenset({"lo", "hi", "wide"}), "mad": frozenset({"lo", "hi", "wide"}), "madc": frozenset({"lo", "hi"}),
    "mul24": frozenset({"lo", "hi"}), "mad24": frozenset({"lo", "hi"}), "dp2a": frozenset({"lo", "hi"}),
    "shf": frozenset({"l", "r"}), "div": frozenset({"full"}), "cvta": frozenset({"to"}), "bar": frozenset({"cta"}),
    "barrier": frozenset({"cta"}), "cp.async": frozenset({"mbarrier"}),
    "mbarrier": frozenset("init inval arrive arrive_drop test_wait try_wait pending_count complete_tx".split()),
}  # fmt: skip

#: Modifiers that the driver's assembler lets stand twice, meaning the same as once.
_FLAGS: Final = frozenset("NaN approx cc relu sat shiftamt sync".split())

#: Base names that themselves contain a dot.
_DOTTED: Final = frozenset(
    {"bar.warp", "brx.idx", "cp.async", "cvt.pack", "createpolicy.fractional", "createpolicy.range", "createpolicy.cvt"}
)

#: Opcodes that take only some integer literals: barrier numbers, event numbers, block sizes.
_BOUNDED: Final = frozenset(
    "bar barrier bfe bfi pmevent setmaxnreg discard applypriority createpolicy.fractional createpolicy.range cp.async "
    "mbarrier alloca".split()
)

_ROUNDINGS: Final = frozenset("rn rz rm rp rni rzi rmi rpi rna".split())
_COMPARING: Final = frozenset("set setp vset vset2 vset4".split())
_COMPARES: Final = frozenset("eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan".split())
_SPACES: Final[dict[str, str]] = {
    "const": "const", "global": "global", "local": "local", "shared": "shared", "shared::cta": "shared",
    "shared::cluster": "shared::cluster", "param": "param", "param::entry": "param", "param::func": "param",
}  # fmt: skip
_SCOPES: Final = frozenset("cta cluster gpu sys".split())
_ORDERS: Final = frozenset("weak volatile relaxed acquire release acq_rel sc".split())
_OPERATIONS: Final[dict[str, frozenset[str]]] = {
    "atom": frozenset("and or xor exch cas add inc dec min max".split()),
    "red": frozenset("and or xor add inc dec min max".split()),
    "redux": frozenset("and or xor add min max".split()),
    "bar": frozenset("popc and or".split()),
    "barrier": frozenset("popc and or".split()),
    "vote": frozenset("all any uni ballot".split()),
    "match": frozenset("all any".split()),
    "shfl": frozenset("up down bfly idx".split()),
    "testp": frozenset("finite infinite number notanumber normal subnormal".split()),
    "prmt": frozenset("f4e b4e rc8 ecl ecr rc16".split()),
    "set": frozenset("and or xor".split()),
    "setp": frozenset("and or xor".split()),
    "lop3": frozenset("and or xor".split()),
    "mbarrier": frozenset("init inval arrive arrive_drop test_wait try_wait pending_count complete_tx".split()),
    "cp.async": frozenset("commit_group wait_group wait_all mbarrier".split()),
    **dict.fromkeys(FIELDS, frozenset("add min max".split())),
}
_ACTIONS: Final = frozenset("sync arrive red".split())


#: ``Form.last_sm`` of a form that no architecture has dropped.
ANY_SM: Final = 9999


class Form:
    """One row of the table: a legal combination of modifiers, types and operands of one opcode.

    It needs PTX ``version`` and an architecture from ``sm`` to ``last_sm``; ``specific`` forms need a target
    such as ``sm_90a``. ``required`` is the number of operands that are not optional.
    """

    def __init__(
        self, name: str, slots: list[list[str]], optional: list[bool], types: list[list[str]],
        operands: list[str], version: tuple[int, int], sm: str,
    ) -> None:  # fmt: skip
        self.name = name
        self.slots = slots
        self.optional = optional
        self.types = types
        self.operands = operands
        self.version = version
        first, _, last = sm.partition("-")
        self.specific = first.endswith("a")
        self.sm = int(first.rstrip("a"))
        self.last_sm = int(last) if last else ANY_SM
        self.required = len([o for o in operands if not o.endswith("?")])

    def describe(self) -> str:
        """The form in the manual's notation, for error messages."""
        out = self.name
        for alternatives, optional in zip(self.slots, self.optional, strict=True):
            text = "." + "|.".join(alternatives)
            out += f"{{{text}}}" if optional else (f"({text})" if len(alternatives) > 1 else text)
        for alternatives in self.types:
            out += "." + "|".join(alternatives)
        return out


class Verdict:
    """What the table says of one opcode with operands of some signatures (see ``drawloom.ptx.operands``).

    ``forms`` are the rows that accept it, empty when refused; then ``operand`` is the index of the operand at
    fault (-1 when their number is), and ``message`` and ``expected`` say what is wrong.
    """

    def __init__(self, forms: list[Form], operand: int = -1, message: str = "", expected: str = "") -> None:
        self.forms = forms
        self.operand = operand
        self.message = message
        self.expected = expected


class Opcode:
    """A decoded opcode with its modifiers; there is one object per spelling, shared by all instructions.

    ``forms`` are the table's rows that the spelling matches (several where the operands decide). ``text`` is the
    opcode as PTX writes it; ``spelling``, which ``decode`` takes, has the selectors of video operands behind it (see
    ``drawloom.ptx.isa_selectors``), and ``selectors`` lists them by operand, empty where there are none. Fields that
    do not apply are empty: ``space`` is ``""`` for generic addressing, ``order`` is ``""`` where none is written,
    ``operation`` is what ``atom``, ``red``, ``redux``, ``bar.red``, ``vote``, ``match``, ``shfl``, ``testp``,
    ``prmt``, ``mbarrier`` and ``cp.async`` (empty for the copy itself) do, how ``set``/``setp``/``lop3`` combine, and
    what video instructions do second; ``action`` is ``sync``,
    ``arrive`` or ``red`` of a barrier; ``half`` is ``lo``, ``hi`` or ``wide``; ``vector`` is 1, 2, 4 or 8.
    """

    def __init__(
        self, text: str, name: str, modifiers: list[str], types: list[Type], forms: list[Form],
        selectors: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.text = text
        self.spelling = f"{text}({','.join(selectors)})" if selectors else text
        self.selectors = selectors
        self.name = name
        self.modifiers = modifiers
        self.types = types
        self.forms = forms
        self.effect: int = _EFFECTS.get(name, PURE)
        # The results of a call, in its first operand, may be registers.
        self.has_destination = bool(forms[0].operands) and forms[0].operands[0].startswith(("=", "call"))
        self.type: Type | None = types[0] if types else None
        self.rounding = ""
        self.compare = ""
        self.space = ""
        self.scope = ""
        self.order = ""
        self.operation = ""
        self.action = ""
        self.half = ""
        self.vector = 1
        #: Whether literal operands have bounds of their own, which ``drawloom.ptx.operands.wrong_value`` knows.
        self.bounds = name in _BOUNDED
        #: What ``drawloom.ptx.operands`` found out about this opcode with operands of some signatures.
        self.verdicts: dict[tuple[str, ...], Verdict] = {}
        present = frozenset(modifiers)
        operations = _OPERATIONS.get(name, frozenset())
        for modifier in modifiers:
            if modifier in operations:
                self.operation = modifier
            elif modifier in _ROUNDINGS:
                self.rounding = modifier
            elif modifier in _SPACES:
                self.space = _SPACES[modifier]
            elif modifier in ("lo", "hi", "wide") and name not in ("set", "setp"):
                self.half = modifier
            elif modifier in _COMPARES and name in _COMPARING:
                self.compare = modifier
            elif modifier in _SCOPES and name not in ("bar", "barrier", "membar"):
                self.scope = modifier
            elif modifier in _ORDERS:
                self.order = modifier
            elif modifier in ("v2", "v4", "v8"):
                self.vector = int(modifier[1:])
            elif modifier in _ACTIONS and name in ("bar", "barrier"):
                self.action = modifier
        if name == "membar":
            self.order = "sc"
            self.scope = {"cta": "cta", "gl": "gpu", "sys": "sys", "proxy": "gpu"}[modifiers[0]]
        if name == "mbarrier" and not self.operation:
            self.operation = "expect_tx"
        if name == "cp.async" and not self.operation:
            self.space = ""  # two of them: from global to shared
        self.ftz = "ftz" in present
        self.sat = "sat" in present
        self.approx = "approx" in present
        self.full = "full" in present
        self.relu = "relu" in present
        self.nan = "NaN" in present
        self.satfinite = "satfinite" in present
        self.sync = "sync" in present
        self.nc = "nc" in present
        #: Whether it orders no other access.
        self.weak = self.order in ("", "weak")
        self.uni = "uni" in present
        self.writes_carry = "cc" in present
        self.reads_carry = name in ("addc", "subc", "madc")

    def has(self, modifier: str) -> bool:
        """Whether ``modifier`` (without its dot) was written."""
        return modifier in self.modifiers

    def __repr__(self) -> str:
        return self.spelling


class OpcodeError(Exception):
    """``decode`` refused a spelling; ``expected`` lists what the table has."""

    def __init__(self, message: str, expected: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected


def _load() -> dict[str, list[Form]]:
    forms: dict[str, list[Form]] = {}
    for line in TABLE.splitlines():
        if not line or line.startswith("#"):
            continue
        columns = [c.strip() for c in line.replace("|p ", "/p ").split("|")]
        name, modifiers, types, operands, needs = columns
        slots: list[list[str]] = []
        optional: list[bool] = []
        for word in modifiers.split():
            optional.append(word.endswith("?"))
            slots.append(_expand(word.rstrip("?")))
        version, sm = needs.split()
        major, minor = version.split(".")
        form = Form(
            name, slots, optional, [_expand(w) for w in types.split()],
            [w.replace("/p", "|p") for w in operands.split()], (int(major), int(minor)), sm,
        )  # fmt: skip
        forms.setdefault(name, []).append(form)
    return forms


def _expand(word: str) -> list[str]:
    out: list[str] = []
    for part in word.split("/"):
        if part.startswith("$"):
            out.extend(CLASSES[part[1:]].split("/"))
        else:
            out.append(part)
    return out


FORMS: Final[dict[str, list[Form]]] = _load()
_TYPE_WORDS: Final = frozenset(TYPES) | frozenset("u4 s4 u2 s2".split())
_cache: dict[str, Opcode] = {}


def decode(text: str) -> Opcode:
    """The ``Opcode`` that ``text`` (such as ``"ld.global.nc.v4.f32"``, ``"vadd.s32.s32.s32(,.h0,.b1)"``) spells.

    Raises ``OpcodeError`` when the name is unknown, or no form of it takes these modifiers and types.
    """
    known = _cache.get(text)
    if known is not None:
        return known
    opcode = _decode_selected(text) if text[-1:] == ")" else _decode(text)
    _cache[text] = opcode
    return opcode


def _decode_selected(text: str) -> Opcode:
    """A video opcode with the selectors of its operands behind it, in parentheses."""
    mnemonic, _, inside = text[:-1].partition("(")
    base = decode(mnemonic)
    selectors = inside.split(",")
    wrong = wrong_selectors(base.name, base.modifiers, selectors)
    if wrong is not None:
        raise OpcodeError(wrong[0], wrong[1])
    return Opcode(base.text, base.name, base.modifiers, base.types, base.forms, tuple(selectors))


def _decode(text: str) -> Opcode:
    words = text.split(".")
    name = words[0]
    rest = words[1:]
    if len(words) > 1 and f"{name}.{words[1]}" in _DOTTED:
        name = f"{name}.{words[1]}"
        rest = words[2:]
    if name not in FORMS:
        topic = NOT_COVERED.get(words[0])
        if topic is not None:
            raise OpcodeError(f"'{text}' is not supported: {topic} are not covered")
        raise OpcodeError(f"unknown opcode '{name}'", _nearest(name))
    types = [w for w in rest if w in _TYPE_WORDS]
    modifiers: list[str] = []
    for word in rest:
        if word not in _TYPE_WORDS and not (word in _FLAGS and word in modifiers):
            modifiers.append(word)
    forms = [f for f in FORMS[name] if _matches(f, modifiers, types)]
    if forms and not _is_compared(name, modifiers, types):
        raise OpcodeError(f"'{text}' compares .{types[-1]} values by order", _COMPARISONS)
    if name.startswith("createpolicy"):
        priorities = [m for m in modifiers if m.startswith("L2::")]
        if len(priorities) == 2 and priorities[1] not in CLASSES["secondary"].split("/"):
            raise OpcodeError(f"'.{priorities[1]}' is no secondary priority", f"one of {CLASSES['secondary']}")
    leading = _LEADING.get(name)
    if forms and leading is not None:
        for word in rest[1:]:
            if word in leading:
                raise OpcodeError(f"'.{word}' stands too late in '{text}'", f"'{name}.{word}' first")
        if rest[:2] == ["cta", "aligned"] and "sync" not in rest:
            raise OpcodeError(f"'.aligned' stands too early in '{text}'", f"'{name}.cta.arrive' or '.red' first")
    spaces = [w for w in rest if w in _SPACES]
    if forms and len(spaces) == 2 and spaces[1] != "global":
        raise OpcodeError(f"'.global' stands too early in '{text}'", "the spaces as '.shared.global'")
    if not forms:
        wrong = _first_unknown(name, rest)
        topic = NOT_COVERED_MODIFIERS.get(wrong)
        if topic is not None:
            raise OpcodeError(f"'{text}' is not supported: {topic} are not covered")
        for modifier in modifiers if not wrong else []:
            fewer = [m for m in modifiers if m != modifier]
            if any(_matches(f, fewer, types) for f in FORMS[name]):
                rest_of_it = text.replace("." + modifier, "", 1)
                raise OpcodeError(f"'.{modifier}' does not go with the rest of '{text}'", f"'{rest_of_it}'")
        what = f"'.{wrong}' is no modifier of '{name}'" if wrong else f"no form of '{name}' is spelled '{text}'"
        raise OpcodeError(what, "one of " + ", ".join([f.describe() for f in FORMS[name]]))
    return Opcode(text, name, modifiers, [TYPES.get(t) or TYPES["b8"] for t in types], forms)


_COMPARISONS: Final = "eq or ne for bits; eq, ne, lt, le, gt, ge for integers; lo, ls, hi, hs for unsigned integers too"


def _is_compared(name: str, modifiers: list[str], types: list[str]) -> bool:
    """Whether the comparison of ``set`` or ``setp`` exists for the type of its sources."""
    if name not in ("set", "setp") or types[-1][0] not in "bs" or types[-1] in ("bf16", "bf16x2"):
        return True
    allowed = ("eq", "ne") if types[-1][0] == "b" else ("eq", "ne", "lt", "le", "gt", "ge")
    return any(m in allowed for m in modifiers)


def _matches(form: Form, modifiers: list[str], types: list[str]) -> bool:
    if len(types) != len(form.types):
        return False
    for given, allowed in zip(types, form.types, strict=True):
        if given not in allowed:
            return False
    return _fill(form, modifiers, 0, 0)


def _fill(form: Form, modifiers: list[str], at: int, used: int) -> bool:
    """Whether modifiers[at:] can each take a free slot (``used`` is a bit set) so that no required one stays empty."""
    if at == len(modifiers):
        return all(form.optional[i] or used >> i & 1 for i in range(len(form.slots)))
    for i in range(len(form.slots)):
        if not used >> i & 1 and modifiers[at] in form.slots[i] and _fill(form, modifiers, at + 1, used | 1 << i):
            return True
    return False


def _first_unknown(name: str, words: list[str]) -> str:
    known: set[str] = set()
    for form in FORMS[name]:
        for slot in form.slots:
            known.update(slot)
        for alternatives in form.types:
            known.update(alternatives)
    for word in words:
        if word not in known:
            return word
    return ""


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(FORMS), 3)
    return " or ".join([f"'{c}'" for c in close]) if close else "a PTX instruction"
