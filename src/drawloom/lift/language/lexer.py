"""Text to tokens, for Lift's notation and for the C of its user functions, which share them."""

from __future__ import annotations

from typing import Final

from drawloom.lift.language.errors import LiftParseError
from drawloom.lift.language.positions import Position

NAME: Final = "name"
NUMBER: Final = "number"
SYMBOL: Final = "symbol"
END: Final = "end"

#: Longest first, so that the first that fits is the right one.
SYMBOLS: Final = (
    "<<=", ">>=",
    "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--",
    "(", ")", "[", "]", "{", "}", ",", ".", ";", ":", "?", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "!", "λ", "∘", "→", "×", "≤",
)  # fmt: skip

#: Other spellings of a symbol, as people and papers write it.
SPELLINGS: Final = {"\\": "λ", "◦": "∘", "⟨": "(", "⟩": ")"}

SUFFIXES: Final = ("ul", "UL", "u", "U", "l", "L", "f", "F", "h", "H")


class Token:
    """A word of the text, with its place from 1 and its offsets in the text."""

    def __init__(self, kind: str, text: str, line: int, column: int, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.line = line
        self.column = column
        self.start = start
        self.end = end


class Source:
    """A text and its tokens, with a cursor and the refusals that name a place in it."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.lines = text.splitlines()
        self.tokens = tokenise(self)
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def next(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != END:
            self.at += 1
        return token

    def is_at(self, symbol: str) -> bool:
        token = self.tokens[self.at]
        return token.text == symbol and token.kind != NUMBER

    def accept(self, symbol: str) -> bool:
        if self.is_at(symbol):
            self.at += 1
            return True
        return False

    def expect(self, symbol: str, place: str) -> Token:
        if not self.is_at(symbol):
            raise self.refuse(f"{place}: found {self.found()}", f"'{symbol}'")
        return self.next()

    def expect_name(self, place: str) -> Token:
        if self.token.kind != NAME:
            raise self.refuse(f"{place}: found {self.found()}", "a name")
        return self.next()

    def found(self) -> str:
        return "the end of the text" if self.token.kind == END else f"'{self.token.text}'"

    def position(self, token: Token | None = None) -> Position:
        token = token or self.token
        return Position(self.file, token.line, token.column, self.line_text(token.line))

    def line_text(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""

    def refuse(self, message: str, expected: str = "", token: Token | None = None) -> LiftParseError:
        token = token or self.token
        return LiftParseError(message, self.file, token.line, token.column, self.line_text(token.line), expected)


def tokenise(source: Source) -> list[Token]:
    """Split a text into tokens; comments and white space go."""
    text = source.text
    tokens: list[Token] = []
    at, line, line_start, length = 0, 1, 0, len(text)
    while at < length:
        character = text[at]
        start = at
        if character == "\n":
            at, line, line_start = at + 1, line + 1, at + 1
            continue
        if character.isspace():
            at += 1
            continue
        if text.startswith("//", at):
            end = text.find("\n", at)
            at = length if end < 0 else end
            continue
        if text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise LiftParseError(
                    "a comment does not end", source.file, line, at - line_start + 1, source.line_text(line), "'*/'"
                )
            line += text.count("\n", at, end)
            if "\n" in text[at:end]:
                line_start = text.rfind("\n", at, end) + 1
            at = end + 2
            continue
        column = at - line_start + 1
        if is_letter(character):
            while at < length and (is_letter(text[at]) or is_digit(text[at])):
                at += 1
            tokens.append(Token(NAME, text[start:at], line, column, start, at))
            continue
        if is_digit(character) or (character == "." and at + 1 < length and is_digit(text[at + 1])):
            at = end_of_number(text, at)
            tokens.append(Token(NUMBER, text[start:at], line, column, start, at))
            continue
        if character in SPELLINGS:
            at += 1
            tokens.append(Token(SYMBOL, SPELLINGS[character], line, column, start, at))
            continue
        for symbol in SYMBOLS:
            if text.startswith(symbol, at):
                at += len(symbol)
                tokens.append(Token(SYMBOL, symbol, line, column, start, at))
                break
        else:
            raise LiftParseError(
                f"{character!r} is not a character of the language",
                source.file,
                line,
                column,
                source.line_text(line),
            )
    tokens.append(Token(END, "", line, at - line_start + 1, at, at))
    return tokens


def is_letter(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalpha())


def is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def end_of_number(text: str, at: int) -> int:
    """Return where the number that begins at `at` ends, its suffix included."""
    if text[at : at + 2] in ("0x", "0X"):
        at += 2
        while at < len(text) and text[at] in "0123456789abcdefABCDEF":
            at += 1
    else:
        while at < len(text) and is_digit(text[at]):
            at += 1
        if at + 1 <= len(text) and text[at : at + 1] == ".":
            at += 1
            while at < len(text) and is_digit(text[at]):
                at += 1
        if text[at : at + 1] in ("e", "E"):
            power = at + 2 if text[at + 1 : at + 2] in ("+", "-") else at + 1
            if power < len(text) and is_digit(text[power]):
                at = power
                while at < len(text) and is_digit(text[at]):
                    at += 1
    for suffix in SUFFIXES:
        after = text[at + len(suffix) : at + len(suffix) + 1]
        if text.startswith(suffix, at) and not (after and (is_letter(after) or is_digit(after))):
            return at + len(suffix)
    return at
