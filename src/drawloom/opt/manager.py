"""Modules to better modules: the passes, the levels that they belong to, and the loop that runs them.

    optimize ::= for each function: into SSA form, each pass of the level in turn, out of SSA form

A pass is a function of a ``Work`` that changes it. ``PASSES`` names all of them; a level is a list of names, in which a
pass may stand several times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from drawloom.errors import DataError, Error
from drawloom.opt.addresses import split_addresses
from drawloom.opt.bypass import bypass_divisions
from drawloom.opt.callers import Callers
from drawloom.opt.check import wrong_form
from drawloom.opt.copies import follow_copies
from drawloom.opt.dead import remove_dead
from drawloom.opt.flow import clean_flow
from drawloom.opt.fold import fold
from drawloom.opt.invariant import move_invariants
from drawloom.opt.loads import reuse_loads
from drawloom.opt.narrow import narrow
from drawloom.opt.number import number_values
from drawloom.opt.readonly import mark_readonly
from drawloom.opt.select import select
from drawloom.opt.spaces import infer_spaces
from drawloom.opt.speculate import speculate
from drawloom.opt.stores import remove_stores
from drawloom.opt.strength import reduce_strength
from drawloom.opt.unroll import unroll
from drawloom.opt.vectors import join_accesses
from drawloom.opt.work import NOTHING, PROMISES, Remark, Work
from drawloom.ptx.ir import Function, Module
from drawloom.ptx.parser import parse
from drawloom.ptx.ssa import construct, destruct
from drawloom.ptx.unread import Unknown
from drawloom.ptx.verifier import verify

Pass = Callable[[Work], None]

#: Every pass by the name of its switch.
PASSES: Final[dict[str, Pass]] = {
    "copies": follow_copies,
    "fold": fold,
    "spaces": infer_spaces,
    "number": number_values,
    "invariant": move_invariants,
    "speculate": speculate,
    "strength": reduce_strength,
    "addresses": split_addresses,
    "loads": reuse_loads,
    "stores": remove_stores,
    "narrow": narrow,
    "readonly": mark_readonly,
    "vectors": join_accesses,
    "select": select,
    "unroll": unroll,
    "bypass": bypass_divisions,
    "flow": clean_flow,
    "dead": remove_dead,
}
_QUICK: Final = "copies fold flow dead"
_USUAL: Final = """
    copies fold flow unroll spaces number invariant narrow strength addresses loads stores spaces readonly vectors
    fold select flow copies fold dead
"""
#: What a level runs again behind ``stores`` and ``spaces`` when loads or stores went: values that stood in memory are
#: new to the passes before. A round that takes no more loads and stores away is the last.
_AGAIN: Final = tuple("copies fold flow number invariant narrow strength addresses loads stores spaces".split())
_MOST_ROUNDS: Final = 16
#: Passes between which a ``Memory`` stays right.
KEEPING_ADDRESSES: Final = frozenset("invariant loads stores readonly vectors".split())
#: The passes of -O0 to -O3, in order. -O3 has none of its own: ``speculate`` and ``bypass`` make ptxas' machine code
#: longer (benchmarks/opt_machine_code.py), so that a caller who wants them names them.
LEVELS: Final[tuple[tuple[str, ...], ...]] = ((), *[tuple(names.split()) for names in (_QUICK, _USUAL, _USUAL)])
DEFAULT_LEVEL: Final = 2


class PassRun:
    """One pass over one function: the ``number`` of the run from 1 on, for ``limit``, and how much it changed."""

    def __init__(self, number: int, pass_name: str, function: str, changes: int) -> None:
        self.number = number
        self.pass_name = pass_name
        self.function = function
        self.changes = changes

    def __repr__(self) -> str:
        many = "" if self.changes == 1 else "s"
        return f"{self.number}: {self.pass_name} on {self.function}: {self.changes} change{many}"


class Report:
    """What happened: ``runs`` in order, of which there are ``total`` without a limit, and, where they were asked for,
    ``remarks``."""

    def __init__(self) -> None:
        self.total = 0
        self.runs: list[PassRun] = []
        self.remarks: list[Remark] = []


def optimize(
    source: str | Module,
    level: int = DEFAULT_LEVEL,
    *,
    passes: list[str] | None = None,
    functions: Collection[str] | None = None,
    limit: int | None = None,
    report: Report | None = None,
    remarks: bool = False,
    check: bool = False,
    promises: tuple[str, ...] = (),
) -> Module:
    """A module with the meaning of ``source``, PTX text or a module, which is left as it is.

    ``level`` is 0 to 3; ``passes`` names what to run instead, ``functions`` whom to run it on. ``limit`` stops after so
    many runs of a pass over a function: halving it finds the run that broke a program. ``report`` is filled with the
    runs, and with ``remarks`` with what each pass did where. ``check`` verifies SSA form and PTX after each run that
    changed something, and the text at the end, for tests. ``promises`` are names out of ``PROMISES``: what the caller
    knows of the kernels.

    Raises DataError for a level, pass or promise that does not exist, ParseError and VerifyError for what is no PTX or
    not covered, TypeError for arguments of other types.
    """
    if not isinstance(source, (str, Module)):
        raise TypeError(f"optimize takes PTX text or a drawloom.ptx module, not {type(source).__name__}")
    if not isinstance(level, int):
        raise TypeError(f"level is a number, not {type(level).__name__}")
    names = pass_names(level, passes)
    for promise in promises:
        if promise not in PROMISES:
            raise DataError(f"there is no promise '{promise}': expected {', '.join(PROMISES)}")
    module = parse(source) if isinstance(source, str) else source
    if isinstance(source, str):
        verify(module)
    manager = _Manager(module, names, limit, Report() if report is None else report, remarks, check)
    manager.promises = frozenset(promises)
    manager.repeats = passes is None
    changed: dict[str, Function] = {}
    if names:
        for function in manager.callers.order:
            if functions is None or function.name in functions:
                changed[function.name] = manager.function(function)
            elif manager.callers.calls(function):
                manager.callers.note(manager.work(function))
    return module.with_functions(changed)


def pass_names(level: int, passes: list[str] | None) -> list[str]:
    """The passes to run, in order. Raises DataError for what does not exist."""
    if passes is None:
        if not 0 <= level < len(LEVELS):
            raise DataError(f"there is no level {level} of optimisation: expected 0 to {len(LEVELS) - 1}")
        return list(LEVELS[level])
    for name in passes:
        if name not in PASSES:
            from difflib import get_close_matches

            close = get_close_matches(name, PASSES, 1)
            meant = f" (is it '{close[0]}'?)" if close else ""
            raise DataError(f"there is no pass '{name}'{meant}: expected {', '.join(PASSES)}")
    return passes


class _Manager:
    def __init__(
        self, module: Module, names: list[str], limit: int | None, report: Report, remarks: bool, check: bool
    ) -> None:
        self.module = module
        self.names = names
        self.limit = limit
        self.report = report
        self.remarks = remarks
        self.check = check
        self.promises = NOTHING
        self.repeats = False  # whether loads and stores that went bring another round
        self.callers = Callers(module, "spaces" in names)

    def work(self, function: Function) -> Work:
        """A function in SSA form, with what is known of its parameters."""
        remarks = self.report.remarks if self.remarks else None
        work = Work(self.module, construct(function, self.module), remarks, self.promises)
        work.arguments = self.callers.parameters(function)
        return work

    def function(self, function: Function) -> Function:
        """One function through all passes."""
        for statement in function.body:
            if isinstance(statement, Unknown):  # whose registers cannot be renamed
                raise statement.refusal
        work = self.work(function)
        runs = self.report.runs
        names = list(self.names)
        self.report.total += len(names)
        rounds = gone = place = 0
        while place < len(names) and (self.limit is None or len(runs) < self.limit):
            name = names[place]
            place += 1
            work.pass_name = name
            work.changes = 0
            PASSES[name](work)
            if work.changes and name not in KEEPING_ADDRESSES:
                work.memory = None
            if name in ("loads", "stores"):
                gone += work.changes
            if name == "stores" and gone and self.repeats and rounds < _MOST_ROUNDS:
                rounds, gone = rounds + 1, 0
                names[place + 1 : place + 1] = _AGAIN
                self.report.total += len(_AGAIN)
            runs.append(PassRun(len(runs) + 1, name, function.name, work.changes))
            if self.check and work.changes:
                self.verify(work, runs[-1])
        self.callers.note(work)
        made = destruct(work.ssa)
        if self.check and runs:  # what passes changed that did not say so, too
            self.verify(work, runs[-1])
            verify(parse(str(self.module.with_functions({function.name: made}))))
        return made

    def verify(self, work: Work, run: PassRun) -> None:
        """Raise Error if a pass left something that is not SSA form, or no PTX."""
        wrong = wrong_form(work.ssa)
        if wrong:
            raise Error(f"after pass {run!r}: {wrong}")
        verify(self.module.with_functions({run.function: destruct(work.ssa)}))
