"""Checks a module against the rules of PTX: ``verify`` raises the first violation, ``verify_all`` gives them all.

Every instruction is judged by the instruction table once per tuple of operand signatures (see ``operands``);
the rest is checked by ``declarations`` (module level and headers) and ``calls``. Places are worked out only for
errors.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import SourceError, VerifyError
from drawloom.ptx.calls import CallChecker
from drawloom.ptx.declarations import DeclarationChecker, is_architecture, sm_number
from drawloom.ptx.ir import (
    Address,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Function,
    Instruction,
    Label,
    LabelRef,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from drawloom.ptx.isa import BRANCH, CALL, Form, Opcode, Verdict
from drawloom.ptx.operands import judge, signature, wrong_value
from drawloom.ptx.report import Reporter
from drawloom.ptx.specials import find_special
from drawloom.ptx.types import PRED
from drawloom.ptx.unread import Unknown, Unread


def verify(module: Module) -> None:
    """Raise ``VerifyError`` for the first rule that ``module`` breaks: it names file, line, column and what was
    expected."""
    _Verifier(module, Reporter(module, True)).module_rules()


def verify_all(module: Module) -> list[VerifyError]:
    """Every violation in ``module``, in file order; empty when there is none."""
    reporter = Reporter(module, False)
    _Verifier(module, reporter).module_rules()
    return sorted(reporter.errors, key=lambda error: (error.line, error.column))


class Fault:
    """A rule that ``instruction`` of ``function`` breaks; that of None, another statement or a header of the function;
    that of no function, something outside of functions."""

    def __init__(self, function: Function | None, instruction: Instruction | None, error: VerifyError) -> None:
        self.function = function
        self.instruction = instruction
        self.error = error


def faults(module: Module) -> list[Fault]:
    """All that is wrong with what is understood of a module (see ``drawloom.ptx.recovery``). An architecture that is
    not known is taken to have everything."""
    verifier = _Verifier(module, Reporter(module, False))
    verifier.may_have_unknown = True
    if not is_architecture(module.arch):
        verifier.sm, verifier.specific = _FUTURE_SM, True
    verifier.module_rules()
    return verifier.faults


class _Legal:
    """The operand signatures that were found legal for an opcode."""

    def __init__(self) -> None:
        self.all: set[tuple[str, ...]] = set()
        #: The first few of them, to be found again by identity: those of registers and literals are always the same.
        self.first: list[list[str]] = []

    def add(self, signatures: tuple[str, ...]) -> None:
        self.all.add(signatures)
        if len(self.first) < _FIRST:
            self.first.append(list(signatures))

    def has(self, operands: list[Operand], spaces: dict[str, str]) -> bool:
        """Whether operands are legal; ``spaces`` are those of symbols."""
        for signatures in self.first:
            if len(signatures) == len(operands):
                for index in range(len(operands)):
                    if operands[index].signature is not signatures[index]:
                        break
                else:
                    return True
        return tuple([operand.signature or signature(operand, spaces) for operand in operands]) in self.all


_FIRST: Final = 4
_FUTURE_SM: Final = 998
_Accepted = dict[Opcode, _Legal]
_MAX_TARGETS: Final = 64
#: Per target: for each opcode the operand signatures that were found legal. Opcodes with further rules are not in it.
_accepted: dict[tuple[tuple[int, int], str, int], _Accepted] = {}


def _accepted_for(module: Module) -> _Accepted:
    key = (module.version, module.arch, module.address_size)
    known = _accepted.get(key)
    if known is None:
        if len(_accepted) >= _MAX_TARGETS:
            _accepted.clear()
        known = _accepted.setdefault(key, {})
    return known


class _Verifier:
    def __init__(self, module: Module, reporter: Reporter) -> None:
        self.module = module
        self.reporter = reporter
        self.address_size = module.address_size
        self.version = module.version
        self.sm = sm_number(module.arch)
        self.specific = module.arch.endswith(("a", "f"))
        self.accepted = _accepted_for(module)
        self.function = Function("")
        #: The space of every symbol that is visible: of the module, and of the function at hand.
        self.spaces: dict[str, str] = {}
        self.labels: set[str] = set()
        self.jumps: list[Instruction] = []
        self.tables: dict[str, Statement] = {}
        self.branches: set[Opcode] = set()
        self.calls: CallChecker | None = None
        self.may_have_unknown = False
        #: The errors with what they are of.
        self.faults: list[Fault] = []

    def module_rules(self) -> None:
        module = self.module
        declarations = DeclarationChecker(module, self.reporter)
        declarations.target_rules()
        self.own(None, None)
        for item in module.items:
            if isinstance(item, Variable):
                declarations.module_variable(item)
                self.spaces[item.name] = item.space
            elif isinstance(item, Function):
                declarations.function(item)
                self.spaces[item.name] = "entry" if item.is_entry else "func"
                if item.has_body:
                    self.body(item, declarations.functions)
                elif item.unread is not None and not self.may_have_unknown:
                    self.refuse(item.unread.refusal)
            elif isinstance(item, Unread) and not self.may_have_unknown:
                self.refuse(item.refusal)
            self.own(item if isinstance(item, Function) else None, None)

    def own(self, function: Function | None, instruction: Instruction | None) -> None:
        """The errors that were found since are of an instruction, a function, or of none."""
        errors = self.reporter.errors
        for index in range(len(self.faults), len(errors)):
            self.faults.append(Fault(function, instruction, errors[index]))

    def refuse(self, refusal: SourceError) -> None:
        """One error for what the parser did not understand."""
        self.reporter.add(
            VerifyError(
                refusal.message, refusal.file, refusal.line, refusal.column, refusal.source_line, refusal.expected
            )
        )

    # -- one function ------------------------------------------------------------------------------------

    def body(self, function: Function, declared: dict[str, Function]) -> None:
        self.function = function
        spaces = self.spaces
        local: dict[str, str] = {}
        params: dict[str, Variable] = {}
        for variable in function.params:
            if variable.register is None:
                local[variable.name] = "param.entry" if function.is_entry else "param.in"
                params[variable.name] = variable
        for variable in function.returns:
            if variable.register is None:
                local[variable.name] = "param.out"
                params[variable.name] = variable
        for variable in function.variables:
            local[variable.name] = variable.space
            if variable.space == "param":
                params[variable.name] = variable
        hidden = {name: spaces[name] for name in local if name in spaces}
        spaces.update(local)
        self.labels = set()
        self.jumps = []
        self.tables = {}
        self.calls = CallChecker(declared, function, self.tables, params, self.reporter)
        if not self.module.source:
            self.names_are_unique(function)
        self.instructions(function.body)
        for jump in self.jumps:
            self.jump(jump)
        for statement in self.tables.values():
            self.table(statement)
        for name in local:
            del spaces[name]
        spaces.update(hidden)

    def names_are_unique(self, function: Function) -> None:
        """What the parser sees to in text must be checked in a module that passes made."""
        seen: set[str] = set()
        for name in [register.name for register in function.registers] + [v.name for v in function.variables]:
            if name in seen:
                self.reporter.report(-1, f"'{name}' is declared twice in '{function.name}'", "unique names")
            seen.add(name)

    def instructions(self, body: list[Statement]) -> None:
        accepted_for = self.accepted
        spaces = self.spaces
        for statement in body:
            if isinstance(statement, Instruction):
                guard = statement.guard
                if guard is not None and guard.type is not PRED:
                    self.wrong_guard(statement, guard)
                accepted = accepted_for.get(statement.opcode)
                if accepted is not None and statement.pos >= 0:  # others were made by a pass, maybe of stray registers
                    if accepted.has(statement.operands, spaces):
                        continue
                self.own(self.function, None)
                self.instruction(statement)
                self.own(self.function, statement)
            elif isinstance(statement, Label):
                self.label(statement, statement.name)
            elif isinstance(statement, (BranchTargets, CallTargets, CallPrototype)):
                self.label(statement, statement.name)
                self.tables[statement.name] = statement

    def label(self, statement: Statement, name: str) -> None:
        if name in self.labels or name in self.tables:
            self.reporter.report(statement.pos, f"label '{name}' is defined twice", "a label that is unique")
        if isinstance(statement, Label):
            self.labels.add(name)

    def instruction(self, statement: Instruction) -> None:
        """The slow road: symbols, signatures that were not judged before, and opcodes with further rules."""
        if isinstance(statement, Unknown):
            if not self.may_have_unknown:
                self.refuse(statement.refusal)
            return
        opcode = statement.opcode
        operands = statement.operands
        effect = opcode.effect
        if effect == BRANCH and operands:
            self.jumps.append(statement)
            if len(operands) == 1 and opcode in self.branches and statement.pos >= 0:
                return
            if len(operands) == 2:
                self.table_jump(statement, operands[1])
        spaces = self.spaces
        key = tuple([operand.signature or signature(operand, spaces) for operand in operands])
        if statement.guard is not None and not self.names_are_known(statement, -1, statement.guard):
            return
        for index, operand in enumerate(operands):
            if not self.names_are_known(statement, index, operand):
                return
        verdict = judge(opcode, key, self.address_size)
        if not verdict.forms:
            self.reporter.instruction(self.function, statement, verdict.operand, verdict.message, verdict.expected)
            return
        if not self.is_available(statement, verdict):
            return
        if opcode.bounds:
            wrong = wrong_value(opcode, operands)
            if wrong is not None:
                self.reporter.instruction(self.function, statement, wrong.operand, wrong.message, wrong.expected)
        elif effect == CALL:
            if self.calls is not None:
                self.calls.check(statement)
        elif effect == BRANCH:
            self.branches.add(opcode)
        else:
            legal = self.accepted.get(opcode)
            if legal is None:
                legal = self.accepted.setdefault(opcode, _Legal())
            legal.add(key)

    def wrong_guard(self, statement: Instruction, guard: Register) -> None:
        self.reporter.instruction(
            self.function, statement, -1, f"the guard {guard.name} is a .{guard.type.name} register", "a .pred register"
        )

    def is_available(self, statement: Instruction, verdict: Verdict) -> bool:
        """Whether the module's PTX version and target have one of the forms, and the special registers it names."""
        for form in verdict.forms:
            if form.version <= self.version and form.sm <= self.sm <= form.last_sm:
                if self.specific or not form.specific:
                    break
        else:
            self.has_no_form(statement, verdict.forms[0])
            return False
        for operand in statement.operands:
            if isinstance(operand, SpecialRegister):
                special = find_special(operand.name)
                if special is not None and (special.version > self.version or special.sm > self.sm):
                    self.lacks(statement, operand.name, special.version, special.sm)
                    return False
        return True

    def has_no_form(self, statement: Instruction, form: Form) -> None:
        what = f"'{statement.opcode.text}'"
        if self.sm > form.last_sm:
            message = f"{what} exists up to sm_{form.last_sm} only, this module is for {self.module.arch}"
            self.reporter.instruction(self.function, statement, -1, message, "the form with '.sync' and a member mask")
        elif form.specific and form.version <= self.version:
            message = f"{what} needs a target such as sm_{form.sm}a, this module is for {self.module.arch}"
            self.reporter.instruction(self.function, statement, -1, message, f"'.target sm_{form.sm}a'")
        else:
            self.lacks(statement, what, form.version, form.sm)

    def lacks(self, statement: Instruction, what: str, version: tuple[int, int], sm: int) -> None:
        need = f"PTX {version[0]}.{version[1]}" if version > self.version else f"sm_{sm}"
        have = f"PTX {self.version[0]}.{self.version[1]} for {self.module.arch}"
        self.reporter.instruction(
            self.function, statement, -1, f"{what} needs {need} or later, this module is {have}",
            f"'.version {version[0]}.{version[1]}' and '.target sm_{sm}' or later",
        )  # fmt: skip

    def names_are_known(self, statement: Instruction, index: int, operand: Operand) -> bool:
        """Registers belong to the function, symbols are declared."""
        if isinstance(operand, Register):
            registers = self.function.registers
            if operand.id < len(registers) and registers[operand.id] is operand:
                return True
            self.reporter.instruction(
                self.function, statement, index, f"register {operand.name} is not of this function", "its own register"
            )
            return False
        if isinstance(operand, Symbol):
            if operand.name in self.spaces:
                return True
            what = "function" if statement.opcode.name == "call" else "symbol"
            self.reporter.instruction(
                self.function, statement, index, f"undefined {what} '{operand.name}'",
                "a variable or function that is declared",
            )  # fmt: skip
            return False
        if isinstance(operand, SpecialRegister):
            if find_special(operand.name) is not None:
                return True
            self.reporter.instruction(
                self.function, statement, index, f"{operand.name} is no special register", "one such as %tid.x"
            )
            return False
        if isinstance(operand, Address):
            return operand.base is None or self.names_are_known(statement, index, operand.base)
        if isinstance(operand, Not):
            return self.names_are_known(statement, index, operand.register)
        if isinstance(operand, Pair):
            first = self.names_are_known(statement, index, operand.first)
            return first and self.names_are_known(statement, index, operand.second)
        if isinstance(operand, Vector):
            return all(self.names_are_known(statement, index, element) for element in operand.elements)
        return True

    def table_jump(self, statement: Instruction, target: Operand) -> None:
        """``brx.idx`` names a table that stands before it."""
        if isinstance(target, LabelRef) and not isinstance(self.tables.get(target.name), BranchTargets):
            self.reporter.instruction(
                self.function, statement, 1, f"undefined branch table '{target.name}'", "a .branchtargets before it"
            )

    def jump(self, statement: Instruction) -> None:
        """``bra`` names a label anywhere in the body."""
        target = statement.operands[0]
        if isinstance(target, LabelRef) and target.name not in self.labels:
            self.undefined_label(statement, target.name, 0)

    def undefined_label(self, statement: Instruction, name: str, index: int) -> None:
        kind = "is no place to jump to" if name in self.tables else "is undefined"
        self.reporter.instruction(
            self.function, statement, index, f"label '{name}' {kind}", f"a label in the body of '{self.function.name}'"
        )

    def table(self, statement: Statement) -> None:
        """The names in a ``.branchtargets`` or ``.calltargets`` list."""
        if isinstance(statement, BranchTargets):
            for name in statement.labels:
                if name not in self.labels:
                    self.reporter.report(
                        statement.pos, f"label '{name}' is undefined", f"a label in the body of '{self.function.name}'"
                    )
        elif isinstance(statement, CallTargets):
            for name in statement.functions:
                function = self.module.functions.get(name)
                if function is None or function.is_entry:
                    self.reporter.report(statement.pos, f"'{name}' cannot be called", "a .func of this module")
