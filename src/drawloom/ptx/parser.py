"""Text to ``Module``: the header, the items of a module and the headers of functions."""

from __future__ import annotations

import re
from typing import Final

from drawloom.errors import ParseError
from drawloom.ptx.body_parser import SPACES, BodyParser
from drawloom.ptx.collecting import uncollected
from drawloom.ptx.declaration_parser import plain_parameters
from drawloom.ptx.ir import Directive, Function, Module
from drawloom.ptx.scanner import BLANKS, is_name

COMMENT: Final = re.compile(r'"(?>[^"\\\n]+|\\.)*+"?|//[^\n]*|/\*(?:.*?\*/)?', re.DOTALL)
#: What Python takes for white space and PTX does not: in ASCII, and all of it outside strings.
_ODD_SPACES: Final = ("\x1c", "\x1d", "\x1e", "\x1f")
_ODD_SPACE: Final = re.compile(r'"(?>[^"\\\n]+|\\.)*+"?|([^\S \t\n\r\f\v])')
_NOT_NEWLINE: Final = re.compile(r"[^\n]")
_HEADER: Final = re.compile(
    r"(?:(\.(?:visible|extern|weak|common))\s+)?\.(entry|func)(?![\w:])\s*(?:\(([^()]*)\)\s*)?([%$_a-zA-Z][\w$]*)\s*"
    r"(?:\(([^()]*)\)\s*)?([{;]|(?=\.))",
    re.ASCII,
)
_VERSION: Final = re.compile(r"\s*(\d+)\.(\d+)", re.ASCII)
_TARGET: Final = re.compile(r"\s*([a-zA-Z_][\w]*)", re.ASCII)
_NOTHING: Final = BLANKS + ";"

#: How a text ends that is not PTX but the path of a file.
_SUFFIXES: Final = (".ptx", ".cu", ".cl", ".cubin")
#: Longer headers are usual, too, but found by their pattern.
_LONGEST_HEADER: Final = 1 << 14
_LINKAGES: Final = frozenset(".extern .visible .weak .common".split())
_PERFORMANCE: Final = frozenset(
    ".maxnreg .maxntid .reqntid .minnctapersm .maxnctapersm .pragma .noreturn .maxclusterrank .reqnctapercluster"
    " .explicitcluster .abi_preserve .abi_preserve_control .blocksareclusters .unique .attribute".split()
)


def parse(text: str, filename: str = "<text>") -> Module:
    """The module that ``text`` spells; ``filename`` is what errors call it.

    Raises ``ParseError`` with file, line, column and what was expected, on anything that is not PTX or that
    ``drawloom.ptx.isa`` does not cover. Types and operand kinds are the verifier's business.
    """
    return uncollected(lambda: ModuleParser(text, filename).module_text())  # collecting costs a third of the time


def without_comments(module: Module) -> str:
    """The source with every comment turned into as many spaces; line ends and offsets stay what they are."""
    text = module.source
    if ("*" in text and "/*" in text) or "\\" in text:
        return COMMENT.sub(lambda match: _blank_comment(module, match), text)
    at = text.find("//")
    if at < 0:
        return text
    quoted = '"' in text
    parts: list[str] = []
    done = 0
    while at >= 0:
        end = text.find("\n", at)
        if end < 0:
            end = len(text)
        if quoted:
            line = text.rfind("\n", 0, at) + 1
            if '"' in text[line:at]:
                parts.append(text[done:line])
                parts.append(COMMENT.sub(lambda match: _blank_comment(module, match), text[line:end]))
                done = end
                at = text.find("//", end)
                continue
        parts.append(text[done:at])
        parts.append(" " * (end - at))
        done = end
        at = text.find("//", end)
    parts.append(text[done:])
    return "".join(parts)


def _blank_comment(module: Module, match: re.Match[str]) -> str:
    found = match.group(0)
    if found[0] == '"':
        return found
    if found == "/*":
        raise module.error(ParseError, match.start(), "a comment is not closed", "'*/'")
    return _NOT_NEWLINE.sub(" ", found) if "\n" in found else " " * len(found)


class _Header:
    """The parts of a function's header, texts with the offsets that they begin at; `end` is where the body, the ``;``
    or directives begin."""

    def __init__(self, linkage: str, is_entry: bool, name: str) -> None:
        self.linkage = linkage
        self.is_entry = is_entry
        self.name = name
        self.returned: str | None = None
        self.returned_at = 0
        self.passed: str | None = None
        self.passed_at = 0
        self.end = 0
        self.has_directives = False


def usual_header(text: str, start: int) -> _Header | None:
    """The parts of the header at ``start`` when it is a usual one, without directives; None for any other."""
    limit = min(start + _LONGEST_HEADER, len(text))
    end = text.find("{", start, limit)
    if end < 0:
        end = limit
    declared = text.find(";", start, end)
    if declared >= 0:
        end = declared
    left, opened, rest = text[start:end].partition("(")
    words = left.split()
    linkage = words[0] if words and words[0] in _LINKAGES else ""
    first = 1 if linkage else 0
    count = len(words) - first
    if count < 1 or end == limit:
        return None
    is_entry = words[first] == ".entry"
    if not is_entry and words[first] != ".func":
        return None
    header = _Header(linkage, is_entry, words[-1])
    header.end = end
    if count == 1 and opened and not is_entry:
        header.returned_at = end - len(rest)
        header.returned, closed, rest = rest.partition(")")
        left, opened, rest = rest.partition("(")
        words = left.split()
        if not closed or "(" in header.returned or len(words) != 1:
            return None
        header.name = words[0]
    elif count != 2:
        return None
    if opened:
        header.passed_at = end - len(rest)
        header.passed, closed, rest = rest.partition(")")
        if not closed or "(" in header.passed or rest.strip():
            return None
    return header


def matched_header(text: str, start: int) -> _Header | None:
    """`usual_header`, with or without directives."""
    match = _HEADER.match(text, start)
    if match is None:
        return None
    linkage, kind, returned, name, passed, end = match.groups()
    if kind == "entry" and returned is not None:
        return None
    header = _Header(linkage or "", kind == "entry", name)
    header.returned, header.returned_at = returned, match.start(3)
    header.passed, header.passed_at = passed, match.start(5)
    header.end = match.start(6)
    header.has_directives = not end
    return header


class ModuleParser(BodyParser):
    """One module."""

    def __init__(self, text: str, filename: str) -> None:
        if "\n" not in text and text.endswith(_SUFFIXES):
            expected = "the text of a PTX module; drawloom.load takes paths"
            raise ParseError(f"'{text}' is a path, expected {expected}", filename)
        module = Module()
        module.source = text
        module.filename = filename
        super().__init__(module, without_comments(module))
        if not text.isascii() or any(space in text for space in _ODD_SPACES):
            self.refuse_odd_space()

    def refuse_odd_space(self) -> None:
        """White space that is none in PTX stands in strings at most."""
        self.refuse_odd_space_in(0, len(self.text))

    def refuse_odd_space_in(self, start: int, end: int) -> None:
        for match in _ODD_SPACE.finditer(self.text, start, end):
            if match.group(1) is not None:
                raise self.scan.fail(f"found {match.group(1)!r}", "a space, a tab or a line end", match.start(1))

    # -- module level ------------------------------------------------------------------------------------

    def module_text(self) -> Module:
        scan = self.scan
        if not scan.accept(".version"):
            raise scan.fail(f"found {scan.found()}", "'.version', with which every PTX module begins")
        match = _VERSION.match(self.text, scan.pos)
        if match is None or len(match.group(0)) > 32:
            raise scan.fail(f"found {scan.found()}", "a PTX version such as 8.0")
        self.module.version = (int(match.group(1)), int(match.group(2)))
        scan.pos = match.end()
        if not scan.accept(".target"):
            raise scan.fail(f"found {scan.found()}", "'.target' after '.version'")
        self.module.target = self.target_list()
        if scan.accept(".address_size"):
            self.module.address_size = scan.integer("64 or 32")
            if self.module.address_size not in (32, 64):
                raise scan.fail(f"address size {self.module.address_size}", "64 or 32")
        while not self.at_end_of_items():
            self.module_item()
        return self.module

    def at_end_of_items(self) -> bool:
        """Whether nothing but space and ``;`` is left; if not, the scanner stands at the next item."""
        text = self.text
        at = self.scan.pos
        while at < len(text) and text[at] in _NOTHING:
            at += 1
        self.scan.pos = at
        return at >= len(text)

    def target_list(self) -> list[str]:
        names: list[str] = []
        while True:
            match = _TARGET.match(self.text, self.scan.pos)
            if match is None:
                raise self.scan.fail(f"found {self.scan.found()}", "a target such as sm_80")
            names.append(match.group(1))
            self.scan.pos = match.end()
            if not self.scan.accept(","):
                return names

    def module_item(self) -> None:
        scan = self.scan
        start = scan.pos
        if self.plain_function(start):
            return
        word = scan.directive()
        linkage = ""
        at = start
        while word in _LINKAGES:
            linkage = word
            at = scan.pos
            word = scan.directive()
        if word in (".entry", ".func"):
            self.function_item(word == ".entry", linkage, start)
        elif word in SPACES and word not in (".reg", ".param"):
            behind = scan.pos
            scan.pos = at
            plain = self.initialised_variable(linkage, start)
            if plain is not None:
                self.module.add(plain)
                return
            scan.pos = behind
            for variable in self.variable_list(word[1:], linkage, start):
                self.module.add(variable)
        elif word == ".file" or word == ".loc":
            self.module.add(Directive(word, scan.line_rest(), start))
        elif word == ".section":
            self.module.add(Directive(word, self.section_text(), start))
        elif word in (".pragma", ".alias"):
            end = self.text.find(";", scan.pos)
            if end < 0:
                raise scan.fail(f"'{word}' is not ended", "';'")
            self.module.add(Directive(word, scan.words_to(end), start))
            scan.pos = end + 1
        elif word == "":
            raise scan.fail(f"found {scan.found()} at module level", "a directive such as .visible, .entry or .global")
        else:
            raise scan.fail(
                f"'{word}' is not supported at module level", ".entry, .func, .global, .const, .shared, .file", start
            )

    def section_text(self) -> str:
        """``name { ... }`` of a debug section, kept word for word."""
        start = self.scan.pos
        open_at = self.text.find("{", start)
        close_at = self.text.find("}", start)
        if open_at < 0 or close_at < open_at:
            raise self.scan.fail("'.section' has no body", "'{' ... '}'", start)
        self.scan.pos = close_at + 1
        return _folded(self.text[start : close_at + 1])

    # -- functions ---------------------------------------------------------------------------------------

    def function_item(self, is_entry: bool, linkage: str, start: int) -> None:
        scan = self.scan
        function = Function("", is_entry)
        self.begin_function(function)
        function.linkage = linkage
        function.pos = start
        if scan.peek_directive() == ".attribute":
            scan.directive()
            function.attributes = self.attribute()
        if not is_entry and scan.peek() == "(":
            function.returns = self.parameters(function)
        function.name = scan.name("a function name")
        if scan.peek() == "(":
            function.params = self.parameters(function)
        self.performance_directives(function)
        self.end_of_header(function)

    def plain_function(self, start: int) -> bool:
        """A function whose header has the usual form; False, and nothing read, where it has another or is wrong."""
        header = usual_header(self.text, start) or matched_header(self.text, start)
        if header is None:
            return False
        returns = plain_parameters(header.returned, header.returned_at)
        params = plain_parameters(header.passed, header.passed_at)
        name = header.name
        if returns is None or params is None or not is_name(name):
            return False
        function = Function(name, header.is_entry)
        self.begin_function(function)
        function.linkage = header.linkage
        function.pos = start
        function.returns = returns
        function.params = params
        for variable in returns:
            self.declare_variable(variable)
        for variable in params:
            self.declare_variable(variable)
        self.scan.pos = header.end
        if header.has_directives:
            self.performance_directives(function)
        self.end_of_header(function)
        return True

    def end_of_header(self, function: Function) -> None:
        """A body, or the ``;`` of a declaration."""
        scope = self.scopes[0]
        scope.variables = dict.fromkeys(scope.variables)  # parameters have no elements
        if self.scan.accept("{"):
            self.body()
        elif self.scan.accept(";"):
            function.has_body = False
        else:
            self.scan.expect("{", f"after the header of '{function.name}'")
        self.module.add(function)

    def attribute(self) -> str:
        """What stands behind ``.attribute``, up to the closing parenthesis."""
        start = self.scan.pos
        close = self.text.find(")", start)
        if close < 0:
            raise self.scan.fail("'.attribute' is not closed", "')'")
        self.scan.pos = close + 1
        return " ".join(self.text[start : close + 1].split())

    def performance_directives(self, function: Function) -> None:
        scan = self.scan
        while True:
            word = scan.peek_directive()
            if not word:
                return
            scan.skip()
            start = scan.pos
            if word not in _PERFORMANCE:
                raise scan.fail(f"'{word}' is not a performance directive", "'.maxntid', '.minnctapersm' ... or '{'")
            scan.directive()
            if word == ".noreturn":
                function.noreturn = True
            elif word == ".pragma":
                text = f'"{scan.string()}"'
                scan.expect(";", "after .pragma")
                function.directives.append(Directive(word, text, start))
            elif word == ".attribute":
                function.attributes = self.attribute()
            else:
                values: list[str] = []
                while scan.peek().isdigit() or (scan.peek() and scan.peek() in "-("):
                    values.append(str(scan.integer("an integer")))
                    if not scan.accept(","):
                        break
                function.directives.append(Directive(word, ", ".join(values), start))


def _folded(text: str) -> str:
    """``text`` without empty lines, and with single spaces between the words of a line."""
    if "\r" in text or "\v" in text or "\f" in text or not text.isascii():
        text = "\n".join(text.splitlines())
    text = text.replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    text = text.replace("\n ", "\n").replace(" \n", "\n")
    while "\n\n" in text:
        text = text.replace("\n\n", "\n")
    return text.strip()
