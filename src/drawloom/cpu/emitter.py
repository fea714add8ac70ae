"""Writes LLVM IR as text, one function at a time: typed values, either scalar or one element per lane.

Text and not an object graph, because a kernel is written once and read once by LLVM's own parser; the
verifier of LLVM checks what comes out.
"""

from __future__ import annotations

import struct
from typing import Final

#: LLVM element types by bit width.
INT_ELEM: Final[dict[int, str]] = {1: "i1", 8: "i8", 16: "i16", 32: "i32", 64: "i64", 128: "i128"}
FLOAT_ELEM: Final[dict[int, str]] = {16: "half", 32: "float", 64: "double"}
ELEM_BITS: Final[dict[str, int]] = {
    "i1": 1, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "i256": 256, "half": 16, "bfloat": 16,
    "float": 32, "double": 64, "ptr": 64,
}  # fmt: skip
_MANGLE: Final[dict[str, str]] = {
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "i128": "i128", "half": "f16",
    "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0",
}  # fmt: skip


def type_of(elem: str, lanes: int) -> str:
    """The LLVM type: ``elem`` itself when ``lanes`` is 0, else a vector of ``lanes`` elements."""
    return f"<{lanes} x {elem}>" if lanes else elem


class Value:
    """An LLVM value: its text (``%7``, ``42``, ``splat (i32 1)``), element type and lane count (0: scalar)."""

    def __init__(self, text: str, elem: str, lanes: int) -> None:
        self.text = text
        self.elem = elem
        self.lanes = lanes
        #: A mask's bits as an integer, where it was made of one.
        self.word: Value | None = None

    @property
    def type(self) -> str:
        return type_of(self.elem, self.lanes)

    @property
    def typed(self) -> str:
        """Type and text, as an operand is written."""
        return f"{type_of(self.elem, self.lanes)} {self.text}"


def int_const(elem: str, value: int, lanes: int = 0) -> Value:
    """An integer constant of ``elem`` (wrapped to its width), in every lane."""
    bits = ELEM_BITS[elem]
    value &= (1 << bits) - 1
    if bits > 1 and value >> (bits - 1):
        value -= 1 << bits
    text = ("true" if value else "false") if elem == "i1" else str(value)
    return Value(f"splat ({elem} {text})" if lanes else text, elem, lanes)


def float_const(elem: str, value: float, lanes: int = 0) -> Value:
    """A floating constant; ``value`` must be exact in ``elem``."""
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    text = f"0x{bits:016X}"
    if elem == "half":
        text = f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    elif elem == "bfloat":
        text = f"0xR{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    return Value(f"splat ({elem} {text})" if lanes else text, elem, lanes)


class Emitter:
    """Collects the lines of LLVM functions, and what they need: external declarations, and ``functions`` by name that
    many places call."""

    def __init__(self, features: frozenset[str] = frozenset()) -> None:
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.functions: dict[str, list[str]] = {}
        #: CPU features of the target, LLVM's names: "avx512f", "avx512vbmi", "avx2" ...
        self.features = features
        self._next = 0

    def number(self) -> int:
        """Return a number that no name of these functions has yet."""
        self._next += 1
        return self._next

    def fresh(self) -> str:
        return f"%t{self.number()}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def value(self, elem: str, lanes: int, text: str) -> Value:
        """Emit ``%new = text`` and return it as a value."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return Value(name, elem, lanes)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """``add``, ``fmul``, ``shl``, ``and`` ...: both of one type."""
        word = self.word_of(op, a, b)
        if word is not None:
            return self.mask_of(word)
        if op == "shl" and self.shifts_by_floats(a) and b.text[0] == "%":
            a = self.binary_of("shl", a, self.binary_of("and", b, int_const("i32", 15, b.lanes)))
            b = self.binary_of("and", b, int_const("i32", 16, b.lanes))
        return self.binary_of(op, a, b)

    def word_of(self, op: str, a: Value, b: Value) -> Value | None:
        """``op`` of masks of which one is an integer's bits, as an integer; None where vectors do better."""
        like = a.word or b.word
        if like is None or a.elem != "i1" or not a.lanes:
            return None
        return self.binary_of(op, self.bits_of(a, like.elem), self.bits_of(b, like.elem))

    def bits_of(self, mask: Value, elem: str) -> Value:
        """A mask as an integer of as many bits as it has lanes, lane 0 in bit 0."""
        if mask.word is not None:
            return mask.word
        if mask.text.startswith("splat"):
            return int_const(elem, -1 if "true" in mask.text else 0)
        return self.value(elem, 0, f"bitcast {mask.typed} to {elem}")

    def mask_of(self, word: Value) -> Value:
        """The mask that the bits of an integer of up to 32 are, for processors without masks: each lane looks for its
        bit. LLVM would take a vector of bits apart bit by bit."""
        lanes = ELEM_BITS[word.elem]
        every = self.splat(self.cast("zext", word, "i32"), lanes)
        own = self.binary_of("and", every, self.vector_const("i32", [1 << lane for lane in range(lanes)]))
        mask = self.icmp("ne", own, int_const("i32", 0, lanes))
        mask.word = word
        return mask

    def shifts_by_floats(self, a: Value) -> bool:
        """Whether LLVM shifts ``a`` left by unlike counts by way of a conversion of 2.0 ** count to i32, as for SSE.
        That is wrong (LLVM 22) where it finds late that a count is always 31: 2.0 ** 31 folds to poison."""
        return a.elem == "i32" and a.lanes > 0 and "sse2" in self.features and "avx2" not in self.features

    def binary_of(self, op: str, a: Value, b: Value) -> Value:
        """``op`` as one LLVM instruction."""
        return self.value(a.elem, a.lanes, f"{op} {a.type} {a.text}, {b.text}")

    def fneg(self, a: Value) -> Value:
        return self.value(a.elem, a.lanes, f"fneg {a.typed}")

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        return self.value("i1", a.lanes, f"icmp {predicate} {a.type} {a.text}, {b.text}")

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        return self.value("i1", a.lanes, f"fcmp {predicate} {a.type} {a.text}, {b.text}")

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """``condition ? a : b``; ``condition`` has as many lanes, or is a scalar."""
        return self.value(a.elem, a.lanes, f"select {condition.typed}, {a.typed}, {b.typed}")

    def cast(self, op: str, a: Value, elem: str) -> Value:
        """``zext``, ``sext``, ``trunc``, ``bitcast``, ``sitofp`` ... of each element; no-op when equal."""
        if a.elem == elem:
            return a
        return self.value(elem, a.lanes, f"{op} {a.typed} to {type_of(elem, a.lanes)}")

    def intrinsic(self, name: str, args: list[Value], elem: str = "", mangled: int = 1) -> Value:
        """Call an overloaded LLVM intrinsic such as ``llvm.fma``; the result has ``elem`` (default: the first
        argument's) and its lanes. The first ``mangled`` types (result first) go into the name's suffix."""
        first = args[0]
        result = elem or first.elem
        suffixes = [type_suffix(result, first.lanes)] if mangled >= 1 else []
        for i in range(mangled - 1):
            suffixes.append(type_suffix(args[i].elem, args[i].lanes))
        full = ".".join([name, *suffixes])
        return self.call(full, result, first.lanes, args)

    def call(self, name: str, elem: str, lanes: int, args: list[Value]) -> Value:
        """Call an external function or a fully named intrinsic, declaring it."""
        result = type_of(elem, lanes)
        self.declare(name, result, [a.type for a in args])
        return self.value(elem, lanes, f"call {result} @{name}({', '.join([a.typed for a in args])})")

    def declare(self, name: str, result: str, params: list[str]) -> None:
        self.declarations[name] = f"declare {result} @{name}({', '.join(params)})"

    def splat(self, a: Value, lanes: int) -> Value:
        """A scalar in every lane; vectors and ``lanes == 0`` pass through."""
        if not lanes or a.lanes:
            return a
        if a.text[0] not in "%@":
            return Value(f"splat ({a.elem} {a.text})", a.elem, lanes)
        vector = type_of(a.elem, lanes)
        one = self.value(a.elem, lanes, f"insertelement {vector} poison, {a.typed}, i64 0")
        return self.value(a.elem, lanes, f"shufflevector {one.typed}, {vector} poison, <{lanes} x i32> zeroinitializer")

    def extract(self, a: Value, index: Value) -> Value:
        return self.value(a.elem, 0, f"extractelement {a.typed}, {index.typed}")

    def insert(self, a: Value, element: Value, index: Value) -> Value:
        return self.value(a.elem, a.lanes, f"insertelement {a.typed}, {element.typed}, {index.typed}")

    def vector_const(self, elem: str, values: list[int]) -> Value:
        """An integer constant that differs per lane."""
        inner = ", ".join([int_const(elem, v).typed for v in values])
        return Value(f"<{inner}>", elem, len(values))


def type_suffix(elem: str, lanes: int) -> str:
    """How LLVM mangles a type into an intrinsic's name."""
    return f"v{lanes}{_MANGLE[elem]}" if lanes else _MANGLE[elem]
