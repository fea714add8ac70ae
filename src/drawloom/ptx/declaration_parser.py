"""Reads variable declarations: alignment, type, dimensions and initial values (PTX ISA 9.0 section 5.4)."""

from __future__ import annotations

import re
from typing import Final

from drawloom.ptx.ir import Immediate, InitializerItem, Symbol, Variable
from drawloom.ptx.operand_parser import OperandParser
from drawloom.ptx.types import TYPES, Type

_NAMELESS: Final = re.compile(r"_(?![\w$])", re.ASCII)
_MAX_BYTES: Final = 1 << 40


class DeclarationParser(OperandParser):
    """What is common to declarations in a module and in a body."""

    def variable_list(self, space: str, linkage: str, start: int) -> list[Variable]:
        """``.space`` was read: alignment, type and one or more declarators up to the ``;``."""
        align, vector, type, attributes = self.variable_prefix()
        out: list[Variable] = []
        while True:
            variable = self.declarator(space, type, align, vector)
            variable.linkage = linkage
            variable.attributes = attributes
            variable.pos = start
            if self.scan.accept("="):
                variable.initializer = self.initializer(variable)
            out.append(variable)
            if self.scan.accept(","):
                continue
            self.scan.expect(";", f"after the declaration of '{variable.name}'")
            return out

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
                found = f"'{word}'" if word else scan.found()
                raise scan.fail(f"found {found} in a declaration", "a type such as .b32 or .f64")

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
