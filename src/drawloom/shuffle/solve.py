"""Expressions to terms of a bit-vector solver, which is asked whether two addresses can differ: bitwuzla, else z3 (the
extra ``shuffle``). No solver, and no answer within its steps, is 'not proved'.

The limit is a count of what a solver does, not a time, so that a busy machine gives the same answers: how often
bitwuzla asks whether to go on, z3's ``rlimit``. On the address of the paper's Jacobi kernel bitwuzla answers in 38 ms
where z3 takes 29 s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drawloom.shuffle.expressions import SUM, WARP, Expressions

#: Names of the operations, as bitwuzla's kinds and as z3's functions.
_KINDS: Final[dict[str, tuple[str, str]]] = {
    "and": ("BV_AND", "__and__"), "or": ("BV_OR", "__or__"), "xor": ("BV_XOR", "__xor__"),
    "mul": ("BV_MUL", "__mul__"), "udiv": ("BV_UDIV", "UDiv"), "urem": ("BV_UREM", "URem"),
    "sdiv": ("BV_SDIV", "__truediv__"), "srem": ("BV_SREM", "SRem"), "shl": ("BV_SHL", "__lshift__"),
    "lshr": ("BV_SHR", "LShR"), "ashr": ("BV_ASHR", "__rshift__"), "ult": ("BV_ULT", "ULT"),
    "slt": ("BV_SLT", "__lt__"),
}  # fmt: skip
#: z3's resource units for a step: of either, a tenth of a millisecond or less.
_UNITS_OF_STEP: Final = 300


class Prover:
    """One function's questions, which may take ``steps`` of the solver together."""

    def __init__(self, x: Expressions, steps: int) -> None:
        self.x = x
        self.steps = steps
        self.backend: _Backend | None = None
        self.missing = False
        self._terms: dict[int, Any] = {}

    def equal(self, a: int, b: int, delta: int) -> bool:
        """Whether two expressions are equal for all leaves, and all lanes for which ``lane + delta`` is one, too."""
        if self.steps <= 0 or self.missing:
            return False
        if self.backend is None:
            self.backend = _find_backend()
            if self.backend is None:
                self.missing = True
                return False
        backend = self.backend
        lane = self.term(self.x.lane)
        first, last = max(0, -delta), min(WARP, WARP - delta) - 1
        bounds = backend.between(lane, first, last)
        different = backend.different(self.term(a), self.term(b))
        ranges = [self.bounds(leaf) for leaf in sorted(self._terms) if not self.x.args[leaf]]
        conditions = [bounds, different, *[r for r in ranges if r is not None]]
        is_proved, taken = backend.impossible(conditions, self.steps)
        self.steps -= taken
        return is_proved

    def shortfall(self) -> str:
        """Why some equalities may not have been proved; empty where every question was answered."""
        if self.missing:
            return "there is no solver for some addresses (extra 'shuffle'): what it could show counts as not proved"
        if self.backend is not None and self.steps <= 0:
            return "the solver's steps are used up: what it was still to show counts as not proved"
        return ""

    def bounds(self, leaf: int) -> Any:
        """What is known of a leaf's value."""
        low, high = self.x.unsigned_range(leaf)
        if leaf == self.x.lane or (low == 0 and high == (1 << self.x.widths[leaf]) - 1):
            return None
        assert self.backend is not None
        return self.backend.between(self._terms[leaf], low, high)

    def term(self, e: int) -> Any:
        known = self._terms.get(e)
        if known is None:
            known = self._terms[e] = self.made(e)
        return known

    def made(self, e: int) -> Any:
        x = self.x
        assert self.backend is not None
        backend = self.backend
        width, name, args = x.widths[e], x.names[e], x.args[e]
        if name == SUM:
            out = backend.number(args[0], width)
            for k in range(1, len(args), 2):
                product = backend.number(args[k + 1], width)
                for atom in x.monomials[args[k]]:
                    product = backend.multiply(product, self.term(atom))
                out = backend.add(out, product)
            return out
        if not args or (name not in _KINDS and name not in ("zext", "sext", "trunc", "zero", "select")):
            return backend.leaf(f"{name}{e}", width)  # functions of unknown meaning are leaves by their arguments
        terms = [self.term(arg) for arg in args]
        if name in ("zext", "sext"):
            return backend.extend(terms[0], width - x.widths[args[0]], name == "sext")
        if name == "trunc":
            return backend.truncate(terms[0], width)
        if name == "zero":
            return backend.choice(
                backend.equal(terms[0], backend.number(0, x.widths[args[0]])),
                backend.number(1, 1),
                backend.number(0, 1),
            )
        if name == "select":
            return backend.choice(backend.equal(terms[0], backend.number(1, 1)), terms[1], terms[2])
        if name in ("shl", "lshr", "ashr"):
            terms[1] = self.amount(args[1], width)
        out = backend.operation(name, terms[0], terms[1])
        if name in ("ult", "slt"):
            return backend.choice(out, backend.number(1, 1), backend.number(0, 1))
        return out

    def amount(self, e: int, width: int) -> Any:
        """A shift's amount as wide as what it shifts; more than the width stays more."""
        assert self.backend is not None
        amount = self.term(e)
        old = self.x.widths[e]
        if width > old:
            return self.backend.extend(amount, width - old, False)
        if width < old:
            known = self.x.value(e)
            if known >= 0:
                return self.backend.number(min(known, width), width)
            most = self.backend.number(width, old)
            is_more = self.backend.operation("ult", most, amount)
            return self.backend.truncate(self.backend.choice(is_more, most, amount), width)
        return amount


class _Backend:
    """What the translation needs of a solver."""

    def number(self, value: int, width: int) -> Any:
        raise NotImplementedError

    def leaf(self, name: str, width: int) -> Any:
        raise NotImplementedError

    def add(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def multiply(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def operation(self, name: str, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def extend(self, a: Any, more: int, is_signed: bool) -> Any:
        raise NotImplementedError

    def truncate(self, a: Any, width: int) -> Any:
        raise NotImplementedError

    def equal(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def choice(self, condition: Any, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def different(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def between(self, a: Any, low: int, high: int) -> Any:
        """The condition low <= a <= high, unsigned."""
        raise NotImplementedError

    def impossible(self, conditions: list[Any], steps: int) -> tuple[bool, int]:
        """Whether no leaves make all conditions true, False without an answer in so many steps; and those taken."""
        raise NotImplementedError


def _find_backend() -> _Backend | None:
    for make in BACKENDS.values():
        try:
            return make()
        except ImportError:
            continue
    return None


class _Bitwuzla(_Backend):
    def __init__(self) -> None:
        import bitwuzla

        self.library = bitwuzla
        self.terms = bitwuzla.TermManager()

    def kind(self, name: str) -> Any:
        return getattr(self.library.Kind, name)

    def make(self, kind: str, terms: list[Any], indices: list[int] | None = None) -> Any:
        return self.terms.mk_term(self.kind(kind), terms, indices or [])

    def number(self, value: int, width: int) -> Any:
        return self.terms.mk_bv_value(self.terms.mk_bv_sort(width), value)

    def leaf(self, name: str, width: int) -> Any:
        return self.terms.mk_const(self.terms.mk_bv_sort(width), name)

    def add(self, a: Any, b: Any) -> Any:
        return self.make("BV_ADD", [a, b])

    def multiply(self, a: Any, b: Any) -> Any:
        return self.make("BV_MUL", [a, b])

    def operation(self, name: str, a: Any, b: Any) -> Any:
        return self.make(_KINDS[name][0], [a, b])

    def extend(self, a: Any, more: int, is_signed: bool) -> Any:
        return self.make("BV_SIGN_EXTEND" if is_signed else "BV_ZERO_EXTEND", [a], [more])

    def truncate(self, a: Any, width: int) -> Any:
        return self.make("BV_EXTRACT", [a], [width - 1, 0])

    def equal(self, a: Any, b: Any) -> Any:
        return self.make("EQUAL", [a, b])

    def choice(self, condition: Any, a: Any, b: Any) -> Any:
        return self.make("ITE", [condition, a, b])

    def different(self, a: Any, b: Any) -> Any:
        return self.make("DISTINCT", [a, b])

    def between(self, a: Any, low: int, high: int) -> Any:
        width = a.sort().bv_size()
        above = self.make("BV_UGE", [a, self.number(low, width)])
        return self.make("AND", [above, self.make("BV_ULE", [a, self.number(high, width)])])

    def impossible(self, conditions: list[Any], steps: int) -> tuple[bool, int]:
        count = 0

        def is_enough() -> bool:
            nonlocal count
            count += 1
            return count > steps

        solver = self.library.Bitwuzla(self.terms, self.library.Options())
        solver.configure_terminator(is_enough)
        for condition in conditions:
            solver.assert_formula(condition)
        return bool(solver.check_sat() == self.library.Result.UNSAT), count


class _Z3(_Backend):
    def __init__(self) -> None:
        import z3

        self.library = z3
        self.context = z3.Context()
        self.units = 0  # that the context has used

    def number(self, value: int, width: int) -> Any:
        return self.library.BitVecVal(value, width, self.context)

    def leaf(self, name: str, width: int) -> Any:
        return self.library.BitVec(name, width, self.context)

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def multiply(self, a: Any, b: Any) -> Any:
        return a * b

    def operation(self, name: str, a: Any, b: Any) -> Any:
        method = _KINDS[name][1]
        if method.startswith("__"):
            return getattr(a, method)(b)
        function: Callable[[Any, Any], Any] = getattr(self.library, method)
        return function(a, b)

    def extend(self, a: Any, more: int, is_signed: bool) -> Any:
        return (self.library.SignExt if is_signed else self.library.ZeroExt)(more, a)

    def truncate(self, a: Any, width: int) -> Any:
        return self.library.Extract(width - 1, 0, a)

    def equal(self, a: Any, b: Any) -> Any:
        return a == b

    def choice(self, condition: Any, a: Any, b: Any) -> Any:
        return self.library.If(condition, a, b)

    def different(self, a: Any, b: Any) -> Any:
        return a != b

    def between(self, a: Any, low: int, high: int) -> Any:
        return self.library.And(self.library.UGE(a, low), self.library.ULE(a, high))

    def impossible(self, conditions: list[Any], steps: int) -> tuple[bool, int]:
        solver = self.library.Solver(ctx=self.context)
        solver.set("rlimit", steps * _UNITS_OF_STEP)
        solver.add(*conditions)
        is_proved = bool(solver.check() == self.library.unsat)
        units, self.units = self.units, solver.statistics().get_key_value("rlimit count")
        return is_proved, 1 + (self.units - units) // _UNITS_OF_STEP


#: The solvers by the modules that they need, the first choice first.
BACKENDS: Final[dict[str, Callable[[], _Backend]]] = {"bitwuzla": _Bitwuzla, "z3": _Z3}
