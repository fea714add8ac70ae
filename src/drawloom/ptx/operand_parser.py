"""Reads the operands of an instruction: text to registers, addresses, vectors and constants of the scopes around it."""

from __future__ import annotations

import re
from typing import Final

from drawloom.errors import ParseError, SourceError
from drawloom.ptx.ir import (
    SINK,
    Address,
    Arguments,
    Immediate,
    LabelRef,
    Not,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import PURE, Opcode
from drawloom.ptx.scanner import Scanner, literal
from drawloom.ptx.scopes import Names
from drawloom.ptx.specials import canonical, find_special

#: A label and its colon.
LABEL: Final = re.compile(r"([a-zA-Z][\w$]*|[_$%][\w$]+)\s*:(?!:)", re.ASCII)
_OPERAND_NAME: Final = re.compile(r"[%$_a-zA-Z][\w$]*(?:\.[a-z]+)?", re.ASCII)
_ADDRESS: Final = re.compile(r"\[\s*([%$_a-zA-Z][\w$]*)\s*(?:\+\s*+(-?\s*+\w++)\s*)?\]", re.ASCII)
_ABSOLUTE: Final = re.compile(r"\[\s*(-?\w+)\s*\]", re.ASCII)
_SYMBOL_OFFSET: Final = re.compile(r"([%$_a-zA-Z][\w$]*)\s*\+\s*(.+)", re.ASCII | re.DOTALL)
_ELEMENT: Final = re.compile(r"([$_a-zA-Z][\w$]*)\s*\[(.*)\]", re.ASCII | re.DOTALL)
_CALL: Final = re.compile(
    r"(?:\(([^][(){}]*)\)\s*,\s*)?([%$_a-zA-Z][\w$]*)\s*(?:,\s*\(([^][(){}]*)\)\s*)?"
    r"(?:,\s*([a-zA-Z][\w$]*|[_$%][\w$]+)\s*)?",
    re.ASCII,
)
#: Operands that look like the name of a function.
_NO_FUNCTIONS: Final = frozenset({"_", "WARP_SZ"})
_PARTS: Final = re.compile(r"(?:[^,{}]+|\{[^{}]*\})+")
#: Immediates by their text (a digit or a minus first), the same in every module.
_literals: dict[str, Operand] = {}
_MAX_LITERALS: Final = 1 << 14
#: Special registers that were met, by their text.
_specials: dict[str, SpecialRegister] = {}
#: Opcodes whose last operand is a label.
LABEL_OPCODES: Final = frozenset({"bra", "brx.idx"})


def keep_literal(text: str, operand: Operand) -> None:
    """Keep for all modules what ``text`` spells."""
    if len(_literals) >= _MAX_LITERALS:
        _literals.clear()
    _literals[text] = operand


class OperandParser(Names):
    """Operands in the scopes of one function."""

    def keep(self, text: str, operand: Operand) -> Operand:
        """Remember for the innermost scope what ``text``, which has names in it, was resolved to."""
        known = self.operands
        if text not in known:
            known[text] = operand
            self.resolved.append(text)
        return operand

    def operand_list(self, opcode: Opcode, text: str, at: int) -> list[Operand]:
        """The operands in ``text`` (what stands between opcode and ``;``), which begins at offset ``at``."""
        if not text:
            return []
        if opcode.name == "call":
            return self.call_operands(text, at)
        if opcode.name in LABEL_OPCODES:
            return self.label_operands(opcode, text, at)
        known = self.operands
        out: list[Operand] = []
        parts = text.split(",") if "{" not in text and "(" not in text else self.split(text, at)
        for untrimmed in parts:
            part = untrimmed.strip()
            operand = known.get(part)
            out.append(self.new_operand(part, opcode, at) if operand is None else operand)
        return out

    def new_operand(self, text: str, opcode: Opcode, at: int) -> Operand:
        """The operand that ``text`` spells, which stands without surrounding spaces and was not met in this scope."""
        operand = self.usual_operand(text)
        if operand is not None:
            return operand
        if text[:1] == "[":
            operand = self.address(text, at)
            self.operands[text] = operand
            self.resolved.append(text)
            return operand
        element = _ELEMENT.fullmatch(text) if text.endswith("]") else None
        if element is not None:
            return self.element(element, opcode, text, at)
        operand = self.operand(text, at)
        if isinstance(operand, Immediate) and (text[0].isdigit() or text[0] == "-"):
            keep_literal(text, operand)
            self.operands[text] = operand
            return operand
        return self.keep(text, operand)

    def usual_operand(self, text: str) -> Operand | None:
        """The operand that ``text`` spells, which was not met in this scope, when that is a literal or special register
        that was met elsewhere, or a usual address; else None."""
        operand = _literals.get(text)
        if operand is None:
            operand = self.usual_address(text) if text[:1] == "[" else _specials.get(text)
            if operand is not None:
                self.resolved.append(text)
        if operand is not None:
            self.operands[text] = operand
        return operand

    def label_operands(self, opcode: Opcode, text: str, at: int) -> list[Operand]:
        parts = [p.strip() for p in text.split(",")]
        out: list[Operand] = [self.operand(p, at) for p in parts[:-1]]
        if LABEL.match(parts[-1] + ":") is None:
            raise self.operand_error(parts[-1], at, "a label")
        out.append(LabelRef(parts[-1]))
        return out

    def split(self, text: str, at: int) -> list[str]:
        """Split at commas outside brackets, trimmed."""
        if "(" not in text:
            found = _PARTS.findall(text)
            if len(",".join(found)) == len(text):
                return [part.strip() for part in found]
        parts: list[str] = []
        depth = 0
        begin = 0
        for index, character in enumerate(text):
            if character in "{([":
                depth += 1
            elif character in "})]":
                depth -= 1
                if depth < 0:
                    raise self.module.error(ParseError, at + index, f"'{character}' without its opening bracket")
            elif character == "," and depth == 0:
                parts.append(text[begin:index].strip())
                begin = index + 1
        if depth:
            raise self.module.error(ParseError, at, "a bracket is not closed", "'}', ')' or ']'")
        parts.append(text[begin:].strip())
        return parts

    def operand_error(self, text: str, at: int, expected: str) -> SourceError:
        shown = " ".join(text.split())[:60]
        end = self.text.find(";", at)
        where = self.text.find(text, at, end if end >= 0 else len(self.text)) if text else -1
        what = f"'{shown}' is no operand" if shown else "an operand is missing"
        return self.module.error(ParseError, where if where >= 0 else at, what, expected)

    def operand(self, text: str, at: int) -> Operand:
        if not text:
            raise self.operand_error(text, at, "an operand between the commas")
        known = self.operands.get(text)
        if known is not None:
            return known
        first = text[0]
        if first == "[":
            return self.address(text, at)
        if first == "{":
            if text[-1] != "}":
                raise self.operand_error(text, at, "'{a, b, ...}'")
            return Vector([self.element_operand(part, at) for part in self.split(text[1:-1], at)])
        if first == "!":
            register = self.find_register(text[1:].strip())
            if register is not None:
                return Not(register)
            if _OPERAND_NAME.fullmatch(text[1:].strip()) is not None:
                raise self.operand_error(text, at, "'!' and a declared predicate register")
        if text == "_":
            return SINK
        if "|" in text:
            halves = text.split("|")
            if len(halves) == 2 and _OPERAND_NAME.fullmatch(halves[0].strip()) is not None:
                return Pair(self.operand(halves[0].strip(), at), self.operand(halves[1].strip(), at))
        if _OPERAND_NAME.fullmatch(text) is not None and text != "WARP_SZ":
            return self.named(text, at)
        value = literal(text)
        if value is not None:
            return value
        match = _SYMBOL_OFFSET.fullmatch(text)
        if match is not None and match.group(1) != "WARP_SZ":
            return self.symbol_plus(match, text, at)
        return self.expression(text, at)

    def element_operand(self, text: str, at: int) -> Operand:
        """An operand inside a vector or an argument list, which nothing nests in."""
        if text and text[0] in "{[(":
            raise self.operand_error(text, at, "a register, a constant or '_'")
        return self.operand(text, at)

    def named(self, text: str, at: int) -> Operand:
        known = self.operands.get(text)
        if known is not None:
            return known
        if text[0] == "%":
            if find_special(text) is not None:
                special = _specials[text] = SpecialRegister(canonical(text))
                return self.keep(text, special)
            raise self.operand_error(text, at, "a declared register or a special register")
        if "." in text:
            raise self.operand_error(text, at, "a register, a symbol or a constant")
        return self.keep(text, Symbol(text))

    def symbol_plus(self, match: re.Match[str], text: str, at: int) -> Operand:
        base = self.named(match.group(1), at)
        offset = self.folded(match.group(2), at, text)
        if not isinstance(base, Symbol) or offset.kind != 0:
            raise self.operand_error(text, at, "a register, a symbol with an offset, or a constant")
        return Symbol(base.name, offset.value)

    def usual_address(self, text: str) -> Address | None:
        """``[name]`` or ``[name+offset]`` of a name and an offset that were met; None for anything else."""
        if len(text) < 3 or text[0] != "[" or text[-1] != "]":
            return None
        name, plus, offset_text = text[1:-1].partition("+")
        known = self.operands.get(name)
        if isinstance(known, Register) or (isinstance(known, Symbol) and known.offset == 0):
            if not plus:
                return Address(known)
            number = _literals.get(offset_text)
            if isinstance(number, Immediate) and number.kind == 0:
                return Address(known, number.value)
        return None

    def address(self, text: str, at: int) -> Operand:
        usual = self.usual_address(text)
        if usual is not None:
            return usual
        match = _ADDRESS.fullmatch(text)
        if match is None and text.endswith("].unified"):  # a hint that the address is in unified memory
            text = text.removesuffix(".unified")
            match = _ADDRESS.fullmatch(text)
        if match is not None and match.group(1) != "WARP_SZ":
            base = self.named(match.group(1), at)
            offset = 0
            digits = match.group(2)
            if digits is not None:
                value = literal(digits.replace(" ", ""))
                if value is None or value.kind != 0:
                    raise self.operand_error(text, at, "'[register+offset]' with a constant offset")
                keep_literal(digits, value)
                offset = value.value
            if isinstance(base, Symbol):
                return Address(Symbol(base.name), offset)
            if isinstance(base, Register):
                return Address(base, offset)
            raise self.operand_error(text, at, "a register or a variable inside the brackets")
        match = _ABSOLUTE.fullmatch(text)
        if match is not None:
            value = literal(match.group(1))
            if value is not None and value.kind == 0:
                return Address(None, value.value)
        if text.endswith("]"):
            return self.address_expression(text, at)
        raise self.operand_error(text, at, "'[register]', '[register+offset]', '[variable+offset]' or '[constant]'")

    def address_expression(self, text: str, at: int) -> Operand:
        """``[name + expression]`` where the offset is more than one literal."""
        inner = text[1:-1].strip()
        match = _OPERAND_NAME.match(inner)
        if match is None:
            return Address(None, self.integer_value(inner, at, text))
        base = self.named(match.group(0), at)
        rest = inner[match.end() :].strip()
        if not isinstance(base, (Symbol, Register)) or not rest or rest[0] != "+":
            raise self.operand_error(
                text, at, "'[register]', '[register+offset]', '[register+-offset]' or '[variable]'"
            )
        if isinstance(base, Symbol):
            base = Symbol(base.name)
        return Address(base, self.integer_value(rest[1:], at, text))

    def element(self, match: re.Match[str], opcode: Opcode, text: str, at: int) -> Operand:
        """``array[index]``: a place in memory, or its address where no memory operand stands (section 6.4.2)."""
        base = self.named(match.group(1), at)
        variable = self.find_variable(match.group(1)) if isinstance(base, Symbol) else None
        if variable is None:
            variable = self.module.variables.get(match.group(1))
        if variable is None or len(variable.shape) != 1:
            raise self.operand_error(text, at, "the index of a declared array of one dimension")
        offset = self.integer_value(match.group(2), at, text) * variable.type.bytes * variable.vector
        if opcode.effect == PURE:
            return Symbol(variable.name, offset)
        return Address(Symbol(variable.name), offset)

    def integer_value(self, expression: str, at: int, shown: str) -> int:
        value = self.folded(expression, at, shown)
        if value.kind != 0:
            raise self.operand_error(shown, at, "an integer constant")
        return value.value

    def folded(self, expression: str, at: int, shown: str) -> Immediate:
        """The value of a constant expression that stands somewhere inside an operand; the whole must be used."""
        inner = Scanner(self.module, expression)
        try:
            value = inner.constant()
        except SourceError as error:
            raise self.operand_error(shown, at, error.expected or "a constant expression") from None
        if not inner.at_end():
            raise self.operand_error(shown, at, "a register, an address, a vector or a constant")
        return value

    def expression(self, text: str, at: int) -> Operand:
        return self.folded(text, at, text)

    def call_operands(self, text: str, at: int) -> list[Operand]:
        """``(results), callee, (arguments), prototype`` with all but the callee optional."""
        match = _CALL.fullmatch(text)
        if match is not None:
            returned, callee_name, passed, table = match.groups()
            operands: list[Operand] = [
                self.flat_arguments(returned, at),
                self.operand(callee_name, at) if callee_name in _NO_FUNCTIONS else self.named(callee_name, at),
                self.flat_arguments(passed, at),
            ]  # fmt: skip
            if table is not None:
                operands.append(LabelRef(table))
            return operands
        parts = self.split(text, at)
        results = Arguments([])
        arguments = Arguments([])
        rest: list[Operand] = []
        index = 0
        if parts[0].startswith("("):
            results = self.argument_list(parts[0], at)
            index = 1
        if index >= len(parts) or not parts[index] or parts[index][0] in "([{":
            raise self.module.error(ParseError, at, "the called function is missing", "a function name or a register")
        callee = self.operand(parts[index], at)
        index += 1
        if index < len(parts) and parts[index].startswith("("):
            arguments = self.argument_list(parts[index], at)
            index += 1
        if index < len(parts):
            if LABEL.match(parts[index] + ":") is None or index + 1 < len(parts):
                raise self.operand_error(parts[index], at, "a call prototype or target list")
            rest.append(LabelRef(parts[index]))
        return [results, callee, arguments, *rest]

    def flat_arguments(self, text: str | None, at: int) -> Arguments:
        """Arguments in which no brackets stand, without their parentheses."""
        if text is None:
            return Arguments([])
        trimmed = text.strip()
        return Arguments([self.element_operand(part.strip(), at) for part in trimmed.split(",")] if trimmed else [])

    def argument_list(self, text: str, at: int) -> Arguments:
        if not text.endswith(")"):
            raise self.operand_error(text, at, "'(a, b, ...)'")
        inner = text[1:-1].strip()
        return Arguments([self.element_operand(part, at) for part in self.split(inner, at)] if inner else [])
