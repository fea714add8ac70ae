"""Checks what stands outside instructions: version and target, variables, function headers and directives.

Declarations count from where they stand, as in C: a function may use what was declared before it.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import FLOAT32, FLOAT64, INT, Directive, Function, Immediate, Module, Symbol, Variable
from drawloom.ptx.report import Reporter
from drawloom.ptx.types import DECLARABLE, PRED

#: The least PTX version for each architecture (PTX ISA 9.0 sections 11.1.2 and 12).
_ARCHITECTURES: Final[dict[str, tuple[int, int]]] = {
    "sm_10": (1, 0), "sm_11": (1, 0), "sm_12": (1, 2), "sm_13": (1, 2), "sm_20": (2, 0), "sm_21": (2, 0),
    "sm_30": (3, 0), "sm_32": (4, 0), "sm_35": (3, 1), "sm_37": (4, 1), "sm_50": (4, 0), "sm_52": (4, 1),
    "sm_53": (4, 2), "sm_60": (5, 0), "sm_61": (5, 0), "sm_62": (5, 0), "sm_70": (6, 0), "sm_72": (6, 1),
    "sm_75": (6, 3), "sm_80": (7, 0), "sm_86": (7, 1), "sm_87": (7, 4), "sm_88": (9, 0), "sm_89": (7, 8),
    "sm_90": (7, 8), "sm_90a": (8, 0), "sm_100": (8, 6), "sm_100a": (8, 6), "sm_100f": (8, 8), "sm_101": (8, 6),
    "sm_101a": (8, 6), "sm_101f": (8, 8), "sm_103": (8, 8), "sm_103a": (8, 8), "sm_103f": (8, 8),
    "sm_110": (9, 0), "sm_110a": (9, 0), "sm_110f": (9, 0), "sm_120": (8, 7), "sm_120a": (8, 7),
    "sm_120f": (8, 8), "sm_121": (8, 8), "sm_121a": (8, 8), "sm_121f": (8, 8),
}  # fmt: skip
_TARGET_OPTIONS: Final = frozenset("texmode_unified texmode_independent debug map_f64_to_f32".split())
#: The last version of each major one (PTX ISA, release history). Those of 9 still come: what is above NEWEST may say
#: what is not known here.
_LAST_MINOR: Final[dict[int, int]] = {1: 5, 2: 3, 3: 2, 4: 3, 5: 1, 6: 5, 7: 8, 8: 8, 9: 9}
NEWEST: Final = (9, 0)
_VECTOR_BITS: Final = 128
_CONST_BYTES: Final = 65536
#: Bytes of parameters of a kernel: since PTX 8.1 on sm_70 and later, and before.
_PARAM_BYTES: Final = 32764
_OLD_PARAM_BYTES: Final = 4352
_MASK_BITS: Final = 0xFF
_INITIALIZED: Final = frozenset({"global", "const"})
#: Performance directives with the number of values they take, least and most.
_VALUES: Final[dict[str, tuple[int, int]]] = {
    ".maxntid": (1, 3), ".reqntid": (1, 3), ".maxnreg": (1, 1), ".minnctapersm": (1, 1), ".maxnctapersm": (1, 1),
    ".maxclusterrank": (1, 1), ".reqnctapercluster": (0, 3), ".explicitcluster": (0, 0), ".blocksareclusters": (0, 0),
}  # fmt: skip
_MOST: Final = (1 << 32) - 1
_CONFLICTS: Final = ((".maxntid", ".reqntid"), (".maxclusterrank", ".reqnctapercluster"))


def sm_number(target: str) -> int:
    """The number of a target such as ``sm_90a``; 0 when it is none."""
    digits = target.removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdigit() and len(digits) < 5 else 0


def is_architecture(target: str) -> bool:
    """Whether PTX can be for a target such as ``sm_90a``."""
    return target in _ARCHITECTURES


class DeclarationChecker:
    """Goes through the items of a module in order; ``functions`` and ``variables`` hold what was declared so far."""

    def __init__(self, module: Module, reporter: Reporter) -> None:
        self.module = module
        self.reporter = reporter
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.const_bytes = 0

    def target_rules(self) -> None:
        """``.version`` and ``.target``."""
        version = self.module.version
        at = max(self.module.source.find(".target"), 0)
        if version[1] > _LAST_MINOR.get(version[0], -1):
            last = ", ".join([f"{major}.{minor}" for major, minor in _LAST_MINOR.items()])
            self.fail(0, f"PTX version {version[0]}.{version[1]} is unknown", f"one up to {last}")
        for index, name in enumerate(self.module.target):
            if index > 0:
                if name not in _TARGET_OPTIONS:
                    self.fail(at, f"unknown target option '{name}'", ", ".join(sorted(_TARGET_OPTIONS)))
                continue
            least = _ARCHITECTURES.get(name)
            if least is None:
                self.fail(at, f"unknown architecture '{name}'", "one such as sm_75, sm_80 or sm_90")
            elif least > version:
                self.fail(
                    0,
                    f"PTX {version[0]}.{version[1]} does not know {name}",
                    f"'.version {least[0]}.{least[1]}' or later",
                )

    # -- variables ---------------------------------------------------------------------------------------

    def module_variable(self, variable: Variable) -> None:
        name = variable.name
        known = self.variables.get(name)
        if name in self.functions:
            self.fail(variable.pos, f"'{name}' is a function already", "a name that is unique in the module")
        elif known is not None and not self.may_redeclare(known, variable):
            self.fail(variable.pos, f"'{name}' is declared twice", "a name that is unique in the module")
        if variable.space == "local":
            self.fail(variable.pos, f"'{name}' in .local space at module level", "a declaration inside a function")
        if variable.linkage == ".common" and variable.space != "global":
            self.fail(variable.pos, f"'{name}' is .common in .{variable.space} space", ".common .global")
        if variable.linkage == ".extern" and variable.initializer is not None:
            self.fail(variable.pos, f"'{name}' is .extern and has an initial value", "one or the other")
        if variable.space == "const" and variable.linkage != ".extern":
            self.const_bytes += variable.size
            if self.const_bytes > _CONST_BYTES:
                self.fail(
                    variable.pos, f"{self.const_bytes} bytes in .const space", f"at most {_CONST_BYTES} in a module"
                )
        self.variable(variable)
        self.variables[name] = variable

    def may_redeclare(self, known: Variable, variable: Variable) -> bool:
        """A declaration with linkage may be followed by the definition; both say the same type."""
        if known.type is not variable.type or known.space != variable.space or known.vector != variable.vector:
            return False
        return known.linkage == ".extern" and variable.linkage != ""

    def variable(self, variable: Variable) -> None:
        """Rules for every variable, wherever it is declared."""
        name = variable.name
        if variable.type is PRED:
            self.fail(variable.pos, f"'{name}' is a predicate in memory", "a .reg .pred register")
        elif variable.type.name not in DECLARABLE:
            self.fail(
                variable.pos, f"'{name}' has type .{variable.type.name}", "a fundamental type such as .b16 or .f32"
            )
        if variable.vector > 1 and (variable.vector > 4 or variable.vector * variable.type.bits > _VECTOR_BITS):
            self.fail(
                variable.pos, f"'{name}' is a vector of {variable.vector * variable.type.bits} bits",
                f".v2 or .v4 with at most {_VECTOR_BITS} bits",
            )  # fmt: skip
        is_unsized = bool(variable.shape) and variable.count == 0
        if is_unsized and variable.linkage != ".extern" and variable.space != "param":
            self.fail(variable.pos, f"the size of '{name}' is unknown", "a size, an initial value or .extern")
        if variable.initializer is not None:
            self.initializer(variable)

    def initializer(self, variable: Variable) -> None:
        name = variable.name
        if variable.space not in _INITIALIZED:
            self.fail(variable.pos, f"'{name}' in .{variable.space} space has an initial value", ".global or .const")
            return
        if variable.type.name in ("f16", "f16x2"):
            self.fail(
                variable.pos, f"'{name}' has type .{variable.type.name} and an initial value", "type .b16 or .b32"
            )
            return
        for item in variable.initializer or []:
            value = item.value
            if isinstance(value, Immediate):
                wrong = self.wrong_literal(variable, value)
            else:
                wrong = self.wrong_address(variable, value, item.mask)
            if wrong:
                self.fail(
                    variable.pos, f"the initial value of '{name}': {wrong}", f"a constant of type .{variable.type.name}"
                )
                return

    def wrong_literal(self, variable: Variable, value: Immediate) -> str:
        type = variable.type
        if type.is_float and value.kind == INT and value.value != 0:
            return f"{value!r} is an integer"
        if type.is_integer and value.kind in (FLOAT32, FLOAT64):
            return f"{value!r} is a float"
        return ""

    def wrong_address(self, variable: Variable, value: Symbol, mask: int) -> str:
        if variable.type.is_float:
            return f"'{value.name}' is an address"
        if (mask and (mask & -mask).bit_length() % 8 != 1) or (mask and mask // (mask & -mask) != _MASK_BITS):
            return f"the mask {mask:#x} is not one byte"
        if value.name in self.functions:
            return "" if value.offset == 0 else f"an offset from function '{value.name}'"
        target = self.variables.get(value.name)
        if target is None and value.name != variable.name:
            return f"'{value.name}' is not declared before"
        if target is not None and target.space not in _INITIALIZED:
            return f"'{value.name}' is in .{target.space} space, not .global or .const"
        return ""

    # -- functions ---------------------------------------------------------------------------------------

    def function(self, function: Function) -> None:
        name = function.name
        known = self.functions.get(name)
        if name in self.variables:
            self.fail(function.pos, f"'{name}' is a variable already", "a name that is unique in the module")
        elif known is not None:
            if known.has_body:
                self.fail(function.pos, f"function '{name}' is defined already", "one definition")
            elif not _same_signature(known, function):
                self.fail(function.pos, f"'{name}' differs from its declaration", "the same parameters and results")
        self.functions[name] = function
        if function.is_entry:
            self.entry(function)
        else:
            self.device_function(function)
        for variable in function.params + function.returns:
            if variable.space == "param":
                self.parameter(variable)
        for variable in function.variables:
            self.variable(variable)
        self.directives(function)

    def entry(self, function: Function) -> None:
        from drawloom.ptx.layout import param_layout

        for variable in function.params:
            if variable.space != "param":
                self.fail(variable.pos, f"kernel parameter '{variable.name}' is a register", "a .param")
            elif variable.shape and variable.count == 0:
                self.fail(variable.pos, f"the size of kernel parameter '{variable.name}' is unknown", "a size")
        size = param_layout(function)[1]
        is_new = self.module.version >= (8, 1) and sm_number(self.module.arch) >= 70
        most = _PARAM_BYTES if is_new else _OLD_PARAM_BYTES
        if size > most:
            self.fail(function.pos, f"'{function.name}' has {size} bytes of parameters", f"at most {most}")

    def device_function(self, function: Function) -> None:
        if len(function.returns) > 1 and any(v.space == "param" for v in function.returns):
            self.fail(function.pos, f"'{function.name}' returns several .param values", "one .param, or .reg results")
        if function.noreturn and function.returns:
            self.fail(function.pos, f"'{function.name}' is .noreturn and returns a value", "one or the other")
        for variable in function.params:
            if variable.is_pointer:
                self.fail(variable.pos, f"'{variable.name}' has .ptr outside a kernel", "no .ptr")

    def parameter(self, variable: Variable) -> None:
        if variable.type is PRED or variable.type.name == "f16x2" or variable.type.name not in DECLARABLE:
            self.fail(
                variable.pos, f"parameter '{variable.name}' has type .{variable.type.name}", "a type such as .b32"
            )
        elif variable.vector > 1:
            self.fail(variable.pos, f"parameter '{variable.name}' is a vector", "an aligned array")

    def directives(self, function: Function) -> None:
        seen: set[str] = set()
        for directive in function.directives:
            seen.add(directive.name)
            wanted = _VALUES.get(directive.name)
            if wanted is not None:
                self.directive(function, directive, wanted)
        for first, second in _CONFLICTS:
            if first in seen and second in seen:
                self.fail(function.pos, f"'{function.name}' has both {first} and {second}", "one of them")
        if function.is_entry and function.noreturn:
            self.fail(function.pos, f"kernel '{function.name}' is .noreturn", "a .func")

    def directive(self, function: Function, directive: Directive, wanted: tuple[int, int]) -> None:
        values = [word.strip() for word in directive.text.split(",")] if directive.text else []
        if not function.is_entry:
            self.fail(directive.pos, f"{directive.name} on device function '{function.name}'", "a kernel")
        elif not wanted[0] <= len(values) <= wanted[1]:
            self.fail(directive.pos, f"{directive.name} has {len(values)} values", f"{wanted[0]} to {wanted[1]}")
        elif any(not value.isdigit() or int(value) == 0 for value in values):
            self.fail(directive.pos, f"{directive.name} {directive.text}", "positive integers")
        elif any(int(value) > _MOST for value in values):
            self.fail(directive.pos, f"{directive.name} {directive.text}", f"at most {_MOST}, which 32 bits hold")

    def fail(self, pos: int, message: str, expected: str) -> None:
        self.reporter.report(pos, message, expected)


def _same_signature(first: Function, second: Function) -> bool:
    if first.is_entry != second.is_entry or len(first.params) != len(second.params):
        return False
    if len(first.returns) != len(second.returns):
        return False
    for a, b in zip(first.params + first.returns, second.params + second.returns):
        if a.type is not b.type or a.shape != b.shape or a.space != b.space:
            return False
    return True
