"""Type inference: from a program to a copy in which every expression has its type (thesis 4.3.1).

Types flow from the declared parameters through the program; unification decides bare numbers, lengths that were left
open and parameters without a declared type.
"""

from __future__ import annotations

from drawloom.errors import count
from drawloom.lift.arithmetic import (
    ArithmeticRefusal,
    Nat,
    Variable,
    exact_div,
    free_variables,
    is_less,
    is_provably_false,
    less_equal,
    variable,
)
from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.errors import LiftTypeError, ill_typed
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Parameter, Pattern
from drawloom.lift.language.patterns.base import DefinedPattern, Rules
from drawloom.lift.language.types import (
    ArrayType,
    RaggedType,
    ScalarType,
    TupleType,
    Type,
    TypeVariable,
    VectorType,
    boolean,
    float32,
    holds_arrays,
    int32,
    lengths_of,
)
from drawloom.lift.language.unify import Mismatch, Solver
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.syntax import TypeParameter


@room_for_depth()
def infer_types(program: Lambda) -> Lambda:
    """Return a copy of a program in which every expression has its type.

    Args:
        program: A lambda whose parameters have declared types, or types that its body decides.

    Returns:
        An equal lambda; ``expression.type`` is set everywhere.

    Raises:
        LiftTypeError: The program is ill-typed; the error shows the pattern, the types and the line.

    Example:
        >>> from drawloom.lift import add, array, float32, fun, reduce_seq, size
        >>> total = fun(array(float32, size("N")), lambda xs: reduce_seq(0, add)(xs))
        >>> infer_types(total).body.type
        [float]1
    """
    return Inference().program(program)


class Inference(Rules):
    """One run over a program; it is also what type rules ask, on behalf of the call that is being typed."""

    def __init__(self) -> None:
        self.solver = Solver()
        self.current: Call | None = None
        self.functions: list[Lambda] = []  # typed so far for the current pattern
        self.scope: dict[Parameter, Parameter] = {}
        self.sizes = 0
        self.names: dict[str, Variable] = {}

    def program(self, program: Lambda) -> Lambda:
        arguments = [self.declared_or_fresh(parameter) for parameter in program.parameters]
        typed = self.function(program, arguments)
        try:
            self.solver.finish()
        except Mismatch as mismatch:
            raise ill_typed(f"the lengths of the program do not fit: {mismatch}", program.position) from None
        return Finish(self.solver).function(typed)

    def declared_or_fresh(self, parameter: Parameter) -> Type:
        if parameter.declared is None:
            return self.solver.fresh_type()
        for length in lengths_of(parameter.declared):
            for size in free_variables(length):
                other = self.names.setdefault(size.name, size)
                if other is not size:
                    raise ill_typed(
                        f"parameter {parameter.name}: two different sizes are called {size.name}",
                        parameter.position,
                        "one size of each name; size(...) makes a new one every time",
                    )
        return parameter.declared

    # Expressions

    def expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Literal):
            typed: Expression = Literal(
                expression.value, expression.declared, self.literal(expression), expression.position
            )
        elif isinstance(expression, Parameter):
            typed = self.parameter(expression)
        else:
            assert isinstance(expression, Call)
            typed = self.call_expression(expression)
        return typed

    def literal(self, literal: Literal) -> Type:
        if literal.declared is not None:
            return literal.declared
        if isinstance(literal.value, bool):
            return boolean
        return self.solver.fresh_type(True, int32 if isinstance(literal.value, int) else float32)

    def parameter(self, parameter: Parameter) -> Parameter:
        found = self.scope.get(parameter)
        if found is None:
            raise ill_typed(f"parameter {parameter.name} is used outside its function", parameter.position)
        return found

    def call_expression(self, call: Call) -> Call:
        arguments = [self.expression(argument) for argument in call.arguments]
        types = [argument.typed for argument in arguments]
        function = call.function
        outer, functions = self.current, self.functions
        self.current, self.functions = call, []
        if function.arity >= 0 and function.arity != len(types):
            raise self.refuse(f"it is called with {count(len(types), 'argument')}", str(function.arity))
        if isinstance(function, Pattern) and function.arity < 0 and len(types) < function.fewest:
            raise self.refuse(f"it is called with {count(len(types), 'argument')}", f"{function.fewest} or more")
        typed: Function = function
        if isinstance(function, Lambda):
            typed = self.function(function, types)
            result = typed.body.typed
        elif isinstance(function, UserFunction):
            result = self.user_function(function, types)
        else:
            assert isinstance(function, DefinedPattern)
            try:
                result = function.type_rule(types, self)
            except ArithmeticRefusal as refusal:
                raise self.refuse(str(refusal)) from None
            if self.functions:
                typed = function.rebuild(function.statics, tuple(self.functions))
        self.current, self.functions = outer, functions
        return Call(typed, tuple(arguments), result, call.position)

    def function(self, function: Lambda, arguments: list[Type]) -> Lambda:
        """Return a typed copy of a lambda that is applied to arguments of some types."""
        if len(arguments) != function.arity:
            raise self.refuse_at(
                function, f"its function takes {count(function.arity, 'argument')}", str(len(arguments))
            )
        parameters: list[Parameter] = []
        for parameter, type in zip(function.parameters, arguments):
            if parameter.declared is not None:
                self.match(parameter.declared, type, f"parameter {parameter.name} and its argument", function)
                type = parameter.declared
            typed = Parameter(parameter.name, parameter.declared, type, parameter.position)
            self.scope[parameter] = typed
            parameters.append(typed)
        body = self.expression(function.body)
        return Lambda(tuple(parameters), body, function.position, function.name)

    def user_function(self, function: UserFunction, arguments: list[Type]) -> Type:
        """Match the arguments with the parameters' types; the body is checked when all types are known."""
        instance: dict[str, Type] = {name: self.solver.fresh_type() for name in function.type_parameters}
        for at, (name, declared) in enumerate(function.tree.parameters):
            found = self.resolve(arguments[at])
            if holds_arrays(found):
                raise self.refuse(
                    f"parameter {name} is given {found}", "a scalar, a vector or a tuple; map applies it to elements"
                )
            self.match(fill_in(declared, instance), found, f"parameter {name} and its argument")
        return fill_in(function.tree.result, instance)

    # What type rules ask

    def fresh_type(self) -> Type:
        return self.solver.fresh_type()

    def fresh_length(self) -> Nat:
        return self.solver.fresh_length()

    def fresh_size(self, name: str, start: int, stop: Nat | None) -> Variable:
        self.sizes += 1
        return variable(f"{name}{self.sizes}", start, stop)

    def resolve(self, type: Type) -> Type:
        return self.solver.resolve(type)

    def array(self, type: Type, what: str) -> ArrayType:
        found = self.resolve(type)
        if isinstance(found, TypeVariable) and not found.numeric:
            array = ArrayType(self.fresh_type(), self.fresh_length())
            self.match(found, array, what)
            return array
        if not isinstance(found, ArrayType):
            hint = "; join, or map over the chunks" if isinstance(found, RaggedType) else ""
            raise self.refuse(f"{what} is {found}", "an array" + hint)
        return found

    def array_or_ragged(self, type: Type, what: str) -> ArrayType | RaggedType:
        found = self.resolve(type)
        return found if isinstance(found, RaggedType) else self.array(found, what)

    def same(self, left: Type, right: Type, what: str) -> None:
        self.match(left, right, what)

    def match(self, left: Type, right: Type, what: str, place: Function | None = None) -> None:
        try:
            self.solver.unify(left, right)
        except Mismatch as mismatch:
            left, right = self.resolve(left), self.resolve(right)
            plain = f"{left} is not {right}"
            reason = f" ({mismatch})" if str(mismatch) != plain else ""
            message = f"{what} differ: {left} and {right}{reason}"
            raise (self.refuse(message) if place is None else self.refuse_at(place, message)) from None
        except ArithmeticRefusal as refusal:
            raise self.refuse(f"{what}: {refusal}") from None

    def same_length(self, left: Nat, right: Nat, what: str) -> None:
        try:
            self.solver.unify_lengths(left, right)
        except Mismatch as mismatch:
            raise self.refuse(f"{what} differ: {mismatch}") from None

    def divide(self, length: Nat, chunk: Nat, what: str) -> Nat:
        length, chunk = self.solver.resolve_length(length), self.solver.resolve_length(chunk)
        if is_provably_false(less_equal(1, chunk)):
            raise self.refuse(f"{what} have {chunk} elements", "1 or more")
        if is_provably_false(less_equal(0, length)):
            raise self.refuse(f"{what}: the length would be {length}", "0 or more")
        try:
            return exact_div(length, chunk)
        except ArithmeticRefusal:
            raise self.refuse(
                f"{what}: {chunk} does not divide {length}",
                "a divisor; splitGuarded, splitPadded and an epilogue take any length",
            ) from None

    def at_most(self, length: Nat, most: Nat, what: str) -> None:
        length, most = self.solver.resolve_length(length), self.solver.resolve_length(most)
        if not self.solver.unknowns_of(most) and is_less(most, length):
            raise self.refuse(f"{what}: {length} of {most}", "no more than there are")

    def known_length(self, length: Nat) -> Nat | None:
        length = self.solver.resolve_length(length)
        return None if self.solver.unknowns_of(length) else length

    def call(self, function: Lambda, arguments: list[Type]) -> Type:
        current, functions = self.current, self.functions
        typed = self.function(function, arguments)
        self.current, self.functions = current, functions
        functions.append(typed)
        return typed.body.typed

    def refuse(self, message: str, expected: str = "") -> LiftTypeError:
        call = self.current
        assert call is not None
        return self.refuse_at(call, message, expected)

    def refuse_at(self, node: Call | Function, message: str, expected: str = "") -> LiftTypeError:
        function = node.function if isinstance(node, Call) else node
        subject = name_function(function)
        if isinstance(node, Lambda) and self.current is not None:
            subject = name_function(self.current.function)
        return ill_typed(f"{subject}: {message}", node.position, expected)


def name_function(function: Function) -> str:
    """Return what an error calls a function."""
    if isinstance(function, Pattern):
        return function.keyword
    if isinstance(function, UserFunction):
        return f"function {function.name}"
    return "λ"


def fill_in(type: Type, instance: dict[str, Type]) -> Type:
    """Replace type parameters by the types that stand for them."""
    if isinstance(type, TypeParameter):
        return instance[type.name]
    if isinstance(type, TupleType):
        return TupleType(tuple([fill_in(element, instance) for element in type.elements]))
    return type


class Finish:
    """Writes what the solver has found into a program, and checks the bodies of user functions."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.scope: dict[Parameter, Parameter] = {}

    def function(self, function: Lambda) -> Lambda:
        parameters: list[Parameter] = []
        for old in function.parameters:
            new = Parameter(old.name, old.declared, self.type(old, f"parameter {old.name}"), old.position)
            self.scope[old] = new
            parameters.append(new)
        return Lambda(tuple(parameters), self.expression(function.body), function.position, function.name)

    def expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Parameter):
            return self.scope[expression]
        if isinstance(expression, Literal):
            type = self.type(expression, f"the number {expression.value}")
            check_literal(expression, type)
            return Literal(expression.value, expression.declared, type, expression.position)
        assert isinstance(expression, Call)
        arguments = tuple([self.expression(argument) for argument in expression.arguments])
        function = expression.function
        if isinstance(function, Lambda):
            function = self.function(function)
        elif isinstance(function, UserFunction):
            self.check(function, expression, [argument.typed for argument in arguments])
        elif isinstance(function, Pattern) and function.functions:
            inner = tuple([self.function(one) for one in function.functions])
            function = function.rebuild(function.statics, inner)
        type = self.type(expression, f"the result of {name_function(function)}")
        return Call(function, arguments, type, expression.position)

    def check(self, function: UserFunction, call: Call, arguments: list[Type]) -> None:
        for argument in arguments:
            if holds_arrays(argument):
                raise ill_typed(f"function {function.name}: an argument is {argument}", call.position, "no array")
        try:
            function.instantiate(tuple(arguments))
        except LiftTypeError as refusal:
            raise ill_typed(
                f"{refusal.message}, called with {', '.join(map(str, arguments))}", call.position, refusal.expected
            ) from None

    def type(self, expression: Expression, what: str) -> Type:
        found = self.with_defaults(self.solver.resolve(expression.typed))
        if has_unknown(found, self.solver):
            raise ill_typed(f"the type of {what} is not known: {found}", expression.position, "a declared type")
        return found

    def with_defaults(self, type: Type) -> Type:
        if isinstance(type, TypeVariable) and type.default is not None:
            return type.default
        if isinstance(type, ArrayType):
            return ArrayType(self.with_defaults(type.element), type.length)
        if isinstance(type, RaggedType):
            return RaggedType(self.with_defaults(type.element), type.chunk, type.total)
        if isinstance(type, TupleType):
            return TupleType(tuple([self.with_defaults(element) for element in type.elements]))
        return type


def has_unknown(type: Type, solver: Solver) -> bool:
    """Return True when a part of a type has not been found."""
    if isinstance(type, TypeVariable):
        return True
    if isinstance(type, ArrayType):
        return bool(solver.unknowns_of(type.length)) or has_unknown(type.element, solver)
    if isinstance(type, RaggedType):
        return has_unknown(type.element, solver)
    return isinstance(type, TupleType) and any(has_unknown(element, solver) for element in type.elements)


def check_literal(literal: Literal, type: Type) -> None:
    """Refuse a number that its type cannot hold."""
    scalar = type.element if isinstance(type, VectorType) else type
    assert isinstance(scalar, ScalarType)
    values = literal.value if isinstance(literal.value, tuple) else (literal.value,)
    for value in values:
        if scalar.is_integer:
            low = -(2 ** (scalar.bits - 1)) if scalar.kind == "int" else 0
            if isinstance(value, float) or not low <= value < low + 2**scalar.bits:
                raise ill_typed(f"the number {value} is not of type {scalar}", literal.position)
