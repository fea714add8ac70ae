"""Kernel text to the C that pycparser reads: comments, `#define`, conditions, OpenCL's words; places are kept.

    directive ::= #include "NAME"
                | #define NAME text | #define NAME(NAME, ...) text | #undef NAME
                | #ifdef NAME | #ifndef NAME | #else | #endif
                | #pragma OPENCL ... | #pragma unroll

pycparser takes C without comments, directives and OpenCL's qualifiers. `Preprocessed` maps the places of its text back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from drawloom.batch.frontend.builtins import BUILTINS
from drawloom.batch.frontend.includes import find_ready
from drawloom.batch.frontend.source import Position, Source

TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\\\r?\n)
      |(?P<newline>\n)
      |(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<string>"[^"\n]*")
      |(?P<character>'(?:[^'\\\n]|\\.)+')
      |(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
      |(?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]\#])""",
    re.VERBOSE | re.DOTALL,
)

#: OpenCL's words that pycparser does not know, and what stands for each: kernels and group-wide variables are marked
#: by words of C that kernels themselves may not use.
REPLACED: Final[dict[str, str]] = {
    "__kernel": "_Noreturn", "kernel": "_Noreturn",
    "__local": "register", "local": "register",
    "__global": "", "global": "", "__private": "", "private": "", "__constant": "const", "constant": "const",
    "restrict": "", "__restrict": "", "__restrict__": "",
    "bool": "_Bool", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int",
    "ulong": "unsigned long", "size_t": "unsigned long", "ptrdiff_t": "long",
    "true": "1", "false": "0",
}  # fmt: skip
REFUSED: Final = frozenset(
    "_Noreturn register extern auto volatile goto union enum _Atomic asm".split()
)
DEEPEST_EXPANSION: Final = 64
MOST_TOKENS: Final = 1_000_000
DEEPEST_INCLUDE: Final = 16


class Token(NamedTuple):
    kind: str
    text: str
    position: Position


class Macro(NamedTuple):
    """`parameters` is None for a macro that takes no argument list."""

    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


class Preprocessed:
    """C for pycparser, and the way back from its places to the file's."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        #: For each line of the text, where its tokens begin, and the number of the first one.
        self.lines: list[tuple[list[int], int]] = []
        texts: list[list[str]] = []
        last = None
        for number, token in enumerate(tokens):
            place = token.position.line, token.position.file
            if place != last:
                self.lines.append(([], number))
                texts.append([])
                last = place
            starts, _ = self.lines[-1]
            starts.append(starts[-1] + len(texts[-1][-1]) + 1 if starts else 1)
            texts[-1].append(token.text)
        self.text = "\n".join(" ".join(row) for row in texts) + "\n"

    def token_at(self, line: int, column: int) -> int:
        """Return the number of the token at a place of the text."""
        starts, first = self.lines[min(max(line, 1), len(self.lines)) - 1]
        return first + max(0, bisect_right(starts, column) - 1)

    def position(self, line: int, column: int) -> Position:
        """Return the place in the file of a place in the text."""
        return self.tokens[self.token_at(line, column)].position if self.tokens else Position(1, 1)


def preprocess(source: Source, defines: Mapping[str, str], find: Callable[[str], str | None]) -> Preprocessed:
    """Expand macros and replace OpenCL's words.

    Args:
        source: The kernel file; it gets the files that it includes.
        defines: Macros that are defined before the file begins, as `-D` does.
        find: Returns the text of a file to include, None where there is none.

    Raises:
        BatchParseError: An unknown directive or character, an unterminated comment or condition, a macro's misuse.
    """
    macros: dict[str, Macro] = {}
    for name, text in defines.items():
        macros[name] = Macro(None, tuple(scan(Source(text, f"-D {name}"))))
    expander = Expander(source, macros, find)
    expander.read(scan(source))
    return Preprocessed(expander.output)


def library_of(source: Source, preprocessed: Preprocessed) -> Preprocessed | None:
    """Return the text of the builtin functions that a file may call, None where it calls none that has a text."""
    tokens = library_tokens(source, preprocessed.tokens, set())
    return Preprocessed(tokens) if tokens else None


def library_tokens(source: Source, tokens: list[Token], taken: set[str]) -> list[Token]:
    """Return the text of the builtin functions that tokens name, without the files that were `taken`."""
    names = {BUILTINS[token.text].library for token in tokens if token.text in BUILTINS}
    result: list[Token] = []
    for name in sorted(names - {""}):
        if name in taken:
            continue
        taken.add(name)
        text, place = find_ready(name), f"<{name}>"
        assert text is not None, name
        source.included[place] = library = Source(text, place)
        expander = Expander(library, {}, find_ready)
        expander.read(scan(library, place))
        result += [*library_tokens(source, expander.output, taken), *expander.output]
    return result


def scan(source: Source, name: str = "") -> list[Token]:
    """Split text into tokens; newlines are tokens, comments and blanks are not. `name` is that of an included file."""
    tokens: list[Token] = []
    offset = 0
    line = 1
    line_start = 0
    while offset < len(source.text):
        position = Position(line, offset - line_start + 1, name)
        match = TOKEN.match(source.text, offset)
        if source.text.startswith("/*", offset) and (match is None or match.lastgroup != "comment"):
            raise source.parse_error("this comment does not end", position, "*/")
        if match is None:
            found = source.text[offset]
            raise source.parse_error(f"the character {found!r} is not part of the language", position)
        kind = match.lastgroup or ""
        text = match.group()
        if kind not in ("space", "comment"):
            tokens.append(Token(kind, text, position))
        offset = match.end()
        newlines = text.count("\n")
        if newlines:
            line += newlines
            line_start = match.start() + text.rindex("\n") + 1
    return tokens


def split_lines(tokens: list[Token]) -> list[list[Token]]:
    """Group tokens by line; empty lines are left out."""
    lines: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "newline":
            lines.append([])
        else:
            lines[-1].append(token)
    return [line for line in lines if line]


class Expander:
    """The macros defined so far, the open conditions, and the tokens that came out."""

    def __init__(self, source: Source, macros: dict[str, Macro], find: Callable[[str], str | None]) -> None:
        self.source = source
        self.macros = macros
        self.find = find
        self.depth = 0
        self.conditions: list[tuple[bool, Position, bool]] = []  # is it true, where, has #else been seen
        self.pending: list[Token] = []
        self.output: list[Token] = []

    def read(self, tokens: list[Token]) -> None:
        """Take a file; the conditions that it opens end in it."""
        outer, self.conditions = self.conditions, []
        for line in split_lines(tokens):
            if line[0].text == "#":
                self.directive(line)
            elif self.is_live():
                self.collect(line)
        if self.conditions:
            raise self.source.parse_error("this condition has no #endif", self.conditions[-1][1])
        self.flush()
        self.conditions = outer

    def include(self, line: list[Token]) -> None:
        """Take the file that a directive names."""
        if len(line) != 3 or line[2].kind != "string":
            raise self.source.parse_error("#include takes a name in quotes", line[0].position, '#include "NAME"')
        name, position = line[2].text[1:-1], line[2].position
        text = self.find(name)
        if text is None:
            expected = "a file beside the kernel's, or one of drawloom.batch.kernels"
            raise self.source.parse_error(f"there is no file {name}", position, expected)
        self.depth += 1
        if self.depth > DEEPEST_INCLUDE:
            raise self.source.parse_error(f"{name} is included too deeply", position)
        included = self.source.included.setdefault(name, Source(text, name))
        included.included = self.source.included
        self.read(scan(included, name))
        self.depth -= 1

    def is_live(self) -> bool:
        return all(condition[0] for condition in self.conditions)

    def collect(self, line: list[Token]) -> None:
        """Keep a line; a macro's arguments may go on in the next."""
        self.pending.extend(line)

    def flush(self) -> None:
        """Expand what was collected, under the macros as they are now."""
        for token in self.expand(self.pending, frozenset()):
            self.emit(token)
        self.pending = []

    def emit(self, token: Token) -> None:
        if token.kind == "string":
            raise self.source.parse_error(f"the string {token.text} is not part of the language", token.position)
        if token.kind == "name":
            if token.text in REFUSED:
                raise self.source.parse_error(f"'{token.text}' is not part of the language", token.position)
            text = REPLACED.get(token.text)
            if text == "":
                return
            if text is not None:
                token = token._replace(text=text)
        self.output.append(token)

    def directive(self, line: list[Token]) -> None:
        self.flush()
        if len(line) < 2:
            return
        name = line[1].text
        rest = line[2:]
        if name in ("ifdef", "ifndef"):
            is_defined = self.macro_name(line).text in self.macros
            self.conditions.append((is_defined == (name == "ifdef"), line[0].position, False))
        elif name in ("else", "endif"):
            self.close(name, line[0].position)
        elif not self.is_live() and name not in ("if", "elif"):
            return
        elif name == "include":
            self.include(line)
        elif name == "define":
            self.define(line)
        elif name == "undef":
            self.macros.pop(self.macro_name(line).text, None)
        elif name != "pragma" or not rest or rest[0].text not in ("OPENCL", "unroll"):
            raise self.source.parse_error(
                f"the directive #{name} is not part of the language", line[0].position,
                "#include, #define, #undef, #ifdef, #ifndef, #else, #endif, #pragma OPENCL or #pragma unroll",
            )  # fmt: skip

    def close(self, name: str, position: Position) -> None:
        if not self.conditions:
            raise self.source.parse_error(f"#{name} has no #ifdef or #ifndef before it", position)
        is_true, opened, has_else = self.conditions.pop()
        if name == "else":
            if has_else:
                raise self.source.parse_error("this condition has an #else already", position)
            self.conditions.append((not is_true, opened, True))

    def macro_name(self, line: list[Token]) -> Token:
        if len(line) < 3 or line[2].kind != "name":
            raise self.source.parse_error(f"#{line[1].text} has no name", line[0].position, "a name")
        return line[2]

    def define(self, line: list[Token]) -> None:
        name = self.macro_name(line)
        rest = line[3:]
        parameters: tuple[str, ...] | None = None
        end = name.position.column + len(name.text)
        if rest and rest[0].text == "(" and rest[0].position[:2] == (name.position.line, end):
            closing = next((i for i, token in enumerate(rest) if token.text == ")"), 0)
            names = rest[1:closing]
            if closing == 0 or any(
                token.kind != "name" if i % 2 == 0 else token.text != "," for i, token in enumerate(names)
            ):
                raise self.source.parse_error("the macro's parameters are malformed", rest[0].position, "(NAME, ...)")
            parameters = tuple(token.text for token in names[::2])
            rest = rest[closing + 1 :]
        bad = next((token for token in rest if token.text == "#"), None)
        if bad is not None:
            raise self.source.parse_error("# and ## in macros are not part of the language", bad.position)
        self.macros[name.text] = Macro(parameters, tuple(rest))

    def expand(self, tokens: list[Token], hidden: frozenset[str]) -> list[Token]:
        """Replace macros in tokens; a macro is not replaced within its own text (C11 6.10.3.4)."""
        result: list[Token] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            index += 1
            macro = self.macros.get(token.text) if token.kind == "name" and token.text not in hidden else None
            if macro is None:
                result.append(token)
                continue
            if len(hidden) >= DEEPEST_EXPANSION or len(result) > MOST_TOKENS:
                raise self.source.parse_error(f"the macro {token.text} expands to too much text", token.position)
            bindings: dict[str, list[Token]] = {}
            if macro.parameters is not None:
                if index >= len(tokens) or tokens[index].text != "(":
                    result.append(token)
                    continue
                arguments, index = self.arguments(tokens, index, token)
                bindings = self.bind(token, macro.parameters, arguments, hidden)
            body: list[Token] = []
            for part in macro.body:
                replaced = bindings.get(part.text) if part.kind == "name" else None
                body.extend([part] if replaced is None else replaced)
            placed = [part._replace(position=token.position) for part in body]
            result.extend(self.expand(placed, hidden | {token.text}))
        return result

    def arguments(self, tokens: list[Token], index: int, macro: Token) -> tuple[list[list[Token]], int]:
        """Return the arguments after the "(" at `index`, and the index after the ")"."""
        depth = 0
        arguments: list[list[Token]] = [[]]
        for position in range(index, len(tokens)):
            text = tokens[position].text
            if text in "([{":
                depth += 1
                if depth == 1:
                    continue
            elif text in ")]}":
                depth -= 1
                if depth == 0:
                    return arguments, position + 1
            if depth == 1 and text == ",":
                arguments.append([])
            else:
                arguments[-1].append(tokens[position])
        raise self.source.parse_error(f"the arguments of the macro {macro.text} do not end", macro.position, ")")

    def bind(
        self, macro: Token, parameters: tuple[str, ...], arguments: list[list[Token]], hidden: frozenset[str]
    ) -> dict[str, list[Token]]:
        if not parameters and arguments == [[]]:
            return {}
        if len(parameters) != len(arguments):
            raise self.source.parse_error(
                f"the macro {macro.text} takes {len(parameters)} arguments, found {len(arguments)}", macro.position
            )
        return {name: self.expand(argument, hidden) for name, argument in zip(parameters, arguments)}
