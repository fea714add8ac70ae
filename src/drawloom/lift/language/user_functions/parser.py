"""The text of a user function to its syntax tree; the grammar is in ``syntax.py``."""

from __future__ import annotations

from typing import Final

from drawloom.lift.language.lexer import NAME, NUMBER, Source, Token
from drawloom.lift.language.types import (
    TupleType,
    Type,
    VectorType,
    boolean,
    float16,
    float32,
    float64,
    int32,
    int64,
    named_type,
    uint32,
    uint64,
)
from drawloom.lift.language.user_functions.syntax import (
    Assign,
    Binary,
    Block,
    BuiltinCall,
    Cast,
    Conditional,
    Declare,
    FunctionTree,
    If,
    Jump,
    Loop,
    MakeTuple,
    MakeVector,
    Number,
    Return,
    Select,
    Statement,
    Tree,
    TypeParameter,
    Unary,
    Variable,
)

DEEPEST: Final = 60  # nested expressions or statements
MOST_OPERATORS: Final = 1000  # of one expression, whose tree may be as deep

#: Binary operators by how tightly they bind, loosest first.
LEVELS: Final = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip

COMPOUND: Final = {symbol + "=": symbol for symbol in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")}
KEYWORDS: Final = frozenset(["if", "else", "for", "while", "return", "break", "continue", "true", "false", "tuple"])


def parse_function(text: str, file: str = "<user function>") -> FunctionTree:
    """Parse the text of one user function.

    Raises:
        LiftParseError: The text is not in the subset of C; the error names the line and column.

    Example:
        >>> parse_function("float add(float x, float y) { return x + y; }").name
        'add'
    """
    source = Source(text, file)
    function = FunctionParser(source).function()
    if source.token.kind != "end":
        raise source.refuse(f"function {function.name}: found {source.found()} after its end", "the end of the text")
    return function


class FunctionParser:
    """Reads one function at the cursor of a source, which may go on after it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.depth = 0
        self.operators = 0  # of the current statement
        self.name = ""

    def function(self) -> FunctionTree:
        source = self.source
        position = source.position()
        result = self.type("the type of a function's result")
        self.name = source.expect_name("the name of a function").text
        source.expect("(", f"function {self.name}")
        parameters: list[tuple[str, Type]] = []
        while True:
            type = self.type("the type of a parameter")
            parameters.append((source.expect_name(f"a parameter of {self.name}").text, type))
            if not source.accept(","):
                break
        source.expect(")", f"the parameters of {self.name}")
        return FunctionTree(self.name, parameters, result, self.block(), position)

    # Types

    def type(self, place: str) -> Type:
        source = self.source
        if source.accept("("):
            elements = [self.type(place)]
            while source.accept(","):
                elements.append(self.type(place))
            source.expect(")", place)
            return TupleType(tuple(elements)) if len(elements) > 1 else elements[0]
        token = source.token
        found = self.type_at(token)
        if found is None:
            raise source.refuse(f"{place}: found {source.found()}", "a type such as float, int4 or (float, int)")
        source.next()
        return found

    def type_at(self, token: Token) -> Type | None:
        if token.kind != NAME:
            return None
        if len(token.text) == 1 and token.text.isupper():
            return TypeParameter(token.text)
        return named_type(token.text)

    def begins_declaration(self) -> bool:
        """Return True at `type NAME` and at `(type, ...) NAME`."""
        source = self.source
        if source.token.kind == NAME:
            return self.type_at(source.token) is not None and source.peek().kind == NAME
        if not source.is_at("("):
            return False
        ahead = 1
        while self.type_at(source.peek(ahead)) is not None or source.peek(ahead).text in ("(", ")", ","):
            ahead += 1
        return ahead > 3 and source.peek(ahead).kind == NAME and source.peek(ahead - 1).text == ")"

    # Statements

    def block(self) -> list[Statement]:
        source = self.source
        source.expect("{", f"the body of {self.name}")
        body: list[Statement] = []
        while not source.is_at("}"):
            body.extend(self.statement())
        source.next()
        return body

    def statement(self) -> list[Statement]:
        source = self.source
        self.enter()
        self.operators = 0
        position = source.position()
        found: list[Statement]
        if source.is_at("{"):
            found = [Block(self.block(), position)]
        elif source.accept("if"):
            found = [self.conditional()]
        elif source.accept("while"):
            source.expect("(", "while")
            condition = self.expression()
            source.expect(")", "the condition of while")
            found = [Loop([], condition, [], self.branch(), position)]
        elif source.accept("for"):
            found = [self.for_loop()]
        elif source.accept("return"):
            found = [Return(self.expression(), position)]
            source.expect(";", "after return")
        elif source.is_at("break") or source.is_at("continue"):
            found = [Jump(source.next().text, position)]
            source.expect(";", "after a jump")
        else:
            found = self.simple()
            source.expect(";", "after a statement")
        self.depth -= 1
        return found

    def branch(self) -> list[Statement]:
        """Parse the statements that depend on a condition, without the braces around them."""
        found = self.statement()
        return found[0].body if isinstance(found[0], Block) else found

    def conditional(self) -> Statement:
        source = self.source
        place = source.position()
        source.expect("(", "if")
        condition = self.expression()
        source.expect(")", "the condition of if")
        then = self.branch()
        otherwise = self.branch() if source.accept("else") else []
        return If(condition, then, otherwise, place)

    def for_loop(self) -> Statement:
        source = self.source
        place = source.position()
        source.expect("(", "for")
        first = [] if source.is_at(";") else self.simple()
        source.expect(";", "the start of for")
        condition: Tree = Number(True, boolean) if source.is_at(";") else self.expression()
        source.expect(";", "the condition of for")
        step = [] if source.is_at(")") else self.simple()
        source.expect(")", "for")
        return Loop(first, condition, step, self.branch(), place)

    def simple(self) -> list[Statement]:
        """Parse a declaration or an assignment, without its semicolon."""
        source = self.source
        if not self.begins_declaration():
            return [self.assignment()]
        type = self.type("a declaration")
        found: list[Statement] = []
        while True:
            token = source.expect_name("a declaration")
            if not source.is_at("="):
                raise source.refuse(f"variable {token.text} has no initial value", "'='")
            source.next()
            found.append(Declare(type, token.text, self.expression(), source.position(token)))
            if not source.accept(","):
                return found

    def assignment(self) -> Statement:
        source = self.source
        token = source.token
        position = source.position()
        if token.kind != NAME or token.text in KEYWORDS:
            raise source.refuse(f"found {source.found()} where a statement begins", "a statement")
        place = self.postfix()
        root = place
        while isinstance(root, Select):
            root = root.operand
        if not isinstance(root, Variable):
            raise source.refuse("an assignment to what is not a variable", "a variable or its components", token)
        operator = source.token.text
        if operator in ("++", "--"):
            source.next()
            one = Number(1, int32, position)
            return Assign(place, Binary(operator[0], place, one, position=position), position)
        if operator in COMPOUND:
            source.next()
            return Assign(place, Binary(COMPOUND[operator], place, self.expression(), position=position), position)
        source.expect("=", "a statement")
        return Assign(place, self.expression(), position)

    # Expressions

    def enter(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.source.refuse(f"more than {DEEPEST} levels of nesting")

    def expression(self) -> Tree:
        source = self.source
        self.enter()
        position = source.position()
        tree = self.binary(0)
        if source.accept("?"):
            then = self.expression()
            source.expect(":", "a conditional expression")
            tree = Conditional(tree, then, self.expression(), position=position)
        self.depth -= 1
        return tree

    def binary(self, level: int) -> Tree:
        if level == len(LEVELS):
            return self.unary()
        source = self.source
        tree = self.binary(level + 1)
        while source.token.kind != NUMBER and source.token.text in LEVELS[level]:
            position = source.position()
            operator = source.next().text
            tree = Binary(operator, tree, self.binary(level + 1), position=position)
            self.operators += 1
            if self.operators > MOST_OPERATORS:
                raise source.refuse(f"an expression of more than {MOST_OPERATORS:,} operators", "several statements")
        return tree

    def unary(self) -> Tree:
        source = self.source
        position = source.position()
        for operator in ("-", "+", "!", "~"):
            if source.accept(operator):
                self.enter()
                tree = Unary(operator, self.unary(), position=position)
                self.depth -= 1
                return tree
        return self.postfix()

    def postfix(self) -> Tree:
        tree = self.primary()
        selections = 0
        while self.source.accept("."):
            position = self.source.position()
            name = self.source.expect_name("the components of a vector or tuple").text
            tree = Select(tree, name, position=position)
            selections += 1
            if selections > DEEPEST:
                raise self.source.refuse(f"more than {DEEPEST} selections in a row")
        return tree

    def primary(self) -> Tree:
        source = self.source
        token = source.token
        position = source.position()
        if token.kind == NUMBER:
            source.next()
            return number(source, token)
        if source.is_at("("):
            return self.parenthesis()
        if token.kind != NAME or (token.text in KEYWORDS and token.text not in ("true", "false", "tuple")):
            raise source.refuse(f"found {source.found()}", "an expression")
        source.next()
        if token.text in ("true", "false"):
            return Number(token.text == "true", boolean, position)
        if not source.is_at("("):
            return Variable(token.text, position=position)
        arguments = self.arguments(token.text)
        if token.text == "tuple":
            return MakeTuple(arguments, position=position)
        return BuiltinCall(token.text, arguments, position=position)

    def arguments(self, name: str) -> list[Tree]:
        source = self.source
        source.expect("(", f"a call of {name}")
        found = [self.expression()]
        while source.accept(","):
            found.append(self.expression())
        source.expect(")", f"the arguments of {name}")
        return found

    def parenthesis(self) -> Tree:
        """Parse `(type)e`, `(vector)(e, ...)` or `(e)`."""
        source = self.source
        position = source.position()
        inner = source.peek()
        target = self.type_at(inner) if source.peek(2).text == ")" else None
        self.enter()
        if target is None:
            source.next()
            tree = self.expression()
            source.expect(")", "an expression in parentheses")
        else:
            source.at += 3
            if isinstance(target, VectorType) and source.is_at("("):
                parts = self.arguments(str(target))
                tree = (
                    Cast(target, parts[0], position=position)
                    if len(parts) == 1
                    else MakeVector(target, parts, position=position)
                )
            else:
                tree = Cast(target, self.unary(), position=position)
        self.depth -= 1
        return tree


def number(source: Source, token: Token) -> Number:
    """Return a constant of C; its suffix says its type."""
    text = token.text
    position = source.position(token)
    if text[:2] in ("0x", "0X"):
        digits = text.rstrip("uUlL")
        value = int(digits, 16) if len(digits) > 2 else -1
        if value < 0:
            raise source.refuse(f"{text} is not a number", "a digit", token)
        return integer(source, token, value, text[len(digits) :].lower())
    if any(mark in text for mark in ".eEfFhH"):
        kind = text[-1]
        digits = text.rstrip("fFhHlLuU")
        try:
            real = float(digits)
        except ValueError:
            raise source.refuse(f"{text} is not a number", "a number", token) from None
        suffix = text[len(digits) :].lower()
        if suffix not in ("", "f", "h"):
            raise source.refuse(f"{text} is not a number", "the suffix f, h or none", token)
        return Number(real, {"f": float32, "h": float16}.get(kind.lower(), float64), position)
    digits = text.rstrip("uUlL")
    if len(digits) > 1 and digits[0] == "0":
        raise source.refuse(f"{text} begins with 0", "a decimal or hexadecimal number", token)
    return integer(source, token, int(digits), text[len(digits) :].lower())


def integer(source: Source, token: Token, value: int, suffix: str) -> Number:
    """Return an integer constant, of the first type of C that holds it."""
    types = {"": (int32, int64), "u": (uint32, uint64), "l": (int64,), "ul": (uint64,)}.get(suffix)
    for type in types or ():
        if value < 2 ** (type.bits - (type.kind == "int")):
            return Number(value, type, source.position(token))
    raise source.refuse(f"{token.text} does not fit an integer type", "a smaller number", token)
