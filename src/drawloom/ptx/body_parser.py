"""Reads the body of a function: a piece of text up to a ``;`` becomes an instruction by looking its words up.

What stands before an instruction in its piece (labels, braces, ``.loc``) and declarations in their usual forms are read
in passing; whatever is not found that way goes to ``statement``, which takes every form and says what is wrong.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.errors import ParseError
from drawloom.ptx.declaration_parser import DeclarationParser, plain_variable
from drawloom.ptx.ir import (
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Function,
    Instruction,
    Label,
    LabelRef,
    Module,
    Operand,
    Register,
    Statement,
    Variable,
)
from drawloom.ptx.isa import CALL, Opcode, OpcodeError, decode
from drawloom.ptx.isa_selectors import FIELDS, split_selectors
from drawloom.ptx.operand_parser import LABEL, LABEL_OPCODES
from drawloom.ptx.scanner import is_name
from drawloom.ptx.scopes import Scope

#: Spaces of variables, as directives.
SPACES: Final = frozenset(".global .const .shared .local .param .reg .tex".split())
INSTRUCTION: Final = re.compile(
    r"\s*(?:@(!?)\s*([%$_a-zA-Z][\w$]*)\s+)?([a-z]\w*+(?:\.\w++(?:::\w++)*+)*+)(?!\s*:|[\w$.])\s*+([^;]*+);", re.ASCII
)
_MAX_OPCODES: Final = 1 << 14
#: How much text is cut into pieces at once; a piece is taken apart by copying the rest of it, so it must be short.
_STRETCH: Final = 4096
#: Opcodes that were met, by text: those whose operands are looked up by text alone, and branches and calls.
_plain_opcodes: dict[str, Opcode] = {}
_jump_opcodes: dict[str, Opcode] = {}


class BodyParser(DeclarationParser):
    """The statements of one function."""

    def __init__(self, module: Module, text: str) -> None:
        super().__init__(module, text)
        self.begin_function(self.function)

    def begin_function(self, function: Function) -> None:
        self.enter_function(function)
        self.label_refs: dict[str, LabelRef] = {}
        self.label_uses: list[tuple[Statement, int, list[Scope]]] = []
        self.nested_labels = False

    def body(self) -> None:
        """The statements up to the closing brace, and that; the scanner stands behind it then."""
        text = self.text
        scan = self.scan
        while self.scopes:
            start = scan.pos
            stop = text.find("\n}", start, start + _STRETCH) + 2
            if stop == 1:
                stop = text.rfind(";", start, start + _STRETCH) + 1
            if stop > 0:
                self.stretch(start, stop)
            while stop == 0 and self.scopes and scan.pos < start + _STRETCH:
                self.statement(scan.pos)
        if self.nested_labels or self.label_uses:
            self.resolve_labels()

    def stretch(self, start: int, stop: int) -> None:
        """The statements that begin between two offsets, or some of them: the scanner stands behind the last."""
        text = self.text
        scan = self.scan
        body = self.function.body
        known = self.operands
        opcodes = _plain_opcodes
        pieces = text[start:stop].split(";")
        tail = pieces.pop()
        count = len(pieces)
        place = 0
        end = start - 1
        while place < count:
            piece = pieces[place]
            place += 1
            end += len(piece) + 1
            words = piece.split()
            while words:
                opcode = opcodes.get(words[0])
                if opcode is None:
                    piece = self.other(words, piece.lstrip(), end, True)
                    if end < scan.pos or not self.scopes:
                        if not self.scopes:
                            return
                        while place < count and end < scan.pos:
                            end += len(pieces[place]) + 1
                            place += 1
                        if end < scan.pos:
                            return
                        piece = text[scan.pos : end]
                    words = piece.split()
                    continue
                operands: list[Operand] = []
                last = len(words) - 1
                for index in range(1, last + 1):
                    word = words[index]
                    if index < last:
                        word = word[:-1] if word[-1] == "," else ""
                    operand = known.get(word)
                    if operand is None:
                        operand = self.usual_operand(word)
                    if operand is None:  # of another form, or cut by a space
                        rest = piece.lstrip()[len(words[0]) :].lstrip()
                        operands = self.operand_list(opcode, rest, end - len(rest))
                        break
                    operands.append(operand)
                body.append(Instruction(opcode, operands, None, False, end - len(piece.lstrip())))
                break
        piece = tail.lstrip()
        while piece:
            piece = self.other(piece.split(), piece, stop, False)
            if stop < scan.pos or not self.scopes:
                return
        scan.pos = stop

    def other(self, words: list[str], piece: str, end: int, is_ended: bool) -> str:
        """Reads what ``piece`` begins with, in any case more than nothing, and gives what is left of it.

        It is the text up to offset ``end``, ``words`` its words; ``is_ended`` where a ``;`` follows.
        """
        at = end - len(piece)
        word = words[0]
        first = word[0]
        if first == "{":
            self.open_scope(at)
            return piece[1:].lstrip()
        if first == "}":
            if self.close_scope():
                self.scan.pos = at + 1
            return piece[1:].lstrip()
        if first == "." and is_ended and self.plain_declaration(words, piece, end):
            return ""
        rest = piece[len(word) :].lstrip()
        if word[-1] == ":":
            if rest[:2] not in (".b", ".c") and is_name(word[:-1]):
                self.function.body.append(Label(self.define_label(word[:-1], at), at))
                return rest
        elif word == ".loc":
            line, newline, rest = rest.partition("\n")
            if newline:
                self.function.body.append(Directive(word, " ".join(line.split()), at))
                return rest.lstrip()
        elif is_ended:
            if first == "@":
                guard = self.operands.get(word[2:] if word[1:2] == "!" else word[1:])
                if len(words) > 2 and isinstance(guard, Register):
                    operands = rest[len(words[1]) :].lstrip()
                    if self.known_instruction(words[1], operands, end - len(rest), end, guard, word[1] == "!"):
                        return ""
            elif rest and self.known_instruction(word, rest, at, end, None, False):
                return ""
        self.statement(at)
        return self.text[self.scan.pos : end].lstrip()

    def plain_declaration(self, words: list[str], piece: str, end: int) -> bool:
        """Declares what ``piece``, of these words, says when that is registers or a variable in the usual form; else
        False."""
        if words[0] == ".reg":
            return self.plain_registers(words, end - len(piece) + len(piece.rstrip()))
        variable = plain_variable(words)
        if variable is None or variable.is_pointer:
            return False
        variable.pos = end - len(piece)
        self.declare_variable(variable)
        self.function.variables.append(variable)
        return True

    def known_instruction(
        self, word: str, rest: str, at: int, end: int, guard: Register | None, is_negated: bool
    ) -> bool:
        """Appends the instruction ``word rest`` at ``at`` when its opcode was met before; else False."""
        opcode = _plain_opcodes.get(word)
        if opcode is not None:
            operands = self.operand_list(opcode, rest, end - len(rest))
        else:
            opcode = _jump_opcodes.get(word)
            if opcode is None:
                return False
            if opcode.effect == CALL:
                operands = self.call_operands(rest, end - len(rest))
            elif self.nested_labels or len(self.scopes) > 1:
                return False
            else:
                label = self.label_refs.get(rest)
                if label is None and opcode.name == "bra" and is_name(rest):
                    label = self.label_refs[rest] = LabelRef(rest)
                if label is not None:
                    operands = [label]
                else:
                    operands = self.label_operands(opcode, rest, end - len(rest))
                    if len(operands) == 1 and isinstance(operands[0], LabelRef):
                        self.label_refs[rest] = operands[0]
        self.function.body.append(Instruction(opcode, operands, guard, is_negated, at))
        return True

    # -- any form ----------------------------------------------------------------------------------------

    def statement(self, at: int) -> None:
        """One statement of any form at offset ``at``; the scanner stands behind it then."""
        scan = self.scan
        scan.pos = at
        first = scan.peek()
        if first == ".":
            self.body_directive()
        elif first == "{":
            self.open_scope(scan.pos)
            scan.pos += 1
        elif first == "}":
            self.close_scope()
            scan.pos += 1
        elif first == ";":
            scan.pos += 1
        elif not self.instruction():
            self.other_statement()

    def instruction(self) -> bool:
        """One instruction of any form at this place, if there is one; the scanner stands behind it then."""
        match = INSTRUCTION.match(self.text, self.scan.pos)
        if match is None:
            return False
        negated, guard_name, opcode_text, operand_text = match.groups()
        at = match.start(3)
        try:
            opcode = decode(opcode_text)
            if opcode.name in FIELDS:
                selectors, operand_text = split_selectors(operand_text)
                if any(selectors):
                    opcode = decode(f"{opcode.text}({','.join(selectors)})")
        except OpcodeError as error:
            raise self.module.error(ParseError, at, error.message, error.expected) from None
        if len(_plain_opcodes) > _MAX_OPCODES:
            _plain_opcodes.clear()
        if opcode.name == "call" or opcode.name in LABEL_OPCODES:
            _jump_opcodes[opcode_text] = opcode
        elif opcode.name not in FIELDS:
            _plain_opcodes[opcode_text] = opcode
        guard: Register | None = None
        if guard_name is not None:
            guard = self.find_register(guard_name)
            if guard is None:
                raise self.module.error(
                    ParseError, match.start(2), f"undefined guard '{guard_name}'", "a predicate register"
                )
        operands = self.operand_list(opcode, operand_text, match.start(4))
        statement = Instruction(opcode, operands, guard, negated == "!", at)
        if opcode.name in LABEL_OPCODES and (self.nested_labels or len(self.scopes) > 1):
            self.label_uses.append((statement, len(operands) - 1, list(self.scopes)))
        self.function.body.append(statement)
        self.scan.pos = match.end()
        return True

    def other_statement(self) -> None:
        """A label, or an error."""
        scan = self.scan
        start = scan.pos
        if start >= len(self.text):
            raise scan.fail(f"function '{self.function.name}' is not closed", "'}'")
        match = LABEL.match(self.text, start)
        if match is None:
            self.refuse_statement(start)
            return
        scan.pos = match.end()
        self.label_statement(match.group(1), start)

    def refuse_statement(self, start: int) -> None:
        """Say as exactly as possible why the text at ``start`` is no instruction."""
        scan = self.scan
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        words = line.split()
        if words and words[0].startswith("@") and len(words) > 1:
            words = words[1:]
        first = words[0].rstrip(";") if words else ""
        if first and first[0].islower() and self.text.find(";", start) < 0:
            raise scan.fail(f"'{first[:40]}' is not ended", "';'", start)
        raise scan.fail(f"found {scan.found()}", "an instruction, a label, a directive or '}'", start)

    def label_statement(self, name: str, start: int) -> None:
        scan = self.scan
        word = scan.peek_directive()
        if word in (".branchtargets", ".calltargets"):
            scan.directive()
            names = [scan.name("a name")]
            while scan.accept(","):
                names.append(scan.name("a name"))
            scan.expect(";", f"after {word}")
            if word == ".branchtargets":
                table = BranchTargets(name, names, start)
                if self.nested_labels or len(self.scopes) > 1:
                    self.label_uses.append((table, -1, list(self.scopes)))
                self.function.body.append(table)
            else:
                self.function.body.append(CallTargets(name, names, start))
            self.define_label(name, start)
            return
        if word == ".callprototype":
            scan.directive()
            returns: list[Variable] = []
            if scan.peek() == "(":
                returns = self.parameters(None)
            if not scan.accept("_"):
                raise scan.fail(f"found {scan.found()}", "'_' in a call prototype")
            params = self.parameters(None) if scan.peek() == "(" else []
            end = self.text.find(";", scan.pos)
            if end < 0:
                raise scan.fail("call prototype is not ended", "';'")
            directives = " ".join(self.text[scan.pos : end].split())
            scan.pos = end + 1
            self.function.body.append(CallPrototype(name, returns, params, directives, start))
            self.define_label(name, start)
            return
        self.function.body.append(Label(self.define_label(name, start), start))

    def define_label(self, name: str, start: int) -> str:
        scope = self.scopes[-1]
        if name in scope.labels or (name in self.operands and self.is_declared_here(name)):
            raise self.scan.fail(f"label '{name}' is defined twice", "a label that is unique in its scope", start)
        unique = name
        if len(self.scopes) > 1:
            self.nested_labels = True
            unique = self.unique(name)
        self.used.add(unique)
        scope.labels[name] = unique
        return unique

    def resolve_labels(self) -> None:
        """Point label references made inside scopes at the renamed label of the innermost scope that has it."""
        for statement, index, scopes in self.label_uses:
            if isinstance(statement, BranchTargets):
                statement.labels = [_innermost_label(scopes, name) for name in statement.labels]
            elif isinstance(statement, Instruction):
                operand = statement.operands[index] if statement.operands else None
                if isinstance(operand, LabelRef):
                    statement.operands[index] = LabelRef(_innermost_label(scopes, operand.name))

    def body_directive(self) -> None:
        scan = self.scan
        start = scan.pos
        word = scan.directive()
        if word == ".reg":
            self.register_declaration(start)
        elif word in (".loc", ".file"):
            self.function.body.append(Directive(word, scan.line_rest(), start))
        elif word == ".pragma":
            text = f'"{scan.string()}"'
            scan.expect(";", "after .pragma")
            self.function.body.append(Directive(word, text, start))
        elif word in SPACES:
            for variable in self.variable_list(word[1:], "", start):
                self.declare_variable(variable)
                self.function.variables.append(variable)
        elif word in (".extern", ".weak", ".visible") and scan.peek_directive() in SPACES:
            space = scan.directive()
            for variable in self.variable_list(space[1:], word, start):
                self.declare_variable(variable)
                self.function.variables.append(variable)
        elif word == ".branchtargets" or word == ".callprototype" or word == ".calltargets":
            raise scan.fail(f"'{word}' without a label", f"'name: {word} ...;'", start)
        else:
            found = f"'{word}'" if word else scan.found()
            raise scan.fail(f"{found} is not supported in a function body", "an instruction or a declaration", start)


def _innermost_label(scopes: list[Scope], name: str) -> str:
    for scope in reversed(scopes):
        unique = scope.labels.get(name)
        if unique is not None:
            return unique
    return name
