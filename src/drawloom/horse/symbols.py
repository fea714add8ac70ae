"""The modules of a text to one module, by the three-pass symbol table of thesis section 4.1.

1. Modules and their functions become symbols, beside those that the system provides (figure 4.2).
2. The imports of each module become its scope.
3. Every function that a body names is resolved. A name means the function of its own module; else what an import
   names; else what ``import m.*`` brings. Two of the same rank are an error that names both, which the full path
   ``@m.f`` resolves (figure 4.3).

``link`` then writes the functions of all modules down as one, in which a name means one thing: what is called as a
builtin, or as a function before it, is called ``module_function`` there.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import DataError, StatementError, VerifyError
from drawloom.horse.builtins import BUILTIN_MODULE, BUILTINS
from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Evaluate,
    Expression,
    Function,
    FunctionRef,
    If,
    Import,
    Loop,
    Module,
    Operand,
    Pos,
    Statement,
    walk,
    with_bodies,
)

#: The module of what runs on the device: ``order`` as ``order_lib`` (figure 4.2).
GPU_MODULE: Final = "GPU"


class Symbol:
    """A function by its module and name; ``function`` is None for what the system provides, whose builtin ``linked``
    names. Of others ``linked`` is the name in the linked module."""

    def __init__(self, module: str, name: str, linked: str, function: Function | None = None) -> None:
        self.module = module
        self.name = name
        self.linked = linked
        self.function = function

    @property
    def path(self) -> str:
        return f"@{self.module}.{self.name}"


_SYSTEM: Final[dict[str, dict[str, Symbol]]] = {
    BUILTIN_MODULE: {name: Symbol(BUILTIN_MODULE, name, name) for name in BUILTINS},
    GPU_MODULE: {
        f"{b.name}_lib": Symbol(GPU_MODULE, f"{b.name}_lib", b.name) for b in BUILTINS.values() if b.target != "cpu"
    },
}


def refusal(module: Module, message: str, pos: Pos, expected: str = "") -> VerifyError:
    """The error at a place in the module's text."""
    lines = module.source.split("\n")
    line = lines[pos.line - 1] if 0 < pos.line <= len(lines) else ""
    return VerifyError(message, module.filename or "<horse>", pos.line, pos.column, line, expected)


def refused_data(module: Module, problem: DataError, pos: Pos) -> DataError:
    """The error with the place of the statement that it came from; itself where it has one, or there is none."""
    if pos.line <= 0 or isinstance(problem, StatementError):
        return problem
    return StatementError(problem.message, str(refusal(module, problem.message, pos)), pos.line)


class _Scope:
    """What the names in one module mean: its own functions, those that imports name, and whole modules."""

    def __init__(self, own: dict[str, Symbol]) -> None:
        self.own = own
        self.named: dict[str, list[Symbol]] = {}
        self.whole: list[dict[str, Symbol]] = []

    def find(self, name: str) -> list[Symbol]:
        """The symbols of the highest rank that has any."""
        if name in self.own:
            return [self.own[name]]
        if name in self.named:
            return self.named[name]
        return [symbols[name] for symbols in self.whole if name in symbols]


class Symbols:
    """The symbol table of the modules of one text. Raises VerifyError for what names nothing, or two things."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules: dict[str, dict[str, Symbol]] = dict(_SYSTEM)
        self.scopes: dict[str, _Scope] = {}
        #: The symbol of each function that a body names.
        self.resolved: dict[FunctionRef, Symbol] = {}
        for module in modules:
            self.add_functions(module)
        for module in modules:
            self.add_imports(module)
        for module in modules:
            for function in module.functions:
                self.resolve_body(module, function)

    # Pass 1

    def add_functions(self, module: Module) -> None:
        if module.name in _SYSTEM:
            raise refusal(module, f"module '{module.name}' is the system's", module.pos, "another name")
        if module.name in self.modules:
            raise refusal(module, f"module '{module.name}' is defined twice", module.pos, "another name")
        own: dict[str, Symbol] = {}
        for function in module.functions:
            if function.name in own:
                raise refusal(module, f"function '{function.name}' is defined twice", function.pos, "another name")
            own[function.name] = Symbol(module.name, function.name, function.name, function)
        self.modules[module.name] = own
        self.scopes[module.name] = _Scope(own)

    # Pass 2

    def add_imports(self, module: Module) -> None:
        scope = self.scopes[module.name]
        for item in module.imports:
            symbols = self.module(module, item.module, item.pos)
            if item.names is None:
                if symbols not in scope.whole:
                    scope.whole.append(symbols)
                continue
            for name in item.names:
                if name not in symbols:
                    raise refusal(module, f"module {item.module} has no function '{name}'", item.pos)
                named = scope.named.setdefault(name, [])
                if symbols[name] not in named:
                    named.append(symbols[name])

    def module(self, module: Module, name: str, pos: Pos) -> dict[str, Symbol]:
        symbols = self.modules.get(name)
        if symbols is None:
            raise refusal(module, f"there is no module '{name}'", pos, f"one of {', '.join(sorted(self.modules))}")
        return symbols

    # Pass 3

    def resolve_body(self, module: Module, function: Function) -> None:
        for statement in walk(function.body):
            if not isinstance(statement, Assign | Evaluate):
                continue
            value = statement.value.value if isinstance(statement.value, CheckCast) else statement.value
            if isinstance(value, Call):
                for ref in [value.function, *[a for a in value.arguments if isinstance(a, FunctionRef)]]:
                    self.resolved[ref] = self.resolve(module, ref)

    def resolve(self, module: Module, ref: FunctionRef) -> Symbol:
        if ref.module:
            found = self.module(module, ref.module, ref.pos).get(ref.name)
            if found is None:
                raise refusal(module, f"there is no function @{ref.module}.{ref.name}", ref.pos)
            return found
        symbols = self.scopes[module.name].find(ref.name)
        if not symbols:
            homes = sorted([name for name, known in self.modules.items() if ref.name in known])
            hint = " or ".join([f"'import {name}.*;'" for name in homes])
            expected = hint or "a function of this module or an imported one"
            raise refusal(module, f"there is no function @{ref.name}", ref.pos, expected)
        if len(symbols) > 1:
            paths = [s.path for s in symbols]
            raise refusal(module, f"@{ref.name} is {' and '.join(paths)}", ref.pos, f"a full path, such as {paths[0]}")
        return symbols[0]


def link(modules: list[Module]) -> Module:
    """All modules of one text as one, ``main`` first; a module itself where there is nothing to write differently.

    Raises VerifyError for what names nothing or two things, and for a second ``main``.
    """
    symbols = Symbols(modules)
    first = _main_module(modules)
    ordered = [first, *[m for m in modules if m is not first]]
    taken = set(BUILTINS)
    for module in ordered:
        for function in module.functions:
            symbol = symbols.modules[module.name][function.name]
            symbol.linked = _free(function.name, f"{module.name}_{function.name}", taken)
    if len(modules) == 1 and all(ref.name == symbol.linked for ref, symbol in symbols.resolved.items()):
        return first
    imports = [Import(BUILTIN_MODULE, None)] if any(m.imports for m in modules) else []
    functions = [_linked(f, symbols, symbols.modules[m.name][f.name].linked) for m in ordered for f in m.functions]
    made = Module(first.name, imports, functions, first.pos)
    made.source, made.filename = first.source, first.filename
    return made


def _main_module(modules: list[Module]) -> Module:
    """The module whose ``main`` is the entry, the first one where there is none."""
    having = [m for m in modules if m.function("main") is not None]
    if len(having) > 1:
        main = having[1].function("main")
        assert main is not None
        names = " and ".join([m.name for m in having])
        raise refusal(having[1], f"there is a 'main' in modules {names}", main.pos, "one function 'main'")
    return having[0] if having else modules[0]


def _free(name: str, long_name: str, taken: set[str]) -> str:
    """The name, the long one where that is taken, or the long one with a number; taken from now on."""
    found, count = name, 0
    while found in taken:
        found = f"{long_name}{count or ''}"
        count += 1
    taken.add(found)
    return found


def _linked(function: Function, symbols: Symbols, name: str) -> Function:
    body = _linked_body(function.body, symbols)
    return Function(name, function.params, function.returns, body, function.is_kernel, function.pos)


def _linked_body(body: list[Statement], symbols: Symbols) -> list[Statement]:
    made: list[Statement] = []
    for statement in body:
        if isinstance(statement, If | Loop):
            made.append(with_bodies(statement, lambda inner: _linked_body(inner, symbols)))
        elif isinstance(statement, Assign):
            value = _linked_expression(statement.value, symbols)
            made.append(Assign(statement.targets, value, statement.pos))
        elif isinstance(statement, Evaluate):
            made.append(Evaluate(_linked_expression(statement.value, symbols), statement.pos))
        else:
            made.append(statement)
    return made


def _linked_expression(expression: Expression, symbols: Symbols) -> Expression:
    if isinstance(expression, CheckCast):
        return CheckCast(_linked_expression(expression.value, symbols), expression.type, expression.pos)
    if not isinstance(expression, Call):
        return expression
    arguments: list[Operand] = [_ref(a, symbols) if isinstance(a, FunctionRef) else a for a in expression.arguments]
    return Call(_ref(expression.function, symbols), arguments, expression.pos)


def _ref(ref: FunctionRef, symbols: Symbols) -> FunctionRef:
    return FunctionRef(symbols.resolved[ref].linked, "", ref.pos)
