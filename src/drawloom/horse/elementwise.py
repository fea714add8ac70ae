"""PTX templates of the element-wise builtins (thesis section 4.3.3): one thread's element in, its result out.

Integers are computed in 32 bits where both range and operands allow it, in 64 bits otherwise; where the range does not
prove the result, the template checks it and reports an overflow of selected rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from drawloom.horse.emit import Emitter, float32, float64, integer
from drawloom.horse.evaluate import like_pattern
from drawloom.horse.held import REGISTERS, Held, integer_kind
from drawloom.horse.moments import DATE_PARTS, TIME_PARTS, Moments
from drawloom.horse.signatures import float_type
from drawloom.horse.templates import S64, fits
from drawloom.horse.types import BOOL, DATE, VectorType, exact_bounds, scale_of
from drawloom.horse.words import Words
from drawloom.ptx.ir import Immediate, Operand, Register
from drawloom.ptx.types import B64, F32, F64, PRED, S32, U64

_SIGNED: Final[dict[str, str]] = {"eq": "eq", "neq": "ne", "lt": "lt", "leq": "le", "gt": "gt", "geq": "ge"}
#: Doubles to whole numbers, by how ``cvt`` rounds.
_WHOLE_REALS: Final[dict[str, str]] = {"floor": "rmi", "ceil": "rpi", "round": "rzi"}
_MIRRORED: Final[dict[str, str]] = {"eq": "eq", "neq": "neq", "lt": "gt", "leq": "geq", "gt": "lt", "geq": "leq"}


class TextParam:
    """A kernel parameter that depends on a column's dictionary: it is made when the kernel is launched.

    ``kind`` is "lower" or "upper" (the first code whose string is not below, or is above, ``words[0]``), or "bits":
    a 64-bit mask of the codes whose strings match the LIKE pattern (``pattern``) or are among ``words``.
    """

    def __init__(self, name: str, column: str, kind: str, words: list[str], pattern: bool = False) -> None:
        self.name = name
        self.column = column
        self.kind = kind
        self.words = words
        self.pattern = pattern

    def value(self, dictionary: Words) -> int:
        """The parameter for a column with these words."""
        if self.kind == "bits":
            matches = like_pattern(self.words[0]).fullmatch if self.pattern else None
            bits = 0
            for code, word in enumerate(dictionary):
                if matches(word) is not None if matches is not None else word in self.words:
                    bits |= 1 << code
            return bits
        word = self.words[0]
        return dictionary.upper(word) if self.kind == "upper" else dictionary.lower(word)


class Templates:
    """The templates of one kernel. ``fail`` reports an overflow where its predicate holds, under the masks."""

    def __init__(self, emitter: Emitter, fail: Callable[[Register, str, VectorType, tuple[str, ...]], None]) -> None:
        self.emitter = emitter
        self.fail = fail
        self.moments = Moments(emitter)
        self.text_params: list[TextParam] = []

    def call(self, name: str, type: VectorType, arguments: list[Held]) -> Held:
        """The result of ``@name`` for operands that ``has_template`` accepts; ``type`` is the result's."""
        masks = max([a.masks for a in arguments], key=len)
        if name in _SIGNED:
            made = self.compare(name, arguments[0], arguments[1])
        elif name in ("and", "or"):
            a, b = [self.predicate(x) for x in arguments]
            made = self.emitter.both(a, b) if name == "and" else self.emitter.either(a, b)
        elif name == "not":
            made = self.emitter.negated(self.predicate(arguments[0]))
        elif name == "like":
            made = self.text_test(arguments[0], arguments[1].words or [], True)
        elif name == "member":
            made = self.member(arguments[0], arguments[1])
        else:
            return self.value(name, type, arguments).masked(masks)
        return Held("pred", BOOL, made, 0, 1, masks)

    def value(self, name: str, type: VectorType, arguments: list[Held]) -> Held:
        if name == "if_else":
            return self.if_else(type, arguments)
        if name == "convert":
            return self.convert(type, arguments[0])
        if name in DATE_PARTS or name in TIME_PARTS:
            return self.moments.part(name, arguments[0])
        if name in ("date_of", "timestamp_of", "truncate", "add_months"):
            return self.within(self.moment(name, type, arguments), type, name, arguments[0].masks)
        if name in _WHOLE_REALS or name == "sqrt":
            return self.real(name, type, arguments[0])
        if type.is_float:
            return self.float_arithmetic(name, type, arguments)
        if name in ("plus", "minus"):
            return self.add(name, type, arguments[0], arguments[1])
        if name == "mod":
            return self.remainder(type, arguments[0], arguments[1])
        if name == "mul":
            return self.multiply(type, arguments[0], arguments[1])
        assert name in ("neg", "abs"), name
        return self.negate(name, type, arguments[0])

    # Registers

    def in_register(self, held: Held, kind: str) -> Register:
        """The value in a register of ``kind``, widened where it is narrower."""
        emitter = self.emitter
        operand = held.operand
        if kind in ("f32", "f64"):
            return self.in_float(held, kind)
        if isinstance(operand, Immediate):
            return emitter.made(REGISTERS[kind], f"mov.{kind}", [operand])
        assert isinstance(operand, Register)
        if held.kind == "pred":
            return emitter.made(REGISTERS[kind], f"selp.{kind}", [integer(1), integer(0), operand])
        if held.kind == kind:
            return operand
        return emitter.made(REGISTERS[kind], f"cvt.{kind}.{held.kind}", [operand])

    def in_operand(self, held: Held, kind: str) -> Operand:
        """As ``in_register``, but a literal stays an immediate."""
        return held.operand if isinstance(held.operand, Immediate) else self.in_register(held, kind)

    def in_float(self, held: Held, kind: str) -> Register:
        """The value as a float: an exact value is converted once and divided by its power of ten, as f64."""
        emitter = self.emitter
        register_type = REGISTERS[kind]
        if held.type.is_float:
            if isinstance(held.operand, Immediate):
                return emitter.made(register_type, f"mov.{kind}", [held.operand])
            assert isinstance(held.operand, Register)
            if held.kind == kind:
                return held.operand
            rounding = ".rn" if kind == "f32" else ""
            return emitter.made(register_type, f"cvt{rounding}.{kind}.{held.kind}", [held.operand])
        whole = "s64" if held.kind == "s64" else "s32"
        made = emitter.made(F64, f"cvt.rn.f64.{whole}", [self.in_register(held, whole)])
        digits = scale_of(held.type)
        if digits:
            made = emitter.made(F64, "div.rn.f64", [made, float64(float(10**digits))])
        return made if kind == "f64" else emitter.made(F32, "cvt.rn.f32.f64", [made])

    def predicate(self, held: Held) -> Register:
        if isinstance(held.operand, Immediate):
            return self.emitter.made(PRED, "setp.ne.s32", [self.in_register(held, "s32"), integer(0)])
        assert held.kind == "pred" and isinstance(held.operand, Register)
        return held.operand

    def rescaled(self, held: Held, digits: int) -> Held:
        """The exact value times ``10**digits``, which ``has_template`` has proved to fit 64 bits."""
        if digits == 0:
            return held
        factor = 10**digits
        low, high = held.low * factor, held.high * factor
        if isinstance(held.operand, Immediate):
            return Held(integer_kind(low, high), held.type, integer(held.operand.value * factor), low, high, held.masks)
        return self.product(held, integer(factor), low, high)

    def product(self, held: Held, factor: Operand, low: int, high: int) -> Held:
        kind = integer_kind(low, high)
        register = self.in_register(held, kind)
        made = self.emitter.made(REGISTERS[kind], f"mul.lo.{kind}", [register, factor])
        return Held(kind, held.type, made, low, high, held.masks)

    # Arithmetic

    def add(self, name: str, type: VectorType, left: Held, right: Held) -> Held:
        if DATE not in (left.type, right.type):
            scale = scale_of(type)
            left = self.rescaled(left, scale - scale_of(left.type))
            right = self.rescaled(right, scale - scale_of(right.type))
        word = "add" if name == "plus" else "sub"
        low, high = left.low + right.low, left.high + right.high
        if name == "minus":
            low, high = left.low - right.high, left.high - right.low
        if fits((low, high), S64):
            kind = integer_kind(min(low, left.low, right.low), max(high, left.high, right.high))
            operands: list[Operand] = [self.in_register(left, kind), self.in_operand(right, kind)]
            made = Held(
                kind, type, self.emitter.made(REGISTERS[kind], f"{word}.{kind}", operands), low, high, left.masks
            )
            return self.within(made, type, name, left.masks or right.masks)
        a, b = self.in_register(left, "s64"), self.in_register(right, "s64")
        total = self.emitter.made(B64, f"{word}.s64", [a, b])
        # Signed overflow: the operands agree in sign (for a difference: disagree) and the result has another.
        first = self.emitter.made(B64, "xor.b64", [a, total])
        second = self.emitter.made(B64, "xor.b64", [b, total] if name == "plus" else [a, b])
        both = self.emitter.made(B64, "and.b64", [first, second])
        wrapped = self.emitter.made(PRED, "setp.lt.s64", [both, integer(0)])
        masks = max(left.masks, right.masks, key=len)
        self.fail(wrapped, name, type, masks)
        return self.within(Held("s64", type, total, S64[0], S64[1], masks), type, name, masks)

    def multiply(self, type: VectorType, left: Held, right: Held) -> Held:
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = min(corners), max(corners)
        masks = max(left.masks, right.masks, key=len)
        if isinstance(left.operand, Immediate):
            left, right = right, left
        emitter = self.emitter
        if fits((low, high), S64):
            kind = integer_kind(low, high)
            if kind == "s64" and left.kind == "s32" and right.kind == "s32":
                sources: list[Operand] = [self.in_register(left, "s32"), self.in_operand(right, "s32")]
                product = emitter.made(B64, "mul.wide.s32", sources)
            else:
                sources = [self.in_register(left, kind), self.in_operand(right, kind)]
                product = emitter.made(REGISTERS[kind], f"mul.lo.{kind}", sources)
            return self.within(Held(kind, type, product, low, high, masks), type, "mul", masks)
        a, b = self.in_register(left, "s64"), self.in_register(right, "s64")
        product = emitter.made(B64, "mul.lo.s64", [a, b])
        upper = emitter.made(B64, "mul.hi.s64", [a, b])
        sign = emitter.made(B64, "shr.s64", [product, integer(63)])
        self.fail(emitter.made(PRED, "setp.ne.s64", [upper, sign]), "mul", type, masks)
        return self.within(Held("s64", type, product, S64[0], S64[1], masks), type, "mul", masks)

    def remainder(self, type: VectorType, left: Held, right: Held) -> Held:
        kind = integer_kind(min(left.low, right.low), max(left.high, right.high))
        sources: list[Operand] = [self.in_register(left, kind), self.in_operand(right, kind)]
        most = max(abs(right.low), abs(right.high)) - 1
        low, high = max(min(left.low, 0), -most), min(max(left.high, 0), most)
        return Held(kind, type, self.emitter.made(REGISTERS[kind], f"rem.{kind}", sources), low, high)

    def negate(self, name: str, type: VectorType, held: Held) -> Held:
        low, high = (-held.high, -held.low)
        kind = integer_kind(min(low, held.low), max(high, held.high))
        made = self.emitter.made(REGISTERS[kind], f"{name}.{kind}", [self.in_register(held, kind)])
        if name == "abs":
            low, high = (0 if held.low <= 0 <= held.high else min(abs(held.low), abs(held.high)), max(high, held.high))
        return self.within(Held(kind, type, made, low, high, held.masks), type, name, held.masks)

    def within(self, held: Held, type: VectorType, name: str, masks: tuple[str, ...]) -> Held:
        """``held``, checked against its type's bounds where its range does not prove them."""
        low, high = exact_bounds(type)
        register = held.operand
        assert isinstance(register, Register)
        emitter = self.emitter
        if held.high > high:
            limit = emitter.made(REGISTERS[held.kind], f"mov.{held.kind}", [integer(high)])
            self.fail(emitter.made(PRED, f"setp.gt.{held.kind}", [register, limit]), name, type, masks)
        if held.low < low:
            limit = emitter.made(REGISTERS[held.kind], f"mov.{held.kind}", [integer(low)])
            self.fail(emitter.made(PRED, f"setp.lt.{held.kind}", [register, limit]), name, type, masks)
        return Held(held.kind, type, register, max(low, held.low), min(high, held.high), masks)

    def float_arithmetic(self, name: str, type: VectorType, arguments: list[Held]) -> Held:
        kind = type.text
        word = {"plus": "add.rn", "minus": "sub.rn", "mul": "mul.rn", "div": "div.rn", "neg": "neg", "abs": "abs"}[name]
        sources: list[Operand] = [self.in_float(a, kind) for a in arguments]
        return Held(kind, type, self.emitter.made(REGISTERS[kind], f"{word}.{kind}", sources))

    def real(self, name: str, type: VectorType, held: Held) -> Held:
        """A function of one double; ``@round`` takes halves away from zero."""
        emitter, value = self.emitter, self.in_float(held, "f64")
        if name == "sqrt":
            return Held("f64", type, emitter.calc("sqrt.rn.f64", value))
        made = emitter.calc(f"cvt.{_WHOLE_REALS[name]}.f64.f64", value)
        if name == "round":
            rest = emitter.calc("abs.f64", emitter.calc("sub.rn.f64", value, made))
            is_half = emitter.calc("setp.ge.f64", rest, float64(0.5))
            further = emitter.calc("add.rn.f64", made, emitter.calc("copysign.f64", value, float64(1.0)))
            made = emitter.calc("selp.f64", further, made, is_half)
        return Held("f64", type, made)

    def moment(self, name: str, type: VectorType, arguments: list[Held]) -> Held:
        if name == "truncate":
            return self.moments.truncated(type, arguments[0], (arguments[1].words or [""])[0])
        if name == "add_months":
            return self.moments.later(type, arguments[0], arguments[1])
        return self.moments.converted(name, type, arguments[0])

    # Conversions and choices

    def convert(self, type: VectorType, held: Held) -> Held:
        if type.is_float:
            value = self.in_float(held, type.text)
            if type.text == "f32" and held.kind == "f64":
                self.check_finite(held, value, type)
            return Held(type.text, type, value)
        digits = scale_of(type) - scale_of(held.type)
        if digits >= 0:
            made = self.rescaled(held, digits)
            register = self.in_register(made, made.kind if made.kind != "pred" else "s32")
            kind = made.kind if made.kind != "pred" else "s32"
            return self.within(Held(kind, type, register, made.low, made.high, held.masks), type, "convert", held.masks)
        return self.round_off(type, held, 10**-digits)

    def check_finite(self, held: Held, made: Register, type: VectorType) -> None:
        """Fails where a finite f64 became an infinite f32."""
        emitter = self.emitter
        size = emitter.made(F32, "abs.f32", [made])
        is_infinite = emitter.made(PRED, "setp.eq.f32", [size, float32(math.inf)])
        source = emitter.made(F64, "abs.f64", [self.in_register(held, "f64")])
        was_finite = emitter.made(PRED, "setp.lt.f64", [source, float64(math.inf)])
        self.fail(emitter.both(is_infinite, was_finite), "convert", type, held.masks)

    def round_off(self, type: VectorType, held: Held, divisor: int) -> Held:
        """Division by a power of ten, halves away from zero."""
        half = divisor // 2
        kind = integer_kind(min(held.low - half, -divisor), max(held.high + half, divisor))
        emitter = self.emitter
        value = self.in_register(held, kind)
        is_negative = emitter.made(PRED, f"setp.lt.{kind}", [value, integer(0)])
        nudge = emitter.made(REGISTERS[kind], f"selp.{kind}", [integer(-half), integer(half), is_negative])
        nudged = emitter.made(REGISTERS[kind], f"add.{kind}", [value, nudge])
        made = emitter.made(REGISTERS[kind], f"div.{kind}", [nudged, integer(divisor)])
        low, high = held.low // divisor - 1, held.high // divisor + 1
        return self.within(Held(kind, type, made, low, high, held.masks), type, "convert", held.masks)

    def if_else(self, type: VectorType, arguments: list[Held]) -> Held:
        chosen = self.predicate(arguments[0])
        left, right = arguments[1], arguments[2]
        emitter = self.emitter
        if type == BOOL:
            a, b = self.predicate(left), self.predicate(right)
            first = emitter.both(chosen, a)
            second = emitter.both(emitter.negated(chosen), b)
            return Held("pred", type, emitter.either(first, second), 0, 1)
        low, high = min(left.low, right.low), max(left.high, right.high)
        kind = type.text if type.is_float else integer_kind(low, high)
        sources: list[Operand] = [self.in_register(left, kind), self.in_register(right, kind), chosen]
        return Held(kind, type, emitter.made(REGISTERS[kind], f"selp.{kind}", sources), low, high)

    # Comparisons

    def compare(self, name: str, left: Held, right: Held) -> Register:
        if left.type.kind == "text" or right.type.kind == "text":
            return self.compare_text(name, left, right)
        if left.type.is_float or right.type.is_float:
            return self.compare_floats(name, left, right)
        if left.kind == "pred" or right.kind == "pred":
            a, b = self.in_register(left, "s32"), self.in_register(right, "s32")
            return self.emitter.made(PRED, f"setp.{_SIGNED[name]}.s32", [a, b])
        scale = max(scale_of(left.type), scale_of(right.type))
        left = self.rescaled(left, scale - scale_of(left.type))
        right = self.rescaled(right, scale - scale_of(right.type))
        kind = integer_kind(min(left.low, right.low), max(left.high, right.high))
        sources: list[Operand] = [self.in_register(left, kind), self.in_operand(right, kind)]
        return self.emitter.made(PRED, f"setp.{_SIGNED[name]}.{kind}", sources)

    def compare_floats(self, name: str, left: Held, right: Held) -> Register:
        """SQL's order: NaN equals NaN and is above every number."""
        emitter = self.emitter
        kind = float_type(left.type, right.type).text
        a, b = self.in_float(left, kind), self.in_float(right, kind)
        if name in ("lt", "leq"):
            return self.float_above(_MIRRORED[name], kind, b, a)
        if name in ("gt", "geq"):
            return self.float_above(name, kind, a, b)
        a_nan = emitter.made(PRED, f"setp.nan.{kind}", [a, a])
        b_nan = emitter.made(PRED, f"setp.nan.{kind}", [b, b])
        same = emitter.made(PRED, f"setp.eq.{kind}", [a, b])
        equal = emitter.either(same, emitter.both(a_nan, b_nan))
        return equal if name == "eq" else emitter.negated(equal)

    def float_above(self, name: str, kind: str, a: Register, b: Register) -> Register:
        emitter = self.emitter
        if name == "gt":
            above = emitter.made(PRED, f"setp.gtu.{kind}", [a, b])
            return emitter.both(above, emitter.made(PRED, f"setp.num.{kind}", [b, b]))
        above = emitter.made(PRED, f"setp.ge.{kind}", [a, b])
        return emitter.either(above, emitter.made(PRED, f"setp.nan.{kind}", [a, a]))

    # Text: codes against parameters that the launch derives from the dictionary

    def compare_text(self, name: str, left: Held, right: Held) -> Register:
        if left.words is not None:
            left, right, name = right, left, _MIRRORED[name]
        words = right.words
        assert words is not None and left.column
        code = self.in_register(left, "s32")
        lower = self.text_param(left.column, "lower", words)
        if name == "lt":
            return self.emitter.made(PRED, "setp.lt.s32", [code, lower])
        if name == "geq":
            return self.emitter.made(PRED, "setp.ge.s32", [code, lower])
        upper = self.text_param(left.column, "upper", words)
        if name == "leq":
            return self.emitter.made(PRED, "setp.lt.s32", [code, upper])
        if name == "gt":
            return self.emitter.made(PRED, "setp.ge.s32", [code, upper])
        # A word that is in the dictionary is the one code from its lower to its upper bound.
        at_least = self.emitter.made(PRED, "setp.ge.s32", [code, lower])
        equal = self.emitter.both(at_least, self.emitter.made(PRED, "setp.lt.s32", [code, upper]))
        return equal if name == "eq" else self.emitter.negated(equal)

    def text_param(self, column: str, kind: str, words: list[str], pattern: bool = False) -> Register:
        name = f"text{len(self.text_params)}"
        self.text_params.append(TextParam(name, column, kind, words, pattern))
        type = U64 if kind == "bits" else S32
        self.emitter.scalar_param(name, type)
        return self.emitter.hoisted_param(name, type)

    def text_test(self, held: Held, words: list[str], pattern: bool) -> Register:
        bits = self.text_param(held.column, "bits", words, pattern)
        code = self.in_register(held, "s32")
        moved = self.emitter.made(B64, "shr.u64", [bits, code])
        low = self.emitter.made(B64, "and.b64", [moved, integer(1)])
        return self.emitter.made(PRED, "setp.ne.s64", [low, integer(0)])

    def member(self, held: Held, options: Held) -> Register:
        if held.type.kind == "text":
            return self.text_test(held, options.words or [], False)
        raise AssertionError("@member of numbers is expanded by the code generator")


def literal(type: VectorType, value: int | float | str) -> Held:
    """A literal as an immediate."""
    if isinstance(value, str):
        return Held("text", type, integer(0), words=[value])
    if isinstance(value, float) or type.is_float:
        is_double = type.text == "f64"
        return Held(type.text, type, float64(float(value)) if is_double else float32(float(value)))
    return Held(integer_kind(value, value), type, integer(value), value, value)
