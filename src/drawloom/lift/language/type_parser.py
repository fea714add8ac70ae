"""Types, lengths and index functions in the text of a program; `parser.py` reads the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drawloom.errors import SourceError
from drawloom.lift.arithmetic import ArithmeticRefusal, Nat, Variable, parse, variable
from drawloom.lift.language.depth import DEEPEST_TEXT
from drawloom.lift.language.errors import LiftParseError
from drawloom.lift.language.index_functions import LENGTH, IndexFunction
from drawloom.lift.language.lexer import END, NAME, NUMBER, Source, Token
from drawloom.lift.language.types import ArrayType, RaggedType, TupleType, Type, named_type

OPENING: Final = ("(", "[", "{")
CLOSING: Final = (")", "]", "}")


class TypeParser:
    """Reads types and arithmetic at the cursor of a source; `sizes` holds the sizes by name, and gets new ones."""

    def __init__(self, source: Source, sizes: dict[str, Variable]) -> None:
        self.source = source
        self.sizes = sizes
        self.depth = 0

    def enter(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST_TEXT:
            raise self.source.refuse(f"more than {DEEPEST_TEXT} levels of nesting")

    def length(self) -> Nat:
        """Parse a length up to the next comma or closing parenthesis."""
        start = self.source.at
        return self.arithmetic(start, self.skip_arithmetic(), {})

    def skip_arithmetic(self) -> int:
        """Move the cursor to the comma or closing parenthesis that ends an arithmetic expression."""
        source = self.source
        depth = 0
        while source.token.kind != END:
            text = source.token.text
            if text in OPENING:
                depth += 1
            elif text in CLOSING:
                if depth == 0:
                    break
                depth -= 1
            elif text == "," and depth == 0:
                break
            source.next()
        return source.at

    def arithmetic(self, start: int, end: int, bound: Mapping[str, Nat]) -> Nat:
        """Parse the tokens of an arithmetic expression; names that are not known become sizes."""
        source = self.source
        tokens = source.tokens[start:end]
        first = source.tokens[start]
        if not tokens:
            raise source.refuse(f"found {source.found()}", "a length")
        for at, token in enumerate(tokens):
            is_call = at + 1 < len(tokens) and tokens[at + 1].text == "("
            if token.kind != NAME or token.text in bound or token.text in ("mod", "true", "false") or is_call:
                continue
            if token.text not in self.sizes:
                self.sizes[token.text] = variable(token.text)
        text = source.text[first.start : tokens[-1].end]
        try:
            return parse(text, {**self.sizes, **bound})
        except ArithmeticRefusal as refusal:
            raise source.refuse(str(refusal), "an arithmetic expression", first) from None
        except SourceError as refusal:
            raise self.at_offset(refusal, first) from None
        except RecursionError:
            raise source.refuse("an arithmetic expression is nested too deeply", "", first) from None

    def at_offset(self, refusal: SourceError, first: Token) -> LiftParseError:
        """Return an error of the arithmetic parser with its place in our text."""
        column = first.column + max(refusal.column - 1, 0) if refusal.line <= 1 else first.column
        return LiftParseError(
            refusal.message,
            self.source.file,
            first.line,
            column,
            self.source.line_text(first.line),
            refusal.expected,
        )

    def index_function(self, kind: type[IndexFunction] = IndexFunction) -> IndexFunction:
        """Parse ``i → body`` or ``(i, n) → body``."""
        source = self.source
        if source.token.text == "reverse" and source.peek().text in (",", ")"):
            source.next()
            return kind(LENGTH - 1 - kind.index)
        bound: dict[str, Nat] = {}
        if source.accept("("):
            bound[source.expect_name("an index").text] = kind.index
            source.expect(",", "an index function")
            token = source.expect_name("the length of the array")
            if token.text in bound:
                raise source.refuse("the index and the length have one name", "two names", token)
            bound[token.text] = LENGTH
            source.expect(")", "an index function")
        else:
            bound[source.expect_name("an index").text] = kind.index
        if not (source.accept("→") or source.accept("->")):
            raise source.refuse(f"an index function: found {source.found()}", "'→'")
        start = source.at
        return kind(self.arithmetic(start, self.skip_arithmetic(), bound))

    def type(self) -> Type:
        source = self.source
        self.enter()
        token = source.token
        found: Type
        if source.accept("["):
            found = self.array_type()
        elif source.accept("("):
            elements = [self.type()]
            while source.accept(","):
                elements.append(self.type())
            source.expect(")", "a tuple type")
            if len(elements) < 2:
                raise source.refuse("a tuple type of one element", "two or more", token)
            found = TupleType(tuple(elements))
        else:
            named = named_type(token.text) if token.kind == NAME else None
            if named is None:
                raise source.refuse(f"found {source.found()}", "a type such as float, float4, [float]N or (float, int)")
            source.next()
            found = named
        self.depth -= 1
        return found

    def array_type(self) -> Type:
        """Parse ``[T]n`` or ``[[T]≤m]n`` after its first bracket."""
        source = self.source
        if source.is_at("["):
            before = source.at
            source.next()
            element = self.type()
            source.expect("]", "an array type")
            if source.accept("≤"):
                chunk = self.type_length()
                source.expect("]", "a ragged array type")
                return RaggedType(element, chunk, self.type_length())
            source.at = before
        element = self.type()
        source.expect("]", "an array type")
        return ArrayType(element, self.type_length())

    def type_length(self) -> Nat:
        """Parse a length after ``]``: a name, a number, or arithmetic in parentheses."""
        source = self.source
        start = source.at
        if source.token.kind in (NAME, NUMBER):
            source.next()
            return self.arithmetic(start, source.at, {})
        source.expect("(", "the length of an array type")
        inner = source.at
        length = self.arithmetic(inner, self.skip_arithmetic(), {})
        source.expect(")", "the length of an array type")
        return length
