"""Random lengths and indices of Lift: what `drawloom.lift.arithmetic` simplifies against what was written.

    python -m tools.fuzz_lift_arithmetic --count 100000 --jobs 2
    python -m tools.fuzz_lift_arithmetic --count 2000 --c             # the C text too, compiled by `cc`

A seed chooses variables, whose ranges name earlier variables, an expression and a condition over them. Checked are the
values for random values of the variables, proofs, bounds and divisibility, that simplifying again changes nothing, that
what prints parses to the same object, and that a second build with other variables of the same names prints alike. The
exit status is 1 when any failed; every failure prints its seed.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.lift import arithmetic
from drawloom.lift.arithmetic import ArithmeticRefusal, Condition, Nat, Variable
from drawloom.lift.arithmetic.expression import Comparison, Junction
from drawloom.lift.arithmetic.substitution import condition_of, operands_of
from tools.programs.layouts import Layout

#: Assignments that are tried, and of those the ones with a value that are compared.
TRIES = 40
COMPARED = 12


class Case:
    """The variables, expression and condition of a seed, as written and in normal form."""

    def __init__(self, seed: int, shuffled: bool = False) -> None:
        self.random = random.Random(seed)
        if shuffled:  # a history of other expressions
            n, m = arithmetic.variable("N"), arithmetic.variable("M", 2)
            i = arithmetic.index("i", m * n)
            (i // n + i % n * m) % (n + m)
        self.lengths: list[Variable] = []
        self.indices: list[Variable] = []
        layout: Layout | None = None
        if seed % 3 == 0:
            layout = Layout(seed)
            self.lengths = [length for length in layout.lengths if isinstance(length, Variable)]
            self.indices = layout.indices
            if not self.lengths:
                self.lengths.append(arithmetic.variable("N"))
        else:
            self._make_variables()
        with arithmetic.unsimplified():
            self.written = layout.index() if layout else self._expression(self.random.choice((1, 2, 3, 4)))
            self.written_condition = self._condition(1)
        self.simplified = arithmetic.simplify(self.written)
        self.condition = arithmetic.simplify_condition(self.written_condition)

    @property
    def variables(self) -> list[Variable]:
        return self.lengths + self.indices

    def names(self) -> dict[str, Nat]:
        return {variable.name: variable for variable in self.variables}

    def _make_variables(self) -> None:
        for name in "NMK"[: self.random.choice((1, 2, 2, 3))]:
            start, step = self.random.choice(((1, 1), (1, 1), (1, 1), (2, 1), (4, 4), (8, 2), (3, 5)))
            self.lengths.append(arithmetic.variable(name, start, None, step))
        for name in "ijklwz"[: self.random.choice((1, 2, 3, 4))]:
            self.indices.append(self._index(name))

    def _index(self, name: str) -> Variable:
        choose = self.random.random
        start: Nat | int = 0
        step: Nat | int = 1
        if name == "z":
            start = self.random.choice((-3, -1))
        elif choose() < 0.1 and self.indices:
            start = self.random.choice(self.indices)
        elif choose() < 0.1:
            start = self.random.choice((1, 2, 4))
        if choose() < 0.15:
            step = self.random.choice((2, 4, self._length()))
        return arithmetic.variable(name, start, self._stop(), step)

    def _length(self) -> Nat:
        return self.random.choice(self.lengths)

    def _stop(self) -> Nat:
        n, m = self._length(), self._length()
        k = self.random.choice((2, 3, 4, 8))
        makers: list[Callable[[], Nat]] = [
            lambda: n,
            lambda: n,
            lambda: n * m,
            lambda: n + 2,
            lambda: n - 2,
            lambda: n + m,
            lambda: n * k,
            lambda: arithmetic.constant(k),
            lambda: arithmetic.exact_div(n, k),
            lambda: arithmetic.exact_div(n, m),
            lambda: n // k,
            lambda: arithmetic.ceil_div(n, k),
            lambda: (n - 3 + k) // k,
            lambda: arithmetic.minimum(n, m),
            lambda: m * k - n,
        ]
        return self.random.choice(makers)()

    def _leaf(self) -> Nat:
        choose = self.random.random()
        if choose < 0.2:
            return arithmetic.constant(self.random.choice((0, 1, 2, 3, 4, 5, 8, 12, 128, -1)))
        return self.random.choice(self.indices if choose < 0.7 else self.lengths)

    def _divisor(self, depth: int) -> Nat:
        choose = self.random.random()
        if choose < 0.35:
            return self._length()
        if choose < 0.6:
            return arithmetic.constant(self.random.choice((1, 2, 3, 4, 6, 8, 12, 16, -2)))
        if choose < 0.7:
            return self._length() * self._length()
        if choose < 0.78:
            return self._length() + self.random.choice((1, 2))
        if choose < 0.86:
            return self._length() * self.random.choice((2, 4))
        if choose < 0.93:
            index = self.random.choice(self.indices)
            if index.range.stop is not None:
                return index.range.stop
        return self._expression(depth - 1)

    def _expression(self, depth: int) -> Nat:
        if depth <= 0:
            return self._leaf()
        choose = self.random.random()
        left = self._expression(depth - 1)
        if choose < 0.2:
            return left + self._expression(depth - 1)
        if choose < 0.26:
            return left - self._expression(depth - 1)
        if choose < 0.38:
            return left * (self._length() if choose < 0.33 else self._expression(depth - 1))
        if choose < 0.5:  # a flattened index
            index = self.random.choice(self.indices)
            stop = index.range.stop
            return left * (self._length() if stop is None else stop) + index
        if choose < 0.65:
            return left // self._divisor(depth)
        if choose < 0.78:
            return left % self._divisor(depth)
        if choose < 0.83:  # a transposition
            rows, columns = self._divisor(0), self._divisor(0)
            return left // rows + left % rows * columns
        if choose < 0.86:
            divisor = self._divisor(depth)
            return left // divisor * divisor + left % divisor
        if choose < 0.9:
            return arithmetic.exact_div(left, self._divisor(0))
        if choose < 0.94:
            maker = arithmetic.minimum if choose < 0.92 else arithmetic.maximum
            return maker(left, self._expression(depth - 1))
        if choose < 0.97:
            return arithmetic.select(self._condition(depth - 1), left, self._expression(depth - 1))
        if choose < 0.985:
            return self.random.choice((2, 3, self._length())) ** self._leaf()
        return arithmetic.log2(left)

    def _condition(self, depth: int) -> Condition:
        choose = self.random.random()
        if choose < 0.15 and depth > 0:
            joined = arithmetic.all_of if choose < 0.08 else arithmetic.any_of
            return joined(self._condition(depth - 1), self._condition(depth - 1))
        makers = (arithmetic.less, arithmetic.less, arithmetic.less_equal, arithmetic.equal, arithmetic.not_equal)
        condition = self.random.choice(makers)(self._expression(depth), self._expression(depth))
        return arithmetic.negation(condition) if choose > 0.9 else condition

    def assignment(self) -> dict[Variable, int] | None:
        """Return random values in the ranges, or None where a range came out empty."""
        values: dict[Variable, int] = {}
        for variable in self.variables:
            start = arithmetic.evaluate(variable.range.start, values)
            step = arithmetic.evaluate(variable.range.step, values)
            if variable.range.stop is None:
                values[variable] = start + step * self.random.choice((0, 0, 1, 2, 3, 5, 7, 11))
                continue
            stop = arithmetic.evaluate(variable.range.stop, values)
            if stop <= start:
                return None
            last = (stop - 1 - start) // step
            values[variable] = start + step * self.random.choice((0, last, self.random.randint(0, last)))
        return values

    def samples(self) -> list[tuple[dict[Variable, int], int | None, bool | None]]:
        """Return assignments with the values, as written, of expression and condition, None where undefined."""
        found: list[tuple[dict[Variable, int], int | None, bool | None]] = []
        for _ in range(TRIES):
            try:
                values = self.assignment()
            except ArithmeticRefusal:
                continue
            if values is None:
                continue
            value: int | None = None
            holds: bool | None = None
            try:
                if sum(abs(v) for v in values.values()) < 10**6:
                    value = arithmetic.evaluate(self.written, values)
            except (ArithmeticRefusal, OverflowError):
                pass
            try:
                holds = arithmetic.evaluate_condition(self.written_condition, values)
            except (ArithmeticRefusal, OverflowError):
                pass
            if value is not None or holds is not None:
                found.append((values, value, holds))
                if len(found) == COMPARED:
                    break
        return found


def check_seed(seed: int) -> str:
    """Return what is wrong with the simplification of a seed's expression, or ""."""
    try:
        case = Case(seed)
    except ArithmeticRefusal:
        return ""  # a division by the constant zero, or of constants that leaves something
    return _check_forms(case, seed) or _check_values(case)


def _check_forms(case: Case, seed: int) -> str:
    simplified = case.simplified
    where = f"{case.written} -> {simplified}: "
    again = arithmetic.substitute(simplified, {})
    if again is not simplified:
        return where + f"simplified again becomes {again}"
    parsed = arithmetic.parse(str(simplified), case.names())
    if parsed is not simplified:
        return where + f"parses as {parsed}"
    if arithmetic.simplify(arithmetic.parse(str(case.written), case.names())) is not simplified:
        return where + "as written, it parses to another expression"
    if arithmetic.parse_condition(str(case.condition), case.names()) is not case.condition:
        return f"{case.condition}: parses to another condition"
    other = Case(seed, shuffled=True)
    if str(other.simplified) != str(simplified) or str(other.condition) != str(case.condition):
        return where + f"built again it becomes {other.simplified}"
    return ""


def _check_values(case: Case) -> str:
    simplified = case.simplified
    is_nonnegative = arithmetic.is_nonnegative(simplified)
    upper, lower = arithmetic.upper_bound(simplified), arithmetic.lower_bound(simplified)
    by_four = arithmetic.divides(4, simplified)
    for values, value, holds in case.samples():
        shown = ", ".join(f"{variable.name}={number}" for variable, number in values.items())
        where = f"{case.written} -> {simplified} for {shown}: "
        if value is not None:
            found = arithmetic.evaluate(simplified, values)
            if found != value:
                return where + f"{value} became {found}"
            if is_nonnegative and value < 0:
                return where + f"{value}, proved to be at least zero"
            if by_four and value % 4:
                return where + f"{value}, proved to be a multiple of four"
            if upper is not None and not _holds(upper, values, value, 1):
                return where + f"{value} exceeds its upper bound {upper}"
            if lower is not None and not _holds(lower, values, value, -1):
                return where + f"{value} is below its lower bound {lower}"
        if holds is not None and arithmetic.evaluate_condition(case.condition, values) != holds:
            return f"{case.written_condition} -> {case.condition} for {shown}: expected {holds}"
    return ""


def _holds(bound: Nat, values: dict[Variable, int], value: int, sign: int) -> bool:
    return sign * arithmetic.evaluate(bound, values) >= sign * value


# The C text, through a C compiler

#: What OpenCL C has and C does not, and 64-bit values for the unknowns, so that only `int` overflow goes unseen.
PRELUDE = """
typedef long long number;
static inline number min(number a, number b) { return a < b ? a : b; }
static inline number max(number a, number b) { return a > b ? a : b; }
static inline number clz(number a) { return __builtin_clz((unsigned)a); }
"""
#: Values above this are not compared.
GREATEST_VALUE = (1 << 31) - 1


def check_c(seeds: range, folder: Path) -> list[str]:
    """Compile the C text of the seeds' expressions and conditions; return what differs from their values."""
    source = [PRELUDE]
    cases: dict[int, Case] = {}
    for seed in seeds:
        try:
            case = Case(seed)
            expression, condition = arithmetic.c_text(case.simplified), arithmetic.c_condition(case.condition)
        except ArithmeticRefusal:
            continue
        cases[seed] = case
        parameters = ", ".join([f"number {variable.name}" for variable in case.variables])
        source.append(f"number e{seed}({parameters}) {{ return {expression}; }}")
        source.append(f"number c{seed}({parameters}) {{ return {condition}; }}")
    (folder / "text.c").write_text("\n".join(source), encoding="utf-8")
    flags = ["-O1", "-fwrapv", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-tautological-compare"]
    command = ["cc", *flags, "-o", "text.so", "text.c"]
    compiled = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if compiled.returncode:
        return [compiled.stderr]
    library = ctypes.CDLL(str(folder / "text.so"))
    found = []
    for seed, case in cases.items():
        message = _check_c_case(case, library[f"e{seed}"], library[f"c{seed}"])
        if message:
            found.append(f"seed {seed}: {message}")
    return found


def _check_c_case(case: Case, expression: Any, condition: Any) -> str:
    for values, value, holds in case.samples():
        numbers = [ctypes.c_longlong(number) for number in values.values()]
        expression.restype = condition.restype = ctypes.c_longlong
        if value is not None and _is_small(case.simplified, values) and expression(*numbers) != value:
            return f"{arithmetic.c_text(case.simplified)}: {expression(*numbers)}, expected {value} for {values}"
        if holds is not None and _is_small_condition(case.condition, values) and bool(condition(*numbers)) != holds:
            return f"{arithmetic.c_condition(case.condition)}: expected {holds} for {values}"
    return ""


def _is_small(node: Nat, values: dict[Variable, int]) -> bool:
    """Return whether all values on the way to an expression's value are small enough to compare."""
    condition = condition_of(node)
    if condition is not None and not _is_small_condition(condition, values):
        return False
    try:
        if abs(arithmetic.evaluate(node, values)) > GREATEST_VALUE:
            return False
    except ArithmeticRefusal:
        return False
    return all(_is_small(operand, values) for operand in operands_of(node))


def _is_small_condition(condition: Condition, values: dict[Variable, int]) -> bool:
    if isinstance(condition, Comparison):
        return _is_small(condition.difference, values)
    return not isinstance(condition, Junction) or all(_is_small_condition(part, values) for part in condition.parts)


def _safe_check(seed: int) -> tuple[int, str]:
    try:
        return seed, check_seed(seed)
    except Exception as error:  # a traceback is as much a failure as a wrong value
        return seed, f"{type(error).__name__}: {error}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=10000)
    arguments.add_argument("--seed", type=int, default=0, help="the first seed")
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--c", action="store_true", help="check the C text too, in groups of 500 expressions")
    options = arguments.parse_args()
    failed = 0
    seeds = range(options.seed, options.seed + options.count)
    with ProcessPoolExecutor(options.jobs) as pool:
        for seed, message in pool.map(_safe_check, seeds, chunksize=200):
            if message:
                failed += 1
                print(f"seed {seed}: {message}")
    for start in seeds[::500] if options.c else ():
        with tempfile.TemporaryDirectory() as folder:
            for message in check_c(range(start, min(start + 500, seeds.stop)), Path(folder)):
                failed += 1
                print(message)
    print(f"{options.count} expressions, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
