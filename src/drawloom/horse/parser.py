"""HorseIR text to a module; the grammar stands in ``ir.py`` and ``types.py``. Errors name line and column."""

from __future__ import annotations

import datetime
import re
from typing import Final

from drawloom.errors import ParseError
from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Evaluate,
    Expression,
    Function,
    FunctionRef,
    If,
    Import,
    Jump,
    Literal,
    Loop,
    Module,
    Name,
    Operand,
    Param,
    Pos,
    Return,
    Statement,
    Target,
    Use,
    Value,
)
from drawloom.horse.types import (
    DATE,
    EPOCH,
    MAX_DIGITS,
    MONTH,
    NAMED,
    STR,
    SYM,
    TIME,
    DecimalType,
    DictType,
    EnumType,
    ListType,
    Type,
    VectorType,
    exact_bounds,
)

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:[ \t\r\n]+|//[^\n]*)+)
      | (?P<time>-?\d+:\d\d:\d\d(?:\.\d+)?)
      | (?P<number>-?\d+(?:\.\d+)*(?:[eE][+-]?\d+)?|-inf\b|@-?\d+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<char>'(?:[^'\\\n]|\\x[0-9a-fA-F]{2}|\\.)')
      | (?P<mark>[][(){}<>,;:=.?*@`])""",
    re.VERBOSE,
)
_STATEMENT_WORDS: Final = frozenset(["if", "while", "repeat", "return", "break", "continue", "var"])
_UNESCAPE: Final[dict[str, str]] = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_MAX_NESTING: Final = 100


def parse(text: str, filename: str = "") -> Module:
    """The one module in ``text``. Raises ParseError at the first thing that is not HorseIR."""
    parser = _Parser(text, filename)
    module = parser.module()
    if parser.tokens[parser.at].kind != "end":
        raise parser.unexpected("nothing after the module")
    return module


def parse_modules(text: str, filename: str = "") -> list[Module]:
    """All modules in ``text``, at least one. Raises ParseError."""
    parser = _Parser(text, filename)
    modules = [parser.module()]
    while parser.tokens[parser.at].kind != "end":
        modules.append(parser.module())
    return modules


class _Token:
    def __init__(self, kind: str, text: str, start: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start


class _Parser:
    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self.tokens = self.scan()
        self.at = 0
        self.depth = 0

    # Tokens

    def scan(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self.error("this character starts nothing in HorseIR", at)
            kind = str(match.lastgroup)
            if kind != "space":
                tokens.append(_Token(kind, match.group(), at))
            at = match.end()
        tokens.append(_Token("end", "", len(self.text)))
        return tokens

    def error(self, message: str, start: int, expected: str = "") -> ParseError:
        line = self.text.count("\n", 0, start) + 1
        begin = self.text.rfind("\n", 0, start) + 1
        end = self.text.find("\n", start)
        source_line = self.text[begin : end if end >= 0 else len(self.text)]
        return ParseError(message, self.filename or "<horse>", line, start - begin + 1, source_line, expected)

    def unexpected(self, expected: str) -> ParseError:
        token = self.tokens[self.at]
        what = "the end of the text" if token.kind == "end" else f"'{token.text}'"
        return self.error(f"unexpected {what}", token.start, expected)

    def pos(self) -> Pos:
        start = self.tokens[self.at].start
        begin = self.text.rfind("\n", 0, start) + 1
        return Pos(self.text.count("\n", 0, start) + 1, start - begin + 1)

    def sees(self, text: str) -> bool:
        token = self.tokens[self.at]
        return token.text == text and token.kind in ("mark", "name")

    def take(self, text: str) -> bool:
        if not self.sees(text):
            return False
        self.at += 1
        return True

    def need(self, text: str) -> None:
        if not self.take(text):
            raise self.unexpected(f"'{text}'")

    def need_kind(self, kind: str, expected: str) -> str:
        token = self.tokens[self.at]
        if token.kind != kind:
            raise self.unexpected(expected)
        self.at += 1
        return token.text

    # Structure

    def module(self) -> Module:
        pos = self.pos()
        self.need("module")
        module = Module(self.need_kind("name", "the module's name"), [], [], pos)
        self.need("{")
        while self.sees("import"):
            module.imports.append(self.import_())
        while not self.take("}"):
            module.functions.append(self.function())
        module.source = self.text
        module.filename = self.filename
        return module

    def import_(self) -> Import:
        pos = self.pos()
        self.need("import")
        module = self.need_kind("name", "a module's name")
        self.need(".")
        names: list[str] | None = []
        if self.take("*"):
            names = None
        elif self.take("{"):
            names = [self.need_kind("name", "a function's name")]
            while self.take(","):
                names.append(self.need_kind("name", "a function's name"))
            self.need("}")
        else:
            names = [self.need_kind("name", "'*', '{' or a function's name")]
        self.need(";")
        return Import(module, names, pos)

    def function(self) -> Function:
        pos = self.pos()
        is_kernel = self.sees("kernel")
        if not is_kernel and not self.sees("def"):
            raise self.unexpected("'def', 'kernel' or '}'")
        self.at += 1
        name = self.need_kind("name", "the function's name")
        self.need("(")
        params: list[Param] = []
        while not self.take(")"):
            if params:
                self.need(",")
            at = self.pos()
            param = self.need_kind("name", "a parameter's name")
            self.need(":")
            params.append(Param(param, self.type(), at))
        returns: list[Type] = []
        if self.take(":"):
            returns.append(self.type())
            while self.take(","):
                returns.append(self.type())
        return Function(name, params, returns, self.block(), is_kernel, pos)

    def block(self) -> list[Statement]:
        self.depth += 1
        if self.depth > _MAX_NESTING:
            raise self.unexpected(f"at most {_MAX_NESTING} nested blocks")
        self.need("{")
        body: list[Statement] = []
        while not self.take("}"):
            body.append(self.statement())
        self.depth -= 1
        return body

    def statement(self) -> Statement:
        pos = self.pos()
        if self.take("return"):
            values: list[Operand] = []
            while not self.take(";"):
                if values:
                    self.need(",")
                values.append(self.operand())
            return Return(values, pos)
        if self.sees("break") or self.sees("continue"):
            kind = self.tokens[self.at].text
            self.at += 1
            self.need(";")
            return Jump(kind, pos)
        if self.take("if"):
            condition = self.condition()
            then = self.block()
            otherwise = self.block() if self.take("else") else []
            return If(condition, then, otherwise, pos)
        if self.sees("while") or self.sees("repeat"):
            kind = self.tokens[self.at].text
            self.at += 1
            return Loop(kind, self.condition(), self.block(), pos)
        if self.sees("@"):
            call = self.expression()
            self.need(";")
            return Evaluate(call, pos)
        return self.assignment(pos)

    def condition(self) -> Operand:
        self.need("(")
        condition = self.operand()
        self.need(")")
        return condition

    def assignment(self, pos: Pos) -> Assign:
        targets: list[Target] = []
        while not targets or self.take(","):
            declares = self.take("var")
            at = self.pos()
            name = self.need_kind("name", "a statement or '}'" if not targets else "a variable's name")
            type: Type | None = None
            if self.take(":"):
                type = self.type()
            elif declares:
                raise self.unexpected("':' and the type of the variable")
            targets.append(Target(name, type, at))
        self.need("=")
        value = self.expression()
        self.need(";")
        return Assign(targets, value, pos)

    # Expressions

    def expression(self) -> Expression:
        pos = self.pos()
        if self.take("check_cast"):
            self.need("(")
            value = self.expression()
            if isinstance(value, CheckCast):
                raise self.error("check_cast inside check_cast", self.tokens[self.at].start, "a call or a name")
            self.need(",")
            type = self.type()
            self.need(")")
            return CheckCast(value, type, pos)
        if self.sees("@"):
            function = self.function_ref()
            self.need("(")
            arguments: list[Operand] = []
            while not self.take(")"):
                if arguments:
                    self.need(",")
                arguments.append(self.argument())
            return Call(function, arguments, pos)
        return Use(self.operand(), pos)

    def argument(self) -> Operand:
        if not self.sees("@"):
            return self.operand()
        start = self.tokens[self.at].start
        function = self.function_ref()
        if self.sees("("):
            raise self.nested(start)
        return function

    def nested(self, start: int) -> ParseError:
        """The refusal of a call where an operand stands."""
        return self.error(
            "a call inside another statement's operands", start, "a variable that the call is assigned to"
        )

    def function_ref(self) -> FunctionRef:
        pos = self.pos()
        self.need("@")
        name = self.need_kind("name", "a function's name")
        if self.take("."):
            return FunctionRef(self.need_kind("name", "a function's name"), name, pos)
        return FunctionRef(name, "", pos)

    def operand(self) -> Operand:
        pos = self.pos()
        token = self.tokens[self.at]
        if self.sees("@"):
            raise self.nested(token.start)
        if token.kind == "name" and token.text not in ("nan", "inf") and token.text not in _STATEMENT_WORDS:
            self.at += 1
            return Name(token.text, pos)
        starts: list[_Token] = []
        words: list[str] = []
        if self.take("("):
            while not self.take(")"):
                if words:
                    self.need(",")
                starts.append(self.tokens[self.at])
                words.append(self.raw_value())
        else:
            starts.append(token)
            words.append(self.raw_value())
        if not self.take(":"):
            raise self.unexpected("':' and the type of the literal")
        type = self.type()
        return Literal([self.value(w, type, t) for w, t in zip(words, starts)], type, pos)

    def raw_value(self) -> str:
        """The text of one literal value; what it means depends on the type behind it."""
        token = self.tokens[self.at]
        if token.kind in ("number", "time", "string", "char") or token.text in ("nan", "inf"):
            self.at += 1
            return token.text
        if self.take("`"):
            inner = self.tokens[self.at]
            if inner.kind not in ("name", "string"):
                raise self.unexpected("a symbol's name")
            self.at += 1
            return "`" + inner.text
        raise self.unexpected("a variable, a literal or '('")

    def value(self, word: str, type: Type, token: _Token) -> Value:
        """What ``word`` means as a literal of ``type``."""
        if not isinstance(type, VectorType):
            raise self.error(f"a literal of type {type}", token.start, "the type of a vector")
        try:
            value = _read_value(word, type)
        except (ValueError, OverflowError) as problem:
            raise self.error(f"{word} is not a value of type {type}", token.start, str(problem)) from None
        if isinstance(value, int) and type.is_exact:
            low, high = exact_bounds(type)
            if not low <= value <= high:
                raise self.error(f"{word} does not fit {type}", token.start)
        return value

    def type(self) -> Type:
        if self.take("?"):
            return NAMED["?"]
        name = self.need_kind("name", "a type")
        if name in NAMED:
            return NAMED[name]
        self.depth += 1
        if name not in ("list", "enum", "dict", "decimal") or self.depth > _MAX_NESTING:
            self.at -= 1
            raise self.unexpected("a type, such as " + ", ".join(["i32", "f64", "str", "list<?>", "table"]))
        self.need("<")
        made = self.parameters(name)
        self.need(">")
        self.depth -= 1
        return made

    def parameters(self, name: str) -> Type:
        if name == "decimal":
            start = self.tokens[self.at].start
            precision = self.digits()
            self.need(",")
            scale = self.digits()
            if not (1 <= precision <= MAX_DIGITS and scale <= precision):
                raise self.error(
                    f"decimal<{precision},{scale}> is no type", start, f"1 to {MAX_DIGITS} digits, scale within them"
                )
            return DecimalType(precision, scale)
        first = self.type()
        if name == "list":
            return ListType(first)
        if name == "enum":
            return EnumType(first)
        self.need(",")
        return DictType(first, self.type())

    def digits(self) -> int:
        word = self.need_kind("number", "a number of digits")
        if not word.isdigit() or len(word) > 3:
            self.at -= 1
            raise self.unexpected("a number of digits")
        return int(word)


def _read_value(word: str, type: VectorType) -> Value:
    """Raises ValueError with what was expected."""
    if type.kind == "text":
        return _read_text(word, type)
    if word[0] in '`"':
        raise ValueError("a number")
    if type.kind == "char":
        if word[0] != "'":
            raise ValueError("a character in single quotes")
        inner = word[1:-1]
        if inner.startswith("\\x"):
            return int(inner[2:], 16)
        return ord(_UNESCAPE[inner[1]] if inner[0] == "\\" else inner)
    if word[0] == "'":
        raise ValueError("a number")
    if type.is_float:
        return float(word)
    if isinstance(type, DecimalType):
        return _read_decimal(word, type.scale)
    if type == DATE:
        return _read_date(word)
    if type == MONTH:
        year, _, month = word.partition(".")
        if not month.isdigit() or not 1 <= int(month) <= 12:
            raise ValueError("a month such as 1994.01")
        return (int(year) - 1970) * 12 + int(month) - 1
    if type == TIME:
        return _read_time(word)
    try:
        return int(word)
    except ValueError:
        raise ValueError("an integer") from None


def _read_text(word: str, type: VectorType) -> str:
    if type == SYM:
        if word[0] != "`":
            raise ValueError("a symbol, such as `name")
        word = word[1:]
        if word[0] != '"':
            return word
    elif type == STR and word[0] != '"':
        raise ValueError("a string in double quotes")
    out: list[str] = []
    i = 1
    while i < len(word) - 1:
        if word[i] == "\\":
            i += 1
            if word[i] not in _UNESCAPE:
                raise ValueError('one of the escapes \\n \\t \\r \\\\ \\"')
            out.append(_UNESCAPE[word[i]])
        else:
            out.append(word[i])
        i += 1
    return "".join(out)


def _read_decimal(word: str, scale: int) -> int:
    whole, _, fraction = word.partition(".")
    if len(fraction) > scale or not (whole.lstrip("-") + fraction).isdigit():
        raise ValueError(f"a number with at most {scale} digits after the point")
    return int(whole + fraction.ljust(scale, "0"))


def _read_date(word: str) -> int:
    if word[0] == "@":
        return int(word[1:])
    parts = word.split(".")
    if len(parts) != 3:
        raise ValueError("a date such as 1994.01.31")
    return datetime.date(int(parts[0]), int(parts[1]), int(parts[2])).toordinal() - EPOCH


def _read_time(word: str) -> int:
    parts = word.split(":")
    if len(parts) != 3:
        raise ValueError("a time such as 12:34:56.789")
    seconds, _, fraction = parts[2].partition(".")
    if len(fraction) > 3:
        raise ValueError("a time of whole milliseconds")
    if int(parts[1]) >= 60 or int(seconds) >= 60:
        raise ValueError("at most 59 minutes and 59 seconds")
    return ((int(parts[0]) * 60 + int(parts[1])) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0") or 0)
