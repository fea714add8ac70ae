"""Terms of a bit-vector solver about one lane of a warp and its neighbours, and questions about them.

What another lane has is a term with that lane put in: its own constants, and a number of the lane that is so much more.
``%tid`` is what the number of the thread in the block makes it, by division, for every shape of the block. How long the
solver may think is counted in how often it asks whether to go on, which is the same on a busy machine.
"""

from __future__ import annotations

from typing import Any

import bitwuzla
from bitwuzla import Kind

from tests.shuffle.proofs import Equalities

Term = Any
#: Lanes so far apart, in blocks of a required shape, whose places have been shown to be as far apart.
_PROVED_ROWS: set[tuple[int, tuple[int, ...]]] = set()


class Unknown(Exception):
    """The solver had no answer within its steps, or the kernel has what there is no model of."""


class Terms:
    """Terms, and the constants that both kernels share, by name; those of a lane are in ``lane_constants``."""

    def __init__(self, steps: int, required: list[int]) -> None:
        self.steps = steps
        self.required = tuple(required)
        self.manager = bitwuzla.TermManager()
        self.constants: dict[str, Term] = {}
        self.lane_constants: dict[str, Term] = {}
        self.lane = self.constant("lane", 5, of_lane=True)
        warp = self.constant("warp", 6)
        self.thread = self.make(Kind.BV_CONCAT, [warp, self.lane])
        self.extents = [self.constant(f"%ntid.{c}", 11) for c in "xyz"]
        if required:
            self.extents = [self.number(extent, 11) for extent in required]
        self.places = [self.constant(f"%tid.{c}", 32, of_lane=True) for c in "xyz"]
        self.always = self.shape()
        self.substitutions: dict[int, dict[Term, Term]] = {}
        #: What ``%tid`` is by division, for this lane and those that were asked for, and what follows for two lanes.
        self.divisions = self.division()
        self.row_facts: list[Term] = []
        self.rows: dict[int, tuple[Term, list[Term]]] = {}

    def make(self, kind: Kind, terms: list[Term], indices: list[int] | None = None) -> Term:
        return self.manager.mk_term(kind, terms, indices or [])

    def number(self, value: int, bits: int) -> Term:
        return self.manager.mk_bv_value(self.manager.mk_bv_sort(bits), value & (1 << bits) - 1)

    def constant(self, name: str, bits: int, of_lane: bool = False) -> Term:
        if name not in self.constants:
            self.constants[name] = self.manager.mk_const(self.manager.mk_bv_sort(bits), name)
            if of_lane:
                self.lane_constants[name] = self.constants[name]
        return self.constants[name]

    def unknown(self, name: str, arguments: list[Term], bits: int) -> Term:
        """An unknown function of some terms, by name and widths."""
        widths = [a.sort().bv_size() for a in arguments]
        key = f"{name}/{','.join(map(str, widths))}/{bits}"
        if not arguments:
            return self.constant(key, bits)
        if key not in self.constants:
            sorts = [self.manager.mk_bv_sort(width) for width in widths]
            self.constants[key] = self.manager.mk_const(
                self.manager.mk_fun_sort(sorts, self.manager.mk_bv_sort(bits)), key
            )
        return self.make(Kind.APPLY, [self.constants[key], *arguments])

    def all(self, terms: list[Term]) -> Term:
        return self.make(Kind.AND, [self.manager.mk_true(), self.manager.mk_true(), *terms])

    def any(self, terms: list[Term]) -> Term:
        return self.make(Kind.OR, [self.manager.mk_false(), self.manager.mk_false(), *terms])

    def equal(self, first: Term, second: Term) -> Term:
        return self.make(Kind.EQUAL, [first, second])

    def extended(self, term: Term, bits: int, is_signed: bool) -> Term:
        """The low bits of a term, or a term with more bits."""
        have = term.sort().bv_size()
        if have >= bits:
            return term if have == bits else self.make(Kind.BV_EXTRACT, [term], [bits - 1, 0])
        return self.make(Kind.BV_SIGN_EXTEND if is_signed else Kind.BV_ZERO_EXTEND, [term], [bits - have])

    def shape(self) -> list[Term]:
        """A block has 1 to 1024 threads, and this thread is one of them: for this lane."""
        x, y, z = self.extents
        wide = [self.extended(e, 40, False) for e in (x, y, z)]
        threads = self.make(Kind.BV_MUL, [self.make(Kind.BV_MUL, wide[:2]), wide[2]])
        thread = self.extended(self.thread, 40, False)
        return [
            self.make(Kind.BV_ULE, [threads, self.number(1024, 40)]),
            self.make(Kind.BV_ULT, [thread, threads]),
            *[
                self.make(Kind.BV_ULT, [place, self.extended(extent, 32, False)])
                for place, extent in zip(self.places, self.extents, strict=True)
            ],
        ]

    def division(self) -> list[Term]:
        """The thread's place in the block, by its number."""
        x, y, _ = self.extents
        row = self.make(Kind.BV_UDIV, [self.thread, x])
        numbers = [
            self.make(Kind.BV_UREM, [self.thread, x]),
            self.make(Kind.BV_UREM, [row, y]),
            self.make(Kind.BV_UDIV, [row, y]),
        ]
        return [
            self.equal(place, self.extended(number, 32, False))
            for place, number in zip(self.places, numbers, strict=True)
        ]

    def row_fact(self, delta: int, proved: list[Term]) -> Term:
        """Where lanes count along ``%tid.x``, a lane further on is a place further on: proved here, and then told to
        the solver, which would have to find it out again in every question."""
        x, y, z = self.extents
        one = self.number(1, 11)
        whole_rows = self.equal(self.make(Kind.BV_EXTRACT, [x], [4, 0]), self.number(0, 5))
        one_row = self.all([self.equal(y, one), self.equal(z, one)])
        in_warp = [
            self.make(Kind.BV_SLE, [self.number(0, 8), self.far(delta)]),
            self.make(Kind.BV_SLT, [self.far(delta), self.number(32, 8)]),
        ]
        premise = self.all([self.any([whole_rows, one_row]), *in_warp, *[self.at(term, delta) for term in self.always]])
        steps = [
            self.equal(self.at(place, delta), self.make(Kind.BV_ADD, [place, self.number(step, 32)]))
            for place, step in zip(self.places, (delta, 0, 0), strict=True)
        ]
        self.rows[delta] = (premise, steps)
        fact = self.any([self.make(Kind.NOT, [premise]), self.all(steps)])
        if (delta, self.required) not in _PROVED_ROWS:
            if self.asked([fact], proved) is not None:
                raise Unknown("the places of two lanes")
            _PROVED_ROWS.add((delta, self.required))
        return fact

    def far(self, delta: int) -> Term:
        return self.make(Kind.BV_ADD, [self.extended(self.lane, 8, False), self.number(delta, 8)])

    def special(self, name: str) -> Term:
        """A special register, for this lane."""
        base, _, component = name.partition(".")
        if base == "%laneid":
            return self.extended(self.lane, 32, False)
        if base == "%ntid":
            return self.extended(self.extents["xyz".index(component)], 32, False)
        if base == "%tid":
            return self.places["xyz".index(component)]
        return self.constant(name, 32, of_lane=base not in ("%ctaid", "%nctaid"))

    def at(self, term: Term, delta: int) -> Term:
        """What a term is for the lane ``delta`` further on."""
        is_new = delta not in self.substitutions
        put = self.substitutions.setdefault(delta, {})
        for name, constant in self.lane_constants.items():
            if constant not in put:
                size = constant.sort().bv_size()
                put[constant] = (
                    self.make(Kind.BV_ADD, [self.lane, self.number(delta, 5)])
                    if constant is self.lane
                    else self.constant(f"{name}@{delta}", size)
                )
        if is_new and delta:
            divisions = [*self.divisions[:3], *[self.manager.substitute_term(d, put) for d in self.divisions[:3]]]
            self.divisions += divisions[3:]
            self.row_facts.append(self.row_fact(delta, divisions))
        return self.manager.substitute_term(term, put)

    def is_same_for_lanes(self, term: Term) -> bool:
        """Whether nothing of a lane's own is in a term."""
        own = set(self.lane_constants.values())
        seen: set[Term] = set()
        stack = [term]
        while stack:
            term = stack.pop()
            if term in own:
                return False
            if term not in seen:
                seen.add(term)
                stack += term.children()
        return True

    def counterexample(self, claims: list[Term], facts: list[Term]) -> dict[str, int] | None:
        """An assignment with which one of the claims is false although all facts are true; None if there is none. What
        ``%tid`` is by division is told last: most claims do not need it."""
        if self.asked(claims, [*facts, *self.row_facts]) is None:
            return None
        return self.asked(claims, [*facts, *self.row_facts, *self.divisions])

    def asked(self, claims: list[Term], facts: list[Term]) -> dict[str, int] | None:
        asked = self.solver()
        for fact in [*self.always, *facts]:
            asked.assert_formula(fact)
        asked.assert_formula(self.make(Kind.NOT, [self.all(claims)]))
        result = self.check(asked)
        if result == bitwuzla.Result.UNKNOWN:
            raise Unknown(f"no answer in {self.steps} steps")
        if result == bitwuzla.Result.UNSAT:
            return None
        numbers = {name: c for name, c in self.constants.items() if not c.sort().is_fun()}
        return {name: int(asked.get_value(c).value(10)) for name, c in numbers.items()}

    def solver(self) -> Any:
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        return bitwuzla.Bitwuzla(self.manager, options)

    def check(self, solver: Any) -> Any:
        """The result of a solver within the steps that it has."""
        left = self.steps

        def is_enough() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        solver.configure_terminator(is_enough)
        return solver.check_sat()

    def are_equal(self, first: Term, second: Term, facts: list[Term], delta: int) -> bool:
        """Whether two terms can be shown to be equal, where one is about this lane and one ``delta`` further on: where
        lanes count along ``%tid.x``, its place is put in, and other blocks are a case of their own."""
        if delta not in self.rows:
            return Equalities(self, facts).equal(first, second)
        premise, _ = self.rows[delta]
        across = Equalities(self, [*facts, self.make(Kind.NOT, [premise])])
        if not across.is_impossible() and not across.equal(first, second):
            return False
        put = {self.at(place, delta): place for place in self.places[1:]}
        put[self.at(self.places[0], delta)] = self.make(Kind.BV_ADD, [self.places[0], self.number(delta, 32)])
        first, second, *along = [self.manager.substitute_term(t, put) for t in (first, second, *facts, premise)]
        return Equalities(self, along).equal(first, second)
