"""Text to ``Module``: one pattern per instruction on the fast road, the scanner for declarations.

Nested scopes are flattened: registers, variables and labels of an inner ``{ }`` that would clash get a fresh
name. Operand objects are shared between instructions and never changed in place.
"""

from __future__ import annotations

import gc
import re
from typing import Final

from drawloom.errors import ParseError
from drawloom.ptx.declaration_parser import DeclarationParser
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
    Symbol,
    Variable,
    Vector,
)
from drawloom.ptx.isa import Opcode, OpcodeError, decode
from drawloom.ptx.isa_selectors import FIELDS, split_selectors
from drawloom.ptx.operand_parser import LABEL, LABEL_OPCODES, Scope
from drawloom.ptx.types import DECLARABLE, PRED, TYPES, Type

_COMMENT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_REGISTERS: Final = re.compile(r"\.reg\s+\.(\w+)\s+([a-zA-Z][\w$]*|[_$%][\w$]+)(?:<([1-9]\d{0,5})>)?\s*;", re.ASCII)
_PLAIN_VARIABLE: Final = re.compile(
    r"\s*\.(param|shared|local)\s+(?:\.align\s+(1|2|4|8|16)\s+)?\.([a-z]\w*)\s+([a-zA-Z][\w$]*|[_$%][\w$]+)"
    r"(?:\[([1-9]\d{0,8})\])?\s*([;,)])",
    re.ASCII,
)
_NOT_NEWLINE: Final = re.compile(r"[^\n]")
_INSTRUCTION: Final = re.compile(
    r"\s*(?:@(!?)\s*([%$_a-zA-Z][\w$]*)\s+)?([a-z]\w*(?:\.\w+(?:::\w+)?)*)(?!\s*:|[\w$.])\s*([^;]*);", re.ASCII
)
_VERSION: Final = re.compile(r"\s*(\d+)\.(\d+)", re.ASCII)
_TARGET: Final = re.compile(r"\s*([a-zA-Z_][\w]*)", re.ASCII)

_SPACES: Final = frozenset(".global .const .shared .local .param .reg .tex".split())
_LINKAGES: Final = frozenset(".extern .visible .weak .common".split())
_PERFORMANCE: Final = frozenset(
    ".maxnreg .maxntid .reqntid .minnctapersm .maxnctapersm .pragma .noreturn .maxclusterrank .reqnctapercluster"
    " .explicitcluster .abi_preserve .abi_preserve_control .blocksareclusters .unique .attribute".split()
)
_MAX_REGISTERS: Final = 1 << 20
_MAX_SCOPES: Final = 256
_MAX_OPCODES: Final = 1 << 14
#: Opcodes that were met, by text: those whose operands are looked up by text alone, and branches.
_plain_opcodes: dict[str, Opcode] = {}
_branch_opcodes: dict[str, Opcode] = {}
_MAX_KEPT_NAMES: Final = 1 << 13
_MAX_KEPT_STEMS: Final = 64
_kept_names: dict[str, list[str]] = {}


def parse(text: str, filename: str = "<text>") -> Module:
    """The module that ``text`` spells; ``filename`` is what errors call it.

    Raises ``ParseError`` with file, line, column and what was expected, on anything that is not PTX or that
    ``drawloom.ptx.isa`` does not cover. Types and operand kinds are the verifier's business.
    """
    collecting = gc.isenabled()
    gc.disable()  # a module is all new objects and no garbage: collecting while it grows costs a third of the time
    try:
        return _Parser(text, filename).module_text()
    finally:
        if collecting:
            gc.enable()


def without_comments(text: str) -> str:
    """``text`` with every comment turned into as many spaces; line ends and offsets stay what they are."""
    at = text.find("//")
    if "/*" in text or "\\\n" in text:
        return _COMMENT.sub(_blank_comment, text)
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
                parts.append(_COMMENT.sub(_blank_comment, text[line:end]))
                done = end
                at = text.find("//", end)
                continue
        parts.append(text[done:at])
        parts.append(" " * (end - at))
        done = end
        at = text.find("//", end)
    parts.append(text[done:])
    return "".join(parts)


def _blank_comment(match: re.Match[str]) -> str:
    found = match.group(0)
    if found[0] == '"':
        return found
    return _NOT_NEWLINE.sub(" ", found) if "\n" in found else " " * len(found)


class _Parser(DeclarationParser):
    """One module. The names in scope, and what they were resolved to, are its bases' business."""

    def __init__(self, text: str, filename: str) -> None:
        module = Module()
        module.source = text
        module.filename = filename
        super().__init__(module, without_comments(text))
        self.used: set[str] = set()
        self.copies: dict[str, int] = {}
        self.label_refs: dict[str, LabelRef] = {}
        self.label_uses: list[tuple[Statement, int, list[Scope]]] = []
        self.nested_labels = False

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
        while not scan.at_end():
            self.module_item()
        return self.module

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
        scan.skip()
        start = scan.pos
        word = scan.directive()
        linkage = ""
        while word in _LINKAGES:
            linkage = word
            word = scan.directive()
        if word in (".entry", ".func"):
            self.function_item(word == ".entry", linkage, start)
        elif word in _SPACES and word not in (".reg", ".param"):
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
            self.module.add(Directive(word, " ".join(self.text[scan.pos : end].split()), start))
            scan.pos = end + 1
        elif word == "":
            if scan.accept(";"):
                return
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
        lines = [" ".join(line.split()) for line in self.text[start : close_at + 1].splitlines()]
        return "\n".join([line for line in lines if line])

    # -- functions ---------------------------------------------------------------------------------------

    def function_item(self, is_entry: bool, linkage: str, start: int) -> None:
        scan = self.scan
        function = Function("", is_entry)
        self.function = function
        scope = Scope(0, 0)
        self.scopes = [scope]
        self.operands = scope.operands
        self.used = set()
        self.copies = {}
        self.label_refs = {}
        self.label_uses = []
        self.nested_labels = False
        function.linkage = linkage
        function.pos = start
        if scan.peek_directive() == ".attribute":
            scan.directive()
            close = self.text.find(")", scan.pos)
            if close < 0:
                raise scan.fail("'.attribute' is not closed", "')'")
            function.attributes = " ".join(self.text[scan.pos : close + 1].split())
            scan.pos = close + 1
        if not is_entry and scan.peek() == "(":
            function.returns = self.parameters(function)
        function.name = scan.name("a function name")
        if scan.peek() == "(":
            function.params = self.parameters(function)
        self.performance_directives(function)
        if scan.accept(";"):
            function.has_body = False
        else:
            scan.expect("{", f"after the header of '{function.name}'")
            self.body()
            if self.nested_labels or self.label_uses:
                self.resolve_labels()
        self.module.add(function)

    def parameters(self, function: Function | None) -> list[Variable]:
        """``( .param .type name, ... )``; register parameters are added to ``function``."""
        scan = self.scan
        scan.expect("(", "before parameters")
        out: list[Variable] = []
        if scan.accept(")"):
            return out
        while True:
            plain = _PLAIN_VARIABLE.match(self.text, scan.pos)
            if plain is not None and plain.group(3) in TYPES and plain.group(1) == "param" and plain.group(6) != ";":
                variable = self.plain_variable(plain)
                out.append(variable)
                if function is not None:
                    self.declare_variable(variable)
                scan.pos = plain.end()
                if plain.group(6) == ")":
                    return out
                continue
            scan.skip()
            start = scan.pos
            space = scan.directive()
            if space not in (".param", ".reg"):
                found = f"'{space}'" if space else scan.found()
                raise scan.fail(f"found {found}", "'.param' or '.reg'", start)
            variable = self.parameter(space[1:], function is None)
            variable.pos = start
            if function is not None:
                if space == ".reg":
                    variable.register = self.add_register(variable.name, variable.type, start)
                else:
                    self.declare_variable(variable)
            out.append(variable)
            if scan.accept(","):
                continue
            scan.expect(")", "after parameters")
            return out

    def plain_variable(self, match: re.Match[str]) -> Variable:
        """The variable that ``_PLAIN_VARIABLE`` found: a scalar, or an array of one dimension."""
        space, align, type, name, extent, _ = match.groups()
        shape = [] if extent is None else [int(extent)]
        variable = Variable(name, space, TYPES[type], shape, 0 if align is None else int(align))
        variable.pos = match.start(1) - 1
        return variable

    def parameter(self, space: str, nameless: bool) -> Variable:
        scan = self.scan
        align = 0
        vector = 1
        type: Type | None = None
        is_pointer = False
        pointer_space = ""
        pointer_align = 0
        while True:
            word = scan.peek_directive()
            if not word:
                break
            scan.directive()
            if word == ".align":
                if is_pointer:
                    pointer_align = self.alignment()
                else:
                    align = self.alignment()
            elif word == ".ptr":
                is_pointer = True
            elif word in (".global", ".const", ".shared", ".local") and is_pointer:
                pointer_space = word[1:]
            elif word in (".v2", ".v4"):
                vector = int(word[2:])
            elif word[1:] in TYPES and type is None:
                type = TYPES[word[1:]]
            else:
                raise scan.fail(f"'{word}' is not supported on a parameter", "a type, .align or .ptr")
        if type is None:
            raise scan.fail(f"found {scan.found()}", "a parameter type such as .u64")
        variable = self.declarator(space, type, align, vector)
        variable.is_pointer = is_pointer
        variable.pointer_space = pointer_space
        variable.pointer_align = pointer_align
        return variable

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
                close = self.text.find(")", scan.pos)
                if close < 0:
                    raise scan.fail("'.attribute' is not closed", "')'")
                function.attributes = " ".join(self.text[scan.pos : close + 1].split())
                scan.pos = close + 1
            else:
                values: list[str] = []
                while scan.peek().isdigit() or (scan.peek() and scan.peek() in "-("):
                    values.append(str(scan.integer("an integer")))
                    if not scan.accept(","):
                        break
                function.directives.append(Directive(word, ", ".join(values), start))

    # -- bodies ------------------------------------------------------------------------------------------

    def body(self) -> None:
        """The statements up to the closing brace.

        Plain instructions are cut out at their ``;`` and every part is looked up by its text; whatever is not found
        that way goes to ``instruction`` or ``other_statement``.
        """
        text = self.text
        scan = self.scan
        append = self.function.body.append
        plain_opcode = _plain_opcodes.get
        branch_opcode = _branch_opcodes.get
        pos = scan.pos
        while True:
            end = text.find(";", pos)
            words = text[pos:end].split(None, 1)
            if len(words) == 2 and end > 0:
                word = words[0]
                rest = words[1]
                start = pos
                opcode = plain_opcode(word)
                guard: Operand | None = None
                known = self.operands
                if opcode is None and word[0] == "@":
                    guard = known.get(word)
                    if guard is not None:
                        words = rest.split(None, 1)
                        if len(words) == 2:
                            start = end - len(rest)
                            opcode = plain_opcode(words[0])
                            rest = words[1]
                operands: list[Operand] = []
                if opcode is not None:
                    try:
                        operands = [known[part] for part in rest.split(", ")]
                    except KeyError:
                        operands = self.operand_list(opcode, rest, end - len(rest))
                elif word[-1] == ":" and rest[:2] not in (".b", ".c") and LABEL.fullmatch(word) is not None:
                    at = text.find(word, pos)
                    append(Label(self.define_label(word[:-1], at), at))
                    pos = at + len(word)
                    continue
                elif not self.nested_labels and len(self.scopes) == 1:
                    opcode = branch_opcode(words[0])
                    if opcode is not None:
                        label = self.label_refs.get(rest)
                        if label is not None:
                            operands = [label]
                        else:
                            operands = self.label_operands(opcode, rest, end - len(rest))
                            if len(operands) == 1 and isinstance(operands[0], LabelRef):
                                self.label_refs[rest] = operands[0]
                if opcode is not None:
                    at = text.find(words[0], start)
                    if isinstance(guard, Register):
                        append(Instruction(opcode, operands, guard, word[1] == "!", at))
                    else:
                        append(Instruction(opcode, operands, None, False, at))
                    pos = end + 1
                    continue
            if len(words) == 1 and end > 0:
                opcode = plain_opcode(words[0])
                if opcode is not None:
                    append(Instruction(opcode, [], None, False, text.find(words[0], pos)))
                    pos = end + 1
                    continue
            scan.pos = pos
            first = words[0][0] if words else ""
            if first == ".":
                scan.pos = text.find(".", pos)
                self.body_directive()
            elif (first == "{" or first == "}" or not self.instruction()) and self.other_statement():
                return
            pos = scan.pos

    def instruction(self) -> bool:
        """One instruction of any form at this place, if there is one; the scanner stands behind it then."""
        match = _INSTRUCTION.match(self.text, self.scan.pos)
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
        if opcode.name in LABEL_OPCODES:
            _branch_opcodes[opcode_text] = opcode
        elif opcode.name != "call" and opcode.name not in FIELDS:
            if len(_plain_opcodes) > _MAX_OPCODES:
                _plain_opcodes.clear()
            _plain_opcodes[opcode_text] = opcode
        guard: Register | None = None
        if guard_name is not None:
            guard = self.find_register(guard_name)
            if guard is None:
                raise self.module.error(
                    ParseError, match.start(2), f"undefined guard '{guard_name}'", "a predicate register"
                )
            self.operands[f"@{negated}{guard_name}"] = guard
        operands = self.operand_list(opcode, operand_text, match.start(4))
        statement = Instruction(opcode, operands, guard, negated == "!", at)
        if opcode.name in LABEL_OPCODES and (self.nested_labels or len(self.scopes) > 1):
            self.label_uses.append((statement, len(operands) - 1, list(self.scopes)))
        self.function.body.append(statement)
        self.scan.pos = match.end()
        return True

    def other_statement(self) -> bool:
        """Anything in a body that is no instruction; True at the function's closing brace."""
        scan = self.scan
        character = scan.peek()
        start = scan.pos
        if character == "":
            raise scan.fail(f"function '{self.function.name}' is not closed", "'}'")
        if character == "}":
            scan.pos += 1
            self.scopes.pop()
            if not self.scopes:
                return True
            self.operands = self.scopes[-1].operands
            return False
        if character == "{":
            if len(self.scopes) >= _MAX_SCOPES:
                raise scan.fail("scopes are nested too deeply", f"at most {_MAX_SCOPES} levels")
            scan.pos += 1
            scope = Scope(len(self.scopes), start)
            self.scopes.append(scope)
            self.operands = scope.operands
            return False
        if character == ";":
            scan.pos += 1
            return False
        if character == ".":
            self.body_directive()
            return False
        match = LABEL.match(self.text, start)
        if match is not None:
            scan.pos = match.end()
            self.label_statement(match.group(1), start)
            return False
        self.refuse_statement(start)
        return False

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
        if name in scope.labels or name in scope.registers or name in scope.variables:
            raise self.scan.fail(f"label '{name}' is defined twice", "a label that is unique in its scope", start)
        unique = name
        if len(self.scopes) > 1:
            self.nested_labels = True
            unique = self.unique(name)
        self.used.add(unique)
        scope.labels[name] = unique
        return unique

    def unique(self, name: str) -> str:
        """``name``, or ``name$1``, ``name$2`` ... when the function has it already."""
        if name not in self.used:
            return name
        number = self.copies.get(name, 0) + 1
        while f"{name}${number}" in self.used:
            number += 1
        self.copies[name] = number
        return f"{name}${number}"

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
        plain = _PLAIN_VARIABLE.match(self.text, start)
        if plain is not None and plain.group(6) == ";" and plain.group(3) in TYPES:
            variable = self.plain_variable(plain)
            self.declare_variable(variable)
            self.function.variables.append(variable)
            scan.pos = plain.end()
            return
        word = scan.directive()
        if word == ".reg":
            self.register_declaration(start)
        elif word in (".loc", ".file"):
            self.function.body.append(Directive(word, scan.line_rest(), start))
        elif word == ".pragma":
            text = f'"{scan.string()}"'
            scan.expect(";", "after .pragma")
            self.function.body.append(Directive(word, text, start))
        elif word in _SPACES:
            for variable in self.variable_list(word[1:], "", start):
                self.declare_variable(variable)
                self.function.variables.append(variable)
        elif word in (".extern", ".weak", ".visible") and scan.peek_directive() in _SPACES:
            space = scan.directive()
            for variable in self.variable_list(space[1:], word, start):
                self.declare_variable(variable)
                self.function.variables.append(variable)
        elif word == ".branchtargets" or word == ".callprototype" or word == ".calltargets":
            raise scan.fail(f"'{word}' without a label", f"'name: {word} ...;'", start)
        else:
            found = f"'{word}'" if word else scan.found()
            raise scan.fail(f"{found} is not supported in a function body", "an instruction or a declaration", start)

    def declare_variable(self, variable: Variable) -> None:
        scope = self.scopes[-1]
        name = variable.name
        if name in scope.variables or name in scope.registers or name in scope.vectors:
            raise self.scan.fail(f"'{name}' is declared twice", "a name that is unique in its scope", variable.pos)
        variable.name = self.unique(name)
        self.used.add(variable.name)
        scope.variables[name] = variable.name
        self.forget_operands()
        scope.operands[name] = Symbol(variable.name)
        scope.declared += 1

    def forget_operands(self) -> None:
        """Drop operands resolved before a declaration that may shadow what they named."""
        scope = self.scopes[-1]
        if len(scope.operands) > scope.declared:
            scope.operands.clear()
            scope.declared = 0

    def register_declaration(self, start: int) -> None:
        scan = self.scan
        plain = _REGISTERS.match(self.text, start)
        if plain is not None:
            type_name, name, digits = plain.groups()
            count = 1 if digits is None else int(digits)
            if type_name in DECLARABLE and len(self.function.registers) + count <= _MAX_REGISTERS:
                if digits is None:
                    self.add_register(name, TYPES[type_name], plain.start(2))
                else:
                    self.declare_registers(name, count, TYPES[type_name], 1, plain.start(2))
                scan.pos = plain.end()
                return
        word = scan.directive()
        lanes = 1
        if word in (".v2", ".v4"):
            lanes = int(word[2:])
            word = scan.directive()
        type = TYPES.get(word[1:]) if word else None
        if type is None or type.name not in DECLARABLE:
            found = f"'{word}'" if word else scan.found()
            raise scan.fail(f"{found} is no register type", "a type such as .b32, .f64 or .pred", start)
        while True:
            scan.skip()
            at = scan.pos
            name = scan.name("a register name")
            if scan.accept("<"):
                count = scan.plain_integer("a register count")
                scan.expect(">", "after a register count")
                if count < 0 or len(self.function.registers) + count > _MAX_REGISTERS:
                    raise scan.fail(f"register count {count}", f"at most {_MAX_REGISTERS} registers", at)
                self.declare_registers(name, count, type, lanes, at)
            else:
                self.declare_register(name, type, lanes, at)
            if scan.accept(","):
                continue
            scan.expect(";", "after a register declaration")
            return

    def declare_registers(self, stem: str, count: int, type: Type, lanes: int, at: int) -> None:
        """``stem<count>``: all at once where no name is taken, which is nearly always."""
        names = _numbered(stem, count)
        scope = self.scopes[-1]
        if lanes > 1 or scope.vectors or not self.used.isdisjoint(names):
            for name in names:
                self.declare_register(name, type, lanes, at)
            return
        registers = self.function.registers
        first = len(registers)
        fresh = [Register(first + index, name, type) for index, name in enumerate(names)]
        registers.extend(fresh)
        self.used.update(names)
        scope.registers.update(zip(names, fresh))
        self.forget_operands()
        scope.operands.update(zip(names, fresh))
        scope.declared = len(scope.operands)

    def declare_register(self, name: str, type: Type, lanes: int, at: int) -> None:
        """A register, or one for each component of a vector: ``v.x`` is kept as ``v_x``, ``v`` as ``{v_x, v_y}``."""
        if lanes == 1:
            self.add_register(name, type, at)
            return
        if type is PRED:
            raise self.scan.fail("predicates have no vectors", "scalar .pred registers", at)
        scope = self.scopes[-1]
        if name in scope.registers or name in scope.variables or name in scope.vectors:
            raise self.scan.fail(f"'{name}' is declared twice", "a name that is unique in its scope", at)
        elements: list[Operand] = []
        for index in range(lanes):
            unique = self.unique(f"{name}_{'xyzw'[index]}")
            self.used.add(unique)
            register = Register(len(self.function.registers), unique, type)
            self.function.registers.append(register)
            scope.registers[f"{name}.{'xyzw'[index]}"] = register
            scope.registers[f"{name}.{'rgba'[index]}"] = register
            elements.append(register)
        scope.vectors[name] = Vector(elements)
        self.forget_operands()

    def add_register(self, name: str, type: Type, at: int) -> Register:
        scope = self.scopes[-1]
        if name in scope.registers or name in scope.variables or name in scope.vectors:
            raise self.scan.fail(f"'{name}' is declared twice", "a name that is unique in its scope", at)
        unique = self.unique(name)
        self.used.add(unique)
        registers = self.function.registers
        register = Register(len(registers), unique, type)
        registers.append(register)
        scope.registers[name] = register
        self.forget_operands()
        return register


def _numbered(stem: str, count: int) -> list[str]:
    """``stem0``, ``stem1`` ...: usual stems are kept, so that their strings are made and hashed once."""
    if count > _MAX_KEPT_NAMES:
        return [f"{stem}{index}" for index in range(count)]
    names = _kept_names.get(stem)
    if names is None:
        if len(_kept_names) >= _MAX_KEPT_STEMS:
            _kept_names.clear()
        names = []
    if len(names) < count:
        names = names + [f"{stem}{index}" for index in range(len(names), count)]
        _kept_names[stem] = names  # a new list, because another thread may be reading the old one
    return names[:count]


def _innermost_label(scopes: list[Scope], name: str) -> str:
    for scope in reversed(scopes):
        unique = scope.labels.get(name)
        if unique is not None:
            return unique
    return name
