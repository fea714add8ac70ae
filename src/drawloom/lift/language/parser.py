"""Text in the thesis's notation to the IR; the grammar is in ``ir.py``, and ``printer.py`` writes it.

Beyond what the printer writes, the parser takes what the thesis's listings have: ``+`` and ``×`` as functions,
``mapGlb(f)`` for dimension 0, ``init =`` before an initial value, parameters that take tuples apart, ``tile``,
``untile`` and ``make2DArray``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drawloom.errors import count
from drawloom.lift.arithmetic import Variable
from drawloom.lift.language.apply import as_lambda, fit_arity, over_missing
from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.errors import LiftParseError
from drawloom.lift.language.index_functions import BoundaryFunction
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Parameter, Scalar, Static
from drawloom.lift.language.lexer import END, NAME, NUMBER, Source, Token
from drawloom.lift.language.notations import make_literal, tile_function, untile_function
from drawloom.lift.language.partial import Notation, Partial, apply_value, as_function
from drawloom.lift.language.patterns.layout import (
    BOUNDARIES,
    ArrayOf,
    Get,
    MakeTuple,
    PadIndex,
    PadValue,
    Replicate,
)
from drawloom.lift.language.patterns.table import PATTERNS
from drawloom.lift.language.type_parser import CLOSING, TypeParser
from drawloom.lift.language.types import VECTOR_WIDTHS, ScalarType, Type, float16, float32, named_type
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.library import LIBRARY
from drawloom.lift.language.user_functions.parser import FunctionParser, number
from drawloom.lift.language.user_functions.properties import check_properties

#: What may follow a lone sign that stands for a function.
AFTER_FUNCTION: Final = (*CLOSING, ",", "∘", "")
#: Functions that a text may write as signs.
SIGNS: Final = {"+": "add", "×": "mult", "*": "mult", "-": "sub", "/": "div"}


#: What a part of the text stands for.
Value = Expression | Function | Partial


@room_for_depth()
def parse_expression(
    text: str,
    *,
    sizes: Mapping[str, Variable] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    file: str = "<text>",
) -> Expression | Function:
    """Parse an expression or a function.

    Args:
        text: Lift in the thesis's notation.
        sizes: The variables that names of sizes stand for; other names become new sizes.
        functions: User functions by name, besides the library's.
        parameters: Free parameters by name.
        file: What errors call the text.

    Returns:
        An expression, or a function where the text is one.

    Raises:
        LiftParseError: The text is not in the language; the error names line and column.
        LiftTypeError: A function is applied to more arguments than it takes.

    Example:
        >>> parse_expression("λ x: [float]N . reduce(0, +) ∘ map(λ y . y × y, x)")
        λ x: [float]N . reduce(0, add) ∘ map(λ y . mult(y, y), x)
    """
    parser = Parser(Source(text, file), dict(sizes or {}), {**LIBRARY, **(functions or {})})
    parser.scope.update(parameters or {})
    value = parser.value()
    if parser.source.token.kind != END:
        raise parser.source.refuse(f"found {parser.source.found()} after the expression", "the end of the text")
    return value if isinstance(value, Expression) else as_function(value)


@room_for_depth()
def parse_program(text: str, *, sizes: Mapping[str, Variable] | None = None, file: str = "<text>") -> Lambda:
    """Parse a program: definitions of user functions, then ``name(x: type, ...) = expression`` or a lambda.

    Raises:
        LiftParseError: The text is not a program; the error names line and column.
        LiftTypeError: A user function is ill-typed or does not have a declared property.

    Example:
        >>> program = parse_program("float square(float x) { return x * x; }  squares(x: [float]N) = map(square, x)")
        >>> program
        squares(x: [float]N) = map(square, x)
    """
    source = Source(text, file)
    parser = Parser(source, dict(sizes or {}), dict(LIBRARY))
    while is_definition(source):
        parser.definition()
    if source.token.kind == NAME and source.peek().text == "(" and is_program(source):
        program = parser.program()
    else:
        position = source.position()
        value = parser.value()
        if not isinstance(value, Lambda):
            raise LiftParseError(
                "the text is not a program", file, position.line, position.column, position.source_line,
                "name(x: type) = expression, or λ x: type . expression",
            )  # fmt: skip
        program = value
    if source.token.kind != END:
        raise source.refuse(f"found {source.found()} after the program", "the end of the text")
    return program


def is_definition(source: Source) -> bool:
    """Return True where a user function begins: at a property, or at a type and a name."""
    token, following = source.token, source.peek()
    if token.text == "[":
        return following.text in ("associative", "commutative", "neutral")
    if token.kind == NAME:
        return following.kind == NAME and source.peek(2).text == "("
    if token.text != "(":
        return False
    ahead = 1
    while source.peek(ahead).kind == NAME or source.peek(ahead).text in ("(", ")", ","):
        if source.peek(ahead).text == ")" and source.peek(ahead + 1).kind == NAME:
            return source.peek(ahead + 2).text == "("
        ahead += 1
    return False


def is_program(source: Source) -> bool:
    """Return True where the parenthesis after a name begins with a parameter's type, or is followed by '='."""
    if source.peek(2).kind == NAME and source.peek(3).text == ":":
        return True
    depth, ahead = 0, 1
    while True:
        token = source.peek(ahead)
        if token.kind == END:
            return False
        if token.text == "(":
            depth += 1
        elif token.text == ")":
            depth -= 1
            if depth == 0:
                return source.peek(ahead + 1).text == "="
        ahead += 1


class Parser(TypeParser):
    """Reads Lift at the cursor of a source."""

    def __init__(self, source: Source, sizes: dict[str, Variable], functions: dict[str, UserFunction]) -> None:
        super().__init__(source, sizes)
        self.functions = functions
        self.scope: dict[str, Expression] = {}

    # Programs

    def definition(self) -> None:
        """Parse a user function with its properties, check it, and make its name known."""
        source = self.source
        place = source.token
        associative = commutative = False
        neutral: Scalar | None = None
        while source.accept("["):
            word = source.expect_name("a property").text
            associative = associative or word == "associative"
            commutative = commutative or word == "commutative"
            if word == "neutral":
                neutral = self.bare_number()
            elif word not in ("associative", "commutative"):
                raise source.refuse(f"{word} is not a property", "associative, commutative or neutral")
            source.expect("]", "a property")
        name = source.peek().text
        tree = FunctionParser(source).function()
        if tree.name in self.functions and tree.name not in LIBRARY:
            raise source.refuse(f"function {tree.name} is defined twice", "another name", place)
        function = UserFunction(tree, associative, commutative, neutral, tree.position)
        function.check()
        check_properties(function)
        self.functions[tree.name or name] = function

    def bare_number(self) -> Scalar:
        value = self.unary()
        if not isinstance(value, Literal) or isinstance(value.value, tuple):
            raise self.source.refuse("a neutral element is not a number", "a number")
        return value.value

    def program(self) -> Lambda:
        source = self.source
        position = source.position()
        name = source.next().text
        source.expect("(", f"program {name}")
        parameters, names = self.parameters()
        source.expect(")", f"the parameters of {name}")
        source.expect("=", f"program {name}")
        body = self.in_scope(names)
        return Lambda(tuple(parameters), body, position, name)

    # Values

    def expression(self, what: str) -> Expression:
        token = self.source.token
        value = self.value()
        if not isinstance(value, Expression):
            raise self.source.refuse(f"{what} is a function", "a value", token)
        return value

    def value(self) -> Value:
        """Parse sums and differences of products; a lone sign is a function."""
        source = self.source
        self.enter()
        token = source.token
        if token.text in SIGNS and source.peek().text in AFTER_FUNCTION:
            source.next()
            function: Value = self.functions[SIGNS[token.text]]
            found = self.compose_with(function, token) if source.is_at("∘") else function
        else:
            found = self.infix(("+", "-"))
        self.depth -= 1
        return found

    def infix(self, signs: tuple[str, ...]) -> Value:
        source = self.source
        left = self.infix(("*", "×", "/")) if "+" in signs else self.composition()
        while source.token.text in signs and source.token.kind != NUMBER:
            token = source.next()
            right = self.infix(("*", "×", "/")) if "+" in signs else self.composition()
            if not isinstance(left, Expression) or not isinstance(right, Expression):
                raise source.refuse(f"an operand of {token.text} is a function", "a value", token)
            left = Call(self.functions[SIGNS[token.text]], (left, right), None, source.position(token))
        return left

    def composition(self) -> Value:
        token = self.source.token
        return self.compose_with(self.unary(), token)

    def compose_with(self, first: Value, token: Token) -> Value:
        """Parse ``∘ g ∘ h ∘ ...`` after a first function; the last part may be a value, which is the argument."""
        source = self.source
        parts: list[tuple[Value, Token]] = [(first, token)]
        while source.accept("∘"):
            token = source.token
            parts.append((self.unary(), token))
        last, token = parts[-1]
        if len(parts) == 1:
            return last
        parameters: tuple[Parameter, ...] = ()
        if isinstance(last, Expression):
            argument = last
        else:
            position = source.position(token)
            given = last.arguments if isinstance(last, Partial) else ()
            function = last.function if isinstance(last, Partial) else last
            composed = as_lambda(as_function(last), position)
            if isinstance(function, Lambda) and not isinstance(last, Notation):
                composed = over_missing(function, given, function.arity - len(given), position)
            parameters, argument = composed.parameters, composed.body
        for part, token in reversed(parts[:-1]):
            if isinstance(part, Expression):
                raise source.refuse("what stands before ∘ is not a function", "a function", token)
            call = apply_value(part, (argument,), source.position(token))
            if isinstance(call, Partial):
                raise source.refuse("a function in a composition lacks arguments", "a function of one argument", token)
            argument = call
        return Lambda(parameters, argument, source.position(parts[0][1])) if parameters else argument

    def unary(self) -> Value:
        source = self.source
        token = source.token
        if not source.is_at("-"):
            return self.applications()
        source.next()
        if source.token.kind == NUMBER:
            literal = self.number()
            assert not isinstance(literal.value, tuple)
            return Literal(-literal.value, literal.declared, None, source.position(token))
        self.enter()
        operand = self.unary()
        self.depth -= 1
        if not isinstance(operand, Expression):
            raise source.refuse("the operand of - is a function", "a value", token)
        return Call(self.functions["neg"], (operand,), None, source.position(token))

    def applications(self) -> Value:
        """Parse a primary and the argument lists after it."""
        source = self.source
        token = source.token
        value = self.primary()
        while source.is_at("(") and not isinstance(value, Expression):
            value = apply_value(value, tuple(self.arguments("an argument")), source.position(token))
        if source.is_at("(") and isinstance(value, Expression):
            raise source.refuse("a value is applied to arguments", "a function")
        return value

    def arguments(self, what: str) -> list[Expression]:
        source = self.source
        source.expect("(", what)
        found = [self.expression(what)]
        while source.accept(","):
            found.append(self.expression(what))
        source.expect(")", what)
        return found

    def primary(self) -> Value:
        source = self.source
        token = source.token
        position = source.position(token)
        if token.kind == NUMBER:
            return self.number()
        if source.is_at("λ"):
            return self.bare_lambda()
        if source.is_at("("):
            return self.parenthesis()
        if source.accept("["):
            elements = [self.expression("an element of an array")]
            while source.accept(","):
                elements.append(self.expression("an element of an array"))
            source.expect("]", "an array literal")
            return Call(ArrayOf((), (), position), tuple(elements), None, position)
        if token.kind != NAME:
            raise source.refuse(f"found {source.found()}", "an expression or a function")
        source.next()
        if token.text in ("true", "false"):
            return Literal(token.text == "true", None, None, position)
        if token.text in self.scope:
            return self.scope[token.text]
        if token.text in self.functions:
            return self.functions[token.text]
        if token.text in PATTERNS and token.text not in ("tuple", "array"):
            return self.pattern(token)
        if token.text in NOTATIONS:
            return self.notation(token)
        raise source.refuse(f"{token.text} is not a parameter, a pattern or a function", "a known name", token)

    def number(self) -> Literal:
        """Parse a number: bare ones take their type from their use, ``f`` and ``h`` say float and half."""
        source = self.source
        token = source.next()
        constant = number(source, token)
        position = source.position(token)
        declared = constant.type if constant.type in (float32, float16) else None
        if token.text[-1] in "uUlL" and token.text[:2] not in ("0x", "0X"):
            raise source.refuse(f"{token.text} is not a number of the language", "a type in front: (uint)3", token)
        assert declared is None or isinstance(declared, ScalarType)
        return Literal(constant.value, declared, None, position)

    def bare_lambda(self) -> Lambda:
        source = self.source
        position = source.position()
        self.enter()
        source.expect("λ", "a lambda")
        if source.accept("("):
            parameters, names = self.parameters()
            source.expect(")", "the parameters of a lambda")
        else:
            parameter = self.parameter()
            parameters, names = [parameter], {parameter.name: parameter}
        source.expect(".", "a lambda")
        body = self.in_scope(names)
        self.depth -= 1
        return Lambda(tuple(parameters), body, position)

    def in_scope(self, names: dict[str, Expression]) -> Expression:
        """Parse the body of a lambda, in which some names are known."""
        outer = self.scope
        self.scope = {**outer, **names}
        body = self.expression("the body of a lambda")
        self.scope = outer
        return body

    def parameters(self) -> tuple[list[Parameter], dict[str, Expression]]:
        """Parse parameters; those in parentheses take a tuple apart."""
        source = self.source
        parameters: list[Parameter] = []
        names: dict[str, Expression] = {}
        while True:
            if source.is_at("("):
                parameter = Parameter("pair", position=source.position())
                self.take_apart(parameter, names)
            else:
                parameter = self.parameter()
                self.name(names, parameter.name, parameter)
            parameters.append(parameter)
            if not source.accept(","):
                return parameters, names

    def parameter(self) -> Parameter:
        source = self.source
        token = source.expect_name("a parameter")
        if token.text in ("true", "false"):
            raise source.refuse(f"a parameter is called {token.text}", "another name", token)
        declared = self.type() if source.accept(":") else None
        return Parameter(token.text, declared, None, source.position(token))

    def take_apart(self, whole: Expression, names: dict[str, Expression]) -> None:
        """Parse ``(a, (b, c))`` and name the components of a tuple."""
        source = self.source
        self.enter()
        source.expect("(", "a tuple of parameters")
        index = 0
        while True:
            position = source.position()
            component = Call(Get((index,), (), position), (whole,), None, position)
            if source.is_at("("):
                self.take_apart(component, names)
            else:
                self.name(names, source.expect_name("a parameter").text, component)
            index += 1
            if not source.accept(","):
                break
        if index < 2:
            raise source.refuse("a tuple of one parameter", "two or more")
        source.expect(")", "a tuple of parameters")
        self.depth -= 1

    def name(self, names: dict[str, Expression], name: str, value: Expression) -> None:
        if name in names:
            raise self.source.refuse(f"parameter {name} is declared twice", "another name")
        names[name] = value

    def parenthesis(self) -> Value:
        """Parse a literal of a stated type, a tuple, or a value in parentheses."""
        source = self.source
        token = source.token
        position = source.position(token)
        stated = named_type(source.peek().text) if source.peek().kind == NAME else None
        if stated is not None and source.peek(2).text == ")" and source.peek().text not in self.scope:
            source.at += 3
            return self.typed_literal(stated, token)
        source.next()
        first = self.value()
        if source.accept(")"):
            return first
        elements: list[Expression] = []
        while isinstance(first, Expression):
            elements.append(first)
            if not source.accept(","):
                source.expect(")", "a tuple")
                return Call(MakeTuple((), (), position), tuple(elements), None, position)
            first = self.value()
        raise source.refuse("a component of a tuple is a function", "a value", token)

    def typed_literal(self, type: Type, token: Token) -> Literal:
        """Parse what follows ``(double)`` or ``(float4)``: one number, or the components of a vector."""
        source = self.source
        if isinstance(type, ScalarType):
            return make_literal(source, token, [self.signed_number()], type)
        if not source.accept("("):
            return make_literal(source, token, [self.signed_number()], type)
        parts = [self.signed_number()]
        while source.accept(","):
            parts.append(self.signed_number())
        source.expect(")", "a vector")
        return make_literal(source, token, parts, type)

    def signed_number(self) -> Literal:
        source = self.source
        negative = source.accept("-")
        if source.token.kind != NUMBER:
            if not negative and source.token.text in ("true", "false"):
                return Literal(source.next().text == "true")
            raise source.refuse(f"found {source.found()}", "a number")
        literal = self.number()
        assert not isinstance(literal.value, tuple)
        return Literal(-literal.value, literal.declared) if negative else literal

    # Patterns

    def pattern(self, token: Token) -> Value:
        """Parse the slots of a pattern, and the arguments that follow them in the same parentheses."""
        source = self.source
        keyword = token.text
        made = PATTERNS[keyword]
        position = source.position(token)
        slots = [slot for slot in made.slots if slot != "dimension"]
        statics: list[Static] = []
        functions: list[Lambda] = []
        given: list[Expression] = []
        if len(slots) < len(made.slots):
            statics.append(self.dimension(keyword))
        if slots:
            source.expect("(", keyword)
            for at, slot in enumerate(slots):
                if at > 0:
                    source.expect(",", keyword)
                if slot == "word" and source.token.text not in BOUNDARIES:
                    # pad(l, r, i → ...) with a function, or pad(l, r, x) with a value.
                    made, slot = (PadIndex, "boundary") if self.is_index_function() else (PadValue, "argument")
                self.slot(keyword, slot, statics, functions, given)
            while source.accept(","):
                given.append(self.expression(f"an argument of {keyword}"))
            source.expect(")", keyword)
        pattern = made(tuple(statics), tuple(functions), position)
        if not given and pattern.arity != 0:
            return pattern
        return apply_value(pattern, tuple(given), position)

    def slot(
        self,
        keyword: str,
        slot: str,
        statics: list[Static],
        functions: list[Lambda],
        given: list[Expression],
    ) -> None:
        source = self.source
        if slot == "function":
            functions.append(self.function(keyword, len(functions)))
        elif slot == "argument":
            if source.token.text == "init" and source.peek().text == "=":
                source.at += 2
            given.append(self.expression(f"an argument of {keyword}"))
        elif slot == "nat":
            statics.append(self.length())
        elif slot == "index":
            statics.append(self.index_function())
        elif slot == "boundary":
            statics.append(self.index_function(BoundaryFunction))
        elif slot == "word":
            statics.append(source.next().text)
        else:
            statics.append(self.integer(keyword))

    def is_index_function(self) -> bool:
        """Return True before ``i →`` and ``(i, n) →``."""
        at = 5 if self.source.is_at("(") else 1
        return self.source.peek(at).text in ("→", "->")

    def dimension(self, keyword: str) -> int:
        """Parse ``(0)``; a map without it uses dimension 0."""
        source = self.source
        if not (source.is_at("(") and source.peek().kind == NUMBER and source.peek(2).text == ")"):
            return 0
        source.next()
        token = source.token
        dimension = self.integer(keyword)
        source.next()
        if dimension > 2:
            raise source.refuse(f"{keyword}: dimension {dimension}", "0, 1 or 2", token)
        return dimension

    def integer(self, keyword: str) -> int:
        source = self.source
        token = source.token
        if token.kind != NUMBER or not token.text.isdecimal() or len(token.text) > 9:
            raise source.refuse(f"{keyword}: found {source.found()}", "a small number")
        source.next()
        value = int(token.text)
        if keyword in ("asVector", "vectorize") and value not in VECTOR_WIDTHS:
            raise source.refuse(f"{keyword}: vectors of {value}", "2, 3, 4, 8 or 16", token)
        return value

    def function(self, keyword: str, slot: int) -> Lambda:
        source = self.source
        token = source.token
        value = self.value()
        if isinstance(value, Expression):
            raise source.refuse(f"{keyword}: found a value", "a function", token)
        function = as_function(value)
        takes = PATTERNS[keyword].function_takes
        if not takes:
            return as_lambda(function, source.position(token))
        wanted = takes[slot]
        made = fit_arity(function, wanted, source.position(token))
        if made is None:
            taken = count(function.arity, "argument")
            raise source.refuse(
                f"{keyword}: its function takes {taken}", f"{wanted}, or more to take a tuple apart", token
            )
        return made

    def notation(self, token: Token) -> Value:
        """Parse what stands for a composition of patterns."""
        source = self.source
        position = source.position(token)
        if token.text == "untile":
            return Notation(untile_function(position), position)
        source.expect("(", token.text)
        lengths = [self.length()]
        source.expect(",", token.text)
        lengths.append(self.length())
        rest: list[Expression] = []
        while source.accept(","):
            rest.append(self.expression(f"an argument of {token.text}"))
        source.expect(")", token.text)
        if token.text == "tile":
            tile = Notation(tile_function(lengths[0], lengths[1], position), position)
            return apply_value(tile, tuple(rest), position) if rest else tile
        if len(rest) != 1:
            raise source.refuse(f"make2DArray is called with {len(rest)} values", "one value", token)
        row = Call(Replicate((lengths[1],), (), position), (rest[0],), None, position)
        return Call(Replicate((lengths[0],), (), position), (row,), None, position)


NOTATIONS: Final = ("tile", "untile", "make2DArray")
