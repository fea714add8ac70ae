"""Types for the syntax trees of user functions, after C's rules and OpenCL's for vectors (C99 6.3.1, OpenCL C 6.2).

``check_function`` returns a copy of the tree in which every expression has its type and every implicit conversion
stands as a `Cast`.
"""

from __future__ import annotations

from typing import Final

from drawloom.lift.language.errors import LiftTypeError, ill_typed
from drawloom.lift.language.positions import Position
from drawloom.lift.language.types import (
    SCALARS,
    ScalarType,
    TupleType,
    Type,
    VectorType,
    boolean,
    float64,
    int32,
    named_type,
)
from drawloom.lift.language.user_functions.builtins import BUILTINS
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

#: The order of the usual arithmetic conversions, and of what a scalar may be that meets a vector.
RANKS: Final = {
    name: rank
    for rank, name in enumerate(
        ("bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double")
    )
}
INTEGER_ONLY: Final = ("%", "&", "|", "^", "<<", ">>")
COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=")


def check_function(function: FunctionTree, instance: dict[str, Type]) -> FunctionTree:
    """Return a typed copy of a function.

    Args:
        function: The tree from the parser.
        instance: The scalar or vector type of every type parameter.

    Raises:
        LiftTypeError: An expression has no type, a name is not declared, or a path does not return.
    """
    return Checker(function, instance).check()


class Checker:
    def __init__(self, function: FunctionTree, instance: dict[str, Type]) -> None:
        self.function = function
        self.instance = instance
        self.scopes: list[dict[str, Type]] = [{}]
        self.loops = 0
        self.result = self.concrete(function.result, function.position)

    def check(self) -> FunctionTree:
        function = self.function
        parameters: list[tuple[str, Type]] = []
        for name, declared in function.parameters:
            type = self.concrete(declared, function.position)
            if name in self.scopes[0]:
                raise self.refuse(f"parameter {name} is declared twice", function.position)
            self.scopes[0][name] = type
            parameters.append((name, type))
        body = self.block(function.body)
        if not always_returns(body):
            raise self.refuse("a path through the function does not return a value", function.position)
        return FunctionTree(function.name, parameters, self.result, body, function.position)

    def refuse(self, message: str, position: Position, expected: str = "") -> LiftTypeError:
        return ill_typed(f"function {self.function.name}: {message}", position, expected)

    def concrete(self, type: Type, position: Position) -> Type:
        """Replace type parameters by what the instance gives them."""
        if isinstance(type, TypeParameter):
            if type.name not in self.instance:
                raise self.refuse(f"type {type.name} does not occur in a parameter", position)
            return self.instance[type.name]
        if isinstance(type, TupleType):
            return TupleType(tuple([self.concrete(element, position) for element in type.elements]))
        return type

    # Statements

    def block(self, statements: list[Statement]) -> list[Statement]:
        self.scopes.append({})
        checked = [self.statement(statement) for statement in statements]
        self.scopes.pop()
        return checked

    def statement(self, statement: Statement) -> Statement:
        position = statement.position
        if isinstance(statement, Declare):
            type = self.concrete(statement.type, position)
            value = self.convert(self.expression(statement.value), type, position, implicit=True)
            if statement.name in self.scopes[-1]:
                raise self.refuse(f"variable {statement.name} is declared twice", position)
            self.scopes[-1][statement.name] = type
            return Declare(type, statement.name, value, position)
        if isinstance(statement, Assign):
            place = self.expression(statement.place)
            if isinstance(place, Select) and len(set(place.indices)) != len(place.indices):
                raise self.refuse(f"an assignment to .{place.name}, which names a component twice", position)
            value = self.convert(self.expression(statement.value), place.type, position, implicit=True)
            return Assign(place, value, position)
        if isinstance(statement, If):
            condition = self.condition(statement.condition)
            return If(condition, self.block(statement.then), self.block(statement.otherwise), position)
        if isinstance(statement, Loop):
            return self.loop(statement)
        if isinstance(statement, Return):
            value = self.convert(self.expression(statement.value), self.result, position, implicit=True)
            return Return(value, position)
        if isinstance(statement, Jump):
            if self.loops == 0:
                raise self.refuse(f"{statement.kind} outside a loop", position)
            return statement
        assert isinstance(statement, Block)
        return Block(self.block(statement.body), position)

    def loop(self, loop: Loop) -> Loop:
        self.scopes.append({})
        first = [self.statement(statement) for statement in loop.first]
        condition = self.condition(loop.condition)
        step = [self.statement(statement) for statement in loop.step]
        self.loops += 1
        body = self.block(loop.body)
        self.loops -= 1
        self.scopes.pop()
        return Loop(first, condition, step, body, loop.position)

    def condition(self, tree: Tree) -> Tree:
        checked = self.expression(tree)
        if not isinstance(checked.type, ScalarType):
            raise self.refuse(f"a condition of type {checked.type}", tree.position, "a scalar")
        return self.convert(checked, boolean, tree.position, implicit=True)

    # Expressions

    def expression(self, tree: Tree) -> Tree:
        position = tree.position
        if isinstance(tree, Number):
            return tree
        if isinstance(tree, Variable):
            return Variable(tree.name, self.type_of(tree), position)
        if isinstance(tree, Unary):
            return self.unary(tree)
        if isinstance(tree, Binary):
            return self.binary(tree)
        if isinstance(tree, Conditional):
            condition = self.condition(tree.condition)
            then, otherwise = self.expression(tree.then), self.expression(tree.otherwise)
            if then.type != otherwise.type:
                then, otherwise = self.balance(then, otherwise, "?:", position)
            return Conditional(condition, then, otherwise, then.type, position)
        if isinstance(tree, BuiltinCall):
            return self.builtin(tree)
        if isinstance(tree, Cast):
            target = self.concrete(tree.target, position)
            operand = self.expression(tree.operand)
            if isinstance(operand.type, VectorType) and operand.type != target:
                raise self.refuse(f"(a conversion of {operand.type} to {target}", position, f"convert_{target}(...)")
            return self.convert(operand, target, position)
        if isinstance(tree, MakeVector):
            return self.make_vector(tree)
        if isinstance(tree, MakeTuple):
            parts = [self.expression(part) for part in tree.parts]
            if len(parts) < 2:
                raise self.refuse("a tuple of one value", position, "two or more")
            return MakeTuple(parts, TupleType(tuple([part.type for part in parts])), position)
        assert isinstance(tree, Select)
        return self.select(tree)

    def type_of(self, tree: Variable) -> Type:
        for scope in reversed(self.scopes):
            if tree.name in scope:
                return scope[tree.name]
        raise self.refuse(f"{tree.name} is not declared", tree.position, "a parameter or a variable")

    def unary(self, tree: Unary) -> Tree:
        operand = self.expression(tree.operand)
        element = element_type(operand.type)
        if tree.operator == "!":
            return Unary("!", self.condition(tree.operand), int32, tree.position)
        if element is None or (tree.operator == "~" and not element.is_integer and element is not boolean):
            wanted = "an integer" if tree.operator == "~" else "a number"
            raise self.refuse(f"{tree.operator} applied to {operand.type}", tree.position, wanted)
        operand = self.convert(operand, promote(operand.type), tree.position, implicit=True)
        return Unary(tree.operator, operand, operand.type, tree.position)

    def binary(self, tree: Binary) -> Tree:
        operator, position = tree.operator, tree.position
        if operator in ("&&", "||"):
            return Binary(operator, self.condition(tree.left), self.condition(tree.right), int32, position)
        left, right = self.expression(tree.left), self.expression(tree.right)
        if operator in ("<<", ">>"):
            return self.shift(tree, left, right)
        left, right = self.balance(left, right, operator, position, implicit=True)
        element = element_type(left.type)
        assert element is not None
        if operator in INTEGER_ONLY and not element.is_integer:
            raise self.refuse(f"{operator} applied to {left.type}", position, "integers")
        if operator not in COMPARISONS:
            return Binary(operator, left, right, left.type, position)
        if isinstance(left.type, VectorType):
            mask = {8: "char", 16: "short", 32: "int", 64: "long"}[element.bits]
            return Binary(operator, left, right, VectorType(SCALARS[mask], left.type.width), position)
        return Binary(operator, left, right, int32, position)

    def shift(self, tree: Binary, left: Tree, right: Tree) -> Tree:
        """Type a shift: the result has the left operand's type, promoted; the count may be of another type."""
        for operand in (left, right):
            element = element_type(operand.type)
            if element is None or not (element.is_integer or element is boolean):
                raise self.refuse(f"{tree.operator} applied to {operand.type}", tree.position, "integers")
        left = self.convert(left, promote(left.type), tree.position, implicit=True)
        right = self.convert(
            right, left.type if isinstance(left.type, VectorType) else promote(right.type), tree.position
        )
        return Binary(tree.operator, left, right, left.type, tree.position)

    def balance(
        self, left: Tree, right: Tree, operator: str, position: Position, implicit: bool = False
    ) -> tuple[Tree, Tree]:
        """Bring two operands to one type by the usual arithmetic conversions; a scalar widens to a vector."""
        first, second = element_type(left.type), element_type(right.type)
        if first is None or second is None:
            raise self.refuse(f"{operator} applied to {left.type} and {right.type}", position, "numbers")
        if isinstance(left.type, VectorType) and isinstance(right.type, VectorType):
            if left.type != right.type:
                raise self.refuse(
                    f"{operator} applied to {left.type} and {right.type}", position, "vectors of one type"
                )
            return left, right
        for vector, scalar in ((left.type, second), (right.type, first)):
            if isinstance(vector, VectorType):
                if RANKS[scalar.name] > RANKS[vector.element.name]:
                    raise self.refuse(
                        f"{operator} applied to {left.type} and {right.type}", position,
                        f"a scalar that converts to {vector.element}",
                    )  # fmt: skip
                return self.convert(left, vector, position, implicit), self.convert(right, vector, position, implicit)
        common = max((promote(first), promote(second)), key=rank_of)
        return self.convert(left, common, position, implicit), self.convert(right, common, position, implicit)

    def convert(self, tree: Tree, target: Type, position: Position, implicit: bool = False) -> Tree:
        """Convert as an assignment does: between scalars, from a scalar to a vector, and tuples part by part."""
        if tree.type == target:
            return tree
        if isinstance(tree.type, ScalarType) and isinstance(target, ScalarType):
            return Cast(target, tree, target, position, implicit)
        if isinstance(tree.type, ScalarType) and isinstance(target, VectorType):
            inner = self.convert(tree, target.element, position, implicit)
            return Cast(target, inner, target, position, implicit)
        if isinstance(tree, MakeTuple) and isinstance(target, TupleType) and len(tree.parts) == len(target.elements):
            parts = [self.convert(part, type, position) for part, type in zip(tree.parts, target.elements)]
            return MakeTuple(parts, target, position)
        raise self.refuse(f"found {tree.type}", position, str(target))

    def builtin(self, tree: BuiltinCall) -> Tree:
        position = tree.position
        arguments = [self.expression(argument) for argument in tree.arguments]
        if tree.name.startswith("convert_"):
            return self.conversion(tree, arguments)
        builtin = BUILTINS.get(tree.name)
        if builtin is None:
            raise self.refuse(f"{tree.name} is not a function", position, "a built-in function of OpenCL C")
        if len(arguments) != builtin.arity:
            raise self.refuse(f"{tree.name} is called with {len(arguments)} arguments", position, f"{builtin.arity}")
        for at in range(1, len(arguments)):
            first, other = arguments[0], arguments[at]
            if first.type != other.type:
                arguments[0], arguments[at] = self.balance(first, other, tree.name, position)
        arguments = [self.convert(argument, arguments[0].type, position) for argument in arguments]
        type = arguments[0].type
        element = element_type(type)
        if element is None or (builtin.rule in ("float", "reduce", "test") and not element.is_float):
            wanted = "numbers" if builtin.rule in ("number", "magnitude") else "floating-point values"
            raise self.refuse(f"{tree.name} applied to {type}", position, wanted)
        if builtin.rule == "reduce":
            if not isinstance(type, VectorType):
                raise self.refuse(f"{tree.name} applied to {type}", position, "vectors")
            return BuiltinCall(tree.name, arguments, type.element, position)
        if builtin.rule == "test":
            if isinstance(type, VectorType):
                raise self.refuse(f"{tree.name} applied to {type}", position, "a scalar")
            return BuiltinCall(tree.name, arguments, int32, position)
        if builtin.rule == "magnitude":
            if not element.is_integer:
                raise self.refuse(f"{tree.name} applied to {type}", position, "integers; fabs takes the others")
            unsigned = element if element.kind == "uint" else SCALARS["u" + element.name]
            type = VectorType(unsigned, type.width) if isinstance(type, VectorType) else unsigned
        return BuiltinCall(tree.name, arguments, type, position)

    def conversion(self, tree: BuiltinCall, arguments: list[Tree]) -> Tree:
        """Type `convert_int4(v)`: a conversion of every component, towards zero from floating point to integers."""
        target = named_type(tree.name.removeprefix("convert_"))
        source = arguments[0].type
        if target is None or len(arguments) != 1:
            raise self.refuse(f"{tree.name} is not a function", tree.position, "convert_TYPE of one argument")
        if not (
            (isinstance(target, ScalarType) and isinstance(source, ScalarType))
            or (isinstance(target, VectorType) and isinstance(source, VectorType) and target.width == source.width)
        ):
            raise self.refuse(f"{tree.name} applied to {source}", tree.position, "as many components")
        return Cast(target, arguments[0], target, tree.position)

    def make_vector(self, tree: MakeVector) -> Tree:
        target = tree.target
        assert isinstance(target, VectorType)
        parts: list[Tree] = []
        width = 0
        for part in tree.parts:
            checked = self.expression(part)
            if isinstance(checked.type, ScalarType):
                checked = self.convert(checked, target.element, part.position)
                width += 1
            elif isinstance(checked.type, VectorType) and checked.type.element == target.element:
                width += checked.type.width
            else:
                raise self.refuse(f"a component of {target} is {checked.type}", part.position, str(target.element))
            parts.append(checked)
        if width != target.width:
            raise self.refuse(f"{target} is made of {width} components", tree.position, str(target.width))
        return MakeVector(target, parts, target, tree.position)

    def select(self, tree: Select) -> Tree:
        operand = self.expression(tree.operand)
        type, name = operand.type, tree.name
        if isinstance(type, TupleType):
            index = int(name[1:]) if name[0] == "_" and name[1:].isdecimal() and len(name) < 4 else -1
            if not 0 <= index < len(type.elements):
                raise self.refuse(
                    f"{type} has no component .{name}", tree.position, f"._0 to ._{len(type.elements) - 1}"
                )
            return Select(operand, name, (index,), type.elements[index], tree.position)
        if not isinstance(type, VectorType):
            raise self.refuse(f".{name} of {type}", tree.position, "a vector or a tuple")
        indices = component_indices(name, type.width)
        if not indices or max(indices) >= type.width or len(indices) not in (1, 2, 3, 4, 8, 16):
            raise self.refuse(f"{type} has no components .{name}", tree.position, ".x or .s0 and the like")
        result = type.element if len(indices) == 1 else VectorType(type.element, len(indices))
        return Select(operand, name, indices, result, tree.position)


def component_indices(name: str, width: int) -> tuple[int, ...]:
    """Return the components that a selection names, or an empty tuple: `xyzw`, `s` and digits, `lo`, `hi`, `even`."""
    half = (width + 1) // 2
    halves = {
        "lo": tuple(range(half)),
        "hi": tuple(range(half, 2 * half)),
        "even": tuple(range(0, width, 2)),
        "odd": tuple(range(1, width, 2)),
    }
    if name in halves and width != 3:
        return halves[name]
    if name[0] in "sS" and len(name) > 1:
        digits = name[1:].lower()
        return tuple([int(digit, 16) for digit in digits]) if all(d in "0123456789abcdef" for d in digits) else ()
    if width <= 4 and all(letter in "xyzw" for letter in name):
        return tuple(["xyzw".index(letter) for letter in name])
    return ()


def element_type(type: Type) -> ScalarType | None:
    """Return the scalar of a scalar or vector type, None for tuples."""
    if isinstance(type, VectorType):
        return type.element
    return type if isinstance(type, ScalarType) else None


def promote(type: Type) -> Type:
    """Return the type after the integer promotions: scalars narrower than int become int."""
    return int32 if isinstance(type, ScalarType) and RANKS[type.name] < RANKS["int"] else type


def rank_of(type: Type) -> int:
    return RANKS[type.name] if isinstance(type, ScalarType) else RANKS[float64.name]


def always_returns(statements: list[Statement]) -> bool:
    """Return True when every path through the statements ends in a return."""
    for statement in statements:
        if isinstance(statement, Return):
            return True
        if isinstance(statement, Block) and always_returns(statement.body):
            return True
        if isinstance(statement, If) and statement.otherwise:
            if always_returns(statement.then) and always_returns(statement.otherwise):
                return True
    return False
