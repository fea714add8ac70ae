"""Reads PTX declarations token by token: names, strings, constant expressions (PTX ISA 9.0 section 4.5).

Instructions do not come through here: the parser matches them with one pattern each.
"""

from __future__ import annotations

import re
import struct
from typing import Final

from drawloom.errors import ParseError, SourceError
from drawloom.ptx.ir import FLOAT32, FLOAT64, Immediate, Module

BLANKS: Final = " \t\n\r\f\v"
_NAME: Final = re.compile(r"\s*([a-zA-Z][\w$]*|[_$%][\w$]+)", re.ASCII)
_DIRECTIVE: Final = re.compile(r"\s*(\.[a-zA-Z][\w:]*)", re.ASCII)
_INTEGERS: Final = re.compile(r"\s*\{([\s\w,-]*)\}", re.ASCII)
_STRING: Final = re.compile(r'"((?>[^"\\\n]+|\\.)*+)"')
_NUMBER: Final = re.compile(
    r"(0[fF][0-9a-fA-F]{8}(?!\w))|(0[dD][0-9a-fA-F]{16}(?!\w))|(\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
    r"|\d+[eE][+-]?\d+)|(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(U?)(?![\w.])",
    re.ASCII,
)
_TOKEN: Final = re.compile(r"[\w$%.]+|\S", re.ASCII)
_OPERATOR: Final = re.compile(r"<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&^|?]")
_PRECEDENCE: Final[dict[str, int]] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_HEX_FLOATS: Final = ("0f", "0F", "0d", "0D")
_MAX_DEPTH: Final = 64
_MAX_OPERATORS: Final = 10_000
_MASK64: Final = (1 << 64) - 1
WARP_SIZE: Final = 32


def is_name(text: str) -> bool:
    """Whether ``text`` is an identifier of PTX (section 4.4)."""
    if text.isidentifier() and text.isascii():
        return text != "_"
    flat = text.replace("$", "_")
    if flat[:1] == "%":
        flat = "_" + flat[1:]
    return flat.isidentifier() and flat.isascii() and flat != "_"


class Scanner:
    """A position in a module's source (comments already blanked), with typed reads that fail with a place."""

    def __init__(self, module: Module, text: str) -> None:
        self.module = module
        self.text = text
        self.pos = 0
        self.operators = 0

    def fail(self, message: str, expected: str = "", pos: int = -1) -> SourceError:
        return self.module.error(ParseError, self.pos if pos < 0 else pos, message, expected)

    def skip(self) -> None:
        text = self.text
        at = self.pos
        while at < len(text) and text[at] in BLANKS:
            at += 1
        self.pos = at

    def at_end(self) -> bool:
        self.skip()
        return self.pos >= len(self.text)

    def peek(self) -> str:
        """The next character that is no space, or an empty string at the end."""
        character = self.text[self.pos : self.pos + 1]
        if character > " ":
            return character
        self.skip()
        return self.text[self.pos] if self.pos < len(self.text) else ""

    def accept(self, text: str) -> bool:
        count = len(text)
        if self.text[self.pos : self.pos + count] != text:
            self.skip()
            if self.text[self.pos : self.pos + count] != text:
                return False
        self.pos += count
        return True

    def expect(self, text: str, where: str) -> None:
        if not self.accept(text):
            raise self.fail(f"found {self.found()} {where}", f"'{text}'")

    def found(self) -> str:
        """The next token as quoted in an error."""
        self.skip()
        token = _TOKEN.match(self.text, self.pos)
        return "end of file" if token is None else f"'{token.group(0)[:40]}'"

    def name(self, what: str) -> str:
        match = _NAME.match(self.text, self.pos)
        if match is None:
            found = self.found()
            raise self.fail(f"found {found}", what)
        self.pos = match.end()
        return match.group(1)

    def directive(self) -> str:
        """A ``.word`` at this place, or an empty string."""
        match = _DIRECTIVE.match(self.text, self.pos)
        if match is None:
            return ""
        self.pos = match.end()
        return match.group(1)

    def peek_directive(self) -> str:
        match = _DIRECTIVE.match(self.text, self.pos)
        return "" if match is None else match.group(1)

    def string(self) -> str:
        self.skip()
        match = _STRING.match(self.text, self.pos)
        if match is None:
            raise self.fail(f"found {self.found()}", "a string in double quotes")
        self.pos = match.end()
        return match.group(1)

    def line_rest(self) -> str:
        """The rest of the line, with white space folded; its strings are ended."""
        end = self.text.find("\n", self.pos)
        return self.words_to(len(self.text) if end < 0 else end)

    def words_to(self, end: int) -> str:
        """What stands before the offset ``end``, with white space folded; its strings are ended."""
        text = self.text
        quote = text.find('"', self.pos, end)
        while quote >= 0:
            match = _STRING.match(text, quote, end)
            if match is None:
                raise self.fail("a string is not ended", "'\"'", quote)
            quote = text.find('"', match.end(), end)
        words = " ".join(text[self.pos : end].split())
        self.pos = end
        return words

    def integer_list(self) -> list[int] | None:
        """The values of ``{1, 2, ...}`` when it is nothing but plain integers; None, and nothing read, when not."""
        match = _INTEGERS.match(self.text, self.pos)
        if match is None:
            return None
        values: list[int] = []
        for word in match.group(1).split(","):
            digits = word.strip()
            negative = digits.startswith("-")
            value = parse_integer(digits[1:] if negative else digits)
            if value < 0 or value > _MASK64:
                return None
            values.append(-value if negative else value)
        self.pos = match.end()
        return values

    def integer(self, what: str) -> int:
        """A constant expression that must be an integer."""
        start = self.pos
        value = self.constant()
        if value.kind != 0:
            raise self.fail("found a floating-point constant", what, start)
        return value.value

    def plain_integer(self, what: str) -> int:
        """One integer literal, not an expression (``<5>`` would read on past the ``>``)."""
        self.skip()
        match = _NUMBER.match(self.text, self.pos)
        if match is None or match.group(4) is None:
            raise self.fail(f"found {self.found()}", what)
        start = self.pos
        self.pos = match.end()
        return self.number_value(match, start).value

    def constant(self) -> Immediate:
        """A constant expression; integers are signed 64-bit as the manual says, or unsigned when over 2^63."""
        self.operators = 0
        return self._binary(0, 0)

    def _binary(self, least: int, depth: int) -> Immediate:
        if depth > _MAX_DEPTH:
            raise self.fail("constant expression is nested too deeply", f"at most {_MAX_DEPTH} levels")
        left = self._unary(depth)
        while True:
            self.skip()
            match = _OPERATOR.match(self.text, self.pos)
            if match is None:
                return left
            operator = match.group(0)
            self.operators += 1
            if self.operators > _MAX_OPERATORS:
                raise self.fail("constant expression is too long", f"at most {_MAX_OPERATORS} operators")
            if operator == "?":
                if least > 0:
                    return left
                self.pos = match.end()
                first = self._binary(0, depth + 1)
                self.expect(":", "in a conditional constant expression")
                second = self._binary(0, depth + 1)
                return first if left.value else second
            level = _PRECEDENCE[operator]
            if level <= least:
                return left
            at = self.pos
            self.pos = match.end()
            right = self._binary(level, depth + 1)
            left = self._fold(operator, left, right, at)

    def _unary(self, depth: int) -> Immediate:
        if depth > _MAX_DEPTH:
            raise self.fail("constant expression is nested too deeply", f"at most {_MAX_DEPTH} levels")
        self.skip()
        character = self.text[self.pos : self.pos + 1]
        if character == "(":
            self.pos += 1
            if self.peek() == ".":
                cast = self.directive()
                self.expect(")", "after a cast")
                inner = self._unary(depth + 1)
                if cast not in (".s64", ".u64"):
                    raise self.fail(f"found a cast to {cast}", "'.s64' or '.u64'")
                value = inner.value & _MASK64
                return Immediate(value - (1 << 64) if cast == ".s64" and value >> 63 else value)
            inner = self._binary(0, depth + 1)
            self.expect(")", "in a constant expression")
            return inner
        if character and character in "-+!~":
            at = self.pos
            self.pos += 1
            if self.text.startswith(_HEX_FLOATS, self.pos):
                raise self.fail(f"'{character}' before a hexadecimal float", "the sign inside its bits", at)
            inner = self._unary(depth + 1)
            if inner.kind != 0:
                if character == "-":
                    return Immediate(inner.value ^ (1 << (31 if inner.kind == FLOAT32 else 63)), inner.kind)
                if character == "+":
                    return inner
                raise self.fail(f"'{character}' of a floating-point constant", "an integer", at)
            if character == "-":
                return Immediate(-inner.value)
            if character == "!":
                return Immediate(0 if inner.value else 1)
            return Immediate(~inner.value) if character == "~" else inner
        return self._number()

    def _number(self) -> Immediate:
        match = _NUMBER.match(self.text, self.pos)
        if match is None:
            if self.text.startswith("WARP_SZ", self.pos):
                self.pos += len("WARP_SZ")
                return Immediate(WARP_SIZE)
            raise self.fail(f"found {self.found()}", "a constant")
        start = self.pos
        self.pos = match.end()
        return self.number_value(match, start)

    def number_value(self, match: re.Match[str], start: int) -> Immediate:
        single = match.group(1)
        if single is not None:
            return Immediate(int(single[2:], 16), FLOAT32)
        double = match.group(2)
        if double is not None:
            return Immediate(int(double[2:], 16), FLOAT64)
        decimal = match.group(3)
        if decimal is not None:
            return Immediate(struct.unpack("<Q", struct.pack("<d", float(decimal)))[0], FLOAT64)
        digits = match.group(4)
        value = parse_integer(digits)
        if value < 0 or value > _MASK64:
            raise self.fail(f"integer constant '{digits[:40]}' is malformed or over 64 bits", "an integer", start)
        return Immediate(value)

    def _fold(self, operator: str, left: Immediate, right: Immediate, at: int) -> Immediate:
        if left.kind != 0 or right.kind != 0:
            return self._fold_float(operator, left, right, at)
        a = left.value
        b = right.value
        if operator in ("/", "%"):
            if b == 0:
                raise self.fail("division by zero in a constant expression", "", at)
            quotient = abs(a) // abs(b)
            quotient = quotient if (a < 0) == (b < 0) else -quotient
            return Immediate(quotient if operator == "/" else a - quotient * b)
        if operator in ("<<", ">>"):
            count = min(max(b, 0), 64)
            shifted = (a << count) if operator == "<<" else (a >> count)
            return Immediate(_wrap(shifted))
        if operator == "+":
            return Immediate(_wrap(a + b))
        if operator == "-":
            return Immediate(_wrap(a - b))
        if operator == "*":
            return Immediate(_wrap(a * b))
        if operator == "&":
            return Immediate(a & b)
        if operator == "|":
            return Immediate(a | b)
        if operator == "^":
            return Immediate(a ^ b)
        truth = {
            "==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b,
            "&&": a != 0 and b != 0, "||": a != 0 or b != 0,
        }  # fmt: skip
        return Immediate(1 if truth[operator] else 0)

    def _fold_float(self, operator: str, left: Immediate, right: Immediate, at: int) -> Immediate:
        a = _as_double(left)
        b = _as_double(right)
        if operator == "+":
            value = a + b
        elif operator == "-":
            value = a - b
        elif operator == "*":
            value = a * b
        elif operator == "/" and b != 0.0:
            value = a / b
        else:
            raise self.fail(f"'{operator}' of floating-point constants", "'+', '-', '*' or '/'", at)
        return Immediate(struct.unpack("<Q", struct.pack("<d", value))[0], FLOAT64)


def _as_double(value: Immediate) -> float:
    if value.kind == FLOAT32:
        return float(struct.unpack("<f", struct.pack("<I", value.value))[0])
    if value.kind == FLOAT64:
        return float(struct.unpack("<d", struct.pack("<Q", value.value))[0])
    return float(value.value)


def _wrap(value: int) -> int:
    """Keep an integer constant inside 64 bits: unchanged where it fits signed or unsigned, else modulo 2^64."""
    if -(1 << 63) <= value <= _MASK64:
        return value
    value &= _MASK64
    return value - (1 << 64) if value >> 63 else value


def parse_integer(digits: str) -> int:
    """The value of a PTX integer literal without its ``U`` suffix, or -1 when it is malformed or far too long."""
    if not digits or len(digits) > 80 or not digits[0].isdigit() or "_" in digits:
        return -1
    lead = digits[:2]
    try:
        if lead in ("0x", "0X"):
            return int(digits[2:], 16)
        if lead in ("0b", "0B"):
            return int(digits[2:], 2)
        if digits[0] == "0" and len(digits) > 1:
            return int(digits, 8)
        return int(digits)
    except ValueError:
        return -1


def literal(text: str) -> Immediate | None:
    """The immediate that ``text`` (one literal, optionally negative) spells, or None when it is no plain literal."""
    if len(text) < 12 and text.isdecimal() and text.isascii() and text[0] != "0":
        return Immediate(int(text))
    negative = text.startswith("-")
    match = _NUMBER.fullmatch(text, 1 if negative else 0)
    if match is None:
        return None
    digits = match.group(4)
    if digits is not None:
        value = parse_integer(digits)
        if value < 0 or value > _MASK64:
            return None
        return Immediate(-value if negative else value)
    if match.group(3) is not None:
        bits: int = struct.unpack("<Q", struct.pack("<d", float(match.group(3))))[0]
        return Immediate(bits ^ (1 << 63) if negative else bits, FLOAT64)
    if negative:
        return None
    single = match.group(1)
    if single is not None:
        return Immediate(int(single[2:], 16), FLOAT32)
    return Immediate(int(match.group(2)[2:], 16), FLOAT64)
