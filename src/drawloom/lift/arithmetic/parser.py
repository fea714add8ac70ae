"""Parses the notation that `printer` writes, with `×`, `%` and the thesis's spelling of `mod` accepted too.

condition ::= both ("||" both)*          both ::= comparison ("&&" comparison)*
comparison ::= sum ("<" | "<=" | ">" | ">=" | "==" | "=" | "!=") sum | "true" | "false" | "(" condition ")"
sum ::= ["-"] product (("+" | "-") product)*
product ::= power (("*" | "/" | "/^" | "mod") power)*
power ::= primary ["^" primary]
primary ::= number | name | call | "(" sum ")" | "(" condition "?" sum ":" sum ")" | "-" primary
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drawloom.errors import SourceError
from drawloom.lift.arithmetic.conditions import all_of, any_of, equal, less, less_equal, not_equal
from drawloom.lift.arithmetic.expression import FALSE, OPERATORS, TRUE, Condition, Nat, constant
from drawloom.lift.arithmetic.operators import exact_div, log2, maximum, minimum, select

#: The deepest nesting that is parsed.
DEEPEST: Final = 100
LONGEST_NUMBER: Final = 400  # digits

_SYMBOLS: Final = ("&&", "||", "<=", ">=", "==", "!=", "/^", *"+-*/%^(),?:<>=")
_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "=", "!=")
_END: Final = ""


def parse(text: str, variables: Mapping[str, Nat]) -> Nat:
    """Parse an expression.

    Args:
        text: the expression, in the notation that `str` gives.
        variables: what each name stands for; calls such as ``get_global_id(0)`` are names too.

    Raises:
        SourceError: the text is not an expression, or has a name that is not in `variables`.
        ArithmeticRefusal: the expression has no value, such as a division by zero, or is too large.

    Example:
        >>> from drawloom.lift.arithmetic import index, parse, variable
        >>> m = variable("M")
        >>> print(parse("(wg*M + l) / M", {"M": m, "l": index("l", m), "wg": variable("wg", 0)}))
        wg
    """
    parser = _Parser(text, variables)
    found = parser.sum()
    parser.expect(_END)
    return found


def parse_condition(text: str, variables: Mapping[str, Nat]) -> Condition:
    """Parse a condition, like `parse`."""
    parser = _Parser(text, variables)
    found = parser.condition()
    parser.expect(_END)
    return found


class _Parser:
    def __init__(self, text: str, variables: Mapping[str, Nat]) -> None:
        self.text: Final = text
        self.variables: Final = variables
        self.tokens: Final = _tokenise(text)
        self.position = 0
        self.depth = 0

    def refuse(self, message: str, expected: str, column: int = 0) -> SourceError:
        column = column or self.tokens[self.position][1]
        return SourceError(message, "<expression>", 1, column, self.text.replace("\n", " "), expected)

    def peek(self) -> str:
        return self.tokens[self.position][0]

    def take(self) -> str:
        token = self.tokens[self.position][0]
        if token != _END:
            self.position += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() != token or token == _END:
            return False
        self.position += 1
        return True

    def expect(self, token: str) -> None:
        if self.peek() != token:
            found = self.peek() or "the end"
            raise self.refuse(f"found {found}", token or "an operator or the end")
        self.take()

    def condition(self) -> Condition:
        found = self.both()
        while self.accept("||"):
            found = any_of(found, self.both())
        return found

    def both(self) -> Condition:
        found = self.comparison()
        while self.accept("&&"):
            found = all_of(found, self.comparison())
        return found

    def comparison(self) -> Condition:
        if self.accept("true"):
            return TRUE
        if self.accept("false"):
            return FALSE
        if self.peek() == "(" and self.holds_condition():
            self.take()
            self.enter()
            found = self.condition()
            self.depth -= 1
            self.expect(")")
            return found
        left = self.sum()
        relation = self.peek()
        if relation not in _COMPARISONS:
            raise self.refuse(f"found {relation or 'the end'}", "a comparison")
        self.take()
        right = self.sum()
        if relation in ("<", ">"):
            return less(left, right) if relation == "<" else less(right, left)
        if relation in ("<=", ">="):
            return less_equal(left, right) if relation == "<=" else less_equal(right, left)
        return not_equal(left, right) if relation == "!=" else equal(left, right)

    def holds_condition(self) -> bool:
        """Return whether the parentheses here hold a condition itself, and not an expression."""
        depth = 0
        for token, _ in self.tokens[self.position :]:
            if token == "(":
                depth += 1
            elif token == ")":
                depth -= 1
                if depth == 0:
                    return False
            elif depth == 1 and token == "?":
                return False
            elif depth == 1 and (token in _COMPARISONS or token in ("&&", "||", "true", "false")):
                return not self.holds_choice()
        return False

    def holds_choice(self) -> bool:
        """Return whether the parentheses here hold a conditional expression."""
        depth = 0
        for token, _ in self.tokens[self.position :]:
            depth += 1 if token == "(" else -1 if token == ")" else 0
            if depth == 0:
                return False
            if depth == 1 and token == "?":
                return True
        return False

    def enter(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refuse(f"the nesting is deeper than {DEEPEST}", "a simpler expression")

    def sum(self) -> Nat:
        self.enter()
        found = OPERATORS.active.multiply(constant(-1), self.product()) if self.accept("-") else self.product()
        while self.peek() in ("+", "-"):
            if self.take() == "+":
                found = OPERATORS.active.add(found, self.product())
            else:
                found = OPERATORS.active.subtract(found, self.product())
        self.depth -= 1
        return found

    def product(self) -> Nat:
        found = self.power()
        while self.peek() in ("*", "/", "/^", "%", "mod"):
            operator = self.take()
            other = self.power()
            if operator == "*":
                found = OPERATORS.active.multiply(found, other)
            elif operator == "/":
                found = OPERATORS.active.floor_divide(found, other)
            elif operator == "/^":
                found = exact_div(found, other)
            else:
                found = OPERATORS.active.remainder(found, other)
        return found

    def power(self) -> Nat:
        found = self.primary()
        if self.accept("^"):
            return OPERATORS.active.power(found, self.primary())
        return found

    def primary(self) -> Nat:
        column = self.tokens[self.position][1]
        token = self.take()
        if token.isdigit():
            if len(token) > LONGEST_NUMBER:
                raise self.refuse("the number is too long", f"at most {LONGEST_NUMBER} digits", column)
            return constant(int(token))
        if token == "(":
            return self.parenthesised()
        if token == "-":
            self.enter()
            found = OPERATORS.active.multiply(constant(-1), self.primary())
            self.depth -= 1
            return found
        if token in ("min", "max", "log2") and self.peek() == "(":
            return self.call(token, column)
        if token[:1].isalpha() or token[:1] == "_":
            return self.name(token, column)
        raise self.refuse(f"found {token or 'the end'}", "a number, a name or a parenthesis", column)

    def parenthesised(self) -> Nat:
        self.position -= 1
        is_choice = self.holds_choice()
        self.position += 1
        if is_choice:
            condition = self.condition()
            self.expect("?")
            then = self.sum()
            self.expect(":")
            found = select(condition, then, self.sum())
        else:
            found = self.sum()
        self.expect(")")
        return found

    def call(self, name: str, column: int) -> Nat:
        self.expect("(")
        operands = [self.sum()]
        while self.accept(","):
            operands.append(self.sum())
        self.expect(")")
        if name == "log2":
            if len(operands) != 1:
                raise self.refuse(f"log2 has {len(operands)} operands", "one operand", column)
            return log2(operands[0])
        return minimum(*operands) if name == "min" else maximum(*operands)

    def name(self, token: str, column: int) -> Nat:
        name = token
        if self.peek() == "(":
            self.take()
            name = f"{token}({self.take()})"
            self.expect(")")
        found = self.variables.get(name)
        if found is None:
            raise self.refuse(f"{name} is not a known variable", "one of " + ", ".join(self.variables), column)
        return found


def _tokenise(text: str) -> list[tuple[str, int]]:
    """Return the tokens with their columns, and an empty one at the end."""
    tokens = []
    position = 0
    while position < len(text):
        character = text[position]
        start = position
        if character.isspace():
            position += 1
            continue
        if character.isascii() and character.isdigit():
            while position < len(text) and text[position].isascii() and text[position].isdigit():
                position += 1
            tokens.append((text[start:position], start + 1))
        elif character.isalpha() or character == "_":
            while position < len(text) and (text[position].isalnum() or text[position] == "_"):
                position += 1
            tokens.append((text[start:position], start + 1))
        elif character == "×":
            position += 1
            tokens.append(("*", start + 1))
        else:
            for symbol in _SYMBOLS:
                if text.startswith(symbol, position):
                    break
            else:
                line = text.replace("\n", " ")
                raise SourceError(f"found {character!r}", "<expression>", 1, start + 1, line, "an operator or a name")
            position += len(symbol)
            tokens.append((symbol, start + 1))
    tokens.append((_END, len(text) + 1))
    return tokens
