"""Text to what can be understood of it: PTX of newer versions, or with parts that are not covered, to a ``Module`` that
keeps those word for word (panic-mode recovery, at the ends of instructions and of functions).

An instruction that is refused, by the parser or the verifier, becomes ``Unknown``. A function is ``Unread`` as a whole
where anything else in it is refused, and where an unknown instruction may jump.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.errors import SourceError
from drawloom.ptx.body_parser import INSTRUCTION
from drawloom.ptx.ir import (
    Address,
    BranchTargets,
    Function,
    Instruction,
    Label,
    Module,
    Operand,
    Register,
    Symbol,
    Vector,
    collect_read,
)
from drawloom.ptx.isa import BRANCH, CALL
from drawloom.ptx.parser import COMMENT, ModuleParser, parse
from drawloom.ptx.printer import print_instruction
from drawloom.ptx.unread import Unknown, Unread
from drawloom.ptx.verifier import faults, verify

_STRING: Final = re.compile(r'"(?>[^"\\\n]+|\\.)*+"?')
_HEADER: Final = r"(?:\.(?:visible|extern|weak|common)\s+)*\.(?:entry|func)(?![\w:])"
_OWN_HEADER: Final = re.compile(_HEADER, re.ASCII)
#: Where an item may end: at a brace, a semicolon, the header of a function, which stands in none, or another directive.
_END: Final = re.compile(
    rf"[{{}};]|(?<![\w.:$%]){_HEADER}"
    r"|^[ \t]*\.(?:visible|extern|weak|common|global|const|shared|file|section|pragma)\b",
    re.ASCII | re.MULTILINE,
)
#: A string, a number, a name of up to two parts, or something else of an operand.
_WORD: Final = re.compile(r'"[^"]*"?|\d[\w.]*|([%$_a-zA-Z][\w$]*)(\.[a-z]+)?|::|.', re.ASCII | re.DOTALL)
_LOAD: Final = re.compile(r"(?<![\w.$%])ldu?\.(?!param)(?:\w+\.)*(?!param\b)[\w.:]*\s[^;{}]*(?=;)", re.ASCII)
_BRACKETS: Final[dict[str, str]] = {"]": "[", ")": "(", "}": "{"}


def parse_known(text: str, filename: str = "<text>") -> Module:
    """The module that ``text`` spells, verified as far as it is understood; what is not stays in it as text.

    Raises ``ParseError`` for what has no ``.version`` and ``.target`` as PTX has them.
    """
    try:
        module = parse(text, filename)
        verify(module)
        return module
    except SourceError:
        pass
    return _Recovery(text, filename).known()


class _Recovery(ModuleParser):
    """One module."""

    def __init__(self, text: str, filename: str) -> None:
        cut = _open_comment(text)
        super().__init__(text[:cut], filename)
        self.module.source = text
        self.cut = cut
        #: By where a function begins: where it ends.
        self.ends: dict[int, int] = {}
        #: Names in unknown instructions that mean nothing else, with what refused the instruction.
        self.loose: dict[str, SourceError] = {}

    def refuse_odd_space(self) -> None:
        """Looked for item by item."""

    def known(self) -> Module:
        """What is understood."""
        self.module_text()
        if self.cut < len(self.module.source):
            refusal = self.scan.fail("a comment is not closed", "'*/'", self.cut)
            self.unread(self.cut, len(self.module.source), refusal)
        wrong: dict[Instruction, Unknown] = {}
        for fault in faults(self.module):
            function, instruction = fault.function, fault.instruction
            if function is None or (not function.has_body and function.unread is None):
                self.module.refusals.append(fault.error)
            elif instruction is not None and instruction.opcode.effect not in (BRANCH, CALL):
                wrong.setdefault(instruction, as_unknown(instruction, fault.error))
            elif function.unread is None:
                self.leave(function, function.pos, self.ends[function.pos], fault.error)
        for function in self.module.functions.values() if wrong else ():
            function.body = [wrong.get(s, s) if isinstance(s, Instruction) else s for s in function.body]
        return self.module

    # -- items -------------------------------------------------------------------------------------------

    def module_item(self) -> None:
        start = self.scan.pos
        self.function = Function("")
        self.loose = {}
        try:
            super().module_item()
            self.refuse_odd_space_in(start, self.scan.pos)
        except SourceError as refusal:
            end = self.end_of_item(start)
            self.scan.pos = end
            function = self.function
            if not function.name:
                self.unread(start, end, refusal)
                return
            if not self.module.items or self.module.items[-1] is not function:
                self.module.add(function)
            self.leave(function, start, end, refusal)
        self.ends[start] = self.scan.pos

    def unread(self, start: int, end: int, refusal: SourceError) -> None:
        """Keep the text of what is no function."""
        self.module.add(Unread(self.module.source[start:end], start, refusal))
        self.module.refusals.append(refusal)

    def leave(self, function: Function, start: int, end: int, refusal: SourceError) -> None:
        """Make a declaration of a function, with the text of its definition."""
        function.unread = Unread(self.module.source[start:end], start, refusal)
        function.unread.loads = [
            (match.start(), " ".join(match.group(0).split())) for match in _LOAD.finditer(self.text, start, end)
        ]
        function.has_body = False
        function.pos = start
        function.body, function.variables = [], []

    def end_of_item(self, start: int) -> int:
        """Where the item at ``start`` ends: with its braces or semicolon, or where another one begins."""
        text = self.text
        own = _OWN_HEADER.match(text, start)
        at = start + 1 if own is None else own.end()
        depth = 0
        while True:
            found = _END.search(text, at)
            quote = text.find('"', at, len(text) if found is None else found.start())
            quoted = _STRING.match(text, quote) if quote >= 0 else None
            if quoted is not None:
                at = quoted.end()
                continue
            if found is None:
                return len(text)
            at = found.end()
            word = found.group(0)
            if word == "{":
                depth += 1
            elif word == "}":
                depth -= 1
                if depth <= 0:
                    return at
            elif word == ";":
                if depth == 0:
                    return at
            elif depth == 0 or _OWN_HEADER.match(word) is not None:
                return found.start()

    # -- bodies ------------------------------------------------------------------------------------------

    def body(self) -> None:
        while self.scopes:
            self.statement(self.scan.pos)
        if self.nested_labels or self.label_uses:
            self.resolve_labels()
        if not self.loose:
            return
        for statement in self.function.body:
            if isinstance(statement, (Label, BranchTargets)):
                # A label in a scope may have got a number behind its name.
                refusal = self.loose.get(statement.name, self.loose.get(statement.name.rpartition("$")[0]))
                if refusal is not None:
                    raise refusal

    def instruction(self) -> bool:
        start = self.scan.pos
        try:
            return super().instruction()
        except SourceError as refusal:
            self.unknown(start, refusal)
            return True

    def unknown(self, start: int, refusal: SourceError) -> None:
        """Keep the instruction at ``start`` as it is, whatever it does to the registers that it names."""
        match = INSTRUCTION.match(self.text, start)
        if match is None:
            raise refusal
        negated, guard_name, opcode, operands = match.groups()
        guard = None if guard_name is None else self.find_register(guard_name)
        if guard is None and guard_name is not None:
            raise refusal
        parts: list[str | Register] = [opcode + " "]
        written: list[Operand] = []
        read: list[Operand] = []
        opened: list[str] = []
        for word in _WORD.finditer(operands):
            text, name = word.group(0), word.group(1)
            if text in ("[", "(", "{"):
                opened.append(text)
            elif text in _BRACKETS and (not opened or opened.pop() != _BRACKETS[text]):
                raise refusal
            if name is None:
                if text in (":", "@"):  # a label or a guard: a statement that is not ended
                    raise refusal
                parts.append(text)
                continue
            meant = self.operands.get(name)
            if isinstance(meant, Register):
                read.append(meant)
                if "[" not in opened:
                    written.append(meant)
                parts.append(meant)
                parts.append(word.group(2) or "")
                continue
            if isinstance(meant, Vector):
                raise refusal
            if meant is None:
                self.loose[name] = refusal
            parts.append((meant.name if isinstance(meant, Symbol) else name) + (word.group(2) or ""))
        if opened:
            raise refusal
        self.function.body.append(Unknown(parts, written, read, guard, negated == "!", match.start(3), refusal))
        self.scan.pos = match.end()


def as_unknown(instruction: Instruction, refusal: SourceError) -> Unknown:
    """An instruction that was read, but breaks a rule."""
    written: list[Register] = []
    read: list[Register] = []
    for operand in instruction.operands:
        collect_read(operand, read)
        if not isinstance(operand, Address):
            collect_read(operand, written)
    text = print_instruction(Instruction(instruction.opcode, instruction.operands)).removesuffix(";")
    guard, is_negated = instruction.guard, instruction.guard_negated
    return Unknown([text], [*written], [*read], guard, is_negated, instruction.pos, refusal)


def _open_comment(text: str) -> int:
    """Where a comment begins that is not closed; the length of the text if there is none."""
    for match in COMMENT.finditer(text):
        if match.group(0) == "/*":
            return match.start()
    return len(text)
