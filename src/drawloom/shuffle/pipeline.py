"""Modules to modules whose loads are shuffles where a neighbouring lane has the value: analyse, choose, synthesize.

    shuffle ::= for each function with a body: analyse, choose one candidate for a load, write its code

``report`` of the result says of every load what became of it and what that rests on.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

from drawloom.errors import DataError
from drawloom.ptx.ir import Function, Instruction, Module
from drawloom.ptx.recovery import parse_known
from drawloom.ptx.unread import Unknown
from drawloom.shuffle.choose import choose
from drawloom.shuffle.cost import check_arch, may_run, number, pays, within_occupancy, worth_their_tests
from drawloom.shuffle.emulator import Options, analyse
from drawloom.shuffle.facts import LOCKSTEP, NO_WRAP, Assumption, Candidate, Place, Report, in_words
from drawloom.shuffle.summary import FunctionSummary, Kept, Request, Rewrite, Summary
from drawloom.shuffle.synthesis import VARIANTS, synthesize, unsupported

PROFITABLE: Final = "profitable"
ALL: Final = "all"
NONE: Final = "none"
APPLY: Final = (PROFITABLE, ALL, NONE)
#: The first PTX version with ``activemask``, and the first architecture with shuffles.
LEAST_VERSION: Final = (6, 2)
LEAST_ARCH: Final = 30


class Shuffled(Module):
    """A module, and what was done to it."""

    def __init__(self, module: Module, report: Summary) -> None:
        super().__init__()
        self.version, self.target, self.address_size = module.version, module.target, module.address_size
        self.source, self.filename = module.source, module.filename
        for item in module.items:
            self.add(item)
        self.report = report


def shuffle(
    source: str | Module,
    *,
    apply: str = PROFITABLE,
    assume_no_wrap: bool = False,
    distinct_parameters: bool = False,
    shared: bool = False,
    variant: str = "",
    arch: str = "",
) -> Shuffled:
    """A module in which loads are shuffles, from PTX text or a module, which is left as it is (seed 003).

    What is not covered in a text stays in it word for word, and the report says what that is: instructions, and whole
    functions where these cannot be told apart, or break a rule of PTX.

    ``apply`` is ``profitable`` (by the latencies of ``arch``, such as ``sm_61`` or ``cpu``, else of the module's
    target), ``all`` or ``none`` (which reports only). ``assume_no_wrap`` takes it that 32-bit indices do not wrap
    around, ``distinct_parameters`` that what one pointer parameter writes no other reads. ``shared`` also looks at
    loads from shared memory. ``variant`` makes code that computes wrong results, to see where time goes: ``no-load``
    leaves out the loads that shuffles cover, ``no-corner`` the original loads of the lanes without a source.

    Raises DataError for a word that is none of these, ParseError for a text that has no ``.version`` and ``.target``,
    TypeError for arguments of other types.
    """
    if not isinstance(source, (str, Module)):
        raise TypeError(f"shuffle takes PTX text or a drawloom.ptx module, not {type(source).__name__}")
    for word, value in (("apply", apply), ("variant", variant), ("arch", arch)):
        if not isinstance(value, str):
            raise TypeError(f"{word} is a word, not {type(value).__name__}")
    for word, flag in (
        ("assume_no_wrap", assume_no_wrap), ("distinct_parameters", distinct_parameters), ("shared", shared),
    ):  # fmt: skip
        if not isinstance(flag, bool):
            raise TypeError(f"{word} is True or False, not {type(flag).__name__}")
    if apply not in APPLY:
        raise DataError(f"there is no way to apply '{apply}': expected {', '.join(APPLY)}")
    if variant not in VARIANTS:
        raise DataError(f"there is no variant '{variant}': expected {', '.join(VARIANTS[1:])}")
    if arch:
        check_arch(arch)
    module = parse_known(source) if isinstance(source, str) else source
    begin = perf_counter()
    options = Options(assume_no_wrap=assume_no_wrap, distinct_parameters=distinct_parameters, shared=shared)
    changed: dict[str, Function] = {}
    request = Request(module.filename, apply, arch or module.arch, assume_no_wrap, distinct_parameters, shared, variant)
    summary = Summary(request)
    summary.notes.extend([f"left as it is: {refusal.place()}: {refusal.message}" for refusal in module.refusals])
    for function in module.functions.values():
        if function.has_body or function.unread is not None:
            work = _Work(module, function, options, apply, arch or module.arch)
            summary.functions.append(work.summary())
            if apply != NONE and work.chosen:
                changed[function.name] = synthesize(function, work.chosen, variant, assume_no_wrap)
    summary.seconds = perf_counter() - begin
    out = Shuffled(module.with_functions(changed), summary)
    if changed:
        has_shuffles = any(rewrite.delta for function in summary.functions for rewrite in function.rewrites)
        out.version = max(out.version, LEAST_VERSION) if has_shuffles else out.version
    return out


class _Work:
    """One function: what was found, what was chosen of it, and why not the rest."""

    def __init__(self, module: Module, function: Function, options: Options, apply: str, arch: str) -> None:
        self.module = module
        self.function = function
        self.apply = apply
        self.arch = arch
        self.assume_no_wrap = options.assume_no_wrap
        #: The spaces whose loads are looked at; the empty one is of addresses that may be anywhere.
        self.spaces = ("global", "", "shared") if options.shared else ("global", "")
        self.report: Report = analyse(module, function, options)
        #: By the index of a load: why a candidate was not taken.
        self.refused: dict[int, str] = {}
        self.chosen = choose(self.report, self.accepts)
        if apply == PROFITABLE and self.chosen:
            worthy = worth_their_tests(function, module, self.chosen, arch)
            for candidate in self.chosen:
                if candidate not in worthy:
                    self.refused[candidate.load] = "the test of the pointers takes longer than the load"
            self.chosen = worthy
            fitting = within_occupancy(function, module, self.chosen, self.assume_no_wrap)
            for candidate in self.chosen:
                if candidate not in fitting:
                    self.refused[candidate.load] = "fewer warps would fit into the registers"
            self.chosen = fitting

    def accepts(self, candidate: Candidate) -> bool:
        """Whether code is to be made for a candidate."""
        reason = self.refusal(candidate)
        if reason:
            self.refused.setdefault(candidate.load, reason)  # that of the nearest lane, which comes first
        return not reason

    def refusal(self, candidate: Candidate) -> str:
        for assumption in candidate.assumptions:
            if assumption.kind in (LOCKSTEP, NO_WRAP) and not assumption.testable and not self.takes(assumption):
                return f"it needs that {assumption.text}, for which there is no test"
        if candidate.delta and number(self.module.arch) < LEAST_ARCH:
            return f"{self.module.arch} has no shuffles"
        load = self.function.body[candidate.load]
        assert isinstance(load, Instruction)
        if self.apply == PROFITABLE:
            if not pays(load, candidate, self.arch):
                return f"a shuffle by {candidate.delta:+d} does not pay on {self.arch}"
            if not may_run(self.function, candidate):
                return "no block of the kernel's shape has a full warp"
        return unsupported(self.function, candidate)

    def summary(self) -> FunctionSummary:
        """What became of every load."""
        out = FunctionSummary(self.function.name, self.report.flows, self.report.merged)
        shortfall = self.report.shortfall()
        chosen = {candidate.load: candidate for candidate in self.chosen}
        why = {refusal.at: refusal.reason for refusal in self.report.refusals}
        for at in self.report.loads:
            candidate = chosen.get(at)
            if candidate is None and self.space(at) not in self.spaces:
                continue
            if candidate is None:
                reason = self.refused.get(at) or why.get(at) or why.get(-1) or self.why(at, chosen)
                out.kept.append(Kept(self.place(at), self.text(at), reason))
                continue
            assumed = [self.said(assumption) for assumption in candidate.assumptions]
            source = candidate.source
            out.rewrites.append(
                Rewrite(self.place(at), self.text(at), self.place(source), self.text(source), candidate.delta, assumed)
            )
        out.notes.extend([refusal.reason for refusal in self.report.refusals if refusal.at < 0])
        if shortfall:
            out.notes.append(shortfall)
        unread = self.function.unread
        if unread is not None:
            reason = f"not analysed: {unread.refusal.message}"
            out.kept.extend([Kept(self.module.position(at), load, reason) for at, load in unread.loads])
        out.notes.extend(self.unknown())
        return out

    def why(self, at: int, chosen: dict[int, Candidate]) -> str:
        """Why a load stays that was looked at; ``chosen`` are those that do not."""
        for candidate in self.report.find(at, set()):
            if candidate.source in chosen:
                return f"{in_words(self.place(candidate.source))} has loaded it, which is a shuffle itself"
            if candidate.source != at:
                return "others take its value from it"
        return self.report.why(at)

    def unknown(self) -> list[str]:
        """What is said of unknown instructions, in a line for each kind."""
        places: dict[str, list[Place]] = {}
        for statement in self.function.body:
            if isinstance(statement, Unknown):
                places.setdefault(statement.refusal.message, []).append(self.module.position(statement.pos))
        out: list[str] = []
        for message, found in places.items():
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            out.append(f"{in_words(found[0])}{more}: {message}; it may change what it names, and memory")
        return out

    def said(self, assumption: Assumption) -> str:
        return f"{assumption!r}, which is taken for granted" if self.takes(assumption) else repr(assumption)

    def takes(self, assumption: Assumption) -> bool:
        """Whether the user has promised it."""
        return self.assume_no_wrap and assumption.kind == NO_WRAP and not assumption.is_narrow

    def space(self, at: int) -> str:
        load = self.function.body[at]
        assert isinstance(load, Instruction)
        return load.opcode.space

    def place(self, at: int) -> Place:
        return self.module.position(self.function.body[at].pos)

    def text(self, at: int) -> str:
        return repr(self.function.body[at])
