"""Reads variable declarations: alignment, type, dimensions and initial values (PTX ISA 9.0 section 5.4)."""

from __future__ import annotations

import re
from typing import Final

from drawloom.ptx.ir import Function, Immediate, InitializerItem, Symbol, Variable
from drawloom.ptx.isa_table import NOT_COVERED_TYPES
from drawloom.ptx.operand_parser import OperandParser
from drawloom.ptx.scanner import is_name
from drawloom.ptx.types import DECLARABLE, TYPES, Type

_SPACES: Final[dict[str, str]] = {
    ".param": "param", ".local": "local", ".shared": "shared", ".global": "global", ".const": "const",
}  # fmt: skip
_TYPES: Final[dict[str, Type]] = {"." + name: type for name, type in TYPES.items()}
_REGISTER_TYPES: Final[dict[str, Type]] = {"." + name: TYPES[name] for name in DECLARABLE}
_POINTER_SPACES: Final = frozenset(".global .const .shared .local".split())
_ALIGNMENTS: Final[dict[str, int]] = {"1": 1, "2": 2, "4": 4, "8": 8, "16": 16}
_MAX_DIGITS: Final = 9
_MAX_REGISTER_NAMES: Final = 256
_register_names: set[str] = set()
MAX_REGISTERS: Final = 1 << 20
_NAMELESS: Final = re.compile(r"_(?![\w$])", re.ASCII)
_MAX_BYTES: Final = 1 << 40
#: Variables that `name<count>` declares at most.
_MAX_NUMBERED: Final = 1 << 16


def plain_variable(words: list[str]) -> Variable | None:
    """The variable that ``words`` (a declaration without its ``;``) declare in one of the usual ways: a scalar or an
    array of one dimension, aligned, a pointer. None for anything else, right or wrong."""
    last = len(words) - 1
    if last < 2:
        return None
    space = _SPACES.get(words[0])
    at = 1
    align = 0
    if words[1] == ".align":
        align = _ALIGNMENTS.get(words[2], 0)
        at = 3
    if at > last:
        return None
    type = _TYPES.get(words[at])
    name = words[last]
    shape: list[int] = []
    if name[-1] == "]":
        name, _, digits = name[:-1].partition("[")
        extent = plain_number(digits)
        if extent == 0:
            return None
        shape.append(extent)
    if space is None or type is None or (at == 3 and align == 0) or not is_name(name):
        return None
    variable = Variable(name, space, type, shape, align)
    if at + 1 == last:
        return variable
    if words[at + 1] != ".ptr":
        return None
    variable.is_pointer = True
    at += 2
    if words[at] in _POINTER_SPACES:
        variable.pointer_space = words[at][1:]
        at += 1
    if words[at] == ".align" and at + 2 == last:
        variable.pointer_align = _ALIGNMENTS.get(words[at + 1], 0)
        return variable if variable.pointer_align else None
    return variable if at == last else None


def plain_parameters(text: str | None, at: int) -> list[Variable] | None:
    """The parameters in ``text``, which begins at offset ``at``; None where one has an unusual form or is wrong."""
    out: list[Variable] = []
    if text is None or not text.strip():
        return out
    for part in text.split(","):
        variable = plain_variable(part.split())
        if variable is None or variable.space != "param":
            return None
        variable.pos = at + len(part) - len(part.lstrip())
        at += len(part) + 1
        out.append(variable)
    return out


def _is_register_name(name: str) -> bool:
    """``is_name``, for names that are the same in most functions and so are kept."""
    if name in _register_names:
        return True
    if not is_name(name):
        return False
    if len(_register_names) >= _MAX_REGISTER_NAMES:
        _register_names.clear()
    _register_names.add(name)
    return True


def plain_number(digits: str) -> int:
    """The value of a short decimal number that is positive; 0 for any other text."""
    if digits.isdecimal() and digits.isascii() and digits[0] != "0" and len(digits) <= _MAX_DIGITS:
        return int(digits)
    return 0


class DeclarationParser(OperandParser):
    """What is common to declarations in a module and in a body."""

    def variable_list(self, space: str, linkage: str, start: int) -> list[Variable]:
        """``.space`` was read: alignment, type and one or more declarators up to the ``;``."""
        align, vector, type, attributes = self.variable_prefix()
        out: list[Variable] = []
        while True:
            variable = self.declarator(space, type, align, vector)
            found = [variable]
            if not variable.shape and self.scan.accept("<"):
                found = self.numbered(variable)
            elif self.scan.accept("="):
                variable.initializer = self.initializer(variable)
            for each in found:
                each.linkage = linkage
                each.attributes = attributes
                each.pos = start
            out += found
            if self.scan.accept(","):
                continue
            self.scan.expect(";", f"after the declaration of '{variable.name}'")
            return out

    def initialised_variable(self, linkage: str, start: int) -> Variable | None:
        """A variable of a module in one of the usual ways, from its space on; None, and nothing read, for others."""
        text = self.text
        at = self.scan.pos
        end = text.find(";", at)
        equals = text.find("=", at, end)
        variable = plain_variable(text[at : end if equals < 0 else equals].split()) if end >= 0 else None
        if variable is None or variable.is_pointer or variable.size > _MAX_BYTES:
            return None
        variable.linkage = linkage
        variable.pos = start
        if equals < 0:
            self.scan.pos = end + 1
            return variable
        self.scan.pos = equals + 1
        variable.initializer = self.initializer(variable)
        self.scan.expect(";", f"after the declaration of '{variable.name}'")
        return variable

    def numbered(self, stem: Variable) -> list[Variable]:
        """The variables of ``name<count>``, of which the ``<`` was read: ``name0``, ``name1`` ... (section 5.4.7)."""
        at = self.scan.pos
        count = self.scan.plain_integer("a number of variables")
        self.scan.expect(">", "after a number of variables")
        if not 0 <= count <= _MAX_NUMBERED:
            raise self.scan.fail(f"{count} variables", f"at most {_MAX_NUMBERED}", at)
        names = [f"{stem.name}{n}" for n in range(count)]
        return [Variable(name, stem.space, stem.type, [], stem.align, stem.vector) for name in names]

    def variable_prefix(self) -> tuple[int, int, Type, str]:
        scan = self.scan
        align = 0
        vector = 1
        attributes = ""
        while True:
            word = scan.directive()
            if word == ".align":
                align = self.alignment()
            elif word == ".attribute":
                begin = scan.pos
                close = self.text.find(")", begin)
                if close < 0:
                    raise scan.fail("'.attribute' is not closed", "')'")
                attributes = " ".join(self.text[begin : close + 1].split())
                scan.pos = close + 1
            elif word in (".v2", ".v4", ".v8"):
                vector = int(word[2:])
            elif word[1:] in TYPES and word:
                return align, vector, TYPES[word[1:]], attributes
            else:
                self.refuse_type(word)
                found = f"'{word}'" if word else scan.found()
                raise scan.fail(f"found {found} in a declaration", "a type such as .b32 or .f64")

    def refuse_type(self, word: str) -> None:
        """Raise ParseError for a type of PTX that is not covered."""
        topic = NOT_COVERED_TYPES.get(word)
        if topic is not None:
            raise self.scan.fail(f"'{word}' is not supported: {topic} are not covered", "", self.scan.pos - len(word))

    def alignment(self) -> int:
        at = self.scan.pos
        align = self.scan.integer("an alignment in bytes")
        if align < 1 or align & (align - 1) or align > 1 << 16:
            raise self.scan.fail(f"alignment {align}", "a power of two from 1 to 65536", at)
        return align

    def declarator(self, space: str, type: Type, align: int, vector: int) -> Variable:
        scan = self.scan
        scan.skip()
        at = scan.pos
        nameless = space in ("param", "reg") and _NAMELESS.match(self.text, at) is not None
        name = "_" if nameless and scan.accept("_") else scan.name("a variable name")
        shape: list[int] = []
        while scan.accept("["):
            if scan.accept("]"):
                if shape:
                    raise scan.fail("only the first dimension may be left out", "a size")
                shape.append(0)
                continue
            shape.append(scan.integer("an array size"))
            if shape[-1] < 0:
                raise scan.fail(f"array size {shape[-1]}", "a size of at least 0", at)
            scan.expect("]", "after an array size")
        variable = Variable(name, space, type, shape, align, vector)
        if variable.size > _MAX_BYTES:
            raise scan.fail(f"'{name}' has {variable.size} bytes", f"at most {_MAX_BYTES}", at)
        return variable

    def initializer(self, variable: Variable) -> list[InitializerItem]:
        items: list[InitializerItem] = []
        plain = self.scan.integer_list() if len(variable.shape) == 1 and variable.vector == 1 else None
        if plain is not None:
            items = [InitializerItem(Immediate(value)) for value in plain]
        else:
            self.initializer_level(variable.shape, 0, items, 0)
        if variable.shape and variable.shape[0] == 0:
            inner = 1
            for extent in variable.shape[1:]:
                inner *= extent
            variable.shape[0] = -(-len(items) // (inner * variable.vector)) if inner else 0
        if len(items) > variable.count * variable.vector:
            raise self.scan.fail(
                f"'{variable.name}' has {len(items)} initialisers", f"at most {variable.count * variable.vector}"
            )
        return items

    def initializer_level(self, shape: list[int], level: int, items: list[InitializerItem], depth: int) -> None:
        """A braced list fills its row; a short inner row is padded with zeros as C does."""
        if depth > len(shape) + 1:
            raise self.scan.fail("initialiser is nested deeper than the array", f"{len(shape)} levels of braces")
        if not self.scan.accept("{"):
            items.append(self.initializer_item())
            return
        start = len(items)
        while not self.scan.accept("}"):
            self.initializer_level(shape, level + 1, items, depth + 1)
            if not self.scan.accept(","):
                self.scan.expect("}", "in an initialiser")
                break
        if level > 0 and level < len(shape):
            row = 1
            for extent in shape[level:]:
                row *= extent
            while len(items) - start < row:
                items.append(InitializerItem(Immediate(0)))

    def initializer_item(self) -> InitializerItem:
        scan = self.scan
        character = scan.peek()
        if character and (character.isalpha() or character in "_$%") and not self.text.startswith("WARP_SZ", scan.pos):
            name = scan.name("a symbol")
            generic = name == "generic"
            if generic:
                scan.expect("(", "after 'generic'")
                name = scan.name("a variable name")
                scan.expect(")", "after 'generic(name'")
            return InitializerItem(Symbol(name, self.symbol_offset()), generic)
        value = scan.constant()
        if scan.peek() == "(" and value.kind == 0:
            scan.expect("(", "in a masked address")
            name = scan.name("a symbol")
            generic = name == "generic"
            if generic:
                scan.expect("(", "after 'generic'")
                name = scan.name("a variable name")
                scan.expect(")", "after 'generic(name'")
            offset = self.symbol_offset()
            scan.expect(")", "in a masked address")
            return InitializerItem(Symbol(name, offset), generic, value.value)
        return InitializerItem(value)

    def symbol_offset(self) -> int:
        if self.scan.accept("+"):
            return self.scan.integer("an offset in bytes")
        if self.scan.accept("-"):
            return -self.scan.integer("an offset in bytes")
        return 0

    # -- parameters --------------------------------------------------------------------------------------

    def parameters(self, function: Function | None) -> list[Variable]:
        """``( .param .type name, ... )``; register parameters are added to ``function``."""
        scan = self.scan
        scan.expect("(", "before parameters")
        out: list[Variable] = []
        if scan.accept(")"):
            return out
        while True:
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
                self.refuse_type(word)
                raise scan.fail(f"'{word}' is not supported on a parameter", "a type, .align or .ptr")
        if type is None:
            raise scan.fail(f"found {scan.found()}", "a parameter type such as .u64")
        variable = self.declarator(space, type, align, vector)
        variable.is_pointer = is_pointer
        variable.pointer_space = pointer_space
        variable.pointer_align = pointer_align
        return variable

    # -- registers ---------------------------------------------------------------------------------------

    def plain_registers(self, words: list[str], end: int) -> bool:
        """Declares what ``words`` (``.reg`` first, the last up to offset ``end``) say when that is one register or one
        range of them; False, and nothing declared, when it is more, or wrong."""
        if len(words) != 3:
            return False
        type = _REGISTER_TYPES.get(words[1])
        name = words[2]
        if type is None:
            return False
        at = end - len(name)
        if name[-1] != ">":
            if not _is_register_name(name):
                return False
            self.add_register(name, type, at)
            return True
        stem, _, digits = name[:-1].partition("<")
        count = plain_number(digits)
        if count == 0 or len(self.function.registers) + count > MAX_REGISTERS or not _is_register_name(stem):
            return False
        self.declare_registers(stem, count, type, 1, at)
        return True

    def register_declaration(self, start: int) -> None:
        """Any ``.reg`` declaration, of which the first word was read."""
        scan = self.scan
        word = scan.directive()
        lanes = 1
        if word in (".v2", ".v4"):
            lanes = int(word[2:])
            word = scan.directive()
        type = _REGISTER_TYPES.get(word)
        if type is None:
            found = f"'{word}'" if word else scan.found()
            raise scan.fail(f"{found} is no register type", "a type such as .b32, .f64 or .pred", start)
        while True:
            scan.skip()
            at = scan.pos
            name = scan.name("a register name")
            if scan.accept("<"):
                count = scan.plain_integer("a register count")
                scan.expect(">", "after a register count")
                if count < 0 or len(self.function.registers) + count > MAX_REGISTERS:
                    raise scan.fail(f"register count {count}", f"at most {MAX_REGISTERS} registers", at)
                self.declare_registers(name, count, type, lanes, at)
            else:
                self.declare_register(name, type, lanes, at)
            if scan.accept(","):
                continue
            scan.expect(";", "after a register declaration")
            return
