"""Kernel text to the typed syntax tree: pycparser's tree checked against the grammar of `syntax.py`, types resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from drawloom.batch.frontend.builtins import BUILTINS, CONSTANTS, IDENTITIES, SHUFFLE, SIZE
from drawloom.batch.frontend.constants import constant_value, parse_literal
from drawloom.batch.frontend.preprocess import Preprocessed, preprocess
from drawloom.batch.frontend.source import BatchParseError, BatchTypeError, Position, Source
from drawloom.batch.frontend.syntax import (
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Conditional,
    Constant,
    Declare,
    Element,
    Evaluate,
    Expression,
    Identity,
    If,
    Kernel,
    Load,
    Logical,
    Loop,
    Parameter,
    Read,
    ScalarParameter,
    Shuffle,
    Statement,
    Unary,
    Variable,
)
from drawloom.batch.frontend.tree import place_of, read_tree
from drawloom.batch.numbers import convert
from drawloom.batch.types import (
    BOOL,
    C_SPELLINGS,
    DOUBLE,
    FLOAT,
    INT,
    ULONG,
    ScalarType,
    common_type,
    promote,
)

LARGEST_EXTENT: Final = 4096
LARGEST_GROUP: Final = 1024
COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
SHIFTS: Final = ("<<", ">>")
INTEGER_ONLY: Final = ("%", "&", "|", "^", *SHIFTS)
INCREMENTS: Final = {"++": "+", "p++": "+", "--": "-", "p--": "-"}
#: Nodes of C that are outside the grammar, in the words of an error.
OUTSIDE: Final = {
    "Break": "break", "Continue": "continue", "Return": "return", "Label": "a label",
    "StructRef": "a member of a struct", "Struct": "struct", "Union": "union", "Enum": "enum", "Typedef": "typedef",
    "CompoundLiteral": "a compound literal", "InitList": "a list of initial values", "ExprList": "the comma operator",
    "Assignment": "an assignment within an expression", "Pragma": "#pragma", "StaticAssert": "_Static_assert",
}  # fmt: skip


def parse_file(
    text: str, *, wg_size: int, defines: Mapping[str, str] | None = None, file: str = "<text>"
) -> dict[str, Kernel]:
    """Parse a kernel file.

    Args:
        text: OpenCL C in the subset of `syntax.py`.
        wg_size: The work-items of a group, which `get_local_size()` gives.
        defines: Macros that are defined before the file begins.
        file: What errors call the text.

    Returns:
        The kernels by name, in the file's order.

    Raises:
        BatchParseError: The text is not in the language; the error names line and column.
        BatchTypeError: Types, sizes or names do not fit.
        MissingParserError: pycparser is not installed.

    Example:
        >>> kernels = parse_file("__kernel void twice(float *x) { x[get_global_id()] *= 2; }", wg_size=8)
        >>> [parameter.name for parameter in kernels["twice"].parameters]
        ['x']
    """
    source = Source(text, file)
    if not 1 <= wg_size <= LARGEST_GROUP:
        raise source.type_error(f"the group size is {wg_size}", Position(0, 0), f"1 to {LARGEST_GROUP}")
    preprocessed = preprocess(source, defines or {})
    try:
        tree = read_tree(source, preprocessed)
        kernels: dict[str, Kernel] = {}
        for node in tree.ext:
            kernel = KernelParser(source, preprocessed, wg_size).kernel(node)
            if kernel.name in kernels:
                raise source.type_error(f"{kernel.name} is defined twice", preprocessed.position(*place_of(node)))
            kernels[kernel.name] = kernel
    except RecursionError:
        raise source.parse_error("the text is nested too deeply", Position(1, 1)) from None
    if not kernels:
        raise source.parse_error("the file has no kernel", Position(1, 1), "__kernel void NAME(...)")
    return kernels


class KernelParser:
    """One kernel: the names in scope, and pycparser's nodes to ours."""

    def __init__(self, source: Source, preprocessed: Preprocessed, wg_size: int) -> None:
        self.source = source
        self.preprocessed = preprocessed
        self.wg_size = wg_size
        self.scopes: list[dict[str, Variable | Parameter]] = [{}]
        self.variables = 0

    # Places and refusals.

    def at(self, node: Any) -> Position:
        return self.preprocessed.position(*place_of(node))

    def parse_error(self, message: str, node: Any, expected: str = "") -> BatchParseError:
        return self.source.parse_error(message, self.at(node), expected)

    def type_error(self, message: str, node: Any, expected: str = "") -> BatchTypeError:
        return self.source.type_error(message, self.at(node), expected)

    def outside_error(self, node: Any) -> BatchParseError:
        name = type(node).__name__
        return self.parse_error(f"{OUTSIDE.get(name, name)} is not part of the language", node)

    # Kernels and parameters.

    def kernel(self, node: Any) -> Kernel:
        if type(node).__name__ != "FuncDef":
            raise self.parse_error("only kernels may stand outside of kernels", node, "__kernel void NAME(...) { ... }")
        declaration = node.decl
        name: str = declaration.name
        if "inline" not in declaration.funcspec:
            raise self.parse_error(f"{name} is not a kernel, and helper functions are not supported", node, "__kernel")
        if node.param_decls:
            raise self.parse_error("parameters are declared within the parentheses", node)
        result = declaration.type.type
        if type(result).__name__ != "TypeDecl" or getattr(result.type, "names", None) != ["void"]:
            raise self.type_error(f"{name} returns a value", node, "void")
        parameters = tuple(self.parameter(child) for child in self.parameter_nodes(declaration.type))
        body = self.block(node.body)
        return Kernel(name, self.wg_size, parameters, body, self.source)

    def parameter_nodes(self, function: Any) -> list[Any]:
        nodes = [] if function.args is None else list(function.args.params)
        if len(nodes) == 1 and getattr(getattr(nodes[0].type, "type", None), "names", None) == ["void"]:
            return []
        return nodes

    def parameter(self, node: Any) -> Parameter:
        if type(node).__name__ != "Decl" or node.name is None:
            raise self.parse_error("this parameter has no name", node, "type NAME or type *NAME")
        self.refuse_storage(node)
        declared = node.type
        is_pointer = type(declared).__name__ in ("PtrDecl", "ArrayDecl")
        if is_pointer:
            declared = declared.type
        if type(declared).__name__ != "TypeDecl":
            message = f"{node.name} is neither a value nor a pointer to values"
            raise self.parse_error(message, node, "type NAME or type *NAME")
        scalar = self.scalar_type(declared)
        if is_pointer and scalar is BOOL:
            raise self.type_error(f"{node.name} points to bool", node, "uchar, or another type with a size")
        parameter = Parameter(node.name, scalar, is_pointer, "const" in declared.quals, self.at(node))
        self.declare(parameter.name, parameter, node)
        return parameter

    def refuse_storage(self, node: Any) -> None:
        if node.storage:
            raise self.parse_error("__local is for variables of a kernel's body", node)

    def scalar_type(self, declared: Any) -> ScalarType:
        if type(declared.type).__name__ != "IdentifierType":
            raise self.outside_error(declared.type)
        names = tuple(sorted(declared.type.names))
        scalar = C_SPELLINGS.get(names)
        if scalar is None:
            raise self.type_error(f"the type {' '.join(declared.type.names)} is not part of the language", declared)
        return scalar

    def declare(self, name: str, entry: Variable | Parameter, node: Any) -> None:
        if name in self.scopes[-1]:
            raise self.type_error(f"{name} is declared twice in one block", node)
        if name in BUILTINS or name in IDENTITIES or name in (SHUFFLE, SIZE):
            raise self.type_error(f"{name} is the name of a function", node)
        self.scopes[-1][name] = entry

    def find(self, node: Any) -> Variable | Parameter:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        raise self.type_error(f"{node.name} is not declared", node)

    # Statements.

    def block(self, node: Any) -> Block:
        self.scopes.append({})
        statements = tuple(part for child in node.block_items or [] for part in self.statement(child))
        self.scopes.pop()
        return Block(self.at(node), statements)

    def statement(self, node: Any) -> Iterator[Statement]:
        match type(node).__name__:
            case "Compound":
                yield self.block(node)
            case "EmptyStatement":
                return
            case "Decl":
                yield from self.declaration(node)
            case "DeclList":
                for child in node.decls:
                    yield from self.declaration(child)
            case "Assignment":
                yield self.assignment(node)
            case "UnaryOp" if node.op in INCREMENTS:
                yield self.increment(node)
            case "If":
                yield self.conditional_statement(node)
            case "While":
                body = self.single(node.stmt)
                yield Loop(self.at(node), None, self.condition(node.cond), None, body, True, False)
            case "DoWhile":
                body = self.single(node.stmt)
                yield Loop(self.at(node), None, self.condition(node.cond), None, body, False, False)
            case "For":
                yield self.for_loop(node)
            case "ExprList":
                for child in node.exprs:
                    yield from self.statement(child)
            case "BinaryOp" | "TernaryOp" | "ID" | "Constant" | "ArrayRef" | "FuncCall" | "UnaryOp" | "Cast":
                yield Evaluate(self.at(node), self.expression(node))
            case _:
                raise self.outside_error(node)

    def single(self, node: Any) -> Block:
        """Return the statement of a branch or a loop, in a scope of its own."""
        if type(node).__name__ == "Compound":
            return self.block(node)
        self.scopes.append({})
        statements = tuple(self.statement(node))
        self.scopes.pop()
        return Block(self.at(node), statements)

    def declaration(self, node: Any) -> Iterator[Statement]:
        if node.name is None or type(node).__name__ != "Decl":
            raise self.outside_error(node.type)
        declared = node.type
        extent = 0
        if type(declared).__name__ == "ArrayDecl":
            extent = self.extent(declared.dim, node)
            declared = declared.type
        if type(declared).__name__ != "TypeDecl":
            message = f"{node.name} is neither a value nor an array of values"
            raise self.parse_error(message, node, "type NAME or type NAME[SIZE]")
        is_local = "register" in node.storage
        self.variables += 1
        variable = Variable(node.name, self.scalar_type(declared), extent, is_local, self.variables, self.at(node))
        if is_local and node.init is not None:
            raise self.parse_error("a __local variable has no initial value", node)
        # C11 6.2.1p7: the scope begins after the declarator, so that `int x = x;` reads the new x.
        self.declare(variable.name, variable, node)
        if node.init is not None and (type(node.init).__name__ == "InitList") != (extent > 0):
            expected = "a list" if extent else "a value"
            raise self.type_error(f"the initial value of {node.name} does not fit", node, expected)
        initial = None
        if node.init is not None and not extent:
            initial = self.convert(self.expression(node.init), variable.type)
        yield Declare(variable.position, variable, initial)
        if node.init is not None and extent:
            yield from self.initial_values(variable, node)

    def initial_values(self, variable: Variable, node: Any) -> Iterator[Statement]:
        if len(node.init.exprs) > variable.extent:
            raise self.type_error(f"{variable.name} has {variable.extent} elements, found {len(node.init.exprs)}", node)
        for number, child in enumerate(node.init.exprs):
            place = Constant(INT, self.at(child), np.int32(number))
            element = Element(variable.type, self.at(child), variable, place)
            yield Assign(self.at(child), element, self.convert(self.expression(child), variable.type))

    def extent(self, dimension: Any, node: Any) -> int:
        if dimension is None:
            raise self.type_error(f"{node.name} has no size", node, "a size that is known at compile time")
        size = constant_value(self.expression(dimension))
        if size is None or not isinstance(size, np.integer):
            raise self.type_error(f"the size of {node.name} is not known at compile time", dimension)
        if not 1 <= int(size) <= LARGEST_EXTENT:
            raise self.type_error(f"{node.name} has {int(size)} elements", dimension, f"1 to {LARGEST_EXTENT}")
        return int(size)

    def assignment(self, node: Any) -> Assign:
        target = self.target(node.lvalue)
        value = self.expression(node.rvalue)
        if node.op != "=":
            value = self.binary(node.op[:-1], target, value, node)
        return Assign(self.at(node), target, self.convert(value, target.type))

    def increment(self, node: Any) -> Assign:
        target = self.target(node.expr)
        one = Constant(INT, self.at(node), np.int32(1))
        value = self.binary(INCREMENTS[node.op], target, one, node)
        return Assign(self.at(node), target, self.convert(value, target.type))

    def target(self, node: Any) -> Read | Element | Load:
        target = self.expression(node)
        if isinstance(target, ScalarParameter):
            raise self.type_error(f"{target.parameter.name} is a parameter, which a kernel cannot assign to", node)
        if not isinstance(target, Read | Element | Load):
            expected = "a variable, an array element or a dereferenced pointer"
            raise self.parse_error("this cannot be assigned to", node, expected)
        if isinstance(target, Load) and target.pointer.is_constant:
            raise self.type_error(f"{target.pointer.name} points to constants", node)
        return target

    def conditional_statement(self, node: Any) -> If:
        condition = self.condition(node.cond)
        then = Block(self.at(node), ()) if node.iftrue is None else self.single(node.iftrue)
        otherwise = None if node.iffalse is None else self.single(node.iffalse)
        return If(self.at(node), condition, then, otherwise)

    def for_loop(self, node: Any) -> Block:
        self.scopes.append({})
        first = () if node.init is None else tuple(self.statement(node.init))
        condition: Expression = Constant(BOOL, self.at(node), np.bool_(True))
        if node.cond is not None:
            condition = self.condition(node.cond)
        step = () if node.next is None else tuple(self.statement(node.next))
        body = self.single(node.stmt)
        self.scopes.pop()
        place = self.at(node)
        declared = {part.variable for part in first if isinstance(part, Declare)}
        counts_for_all = len(step) == 1 and all(
            isinstance(part, Assign) and isinstance(part.target, Read) and part.target.variable in declared
            for part in step
        )
        loop = Loop(place, Block(place, first), condition, Block(place, step), body, True, counts_for_all)
        return Block(place, (loop,))

    # Expressions.

    def condition(self, node: Any) -> Expression:
        return self.truth(self.expression(node))

    def truth(self, value: Expression) -> Expression:
        """Compare a value with zero, unless it is a bool."""
        if value.type is BOOL:
            return value
        if isinstance(value, Cast) and value.operand.type is BOOL:
            return value.operand
        zero = Constant(value.type, value.position, value.type.dtype.type(0))
        return Binary(BOOL, value.position, "!=", value, zero)

    def convert(self, value: Expression, scalar: ScalarType) -> Expression:
        if value.type is scalar:
            return value
        if scalar is BOOL:
            return self.truth(value)
        if isinstance(value, Constant):
            number = convert(np.asarray(value.value), scalar)
            return Constant(scalar, value.position, scalar.dtype.type(number))
        return Cast(scalar, value.position, value)

    def expression(self, node: Any) -> Expression:
        match type(node).__name__:
            case "Constant":
                return self.literal(node)
            case "ID":
                return self.name(node)
            case "ArrayRef":
                return self.subscript(node)
            case "UnaryOp":
                return self.unary(node)
            case "BinaryOp" if node.op in ("&&", "||"):
                left, right = self.condition(node.left), self.condition(node.right)
                return Logical(BOOL, self.at(node), node.op, left, right)
            case "BinaryOp":
                return self.binary(node.op, self.expression(node.left), self.expression(node.right), node)
            case "TernaryOp":
                return self.conditional(node)
            case "FuncCall":
                return self.call(node)
            case "Cast":
                return self.cast(node)
            case _:
                raise self.outside_error(node)

    def literal(self, node: Any) -> Constant:
        if node.type in ("char", "string") or node.type.startswith(("u8", "u16", "u32", "wchar", "U")):
            raise self.parse_error(f"{node.value} is not a number", node)
        constant = parse_literal(node.value, node.type, self.at(node))
        if constant is None:
            raise self.type_error(f"{node.value} is too large for every integer type", node)
        return constant

    def name(self, node: Any) -> Expression:
        if node.name in CONSTANTS and not any(node.name in scope for scope in self.scopes):
            return Constant(FLOAT, self.at(node), np.float32(CONSTANTS[node.name]))
        entry = self.find(node)
        if isinstance(entry, Parameter):
            if entry.is_pointer:
                raise self.type_error(f"{node.name} is a pointer", node, f"{node.name}[index] or *{node.name}")
            return ScalarParameter(entry.type, self.at(node), entry)
        if entry.extent:
            raise self.type_error(f"{node.name} is an array", node, f"{node.name}[index]")
        return Read(entry.type, self.at(node), entry)

    def subscript(self, node: Any) -> Expression:
        index = self.integer(self.expression(node.subscript), node.subscript, "an index")
        if type(node.name).__name__ == "ID":
            entry = self.find(node.name)
            if isinstance(entry, Variable):
                if not entry.extent:
                    raise self.type_error(f"{entry.name} is not an array", node)
                self.check_index(entry, index, node)
                return Element(entry.type, self.at(node), entry, index)
        pointer, offset = self.pointer(node.name)
        return self.load(pointer, offset, index, node)

    def check_index(self, variable: Variable, index: Expression, node: Any) -> None:
        value = constant_value(index)
        if value is not None and not 0 <= int(value) < variable.extent:
            raise self.type_error(f"index {int(value)} is out of range for {variable.name}[{variable.extent}]", node)

    def load(self, pointer: Parameter, offset: Expression | None, index: Expression | None, node: Any) -> Load:
        if offset is not None and index is not None:
            index = self.binary("+", offset, index, node)
        elif index is None:
            index = offset if offset is not None else Constant(INT, self.at(node), np.int32(0))
        return Load(pointer.type, self.at(node), pointer, index)

    def pointer(self, node: Any) -> tuple[Parameter, Expression | None]:
        """Return the parameter that a pointer expression begins at, and the elements it is moved by."""
        name = type(node).__name__
        if name == "ID":
            entry = self.find(node)
            if isinstance(entry, Parameter) and entry.is_pointer:
                return entry, None
        elif name == "BinaryOp" and node.op in "+-":
            left, right = node.left, node.right
            if node.op == "+" and not self.is_pointer(left):
                left, right = right, left
            parameter, offset = self.pointer(left)
            moved = self.integer(self.expression(right), right, "what a pointer moves by")
            zero = Constant(INT, self.at(node), np.int32(0))
            return parameter, self.binary(node.op, zero if offset is None else offset, moved, node)
        elif name == "UnaryOp" and node.op == "&" and type(node.expr).__name__ == "ArrayRef":
            element = self.expression(node.expr)
            if isinstance(element, Load):
                return element.pointer, element.index
        raise self.type_error("this is not a pointer to memory", node, "a pointer parameter, moved by + or -")

    def is_pointer(self, node: Any) -> bool:
        name = type(node).__name__
        if name == "ID":
            entry = next((scope[node.name] for scope in reversed(self.scopes) if node.name in scope), None)
            return isinstance(entry, Parameter) and entry.is_pointer
        return (name == "BinaryOp" and (self.is_pointer(node.left) or self.is_pointer(node.right))) or (
            name == "UnaryOp" and node.op == "&"
        )

    def integer(self, value: Expression, node: Any, subject: str) -> Expression:
        if value.type.is_float:
            raise self.type_error(f"{subject} has the type {value.type}", node, "an integer")
        return self.convert(value, promote(value.type))

    def unary(self, node: Any) -> Expression:
        if node.op == "*":
            pointer, offset = self.pointer(node.expr)
            return self.load(pointer, offset, None, node)
        if node.op == "!":
            return Unary(BOOL, self.at(node), "!", self.condition(node.expr))
        if node.op not in ("+", "-", "~"):
            raise self.parse_error(f"{node.op.strip('p')} is not part of the language within an expression", node)
        operand = self.expression(node.expr)
        operand = self.convert(operand, promote(operand.type))
        if node.op == "~" and operand.type.is_float:
            raise self.type_error(f"~ of a {operand.type}", node, "an integer")
        if node.op == "+":
            return operand
        return Unary(operand.type, self.at(node), node.op, operand)

    def binary(self, op: str, left: Expression, right: Expression, node: Any) -> Expression:
        if op in INTEGER_ONLY and (left.type.is_float or right.type.is_float):
            raise self.type_error(f"{op} of {left.type} and {right.type}", node, "integers")
        if op in SHIFTS:
            left = self.convert(left, promote(left.type))
            return Binary(left.type, self.at(node), op, left, self.convert(right, promote(right.type)))
        scalar = common_type(left.type, right.type)
        left, right = self.convert(left, scalar), self.convert(right, scalar)
        return Binary(BOOL if op in COMPARISONS else scalar, self.at(node), op, left, right)

    def conditional(self, node: Any) -> Expression:
        condition = self.condition(node.cond)
        then, otherwise = self.expression(node.iftrue), self.expression(node.iffalse)
        scalar = common_type(then.type, otherwise.type)
        return Conditional(
            scalar, self.at(node), condition, self.convert(then, scalar), self.convert(otherwise, scalar)
        )

    def cast(self, node: Any) -> Expression:
        declared = node.to_type.type
        if type(declared).__name__ != "TypeDecl":
            raise self.parse_error("only values are cast", node)
        return self.convert(self.expression(node.expr), self.scalar_type(declared))

    def call(self, node: Any) -> Expression:
        if type(node.name).__name__ != "ID":
            raise self.parse_error("only functions are called by name", node)
        name: str = node.name.name
        arguments = [] if node.args is None else list(node.args.exprs)
        place = self.at(node)
        if name in IDENTITIES or name == SIZE:
            self.check_dimension(name, arguments, node)
            if name == SIZE:
                return Constant(ULONG, place, np.uint64(self.wg_size))
            return Identity(ULONG, place, name)
        if name == SHUFFLE:
            self.count_arguments(name, arguments, 2, node)
            lane = self.integer(self.expression(arguments[1]), arguments[1], "a lane")
            value = constant_value(lane)
            if value is not None and not 0 <= int(value) < self.wg_size:
                raise self.type_error(f"lane {int(value)} is out of range for {self.wg_size} work-items", arguments[1])
            shuffled = self.expression(arguments[0])
            return Shuffle(shuffled.type, place, shuffled, lane)
        if name not in BUILTINS:
            raise self.type_error(f"{name} is not a function of the language", node, ", ".join(sorted(BUILTINS)))
        return self.builtin(name, arguments, node)

    def check_dimension(self, name: str, arguments: list[Any], node: Any) -> None:
        if len(arguments) > 1:
            raise self.type_error(f"{name} takes at most one argument, found {len(arguments)}", node)
        if arguments:
            value = constant_value(self.expression(arguments[0]))
            if value is None or int(value) != 0:
                raise self.type_error(f"{name} of a dimension other than 0", node, "0: groups have one dimension")

    def count_arguments(self, name: str, arguments: list[Any], number: int, node: Any) -> None:
        if len(arguments) != number:
            raise self.type_error(f"{name} takes {number} arguments, found {len(arguments)}", node)

    def builtin(self, name: str, arguments: list[Any], node: Any) -> Expression:
        function = BUILTINS[name]
        self.count_arguments(name, arguments, function.arguments, node)
        values = [self.expression(argument) for argument in arguments]
        scalar = promote(values[0].type)
        for value in values[1:]:
            scalar = common_type(scalar, value.type)
        if function.domain != "numbers" and not scalar.is_float:
            scalar = DOUBLE
        converted = tuple(self.convert(value, scalar) for value in values)
        return Call(BOOL if function.domain == "predicate" else scalar, self.at(node), name, converted)
