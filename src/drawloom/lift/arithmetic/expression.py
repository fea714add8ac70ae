"""The data of array lengths and indices: symbolic integers, built once each, and conditions over them.

    Nat       ::= Constant(value) | Monomial | Sum(coefficient × Monomial, ...) | Raw(operator, Nat, ...)
    Monomial  ::= Atom | Product(Atom, Atom, ...)                      at least two factors, sorted, repeated for powers
    Atom      ::= Variable(name, Range) | FloorDivision(Nat, Nat) | Remainder(Nat, Nat) | ExactDivision(Nat, Nat)
                | Minimum(Nat, ...) | Maximum(Nat, ...) | Power(Nat, Nat) | Logarithm(Nat) | Choice(Condition, Nat, Nat)
    Range     ::= start, stop, step                                    start + k × step for k >= 0, below stop
    Condition ::= Truth(value) | Comparison(relation, Nat) | Junction(all or any, Condition, ...)

A value is an integer, of any size. `FloorDivision` and `Remainder` round towards minus infinity and have a divisor that
is not zero; an `ExactDivision` asserts that nothing remains. Equal normal forms are the same object: nodes live in the
table of their newest variable and die with that variable, so that a search over many programs does not fill memory.
The rules that bring expressions into this form are in the modules beside; thesis section 4.3.3 has the first six.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from drawloom.errors import Error

# The kinds, in the order in which factors of one degree print.
VARIABLE: Final = 0
FLOOR_DIVISION: Final = 1
REMAINDER: Final = 2
EXACT_DIVISION: Final = 3
MINIMUM: Final = 4
MAXIMUM: Final = 5
POWER: Final = 6
LOGARITHM: Final = 7
CHOICE: Final = 8
PRODUCT: Final = 9
SUM: Final = 10
CONSTANT: Final = 11
RAW: Final = 12
IS_RAW: Final = 1 << RAW

#: Expressions of this level and above depend on a variable with an upper end.
INDEX_LEVEL: Final = 1000
#: Operations inside of operations; printing and rewriting recurse.
DEEPEST_NESTING: Final = 150

# Relations of a Comparison's difference to zero.
AT_LEAST_ZERO: Final = 0
IS_ZERO: Final = 1
IS_NOT_ZERO: Final = 2


class ArithmeticRefusal(Error):
    """Raised for an expression that has no value or no C form, such as a division by zero."""


class Home:
    """Holds the nodes whose newest variable is the one with this serial number."""

    def __init__(self, serial: int) -> None:
        self.serial: Final = serial
        self.nodes: Final[dict[tuple[Any, ...], Nat]] = {}
        self.conditions: Final[dict[tuple[Any, ...], Condition]] = {}
        self.results: Final[dict[tuple[int, Nat, Nat], Nat]] = {}  # of operations, by operator and operands


CONSTANTS_HOME: Final = Home(0)


class Nat:
    """An immutable symbolic integer. `is` and `==` agree: equal normal forms are one object.

    Operators take `Nat` or `int` operands: + - * // % **.
    """

    def __init__(self, home: Home, order: tuple[Any, ...], level: int, traits: int) -> None:
        if level % INDEX_LEVEL > DEEPEST_NESTING:
            raise ArithmeticRefusal(f"an expression is nested more than {DEEPEST_NESTING} operations deep")
        self.home: Final = home
        self.order = order  # sorts nodes without regard to when they were made; a sum's is made by order_of
        self.level: Final = level  # greater than the level of what the node's value or bounds depend on
        self.traits: Final = traits  # bit 1 << kind for each kind of atom that is a factor here, and for RAW
        self.sign_memo = 0  # of bounds.is_nonnegative
        self.points: tuple[int | None, ...] | None = None  # of points.points_of
        self.bounds_memo = 0  # of bounds.bound_monomial: which of the two that follow are known
        self.lower: Nat | None = None
        self.upper: Nat | None = None

    def __add__(self, other: Nat | int) -> Nat:
        return OPERATORS.active.add(self, as_nat(other))

    def __radd__(self, other: int) -> Nat:
        return OPERATORS.active.add(constant(other), self)

    def __sub__(self, other: Nat | int) -> Nat:
        return OPERATORS.active.subtract(self, as_nat(other))

    def __rsub__(self, other: int) -> Nat:
        return OPERATORS.active.subtract(constant(other), self)

    def __neg__(self) -> Nat:
        return OPERATORS.active.multiply(MINUS_ONE, self)

    def __mul__(self, other: Nat | int) -> Nat:
        return OPERATORS.active.multiply(self, as_nat(other))

    def __rmul__(self, other: int) -> Nat:
        return OPERATORS.active.multiply(constant(other), self)

    def __floordiv__(self, other: Nat | int) -> Nat:
        return OPERATORS.active.floor_divide(self, as_nat(other))

    def __rfloordiv__(self, other: int) -> Nat:
        return OPERATORS.active.floor_divide(constant(other), self)

    def __mod__(self, other: Nat | int) -> Nat:
        return OPERATORS.active.remainder(self, as_nat(other))

    def __rmod__(self, other: int) -> Nat:
        return OPERATORS.active.remainder(constant(other), self)

    def __pow__(self, other: Nat | int) -> Nat:
        return OPERATORS.active.power(self, as_nat(other))

    def __rpow__(self, other: int) -> Nat:
        return OPERATORS.active.power(constant(other), self)

    def __str__(self) -> str:
        return OPERATORS.active.text(self)

    def __repr__(self) -> str:
        return OPERATORS.active.text(self)


class Constant(Nat):
    def __init__(self, value: int) -> None:
        super().__init__(CONSTANTS_HOME, (0, CONSTANT, value), 0, 0)
        self.value: Final = value


class Range:
    """The values start, start + step, start + 2 × step, ... below `stop`; without `stop` there is no upper end.

    Where the variable has a value there is one, so `start` < `stop`. `step` is positive.
    """

    def __init__(self, start: Nat, stop: Nat | None, step: Nat) -> None:
        self.start: Final = start
        self.stop: Final = stop
        self.step: Final = step

    def __str__(self) -> str:
        stop = "" if self.stop is None else str(self.stop)
        return f"{self.start} .. {stop}" + ("" if self.step is ONE else f" step {self.step}")


class Variable(Nat):
    """A named unknown; two variables of one name are two. `is_call` marks OpenCL built-ins such as get_global_id(0)."""

    def __init__(self, name: str, range_: Range, serial: int, is_call: bool) -> None:
        level = max(range_.start.level, range_.step.level)
        if range_.stop is not None:
            level = max(level, range_.stop.level, INDEX_LEVEL)
        is_length = 1 if range_.stop is None else 0  # indices print before lengths: wg*N, l*M
        order = (-1, VARIABLE, is_length, name.casefold(), name, serial)
        super().__init__(Home(serial), order, level + 1, 1 << VARIABLE)
        self.name: Final = name
        self.range: Final = range_
        self.is_call: Final = is_call


class Product(Nat):
    def __init__(self, home: Home, order: tuple[Any, ...], level: int, traits: int, factors: tuple[Nat, ...]) -> None:
        super().__init__(home, order, level, traits)
        self.factors: Final = factors


class Sum(Nat):
    """Coefficients, none zero, and monomials, in order; the constant term's monomial is `ONE`. A single term is a sum
    too when its coefficient is not one."""

    def __init__(
        self,
        home: Home,
        order: tuple[Any, ...],
        level: int,
        traits: int,
        monomials: tuple[Nat, ...],
        coefficients: tuple[int, ...],
    ) -> None:
        super().__init__(home, order, level, traits)
        self.monomials: Final = monomials
        self.coefficients: Final = coefficients


class Binary(Nat):
    """Base of the atoms with two operands."""

    def __init__(self, home: Home, order: tuple[Any, ...], level: int, kind: int, left: Nat, right: Nat) -> None:
        super().__init__(home, order, level, 1 << kind)
        self.left: Final = left
        self.right: Final = right


class FloorDivision(Binary):
    """`left` / `right`, rounded down."""


class Remainder(Binary):
    """`left` mod `right`, with the sign of `right`."""


class ExactDivision(Binary):
    """`left` / `right`, asserted to leave nothing. `whole` is a variable for its value, made by bounds."""

    def __init__(self, home: Home, order: tuple[Any, ...], level: int, left: Nat, right: Nat) -> None:
        super().__init__(home, order, level, EXACT_DIVISION, left, right)
        self.whole: Variable | None = None


class Power(Binary):
    """`left` to the `right`."""


class Extremum(Nat):
    """Base of minimum and maximum."""

    def __init__(self, home: Home, order: tuple[Any, ...], level: int, kind: int, operands: tuple[Nat, ...]) -> None:
        super().__init__(home, order, level, 1 << kind)
        self.operands: Final = operands


class Minimum(Extremum):
    pass


class Maximum(Extremum):
    pass


class Logarithm(Nat):
    """The logarithm to base 2, rounded down, of a positive operand."""

    def __init__(self, home: Home, order: tuple[Any, ...], level: int, operand: Nat) -> None:
        super().__init__(home, order, level, 1 << LOGARITHM)
        self.operand: Final = operand


class Choice(Nat):
    """`then` where `condition` holds, else `otherwise`; only the chosen one needs to have a value."""

    def __init__(
        self, home: Home, order: tuple[Any, ...], level: int, condition: Condition, then: Nat, otherwise: Nat
    ) -> None:
        super().__init__(home, order, level, 1 << CHOICE)
        self.condition: Final = condition
        self.then: Final = then
        self.otherwise: Final = otherwise


class Raw(Nat):
    """An operation as it was written, built by `unsimplified()`. `operator` is a kind; SUM has two operands."""

    def __init__(
        self,
        home: Home,
        order: tuple[Any, ...],
        level: int,
        operator: int,
        operands: tuple[Nat, ...],
        condition: Condition | None,
    ) -> None:
        super().__init__(home, order, level, IS_RAW)
        self.operator: Final = operator
        self.operands: Final = operands
        self.condition: Final = condition


class Condition:
    """A truth value over expressions, built once each like `Nat`."""

    def __init__(self, home: Home, order: tuple[Any, ...], level: int, is_raw: bool) -> None:
        self.home: Final = home
        self.order: Final = order
        self.level: Final = level
        self.is_raw: Final = is_raw

    def __str__(self) -> str:
        return OPERATORS.active.condition_text(self)

    def __repr__(self) -> str:
        return OPERATORS.active.condition_text(self)


class Truth(Condition):
    def __init__(self, value: bool) -> None:
        super().__init__(CONSTANTS_HOME, (0, value), 0, False)
        self.value: Final = value


class Comparison(Condition):
    """`difference` is at least zero, is zero, or is not zero."""

    def __init__(self, home: Home, order: tuple[Any, ...], relation: int, difference: Nat) -> None:
        super().__init__(home, order, difference.level, difference.traits & IS_RAW != 0)
        self.relation: Final = relation
        self.difference: Final = difference


class Junction(Condition):
    """All of the conditions, or any of them."""

    def __init__(
        self,
        home: Home,
        order: tuple[Any, ...],
        level: int,
        is_raw: bool,
        needs_all: bool,
        parts: tuple[Condition, ...],
    ) -> None:
        super().__init__(home, order, level, is_raw)
        self.needs_all: Final = needs_all
        self.parts: Final = parts


class Operators:
    """The constructors that Python's operators call: the normalising ones, or the raw ones."""

    def add(self, left: Nat, right: Nat) -> Nat:
        raise NotImplementedError

    def subtract(self, left: Nat, right: Nat) -> Nat:
        raise NotImplementedError

    def multiply(self, left: Nat, right: Nat) -> Nat:
        raise NotImplementedError

    def floor_divide(self, left: Nat, right: Nat) -> Nat:
        raise NotImplementedError

    def remainder(self, left: Nat, right: Nat) -> Nat:
        raise NotImplementedError

    def exact_divide(self, left: Nat, right: Nat) -> Nat:
        raise NotImplementedError

    def power(self, left: Nat, right: Nat) -> Nat:
        raise NotImplementedError

    def minimum(self, operands: list[Nat]) -> Nat:
        raise NotImplementedError

    def maximum(self, operands: list[Nat]) -> Nat:
        raise NotImplementedError

    def log2(self, operand: Nat) -> Nat:
        raise NotImplementedError

    def select(self, condition: Condition, then: Nat, otherwise: Nat) -> Nat:
        raise NotImplementedError

    def substitute(self, expression: Nat, variable: Variable, value: Nat) -> Nat:
        raise NotImplementedError

    def text(self, expression: Nat) -> str:
        raise NotImplementedError

    def condition_text(self, condition: Condition) -> str:
        raise NotImplementedError


class OperatorSet:
    """Which constructors Python's operators call now, and which normalise."""

    def __init__(self) -> None:
        self.active = Operators()
        self.normalising = Operators()
        self.raw = Operators()

    def install(self, normalising: Operators, raw: Operators) -> None:
        self.active = normalising
        self.normalising = normalising
        self.raw = raw


OPERATORS: Final = OperatorSet()


@contextmanager
def unsimplified() -> Iterator[None]:
    """Build expressions as they are written, without any rule, in the `with` block; other threads do so, too."""
    before = OPERATORS.active
    OPERATORS.active = OPERATORS.raw
    try:
        yield
    finally:
        OPERATORS.active = before


_CONSTANTS: Final[dict[int, Constant]] = {}
_SERIALS: Final = count(1)  # of variables


def constant(value: int) -> Constant:
    """Return the expression of an integer."""
    node = _CONSTANTS.get(value)
    if node is None:
        node = _CONSTANTS.setdefault(value, Constant(int(value)))
    return node


ZERO: Final = constant(0)
ONE: Final = constant(1)
MINUS_ONE: Final = constant(-1)

TRUE: Final = Truth(True)
FALSE: Final = Truth(False)


def as_nat(value: Nat | int) -> Nat:
    """Return `value` itself or, for an int, its constant."""
    return constant(value) if isinstance(value, int) else value


def variable(name: str, start: Nat | int = 1, stop: Nat | int | None = None, step: Nat | int = 1) -> Variable:
    """Make a new variable, by default a length: at least one, without an upper end.

    Args:
        name: printed as it stands; two variables of one name are two.
        start, stop, step: the values start, start + step, ... below `stop`, which may be expressions.

    Example:
        >>> from drawloom.lift.arithmetic import variable
        >>> n = variable("N")
        >>> i = variable("i", 0, n)
        >>> print((i + n) % n)
        i
    """
    return _new_variable(name, Range(as_nat(start), None if stop is None else as_nat(stop), as_nat(step)), False)


def index(name: str, stop: Nat | int) -> Variable:
    """Make a new variable with the values 0, 1, ... below `stop`."""
    return _new_variable(name, Range(ZERO, as_nat(stop), ONE), False)


def call_variable(name: str, start: Nat | int, stop: Nat | int | None) -> Variable:
    """Make a variable that stands for a call of an OpenCL built-in, printed as `name`."""
    return _new_variable(name, Range(as_nat(start), None if stop is None else as_nat(stop), ONE), True)


def _new_variable(name: str, range_: Range, is_call: bool) -> Variable:
    if (range_.start.traits | range_.step.traits) & IS_RAW or (range_.stop is not None and range_.stop.traits & IS_RAW):
        raise ArithmeticRefusal(f"variable {name}: its range is an unsimplified expression, expected a simplified one")
    return Variable(name, range_, next(_SERIALS), is_call)


def newer(one: Home, other: Home) -> Home:
    return one if one.serial >= other.serial else other


def order_of(node: Nat) -> tuple[Any, ...]:
    """Return the tuple by which nodes are sorted."""
    if isinstance(node, Sum) and not node.order:
        node.order = (-1, SUM, tuple([monomial.order for monomial in node.monomials]), node.coefficients)
    return node.order


# Interning: the one object for a normal form. The callers have normalised the operands. `setdefault` keeps the object
# of the thread that was first.


def intern_product(factors: tuple[Nat, ...]) -> Nat:
    """Return the product of sorted atoms: `ONE` for none, the atom itself for a single one."""
    if len(factors) < 2:
        return factors[0] if factors else ONE
    home = CONSTANTS_HOME
    level = traits = 0
    for factor in factors:
        home = newer(home, factor.home)
        level = max(level, factor.level)
        traits |= factor.traits
    key = (PRODUCT, factors)
    node = home.nodes.get(key)
    if node is None:
        order = (-len(factors), PRODUCT, tuple([factor.order for factor in factors]))
        node = Product(home, order, level, traits, factors)
        node = home.nodes.setdefault(key, node)
    return node


def intern_sum(monomials: tuple[Nat, ...], coefficients: tuple[int, ...]) -> Nat:
    """Return the sum of sorted terms with coefficients that are not zero."""
    if len(monomials) < 2:
        if not monomials:
            return ZERO
        if coefficients[0] == 1:
            return monomials[0]
        if monomials[0] is ONE:
            return constant(coefficients[0])
    home = CONSTANTS_HOME
    level = traits = 0
    for monomial in monomials:
        home = newer(home, monomial.home)
        level = max(level, monomial.level)
        traits |= monomial.traits
    key = (SUM, monomials, coefficients)
    node = home.nodes.get(key)
    if node is None:
        node = Sum(home, (), level, traits, monomials, coefficients)
        node = home.nodes.setdefault(key, node)
    return node


def intern_binary(kind: int, left: Nat, right: Nat) -> Nat:
    home = newer(left.home, right.home)
    key = (kind, left, right)
    node = home.nodes.get(key)
    if node is None:
        order = (-1, kind, order_of(left), order_of(right))
        level = max(left.level, right.level) + 1
        if kind == FLOOR_DIVISION:
            node = FloorDivision(home, order, level, FLOOR_DIVISION, left, right)
        elif kind == REMAINDER:
            node = Remainder(home, order, level, REMAINDER, left, right)
        elif kind == EXACT_DIVISION:
            node = ExactDivision(home, order, level, left, right)
        else:
            node = Power(home, order, level, POWER, left, right)
        node = home.nodes.setdefault(key, node)
    return node


def intern_extremum(kind: int, operands: tuple[Nat, ...]) -> Nat:
    home = CONSTANTS_HOME
    level = 0
    for operand in operands:
        home = newer(home, operand.home)
        level = max(level, operand.level)
    key = (kind, operands)
    node = home.nodes.get(key)
    if node is None:
        order = (-1, kind, tuple([order_of(operand) for operand in operands]))
        if kind == MINIMUM:
            node = Minimum(home, order, level + 1, MINIMUM, operands)
        else:
            node = Maximum(home, order, level + 1, MAXIMUM, operands)
        node = home.nodes.setdefault(key, node)
    return node


def intern_logarithm(operand: Nat) -> Nat:
    key = (LOGARITHM, operand)
    node = operand.home.nodes.get(key)
    if node is None:
        node = Logarithm(operand.home, (-1, LOGARITHM, order_of(operand)), operand.level + 1, operand)
        node = operand.home.nodes.setdefault(key, node)
    return node


def intern_choice(condition: Condition, then: Nat, otherwise: Nat) -> Nat:
    home = newer(condition.home, newer(then.home, otherwise.home))
    key = (CHOICE, condition, then, otherwise)
    node = home.nodes.get(key)
    if node is None:
        order = (-1, CHOICE, condition.order, order_of(then), order_of(otherwise))
        level = max(condition.level, then.level, otherwise.level) + 1
        node = Choice(home, order, level, condition, then, otherwise)
        node = home.nodes.setdefault(key, node)
    return node


def intern_raw(operator: int, operands: tuple[Nat, ...], condition: Condition | None) -> Nat:
    home = CONSTANTS_HOME if condition is None else condition.home
    level = 0 if condition is None else condition.level
    for operand in operands:
        home = newer(home, operand.home)
        level = max(level, operand.level)
    key = (RAW, operator, operands, condition)
    node = home.nodes.get(key)
    if node is None:
        orders = tuple([order_of(operand) for operand in operands])
        order = (-1, RAW, operator, orders, () if condition is None else condition.order)
        node = Raw(home, order, level + 1, operator, operands, condition)
        node = home.nodes.setdefault(key, node)
    return node


def intern_comparison(relation: int, difference: Nat) -> Condition:
    key = (relation, difference)
    node = difference.home.conditions.get(key)
    if node is None:
        node = Comparison(difference.home, (1, relation, order_of(difference)), relation, difference)
        node = difference.home.conditions.setdefault(key, node)
    return node


def intern_junction(needs_all: bool, parts: tuple[Condition, ...]) -> Condition:
    home = CONSTANTS_HOME
    level = 0
    is_raw = False
    for part in parts:
        home = newer(home, part.home)
        level = max(level, part.level)
        is_raw = is_raw or part.is_raw
    key = (needs_all, parts)
    node = home.conditions.get(key)
    if node is None:
        order = (2, needs_all, tuple([part.order for part in parts]))
        node = Junction(home, order, level, is_raw, needs_all, parts)
        node = home.conditions.setdefault(key, node)
    return node
