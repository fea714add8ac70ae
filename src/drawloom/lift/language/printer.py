"""The IR to text, in the thesis's notation; `parser.py` reads it back to an equal program."""

from __future__ import annotations

from typing import Final

from drawloom.lift.arithmetic import ZERO, free_variables, substitute, variable
from drawloom.lift.language.apply import chain_end, occurs, occurs_in_function
from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.documents import NOTHING, SPACE, Document, Group, render
from drawloom.lift.language.index_functions import INDEX, LENGTH, IndexFunction
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Node, Parameter, Pattern
from drawloom.lift.language.patterns.operators import component_of
from drawloom.lift.language.patterns.table import PATTERNS
from drawloom.lift.language.types import ScalarType, VectorType
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.library import LIBRARY
from drawloom.lift.language.user_functions.printer import CPrinter, print_number
from drawloom.lift.language.user_functions.syntax import FunctionTree

#: Patterns whose calls show their arguments in parentheses instead of after ∘.
APPLIED: Final = ("tuple", "array", "get", "zip", "concat", "dot", "iota", "lookup")
#: Names that mean something in a text, so that no parameter is called so.
WORDS: Final = ("true", "false", "tile", "untile", "make2DArray", "mod", "init")


@room_for_depth()
def show(node: Node, width: int = 100) -> str:
    """Print an expression or a function.

    Args:
        node: An expression, a lambda, a pattern or a user function.
        width: The longest line, where that can be.

    Example:
        >>> from drawloom.lift import array, float32, fun, map, mult, size
        >>> square = fun(array(float32, size("N")), lambda xs: map(lambda x: mult(x, x), xs))
        >>> show(square)
        'λ xs: [float]N . map(λ x . mult(x, x), xs)'
    """
    printer = Printer(node)
    if isinstance(node, Lambda) and node.name:
        return render(printer.program(node), width)
    if isinstance(node, Expression):
        return render(printer.expression(node), width)
    assert isinstance(node, Function)
    return render(printer.function(node), width)


@room_for_depth()
def show_program(program: Lambda, width: int = 100) -> str:
    """Print a program with the definitions of its user functions, as `parse_program` reads it.

    Example:
        >>> from drawloom.lift import array, float32, fun, map, size, user_function
        >>> square = user_function("float square(float x) { return x * x; }")
        >>> print(show_program(fun(array(float32, size("N")), lambda xs: map(square, xs), name="squares")))
        float square(float x) { return x * x; }
        squares(xs: [float]N) = map(square, xs)
    """
    own = [named for named in name_user_functions(program).items() if LIBRARY.get(named[0].name) != named[0]]
    definitions = [define(function, name) + "\n" for function, name in own]
    return "".join(definitions) + show(program, width)


def define(function: UserFunction, name: str) -> str:
    """Print the definition of a user function under a name, with its properties before it."""
    words: list[str] = []
    if function.associative:
        words.append("[associative]")
    if function.commutative:
        words.append("[commutative]")
    if function.neutral is not None:
        words.append(f"[neutral {print_scalar(function.neutral)}]")
    tree = function.tree
    renamed = FunctionTree(name, tree.parameters, tree.result, tree.body, tree.position)
    return " ".join([*words, function.text if name == function.name else CPrinter().function(renamed)])


def name_user_functions(node: Node) -> dict[UserFunction, str]:
    """Return the names of a program's user functions, in the order in which they occur.

    Of different functions with one name, those of the library and the first keep it, and others get numbers.
    """
    found: dict[UserFunction, None] = {}
    collect_user_functions(node, found)
    names = {function: function.name for function in found if LIBRARY.get(function.name) == function}
    taken = set(names.values())
    for function in found:
        if function not in names:
            name = function.name
            at = 1
            while name in taken:
                name = f"{function.name}_{at}"
                at += 1
            taken.add(name)
            names[function] = name
    return {function: names[function] for function in found}


def collect_user_functions(node: Node, found: dict[UserFunction, None]) -> None:
    if isinstance(node, UserFunction):
        found[node] = None
    elif isinstance(node, Call):
        collect_user_functions(node.function, found)
        for argument in node.arguments:
            collect_user_functions(argument, found)
    elif isinstance(node, Lambda):
        collect_user_functions(node.body, found)
    elif isinstance(node, Pattern):
        for inner in node.functions:
            collect_user_functions(inner, found)


def print_scalar(value: bool | int | float) -> str:
    """Print a bare number, which takes its type from its use."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def print_literal(literal: Literal) -> str:
    """Print a literal so that it has the same type when it is read."""
    declared, value = literal.declared, literal.value
    if declared is None:
        assert not isinstance(value, tuple)
        return print_scalar(value)
    if isinstance(declared, VectorType):
        values = value if isinstance(value, tuple) else (value,)
        parts = [print_typed(one, declared.element) for one in values]
        return f"({declared}){parts[0]}" if len(parts) == 1 else f"({declared})({', '.join(parts)})"
    assert not isinstance(value, tuple)
    return print_typed(value, declared)


def print_typed(value: bool | int | float, type: ScalarType) -> str:
    if type.name in ("float", "half", "bool"):
        return print_number(value, type)
    return f"({type}){print_scalar(value)}"


def print_index_function(index: IndexFunction) -> str:
    """Print an index function, with names for the index and the length that no size of the program has."""
    taken = {size.name for size in index.sizes}
    names: dict[str, str] = {}
    for name in ("i", "n"):
        free = name
        while free in taken:
            free += "_"
        taken.add(free)
        names[name] = free
    length = variable(names["n"])
    start = ZERO if index.index is INDEX else -variable("left", 0)
    shown_index = variable(names["i"], start, length if index.index is INDEX else None)
    body = substitute(index.body, {index.index: shown_index, LENGTH: length})
    head = f"({names['i']}, {names['n']})" if LENGTH in free_variables(index.body) else names["i"]
    return f"{head} → {body}"


class Printer:
    """Prints one program; parameters of equal names get numbers where one could be taken for the other."""

    def __init__(self, node: Node) -> None:
        self.names: dict[Parameter, str] = {}
        self.functions = name_user_functions(node)
        self.taken: set[str] = {*self.functions.values(), *LIBRARY, *PATTERNS, *WORDS}

    # Programs and lambdas

    def program(self, program: Lambda) -> Document:
        parameters = self.bind(program)
        body = self.expression(program.body)
        self.release(program)
        return Group([f"{program.name}({parameters}) =", SPACE, body])

    def bind(self, function: Lambda) -> str:
        """Name the parameters of a lambda, and return them as text."""
        texts: list[str] = []
        for parameter in function.parameters:
            name = parameter.name
            at = 1
            while name in self.taken:
                name = f"{parameter.name}_{at}"
                at += 1
            self.taken.add(name)
            self.names[parameter] = name
            texts.append(name if parameter.declared is None else f"{name}: {parameter.declared}")
        return ", ".join(texts)

    def release(self, function: Lambda) -> None:
        for parameter in function.parameters:
            self.taken.discard(self.names[parameter])

    def bare_lambda(self, function: Lambda) -> Document:
        parameters = self.bind(function)
        body = self.expression(function.body)
        self.release(function)
        head = parameters if function.arity == 1 else f"({parameters})"
        return Group([f"λ {head} .", SPACE, body])

    # Functions

    def function(self, function: Function) -> Document:
        """Print a function where a function is expected: as short as the notation allows."""
        if isinstance(function, Pattern):
            return self.pattern(function, [])
        if isinstance(function, UserFunction):
            return self.functions[function]
        assert isinstance(function, Lambda)
        short = self.shorten(function)
        return self.bare_lambda(function) if short is None else short

    def head(self, function: Function) -> Document:
        """Print a function that is applied or composed."""
        if isinstance(function, Lambda):
            return Group(["(", self.bare_lambda(function), ")"], 0)
        return self.function(function)

    def shorten(self, function: Lambda) -> Document | None:
        """Print a lambda as a partial application or a composition; None if it is neither."""
        if any(parameter.declared is not None for parameter in function.parameters):
            return None
        if chain_end(function) and is_long_chain(function.body):
            links: list[Document] = []
            expression = function.body
            while isinstance(expression, Call):
                link = self.partial(expression.function, expression.arguments[:-1])
                if link is None:
                    return None
                links.append(link)
                expression = expression.arguments[-1]
            return chain(links)
        body = function.body
        if not isinstance(body, Call) or len(body.arguments) < function.arity:
            return None
        given = len(body.arguments) - function.arity
        if body.arguments[given:] != function.parameters or isinstance(body.function, Lambda):
            return None
        for parameter in function.parameters:
            if occurs_in_function(parameter, body.function):
                return None
            if any(occurs(parameter, argument) for argument in body.arguments[:given]):
                return None
        missing = 2 if body.function.arity < 0 else body.function.arity
        if missing != given + function.arity:
            return None
        return self.partial(body.function, body.arguments[:given])

    def slot_function(self, function: Lambda, takes: int) -> Document:
        """Print the function of a pattern; one that only takes its last argument apart is the function of the parts."""
        unpacked = None if takes == 0 else pack_again(function)
        short = None if unpacked is None else self.shorten(unpacked)
        return self.function(function) if short is None else short

    def partial(self, function: Function, given: tuple[Expression, ...]) -> Document | None:
        """Print a function with its first arguments; None if that would read as something else."""
        if isinstance(function, Pattern):
            slots = function.slots.count("argument")
            if function.keyword in ("tuple", "array", "iota") or len(given) < slots:
                return None
            if function.arity < 0 and len(given) > 1:
                return None
            return self.pattern(function, list(given))
        if isinstance(function, Lambda) or given:
            return self.applied(self.head(function), list(given)) if given else self.head(function)
        return self.function(function)

    def pattern(self, pattern: Pattern, arguments: list[Expression]) -> Document:
        """Print a pattern with its slots, and with the arguments that follow them in the same parentheses."""
        head = pattern.keyword
        pieces: list[Document] = []
        statics, functions, rest = list(pattern.statics), list(pattern.functions), list(arguments)
        takes = list(pattern.function_takes) or [0] * len(functions)
        for slot in pattern.slots:
            if slot == "dimension":
                head += f"({statics.pop(0)})"
            elif slot == "function":
                pieces.append(self.slot_function(functions.pop(0), takes.pop(0)))
            elif slot == "argument":
                pieces.append(self.expression(rest.pop(0)) if rest else "…")
            else:
                static = statics.pop(0)
                pieces.append(print_index_function(static) if isinstance(static, IndexFunction) else str(static))
        pieces.extend([self.expression(argument) for argument in rest])
        return applied(head, pieces) if pieces else head

    def applied(self, head: Document, arguments: list[Expression]) -> Document:
        return applied(head, [self.expression(argument) for argument in arguments])

    # Expressions

    def expression(self, expression: Expression) -> Document:
        if isinstance(expression, Parameter):
            return self.names.get(expression, expression.name)
        if isinstance(expression, Literal):
            return print_literal(expression)
        assert isinstance(expression, Call)
        links: list[Document] = []
        while is_link(expression):
            assert isinstance(expression, Call)
            link = self.partial(expression.function, expression.arguments[:-1])
            if link is None:
                break
            links.append(link)
            following = expression.arguments[-1]
            if not isinstance(following, Call):
                return chain([*links, self.expression(following)])
            expression = following
        links.append(self.call(expression))
        return chain(links)

    def call(self, call: Call) -> Document:
        function, arguments = call.function, list(call.arguments)
        if isinstance(function, Pattern):
            if function.keyword == "tuple":
                return applied("", [self.expression(argument) for argument in arguments])
            if function.keyword == "array":
                return applied("", [self.expression(argument) for argument in arguments], "[", "]")
            return self.pattern(function, arguments) if arguments or function.slots else function.keyword
        return self.applied(self.head(function), arguments)


def pack_again(function: Lambda) -> Lambda | None:
    """Return ``λ (a, x, y) . f(a, x, y)`` for ``λ (a, p) . f(a, get(0, p), get(1, p))``; None for other functions."""
    packed, body = function.parameters[-1], function.body
    if packed.declared is not None or not isinstance(body, Call):
        return None
    start = len(body.arguments)
    while start > 0 and component_of(body.arguments[start - 1], packed) is not None:
        start -= 1
    indices = [component_of(argument, packed) for argument in body.arguments[start:]]
    if len(indices) < 2 or indices != list(range(len(indices))):
        return None
    parts = tuple([Parameter(f"p{at}") for at in range(len(indices))])
    unpacked = Call(body.function, (*body.arguments[:start], *parts), None, body.position)
    if occurs(packed, unpacked):
        return None
    return Lambda((*function.parameters[:-1], *parts), unpacked, function.position)


def is_long_chain(body: Expression) -> bool:
    return isinstance(body, Call) and isinstance(body.arguments[-1], Call)


def is_link(expression: Expression) -> bool:
    """Return True for a call that is printed as `f ∘ argument`: of a pattern, to the result of another call."""
    if not isinstance(expression, Call) or not expression.arguments:
        return False
    function, last = expression.function, expression.arguments[-1]
    if isinstance(function, UserFunction) or (isinstance(function, Pattern) and function.keyword in APPLIED):
        return False
    if isinstance(function, Pattern) and len(expression.arguments) - 1 != function.slots.count("argument"):
        return False
    return (
        isinstance(last, Call)
        and not isinstance(last.function, UserFunction)
        and not (isinstance(last.function, Pattern) and last.function.keyword in APPLIED)
    )


def chain(links: list[Document]) -> Document:
    """Lay functions out from left to right with ∘ between them."""
    if len(links) == 1:
        return links[0]
    pieces: list[Document] = [links[0]]
    for link in links[1:]:
        pieces.extend([" ∘", SPACE, link])
    return Group(pieces, 0)


def applied(head: Document, arguments: list[Document], opening: str = "(", closing: str = ")") -> Document:
    """Lay out a head and its arguments in parentheses."""
    pieces: list[Document] = [head, opening, NOTHING, arguments[0]]
    for argument in arguments[1:]:
        pieces.extend([",", SPACE, argument])
    return Group([*pieces, closing])
