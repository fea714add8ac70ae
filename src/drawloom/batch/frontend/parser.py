"""Kernel text to the typed syntax tree: pycparser's tree checked against the grammar of `syntax.py`, types resolved.

This file reads what stands outside of functions; `statements.py` and `expressions.py` read their bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from drawloom.batch.frontend.builtins import is_reserved
from drawloom.batch.frontend.calls import Target
from drawloom.batch.frontend.constants import fold
from drawloom.batch.frontend.expressions import INCREMENTS
from drawloom.batch.frontend.includes import Find, find_ready
from drawloom.batch.frontend.objects import (
    LARGEST_EXTENT,
    Array,
    Members,
    Place,
    Storage,
    Struct,
    Type,
    count_scalars,
    memory_scalar,
)
from drawloom.batch.frontend.preprocess import Preprocessed, library_of, preprocess
from drawloom.batch.frontend.scope import Definition, FileText, Names, ParameterType, Unit, read_type
from drawloom.batch.frontend.source import BatchParseError, Position, Source
from drawloom.batch.frontend.statements import BodyParser
from drawloom.batch.frontend.syntax import Block, Constant, Declare, Kernel, Parameter, ScalarParameter, Statement
from drawloom.batch.frontend.tables import Table
from drawloom.batch.frontend.tree import read_tree, type_name
from drawloom.batch.options import as_macros, as_whole_number, check_text
from drawloom.batch.types import BOOL, LONG, ScalarType

LARGEST_GROUP: Final = 1024
KERNEL: Final = "_Noreturn"


def parse_file(
    text: str,
    *,
    wg_size: int,
    defines: Mapping[str, str | float] | None = None,
    file: str = "<text>",
    include: Find = find_ready,
) -> dict[str, Kernel]:
    """Parse a kernel file.

    Args:
        text: OpenCL C in the subset of `syntax.py`.
        wg_size: The work-items of a group, which `get_local_size()` gives.
        defines: Macros that are defined before the file begins: a text or a number for each name.
        file: What errors call the text.
        include: A function from the name in `#include "NAME"` to the file's text, None where there is none; it finds
            the files of the ready kernels otherwise.

    Returns:
        The kernels by name, in the file's order.

    Raises:
        BatchParseError: The text is not in the language; the error names line and column.
        BatchTypeError: Types, sizes or names do not fit.
        DataError: The text is not a `str`, the group size is not a whole number, or a macro is malformed.
        MissingParserError: pycparser is not installed.

    Example:
        >>> kernels = parse_file("__kernel void twice(float *x) { x[get_global_id()] *= 2; }", wg_size=8)
        >>> [parameter.name for parameter in kernels["twice"].parameters]
        ['x']
    """
    check_text("text", text)
    wg_size = as_whole_number("wg_size", wg_size)
    source = Source(text, file)
    if not 1 <= wg_size <= LARGEST_GROUP:
        raise source.type_error(f"the group size is {wg_size}", Position(0, 0), f"1 to {LARGEST_GROUP}")
    preprocessed = preprocess(source, as_macros(defines), include)
    try:
        tree = read_tree(source, preprocessed)
        reader = FileReader(FileText(source, preprocessed, wg_size, read_library(source, preprocessed, wg_size)))
        for node in tree.ext:
            reader.read(node)
        reader.read_bodies()
    except RecursionError:
        raise source.parse_error("the text is nested too deeply", Position(1, 1)) from None
    if not reader.kernels:
        raise source.parse_error("the file has no kernel", Position(1, 1), "__kernel void NAME(...)")
    return reader.kernels


def read_library(source: Source, preprocessed: Preprocessed, wg_size: int) -> dict[str, Definition]:
    """Return the builtin functions that a file may call, as far as they are kernel code.

    Their text is parsed apart from the file's: neither sees the other's names and macros.
    """
    text = library_of(source, preprocessed)
    if text is None:
        return {}
    functions: dict[str, Definition] = {}
    reader = FileReader(FileText(source, text, wg_size, functions))
    for node in read_tree(source, text).ext:
        reader.read(node)
    functions.update(reader.names.functions)
    return functions


class FileReader:
    """The declarations of a file so far, and its kernels."""

    def __init__(self, file: FileText) -> None:
        self.file = file
        self.names = Names({}, {}, {}, {})
        self.kernels: dict[str, Kernel] = {}
        self.definitions: list[Definition] = []
        #: Kernels and the names known to them; functions that they call may be defined after them.
        self.pending: dict[str, tuple[Any, Names]] = {}

    def read(self, node: Any) -> None:
        match type_name(node):
            case "FuncDef":
                self.read_function(node)
            case "Typedef":
                self.read_typedef(node)
            case "Decl" if type_name(node.type) == "FuncDecl":
                self.declare_function(self.signature(node, True), node)
            case "Decl" if type_name(node.type) == "Struct" and node.name is None:
                self.struct(node.type)
            case "Decl" if type_name(node.type) in ("TypeDecl", "ArrayDecl"):
                self.read_table(node)
            case "Pragma":
                raise self.file.outside_error(node)
            case _:
                raise self.variable_error(node)

    # Constants.

    def variable_error(self, node: Any) -> BatchParseError:
        expected = "a kernel, a function, a struct, a typedef, or a const with initial values"
        return self.file.parse_error("variables do not stand outside of kernels", node, expected)

    def read_table(self, node: Any) -> None:
        """Read a constant of file scope."""
        name, body = node.name, self.body(frozenset())
        type, is_constant = body.declared_type(node.type, node, node.init)
        if not is_constant or "register" in node.storage:
            raise self.variable_error(node)
        if node.init is None:
            raise self.file.type_error(f"{name} has no initial value", node, "= and a value, or values in braces")
        if is_reserved(name) or name in self.names.functions:
            raise self.file.type_error(f"{name} is the name of a function", node)
        if name in self.names.tables or name in self.pending:
            raise self.file.type_error(f"{name} is defined twice", node)
        values = [scalar.dtype.type(0) for scalar in body.flat_types(type)]
        for number, value in body.initial_values(type, node.init, 0):
            body.refuse_zero_division(value, f"this initial value of {name}")
            folded = fold(value)
            if folded is None:
                raise self.file.source.type_error(
                    f"this initial value of {name} is not known at compile time", value.position
                )
            values[number] = folded
        self.names.tables[name] = Table(name, type, tuple(values), self.file.at(node))

    # Types.

    def type_of(self, declared: Any) -> ScalarType | Struct:
        """Return a declaration's type, which may be a struct that the declaration defines."""
        if type_name(declared.type) == "Struct" and declared.type.decls is not None:
            return self.struct(declared.type)
        return read_type(declared, self.file, self.names)

    def read_typedef(self, node: Any) -> None:
        if type_name(node.type) != "TypeDecl":
            raise self.file.parse_error(f"{node.name} is not the name of a value's type", node, "a scalar or a struct")
        type = self.type_of(node.type)
        if self.names.types.setdefault(node.name, type) is not type:
            raise self.file.type_error(f"{node.name} is the name of two types", node)

    def struct(self, node: Any) -> Struct:
        """Return the struct that a node defines."""
        name = node.name or "without a name"
        if node.decls is None:
            raise self.file.parse_error(f"struct {name} has no fields", node, "{ type NAME; ... }")
        if node.name in self.names.structs:
            raise self.file.type_error(f"struct {name} is defined twice", node)
        fields: dict[str, Type] = {}
        for child in node.decls:
            if type_name(child) != "Decl" or child.name is None or child.bitsize is not None:
                raise self.file.parse_error(f"this is no field of struct {name}", child, "type NAME")
            if child.name in fields:
                raise self.file.type_error(f"struct {name} has two fields {child.name}", child)
            fields[child.name] = self.field_type(child.type, child)
        struct = Struct(f"struct {name}" if node.name else "struct", fields)
        if not fields:
            raise self.file.type_error(f"struct {name} has no fields", node)
        size = count_scalars(struct)
        if size > LARGEST_EXTENT:
            raise self.file.type_error(f"struct {name} has {size} scalars", node, f"1 to {LARGEST_EXTENT}")
        if node.name:
            self.names.structs[node.name] = struct
        return struct

    def field_type(self, declared: Any, node: Any) -> Type:
        if type_name(declared) == "ArrayDecl":
            extent = self.body(frozenset()).extent(declared.dim, node)
            return Array(self.field_type(declared.type, node), extent)
        if type_name(declared) != "TypeDecl":
            raise self.file.type_error(f"the field {node.name} is a pointer", node, "an index in place of the pointer")
        return self.type_of(declared)

    # Functions and kernels.

    def body(self, moved: frozenset[str], unit: Unit | None = None) -> BodyParser:
        return BodyParser(self.file, unit or Unit(), self.names.copy(), moved)

    def read_function(self, node: Any) -> None:
        if node.param_decls:
            raise self.file.parse_error("parameters are declared within the parentheses", node)
        if KERNEL in node.decl.funcspec:
            if any(node.decl.name in names for names in (self.pending, self.names.functions, self.names.tables)):
                raise self.file.type_error(f"{node.decl.name} is defined twice", node)
            self.pending[node.decl.name] = node, self.names.copy()
            self.file.kernels.add(node.decl.name)
            return
        definition = self.declare_function(self.signature(node.decl, False), node)
        if definition.node is not None:
            raise self.file.type_error(f"{definition.name} is defined twice", node)
        definition.node = node
        definition.file = self.file
        definition.names = self.names.copy()
        definition.moved = assigned_names(node.body)
        self.definitions.append(definition)

    def declare_function(self, found: Definition, node: Any) -> Definition:
        """Return what is known of a function, which a prototype may have declared before."""
        if is_reserved(found.name):
            raise self.file.type_error(f"{found.name} is the name of a function", node)
        if found.name in self.names.tables:
            raise self.file.type_error(f"{found.name} is the name of a constant", node)
        if found.name in self.pending:
            raise self.file.type_error(f"{found.name} is the name of a kernel", node)
        known = self.names.functions.setdefault(found.name, found)
        if not known.fits(found):
            raise self.file.type_error(f"{found.name} was declared with other types", node)
        if known.node is None:
            # The names of the definition count.
            known.parameters = found.parameters
        return known

    def signature(self, declaration: Any, is_prototype: bool) -> Definition:
        if KERNEL in declaration.funcspec:
            raise self.file.parse_error("a kernel needs no prototype", declaration)
        function = declaration.type
        result: ScalarType | Struct | None = None
        if type_name(function.type) != "TypeDecl":
            raise self.file.type_error(f"{declaration.name} returns a pointer", declaration, "a value or void")
        if getattr(function.type.type, "names", None) != ["void"]:
            result = read_type(function.type, self.file, self.names)
        parameters = tuple(self.parameter_type(node, False) for node in parameter_nodes(function))
        for node, parameter in zip(parameter_nodes(function), parameters):
            if not parameter.name and not is_prototype:
                raise self.file.type_error(f"a parameter of {declaration.name} has no name", node)
        return Definition(declaration.name, result, parameters)

    def parameter_type(self, node: Any, is_kernel: bool) -> ParameterType:
        if type_name(node) not in ("Decl", "Typename"):
            raise self.file.parse_error("this parameter is not part of the language", node, "type NAME or type *NAME")
        name = node.name or ""
        declared = node.type
        is_pointer = type_name(declared) in ("PtrDecl", "ArrayDecl")
        if is_pointer:
            declared = declared.type
        if type_name(declared) != "TypeDecl":
            message = f"{name} is neither a value nor a pointer to values"
            raise self.file.parse_error(message, node, "type NAME or type *NAME")
        if getattr(node, "storage", []) and (is_kernel or not is_pointer):
            raise self.file.parse_error("__local is for variables of a kernel's body", node)
        type = read_type(declared, self.file, self.names)
        return ParameterType(name, type, is_pointer, "const" in declared.quals)

    def read_bodies(self) -> None:
        """Read the kernels, and the functions that none of them calls."""
        for name, (node, names) in self.pending.items():
            self.names = names
            self.kernels[name] = self.kernel(name, node)
        self.check_unused()

    def kernel(self, name: str, node: Any) -> Kernel:
        function = node.decl.type
        if type_name(function.type) != "TypeDecl" or getattr(function.type.type, "names", None) != ["void"]:
            raise self.file.type_error(f"{name} returns a value", node, "void")
        unit = Unit()
        body = self.body(assigned_names(node.body), unit)
        begin: list[Statement] = []
        parameters = tuple(self.parameter(child, body, begin) for child in parameter_nodes(function))
        block = body.block(node.body)
        begin += unit.begin
        if begin:
            block = Block(block.position, (*begin, block))
        return Kernel(name, self.file.wg_size, parameters, block, unit.variables, self.file.source)

    def parameter(self, node: Any, body: BodyParser, begin: list[Statement]) -> Parameter:
        """Return a kernel's parameter. `begin` gets the declaration of an index where the kernel moves a pointer, and
        of a variable where it assigns to a number."""
        if not node.name:
            raise self.file.parse_error("this parameter has no name", node, "type NAME or type *NAME")
        name, type, is_pointer, is_constant = self.parameter_type(node, True)
        if not is_pointer:
            if isinstance(type, Struct):
                raise self.file.type_error(f"{name} is a struct", node, "a pointer to structs, or numbers")
            parameter = Parameter(name, type, False, is_constant, self.file.at(node))
            if name in body.moved_names:
                variable = body.variable_at(body.object(name, type, False, is_constant, node), node)
                given = ScalarParameter(type, self.file.at(node), parameter)
                begin.append(Declare(self.file.at(node), variable.variable, given))
            else:
                body.declare(name, parameter, node)
            return parameter
        scalar = check_memory(type, name, self.file, node)
        parameter = Parameter(name, scalar, True, is_constant, self.file.at(node))
        is_fixed = name not in body.moved_names
        index = body.point(name, Place(parameter, None, type, is_constant), node, is_fixed)
        if index is not None:
            begin.append(Declare(self.file.at(node), index, Constant(LONG, self.file.at(node), np.int64(0))))
        return parameter

    def check_unused(self) -> None:
        """Check the bodies of functions that no kernel calls, with pointers into memory of their own."""
        for definition in self.definitions:
            if definition.is_used or definition.node is None:
                continue
            assert definition.names is not None
            body = BodyParser(self.file, Unit(), definition.names, definition.moved)
            memory: dict[ScalarType | Struct, Storage] = {}
            pointers: dict[str, Target] = {}
            for name, type, is_pointer, is_constant in definition.parameters:
                if is_pointer:
                    storage = memory.setdefault(type, self.memory_for(type, name, body, definition.node))
                    is_fixed = name not in definition.moved
                    pointers[name] = Target(Place(storage, None, type, is_constant), is_fixed)
            body.instantiate(definition, pointers)

    def memory_for(self, type: ScalarType | Struct, name: str, body: BodyParser, node: Any) -> Storage:
        scalar = memory_scalar(type)
        if scalar is not None:
            return Parameter(name, scalar, True, False, self.file.at(node))
        storage = body.build(name, Array(type, LARGEST_EXTENT // count_scalars(type)), 0, False, node)
        assert isinstance(storage, Members)
        return storage


def check_memory(type: ScalarType | Struct, name: str, file: FileText, node: Any) -> ScalarType:
    """Return the type of the scalars that a kernel's pointer points to.

    Raises:
        BatchTypeError: Memory of the type is not a NumPy array of numbers.
    """
    scalar = memory_scalar(type)
    if scalar is None:
        raise file.type_error(
            f"{name} points to {type}, whose fields have several types: a NumPy array has one", node,
            "a struct with fields of one type, or an array for each field",
        )  # fmt: skip
    if scalar is BOOL:
        raise file.type_error(f"{name} points to bool", node, "uchar, or another type with a size")
    return scalar


def parameter_nodes(function: Any) -> list[Any]:
    nodes = [] if function.args is None else list(function.args.params)
    if len(nodes) == 1 and getattr(getattr(nodes[0].type, "type", None), "names", None) == ["void"]:
        return []
    return nodes


def assigned_names(node: Any) -> frozenset[str]:
    """Return the names that statements assign to, or take the address of: pointers among them move."""
    return frozenset(names_in(node))


def names_in(node: Any) -> Iterator[str]:
    target = None
    if type_name(node) == "Assignment":
        target = node.lvalue
    elif type_name(node) == "UnaryOp" and node.op in (*INCREMENTS, "&"):
        target = node.expr
    if target is not None and type_name(target) == "ID":
        yield target.name
    for _, child in node.children():
        yield from names_in(child)
