"""Preprocessed kernel text to pycparser's tree, its refusals turned into ours."""

from __future__ import annotations

import re
from typing import Any, Final

from drawloom.batch.frontend.preprocess import Preprocessed, Token
from drawloom.batch.frontend.source import MissingParserError, Source

PLACE: Final = re.compile(r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)$", re.DOTALL)
#: Types of OpenCL C that kernels do not have: half precision and vectors.
UNSUPPORTED_TYPE: Final = re.compile(r"half|(?:u?(?:char|short|int|long)|half|float|double)(?:2|3|4|8|16)")
#: What stands before a declaration.
BEFORE_TYPES: Final = frozenset(["(", ")", ",", ";", "{", "}", "const", "static", "inline", "_Noreturn", "register"])
KEYWORDS: Final = frozenset(
    "_Bool _Noreturn char const do double else float for if inline int long register return short signed static struct "
    "typedef unsigned void while".split()
)


def read_tree(source: Source, preprocessed: Preprocessed) -> Any:
    """Return pycparser's tree."""
    try:
        from pycparser.c_lexer import CLexer
        from pycparser.c_parser import CParser, ParseError
    except ImportError:
        raise MissingParserError(
            "kernels in OpenCL C need pycparser, which is not installed", ["pip install 'drawloom[batch]'"]
        ) from None
    last = (1, 1)

    class RecordingLexer(CLexer):  # type: ignore[misc]
        """Remembers the last token, because some of pycparser's errors name no place."""

        def token(self) -> Any:
            nonlocal last
            token = super().token()
            if token is not None:
                last = token.lineno, token.column
            return token

    try:
        return CParser(lexer=RecordingLexer).parse(preprocessed.text, filename="")
    except ParseError as failure:
        match = PLACE.match(str(failure))
        where = (int(match["line"]), int(match["column"])) if match else last
        message = match["message"] if match else str(failure).lstrip(": ")
    except (AssertionError, AttributeError, TypeError, ValueError, KeyError, IndexError) as failure:
        # pycparser checks some malformed declarations by assertion only.
        where, message = last, f"this declaration is malformed ({type(failure).__name__})"
    for ours, theirs in (("__kernel", "_Noreturn"), ("__local", "register")):
        message = message.replace(f"before: {theirs}", f"before: {ours}")
    if message.startswith("before: "):
        message = f"unexpected {message.removeprefix('before: ')}"
        unknown = unknown_type(preprocessed, preprocessed.token_at(*where))
        if unknown is not None and UNSUPPORTED_TYPE.fullmatch(unknown.text):
            raise source.parse_error(
                f"the type {unknown.text} is not supported", unknown.position,
                "float, double, or a type of integers; the items of a group are the lanes of vectors",
            ) from None  # fmt: skip
        if unknown is not None:
            raise source.parse_error(
                f"{message}: '{unknown.text}' is not a type", unknown.position,
                f"a type, or a macro by defines={{'{unknown.text}': ...}} or -D {unknown.text}=...",
            ) from None  # fmt: skip
    raise source.parse_error(message[:1].lower() + message[1:], preprocessed.position(*where)) from None


def unknown_type(preprocessed: Preprocessed, number: int) -> Token | None:
    """Return the name before an unexpected token where a declaration or a cast may begin with it."""
    tokens = preprocessed.tokens
    if number > 2 and [tokens[number - 3].text, tokens[number - 1].text] == ["(", ")"]:
        return tokens[number - 2] if is_type_name(tokens[number - 2]) else None
    if number < 1 or not (tokens[number].kind == "name" or tokens[number].text == "*"):
        return None
    found = tokens[number - 1]
    begins = number < 2 or tokens[number - 2].text in BEFORE_TYPES
    return found if begins and is_type_name(found) else None


def is_type_name(token: Token) -> bool:
    return token.kind == "name" and token.text not in KEYWORDS


def place_of(node: Any) -> tuple[int, int]:
    """Return the line and column of a node of pycparser's; declarations have theirs on what they declare."""
    while node is not None and getattr(node, "coord", None) is None:
        node = next((child for _, child in node.children()), None)
    if node is None:
        return 1, 1
    return node.coord.line, node.coord.column or 1


def type_name(node: Any) -> str:
    """Return the kind of a node of pycparser's."""
    return type(node).__name__


def is_object(node: Any) -> bool:
    """Return whether a node names an object, not only a value."""
    kind = type_name(node)
    return kind in ("ID", "ArrayRef") or (kind == "UnaryOp" and node.op == "*") or (
        kind == "StructRef" and (node.type == "->" or is_object(node.name))
    )


def is_list(node: Any) -> bool:
    return type_name(node) == "InitList"


def is_designated(node: Any) -> bool:
    return type_name(node) == "NamedInitializer"
