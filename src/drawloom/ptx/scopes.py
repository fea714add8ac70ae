"""The names that are visible at a place in a function body: what its ``{ }`` scopes declare, and what operand texts
were found to mean.

One dictionary holds all of it for the innermost scope; a scope keeps only what must be undone where it ends. Nested
scopes are flattened: a name that the function has already gets ``$1``, ``$2`` ... behind it.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import ParseError, SourceError
from drawloom.ptx.ir import Function, Module, Operand, Register, Symbol, Variable, Vector, numbered_names
from drawloom.ptx.scanner import Scanner
from drawloom.ptx.types import PRED, Type

_MAX_SCOPES: Final = 256


class Scope:
    """A ``{ }``: the names that it declares, and what it hides.

    Its own registers are those from ``first_register`` on; the texts resolved in it those from ``mark`` on.
    """

    def __init__(self, first_register: int, mark: int) -> None:
        self.first_register = first_register
        self.mark = mark
        self.names: list[str] = []
        self.variables: dict[str, Variable | None] = {}  # None for vectors of registers
        self.hidden: dict[str, Operand] = {}
        self.labels: dict[str, str] = {}


class Names:
    """The scopes of one function in one text.

    ``operands`` has every visible declared name, and every operand text that was resolved so far; the latter stand in
    ``resolved`` too, because a declaration of a name in them makes them stale. A name that is used without a
    declaration is among them, so that a name which ``operands`` lacks stands in none of them.
    """

    def __init__(self, module: Module, text: str) -> None:
        self.module = module
        self.text = text
        self.scan = Scanner(module, text)
        self.function = Function("")
        self.enter_function(self.function)

    def enter_function(self, function: Function) -> None:
        self.function = function
        self.scopes: list[Scope] = [Scope(0, 0)]
        self.operands: dict[str, Operand] = {}
        self.resolved: list[str] = []
        #: Names that the function has and ``operands`` may not show: labels, renamed ones, those of closed scopes.
        self.used: set[str] = set()
        self.copies: dict[str, int] = {}

    def find_register(self, name: str) -> Register | None:
        found = self.operands.get(name)
        return found if isinstance(found, Register) else None

    def open_scope(self, at: int) -> None:
        if len(self.scopes) >= _MAX_SCOPES:
            raise self.scan.fail("scopes are nested too deeply", f"at most {_MAX_SCOPES} levels", at)
        self.scopes.append(Scope(len(self.function.registers), len(self.resolved)))

    def close_scope(self) -> bool:
        """Leave the innermost scope; True when that was the function's body."""
        scope = self.scopes.pop()
        if not self.scopes:
            return True
        known = self.operands
        resolved = self.resolved
        mark = scope.mark
        if len(resolved) > mark:
            for text in resolved[mark:]:
                del known[text]
            del resolved[mark:]
        for name in scope.names:
            del known[name]
        if scope.hidden:
            known.update(scope.hidden)
        return False

    def make_way(self, name: str, at: int) -> None:
        """``name`` means something and is about to be declared: refused where its own scope declares it already.

        Otherwise every text that was resolved so far is dropped, since the name may stand in it.
        """
        scope = self.scopes[-1]
        if self.is_declared_here(name):
            raise self.declared_twice(name, at)
        for text in self.resolved:
            del self.operands[text]
        self.resolved.clear()
        for around in self.scopes:
            around.mark = 0
        outer = self.operands.get(name)
        if outer is not None:
            scope.hidden[name] = outer

    def is_declared_here(self, name: str) -> bool:
        """Whether the innermost scope declares ``name``."""
        scope = self.scopes[-1]
        found = self.operands.get(name)
        if isinstance(found, Register):
            return found.id >= scope.first_register
        return name in scope.variables

    def declared_twice(self, name: str, at: int) -> SourceError:
        return self.module.error(ParseError, at, f"'{name}' is declared twice", "a name that is unique in its scope")

    def unique(self, name: str) -> str:
        """``name``, or ``name$1``, ``name$2`` ... when the function has it already."""
        used = self.used
        known = self.operands
        if name not in used and name not in known:
            return name
        number = self.copies.get(name, 0) + 1
        copy = f"{name}${number}"
        while copy in used or copy in known:
            number += 1
            copy = f"{name}${number}"
        self.copies[name] = number
        used.add(copy)
        return copy

    def declare(self, name: str, operand: Operand) -> None:
        """Let ``name``, which may mean something else outside, mean ``operand`` in the innermost scope."""
        self.operands[name] = operand
        if len(self.scopes) > 1:
            self.scopes[-1].names.append(name)
            self.used.add(name)

    def declare_variable(self, variable: Variable) -> None:
        name = variable.name
        if name in self.operands:
            self.make_way(name, variable.pos)
        variable.name = self.unique(name)
        self.scopes[-1].variables[name] = variable
        self.declare(name, Symbol(variable.name))

    def find_variable(self, name: str) -> Variable | None:
        """The variable of the function that ``name`` means, or None."""
        for scope in reversed(self.scopes):
            variable = scope.variables.get(name)
            if variable is not None:
                return variable
        return None

    def declare_registers(self, stem: str, count: int, type: Type, lanes: int, at: int) -> None:
        """``stem<count>``: all at once where no name is taken, which is nearly always."""
        names = numbered_names(stem, count)
        if len(names) > count:
            names = names[:count]
        known = self.operands
        used = self.used
        if lanes > 1 or not known.keys().isdisjoint(names) or (used and not used.isdisjoint(names)):
            for name in names:
                self.declare_register(name, type, lanes, at)
            return
        registers = self.function.registers
        index = len(registers)
        for name in names:
            register = Register(index, name, type)
            registers.append(register)
            known[name] = register
            index += 1
        if len(self.scopes) > 1:
            self.scopes[-1].names.extend(names)
            used.update(names)

    def declare_register(self, name: str, type: Type, lanes: int, at: int) -> None:
        """A register, or one for each component of a vector: ``v.x`` is kept as ``v_x``, ``v`` as ``{v_x, v_y}``."""
        if lanes == 1:
            self.add_register(name, type, at)
            return
        if type is PRED:
            raise self.scan.fail("predicates have no vectors", "scalar .pred registers", at)
        if name in self.operands:
            self.make_way(name, at)
        elements: list[Operand] = []
        for index in range(lanes):
            register = self.new_register(f"{name}_{'xyzw'[index]}", type)
            self.used.add(register.name)
            elements.append(register)
            for letters in ("xyzw", "rgba"):
                component = f"{name}.{letters[index]}"
                if component in self.operands:
                    self.make_way(component, at)
                self.declare(component, register)
        self.scopes[-1].variables[name] = None
        self.declare(name, Vector(elements))

    def add_register(self, name: str, type: Type, at: int) -> Register:
        if name in self.operands:
            self.make_way(name, at)
        register = self.new_register(name, type)
        self.declare(name, register)
        return register

    def new_register(self, name: str, type: Type) -> Register:
        registers = self.function.registers
        register = Register(len(registers), self.unique(name), type)
        registers.append(register)
        return register
